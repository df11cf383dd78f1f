"""The main screen: sessions to the left, the conversation to the right, or one at a time where it is narrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer

from hermes_tui.clock import Clock
from hermes_tui.display import compact
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.empty import empty_blocks
from hermes_tui.tui.screens.main.context_actions import ContextActions
from hermes_tui.tui.screens.main.first_frame import FirstFrame
from hermes_tui.tui.screens.main.native_actions import NativeActions
from hermes_tui.tui.screens.main.opening import Opening
from hermes_tui.tui.screens.main.search_box_actions import BoxActions
from hermes_tui.tui.screens.main.searching import Searching
from hermes_tui.tui.screens.main.session_actions import SessionActions
from hermes_tui.tui.screens.main.status_lines import StatusLines
from hermes_tui.tui.widgets.header import Header
from hermes_tui.tui.widgets.hints import Hints
from hermes_tui.tui.widgets.line import Line
from hermes_tui.tui.widgets.match_preview import MatchPreview
from hermes_tui.tui.widgets.page import Page, Paragraph
from hermes_tui.tui.widgets.search_box import SearchBox
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.widgets.session_list.widget import SessionList
from hermes_tui.tui.widgets.transcript.context_view import SeeingPane
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from hermes_tui.tui.workers.session_reader import SessionReader

if TYPE_CHECKING:
    from hermes_tui.tui.app import HermesApp
    from hermes_tui.tui.workers.lane_watch import LaneNews

__all__ = ["MainScreen"]

_SETTLE = 0.12
"""Seconds that the cursor must rest on a session before it is opened beside the list."""
_MINUTE = 60.0
_WIDE = 120
"""Columns from which both panes stand side by side."""
_TALL = 10
"""Lines from which there is room for the line of details."""


class MainScreen(
    ContextActions, NativeActions, SessionActions, BoxActions, Searching, Opening, StatusLines, FirstFrame
):
    """Owns what is shown; the app gives it snapshots and transcripts."""

    BINDINGS = bindings("main")
    AUTO_FOCUS = "SessionList"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012  (as Screen declares it)
    VERTICAL_BREAKPOINTS = [(0, "-short"), (_TALL, "-tall")]  # noqa: RUF012  (as Screen declares it)

    class Painted(Message):
        """The first frame is on the terminal; line by line."""

        def __init__(self, frame: Sequence[Sequence[Strip]]) -> None:
            super().__init__()
            self.frame = frame

    def __init__(self, clock: Clock, badges: Mapping[str, str], reader: SessionReader, home: str, size: Size) -> None:
        """`size` is that of the first frame: its classes are known before it is composed, so that it is styled and
        laid out once."""
        wide = "-wide" if size.width >= _WIDE else "-narrow"
        super().__init__(classes=f"{wide} {'-tall' if size.height >= _TALL else '-short'}")
        self._begin_searching()
        self._clock = clock
        self._badges = badges
        self._begin_opening(reader)
        self._home = home
        self._settle: Timer | None = None
        self._first = Forest()
        self._reading = False
        """Where there is room for one pane only: it is the transcript."""
        self.snapshot = Snapshot()
        self.indexing = ""
        """How far the index is; empty where there is nothing to be said."""
        self.lanes: LaneNews | None = None
        """What is known of Hermes' gateway; None before the first look."""

    def begin_with(self, snapshot: Snapshot, forest: Forest) -> None:
        """What the first frame shows."""
        self.snapshot, self._first = snapshot, forest

    def compose(self) -> ComposeResult:
        """Header, the two panes, details, hints."""
        yield Header(id="header")
        sessions = SessionList(self._clock, self._badges, id="sessions")
        sessions.at_once = self._show_detail
        with Horizontal(id="panes"):
            yield sessions
            yield SeeingPane(self._clock)
            yield MatchPreview(self._clock)
        yield Page(id="empty")
        yield Line(id="detail")
        yield Hints(id="hints")

    def on_mount(self) -> None:
        """Let ages grow; under a fixed clock they do not."""
        self.empty.show([Paragraph(), Paragraph("Reading the stores …", style="faint")])
        self.sessions.state_words = not self.is_wide
        if self.snapshot.sessions:
            self.apply(self.snapshot, self._first)
            self._show_detail()
        self._first = Forest()
        self._show_hints()
        if not self._clock.is_fixed:
            self.set_interval(_MINUTE, self._tick)

    def painted(self, frame: Sequence[Sequence[Strip]]) -> None:
        """Tell the program."""
        self.post_message(self.Painted(frame))

    # Parts -------------------------------------------------------------------------------------------------

    @property
    def is_whole(self) -> bool:
        """Its parts are there: it was composed, and is not being taken down."""
        return len(self.query("#sessions, #detail, #hints")) == 3

    @property
    def is_as_it_began(self) -> bool:
        """It shows the beginning of the whole list, and the keys go there."""
        return self.is_current and self.focused is self.sessions and not (self.sessions.scroll_y or self.is_searching)

    @property
    def sessions(self) -> SessionList:
        """The list."""
        return self.query_one("#sessions", SessionList)

    @property
    def pane(self) -> SeeingPane:
        """The transcript."""
        return self.query_one(SeeingPane)

    @property
    def preview(self) -> MatchPreview:
        """What is shown of a session that a search has found, until it is opened."""
        return self.query_one(MatchPreview)

    @property
    def clock(self) -> Clock:
        """The program's."""
        return self._clock

    @property
    def program(self) -> HermesApp:
        """The program."""
        return self._program

    @property
    def box(self) -> SearchBox:
        """Where one types what to search for."""
        return self.query_one("#search", SearchBox)

    @property
    def empty(self) -> Page:
        """What is shown instead of the panes while there is no session at all."""
        return self.query_one("#empty", Page)

    @property
    def is_wide(self) -> bool:
        """Both panes are to be seen."""
        return self.has_class("-wide")

    @property
    def is_reading(self) -> bool:
        """The transcript has the keys."""
        return self.focused is not None and self.pane in self.focused.ancestors_with_self

    @property
    def can_go_back(self) -> bool:
        """The transcript has the keys, or not all sessions are listed."""
        return self.is_reading or self.sessions.is_filtered

    # Data --------------------------------------------------------------------------------------------------

    def apply(self, snapshot: Snapshot, forest: Forest) -> None:
        """Show a new snapshot, and `forest`, which was made from it."""
        self.snapshot = snapshot
        nothing = not snapshot.sessions
        self.set_class(nothing, "-empty")
        if nothing and snapshot.places:
            self.empty.show(empty_blocks(snapshot.places, self._home))
        self.sessions.set_forest(forest)
        self.sessions_changed()
        self._show_counts()
        self._update_pane()
        if self.focused is not self.box and nothing is not (self.focused is self.empty):
            self._list()

    def show_lanes(self, news: LaneNews) -> None:
        """Show how Hermes' gateway is, and the states of lanes beside their sessions."""
        from hermes_tui.tui.widgets.lanes.states import session_states

        self.lanes = news
        self.sessions.set_lane_states(session_states(news.board))
        self._show_counts()
        self._show_detail()

    def _tick(self) -> None:
        self.sessions.tick()
        self._show_counts()
        self._show_detail()

    def said(self) -> None:
        """What is shown is something else now: so are header, details and hints."""
        self._show_counts()
        self._show_detail()
        self._show_hints()
        self._arrange(wide=self.is_wide)

    # Events ------------------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        """Side by side or one at a time."""
        wide = event.size.width >= _WIDE
        tall = event.size.height >= _TALL
        # Before the base class lays out: otherwise everything is painted as it looked in the size before, and again.
        classes = {"-wide": wide, "-narrow": not wide, "-tall": tall, "-short": not tall}
        self.update_classes(classes, animate=False)
        self.sessions.state_words = not wide
        self._arrange(wide=wide)
        self.call_after_refresh(self._settle_layout)

    def _settle_layout(self) -> None:
        self._show_counts()
        self._show_detail()
        if self.is_wide:
            self._open_highlighted()
        self._show_hints()

    def on_descendant_focus(self) -> None:
        """Other keys work now, and on a narrow screen another pane is to be seen."""
        self._turn_to(reading=self.is_reading)
        self._show_counts()
        self._show_hints()

    def _turn_to(self, *, reading: bool) -> None:
        self._reading = reading
        self._arrange(wide=self.is_wide)

    def _arrange(self, *, wide: bool) -> None:
        """Show the right one of the panes where there is room for one only. Not by a class of the screen, which
        would give everything on it new styles: that takes longer than to read a session."""
        alone = "none" if self._reading and not wide else None
        detail = self.query_one("#detail", Line)
        self.sessions.styles.display = detail.styles.display = alone
        # Also where it would be shown anyway: between two sizes it must not lose the keys.
        self.pane.styles.display = "block" if self._reading else "none" if wide and self.is_searching else None
        self.preview.styles.display = "block" if wide and self.is_searching and not self._reading else "none"

    @on(SessionList.HighlightChanged)
    def _highlight_changed(self, event: SessionList.HighlightChanged) -> None:
        if self._settle is not None:
            self._settle.stop()
        shown = event.conversation
        follows = shown is not None and any(part.unified_id == self._wanted for part in shown.parts)
        if self.is_wide or self.is_searching or (follows and self._reading):
            self._settle = self.set_timer(_SETTLE, self._open_highlighted)

    def _open_highlighted(self) -> None:
        conversation = self.sessions.highlighted
        if self.is_searching:
            self.look_closer()
        elif conversation is not None:
            self._open(conversation)

    @on(SessionList.Selected)
    def _selected(self, event: SessionList.Selected) -> None:
        if self.is_searching:
            self.open_found(event.conversation)
        else:
            self._open(event.conversation)
        self._read()

    @on(SessionList.Refused)
    @on(TranscriptPane.Refused)
    def _refused(self, event: SessionList.Refused | TranscriptPane.Refused) -> None:
        self.notify(event.reason, markup=False)

    @on(SessionList.MarksChanged)
    def _marks_changed(self, event: SessionList.MarksChanged) -> None:
        self._show_counts()
        if event.dropped is not None:
            title = compact(event.dropped.title, 40) or "untitled"
            self.notify(f"Two sessions are compared: the mark of “{title}” is taken away.", markup=False)

    def _read(self) -> None:
        """Give the keys to the transcript; at once, for what is typed ahead."""
        self._turn_to(reading=True)
        self.set_focus(self.pane)

    def _list(self) -> None:
        """Give the keys to the list, or to what stands in its place."""
        self._turn_to(reading=False)
        self.set_focus(self.empty if self.has_class("-empty") else self.sessions)

    def go_to_list(self) -> None:
        """Give the keys to the list."""
        self._list()

    def go_to_transcript(self) -> None:
        """Give the keys to the transcript."""
        self._read()

    # Actions -----------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """`/` is a character in the box; there is not always something to go back from."""
        if action == "filter":
            return self.focused is not self.box
        return action != "close"  # the page of an empty machine is not a screen of its own

    def action_back(self) -> None:
        """From the transcript to the list, from a filtered list to all of it."""
        if self.is_reading:
            self._list()
        elif self.can_go_back:
            self.action_leave()
        else:
            self.notify("This is the list of all sessions: there is nothing to go back to.", markup=False)

    def action_other_pane(self) -> None:
        """From the list to the transcript, or back."""
        if self.is_reading:
            self._list()
        elif self.sessions.highlighted is None:
            self.notify("There is no session here to read.", markup=False)
        elif self.is_searching:
            self.open_found(self.sessions.highlighted)
            self._read()
        else:
            self._open_highlighted()
            self._read()
