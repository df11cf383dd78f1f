"""Which sessions have model calls that another one has, too.

Forks have those of what they copied, and so have sessions that were resumed, and copies of files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from hermes_tui.sessions.cost.session_book import SessionBook
from session_adapters.growing.hashes import Hashes

__all__ = ["SharedCalls"]

_SPARE = 10_000
"""Calls of sessions that are gone, beyond as many as there are: from then on it is worth starting anew."""


class SharedCalls:
    """Kept while sessions grow: of these only the new calls are looked up. For one thread at a time."""

    def __init__(self) -> None:
        self._books: Mapping[str, SessionBook] = {}
        self._known = Hashes()
        """What tells calls apart, of all sessions so far."""
        self._twice = Hashes()
        """Of these, what two sessions or more had."""
        self._names: frozenset[str] = frozenset()

    def stay_apart(self, books: Mapping[str, SessionBook], changed: Iterable[str]) -> bool:
        """Take in what the books of these names came to since. False, and nothing is taken in, where one of them has
        a call that another session has, too: `among` tells which they are."""
        new = set[int]()
        for name in changed:
            had = self._books[name].marks
            marks = {one for one in books[name].marks if one not in had}
            if name in self._names or not new.isdisjoint(marks) or any(one in self._known for one in marks):
                return False
            new |= marks
        self._known.update(new)
        self._books = books
        return True

    def among(self, books: Mapping[str, SessionBook]) -> Collection[str]:
        """The unified ids of those that have a call that another has; one that shared a call with a session that is
        gone may be among them still."""
        if len(self._known) > 2 * sum(len(one.marks) for one in books.values()) + _SPARE:
            self._books, self._known, self._twice, self._names = {}, Hashes(), Hashes(), frozenset()
        new, twice = set[int](), set[int]()
        changed = []
        for name, book in books.items():
            before = self._books.get(name)
            if book is before:
                continue
            changed.append(name)
            had = before.marks if before is not None else ()
            marks = {one for one in book.marks if one not in had}
            twice.update(new & marks, (one for one in marks if one in self._known))
            new |= marks
        self._known.update(new)
        self._books, shared_before = books, len(self._twice)
        self._twice.update(twice)
        asked = books if len(self._twice) > shared_before else changed
        found = {name for name in asked if self._twice and any(one in self._twice for one in books[name].marks)}
        self._names = frozenset(found | {name for name in self._names if name in books})
        return self._names
