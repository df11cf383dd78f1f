"""Our records as JSON, and JSON of others as text."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from session_adapters.text import scrub_json

__all__ = ["encode", "json_text", "pretty"]

_ACTED_ON = re.compile(b"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]")
"""What JSON lets through and a terminal acts on: DEL, the C1 controls (0x9b begins a sequence), and what turns the
direction of text or ends a line. UTF-8: no other character holds these bytes in this order."""


def encode(value: Any) -> bytes:
    """`value` as compact JSON on one line. Text that no encoding allows (lone surrogates, which an adapter ought to
    have replaced) becomes U+FFFD; what a terminal would act on is written as `\\u009b`, which reads back the same."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:
        data = msgspec.json.encode(scrub_json(msgspec.to_builtins(value)))
    return _ACTED_ON.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), data)


def pretty(value: Any) -> bytes:
    """`value` as JSON with an indent of two."""
    return msgspec.json.format(encode(value), indent=2)


def json_text(value: Any, *, indent: int = 0) -> str:
    """`value` as JSON; text stays text. Not made safe for a terminal."""
    if isinstance(value, str):
        return value
    try:
        # The standard library's, because it lets lone surrogates and NaN through to where they are made safe.
        return json.dumps(value, ensure_ascii=False, indent=indent or None, default=repr)
    except RecursionError:
        return "(nested too deeply to be shown)"
