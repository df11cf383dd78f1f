"""Shows or saves the image that a line of a transcript names."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from hermes_tui.display import safe, size
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.platform.external_programs import run_outside, start_beside, viewer
from hermes_tui.platform.opened_files import file_to_show
from hermes_tui.sessions.export.images import ImagePlace, image_name, read_attachment
from hermes_tui.sessions.export.target import write_file
from hermes_tui.tui.program import Program
from hermes_tui.tui.screens.dialogs.save_file import SaveFile
from hermes_tui.tui.screens.reading_pane import ReadingPane
from hermes_tui.tui.widgets.transcript.layout.blocks import attachment_number
from hermes_tui.tui.workers.coroutines import run_beside
from session_adapters.attachments.image_header import image_type

__all__ = ["save_attachment", "show_attachment"]


class _Read(NamedTuple):
    data: bytes
    name: str
    """As which it is saved."""


async def show_attachment(pane: ReadingPane) -> None:
    """In the user's viewer, where its first bytes are those of a picture; what speaks against it is said."""
    try:
        argv, in_terminal = viewer()
        read = await _read(pane)
        if read is None:
            return
        if not image_type(read.data):
            pane.refuse("Only PNG, JPEG, GIF and WebP are opened: w saves what this is")
            return
        path = await in_thread(file_to_show, read.data, Path(read.name).suffix)
        if not pane.is_attached:
            return
        if not in_terminal:
            start_beside([*argv, str(path)])
            pane.refuse(f"Opened with {safe(Path(argv[0]).name)}.")
            return
        try:
            code = run_outside(pane.app, [*argv, str(path)])
        finally:
            path.unlink(missing_ok=True)  # this program has ended: nobody needs its file any more
        if code:
            pane.refuse(f"{safe(Path(argv[0]).name)} ended with code {code}.")
    except HermesTuiError as error:
        pane.refuse(f"Cannot be shown: {safe(str(error))}.")
    except OSError as error:
        pane.refuse(f"No file can be written to show it from: {safe(error.strerror or str(error))}.")


async def save_attachment(pane: ReadingPane) -> None:
    """Asks where, and writes it there; what is there already stays."""
    try:
        read = await _read(pane)
    except HermesTuiError as error:
        pane.refuse(f"Cannot be saved: {safe(str(error))}.")
        return
    if read is None or not pane.is_attached:
        return

    async def write(path: Path) -> None:
        try:
            await in_thread(write_file, path, [read.data])
        except HermesTuiError as error:
            pane.refuse(f"{safe(str(error))}.")
        else:
            pane.refuse(f"Wrote {safe(str(path))} ({size(len(read.data))}).")

    def chosen(path: Path | None) -> None:
        if path is not None:
            run_beside(pane, partial(write, path), "transcript.attachment")

    pane.app.push_screen(SaveFile(f"Save the image ({size(len(read.data))})", Path("~") / read.name), chosen)


async def _read(pane: ReadingPane) -> _Read | None:
    """Out of the agent's store; None where there is nothing to read, which is said. Raises `HermesTuiError`."""
    session, message, piece = pane.summary, pane.message, pane.view.piece()
    if session is None or message is None or piece is None or not message.attachments:
        pane.refuse("There is no image on this line: ]i goes to the next")
        return None
    number = attachment_number(piece.block) or 0
    place = ImagePlace(message.id, number)
    opener = cast("Program", pane.app).manager.open
    data = await in_thread(read_attachment, opener, session, place, message.attachments[number])
    return _Read(data, image_name(session, message, number, data))
