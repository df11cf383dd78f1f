"""Reads the single JSON document of Gemini CLI 0.20, whole or by its ends.

`{sessionId, projectHash, startTime, lastUpdated, messages}`, rewritten as a whole with every message. Format:
FACTS.md, «Paths».
"""

from __future__ import annotations

import json
import re

from session_adapters.gemini.builder import GeminiBuilder
from session_adapters.gemini.records import DECODER
from session_adapters.model import Message
from session_adapters.reading.bounds import CROWDED, DOCUMENT_LIMIT
from session_adapters.reading.decoding import Effort
from session_adapters.reading.document import WholeTranscript
from session_adapters.reading.ends import spans
from session_adapters.reading.files import read_at, read_small
from session_adapters.reading.lines import Line

__all__ = ["EFFORT_LIMIT", "GeminiDocumentTranscript", "feed_document", "feed_document_ends", "is_document"]

_DOCUMENT = re.compile(rb'[\s\x00\xef\xbb\xbf]*\{[^{}]*?"messages"\s*:\s*\[')
_MESSAGES = re.compile(r'"messages"\s*:\s*\[')
_BEGINS = re.compile(r'\{\s*"id"\s*:')
"""How a message begins; calls and their results within one do too."""
_BROKEN = "the document breaks off, or a message in it is damaged"
EFFORT_LIMIT = 32 << 20
"""Characters that are looked at, at most, to find messages behind what is damaged."""
_DECODE = json.JSONDecoder(strict=False).raw_decode


def is_document(head: bytes) -> bool:
    """Whether a file that begins so is one document rather than lines."""
    return _DOCUMENT.match(head) is not None


def feed_document(data: bytes, builder: GeminiBuilder) -> None:
    """Everything. What can be read of a damaged document is; the place of the damage is noted in bytes."""
    try:
        builder.take(DECODER.one(data), "@0")
        return
    except ValueError as error:
        if str(error) == CROWDED:
            builder.damaged.add(0, CROWDED)
            return
    text = data.decode("utf-8", "replace")
    at = _feed_header(text, builder)
    at = _feed_messages(text, at, builder)
    if not _feed_rest(text, at, builder):
        builder.damaged.add(len(text[:at].encode()), _BROKEN)
        effort = Effort(EFFORT_LIMIT)
        while (begin := _next(text, at, effort)) is not None:  # go on with what is whole behind it
            at = _feed_messages(text, begin, builder)
        _feed_rest(text, at, builder)


def feed_document_ends(fd: int, size: int, builder: GeminiBuilder, *, head: int, tail: int, reach: int) -> None:
    """The messages that are whole in the first `head` and the last `tail` bytes; in up to `reach` bytes where no
    prompt or no message is among them."""
    at = 0
    for span in spans(head, min(reach, size)):
        first = read_at(fd, 0, span).decode("utf-8", "replace")
        at = _feed_messages(first, at or _feed_header(first, builder), builder)
        if builder.facts.asked:
            break
    begin, last, effort = None, "", Effort(EFFORT_LIMIT)
    for span in spans(tail, min(reach, size)):
        last = read_at(fd, size - span, span).decode("utf-8", "replace")
        begin = _next(last, 0, effort)
        if begin is not None:
            break
    while begin is not None:
        at = _feed_messages(last, begin, builder)
        if _feed_rest(last, at, builder):
            return
        begin = _next(last, at, effort)


def _feed_header(text: str, builder: GeminiBuilder) -> int:
    """The fields before the messages; where those begin."""
    found = _MESSAGES.search(text)
    if found is None:
        return len(text)
    begin = text.find("{")
    _feed(f'{text[begin : found.start()]}"messages":[]}}', builder, 0)
    return found.end()


def _feed_messages(text: str, at: int, builder: GeminiBuilder) -> int:
    """Messages from `at` on, as far as they are whole; where they end."""
    begin = at
    while True:
        while begin < len(text) and text[begin] in " \t\r\n,\x00":
            begin += 1
        if not text.startswith("{", begin):
            return at
        try:
            value, begin = _DECODE(text, begin)
        except (ValueError, RecursionError):
            return at
        at = begin
        builder.feed(Line(at, json.dumps(value).encode()))


def _feed_rest(text: str, at: int, builder: GeminiBuilder) -> bool:
    """The fields behind the messages, if `at` is where those end; whether it is and the document ends well."""
    rest = text[at:].strip("\x00 \t\r\n")
    if not rest.startswith("]"):
        return False
    rest = rest[1:].lstrip(" \t\r\n,")
    if rest == "}":
        return True
    try:
        return _feed("{" + rest, builder, at)
    except ValueError:
        return False


def _feed(text: str, builder: GeminiBuilder, at: int) -> bool:
    """Fields of the session, as a header."""
    try:
        value, end = _DECODE(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict) or text[end:].strip("\x00 \t\r\n"):
        return False
    value.setdefault("sessionId", "")  # without one it would be no header
    builder.feed(Line(at, json.dumps(value).encode()))
    return True


def _next(text: str, at: int, effort: Effort) -> int | None:
    """Where the next whole message begins, as far as that can be found out with the effort that is left."""
    for found in _BEGINS.finditer(text, at):
        if effort.left < 0:
            break
        message = effort.decode(text, found.start())
        if message is not None and isinstance(message[0].get("type"), str) and "timestamp" in message[0]:
            return found.start()
    return None


class GeminiDocumentTranscript(WholeTranscript):
    """A document of 0.20."""

    def __init__(self, session_id: str, path: str) -> None:
        self.builder = GeminiBuilder()
        self.size = 0
        super().__init__("gemini", session_id, path)

    def read(self) -> tuple[list[Message], list[tuple[str, str]]]:
        """See `WholeTranscript.read`."""
        data = read_small(self.path, DOCUMENT_LIMIT)
        builder = GeminiBuilder()
        feed_document(data, builder)
        self.builder, self.size = builder, len(data)
        return builder.messages, builder.damaged.places()
