"""What all OpenCode layouts share: a session of units that become messages.

A unit is one message as OpenCode keeps it, with its parts. Units can be listed without reading what is in them, and
tell by their stamps whether they changed: OpenCode writes its rows and files again while an answer comes in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from msgspec.structs import replace

from session_adapters.model import Message, Visibility
from session_adapters.reading.sqlite import SessionGone
from session_adapters.reading.units import Lost, UnitReader

__all__ = [
    "CONTENT_LIMIT",
    "Generation",
    "Lost",
    "OpenCodeFacts",
    "OpenCodeReader",
    "OpenCodeStore",
    "OpenCodeUnit",
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


def revised(units: Iterable[OpenCodeUnit], facts: OpenCodeFacts) -> list[OpenCodeUnit]:
    """The units with what the session says of them: undone ones and copies of a parent's marked."""
    found: list[OpenCodeUnit] = []
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
        found.append(unit._replace(rewound=undone, inherited=copied) if undone or copied else unit)
        undone = undone or here
    return found
