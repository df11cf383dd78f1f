"""Actions of keys that work everywhere: help, problems, costs, lanes, themes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from textual.keys import key_to_character
from textual.widgets import Input, TextArea

from hermes_tui.display import safe
from hermes_tui.tui.keymap import key_label
from hermes_tui.tui.program import Program
from hermes_tui.tui.themes import NO_COLOUR_THEME, THEMES

if TYPE_CHECKING:
    from textual.screen import Screen

    from hermes_tui.sessions.catalogue.snapshot import Snapshot
    from hermes_tui.sessions.cost.overview import Overview, Rank, Span
    from hermes_tui.tui.palette import Command
    from hermes_tui.tui.screens.main.screen import MainScreen
    from hermes_tui.tui.widgets.session_list.rows import Forest
    from hermes_tui.tui.workers.attention_watch import AttentionWatch
    from hermes_tui.tui.workers.lane_watch import LaneWatch
    from hermes_tui.tui.workers.session_watch import Watch
    from session_adapters.model import SessionSummary

__all__ = ["AppActions"]


class AppActions(Program, inherit_bindings=False):
    """The program as far as its keys go."""

    no_colour: bool
    watch_thread: Watch
    lane_watch: LaneWatch
    attention_watch: AttentionWatch

    @property
    def main(self) -> MainScreen:
        """The screen at the bottom of the stack."""
        return cast("MainScreen", self.screen_stack[0])

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        """Those that are seen through the one on top. Textual (8.2) counts the next one always: whatever changed in
        it, the screen that covers it was written to the terminal once more."""
        return [] if self.screen.styles.background.a == 1 else super()._background_screens

    @property
    def snapshot(self) -> Snapshot:
        """See `Program.snapshot`."""
        return self.main.snapshot

    @property
    def forest(self) -> Forest:
        """See `Program.forest`."""
        return self.main.sessions.forest

    def look_at_marks(self) -> None:
        """See `Program.look_at_marks`."""
        self.watch_thread.look_at_marks()

    def look_at_lanes(self) -> None:
        """See `Program.look_at_lanes`."""
        self.lane_watch.look_now()

    def action_help(self) -> None:
        """Show the keys that work here; again: close them."""
        from hermes_tui.tui.screens.help import HelpScreen
        from hermes_tui.tui.widgets.hints import keys_here

        if isinstance(self.screen, HelpScreen):
            self.screen.action_close()
            return
        labels = self.manager.saved_labels.values() if self.screen is self.main else ()
        self.push_screen(HelpScreen(keys_here(self.screen), [(safe(one.badge), safe(one.label)) for one in labels]))

    def action_stop(self) -> None:
        """Stop as a job of the shell, which goes on with it (`fg`). Where none waits for it, nobody could."""
        from hermes_tui.tui.driver import TerminalDriver

        if not isinstance(self._driver, TerminalDriver) or not self._driver.stop_job():
            self.notify("No shell waits for this program that could go on with it (fg).")

    def _is_back_at(self, kind: type[Screen[Any]]) -> bool:
        """Whether a screen of this kind was open already: what stands above it is left, so that going to and fro
        piles up nothing."""
        if not any(isinstance(one, kind) for one in self.screen_stack):
            return False
        while not isinstance(self.screen, kind):
            self.screen.dismiss(None)
        return True

    def action_problems(self) -> None:
        """What could not be read."""
        from hermes_tui.tui.screens.problems import ProblemsScreen

        problems = self.main.snapshot.problems
        if not problems:
            self.notify("No problems: every session that was found could be read. For lanes: L, then !")
        elif isinstance(self.screen, ProblemsScreen):
            self.notify("These are the problems.")
        elif not self._is_back_at(ProblemsScreen):
            labels = {name: label.label for name, label in self.manager.labels.items()}
            self.push_screen(ProblemsScreen(problems, labels))

    def action_help_quit(self) -> None:
        """Say which key ends the program where one is. Textual's own says so in markup, which notices do not heed."""
        keys = [key for key, one in self.active_bindings.items() if one.binding.action == "quit"]
        typing = isinstance(self.focused, Input | TextArea)
        if keys := [key for key in keys if not typing or key_to_character(key) is None]:
            self.notify(f"{key_label(min(keys, key=len))} quits the program")

    def action_cost(self) -> None:
        """What sessions cost; the sessions behind a line of it are shown in the list."""
        self._show_costs(None)

    def _show_costs(self, at: Rank | None) -> None:
        """`at`: the line to begin at; None for the first."""
        from hermes_tui.tui.screens.cost import CostScreen, filter_text, span_of

        if isinstance(self.screen, CostScreen):
            self.notify("These are the costs.")
            return
        if self._is_back_at(CostScreen):
            return
        labels = {name: label.label for name, label in self.manager.saved_labels.items()}

        def compute(today: date, span: Span) -> Overview:
            return self.manager.costs.overview(today, span)

        def so_far(today: date, span: Span) -> tuple[Overview, bool]:
            return self.manager.costs.overview_so_far(today, span)

        def chosen(rank: Rank | None) -> None:
            if rank is not None:
                while self.screen is not self.main:
                    self.screen.dismiss(None)
                text = filter_text(rank, screen.first_day)
                self.main.show_only(text, rank.sessions, lambda: self._show_costs(rank))

        version = lambda: self.main.snapshot.version  # noqa: E731
        chose = lambda span: self.remember(span=span)  # noqa: E731
        screen = CostScreen(self.clock, compute, so_far, labels, version, at, span_of(self.view.span), chose)
        self.push_screen(screen, chosen)

    def action_attention(self) -> None:
        """Which sessions need a person."""
        from hermes_tui.tui.screens.attention import AttentionScreen

        if isinstance(self.screen, AttentionScreen):
            self.notify("These are the sessions that need you.")
            return
        if self._is_back_at(AttentionScreen):
            return

        def chosen(session: SessionSummary | None) -> None:
            if session is None:
                return
            while self.screen is not self.main:
                self.screen.dismiss(None)
            # It is read on the main screen, with the list's cursor on it: a search may have left it out of the list.
            main = self.main
            if main.sessions.is_filtered:
                main.search.leave()  # not back to where it was begun from
            main.sessions.reveal(session.unified_id)
            main.transcript.ask_for(session)
            main.go_to_transcript()

        self.push_screen(AttentionScreen(self, self.attention), chosen)

    def see(self, session: SessionSummary) -> None:
        """See `Program.see`."""
        self.attention_watch.see(session.unified_id, session.updated_at)

    def action_unread(self, name: str) -> None:
        """`go_next`, `mark_read` or `mark_all_read`: a method of `UnreadController`."""
        getattr(self.main.transcript.unread, name)()

    def jump(self, session: SessionSummary) -> None:
        """See `Program.jump`."""
        self.main.actions.jump_to(session)

    def action_lanes(self) -> None:
        """The lanes of Hermes' gateway."""
        from hermes_tui.tui.screens.lanes.screen import LanesScreen

        if isinstance(self.screen, LanesScreen):
            self.notify("These are the lanes.")
            return
        if self._is_back_at(LanesScreen):
            return
        screen = LanesScreen(self, self.main.parts.lanes, read_only=self.config.read_only)
        self.lane_watch.show(True)
        self.push_screen(screen, lambda _: self.lane_watch.show(False))

    @property
    def can_change_lanes(self) -> bool:
        """There are lanes, and they may be changed."""
        lanes = self.main.parts.lanes
        return lanes is not None and bool(lanes.board.lanes) and not self.config.read_only

    def change_lane(self, name: str) -> None:
        """Go to the lanes, and have this done there to the one under the cursor: it is planned, and asked about."""
        from hermes_tui.tui.screens.lanes.screen import LanesScreen

        self.action_lanes()
        if isinstance(screen := self.screen, LanesScreen):
            screen.call_after_refresh(screen.action_operation, name)

    def action_next_theme(self) -> None:
        """The next of our themes."""
        if self.no_colour:
            self.notify("NO_COLOR is set, so there are no colours to choose from.")
            return
        names = [theme.name for theme in THEMES if theme.name != NO_COLOUR_THEME]
        at = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(at + 1) % len(names)]
        self.clear_notifications()  # the theme before is of no interest any more
        said = f"Theme: {self.theme}"
        if self.config.theme is not None:
            said += f" (the next start begins with {self.config.theme}, which was asked for)"
        else:
            self.remember(theme=self.theme)
        self.notify(said)

    def action_refresh(self) -> None:
        """Look at the stores without waiting for the next turn."""
        self.watch_thread.look_now()
        self.lane_watch.look_now()
        self.attention_watch.look_again()

    def commands(self) -> Sequence[Command]:
        """Everything that can be done here, by name, in order."""
        from hermes_tui.tui.palette import commands_of

        main, change = self.main, self.change_lane if self.can_change_lanes else None
        named = main.history.named() if self.screen is main else ()
        searches = {(name, query): partial(main.search_for, query) for name, query in named}
        return sorted(commands_of(self.screen, change, searches), key=lambda one: one.title.lower())

    def action_command_palette(self) -> None:
        """Choose one of them."""
        from hermes_tui.tui.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(Palette(self.commands()), lambda chosen: chosen.run() if chosen is not None else None)
