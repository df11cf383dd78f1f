"""An OpenCode conversation opened for reading: its newest units at once, and what was written since."""

from __future__ import annotations

from collections.abc import Sequence

from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.model import Message, Problem
from session_adapters.opencode.units import Lost, Reader, SessionGone, Shelf, Unit
from session_adapters.sqlite import DatabaseMissing, DatabaseUnreadable
from session_adapters.text import scrub
from session_adapters.transcript import Change, Transcript, first_difference

__all__ = ["PAGE_UNITS", "OpenCodeTranscript"]

PAGE_UNITS = 100
_UNREADABLE = (DatabaseUnreadable, OSError, ValueError)


class OpenCodeTranscript(Transcript):
    """The units of one session. All are listed, the loaded ones are kept with their messages; whenever the store
    has changed those whose stamps differ are read again."""

    def __init__(self, shelf: Shelf, session_id: str, *, page: int = PAGE_UNITS) -> None:
        super().__init__("opencode", scrub(session_id), shelf.path)
        self._shelf = shelf
        self._page = page
        self._units: list[Unit] = []
        """The loaded ones."""
        self._blocks: list[list[Message]] = []
        """The messages of each."""
        self._lost: list[Lost] = []
        try:
            self._stamp = shelf.stamp()
            shelf.visit(self.session_id, self._load)
        except (DatabaseMissing, SessionGone) as error:
            raise SessionMissing(f"opencode session {self.session_id} is not in {self.path} any more") from error
        except _UNREADABLE as error:
            raise SessionUnreadable(
                f"cannot read opencode session {self.session_id} in {self.path}: {error}"
            ) from error

    def _load(self, reader: Reader) -> None:
        units = reader.units()
        start = self._cut(units, len(units))
        blocks = reader.read(units[start:])
        self._units, self._blocks = units[start:], blocks
        self.complete = start == 0
        self._lost = reader.lost
        self._publish()

    def _cut(self, units: Sequence[Unit], stop: int) -> int:
        return max(0, stop - self._page)

    def _publish(self, *more: str) -> None:
        self.messages = [message for block in self._blocks for message in block]
        self.problems = [
            Problem(
                agent=self.agent, path=self.path, reason=lost.reason, place=lost.place, session_id=self.session_id
            )
            for lost in (*self._lost, *(Lost("", reason) for reason in more))
        ]

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        added = 0
        while not self.complete and not added:
            try:
                blocks = self._shelf.visit(self.session_id, self._read_before)
            except (SessionGone, *_UNREADABLE):
                return 0  # `refresh` says what is the matter
            if blocks is None:
                return 0
            added = sum(map(len, blocks))
        return added

    def _read_before(self, reader: Reader) -> list[list[Message]] | None:
        """Put the page before in front; None when the loaded part is not where it was."""
        units = reader.units()
        ids = [unit.id for unit in units]
        if self._units and self._units[0].id not in ids:
            return None
        stop = ids.index(self._units[0].id) if self._units else len(ids)
        start = self._cut(units, stop)
        blocks = reader.read(units[start:stop])
        self._units = [*units[start:stop], *self._units]
        self._blocks = [*blocks, *self._blocks]
        self.complete = start == 0
        self._lost += [lost for lost in reader.lost if lost not in self._lost]
        self._publish()
        return blocks

    # Following ---------------------------------------------------------------------------------------------

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        stamp = self._shelf.stamp()
        if stamp and stamp == self._stamp:
            return Change()
        try:
            change = self._shelf.visit(self.session_id, self._follow)
        except (DatabaseMissing, SessionGone):
            return Change(gone=True)
        except _UNREADABLE as error:
            self._publish(f"cannot be read now: {error}")
            self._stamp = ()
            return Change()
        self._stamp = stamp
        return change

    def _follow(self, reader: Reader) -> Change:
        """Take in what is new or different in the loaded part, and what came after it."""
        units = reader.units()
        old = {unit.id: (unit, block) for unit, block in zip(self._units, self._blocks, strict=True)}
        start = next((index for index, unit in enumerate(units) if unit.id in old), None)
        if start is None:  # nothing of what is shown is there any more
            start = 0 if self.complete else self._cut(units, len(units))
        elif self.complete:
            start = 0
        after = units[start:]
        different = [unit for unit in after if unit.id not in old or old[unit.id][0] != unit]
        fresh = dict(zip((unit.id for unit in different), reader.read(different), strict=True))
        blocks = [fresh[unit.id] if unit.id in fresh else old[unit.id][1] for unit in after]
        kept = {unit.id for unit in after}
        removed = any(unit.id not in kept for unit in self._units)
        before = self.messages
        self._units, self._blocks = after, blocks
        self.complete = start == 0
        again = [unit.id for unit in different]
        self._lost = [lost for lost in self._lost if not any(id_ in lost.place for id_ in again)]
        self._lost += [lost for lost in reader.lost if lost not in self._lost]
        self._publish()
        if removed:
            return Change(first=0, rewritten=True)
        return Change(first=first_difference(before, self.messages))
