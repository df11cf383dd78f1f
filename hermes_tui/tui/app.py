"""The terminal program: composes manager, workers and screens, and ends them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from os import environ
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual import events, on
from textual.screen import Screen
from textual.worker import WorkerFailed

from hermes_tui.clock import Clock
from hermes_tui.config import Config
from hermes_tui.platform import paths
from hermes_tui.platform.background import Slot
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.platform.log import write_failure
from hermes_tui.sessions.catalogue.arrivals import Arrivals
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app_actions import AppActions
from hermes_tui.tui.drawing_caches import clear_up, keep_no_pieces, let_go_of_widgets
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.left_screens import LeftScreens
from hermes_tui.tui.screens.main.screen import MainScreen
from hermes_tui.tui.state.typed_ahead import KeyPassed, TypedAhead
from hermes_tui.tui.state.view_state import ViewFile
from hermes_tui.tui.themes import THEMES, has_no_colour, theme_for
from hermes_tui.tui.user_keymap import refusal, validate_keymap
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.widgets.styled import LOOKS
from hermes_tui.tui.widgets.transcript.layout.style import get_ready as ready_to_show
from hermes_tui.tui.workers.attention_setup import attention_watch
from hermes_tui.tui.workers.cost_refresh import CostRefresh
from hermes_tui.tui.workers.index_refresh import IndexWatch
from hermes_tui.tui.workers.lane_watch import LaneNews, LaneWatch
from hermes_tui.tui.workers.list_layout import ListLayout
from hermes_tui.tui.workers.session_reader import OpenedSession, SessionReader
from hermes_tui.tui.workers.session_watch import Watch

if TYPE_CHECKING:
    from textual.await_complete import AwaitComplete
    from textual.driver import Driver

    from hermes_tui.attention.report import AttentionReport
    from hermes_tui.lifecycle.lanes import Board
    from hermes_tui.tui.splash.splash import Splash
    from session_adapters.transcript import Transcript

__all__ = ["HermesApp"]


class HermesApp(AppActions, inherit_bindings=False):
    """The program. Idle, it writes nothing to the terminal."""

    TITLE = "hermes-tui"
    CSS_PATH = [str(path) for path in sorted(paths.styles_dir().glob("*.tcss"))]  # noqa: RUF012  (as App declares it)
    BINDINGS = bindings("app")
    ENABLE_COMMAND_PALETTE = True
    COMPONENT_CLASSES = LOOKS

    def __init__(
        self,
        manager: SessionManager,
        config: Config | None = None,
        *,
        clock: Clock | None = None,
        painted: Callable[[], None] | None = None,
        settle: Callable[[], None] | None = None,
        indexing: bool = False,
        attention: bool = False,
        splash: Splash | None = None,
        named_home: Path | None = None,
    ) -> None:
        """`config` None: the defaults. An unknown theme is the usual one; a keymap with mistakes is not used, and a
        toast says what they are. `painted` is called when the first frame is there; `settle`: see `LeftScreens`.
        `indexing`: have the search index made and kept up to date. `attention`: have it said which sessions need a
        person. `splash`: what is on the terminal until then. `named_home`: the home that was named, if one was."""
        let_go_of_widgets()
        keep_no_pieces()
        self.no_colour = has_no_colour()
        # The filter that takes colours out is chosen in the constructor, from this.
        super().__init__(ansi_color=True if self.no_colour else None)
        self.animation_level = "none"
        self.manager = manager
        self.config = config = config or Config()
        self.clock = clock or Clock()
        self.named_home = named_home
        self.view = ViewFile().read()
        self.user_keymap = dict(config.keymap)
        self._keymap_errors = validate_keymap(self.user_keymap) if self.user_keymap else []
        for one in THEMES:
            self.register_theme(one)
        self.theme = self._theme_read = theme_for(config.theme or self.view.theme, no_colour=self.no_colour)
        self.stylesheet.set_variables(self.get_css_variables())
        self._painted = painted
        self.splash = splash
        self._leaving = False
        self._left_screens = LeftScreens(self, settle)
        self._typed = TypedAhead(self, super().on_event)
        self._left_early: int | None = None
        self._running_loop: asyncio.AbstractEventLoop | None = None
        self._badges = {name: label.badge for name, label in manager.saved_labels.items()}
        snapshots: Slot[tuple[Snapshot, Forest]] = Slot(self.in_loop, self._apply)
        self._list_layout = ListLayout(manager, lambda: self.view.order, snapshots.put)
        self._opens: Slot[OpenedSession] = Slot(self.in_loop, lambda opened: self.main.transcript.opened(opened))
        self._growths: Slot[Transcript] = Slot(self.in_loop, lambda more: self.main.transcript.grown(more))
        self.reader = SessionReader(manager.open, self._opens.put, self._growths.put, _get_ready)
        self.watch_thread = Watch(
            manager.catalogue,
            self._publish,
            lambda problem: self._say_error(problem.reason),
            lambda: clear_up(self._left_screens.look),
            Arrivals(manager.environment).since,
        )
        self.cost_refresh = CostRefresh(lambda: manager.costs.book(), self._list_layout.make)
        self._indexing = indexing
        say_indexing = lambda words: self.in_loop(lambda: self.main.status.say_indexing(words))  # noqa: E731
        self._index_watch = IndexWatch(lambda: manager.index, say_indexing)
        self._attending = attention
        manager.states = lambda: self.attention.among if self.attention is not None else lambda state: frozenset()
        self._reports: Slot[AttentionReport] = Slot(self.in_loop, self._attend)
        self._tells_focus = False
        self.attention_watch = attention_watch(
            self,
            lambda: self._known_board,  # asked for by a thread, which may outlive the screen
            self._reports.put,
            self._write,
            lambda: self.app_focus if self._tells_focus else None,  # None: the terminal never said
            lambda sentence: self.in_loop(lambda: self.notify(sentence, severity="warning", timeout=20)),
        )
        self._lanes: Slot[LaneNews] = Slot(self.in_loop, self._show_lanes)
        self._known_board: Board | None = None
        self.lane_watch = LaneWatch(
            lambda: manager.environment, self.clock, self._lanes.put, self._say_error, read_only=config.read_only
        )

    def get_driver_class(self) -> type[Driver]:
        """Our own reading of the terminal's input in place of Textual's usual one."""
        usual = super().get_driver_class()
        if usual.__name__ != "LinuxDriver":
            return usual
        from hermes_tui.tui.driver import TerminalDriver

        return TerminalDriver

    def get_default_screen(self) -> Screen[Any]:
        """The main screen, with what the last run knew in its first frame."""
        saved = self.manager.catalogue.saved()
        screen = MainScreen(self, self._badges, self.reader, saved, Forest(saved.sessions))
        self._main_screen = screen
        return screen

    def on_mount(self) -> None:
        """What is wrong with the user's keys is said at once; reading begins when the first picture is painted."""
        self._running_loop = asyncio.get_running_loop()
        if self._left_early is not None:
            self.exit(return_code=self._left_early)
        if self._keymap_errors:
            self.notify(refusal(self._keymap_errors), severity="error", timeout=20)
        elif self.user_keymap:
            self.set_keymap(self.user_keymap)

    @on(MainScreen.Painted)
    def _begin(self) -> None:
        if self._painted is not None:
            self._painted()
        self._keep_frame()
        self.watch_thread.start()
        if self.main.snapshot.sessions:
            self.reader.start()
        self.lane_watch.start()

    def _keep_frame(self) -> None:
        """Keep what the screen shows besides sessions for the next start; once."""
        if self.splash is not None and not self.splash.is_kept and not self._keymap_errors:
            from hermes_tui.tui.screens.main.next_splash import keep_splash

            keep_splash(self.main, self.splash)

    async def on_event(self, event: events.Event) -> None:
        """A key waits for the one before it, and for a screen that is being put up."""
        if isinstance(event, events.InputEvent | events.AppFocus):
            self.touched = monotonic()
        if isinstance(event, events.Key | events.Paste) and not event.is_forwarded:
            await self._typed.take(event)
        else:
            await super().on_event(event)

    async def on_key_passed(self, message: KeyPassed) -> None:
        """Look at what was typed behind it."""
        await self._typed.passed(message)

    @property
    def message_queue_size(self) -> int:
        """Of a terminal that is faster no more is read."""
        return super().message_queue_size + len(self._typed)

    def _handle_exception(self, error: Exception) -> None:
        """An error of ours ends the program: it is noted in the log, and said in a sentence in place of a traceback,
        which would show what was read. Textual calls it for whatever a handler of messages raises."""
        path = write_failure(error.error if isinstance(error, WorkerFailed) else error)
        if self._left_early is not None:  # a screen that was taken down before it was whole: the end is in order
            self.exit(return_code=self._left_early)
            return
        where = f"details are in {path}" if path else "the log cannot be written"
        self._return_code = 1
        # As Textual has it: a test that runs the program is given the first error.
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self.panic(Text(f"hermes-tui: unexpected error ({type(error).__name__}); {where}"))

    def exit(self, result: None = None, return_code: int = 0, message: Any = None) -> None:
        """Leave. The watch ends while the screen is taken down, so that nobody waits for it."""
        self.watch_thread.stop()
        self.lane_watch.stop()
        super().exit(result, return_code, message)

    def on_unmount(self) -> None:
        """Stop reading; waits for nothing that may take long."""
        self._leaving = True
        self._index_watch.stop()
        self._main_screen.search.stop()
        self.cost_refresh.stop()
        self.watch_thread.stop()
        self.lane_watch.stop()
        self.attention_watch.stop()
        self.reader.stop()

    def leave_soon(self, code: int) -> None:
        """End in order with exit code `code`; from any thread or signal handler."""
        self._left_early = code
        self._soon(lambda: self.exit(return_code=code))

    def refresh_css(self, animate: bool = True) -> None:
        """Read the style sheet again in another theme. Textual asks for it at the start as well, when it has just
        been read in this one: a tenth of the time to the first frame."""
        if self.theme != self._theme_read:
            self._theme_read = self.theme
            super().refresh_css(animate)

    # From the threads --------------------------------------------------------------------------------------

    def in_loop(self, function: Callable[[], None]) -> None:
        """See `Program.in_loop`."""

        def while_there() -> None:
            if not self._leaving and self.main.is_whole:
                function()

        self._soon(while_there)

    def _soon(self, function: Callable[[], None]) -> None:
        if self._running_loop is None:
            return
        try:
            self._running_loop.call_soon_threadsafe(self.call_later, function)
        except RuntimeError:
            if not self._leaving:
                raise
            # The loop is closed: nobody is there to see it any more.

    def _publish(self, snapshot: Snapshot) -> None:
        self._badges.update((name, label.badge) for name, label in self.manager.labels.items())
        whole = snapshot.places and not snapshot.partial
        if whole and not self.clock.is_fixed:
            self.cost_refresh.look()
        if whole and self._indexing:
            self._index_watch.look()
        if snapshot.places and self._attending:
            self.attention_watch.look(snapshot)
        self._list_layout.make()

    def _say_error(self, sentence: str) -> None:
        self.in_loop(lambda: self.notify(sentence, severity="error"))

    def say_crash(self, sentence: str) -> None:
        """Say that a thread has ended by an error of ours; from that thread."""
        self.in_loop(lambda: self.notify(sentence, severity="error", timeout=60))

    def _write(self, text: str) -> None:
        """Between two frames, and behind what is to be written already."""
        if self._driver is not None:
            self._driver.write(text)
            self._driver.flush()

    @on(events.AppFocus)
    @on(events.AppBlur)
    def _hear_of_focus(self) -> None:
        self._tells_focus = True

    async def is_shown(self) -> bool:
        """See `Program.is_shown`."""
        from hermes_tui.attention.delivery import is_in_view

        return self._tells_focus or await in_thread(is_in_view, environ)

    def _attend(self, report: AttentionReport) -> None:
        from hermes_tui.tui.screens.attention import AttentionScreen
        from hermes_tui.tui.screens.lanes.screen import LanesScreen

        self.attention = report
        self.main.show_attention(report)
        for screen in self.screen_stack:
            if isinstance(screen, AttentionScreen):
                screen.apply(report)
            elif isinstance(screen, LanesScreen):
                screen.states_changed()

    def _show_lanes(self, news: LaneNews) -> None:
        from hermes_tui.tui.screens.lanes.screen import LanesScreen

        self._known_board = news.board
        self.main.show_lanes(news)
        self.attention_watch.look_again()  # it goes by the lanes as well
        for screen in self.screen_stack:
            if isinstance(screen, LanesScreen):
                screen.apply(news)

    def _apply(self, pair: tuple[Snapshot, Forest]) -> None:
        from hermes_tui.tui.screens.lanes.transcript import LaneTranscript

        self.main.apply(*pair)
        for screen in self.screen_stack:
            if isinstance(screen, LaneTranscript):
                screen.sessions_changed()

        def applied() -> None:
            self.reader.start()  # not before: what it imports would be in the way of the first sessions
            self._keep_frame()

        self.main.call_after_refresh(applied)

    def pop_screen(self) -> AwaitComplete:
        """Leave the screen on top."""
        self._left_screens.one_more(self.screen)
        return super().pop_screen()


def _get_ready() -> None:
    """Import, once the first frame is there, what the first session and the first search need."""
    ready_to_show()
    import hermes_tui.sessions.search.incremental.search
    import hermes_tui.sessions.search.within  # noqa: F401
