"""How much text messages hold, and messages without most of it."""

from __future__ import annotations

from sys import getsizeof
from typing import Any

from msgspec.structs import replace

from session_adapters.model import Message

__all__ = ["CUT", "TEXT_LIMIT", "beginning_of", "shown_size", "text_size"]

TEXT_LIMIT = 96 << 20
"""Bytes of text that are kept of a conversation; of later messages there are only the beginnings."""
CUT = "the session holds so much text that of long texts only the beginnings are kept from here on"
_BEGINNING = 1000
_LONG = 64 << 10
"""Bytes of a text that is worth being cut."""


def text_size(message: Message) -> int:
    """Bytes that the texts of a message take, but for those within lists."""
    result = message.tool_result
    size = getsizeof(message.content) + getsizeof(message.thinking) + (_size(result.output) if result else 0)
    for call in message.tool_calls:
        size += _size(call.input)
    return size


def shown_size(message: Message) -> int:
    """The same, what its calls gave included, which of linked results is counted twice."""
    return text_size(message) + sum(_size(call.output) for call in message.tool_calls)


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(getsizeof, value.values()))
    return getsizeof(value)


def beginning_of(message: Message) -> Message:
    """The message with the beginnings of its long texts alone."""
    result, calls = message.tool_result, message.tool_calls
    return replace(
        message,
        content=_cut(message.content),
        thinking=_cut(message.thinking),
        tool_result=replace(result, output=_cut(result.output)) if result else None,
        tool_calls=tuple(replace(call, input=_cut(call.input), output=_cut(call.output)) for call in calls),
    )


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cut(one) for key, one in value.items()}
    return value[:_BEGINNING] if isinstance(value, str) and getsizeof(value) > _LONG else value
