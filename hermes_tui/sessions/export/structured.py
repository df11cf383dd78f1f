"""A session as JSON, and as JSON lines (spec 004 §6.5, checklist E-3, E-4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from hermes_tui.sessions.jsontext import encode, pretty
from session_adapters.model import Session

__all__ = ["json_array", "json_lines", "json_object"]

_EMPTY = b'\n  "messages": []'
"""The session's own: what an agent's store has by that name stands deeper."""


def json_object(session: Session, margin: bytes = b"") -> Iterator[bytes]:
    """The whole object with an indent of two below `margin`, one message at a time: beside the session itself no more
    than one message is held."""
    head = pretty(msgspec.structs.replace(session, messages=()))
    if not session.messages:
        yield head.replace(b"\n", b"\n" + margin)
        return
    before, after = (part.replace(b"\n", b"\n" + margin) for part in head.split(_EMPTY))
    yield before + b"\n" + margin + b'  "messages": ['
    inner = b"\n" + margin + b"    "
    for number, message in enumerate(session.messages):
        yield (b"," if number else b"") + inner + pretty(message).replace(b"\n", inner)
    yield b"\n" + margin + b"  ]" + after


def json_array(sessions: Iterable[Session]) -> Iterator[bytes]:
    """Several sessions as an array."""
    lead = b"[\n  "
    for session in sessions:
        yield lead
        yield from json_object(session, b"  ")
        lead = b",\n  "
    yield b"[]\n" if lead.startswith(b"[") else b"\n]\n"


def json_lines(session: Session) -> Iterator[bytes]:
    """A line of the session's own fields, then one per message."""
    header = msgspec.to_builtins(msgspec.structs.replace(session, messages=()))
    del header["messages"]
    yield encode(header) + b"\n"
    for message in session.messages:
        yield encode(message) + b"\n"
