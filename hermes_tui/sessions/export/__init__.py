"""Exports sessions: `json`, `jsonl`, `markdown`, `html`, `patch`.

Every form is written piece by piece, so that beside the session itself only one message is held in memory; sessions
of a lineage are read one after the other, as they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal, get_args

from hermes_tui.errors import ValidationError
from hermes_tui.redact.redactor import Redactor
from session_adapters.model import Session

if TYPE_CHECKING:
    from hermes_tui.sessions.export.images import InlineImages

__all__ = ["SUFFIXES", "ExportFormat", "check_format", "export", "export_lineage"]

ExportFormat = Literal["json", "jsonl", "markdown", "html", "patch"]

SUFFIXES: dict[str, str] = {
    "json": ".json",
    "jsonl": ".jsonl",
    "markdown": ".md",
    "html": ".html",
    "patch": ".patch",
}
"""How the file of each format ends."""


def export(
    session: Session, form: str, *, redactor: Redactor | None = None, images: InlineImages | None = None
) -> Iterator[bytes]:
    """The session in parts, UTF-8: `json`, the whole object with an indent of two; `jsonl`, a line of the session's
    own fields, then one message per line; `markdown` and `html`, for reading; `patch`, all edits, for `git apply`.
    With a `redactor` secrets are masked; it knows how many once the last part is there. `images` are shown in `html`,
    where nothing is masked. Raises `ValidationError` for another format."""
    check_format(form)
    if redactor is not None:
        session = redactor.record(session)
    return _documents((session,), form, redactor, images)


def export_lineage(
    sessions: Iterable[Session], form: str, *, redactor: Redactor | None = None, images: InlineImages | None = None
) -> Iterator[bytes]:
    """Several sessions in one document, as `export` writes one: `json` as an array of objects, `jsonl` header and
    messages of each after the other, `markdown` and `html` as chapters. `sessions` is consumed as it is written."""
    check_format(form)
    if redactor is not None:
        sessions = map(redactor.record, sessions)
    if form == "json":
        from hermes_tui.sessions.export.structured import json_array

        return json_array(sessions)
    return _documents(sessions, form, redactor, images)


def check_format(form: str) -> None:
    """Raise `ValidationError` for what is no format."""
    if form not in get_args(ExportFormat):
        raise ValidationError(f"format must be one of {', '.join(get_args(ExportFormat))}, not {form!r}")


def _documents(
    sessions: Iterable[Session], form: str, redactor: Redactor | None, images: InlineImages | None
) -> Iterator[bytes]:
    if form == "json":
        from hermes_tui.sessions.export.structured import json_object

        for session in sessions:  # of one alone: several are an array, see `export_lineage`
            yield from json_object(session)
            yield b"\n"
    elif form == "jsonl":
        from hermes_tui.sessions.export.structured import json_lines

        for session in sessions:
            yield from json_lines(session)
    elif form == "markdown":
        from hermes_tui.sessions.export.markdown import to_markdown

        for number, session in enumerate(sessions):
            if number:
                yield b"\n\n---\n\n"
            yield from (part.encode("utf-8", "replace") for part in to_markdown(session))
    elif form == "patch":
        from hermes_tui.sessions.export.patch import to_patch

        for session in sessions:
            yield from (part.encode("utf-8", "replace") for part in to_patch(session))
    else:
        from hermes_tui.sessions.export.html import to_html

        yield from (part.encode("utf-8", "replace") for part in to_html(sessions, redactor, images))
