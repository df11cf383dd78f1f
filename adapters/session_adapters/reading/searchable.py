"""What of a message can be searched: its prose, and the text of the tools it used.

Prose is the `content` of what user and assistant say, whatever its kind. Tool text is everything else that was
written: thinking, the names and inputs of calls, outputs, and what the program said (roles `tool` and `system`).
An output stands with the message that brought it; where that is a `tool` message, its call shows the output too
(`ToolResult.linked`) and does not repeat it here, so that each output is found once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from zlib import crc32

from msgspec.structs import replace

from session_adapters.model import Message
from session_adapters.tool_names import NOTHING, ToolNames, names_of, of_call

__all__ = [
    "PagedTexts",
    "Rewritten",
    "SessionTexts",
    "Text",
    "TextReader",
    "flat",
    "mark_of",
    "news_of",
    "pages",
    "texts_of",
    "unchanged",
]

PAGE_ROWS = 500
PAGE_BYTES = 1 << 20
"""Of one page, unless a single row has more."""


class Text(NamedTuple):
    """One message, for searching."""

    session_id: str
    """Native id."""
    message_id: str
    """`Message.id` of the same message."""
    role: str
    time: float | None
    """Seconds since the epoch; None where the store has no time."""
    prose: str
    tool: str
    visibility: str = "live"
    """As `Message.visibility`."""
    names: ToolNames = NOTHING
    """The tools that the message called or answers for, and the files that those calls name."""
    thought: int = 0
    """Characters at the beginning of `tool` that were thought."""


class SessionTexts(NamedTuple):
    """What is new in one session of a source that holds many."""

    session_id: str
    """Native id."""
    mark: str
    """What tells later whether anything in it has changed since; never empty."""
    whole: bool
    """`texts` are all there are: messages that are not among them are gone. Else they are new or different."""
    texts: Iterable[Text]
    """In conversation order; read as they are taken."""


def news_of(
    session_id: str, mark: str, new: Iterable[Text] | None, whole: Callable[[str], Iterable[Text]]
) -> SessionTexts:
    """What is `new` in a session, which may be nothing; where that cannot be told (None), `whole` reads all of it."""
    return SessionTexts(session_id, mark, new is None, whole(session_id) if new is None else new)


def mark_of(parts: Iterable[object]) -> str:
    """A `SessionTexts.mark`: another one when any of the parts is, which tell of each message whether it was written
    again."""
    count = check = 0
    for part in parts:
        count += 1
        check = crc32(repr(part).encode("utf-8", "replace"), check)
    return f"{count} {check}"


def unchanged(mark: str, parts: Iterable[object], number: int) -> int:
    """How many of so many parts, from the first on, were there when the mark was made; 0 where one of those
    differs."""
    count = mark.partition(" ")[0]
    known = int(count) if count.isdecimal() else 0
    return known if known <= number and mark_of(islice(parts, known)) == mark else 0


class TextReader(ABC):
    """Reads the texts of one source, and later those of what was written to it since. Keeps what it must know of the
    part that was read; is used by one thread at a time."""

    @abstractmethod
    def read(self) -> Iterator[tuple[int, Text]]:
        """The messages that are new, and those that are different, since the last time (all, the first time), in
        conversation order. The number tells messages of the same id in one session apart: 0, 1, 2 … in the order of
        the conversation. Raises `Rewritten` when what was read before is no longer so, and `OSError`."""

    @property
    @abstractmethod
    def unsettled(self) -> Collection[str]:
        """Ids of the messages that `read` gave and may give again, different: what is kept of the others grows with
        the file."""

    @property
    def lost(self) -> int:
        """Records, so far, that cannot be read, or not in full."""
        return 0


class Rewritten(Exception):
    """The source is not what was read with more behind it: it must be read anew."""


def texts_of(
    session_id: str,
    messages: Sequence[Message],
    first: int = 0,
    stop: int | None = None,
    before: Mapping[str, ToolNames] | None = None,
) -> Iterator[Text]:
    """The texts of a conversation, in its order; every message gives one, also one without any text. Of the messages
    from `first` up to `stop` alone, if only those are wanted. `before` has what calls in messages before all these
    are about, by their ids."""
    answered = {
        message.tool_result.tool_call_id
        for message in messages
        if message.tool_result is not None and message.tool_result.linked
    }
    for message, names in zip(messages[first:stop], names_of(messages, first, stop, before), strict=True):
        spoken = message.role in ("user", "assistant")
        yield Text(
            session_id=session_id,
            message_id=message.id,
            role=message.role,
            time=message.timestamp.timestamp() if message.timestamp is not None else None,
            prose=message.content if spoken else "",
            tool="\n".join(part for part in _tool_parts(message, spoken, answered) if part),
            visibility=message.visibility,
            names=names,
            thought=len(message.thinking or ""),
        )


def _tool_parts(message: Message, spoken: bool, answered: Iterable[str]) -> Iterator[str]:
    if message.thinking:
        yield message.thinking
    if not spoken:
        yield message.content
    for call in message.tool_calls:
        yield call.tool_name
        yield flat(call.input)
        if call.tool_call_id not in answered:
            yield flat(call.output)
    result = message.tool_result
    if result is not None:
        if not result.linked:
            yield result.tool_name
        output = flat(result.output)
        if output != message.content or spoken:
            yield output


# By pages ----------------------------------------------------------------------------------------------------

# Where a store lists the rows of a session without what is in them, no more than a page is held, and the store is
# closed before its texts are handed on. A page is of one state of the store: what was added since the rows were
# listed is not read, and what was taken out meanwhile is not given.


def pages(sizes: Sequence[int]) -> Iterator[slice]:
    """Which rows are a page, one page after the other, by how many bytes are in each."""
    first, room = 0, PAGE_BYTES
    for at, size in enumerate(sizes):
        if at > first and (at - first >= PAGE_ROWS or room < size):
            yield slice(first, at)
            first, room = at, PAGE_BYTES
        room -= size
    if first < len(sizes):
        yield slice(first, len(sizes))


class PagedTexts:
    """The texts of a session, of which only one page of messages is known at a time."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._called: dict[str, ToolNames] = {}
        """What the calls of earlier pages are about, by their ids."""
        self._named: dict[ToolNames, ToolNames] = {}
        """The same names once."""

    def of(self, page: Sequence[Message]) -> Iterator[Text]:
        """Those of the next page. A result in it may answer a call of an earlier one, whose output is none without
        the result."""
        messages = list(page)
        before: dict[str, ToolNames] = {}
        for at, message in enumerate(messages):
            result = message.tool_result
            if result is not None and (names := self._called.get(result.tool_call_id)) is not None:
                before[result.tool_call_id] = names
                messages[at] = replace(message, tool_result=replace(result, linked=True))
        for message, text in zip(messages, texts_of(self._session_id, messages, before=before), strict=True):
            yield text
            alone = len(message.tool_calls) == 1 and message.tool_result is None
            for call in message.tool_calls:
                names = text.names if alone else of_call(call)
                self._called[call.tool_call_id] = self._named.setdefault(names, names)


def flat(value: Any) -> str:
    """The words of a JSON value, a line each: keys, texts as they stand, numbers and `true`/`false` as JSON writes
    them. A text is itself, None is nothing."""
    if isinstance(value, str):
        return value
    parts: list[str] = []
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
        elif isinstance(item, dict):
            for key, inner in reversed(item.items()):
                waiting += (inner, str(key))
        elif isinstance(item, list | tuple):
            waiting += reversed(item)
        elif isinstance(item, bool):
            parts.append("true" if item else "false")
        elif item is not None:
            parts.append(str(item))
    return "\n".join(parts)
