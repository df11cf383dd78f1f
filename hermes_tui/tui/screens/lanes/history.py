"""What became of a lane's conversations, and why it forgot what was said."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError, LaneNotFound
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.program import Program
from hermes_tui.tui.screens.full_screen import FullScreen
from hermes_tui.tui.widgets.page import Page, Paragraph
from hermes_tui.tui.workers.coroutines import run_beside

if TYPE_CHECKING:
    from hermes_tui.lifecycle.lane_history.model import LaneHistory
    from session_adapters.base import Environment
    from session_adapters.model import SessionSummary

__all__ = ["LaneHistoryScreen", "history_of_lane", "history_of_session"]

_COLUMN = 14


class LaneHistoryScreen(FullScreen[None]):
    """A page: the answer, then session by session, then the sums."""

    AUTO_FOCUS = "Page"

    def __init__(self, program: Program, title: str, read: Callable[[], LaneHistory]) -> None:
        """`title` names the lane, safe for a terminal. `read` runs in a thread and may raise `HermesTuiError`."""
        super().__init__()
        self._program = program
        self._lane = title
        self._read = read

    def body(self) -> ComposeResult:
        """The page."""
        yield Page()

    def on_mount(self) -> None:
        """Read it."""
        self.show_title([(f" {self._lane}", "bright"), (" · history of the lane", "faint")])
        self.query_one(Page).show([Paragraph("reading …", style="faint")])
        run_beside(self, self._fill, "history", exclusive=True)

    async def _fill(self) -> None:
        try:
            history = await in_thread(self._read)
            from hermes_tui.lifecycle.lane_history.words import session_facts, sums

            blocks = [Paragraph(safe(history.answer))]
            notes = history.notes
            blocks += [Paragraph(safe(note), style="warning", label="not known", column=_COLUMN) for note in notes]
            for one in history.sessions:
                title = f" “{safe(one.title)}”" if one.title else ""
                blocks += [Paragraph(), Paragraph(f"{safe(one.session_id)}{title}", style="heading")]
                blocks += [
                    Paragraph(safe(value), label=name, column=_COLUMN, style="warning" if name == "waited" else "")
                    for name, value in session_facts(one, self._program.clock.local)
                ]
            totals = [Paragraph(safe(value), label=safe(name), column=_COLUMN) for name, value in sums(history)]
            blocks += [Paragraph(), *totals] if totals else []
        except HermesTuiError as error:
            blocks = [Paragraph(safe(str(error)), style="warning")]
        if not self.is_left:
            self.query_one(Page).show(blocks)


def history_of_lane(
    environment: Environment, home: str, key: str, now: datetime, local: Callable[[datetime], datetime]
) -> LaneHistory:
    """The history of the lane with that key in a Hermes home. Raises `LaneNotFound`, `StoreError`."""
    from hermes_tui.lifecycle.lane_history.history import lane_history
    from hermes_tui.lifecycle.lanes import board

    found = next((one for one in board(environment, now).lanes if (one.home, one.key) == (home, key)), None)
    if found is None:
        raise LaneNotFound(f"There is no lane {key} any more: it was dropped from the index.")
    return lane_history(environment, found, now, local=local)


def history_of_session(program: Program, session: SessionSummary) -> LaneHistoryScreen | None:
    """The screen for the lane that a session of Hermes was in; None where it was in none."""
    key = session.raw.get("session_key")
    if session.agent != "hermes" or not key:
        return None
    clock, home = program.clock, str(Path(session.path).parent)
    read = partial(history_of_lane, program.manager.environment, home, str(key), clock.now(), clock.local)
    return LaneHistoryScreen(program, safe(str(key)), read)
