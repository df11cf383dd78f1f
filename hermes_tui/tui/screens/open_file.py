"""Opens the file that a line of a transcript names, in the user's editor."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.platform.external_programs import editor_at, run_outside
from hermes_tui.sessions.calls.outcome import output_text
from hermes_tui.sessions.file_places import FilePlace, named_by, named_in, there
from hermes_tui.tui.screens.reading_pane import ReadingPane

__all__ = ["open_file"]

_MOST = 20
"""Places in the output of a call that are looked at."""


async def open_file(pane: ReadingPane) -> None:
    """At the line that is named; what speaks against it is said."""
    piece, message, view = pane.view.piece(), pane.message, pane.view
    places: list[FilePlace] = []
    if piece is not None and message is not None:
        # What the row under the cursor names, then the call that it is of, then what came of that.
        row = piece.rows[view.rendered(view.cursor.entry).at(view.cursor.line)[1]]
        places += named_in(row if isinstance(row, str) else "".join(part.text for part in row))
        for at, call in enumerate(message.tool_calls):
            if piece.block == f"tool{at}":
                places += (*named_by(call), *islice(named_in(output_text(call.output)), _MOST))
    directory = pane.summary.cwd if pane.summary is not None else None
    path, line = await in_thread(_first, places, directory)
    if path is None:
        where = safe(f"{places[0].path} is not there" if places else "This line names no file")
        pane.refuse(f"{where}.")
    elif pane.is_attached:
        try:
            code = run_outside(pane.app, editor_at(str(path), line))
        except HermesTuiError as error:
            pane.refuse(safe(str(error)))
        else:
            if code:
                pane.refuse(f"The editor ended with code {code}.")


def _first(places: Sequence[FilePlace], directory: str | None) -> tuple[Path | None, int]:
    """The first file that is there."""
    for place in places:
        path = there(place, directory)
        if path is not None:
            return path, place.line
    return None, 0
