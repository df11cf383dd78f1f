"""The first frame as written to the terminal: splash image and session rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

from rich.cells import set_cell_size

from hermes_tui.cells import width_of
from hermes_tui.clock import Clock
from hermes_tui.config import Column
from hermes_tui.tui.splash.splash_image import SplashImage
from hermes_tui.tui.widgets.session_list.conversation import ListRow
from hermes_tui.tui.widgets.session_list.list_columns import RowTexts, columns_for
from hermes_tui.tui.widgets.session_list.order import Order

__all__ = ["picture"]


def picture(
    splash_image: SplashImage,
    rows: Sequence[ListRow],
    badges: Mapping[str, str],
    clock: Clock,
    order: Order,
    chosen: Collection[Column],
) -> str:
    """Text and control sequences; the cursor is on the first session."""
    width = splash_image.width
    columns = columns_for(width, words=splash_image.state_words, chosen=chosen, order=order)
    writer = RowTexts(width, columns, clock.now(), badges, order=order)
    cursor = next((at for at, row in enumerate(rows) if row.conversation is not None), -1)
    written = [f"\x1b[{y};1H{line}" for y, line in enumerate(splash_image.lines, 1)]
    for at, row in enumerate(rows[: splash_image.height]):
        written.append(f"\x1b[{splash_image.top + at + 1};{splash_image.left + 1}H")
        written.append(_line(splash_image, writer.parts(row, on_cursor=at == cursor), on_cursor=at == cursor))
    return "".join(written)


def _line(splash_image: SplashImage, parts: Sequence[tuple[str, str]], *, on_cursor: bool) -> str:
    inks = splash_image.cursor_inks if on_cursor else splash_image.inks
    plain = inks[""]
    room = splash_image.shown
    written: list[str] = []
    for ink, alike in groupby(parts, key=lambda part: inks.get(part[1], plain)):
        text = "".join(text for text, _ in alike)
        shown = text if width_of(text) <= room else set_cell_size(text, room)
        room -= width_of(shown)
        if shown:
            written.append(f"{ink.before}{shown}{ink.behind}")
    return "".join((*written, plain.before, " " * room, plain.behind) if room else written)
