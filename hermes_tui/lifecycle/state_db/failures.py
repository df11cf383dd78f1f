"""What SQLite says, in a sentence of ours.

StoreError              hermes_tui.errors
├── StoreBusy           hermes_tui.errors
├── QueryRefused        a statement, or the words of a search, that SQLite does not understand
└── RuleBroken          a key that is taken, or one that points nowhere
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from hermes_tui.errors import StoreBusy, StoreError
from hermes_tui.lifecycle.state_db.contention import BUSY

__all__ = ["QueryRefused", "RuleBroken", "told"]


class RuleBroken(StoreError):
    """A rule of the tables forbids it: a key that is taken, or one that points nowhere."""


class QueryRefused(StoreError):
    """SQLite does not understand a statement, or the words of a search in it."""


_KINDS: tuple[tuple[type[apsw.Error], type[StoreError]], ...] = (
    (apsw.ConstraintError, RuleBroken),
    (apsw.SQLError, QueryRefused),
)
_REASONS: tuple[tuple[type[apsw.Error], str], ...] = (
    (apsw.FullError, "the disk or the database is full; nothing was written, make room and try again"),
    (apsw.ReadOnlyError, "it is read-only now; nothing was written"),
    (apsw.NotADBError, "it is not an SQLite database; nothing was written"),
    (apsw.CorruptError, "it is damaged; nothing was written, `hermes sessions repair --check-only` says more"),
    (apsw.CantOpenError, "its files cannot be opened; nothing was written"),
    (apsw.IOError, "the disk does not take or give it; nothing was written"),
)


@contextmanager
def told(path: Path, done: str) -> Iterator[None]:
    """SQLite's errors as `StoreError`; `done` is what was tried, as in "could not be opened"."""
    try:
        yield
    except BUSY as error:
        raise StoreBusy(
            f"The session store {path} could not be {done}: another process kept it locked; try again."
        ) from error
    except apsw.Error as error:
        kind = next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), StoreError)
        reason = next((text for theirs, text in _REASONS if isinstance(error, theirs)), f"SQLite says: {error}")
        raise kind(f"The session store {path} could not be {done}: {reason}.") from error
