"""Estimates tokens of messages: one for four bytes, three for each message.

Vocabularies would have to be downloaded, and every provider has its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from session_adapters.model import Message

__all__ = ["estimate", "text_tokens"]

_PER_MESSAGE = 3


def text_tokens(text: str) -> int:
    """The tokens of a text alone."""
    return (len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))) // 4


def estimate(messages: Iterable[Message]) -> int:
    """The tokens of messages: what was said, calls with their arguments, and results, each once. Not thinking, which
    is not sent again, and not the program's own instructions and tools, which no store has."""
    messages = list(messages)
    answered = {one.tool_result.tool_call_id for one in messages if one.tool_result is not None}
    total = 0
    for message in messages:
        total += text_tokens(message.content) + _PER_MESSAGE
        for call in message.tool_calls:
            total += text_tokens(call.tool_name) + _value_tokens(call.input)
            if call.tool_call_id not in answered:
                total += _value_tokens(call.output)
        if message.tool_result is not None:
            total += _value_tokens(message.tool_result.output)
    return total


def _value_tokens(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return text_tokens(value)
    try:
        return len(msgspec.json.encode(value)) // 4
    except (TypeError, ValueError, RecursionError):
        return text_tokens(str(value))
