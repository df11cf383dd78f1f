"""Work on a session in the background: reading all of it, writing it to a file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TypeVar

from hermes_tui.display import counted, size
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager
    from hermes_tui.tui.screens.dialogs.export import ExportChoice
    from session_adapters.model import SessionSummary

__all__ = ["beside", "write_export", "write_exports", "write_for_reading"]

T = TypeVar("T")


async def beside(work: Callable[[Event], T]) -> T:
    """What `work` returns, called in a thread with an event that is set when nobody waits for it any more: it is to
    leave no half of a file behind then."""
    over = Event()
    try:
        return await in_thread(work, over)
    finally:
        over.set()


def write_export(
    manager: SessionManager, subject: SessionSummary, parts: Sequence[SessionSummary], wish: ExportChoice, over: Event
) -> str:
    """Write `subject`, or all `parts` of its conversation, as it was wished; what is to be said of it. Raises
    `HermesTuiError`."""
    from hermes_tui.redact import Redactor
    from hermes_tui.sessions.export import export, export_lineage
    from hermes_tui.sessions.export.chapters import Chapters
    from hermes_tui.sessions.export.images import inline_images
    from hermes_tui.sessions.export.target import write_file

    redactor = Redactor() if wish.redact else None
    images = inline_images(manager.open)
    chapters = Chapters(partial(manager.get, part.agent, part.session_id) for part in parts)
    if wish.lineage:
        written = export_lineage(chapters, wish.form, redactor=redactor, images=images)
    else:
        written = export(manager.get(subject.agent, subject.session_id), wish.form, redactor=redactor, images=images)
    octets = write_file(wish.path, _until(over, written), replace=wish.replace)
    masked = f"; {redactor.report}" if redactor is not None else ""
    lost = "".join(f"; left out: {error}" for error in chapters.lost)
    return f"Wrote {wish.path} ({size(octets)}){masked}{lost}"


def write_exports(
    manager: SessionManager, sessions: Sequence[SessionSummary], wish: ExportChoice, over: Event
) -> str:
    """Write each session into a file of its own in the folder that was wished, which is made; what is to be said of
    it. What cannot be read or written is named, and keeps no other from being written. Raises `HermesTuiError`."""
    from hermes_tui.redact import Redactor
    from hermes_tui.sessions.export.target import expanded, suggested_name

    folder = expanded(wish.path)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise HermesTuiError(f"cannot make the folder {str(folder)!r}: {error.strerror or error}") from error
    lost: list[str] = []
    for session in sessions:
        name = suggested_name(Redactor().record(session) if wish.redact else session, wish.form)
        try:
            write_export(manager, session, (session,), wish._replace(path=folder / name, lineage=False), over)
        except HermesTuiError as error:
            if over.is_set():
                raise
            lost.append(f"; left out: {error}")
    return f"Wrote {len(sessions) - len(lost)} of {counted(len(sessions), 'session')} into {wish.path}{''.join(lost)}"


def write_for_reading(manager: SessionManager, subject: SessionSummary, over: Event) -> str:
    """Write a session as Markdown into a private file, for another program to show; its path. Raises
    `HermesTuiError`, and leaves nothing behind then."""
    from hermes_tui.sessions.export import export

    session = manager.get(subject.agent, subject.session_id)
    try:
        number, name = tempfile.mkstemp(prefix="hermes-tui-", suffix=".md")
    except OSError as error:
        raise HermesTuiError(f"no file can be written to show it from: {error.strerror or error}") from error
    try:
        with os.fdopen(number, "wb") as file:
            file.writelines(_until(over, export(session, "markdown")))
    except BaseException as error:
        Path(name).unlink()
        if isinstance(error, OSError):
            raise HermesTuiError(f"cannot write {name} to show it from: {error.strerror or error}") from error
        raise
    if over.is_set():
        Path(name).unlink()
    return name


def _until(over: Event, parts: Iterable[bytes]) -> Iterator[bytes]:
    for part in parts:
        if over.is_set():
            raise HermesTuiError("it was given up")
        yield part
