"""Our records as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from session_adapters.text import scrub_json

__all__ = ["encode", "pretty"]


def encode(value: Any) -> bytes:
    """`value` as compact JSON on one line. Text that no encoding allows (lone surrogates, which an adapter ought to
    have replaced) becomes U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(scrub_json(msgspec.to_builtins(value)))


def pretty(value: Any) -> bytes:
    """`value` as JSON with an indent of two."""
    return msgspec.json.format(encode(value), indent=2)
