"""What all OpenCode layouts share: a session of units that become messages.

A unit is one message as OpenCode keeps it, with its parts. Units can be listed without reading what is in them, and
tell by their stamps whether they changed: OpenCode writes its rows and files again while an answer comes in.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from msgspec.structs import replace

from session_adapters.growing.columns import RowsInColumns
from session_adapters.growing.ids import Ids
from session_adapters.model import Message, Visibility
from session_adapters.reading.sqlite import SessionGone
from session_adapters.reading.units import Lost, UnitReader

__all__ = [
    "CONTENT_LIMIT",
    "Generation",
    "Lost",
    "OpenCodeFacts",
    "OpenCodeReader",
    "OpenCodeStamp",
    "OpenCodeStore",
    "OpenCodeUnit",
    "OpenCodeUnits",
    "SessionGone",
    "marked",
    "revised",
]

CONTENT_LIMIT = 32 << 20
"""Bytes of one row or file; a larger one is named and never held in memory."""

Generation = Literal["2.x", "1.x", "json", "project", "document"]
"""Which layout a session was read from: `session_v2`; `session`; the tree `storage/`; the trees under `project/`;
spec 004 §4.2.6."""

T = TypeVar("T")
_TOGETHER = 200
"""Messages of which something is asked at a time."""
_WRAP = 1 << 36
"""Milliseconds after which the time in OpenCode's ids begins again: they hold 48 bits of it times 4096."""


class OpenCodeFacts(NamedTuple):
    """A session without its messages."""

    id: str
    generation: Generation
    title: str = ""
    """The agent's own; empty for its placeholders."""
    directory: str | None = None
    parent_id: str | None = None
    """The session that started this one as its helper."""
    forked_from: str | None = None
    created: float | None = None
    updated: float | None = None
    model: str | None = None
    """The one chosen last, for a session in which none has answered."""
    version: str | None = None
    archived: bool = False
    revert: str | None = None
    """Id of the first message that is undone."""
    revert_inside: bool = False
    """Only parts of that message are."""
    boundary: str | None = None
    """2.x: the parent's last message that was copied."""
    raw: Mapping[str, Any] = MappingProxyType({})


class OpenCodeUnit(NamedTuple):
    """One native message."""

    id: str
    kind: str = ""
    """Which table or shape it has."""
    created: float | None = None
    stamp: tuple[Any, ...] = ()
    """Changes when the content may have."""
    rewound: bool = False
    inherited: bool = False


class OpenCodeStamp(NamedTuple):
    """What a row of a database looks like from outside; None where that is not known."""

    seq: float | None = None
    """2.x: its place in the conversation."""
    size: float | None = None
    """Bytes of its content."""
    updated: float | None = None
    parts: float | None = None
    """How many rows belong to it."""
    inside: float | None = None
    """Bytes of their content."""
    newest: float | None = None
    """When one of them was written last."""


_NUMBERS = 1 + len(OpenCodeStamp._fields)


class OpenCodeUnits(RowsInColumns[OpenCodeUnit]):
    """The messages of a session in a database."""

    def __init__(self, units: Iterable[OpenCodeUnit] = ()) -> None:
        """`units`: those there are, the last one first."""
        self._ids = Ids()
        self._kinds: list[str] = []
        self._numbers = array("d")
        """Of each when it was created, and its stamp; NaN for None."""
        self._rewound, self._inherited = bytearray(), bytearray()
        for unit in units:
            self.put_before(unit.id, unit.kind, unit.created, OpenCodeStamp(*unit.stamp))

    def __len__(self) -> int:
        return len(self._kinds)

    def row(self, at: int) -> OpenCodeUnit:
        """See `InColumns.row`."""
        numbers = self._numbers[at * _NUMBERS : (at + 1) * _NUMBERS]
        created, *stamp = [None if number != number else number for number in numbers]
        rewound, inherited = bool(self._rewound[at]), bool(self._inherited[at])
        return OpenCodeUnit(self._ids[at], self._kinds[at], created, OpenCodeStamp(*stamp), rewound, inherited)

    def are_all(self, kind: str) -> bool:
        """Whether each of them is of this kind."""
        return self._kinds.count(kind) == len(self._kinds)

    def put_before(self, unit_id: str, kind: str, created: float | None, stamp: OpenCodeStamp) -> None:
        """Take in one that comes before those there are."""
        self._ids.append(unit_id)
        self._kinds.append(kind)
        self._numbers.extend(_as_numbers((created, *stamp)))
        self._rewound.append(False)
        self._inherited.append(False)

    def tell_parts(self, ask: Callable[[Sequence[str]], Mapping[str, Sequence[float | None]]]) -> None:
        """Let `ask` say of some ids at a time which of them have parts: how many, their bytes and when one was
        written last."""
        for start in range(0, len(self), _TOGETHER):
            ids = {self._ids[at]: at for at in range(start, min(start + _TOGETHER, len(self)))}
            found = ask(list(ids))
            for unit_id in ids.keys() & found.keys():
                end = (ids[unit_id] + 1) * _NUMBERS
                self._numbers[end - 3 : end] = array("d", _as_numbers(found[unit_id]))

    def revise(self, facts: OpenCodeFacts, copied: float | None) -> None:
        """Mark what the session says of them; those up to the place `copied` are a parent's."""
        if copied is not None:
            for at in self.places:
                self._inherited[at] = self._numbers[at * _NUMBERS + 1] <= copied
        made = math.nan if facts.created is None else facts.created
        if facts.revert is None and not any(one < made for one in self._numbers[::_NUMBERS]):
            return  # nothing is undone, and nothing is older than the session
        for at, unit in zip(self.places, revised(self, facts), strict=True):
            self._rewound[at], self._inherited[at] = unit.rewound, unit.inherited


def _as_numbers(some: Iterable[float | None]) -> list[float]:
    return [math.nan if one is None else one for one in some]


class OpenCodeReader(UnitReader[OpenCodeUnit]):
    """One session in an opened store; good for a moment."""

    def __init__(self, facts: OpenCodeFacts) -> None:
        super().__init__()
        self.facts = facts

    def read(self, units: Sequence[OpenCodeUnit]) -> list[list[Message]]:
        """The messages of each of these units, with what the session says of them."""
        return [marked(unit, messages) for unit, messages in zip(units, super().read(units), strict=True)]


class OpenCodeStore(ABC):
    """The place that holds a session: a database or a tree of files."""

    path: str

    @abstractmethod
    def stamp(self) -> tuple[Any, ...]:
        """Changes when something may have changed; empty where only looking tells."""

    @abstractmethod
    def visit(self, session_id: str, work: Callable[[OpenCodeReader], T]) -> T:
        """`work` with a reader for the session; it may be run again. Raises `SessionGone`, `OSError` and
        `DatabaseUnreadable`."""


def marked(unit: OpenCodeUnit, messages: list[Message]) -> list[Message]:
    """The unit's messages as undone or copied, if it is."""
    if not (unit.rewound or unit.inherited):
        return messages
    visibility: Visibility = "rewound" if unit.rewound else "live"
    return [replace(one, visibility=visibility, inherited=unit.inherited) for one in messages]


def revised(units: Iterable[OpenCodeUnit], facts: OpenCodeFacts) -> Iterator[OpenCodeUnit]:
    """The units with what the session says of them: undone ones and copies of a parent's marked."""
    undone = False
    for unit in units:
        here = unit.id == facts.revert
        undone = undone or (here and not facts.revert_inside)
        copied, created = unit.inherited, unit.created
        if not copied and created is not None and facts.created is not None and created < facts.created:
            # A copy that `--fork` made has nothing but this sign: the time of its original, from before the session
            # was, and an id made after (FACTS.md «Semantics»).
            try:
                made = int(unit.id.removeprefix("msg_")[:12], 16) >> 12
                older = int(facts.created) - int(created)
                copied = unit.id.startswith("msg_") and older <= (made - int(created)) % _WRAP < _WRAP // 2
            except (ValueError, OverflowError):  # another kind of id, or a time that is none
                copied = False
        yield unit._replace(rewound=undone, inherited=copied) if undone or copied else unit
        undone = undone or here
