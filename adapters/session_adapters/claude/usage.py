"""What the model calls in a Claude Code transcript used, without making messages: most bytes are never decoded."""

from __future__ import annotations

import os

from msgspec import Struct, field
from msgspec.structs import replace

from session_adapters.claude.records import ForkedFrom, Text, Usage, token_usage
from session_adapters.files import Decoder, lines, open_file, read_at
from session_adapters.model import TokenUsage
from session_adapters.times import parse_time
from session_adapters.usage import Usage as Call

__all__ = ["read_usage"]

_HEAD = 64 << 10
_REAL = b'"uuid"'
"""Every record of a conversation that Claude Code writes has one; the layout of spec 004 knows none."""
_USAGE = b'"usage"'


class _Body(Struct):
    """`message`: its content is passed over."""

    id: Text = None
    model: Text = None
    usage: Usage | None = None


class _Reply(Struct, rename="camel"):
    """A line of an assistant's reply."""

    type: Text = None
    uuid: Text = None
    timestamp: str | int | float | None = None
    forked_from: ForkedFrom | str | None = None
    message: _Body | str | None = None
    cost_usd: float | None = field(default=None, name="costUSD")
    """Versions before 1.0.9 recorded it."""


_DECODER = Decoder(_Reply)


def read_usage(path: str, session_id: str) -> list[Call] | None:
    """Each model call in the file once, with the last usage that was written for it, helpers' inside the main file
    (1.0.x) among them; None for a file in the layout of spec 004. Raises `OSError`."""
    calls: dict[str, Call] = {}
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        if _REAL not in read_at(fd, 0, min(size, _HEAD)):
            return None
        for line in lines(fd, 0, size):
            if _USAGE not in line.data:
                continue
            records, _ = _DECODER.all(line.data)
            for number, record in enumerate(records):
                if record.type == "assistant" and isinstance(record.message, _Body):
                    place = f"@{line.offset}.{number}" if number else f"@{line.offset}"
                    _note(calls, session_id, record, record.message, place)
    return list(calls.values())


def _note(calls: dict[str, Call], session_id: str, record: _Reply, body: _Body, place: str) -> None:
    tokens = token_usage(body.usage)
    if tokens is None:
        return
    key = body.id or record.uuid or place
    earlier = calls.get(key)
    if earlier is not None:
        calls[key] = _with_tokens(earlier, tokens)
        return
    moment = parse_time(record.timestamp)
    calls[key] = Call(
        session_id,
        key,
        moment.timestamp() if moment is not None else None,
        body.model if body.model != "<synthetic>" else None,
        tokens.input_tokens,
        tokens.output_tokens,
        tokens.cached_tokens,
        tokens.cache_write_tokens,
        tokens.thinking_tokens,
        tokens.cache_write_hour_tokens,
        record.cost_usd,
        inherited=bool(record.forked_from) and record.uuid is not None,
    )


def _with_tokens(call: Call, tokens: TokenUsage) -> Call:
    """The whole reply's usage stands on its last line."""
    if call.tokens == tokens:
        return call
    return replace(
        call,
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cached_tokens=tokens.cached_tokens,
        cache_write_tokens=tokens.cache_write_tokens,
        thinking_tokens=tokens.thinking_tokens,
        cache_write_hour_tokens=tokens.cache_write_hour_tokens,
    )
