"""A conversation kept as rows or files that are listed without their content.

Each is a unit: it becomes some messages, and tells by its stamp whether it changed. The newest units are read at
once, earlier ones page by page; whenever the store has changed, those whose stamps differ are read again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from session_adapters.model import Message
from session_adapters.reading.bounds import excess, shown_size
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.sqlite import UNREADABLE, DatabaseMissing, SessionGone, reading_stored
from session_adapters.reading.sqlite_limits import NEW_ROWS, SESSION_ROWS, Ration
from session_adapters.session_counts import SessionFold
from session_adapters.text import scrub
from session_adapters.transcript import Change, Transcript, first_difference, part_of

__all__ = [
    "PAGE_UNITS",
    "Lost",
    "UnitReader",
    "UnitShelf",
    "UnitTranscript",
    "Unitary",
]

PAGE_UNITS = 100
_MANY = 200
"""Units that are read at once: there may be ten thousand, and their texts are held together."""
_MOST = 128
"""Units that are read at once for a part, to see how long they are."""


class Lost(NamedTuple):
    """Something that could not be read."""

    place: str
    reason: str


class Unitary(Protocol):
    """A unit. Equal to an earlier one when its content is the same."""

    @property
    def id(self) -> str:
        """Unique within the session."""


U = TypeVar("U", bound=Unitary)
T = TypeVar("T")


class UnitReader(ABC, Generic[U]):
    """One session in an opened store; good for a moment."""

    def __init__(self) -> None:
        self.lost = Damage()
        """What could not be read so far."""
        self.ration = Ration()
        self.left = 0
        """Units that are left out: there is more in the session than is read at once."""

    @abstractmethod
    def units(self, most: int = SESSION_ROWS) -> Sequence[U]:
        """All of it, in conversation order, without reading any text; of too many, or more than `most`, the last."""

    @abstractmethod
    def contents(self, units: Sequence[U]) -> dict[str, list[Message]]:
        """By unit, its messages as they were written; of `_MANY` units at most. What cannot be read is noted in
        `lost`; what `ration` has no room for is counted in `left`."""

    def read(self, units: Sequence[U]) -> list[list[Message]]:
        """The messages of each of these units."""
        found: dict[str, list[Message]] = {}
        for at in range(0, len(units), _MANY):
            found |= self.contents(units[at : at + _MANY])
        return [found.get(unit.id, []) for unit in units]

    def newest(self, units: Sequence[U]) -> list[list[Message]]:
        """The messages of each of these units, read from the last on: what there is no room for are the first."""
        blocks: list[list[Message]] = []
        for _, some in self._backwards(units):
            blocks += some
        return blocks[::-1]

    def within(self, units: Sequence[U]) -> list[U]:
        """The units of which `newest` gives messages. What is in them is not held."""
        kept: list[U] = []
        for chunk, some in self._backwards(units):
            kept += [unit for unit, block in zip(chunk, some, strict=True) if block]
        return kept[::-1]

    def _backwards(self, units: Sequence[U]) -> Iterator[tuple[Sequence[U], list[list[Message]]]]:
        """Some units and the messages of each, the last ones first, as far as there is room."""
        for stop in range(len(units), 0, -_MANY):
            if self.ration.spent:
                self.left += stop
                return
            chunk = units[max(0, stop - _MANY) : stop][::-1]
            yield chunk, self.read(chunk)

    def count(self, units: Sequence[U], fold: SessionFold) -> None:
        """Add up the same from the first on, as far as there is room."""
        for at in range(0, len(units), _MANY):
            if self.ration.spent:
                self.left += len(units) - at
                break
            for block in self.read(units[at : at + _MANY]):
                fold.add(block)

    def part(self, units: Sequence[U], at: int, step: int) -> tuple[range, list[list[Message]]]:
        """Which of the units are a part (see `part_of`), and the messages of each. How long they are is seen by
        reading them: first one, then twice as many each time."""
        blocks: dict[int, list[Message]] = {}

        def block(index: int) -> list[Message]:
            if index not in blocks:
                many = min(len(blocks) + 1, _MOST)
                span = range(max(0, index - many + 1), index + 1) if step < 0 else range(index, index + many)
                chosen = [other for other in span if other < len(units) and other not in blocks]
                if step < 0:
                    chosen.reverse()  # what there is no room for is what is furthest away
                blocks.update(zip(chosen, self.read([units[other] for other in chosen]), strict=True))
            return blocks[index]

        found = part_of(
            len(units),
            at,
            step,
            lambda index: sum(map(shown_size, block(index))),
            lambda index: any(one.is_prompt for one in block(index)[:1]),
        )
        return found, [block(index) for index in found]

    @property
    def damage(self) -> Damage:
        """Everything that is not there."""
        found = Damage()
        found.extend(self.lost)
        if self.left:
            found.add("", excess(self.left), self.left)
        return found


class UnitShelf(Protocol[U]):
    """The place that holds the session."""

    path: str

    def stamp(self) -> tuple[Any, ...]:
        """Changes when something may have changed; empty where only looking tells."""

    def visit(self, session_id: str, work: Callable[[UnitReader[U]], T]) -> T:
        """`work` with a reader for the session; it may be run again. Raises `SessionGone`, `OSError`,
        `DatabaseUnreadable`, and `ValueError` where the session itself is damaged."""


class _Part(NamedTuple, Generic[U]):
    """Units that are shown alone."""

    units: list[U]
    blocks: list[list[Message]]
    lost: Damage
    complete: bool
    is_cut: bool
    begins: float


class UnitTranscript(Transcript, Generic[U]):
    """The loaded units of a session and their messages."""

    def __init__(
        self, agent: str, shelf: UnitShelf[U], session_id: str, *, page: int = PAGE_UNITS, last: int = 0
    ) -> None:
        """`last`: so many units alone are wanted, for looking at where it stands; 0 for all."""
        super().__init__(agent, scrub(session_id), shelf.path)
        self._shelf = shelf
        self._page = page
        self._last = last
        self._units: list[U] = []
        """The loaded ones."""
        self._blocks: list[list[Message]] = []
        """The messages of each."""
        self._lost = Damage()
        self._listed: Sequence[U] | None = None
        """All units, for who goes through the session part by part; None for who does not."""
        with reading_stored(agent, self.session_id, self.path):
            self._stamp = shelf.stamp()
            shelf.visit(self.session_id, self._load)

    def join(self, blocks: Iterable[list[Message]]) -> list[Message]:
        """The messages of the loaded units as one conversation."""
        return [message for block in blocks for message in block]

    def _load(self, reader: UnitReader[U]) -> None:
        units = reader.units(self._last or self._page + 1)
        start = self._cut(len(units))
        self._units = list(units[start:])
        self._blocks = _newest_first(reader, self._units)
        self.complete = start == 0 and not 0 < self._last <= len(units)
        self._lost = reader.damage
        self._publish()

    def _cut(self, stop: int) -> int:
        return max(0, stop - self._page)

    def _publish(self, *more: str) -> None:
        self.messages = self.join(self._blocks)
        found = self._lost.problems(self.agent, self.path, self.session_id)
        self.problems = [*found, *map(self.problem, more)]

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        self._listed = None
        before = len(self.messages)
        while not self.complete and len(self.messages) <= before:
            try:
                fits = self._shelf.visit(self.session_id, self._read_before)
            except (SessionGone, *UNREADABLE):
                return 0  # `refresh` says what is the matter
            if not fits:
                return 0
        return len(self.messages) - before

    def _read_before(self, reader: UnitReader[U]) -> bool:
        """Put the page before in front; False when the loaded part is not where it was."""
        most = len(self._units) + NEW_ROWS + self._page + 1
        # The last units do where the loaded ones and a page before them are among them.
        units: Sequence[U] = () if self.is_cut else reader.units(most)
        if self.is_cut or (len(units) >= most and self._place(units, 0) <= self._page):
            units = reader.units()
        stop = self._place(units, 0) if self._units else len(units)
        if stop < 0:
            return False
        start = self._cut(stop)
        self._blocks = [*_newest_first(reader, units[start:stop]), *self._blocks]
        self._units = [*units[start:stop], *self._units]
        self.complete = start == 0
        self._lost.extend(reader.damage)
        self._publish()
        return True

    def let_go(self) -> None:
        """See `Transcript.let_go`."""
        super().let_go()
        self._blocks = []
        self._listed = self._listed or ()

    def load_part(self, step: int) -> bool:
        """See `Transcript.load_part`."""
        stamp = self._shelf.stamp()
        if self._listed and not (stamp and stamp == self._stamp):
            self._listed = ()
        try:
            found = self._shelf.visit(self.session_id, partial(self._read_part, step))
        except (SessionGone, *UNREADABLE):
            return False
        if found is None:
            return False
        self._stamp = stamp
        self._units, self._blocks, self._lost, self.complete, self.is_cut, self.begins = found
        self._publish()
        return True

    def _read_part(self, step: int, reader: UnitReader[U]) -> _Part[U] | None:
        units = self._listed or reader.units()
        if self._listed is not None:
            self._listed = units
        if not units or (step > 0 and not self.is_cut):
            return None
        at = self._place(units, 0) if step < 0 else self._place(units, -1) + 1 if step else 0
        if at < 0 or (step > 0 and not at):
            return None
        span, blocks = reader.part(units, at, step or 1)
        if not span:
            return None
        chosen = list(units[span.start : span.stop])
        return _Part(chosen, blocks, reader.damage, not span.start, span.stop < len(units), span.start / len(units))

    def _place(self, units: Sequence[U], index: int) -> int:
        """Where the first (0) or the last (-1) loaded unit is; -1 where it is no more."""
        wanted = self._units[index].id if self._units else None
        return next((at for at, unit in enumerate(units) if unit.id == wanted), -1)

    # Following ---------------------------------------------------------------------------------------------

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        self._listed = None
        stamp = self._shelf.stamp()
        if stamp and stamp == self._stamp and not self.is_cut:
            return Change()
        try:
            change = self._shelf.visit(self.session_id, self._follow)
        except (DatabaseMissing, FileNotFoundError, SessionGone):
            return Change(gone=True)
        except UNREADABLE as error:
            self._publish(f"cannot be read now: {error}")
            self._stamp = ()
            return Change()
        self._stamp = stamp
        return change

    def _follow(self, reader: UnitReader[U]) -> Change:
        """Take in what is new or different in the loaded part, and what came after: of much a part more."""
        # The last units do where the loaded ones are among them and others before those.
        units: Sequence[U] = ()
        if not self.complete and not self.is_cut:
            units = reader.units(len(self._units) + NEW_ROWS)
        if self._place(units, 0) <= 0:
            units = reader.units()
        # Only what differs is read again: an answer that comes in changes its last unit many times a second.
        old = {unit.id: (unit, block) for unit, block in zip(self._units, self._blocks, strict=True)}
        known = [index for index, unit in enumerate(units) if unit.id in old]
        start, stop = known[0] if known else 0, len(units)
        if not known:  # nothing of what is shown is there any more
            start = 0 if self.complete and not self.is_cut else self._cut(len(units))
        elif self.complete:
            start = 0
        if self.is_cut and known and known[-1] + 1 < stop:
            more, blocks = reader.part(units, known[-1] + 1, 1)
            stop = more.stop
            old |= {units[at].id: (units[at], block) for at, block in zip(more, blocks, strict=True)}
        after = list(units[start:stop])
        different = [unit for unit in after if unit.id not in old or old[unit.id][0] != unit]
        fresh = dict(zip((unit.id for unit in different), _newest_first(reader, different), strict=True))
        blocks = [fresh[unit.id] if unit.id in fresh else old[unit.id][1] for unit in after]
        kept = {unit.id for unit in after}
        removed = any(unit.id not in kept for unit in self._units)
        before = self.messages
        self._units, self._blocks = after, blocks
        self.complete, self.is_cut = start == 0, stop < len(units)
        self._lost.forget({unit.id for unit in different})
        self._lost.extend(reader.damage)
        self._publish()
        if removed:
            return Change(first=0, rewritten=True)
        return Change(first=first_difference(before, self.messages))


def _newest_first(reader: UnitReader[U], units: Sequence[U]) -> list[list[Message]]:
    """The messages of the units: what is left out are the first."""
    return reader.read(units[::-1])[::-1]
