"""A session as text for other programs and for people (spec 004 §6.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import msgspec

from hermes_tui.errors import ValidationError
from hermes_tui.sessions.jsontext import encode, pretty
from session_adapters.model import Session

__all__ = ["ExportFormat", "export"]

ExportFormat = Literal["json", "jsonl", "markdown"]


def export(session: Session, form: str) -> Iterator[bytes]:
    """The session in parts, UTF-8: `json`, the whole object with an indent of two; `jsonl`, a line of the session's
    own fields, then one message per line; `markdown`, for reading. Raises `ValidationError` for another format."""
    if form not in get_args(ExportFormat):
        raise ValidationError(f"format must be one of {', '.join(get_args(ExportFormat))}, not {form!r}")
    if form == "json":
        return iter((pretty(session), b"\n"))
    if form == "jsonl":
        return _jsonl(session)
    from hermes_tui.sessions.markdown import to_markdown

    return (part.encode("utf-8", "replace") for part in to_markdown(session))


def _jsonl(session: Session) -> Iterator[bytes]:
    header = msgspec.to_builtins(msgspec.structs.replace(session, messages=()))
    del header["messages"]
    yield encode(header) + b"\n"
    for message in session.messages:
        yield encode(message) + b"\n"
