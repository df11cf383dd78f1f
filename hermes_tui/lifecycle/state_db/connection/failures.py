"""What SQLite says, in a sentence of ours.

StoreError              hermes_tui.errors
├── StoreBusy           hermes_tui.errors
├── QueryRefused        a statement, or the words of a search, that SQLite does not understand
└── RuleBroken          a key that is taken, or one that points nowhere
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from hermes_tui.errors import StoreBusy, StoreError
from hermes_tui.lifecycle.state_db.connection.access import REPAIR
from hermes_tui.lifecycle.state_db.connection.contention import BUSY
from hermes_tui.lifecycle.state_db.connection.holders import holder

__all__ = ["QueryRefused", "RuleBroken", "told"]


class RuleBroken(StoreError):
    """A rule of the tables forbids it: a key that is taken, or one that points nowhere."""


class QueryRefused(StoreError):
    """SQLite does not understand a statement, or the words of a search in it."""


_KINDS: tuple[tuple[type[apsw.Error], type[StoreError]], ...] = (
    (apsw.ConstraintError, RuleBroken),
    (apsw.SQLError, QueryRefused),
)
_FULL = "the disk or the database is full; nothing was written, make room and try again"
_REASONS: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, _FULL),
    (apsw.ReadOnlyError, "it is read-only now; nothing was written"),
    (apsw.NotADBError, "it is not an SQLite database; nothing was written"),
    (apsw.CorruptError, f"it is damaged; nothing was written, {REPAIR}"),
    (apsw.CantOpenError, "its files cannot be opened; nothing was written"),
    (apsw.IOError, "the disk does not take or give it; nothing was written, see the system's log for why"),
)
_LITTLE = 64 << 10
"""Bytes: with fewer free, a disk that refuses something is full, whatever SQLite calls it. The memory that the
processes share is 32 KiB."""


@contextmanager
def told(path: Path, done: str) -> Iterator[None]:
    """SQLite's errors as `StoreError`; `done` is what was tried, as in "could not be opened"."""
    try:
        yield
    except BUSY as error:
        raise StoreBusy(
            f"The session store {path} could not be {done}: {holder(path.resolve())} kept it locked, and nothing was"
            " changed; try again, or end that process if it hangs."
        ) from error
    except apsw.Error as error:
        kind = next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), StoreError)
        reason = next((text for theirs, text in _REASONS if isinstance(error, theirs)), f"SQLite says: {error}")
        if isinstance(error, apsw.IOError | apsw.CantOpenError):
            with suppress(OSError):  # then SQLite's own word stands
                if shutil.disk_usage(path.resolve().parent).free < _LITTLE:
                    reason = _FULL
        raise kind(f"The session store {path} could not be {done}: {reason}.") from error
