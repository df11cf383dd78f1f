"""Databases as other programs leave them, and proof that reading them leaves no trace."""

from __future__ import annotations

import gc
import hashlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from support import REPOSITORY

__all__ = [
    "count_rows",
    "crashed_writer",
    "listed_by_another",
    "locked",
    "make_rows",
    "names_in",
    "nothing_left_open",
    "opened_as_files",
    "run_python",
    "shared_folder",
    "tree",
    "unprivileged",
]

Tree = dict[str, tuple[str, int, int, int]]


def tree(folder: Path) -> Tree:
    """Everything under `folder`: digest, inode, mode and mtime of each file. Reads whole files, so not for use
    while this process has a connection open."""
    found: Tree = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        status = path.lstat()
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (digest, status.st_ino, status.st_mode, status.st_mtime_ns)
    return found


def run_python(
    code: str,
    *arguments: str | Path,
    user: int | None = None,
    expect: int = 0,
    adapter: str = "hermes",
    imports: str = "yaml",
) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter that finds the adapters; fail with its words when it fails. It becomes
    `user` only after importing the one named `adapter` and the module `imports`: that user may not be allowed to read
    this checkout."""
    if user is not None:
        code = (
            f"import os, {imports}\n"
            f"from session_adapters.registry import adapter_class\nadapter_class({adapter!r})\n"
            f"os.setgroups([]); os.setgid({user}); os.setuid({user})\n{code}"
        )
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(REPOSITORY / "adapters"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        cwd="/",
        check=False,
    )
    assert done.returncode == expect, done.stderr
    return done


_LIST = """
import sys
from pathlib import Path
from session_adapters.base import Environment
from session_adapters.registry import adapter_class
problems = []
adapter = adapter_class(sys.argv[1])(Environment(home=Path(sys.argv[2])))
for source in adapter.sources(problems.append):
    for summary in adapter.summaries(source, problems.append, exact=True):
        print("session", summary.session_id, adapter.session(source, summary.session_id).message_count)
        adapter.open(source, summary.session_id).refresh()
for problem in problems:
    print(Path(problem.path).relative_to(sys.argv[2]), "|", problem.reason)
"""


def listed_by_another(agent: str, home: Path) -> list[str]:
    """What a user to whom nothing of it belongs is shown of `home`, every session read and followed: `session ID
    MESSAGES`, then `PATH | REASON` of what could not be read."""
    done = run_python(_LIST, agent, home, user=unprivileged(), adapter=agent, imports="session_adapters.registry")
    return done.stdout.splitlines()


def unprivileged() -> int | None:
    """A user id to run as that may not write where root may; None when that is so already."""
    return 65534 if os.geteuid() == 0 else None


@contextmanager
def shared_folder() -> Iterator[Path]:
    """A temporary directory that other users may enter."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        try:
            yield folder
        finally:
            for path in (folder, *folder.rglob("*")):
                if path.is_dir():
                    path.chmod(0o755)


_CRASH = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = " + sys.argv[2])
connection.execute("PRAGMA wal_autocheckpoint = 0")
for statement in sys.argv[3:]:
    connection.execute(statement)
os._exit(0)
"""


def crashed_writer(database: Path, *statements: str, mode: str = "WAL") -> None:
    """Run the statements in a process that then dies without closing the database."""
    run_python(_CRASH, database, mode, *statements)


@contextmanager
def nothing_left_open() -> Iterator[None]:
    """What runs within leaves no file and no connection open. What tests before it left in circles of objects (the
    loops of their programs) is let go of first: it would otherwise go while this one counts."""
    gc.collect()
    before = _open()
    yield
    assert _open() == before


def _open() -> tuple[int, int]:
    """How many files this process has open, and how many connections to databases."""
    return len(list(Path("/dev/fd").iterdir())), len(apsw.connections())


_AUDIT = """
import importlib, sys
from pathlib import Path
opened = []
sys.addaudithook(lambda event, arguments: opened.append((event, str(arguments[0]))) if event in
                 ("open", "sqlite3.connect") else None)
from session_adapters.base import Environment
module, name = sys.argv[2].split(":")
adapter = getattr(importlib.import_module(module), name)(Environment(home=Path(sys.argv[1])))
read = 0
for source in adapter.sources(lambda problem: None):
    for summary in adapter.summaries(source, lambda problem: None):
        adapter.session(adapter.find(summary.session_id), summary.session_id)
        adapter.open(source, summary.session_id).refresh()
        read += 1
adapter.live()
assert opened and read
print([event for event in opened if event[0] != "open" or sys.argv[3] in event[1]])
"""


def opened_as_files(home: Path, adapter: str, database: str) -> str:
    """What of `database` is opened as a plain file while all sessions are read, which would drop this process's locks
    on it (law 3): a list, as text. Audited in a fresh interpreter; `adapter` is `module:Class`."""
    return run_python(_AUDIT, home, adapter, database).stdout


def make_rows(path: Path, mode: str = "WAL", rows: int = 10) -> Path:
    """A database with a table `t` of that many rows, cleanly closed."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("CREATE TABLE t (n)")
        connection.executemany("INSERT INTO t VALUES (?)", [(number,) for number in range(rows)])
        connection.commit()
    return path


def count_rows(connection: apsw.Connection) -> int:
    """How many there are."""
    return int(connection.execute("SELECT count(*) FROM t").get)


def names_in(folder: Path) -> set[str]:
    """What stands there."""
    return {path.name for path in folder.iterdir()}


@contextmanager
def locked(path: Path) -> Iterator[Callable[[], int]]:
    """Another process writes and does not come to an end, until the function is called; that says which it is."""
    code = (
        "import sqlite3, sys\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\nc.execute('BEGIN IMMEDIATE')\n"
        "print('held', flush=True)\nsys.stdin.read()\nc.execute('ROLLBACK')"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"

    def release() -> int:
        holder.communicate()
        return holder.pid

    try:
        yield release
    finally:
        holder.communicate()
