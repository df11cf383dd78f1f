"""Goes to the next message, call, error … of what is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.sessions.landmarks import LandmarkKind, calls_of, is_landmark
from hermes_tui.tui.widgets.transcript.layout.blocks import attachment_block
from hermes_tui.tui.widgets.transcript.layout.heights import is_hidden
from hermes_tui.tui.widgets.transcript.layout.layout_cache import Position
from hermes_tui.tui.widgets.transcript.view import View
from session_adapters.model import Message

__all__ = ["go_to_landmark", "landmark_blocks", "next_landmark", "show_at"]


def go_to_landmark(view: View, kind: LandmarkKind, step: int, times: int = 1, above: int | None = None) -> int:
    """Put the cursor on the nearest one below (1) or above (-1), so many times; how many are not loaded. `above`: the
    entries from that one on to the cursor are known to have none."""
    while times and _go_to_next(view, kind, step, view.cursor.entry if above is None else above):
        times, above = times - 1, None
    return times


def _go_to_next(view: View, kind: LandmarkKind, step: int, start: int) -> bool:
    if not view.is_ready:
        return False
    entries, here = view.column.entries, view.cursor
    index: int | None = start
    while index is not None:
        entry = entries[index]
        blocks = landmark_blocks(entry.message, kind) if entry.height else []
        rows = [Position(index, view.rendered(index).head(block)) for block in blocks]
        beyond = [row for row in rows if (row > here if step > 0 else row < here)]
        if beyond:
            show_at(view, beyond[0 if step > 0 else -1], at_top=kind == "prompt")
            return True
        index = index + step if 0 <= index + step < len(entries) else None
    return False


def next_landmark(messages: Sequence[Message], kind: LandmarkKind, step: int) -> int | None:
    """The first (1) or the last (-1) message that is one, or calls one."""
    ways = range(len(messages)) if step > 0 else range(len(messages) - 1, -1, -1)
    return next((at for at in ways if not is_hidden(messages[at]) and landmark_blocks(messages[at], kind)), None)


def landmark_blocks(message: Message, kind: LandmarkKind) -> Sequence[str]:
    """The blocks of a message that are landmarks, as its layout names them."""
    if kind == "image":
        return [attachment_block(at) for at in range(len(message.attachments))]
    calls = [f"tool{at}" for at in calls_of(message, kind)]
    if not is_landmark(message, kind):
        return calls
    alone = "result" if message.role == "tool" else "compaction" if message.kind == "compaction" else "prose"
    return [alone, *calls]


def show_at(view: View, position: Position, *, at_top: bool = False) -> None:
    """Put the cursor on a row: at the top, or a third down the screen."""
    view.go(position, at_top=at_top)
    if not at_top:
        view.top = view.step(view.cursor, -(view.height // 3))
        # Near the end there is less below than that: the top is moved up then.
        view.rows()
        view.show_cursor()
