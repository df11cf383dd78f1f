"""`L`: the lanes of Hermes' gateway, and what can be done to them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.widgets import Input

from hermes_tui.attention.lane_turns import turns_of
from hermes_tui.display import compact, safe
from hermes_tui.tui.keymap import KEYS, bindings
from hermes_tui.tui.program import Program
from hermes_tui.tui.screens.dialogs.menu import MenuChoice, MenuScreen
from hermes_tui.tui.screens.full_screen import FullScreen
from hermes_tui.tui.screens.lanes.operations import LaneOperations
from hermes_tui.tui.widgets.lanes.arrange import LANE_FIELDS, LaneOrder, arranged, fits
from hermes_tui.tui.widgets.lanes.columns import LaneRow
from hermes_tui.tui.widgets.lanes.facts import lane_blocks, lane_row
from hermes_tui.tui.widgets.lanes.filter import LaneFilter
from hermes_tui.tui.widgets.lanes.table import LaneTable
from hermes_tui.tui.widgets.lanes.title import WIDE, title_parts
from hermes_tui.tui.widgets.page import Page, Paragraph

if TYPE_CHECKING:
    from hermes_tui.attention.states import SessionState
    from hermes_tui.lifecycle.lanes import Lane, Profile
    from hermes_tui.tui.workers.lane_watch import LaneNews, Notice

__all__ = ["LanesScreen"]

_REMEMBERED = timedelta(hours=1)
"""For so long the outcome of an operation stands in the lane's row once it is known for good; in the text below it
stays."""
_OPERATIONS = tuple(key.id for key in KEYS if key.context == "operations")
_PROFILES = ("lanes.profile", "lanes.previous_profile")


class LanesScreen(FullScreen[None]):
    """Shows what `LaneWatch` finds; asks `Operations` to change it."""

    AUTO_FOCUS = "LaneTable"
    BINDINGS = bindings("operations")
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (10, "-short"), (20, "-tall"), (34, "-high")]  # noqa: RUF012  (as Screen declares it)

    def __init__(self, program: Program, news: LaneNews | None, *, read_only: bool) -> None:
        """`news`: what is known of the lanes; None before the first look. `read_only`: keys that would change
        anything say so."""
        super().__init__()
        self._program = program
        self._clock = program.clock
        self._read_only = read_only
        self._profile = ""
        self._order = LaneOrder()
        self._turns: Mapping[tuple[str, str], SessionState] = {}
        self.news = news
        self.operations = LaneOperations(program, self, self._show, read_only=read_only)

    def body(self) -> ComposeResult:
        """Table, what is known of the lane."""
        table = LaneTable(id="lanes")
        yield LaneFilter(table)
        yield table
        page = Page(id="lane")
        page.can_focus = False
        yield page

    def on_mount(self) -> None:
        """Show what is known, and have it looked at often from now on."""
        self._show()

    def show_hints(self) -> None:
        """Show the keys that do something here now."""
        many = self.news is None or len(self.news.board.profiles) > 1
        self.without = ("app.lanes", *self.unlisted, *(() if many else _PROFILES))
        super().show_hints()

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Ids of keys that do nothing here but say so."""
        return _OPERATIONS if self._read_only else ()

    def on_screen_resume(self) -> None:
        """The keys of the screen above were others."""
        self.call_after_refresh(self.show_hints)

    def on_resize(self) -> None:
        """The title is cut to the width."""
        self.call_after_refresh(self._show)

    # Parts -------------------------------------------------------------------------------------------------

    @property
    def table(self) -> LaneTable:
        """The lanes."""
        return self.query_one(LaneTable)

    @property
    def profile(self) -> Profile | None:
        """The profile whose lanes are shown."""
        profiles = self.news.board.profiles if self.news is not None else ()
        return next((one for one in profiles if one.name == self._profile), None)

    @property
    def lane(self) -> Lane | None:
        """The lane under the cursor."""
        row = self.table.highlighted
        lanes = self.news.board.lanes if self.news is not None else ()
        return next((one for one in lanes if row is not None and (one.profile, one.key) == row.identity), None)

    # Data --------------------------------------------------------------------------------------------------

    def apply(self, news: LaneNews) -> None:
        """Show what was found."""
        self.news = news
        self._show()

    def _show(self) -> None:
        if not self.is_there:
            return
        news = self.news
        if news is None:
            self.show_title([(" Lanes", "bright"), (" · reading …", "faint")])
            return
        names = [one.name for one in news.board.profiles]
        if self._profile not in names:
            with_lanes = [one.name for one in news.board.profiles if one.lanes]
            self._profile = next(iter(with_lanes or names), "")
        report = self._program.attention
        self._turns = turns_of(news.board, report) if report is not None else {}
        now = self._clock.now()
        own = [lane for lane in news.board.lanes if lane.profile == self._profile]
        asked = self.query_one(LaneFilter).value
        lanes = arranged(own, self._order, lambda lane: self._turn(lane) is not None)
        rows = [row for lane in lanes if fits(lane, row := self._row(lane, now), asked)]
        said = [f"“{compact(asked, 20)}” {len(rows)} of {len(own)}"] if asked else []
        width = self.app.size.width
        said += [self._order.words] if self._order != LaneOrder() and width >= WIDE else []
        arrangement = ", ".join(said)
        self.show_title(
            *title_parts(news, self.profile, now, width, read_only=self._read_only, arrangement=arrangement)
        )
        nothing = "This profile has no lanes." if names else "There is no Hermes here."
        self.table.show(rows, nothing if not own else "No lane has all these words; esc shows all.")
        self._show_lane()

    def _row(self, lane: Lane, now: datetime) -> LaneRow:
        doing, notice = self.operations.doing(lane), self._notice(lane)
        # The row says nothing of what is long over.
        if notice is not None and notice.settled is not None and self._clock.now() - notice.settled >= _REMEMBERED:
            notice = None
        words = doing.words if doing is not None else ""
        return lane_row(lane, now, self._clock.local, notice, words, self._turn(lane))

    def _turn(self, lane: Lane) -> SessionState | None:
        """How its turn stands, or was left; None where it was answered, or nothing is known of it."""
        return self._turns.get((lane.profile, lane.key))

    def states_changed(self) -> None:
        """Show which lanes are in a turn by now."""
        self._show()

    def _notice(self, lane: Lane) -> Notice | None:
        return self.news.notices.get((lane.profile, lane.key)) if self.news is not None else None

    def _show_lane(self) -> None:
        """The text below the table."""
        lane, news = self.lane, self.news
        page = self.query_one("#lane", Page)
        if news is None:
            return
        if lane is None:
            page.show([Paragraph(safe(news.board.no_home), style="faint")] if news.board.no_home else [])
            return
        now = self._clock.now()
        doing = self.operations.doing(lane)
        waits = doing.waits if doing is not None else ""
        page.show(lane_blocks(lane, now, self._clock.local, self._notice(lane), waits, self._turn(lane)))

    @on(LaneTable.Moved)
    def _moved(self) -> None:
        self._show_lane()
        self.query_one("#lane", Page).scroll_to(y=0, animate=False)

    @on(Input.Changed, "#lane-filter")
    def _typed(self) -> None:
        self._show()

    # Actions -----------------------------------------------------------------------------------------------

    def action_filter(self) -> None:
        """Type words of lanes."""
        self.query_one(LaneFilter).open()

    def action_order(self) -> None:
        """Choose the order of the lanes."""
        choices = [
            MenuChoice(
                str(at), self._order.by(field).words if field != self._order.field else f"now {self._order.words}"
            )
            for at, field in enumerate(LANE_FIELDS, 1)
        ]

        def chosen(key: str | None) -> None:
            if key is not None and (field := LANE_FIELDS[int(key) - 1]) != self._order.field:
                self._order = self._order.by(field)
                self._show()

        self.app.push_screen(MenuScreen("Order of the lanes", choices), chosen)

    def action_turn(self) -> None:
        """The opposite order."""
        self._order = self._order.by(self._order.field)
        self._show()

    def action_close(self) -> None:
        """Show all lanes again, or leave."""
        if not self.query_one(LaneFilter).clear_words():
            super().action_close()

    def action_operation(self, name: str) -> None:
        """Have this done to the lane: a method of `LaneOperations`."""
        getattr(self.operations, name)()

    def action_profile(self, step: int) -> None:
        """The next profile (1) or the one before (-1)."""
        names = [one.name for one in self.news.board.profiles] if self.news is not None else []
        if len(names) < 2:
            self.notify("There is no other profile with a Hermes of its own.")
        else:
            self._profile = names[(names.index(self._profile) + step) % len(names)]
            self._show()

    def action_scroll_lane(self, step: int) -> None:
        """The text below the table, up (-1) or down (1)."""
        page = self.query_one("#lane", Page)
        if page.scroll_y == (page.max_scroll_y if step > 0 else 0):
            where = "end" if step > 0 else "beginning"
            self.notify(f"This is the {where} of the text below the table.")
        else:
            page.action_scroll_page(step)

    def action_problems(self) -> None:
        """What could not be read of the lanes."""
        from hermes_tui.tui.screens.dialogs.page import PageScreen

        news = self.news
        found = [(one.name, text) for one in news.board.profiles for text in one.problems] if news else []
        notes = [(one.name, text) for one in news.board.profiles for text in one.notes] if news else []
        if news is not None and news.trouble:
            found.append(("log", news.trouble))
        if not found and not notes:
            self.notify("No problems: all that is known of lanes could be read.")
            return
        blocks = [Paragraph(safe(text), style="warning", label=safe(name), column=12) for name, text in found]
        blocks += [Paragraph(safe(text), label=safe(name), column=12) for name, text in notes]
        self.app.push_screen(PageScreen("Problems with lanes", blocks))

    def action_history(self) -> None:
        """What became of the lane's conversations."""
        from hermes_tui.tui.screens.lanes.history import LaneHistoryScreen, history_of_lane

        lane = self.lane
        if lane is None:
            self.notify("There is no lane here.")
            return
        where = self._program.manager.environment, lane.home, lane.key
        read = partial(history_of_lane, *where, self._clock.now(), self._clock.local)
        self.app.push_screen(LaneHistoryScreen(self._program, self._name_of(lane), read))

    @staticmethod
    def _name_of(lane: Lane) -> str:
        return safe(f"{lane.platform} {lane.chat}".strip()) or safe(lane.key)

    @on(LaneTable.Opened)
    def _open(self) -> None:
        """The conversation of the lane."""
        from hermes_tui.tui.screens.lanes.transcript import LaneTranscript

        lane = self.lane
        if lane is None or not lane.session_id or lane.state == "no session":
            self.notify("This lane has no session to read yet.")
            return
        if lane.state == "unknown":
            self.notify("The database cannot be read; ! says why.")
            return
        sessions: list[tuple[str, str]] = [(lane.continues_in or lane.session_id, lane.state)]
        if lane.continues_in:
            sessions.append((lane.session_id, "compression"))
        sessions += [(one.session_id, one.end_reason or "not ended") for one in lane.earlier]
        once = [(id_, note) for at, (id_, note) in enumerate(sessions) if id_ not in dict(sessions[:at])]
        self.app.push_screen(LaneTranscript(self._program, self._name_of(lane), once))
