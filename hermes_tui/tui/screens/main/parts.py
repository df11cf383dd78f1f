"""What the main screen's controllers work with: program, snapshot, widgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.tui.program import Program
from hermes_tui.tui.widgets.header import Header
from hermes_tui.tui.widgets.hints import Hints
from hermes_tui.tui.widgets.line import Line
from hermes_tui.tui.widgets.match_preview import MatchPreview
from hermes_tui.tui.widgets.page import Page
from hermes_tui.tui.widgets.session_list.widget import SessionList
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from session_adapters.model import SessionSummary

if TYPE_CHECKING:
    from hermes_tui.tui.workers.lane_watch import LaneNews

__all__ = ["MainParts"]


class MainParts:
    """The screen puts new data in; controllers read it, and tell the widgets what to show."""

    def __init__(self, screen: Screen[Any], program: Program, badges: Mapping[str, str]) -> None:
        """`badges`: agent → what stands for it in the list."""
        self.screen = screen
        self.program = program
        self.clock = clock = program.clock
        self.set_snapshot(Snapshot())
        self.lanes: LaneNews | None = None
        """What is known of Hermes' gateway; None before the first look."""
        self.header = Header(id="header")
        self.box = self.header.box
        chosen = program.view.columns_of(program.config)
        self.sessions = SessionList(clock, badges, order=program.view.order, chosen=chosen, id="sessions")
        self.pane = TranscriptPane(clock)
        self.preview = MatchPreview(clock)
        """What is shown of a session that a search has found, until it is opened."""
        self.empty = Page(id="empty")
        """What is shown instead of the panes while there is no session at all."""
        self.detail = Line(id="detail")
        self.hints = Hints(id="hints")

    def set_snapshot(self, snapshot: Snapshot) -> None:
        """This is what is known of all sessions now. What the header says of them is counted here, not with each key
        of a search."""
        self.snapshot = snapshot
        self.live = sum(one.live for one in snapshot.sessions)

    def show_states(self, **changes: Any) -> None:
        """Show in the list what is known by now: fields of `ShownStates`."""
        self.sessions.set_states(self.sessions.states._replace(**changes))

    @property
    def is_early(self) -> bool:
        """There is only the beginning of the list: not all stores were looked at yet."""
        return not self.snapshot.places

    @property
    def is_wide(self) -> bool:
        """Both panes are to be seen."""
        return self.screen.has_class("-wide")

    @property
    def is_reading(self) -> bool:
        """The transcript has the keys, or what is found in it is being typed."""
        return self.screen.focused in (self.pane, self.pane.find_bar.box)

    @property
    def can_go_back(self) -> bool:
        """The transcript has the keys, or not all sessions are listed."""
        return self.is_reading or self.sessions.is_filtered

    @property
    def subject(self) -> SessionSummary | None:
        """The session that keys act on: the one that is read, else the one under the cursor."""
        if self.is_reading and self.pane.summary is not None:
            return self.pane.summary
        highlighted = self.sessions.highlighted
        return highlighted.tip if highlighted is not None else None
