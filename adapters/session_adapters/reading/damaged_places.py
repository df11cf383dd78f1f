"""Counts damaged places, keeps the first, and words errors alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from contextlib import contextmanager
from itertools import islice

from session_adapters.model import Problem, SessionMissing, SessionUnreadable
from session_adapters.reading.lines import STRAYS, Line

__all__ = ["KEPT", "REPORTED", "Damage", "Place", "is_for_now", "reading_session", "reason_of"]

KEPT = STRAYS + 100
"""Places that are kept with their reasons; a hostile file has tens of millions."""
REPORTED = 10
"""Places of a file that are reported one by one when it is listed or searched."""

_WORD = re.compile(r"[^\s,:/]+?(?=\.json\b|[\s,:/]|$)")

Place = int | str
"""An offset or a number, of which `unit` says what it counts; or a place in words."""


class Damage:
    """Places with their reasons, in the order in which they were found."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Place, str], None] = {}
        self._more = 0
        self._rest: tuple[Place, str] | None = None
        """From where on the file is not read, which is told however much is damaged before."""

    def __len__(self) -> int:
        """How many there are, those that are not kept included."""
        return len(self._kept) + self._more + (self._rest is not None)

    def __iter__(self) -> Iterator[tuple[Place, str]]:
        """Those that are kept."""
        return iter(self._kept)

    def add(self, place: Place, reason: str, count: int = 1) -> None:
        """Take note of a place, or of one that stands for `count`."""
        if len(self._kept) < KEPT:
            self._kept[place, reason] = None
        else:
            self._more += count

    def skip(self, line: Line) -> None:
        """Take note of a line that is too long to be read, or stands for others."""
        if line.rest:
            self._rest = (line.offset, line.excess)
        else:
            self.add(line.offset, line.excess, line.more or 1)

    def discard(self, place: Place, reason: str) -> None:
        """Take back what was noted of a place: it is whole after all."""
        if (place, reason) in self._kept:
            del self._kept[place, reason]
        elif self._more:
            self._more -= 1

    def forget(self, names: Set[str]) -> None:
        """Take back what was noted of places in words that hold one of the names: they are read again."""
        for place, reason in list(self._kept):
            if not names.isdisjoint(_WORD.findall(str(place))):
                del self._kept[place, reason]

    def extend(self, later: Damage) -> None:
        """Take in what was found behind this."""
        for place, reason in later:
            self.add(place, reason)
        self._more += later._more
        self._rest = later._rest or self._rest

    def places(self, *, unit: str = "byte", limit: int = KEPT) -> list[tuple[str, str]]:
        """(place, reason) of the first `limit`, and behind them how many more there are."""
        found = [(self._words(place, unit), reason) for place, reason in islice(self, limit)]
        if more := len(self._kept) + self._more - len(found):
            found.append((f"after {found[-1][0]}", f"{more:,} more damaged places"))
        return [*found, (self._words(self._rest[0], unit), self._rest[1])] if self._rest else found

    def problems(
        self, agent: str, path: str, session_id: str, *, unit: str = "byte", limit: int = KEPT
    ) -> list[Problem]:
        """`places` as what a user is told of them."""
        return [
            Problem(agent=agent, path=path, reason=reason, place=place, session_id=session_id)
            for place, reason in self.places(unit=unit, limit=limit)
        ]

    @staticmethod
    def _words(place: Place, unit: str) -> str:
        return place if isinstance(place, str) else f"{unit} {place}"


def reason_of(error: Exception) -> str:
    """What went wrong; of an error of the system without the path, which stands beside it."""
    return str(getattr(error, "strerror", None) or error)


def is_for_now(error: BaseException | None) -> bool:
    """Whether what could not be read may well be there: it is locked, takes too long or lies out of reach, and is not
    known to be damaged."""
    # Imported late: who reads no database can do without them.
    import apsw

    from session_adapters.reading.sqlite_limits import DatabaseUnreadable

    found = False
    while error is not None:
        if isinstance(error, apsw.CorruptError | apsw.NotADBError):
            return False
        found = found or isinstance(error, OSError | DatabaseUnreadable)
        error = error.__cause__
    return found


@contextmanager
def reading_session(agent: str, session_id: str, path: str) -> Iterator[None]:
    """Raises `SessionMissing` in place of what says that the file is gone, `SessionUnreadable` of what says that it
    cannot be read."""
    try:
        yield
    except SessionUnreadable:
        raise
    except FileNotFoundError as error:
        raise SessionMissing(f"{agent} session {session_id}: {path} is not there any more") from error
    except (OSError, ValueError) as error:
        raise SessionUnreadable(f"cannot read {path}: {reason_of(error)}") from error
