"""What all of Cursor's stores know of a session, and how its messages are linked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar

from msgspec.structs import replace

from session_adapters.model import Message
from session_adapters.reading.lines import Line
from session_adapters.reading.sqlite import stamp_or_empty
from session_adapters.reading.units import UnitReader, UnitTranscript
from session_adapters.transcript import Builder

__all__ = [
    "CONTENT_LIMIT",
    "CursorFacts",
    "CursorReader",
    "CursorStore",
    "CursorTranscript",
    "CursorUnit",
    "Kind",
    "linked",
    "unique_ids",
]

CONTENT_LIMIT = 32 << 20
"""Bytes of one row; a larger one is named and never held in memory."""

_REPEATS, _REPEATED = 1_000, 64 << 10
"""Messages of a conversation that may stand in it again, and bytes of the longest of them."""

Kind = Literal["chat", "composer", "transcript", "text", "tab", "document"]
"""Which layout a session was read from: the CLI's `store.db`; the editor's database; a transcript in lines of JSON;
an older one in plain text; the editor's oldest, tabs in a workspace's database; spec 004 §4.2.5."""

T = TypeVar("T")


class CursorFacts(NamedTuple):
    """A session without its messages."""

    id: str
    kind: Kind
    title: str = ""
    """Cursor's own; empty for its placeholder."""
    cwd: str | None = None
    parent_id: str | None = None
    created: float | None = None
    """Milliseconds, as in the next."""
    updated: float | None = None
    """When the conversation was last changed: counts where the newest message has no time."""
    model: str | None = None
    """The one chosen, for a session in which no message names any."""
    archived: bool = False
    failed: bool = False
    source: str | None = None
    raw: Mapping[str, Any] = MappingProxyType({})


class CursorUnit(NamedTuple):
    """One native message."""

    id: str
    place: Any
    """What finds it in the store."""
    stamp: tuple[Any, ...] = ()
    role: str = ""
    """`user` or `assistant`, where that is known without reading it."""


class CursorReader(UnitReader[CursorUnit]):
    """One session in an opened store; see `units.UnitReader`."""

    def __init__(self, facts: CursorFacts) -> None:
        super().__init__()
        self.facts = facts

    def seen(self, *, partial: bool) -> CursorFacts:
        """The facts, with what only reading the messages showed, or the first and last of them."""
        return self.facts

    def note(self, place: str, reason: str) -> None:
        """Keep what could not be read."""
        self.lost.add(place, reason)

    def numbered(self, names: Iterable[str]) -> list[tuple[str, int]]:
        """(id, place among the names): a name that came before has a number behind it. A name takes 32 bytes, and its
        message up to `CONTENT_LIMIT`, so no more than `_REPEATS` are taken again."""
        found: list[tuple[str, int]] = []
        known = list(names)
        repeats = 0
        for place, (unique, name) in enumerate(zip(unique_ids(known), known, strict=True)):
            repeats += unique != name
            if unique == name or repeats <= _REPEATS:
                found.append((unique, place))
        if repeats > _REPEATS:
            self.note("order", f"of {repeats:,} repeated messages {_REPEATS:,} are shown")
        return found

    def is_too_long_again(self, unit: CursorUnit, name: str, data: bytes) -> bool:
        """Whether the message was read before and is so long that it is not read again."""
        if unit.id == name or len(data) <= _REPEATED:
            return False
        self.note(str(unit.place), f"it is repeated, and shown once ({len(data)} bytes)")
        return True


class CursorStore(ABC):
    """The database that holds a session; see `units.UnitShelf`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def stamp(self) -> tuple[Any, ...]:
        """Changes when something may have changed; empty where the database cannot be reached."""
        return stamp_or_empty(self.path)

    @abstractmethod
    def visit(self, session_id: str, work: Callable[[CursorReader], T]) -> T:
        """`work` with a reader for the session; it may be run again."""


def unique_ids(names: Iterable[str]) -> list[str]:
    """The names, those that came before with a number behind: a conversation may hold the same message twice."""
    seen: dict[str, int] = {}
    found: list[str] = []
    for name in names:
        count = seen[name] = seen.get(name, 0) + 1
        found.append(f"{name}#{count}" if count > 1 else name)
    return found


class _Linked(Builder):
    """Links results with calls in messages that are made already."""

    def feed(self, line: Line) -> None:
        raise NotImplementedError("messages are given, not lines")

    def take(self, message: Message) -> None:
        """The next message."""
        if message.tool_result is not None:
            message = replace(message, tool_result=self.link(message.tool_result))
        self.add(message)


def linked(messages: Iterable[Message]) -> list[Message]:
    """The messages, results linked with the calls they answer."""
    builder = _Linked()
    for message in messages:
        builder.take(message)
    return builder.messages


class CursorTranscript(UnitTranscript[CursorUnit]):
    """A conversation in one of Cursor's databases."""

    def join(self, blocks: Iterable[list[Message]]) -> list[Message]:
        """See `UnitTranscript.join`."""
        return linked(message for block in blocks for message in block)
