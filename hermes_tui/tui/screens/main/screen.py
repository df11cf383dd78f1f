"""The main screen: list and transcript, one at a time on a narrow terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.tui.delay import Delay
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.program import Program
from hermes_tui.tui.screens.current_size import CurrentSize
from hermes_tui.tui.screens.empty import empty_blocks
from hermes_tui.tui.screens.main.actions.hermes_sessions import HermesSessions
from hermes_tui.tui.screens.main.actions.list_actions import ListActions
from hermes_tui.tui.screens.main.completion import FilterCompletion
from hermes_tui.tui.screens.main.context_window import ContextActions
from hermes_tui.tui.screens.main.history import SearchHistory
from hermes_tui.tui.screens.main.panes import TALL, WIDE, Panes
from hermes_tui.tui.screens.main.parts import MainParts
from hermes_tui.tui.screens.main.search import SearchController
from hermes_tui.tui.screens.main.session_actions import SessionActions
from hermes_tui.tui.screens.main.status import StatusBar
from hermes_tui.tui.screens.main.transcript import TranscriptController
from hermes_tui.tui.widgets.page import Paragraph
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.widgets.session_list.widget import SessionList
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from hermes_tui.tui.workers.session_reader import SessionReader

if TYPE_CHECKING:
    from hermes_tui.attention.report import AttentionReport
    from hermes_tui.tui.workers.lane_watch import LaneNews

__all__ = ["MainScreen"]

_SETTLE = 0.12
"""Seconds that the cursor must rest on a session before it is opened beside the list."""
_MINUTE = 60.0


class MainScreen(CurrentSize[None]):
    """Puts the widgets and their controllers together, gives keys and messages to them, and moves the focus."""

    BINDINGS = bindings("main")
    AUTO_FOCUS = "SessionList"

    class Painted(Message):
        """The first frame is on the terminal."""

    def __init__(
        self, program: Program, badges: Mapping[str, str], reader: SessionReader, saved: Snapshot, forest: Forest
    ) -> None:
        """The first frame shows `saved`, and `forest`, which was made from it. Its classes are known before it is
        composed, so that it is styled and laid out once."""
        wide = "-wide" if program.size.width >= WIDE else "-narrow"
        super().__init__(classes=f"{wide} {'-tall' if program.size.height >= TALL else '-short'}")
        self.parts = parts = MainParts(self, program, badges)
        self.sessions, self.pane, self.preview, self.box = parts.sessions, parts.pane, parts.preview, parts.box
        self.transcript = TranscriptController(parts, reader)
        self.history = SearchHistory(parts)
        self.search = SearchController(parts, self.transcript, self.history, self._changed)
        complete = lambda text, at: tuple(program.manager.searches.complete(text, at))  # noqa: E731
        self.completion = FilterCompletion(parts.box, complete)
        self.panes = Panes(parts, lambda: self.search.is_searching, self._settle_layout)
        self.status = StatusBar(parts, self.search, self.completion)
        self.actions = SessionActions(parts)
        self.managing = HermesSessions(parts, self.actions.export, read_only=program.config.read_only)
        self.listing = ListActions(parts, self.search)
        self.context = ContextActions(parts)
        self._settle = Delay(self, self._open_highlighted, _SETTLE)
        self._is_painted = False
        self._was_reading = False
        """Before the search."""
        parts.set_snapshot(saved)
        self._first = forest
        parts.sessions.at_once = self.status.show_detail

    def compose(self) -> ComposeResult:
        """Header, the two panes, details, hints."""
        yield self.parts.header
        with Horizontal(id="panes"):
            yield self.sessions
            yield self.pane
            yield self.preview
        yield self.parts.empty
        yield self.parts.detail
        yield self.pane.find_bar
        yield self.parts.hints

    def on_mount(self) -> None:
        """Let ages grow; under a fixed clock they do not."""
        self.parts.empty.show([Paragraph(), Paragraph("Reading the stores …", style="faint")])
        self.sessions.state_words = not self.parts.is_wide
        self.panes.arrange()
        if self.snapshot.sessions:
            self.apply(self.snapshot, self._first)
            self.status.show_detail()
        self._first = Forest()
        self.status.show_hints()
        self.transcript.looking.begin()
        if not self.parts.clock.is_fixed:
            self.set_interval(_MINUTE, self._tick)

    # What is asked of it -----------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        """What the list shows."""
        return self.parts.snapshot

    @property
    def is_whole(self) -> bool:
        """Its parts are there: it was composed, and is not being taken down."""
        # Not a query, which looks at every widget: it is asked for all that threads have to say.
        return all(one.is_attached for one in (self.sessions, self.parts.detail, self.parts.hints))

    # Data --------------------------------------------------------------------------------------------------

    def apply(self, snapshot: Snapshot, forest: Forest) -> None:
        """Show a new snapshot, and `forest`, which was made from it."""
        self.parts.set_snapshot(snapshot)
        nothing = not snapshot.sessions
        self.set_class(nothing, "-empty")
        if nothing and snapshot.places:
            program = self.parts.program
            home = None if program.named_home else str(program.manager.environment.home)
            self.parts.empty.show(empty_blocks(snapshot.places, home))
        self.sessions.set_forest(forest)
        self.search.sessions_changed()
        self.status.show_counts()
        self.transcript.update()
        if self.focused is not self.box and nothing is not (self.focused is self.parts.empty):
            self.go_to_list()

    def show_lanes(self, news: LaneNews) -> None:
        """Show how Hermes' gateway is, and the states of lanes beside their sessions."""
        from hermes_tui.tui.widgets.lanes.states import session_states

        self.parts.lanes = news
        self.parts.show_states(lanes=session_states(news.board))
        self.status.show_counts()
        self.status.show_detail()

    def show_attention(self, report: AttentionReport) -> None:
        """Show which sessions need a person."""
        self.parts.show_states(attended=report.by_session, unread=report.unread)
        self.transcript.update()
        self.search.states_changed()
        self.status.show()

    def show_only(self, text: str, sessions: Iterable[str], way_back: Callable[[], None]) -> None:
        """See `SearchController.show_only`; the list has the keys then."""
        self.search.show_only(text, sessions, way_back)
        self.go_to_list()

    def search_for(self, query: str) -> None:
        """Search for this, with the keys in the box."""
        self.action_filter()
        self.box.fill(query)

    def _tick(self) -> None:
        self.sessions.tick()
        self.status.show()

    def _changed(self) -> None:
        """The search shows something else now."""
        self.status.show()
        self.panes.arrange()

    # Panes -------------------------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        """Side by side or one at a time."""
        # Before the base class lays out: otherwise everything is painted as it looked in the size before, and again.
        self.panes.fit(*event.size)
        self.call_after_refresh(self._settle_layout)

    def _settle_layout(self) -> None:
        if not self._is_painted:
            self._is_painted = True
            self.post_message(self.Painted())
        if self.parts.is_wide and not self.transcript.is_in_helper:
            self._open_highlighted()
        self.status.show()

    def on_descendant_focus(self) -> None:
        """Other keys work now, nothing is said of what is typed; on a narrow screen another pane is to be seen."""
        self.panes.turn_to(reading=self.parts.is_reading)
        self.status.show()

    def go_to_list(self) -> None:
        """Give the keys to the list, or to what stands in its place."""
        self.panes.turn_to(reading=False)
        self.set_focus(self.parts.empty if self.has_class("-empty") else self.sessions)

    def go_to_transcript(self) -> None:
        """Give the keys to the transcript; at once, for what is typed ahead."""
        self.panes.turn_to(reading=True)
        self.set_focus(self.pane)

    # Messages ----------------------------------------------------------------------------------------------

    @on(Input.Changed, "#search")
    def _typed(self) -> None:
        self.search.typed_on()

    @on(SessionList.HighlightChanged)
    def _highlight_changed(self, event: SessionList.HighlightChanged) -> None:
        self._settle.stop()
        shown = event.conversation
        follows = shown is not None and self.transcript.shows_one_of(shown.parts)
        if self.parts.is_wide or self.search.is_searching or (follows and self.panes.is_reading):
            self._settle.start()

    def _open_highlighted(self) -> None:
        conversation = self.sessions.highlighted
        if self.search.is_searching:
            self.search.results.previews.look_closer()
        elif conversation is not None:
            self.transcript.ask_for(conversation.tip)

    @on(SessionList.Selected)
    def _selected(self, event: SessionList.Selected) -> None:
        if self.search.is_searching:
            self.search.open(event.conversation)
        else:
            self.transcript.ask_for(event.conversation.tip)
        self.go_to_transcript()

    @on(TranscriptPane.NoMore)
    def _no_more(self, event: TranscriptPane.NoMore) -> None:
        self.search.open_next(event.step)

    @on(TranscriptPane.HelperWanted)
    def _helper_wanted(self, event: TranscriptPane.HelperWanted) -> None:
        self.transcript.open_helper(event.session_id)

    @on(SessionList.MarksChanged)
    def _marks_changed(self) -> None:
        self.status.show_counts()

    # Keys --------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A key is a character in a box; there is not always something to go back from."""
        if action in ("filter", "search_all"):
            return not isinstance(self.focused, Input) and (action != "filter" or not self.parts.is_reading)
        return action != "close"  # the page of an empty machine is not a screen of its own

    def action_back(self) -> None:
        """From the transcript to the list, from a filtered list to all of it."""
        if self.parts.is_reading:
            if not self.pane.typed.step_back() and not self.transcript.return_to_caller():
                self.go_to_list()
            self.status.show_hints()
        elif self.parts.can_go_back:
            self.action_leave()
        else:
            self.notify("This is the list of all sessions: there is nothing to go back to.")

    def action_other_pane(self) -> None:
        """From the list to the transcript, or back."""
        conversation = self.sessions.highlighted
        if self.parts.is_reading:
            self.go_to_list()
        elif conversation is None:
            self.notify("There is no session here to read.")
        else:
            self._selected(SessionList.Selected(conversation))

    def action_filter(self) -> None:
        """Type into the box. The focus moves at once: the next key may be in the same read."""
        if not self.sessions.is_filtered and self.focused is not self.box:
            self._was_reading = self.parts.is_reading
        self.panes.turn_to(reading=False)
        self.set_focus(self.box)
        self.search.get_ready()

    action_search_all = action_filter

    def action_keep(self) -> None:
        """From the box to the results."""
        self.search.filter()
        self.history.remember(self.search.typed)
        self.go_to_list()

    def action_leave(self) -> None:
        """Leave the box for the pane that had the keys before."""
        was_reading, self._was_reading = self._was_reading, False
        way_back = self.search.leave()
        if was_reading:
            self.go_to_transcript()
        else:
            self.go_to_list()
        way_back()

    def action_complete(self) -> None:
        """Complete the filter at the cursor, or take what is offered for a query that found nothing, or keep it."""
        if self.completion.complete():
            return
        if meant := self.search.meant:
            self.box.fill(meant)
        else:
            self.action_keep()

    def action_list_move(self, step: int) -> None:
        """Move the list's cursor from the box; in an empty box go through the recent searches."""
        if not self.history.recall(step):
            self.search.filter()
            self.sessions.action_move(step)

    def action_list_page(self, step: int) -> None:
        """Move the list by a page from the box."""
        self.search.filter()
        self.sessions.action_page(step)

    def action_recent(self) -> None:
        """Choose one of the recent and the saved searches, save one or remove one."""
        self.history.choose(self.search.typed, self.search_for)

    def action_panes(self, name: str) -> None:
        """Zoom or move the panes: one of the public methods of `Panes`."""
        getattr(self.panes, name)()

    def action_context(self, name: str) -> None:
        """`toggle` or `choose` what the agent sees: a method of `ContextActions`."""
        getattr(self.context, name)()

    def action_listing(self, name: str) -> None:
        """Change the list as a whole: one of the public methods of `ListActions`."""
        getattr(self.listing, name)()

    def action_session(self, name: str) -> None:
        """Do this with the session: one of the public methods of `SessionActions`."""
        getattr(self.actions, name)()

    def action_system_prompt(self) -> None:
        """Show the system prompt of a session of Hermes."""
        self.managing.show_system_prompt()

    def action_manage(self) -> None:
        """Ask what is to be done with a session of Hermes."""
        self.managing.choose()
