"""Token usage in a Claude Code transcript, without building messages.

Most bytes are never decoded.
"""

from __future__ import annotations

import os

from msgspec import Struct, field

from session_adapters.claude.copies import Copies, read_copies
from session_adapters.claude.figures import figures
from session_adapters.claude.records import ClaudeUsage, ForkedFrom, Text
from session_adapters.reading.files import lines, open_file, read_at
from session_adapters.reading.scanner import Seeker
from session_adapters.times import parse_seconds
from session_adapters.usage import Usage as Call

__all__ = ["read_usage"]

_HEAD = 4 << 10
_REAL = b'"uuid"'
"""Every record of a conversation that Claude Code writes has one; the layout of spec 004 knows none."""
_TOKENS = b'put_tokens"'
"""How every figure in a `usage` that counts ends: of fresh input, output, and what came from or went into a cache."""


class _Body(Struct, gc=False):
    """`message`: its content is passed over."""

    id: Text = None
    model: Text = None
    usage: ClaudeUsage | None = None


class _Reply(Struct, rename="camel", gc=False):
    """A line of an assistant's reply."""

    type: Text = None
    uuid: Text = None
    is_sidechain: bool | None = None
    timestamp: str | int | float | None = None
    forked_from: ForkedFrom | str | None = None
    message: _Body | str | None = None
    cost_usd: float | None = field(default=None, name="costUSD")
    """Only old versions recorded it."""


_REPLIES = Seeker(_Reply, _TOKENS)


def read_usage(path: str, session_id: str, *, subagent: bool) -> list[Call] | None:
    """Each model call in the file once, with the last usage that was written for it; None for a file in the layout
    of spec 004, and for one with helpers in it (1.0.x), whose calls are theirs. Raises `OSError`."""
    calls: dict[str, Call] = {}
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        copies = read_copies(fd, size)
        for record, offset, number in _REPLIES.read(fd, size):
            body = record.message
            if record.is_sidechain and not subagent:
                return None
            if record.type == "assistant" and isinstance(body, _Body) and body.usage is not None:
                key = body.id or record.uuid or (f"@{offset}.{number}" if number else f"@{offset}")
                _note(calls, session_id, key, record, body, copies)
        if not calls and not _is_real(fd, size):
            return None
    return list(calls.values())


def _is_real(fd: int, size: int) -> bool:
    """Whether any record has the mark of the real layout: a transcript without replies is short, or begins so."""
    if _REAL in read_at(fd, 0, min(size, _HEAD)):
        return True
    return any(_REAL in line.data for line in lines(fd, 0, size))


def _note(calls: dict[str, Call], session_id: str, key: str, record: _Reply, body: _Body, copies: Copies) -> None:
    """The lines of a reply repeat its usage; the last one has the whole of it."""
    tokens = figures(body.usage) if body.usage is not None else None
    if tokens is None:
        return
    earlier = calls.get(key)
    if earlier is not None:
        seconds, model, usd, inherited = earlier.time, earlier.model, earlier.usd, earlier.inherited
    else:
        seconds = parse_seconds(record.timestamp)
        model = body.model if body.model != "<synthetic>" else None
        usd, inherited = record.cost_usd, copies.has(record)
    calls[key] = Call(session_id, key, seconds, model, *tokens, usd, inherited=inherited)
