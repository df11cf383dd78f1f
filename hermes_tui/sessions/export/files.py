"""Writes sessions into files, each whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hermes_tui.display import counted, size
from hermes_tui.errors import HermesTuiError
from hermes_tui.redact.redactor import Redactor
from hermes_tui.sessions.export import export, export_lineage
from hermes_tui.sessions.export.chapters import Chapters
from hermes_tui.sessions.export.images import inline_images
from hermes_tui.sessions.export.target import expanded, suggested_name, write_file
from session_adapters.model import SessionSummary
from session_adapters.reading.files import temporary_place

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager

__all__ = ["ExportChoice", "file_for_reading", "write_export", "write_exports", "write_for_reading"]


class ExportChoice(NamedTuple):
    """What is written, how and where."""

    form: str
    path: Path
    redact: bool
    lineage: bool
    replace: bool


def write_export(
    manager: SessionManager, subject: SessionSummary, parts: Sequence[SessionSummary], wish: ExportChoice
) -> str:
    """Write `subject`, or all `parts` of its conversation, as it was wished; what is to be said of it. Raises
    `HermesTuiError`."""
    redactor = Redactor() if wish.redact else None
    images = inline_images(manager.open)
    chapters = Chapters(partial(manager.get, part.agent, part.session_id, part) for part in parts)
    if wish.lineage:
        written = export_lineage(chapters, wish.form, redactor=redactor, images=images)
    else:
        session = manager.get(subject.agent, subject.session_id, subject)
        written = export(session, wish.form, redactor=redactor, images=images)
    octets = write_file(wish.path, written, replace=wish.replace)
    masked = f"; {redactor.report}" if redactor is not None else ""
    lost = "".join(f"; left out: {error}" for error in chapters.lost)
    return f"Wrote {wish.path} ({size(octets)}){masked}{lost}"


def write_exports(manager: SessionManager, sessions: Sequence[SessionSummary], wish: ExportChoice) -> str:
    """Write each session into a file of its own in the folder that was wished, which is made; what is to be said of
    it. What cannot be read or written is named, and keeps no other from being written. Raises `HermesTuiError`."""
    folder = expanded(wish.path)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise HermesTuiError(f"cannot make the folder {str(folder)!r}: {error.strerror or error}") from error
    lost: list[str] = []
    for session in sessions:
        name = suggested_name(Redactor().record(session) if wish.redact else session, wish.form)
        try:
            write_export(manager, session, (session,), wish._replace(path=folder / name, lineage=False))
        except HermesTuiError as error:
            lost.append(f"; left out: {error}")
    return f"Wrote {len(sessions) - len(lost)} of {counted(len(sessions), 'session')} into {wish.path}{''.join(lost)}"


@contextmanager
def file_for_reading() -> Iterator[Path]:
    """A private file for another program to show, which goes with the block. Raises `HermesTuiError`."""
    try:
        number, name = tempfile.mkstemp(prefix="hermes-tui-", suffix=".md", dir=temporary_place())
    except OSError as error:
        raise HermesTuiError(f"no file can be written to show it from: {error.strerror or error}") from error
    os.close(number)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)  # an editor may have moved it


def write_for_reading(manager: SessionManager, subject: SessionSummary, path: Path) -> None:
    """Write a session as Markdown into `file_for_reading`. Raises `HermesTuiError`."""
    session = manager.get(subject.agent, subject.session_id, subject)
    try:
        with path.open("r+b") as file:
            file.writelines(export(session, "markdown"))
    except OSError as error:
        raise HermesTuiError(f"cannot write {path} to show it from: {error.strerror or error}") from error
