"""The first frame as written to the terminal: backdrop and session rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.cells import set_cell_size

from hermes_tui.clock import Clock
from hermes_tui.tui.splash.backdrop import Backdrop
from hermes_tui.tui.widgets.cells import width_of
from hermes_tui.tui.widgets.session_list.list_columns import RowTexts, columns_for
from hermes_tui.tui.widgets.session_list.rows import ListRow

__all__ = ["picture"]


def picture(backdrop: Backdrop, rows: Sequence[ListRow], badges: Mapping[str, str], clock: Clock) -> str:
    """Text and control sequences; the cursor is on the first session."""
    width = backdrop.width
    columns = columns_for(width, words=backdrop.state_words)
    writer = RowTexts(width, columns, clock.now(), badges)
    cursor = next((at for at, row in enumerate(rows) if row.conversation is not None), -1)
    written = [f"\x1b[{y};1H{line}" for y, line in enumerate(backdrop.lines, 1)]
    for at, row in enumerate(rows[: backdrop.height]):
        written.append(f"\x1b[{backdrop.top + at + 1};{backdrop.left + 1}H")
        written.append(_line(backdrop, writer.parts(row, on_cursor=at == cursor), on_cursor=at == cursor))
    return "".join(written)


def _line(backdrop: Backdrop, parts: Sequence[tuple[str, str]], *, on_cursor: bool) -> str:
    inks = backdrop.cursor_inks if on_cursor else backdrop.inks
    plain = inks[""]
    room = backdrop.shown
    written: list[str] = []
    for text, purpose in parts:
        shown = text if width_of(text) <= room else set_cell_size(text, room)
        room -= width_of(shown)
        if shown:
            ink = inks.get(purpose, plain)
            written.append(f"{ink.before}{shown}{ink.behind}")
    return "".join((*written, plain.before, " " * room, plain.behind))
