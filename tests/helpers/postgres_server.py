"""A real PostgreSQL server for tests, on a free port of the loopback interface, with its data in a temporary place.

PostgreSQL refuses to run as root: for root it is started as the user `postgres`, who comes with the package.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

__all__ = ["PASSWORD", "READER", "PostgresServer", "postgres_server"]

READER = "reader"
"""A user that may read what the tests make, and nothing else."""
PASSWORD = "s3cret-Pa55w0rd"  # to be found nowhere
_OWNER = "owner"
_MISSING = (
    "The tests of Hector's sessions on a server need PostgreSQL's own programs (initdb, pg_ctl): "
    "on Debian and Ubuntu `apt-get install postgresql`, on macOS `brew install postgresql`"
)


class PostgresServer:
    """A running server."""

    def __init__(self, port: int) -> None:
        self.port = port

    def dsn(self, database: str, user: str = READER, password: str = PASSWORD, host: str = "127.0.0.1") -> str:
        """An address."""
        return f"postgresql://{user}:{password}@{host}:{self.port}/{database}"

    def connect(self, database: str) -> psycopg.Connection[Any]:
        """As the owner, each statement its own transaction."""
        return psycopg.connect(self.dsn(database, _OWNER), autocommit=True)

    def create(self, database: str, *scripts: str) -> str:
        """A new database, filled by these scripts; its address for the reader."""
        with self.connect("postgres") as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(database)))
        with self.connect(database) as connection:
            for script in scripts:
                connection.execute(script.encode())
            connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
            connection.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO reader")
        return self.dsn(database)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server for as long as it is needed. Fails with what to install where there is none."""
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="postgres-"))
    user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    data, log = folder / "data", folder / "log"
    secret = folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)

    def run(*argv: str | Path) -> None:
        done = subprocess.run(
            [str(part) for part in argv],
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
            cwd=folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        words = log.read_text() if log.exists() else done.stdout
        assert done.returncode == 0, f"{argv[0]}: {words}"

    try:
        run(
            programs / "initdb", "-D", data, "-U", _OWNER, "-A", "scram-sha-256", "--pwfile", secret,
            "-E", "UTF8", "--locale=C", "--no-sync",
        )  # fmt: skip
        port = _free_port()
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        run(programs / "pg_ctl", "-D", data, "-l", log, "-o", settings, "-w", "-t", "60", "start")
        try:
            server = PostgresServer(port)
            with server.connect("postgres") as connection:
                connection.execute(f"CREATE ROLE {READER} LOGIN PASSWORD '{PASSWORD}'".encode())
            yield server
        finally:
            run(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    """The directory with the server's programs; Debian keeps them out of PATH."""
    found = shutil.which("pg_ctl")
    candidates = [Path(found).resolve().parent] if found else []
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    candidates += sorted(versions, key=lambda path: -int(re.sub(r"\D", "", path.parent.name) or 0))
    for candidate in candidates:
        if (candidate / "initdb").exists() and (candidate / "pg_ctl").exists():
            return candidate
    raise AssertionError(_MISSING)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
