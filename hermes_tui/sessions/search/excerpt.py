"""Snippets, the messages around a match, and bookends (spec 003).

Format: spec 003, «bookends».
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from msgspec.structs import replace

from hermes_tui.display import safe
from hermes_tui.errors import ValidationError
from hermes_tui.sessions.query.query import Search
from hermes_tui.sessions.query.tree import TextUnit
from hermes_tui.sessions.search.model import Match, MessageWindow, ResultLine
from hermes_tui.sessions.words import Span
from session_adapters.model import Message
from session_adapters.reading.searchable import Text, flat, texts_of
from session_adapters.text import cut, scrub
from session_adapters.transcript import Transcript

__all__ = [
    "LINE_LENGTH",
    "find_around",
    "line",
    "messages_around",
    "name_of",
    "seen_in",
    "shown_at_least",
    "snippet",
    "spoken",
    "text_of",
    "upwards",
    "window_around",
]

LINE_LENGTH = 400
"""Characters of a message in a result."""
_BEFORE, _AFTER = 60, 140
"""Characters of a snippet around the beginning of the first match."""
_SURROUNDINGS = 2_000
"""Characters before and after a match, in which what may not be shown is seen whole."""
_BLANKS = re.compile(r"(?:(?:\x1b\[|\x9b)[0-9;:]*m|[\s\x00-\x1f\x7f-\x9f])+")
"""With the colours that tools write between words."""


def snippet(
    search: Search | None, text: str, role: str = "", shown: Callable[[str], str] | None = None
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A piece of `text` on one line around the first match, and where in it the matches are. `shown` says what may
    be shown of the text around it."""
    if shown is not None:
        place = next(iter(search.spans(TextUnit(text, role))), Span(0, 0)) if search is not None else Span(0, 0)
        begin = max(0, place.start - _SURROUNDINGS)
        more = "" if not begin else "\n"  # says that something stands before
        return snippet(search, more + shown(text[begin : place.start + _SURROUNDINGS]), role)
    spans = search.spans(TextUnit(text, role)) if search is not None and not search.forbids else []
    first = spans[0].start if spans else 0
    start = max(0, first - _BEFORE)
    end = min(len(text), max(first + _AFTER, min(spans[0].end, first + 2 * _AFTER) if spans else 0))
    if start:
        blank = text.find(" ", start, first)
        start = blank + 1 if blank >= 0 else start
    head, tail = "… " if start else "", " …" if end < len(text) else ""
    piece, marks = _one_line(
        text[start:end], [Span(a - start, b - start) for a, b in spans if a >= start and b <= end]
    )
    return head + piece + tail, tuple((a + len(head), b + len(head)) for a, b in marks)


def _one_line(text: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    """`text` with runs of blanks made one, and the spans moved along."""
    parts: list[str] = []
    places: list[int] = []
    length = at = 0
    for found in _BLANKS.finditer(text):
        parts += (text[at : found.start()], " ")
        places += range(length, length + found.start() - at)
        length += found.start() - at
        places += [length] * (found.end() - found.start())
        length += 1
        at = found.end()
    parts.append(text[at:])
    places += range(length, length + len(text) - at + 1)
    joined = scrub("".join(parts))
    left = len(joined) - len(joined.lstrip())
    return joined.strip(), [Span(max(0, places[a] - left), max(0, places[b] - left)) for a, b in spans]


def line(message: Message, place: int, *, anchor: bool = False, length: int | None = LINE_LENGTH) -> ResultLine:
    """One message of a conversation, cut after `length` characters."""
    # Where nothing was said: what a tool gave, else what was called, else what was thought.
    said = message.content
    if not said and message.tool_result is not None:
        said = flat(message.tool_result.output)
    elif not said:
        said = "; ".join(f"{call.tool_name}: {cut(flat(call.input), LINE_LENGTH)}" for call in message.tool_calls)
    said = said or message.thinking or ""
    text = scrub(said) if length is None else cut(scrub(said), length)
    return ResultLine(
        message_id=name_of(message, place),
        role=message.role,
        visibility=message.visibility,
        text=text,
        timestamp=message.timestamp,
        anchor=anchor,
        cut=len(text) < len(said),
    )


def name_of(message: Message, place: int) -> str:
    """What a message is called: its id, or where it stands."""
    return message.id or f"#{place}"


def spoken(messages: Sequence[Message]) -> list[tuple[Message, int]]:
    """What user and assistant said, each message with its place: the first and the last tell how it began and
    ended."""
    return [
        (one, place)
        for place, one in enumerate(messages)
        if one.role in ("user", "assistant") and one.kind == "message" and one.content and one.visibility != "rewound"
    ]


def bookends(messages: Sequence[Message], number: int = 3) -> tuple[tuple[ResultLine, ...], tuple[ResultLine, ...]]:
    """The first and the last of `spoken`."""
    said = spoken(messages)
    return tuple(line(*one) for one in said[:number]), tuple(line(*one) for one in said[-number:])


def messages_around(transcript: Transcript, message_id: str, size: int) -> tuple[Sequence[Message], int]:
    """Messages of a session and which of them is the one of that id (empty: the last), with at least `size` before
    it and behind it where there are so many. Of what is not loaded a part is read at a time, from the end up to the
    message, and no other part is kept. Raises `ValidationError` for a message that is not there."""
    found = find_around(transcript, message_id, size)
    if found is None:
        of = f"{transcript.agent} session {transcript.session_id!r}"
        if transcript.complete and not transcript.messages:
            raise ValidationError(f"{of} has no messages")
        raise ValidationError(
            f"{of} has no message {message_id!r}; `hermes-tui sessions search --json` and"
            " `sessions show --format json` name them"
        )
    return found


def find_around(transcript: Transcript, message_id: str, size: int) -> tuple[Sequence[Message], int] | None:
    """As `messages_around`, also along another branch, of which what only that has is marked; None where the message
    is not there."""
    while message_id.startswith("#") and not transcript.complete and transcript.earlier():
        pass  # a number from the beginning
    found = _on_branch(transcript, message_id, size)
    if found is None and (leaf_id := transcript.branch_of(message_id)) is not None:
        transcript.switch(leaf_id)
        found = _on_branch(transcript, message_id, size, _marked_apart)
    return found


def _on_branch(
    transcript: Transcript,
    message_id: str,
    size: int,
    read: Callable[[Transcript], Sequence[Message]] = attrgetter("messages"),
) -> tuple[Sequence[Message], int] | None:
    parts = upwards(transcript, read)
    behind: list[Message] = []
    for messages in parts:
        if (at := _index_of(messages, message_id, whole=transcript.complete)) is not None:
            break
        behind = [*messages[: size + 1], *behind][: size + 1]  # one more says whether it goes on
        messages = ()  # let go of before the next are read
    else:
        return None
    found = [*messages, *behind]
    while at <= size and (above := next(parts, None)) is not None:
        found, at = [*above, *found], at + len(above)
    return found, at


def upwards(
    transcript: Transcript, read: Callable[[Transcript], Sequence[Message]] = attrgetter("messages")
) -> Iterator[Sequence[Message]]:
    """What is loaded, then what stands before it, a part at a time and as `read` gives it; where no part can be read
    alone all is loaded."""
    yield read(transcript)
    part = transcript
    while not part.complete and (above := part.part(-1)) is not None:
        part = above
        yield read(part)
        part.let_go()  # before the next is read
    while part is transcript and not part.complete and (more := part.earlier()):
        yield read(part)[:more]


def _marked_apart(part: Transcript) -> Sequence[Message]:
    """The messages of a part, those marked that the branch on which the agent goes on does not have."""
    parting = next((branch.first for branch in part.branches if branch.active), 0) or 0
    apart = (replace(message, visibility="branch") for message in part.messages[parting:])
    return [*part.messages[:parting], *apart]


def _index_of(messages: Sequence[Message], message_id: str, *, whole: bool) -> int | None:
    if not message_id and messages:
        return len(messages) - 1
    for at, message in enumerate(messages):
        if message.id == message_id if message.id else whole and name_of(message, at) == message_id:
            return at
    return None


def window_around(
    messages: Sequence[Message], at: int, size: int, *, length: int | None = LINE_LENGTH
) -> MessageWindow:
    """The message with index `at`, and `size` messages before and after it."""
    first, last = max(0, at - size), min(len(messages), at + size + 1)
    return MessageWindow(
        lines=tuple(line(messages[index], index, anchor=index == at, length=length) for index in range(first, last)),
        before=at - first,
        after=last - at - 1,
        at_start=first == 0,
        at_end=last == len(messages),
    )


def text_of(messages: Sequence[Message], session_id: str, at: int) -> Text | None:
    """What can be searched of a message."""
    return next(texts_of(session_id, messages, at, at + 1), None)


def seen_in(
    search: Search, text: Text, match: Match, shown: Callable[[str], str] | None = None
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The snippet of the message in which the match is. Where a store's own index found it, either field may have
    the words."""
    fields = (text.prose, text.tool) if match.field == "prose" else (text.tool, text.prose)
    found = snippet(search, fields[0], text.role, shown)
    if match.guessed and not found[1]:
        other = snippet(search, fields[1], text.role, shown)
        return other if other[1] or not fields[0] else found
    return found


def shown_at_least(shown: Callable[[str, int], str], text: str, length: int, wanted: int) -> tuple[str, int]:
    """What is shown of the first `length` characters of a text, and of how many it is: of more, until `wanted` can be
    shown, for without secrets and colours it is shorter."""
    found = shown(text, length)
    while length < len(text) and len(safe(found, keep_newlines=True)) < wanted:
        length *= 2
        found = shown(text, length)
    return found, length
