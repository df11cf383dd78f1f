"""The indexer's process, niced, one per index.

`python -m hermes_tui.sessions.index.writing.worker FILE [--follow] [--patient]`

It reads the stores of the home in its environment, and ends when it is through. With `--follow` it goes on with what
it was told on its standard input meanwhile (see `ipc`), stays for that a little where it knows what would take
long to find out again, and begins anew as the same process where that has made it grow. With `--patient` it waits for
another that is at work. It may be killed at any moment.
"""

from __future__ import annotations

import gc
import json
import math
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path

import apsw

from hermes_tui.platform import locks
from hermes_tui.platform.log import write_failure
from hermes_tui.platform.memory_tuning import Life, give_back
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.checksummed_file import fingerprint
from hermes_tui.sessions.index.diagnostics import leave_word, reason_of
from hermes_tui.sessions.index.reading.counting import note_collected
from hermes_tui.sessions.index.schema import (
    STORES,
    Damaged,
    break_seal,
    broken,
    has_seal,
    open_writer,
    read_seal,
    remove,
    write_seal,
)
from hermes_tui.sessions.index.writing.indexer import Indexer
from hermes_tui.sessions.index.writing.ipc import Ear
from hermes_tui.sessions.index.writing.writer import tidy
from session_adapters.base import Environment, Source

__all__ = ["LITTER", "WorkerExit", "main", "work"]

_NICE = 10
_SECONDS, _GROWTH = 300.0, 1 << 20
"""How long it is kept, and by how many bytes it may grow meanwhile."""
LITTER = 20_000
"""Objects that are made before the collector of garbage looks at them."""


class WorkerExit(IntEnum):
    """How the process ended."""

    DONE = 0
    FAILED = 1
    """By a mistake in the program; the log says where."""
    BUSY = 3
    """Another one is at work."""
    NO_PLACE = 4
    """The cache directory cannot be written, or the disk is full."""
    AGAIN = 5
    """It has grown, and begins anew: nobody sees this."""


def work(path: Path, *, follow: bool = False, patient: bool = False) -> WorkerExit:
    """Bring the index in `path` up to date, and keep it so while asked to; after another's work if `patient`."""
    ear = Ear(sys.stdin.fileno() if follow else None)
    try:
        lock = path.with_suffix(".lock")
        held = locks.take(lock, math.inf) if patient else locks.take(lock)
    except OSError:
        return WorkerExit.NO_PLACE
    if held is None:
        return WorkerExit.BUSY
    leave_word(held, "")
    try:
        try:
            return _index(path, ear)
        except (Damaged, apsw.Error) as error:
            if not (isinstance(error, Damaged | apsw.SQLError) or broken(error)):  # nobody else asks anything here
                raise
        remove(path)
        return _index(path, ear)
    except (OSError, apsw.Error) as error:
        leave_word(held, reason_of(error))
        return WorkerExit.NO_PLACE
    finally:
        os.close(held)


def _index(path: Path, ear: Ear) -> WorkerExit:
    program = fingerprint().decode("utf-8", "replace")
    _examine(path, program)
    # The machine whose stores are indexed is the one that whoever started this process named.
    given = os.environ.get(STORES)
    if given is None:
        environment = Environment.current()
    else:
        stores = json.loads(given)
        environment = Environment(home=Path(stores["home"]), variables=stores["variables"], proc=Path(stores["proc"]))
    adapters = Adapters(lambda: environment)
    connection = open_writer(path)
    try:
        break_seal(path)  # before anything is written: a reader takes a seal that does not fit for damage
        made_by = connection.execute("SELECT value FROM meta WHERE key='program'").get
        if made_by is None:
            connection.execute("INSERT INTO meta VALUES('program', ?)", (program,))
        elif made_by != program:  # where the file was left in disorder there is no seal that says so
            raise Damaged("it was made by another version of this program")
        indexer = Indexer(connection, adapters, pid=os.getpid(), stop=ear.gone)
        told: Sequence[Source] | None = ()
        tidied, life, grown = False, Life(_SECONDS, _GROWTH), False
        while not grown and told is not None and indexer.run(told) and not has_seal(path):
            tidied = tidied or tidy(connection, ear.called)
            connection.release_memory()  # 4 MB of pages that the system has, too: the next line needs some twenty
            give_back()
            grown = life.over
            told = ear.wait(indexer.patience)
        note_collected(connection)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
    write_seal(path, program)
    return WorkerExit.AGAIN if grown and told is not None else WorkerExit.DONE


def _examine(path: Path, program: str) -> None:
    """Raises `Damaged` for a file that is not as its writer left it, or that other readers made."""
    seal = read_seal(path)
    if seal is None:
        return
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    if (seal.size, seal.modified) != (status.st_size, status.st_mtime_ns):
        raise Damaged("something else has written to it")
    if seal.program != program:
        raise Damaged("it was made by another version of this program")


def main() -> int:
    """The process."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, max(_NICE, os.getpriority(os.PRIO_PROCESS, 0)))
    gc.freeze()
    gc.set_threshold(LITTER)  # texts come and go in great numbers, and nearly none of them in circles
    try:
        options = sys.argv[2:]
        code = work(Path(sys.argv[1]), follow="--follow" in options, patient="--patient" in options)
        if code is WorkerExit.AGAIN:
            signal.setitimer(signal.ITIMER_REAL, 0)  # what begins now has no handler for it yet
            os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - as it was started
        return code
    except Exception as error:
        write_failure(error)
        return WorkerExit.FAILED


if __name__ == "__main__":
    sys.exit(main())
