"""The list on a screen: what it draws, where the cursor is, what it says."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region

from hermes_tui.clock import Clock
from hermes_tui.tui.themes import THEMES
from hermes_tui.tui.widgets.session_list.list_columns import columns_for, containing
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.widgets.session_list.shown_answer import ShownAnswer
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from hermes_tui.tui.widgets.session_list.widget import SessionList
from hermes_tui.tui.widgets.states import State
from hermes_tui.tui.widgets.styled import LOOKS
from made import NOW, many, session
from pilots import screen_text, until
from session_adapters.model import Cost


class MovingClock(Clock):
    """Time that the test moves."""

    def __init__(self) -> None:
        super().__init__(NOW)
        self.moment = NOW

    def now(self) -> datetime:
        return self.moment


class Watched(SessionList):
    """Counts the lines that are drawn and the areas that are asked to be."""

    drawn = 0
    asked: list[Region]

    def render_line(self, y: int):  # type: ignore[no-untyped-def]
        self.drawn += 1
        return super().render_line(y)

    def refresh(self, *regions: Region, **options: bool):  # type: ignore[no-untyped-def]
        self.asked = [*getattr(self, "asked", []), *regions]
        return super().refresh(*regions, **options)


class ListApp(App[None]):
    """Nothing but the list."""

    COMPONENT_CLASSES = LOOKS
    CSS = """
    SessionList { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }
    .look--cursor { background: blue; }
    .look--match { color: red; }
    """

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = "hermes-dark"
        self.messages: list[object] = []
        self.list = Watched(clock or Clock(NOW), {"claude": "cc", "hermes": "hm"})

    def compose(self) -> ComposeResult:
        yield self.list

    def on_session_list_highlight_changed(self, event: SessionList.HighlightChanged) -> None:
        self.messages.append(event)

    def on_session_list_selected(self, event: SessionList.Selected) -> None:
        self.messages.append(event)

    def notify(self, message: str, **_: Any) -> None:
        self.messages.append(message)

    @property
    def here(self) -> str:
        """Native id of the tip under the cursor."""
        conversation = self.list.highlighted
        return conversation.tip.session_id if conversation else ""


async def test_columns_are_aligned_and_the_row_says_it_all() -> None:
    app = ListApp()
    app.list.state_words = True
    async with app.run_test(size=(80, 6)) as pilot:
        one = session("a", 3, title="Fix the flaky login test", cwd="/x/shop", turn_count=42, live=True)
        two = session("b", 9, agent="hermes", title="領収書の文字化けを直す", cost=Cost(total_usd=0.92))
        three = session("c", 90, title="Nightly", cost=Cost(total_usd=0.07, estimated=True), error=True)
        four = session("d", 60 * 26, title="Backfill", turn_count=12_345, cost=Cost(total_usd=1234.5))
        app.list.set_forest(Forest([one, two, three, four]))
        await pilot.pause()
        assert screen_text(pilot).splitlines() == [
            " today                                project      age turns   cost",
            "  cc  Fix the flaky login test        shop          3m    42        ● live",
            "  hm  領収書の文字化けを直す          —             9m     1   0.92",
            "  cc  Nightly                         —             1h     1  ~0.07 ✗ error",
            " yesterday",
            "  cc  Backfill                        —             1d 9999+   1234",
        ]


@pytest.mark.parametrize(("width", "named"), [(29, ["age"]), (45, ["age"]), (53, ["age", "cost"]), (72, 4), (200, 4)])
async def test_the_first_heading_names_the_columns_that_there_are(width: int, named: list[str] | int) -> None:
    app = ListApp()
    async with app.run_test(size=(width, 4)) as pilot:
        app.list.set_forest(Forest([session("a", 3), session("b", 60 * 26)]))
        await pilot.pause()
        first, _, second, _ = screen_text(pilot).splitlines()
        assert first.split() == ["today", *(["project", "age", "turns", "cost"] if named == 4 else named)]  # type: ignore[misc]
        assert second == " yesterday"


@pytest.mark.parametrize(("width", "said"), [(64, "↻ resume"), (80, "↻ resume"), (100, "↻ resume pending")])
async def test_a_state_of_several_words_says_those_that_fit(width: int, said: str) -> None:
    app = ListApp()
    app.list.state_words = True
    async with app.run_test(size=(width, 4)) as pilot:
        one = session("a", 3, agent="hermes", title="Disk alert")
        app.list.set_forest(Forest([one]))
        app.list.set_states(ShownStates({one.unified_id: State("↻", "resume pending", "accent")}))
        await pilot.pause()
        assert screen_text(pilot).splitlines()[1].endswith(f" {said}")


@pytest.mark.parametrize("width", [1, 2, 5, 9, 20, 29, 30, 45, 46, 53, 54, 71, 72, 99, 100, 160, 300])
async def test_every_line_is_exactly_as_wide_as_the_list(width: int) -> None:
    app = ListApp()
    async with app.run_test(size=(width, 8)) as pilot:
        wide = session("w", title="🧾 領収書 e\u0301 \u200b " * 9, cwd="/x/" + "名" * 30, live=True, status="waiting")
        kids = [session(f"k{n}", kind="fork", parent_id="w" if n == 0 else f"k{n - 1}") for n in range(20)]
        app.list.set_forest(Forest([wide, *kids]))
        app.list.action_toggle_all()
        await pilot.pause()
        for y in range(8):
            assert app.list.render_line(y).cell_length == app.list.size.width


def test_columns_leave_room_for_a_title() -> None:
    for width in range(20, 200):
        assert width - columns_for(width, words=True).after_title - 6 >= min(10, width // 3)


async def test_fifty_thousand_rows_and_a_move_draws_two_lines() -> None:
    app = ListApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.list.set_forest(Forest(many(50_000)))
        await pilot.pause()
        assert len(app.list.rows) > 50_000
        assert app.list.drawn < 200
        app.list.drawn = 0
        app.list.asked = []
        await pilot.press("down")
        await pilot.pause()
        assert app.here == "s00001"
        assert [(region.y, region.height) for region in app.list.asked] == [(1, 1), (2, 1)]
        assert app.list.drawn <= 2
        await pilot.press("G")
        assert app.here == "s49999"
        await pilot.press("g")
        assert app.here == "s00000"


async def test_hostile_titles_are_shown_not_obeyed() -> None:
    app = ListApp()
    async with app.run_test(size=(100, 6)) as pilot:
        title = "[bold red]x[/] \x1b]52;c;aGk=\x07 \x1b[2J \u202egnp.exe \r\n \x9b31m"
        app.list.set_forest(Forest([session("\x1b[2J", title=title, cwd="/a/\x1b[2J", agent="\x1bx")]))
        await pilot.pause()
        drawn = "".join(segment.text for segment in app.list.render_line(1))
        assert "[bold red]x[/]" in drawn
        assert all(char.isprintable() for char in drawn)
        assert not set(drawn) & {"\x1b", "\x9b", "\u202e", "\r", "\n", "\x07"}


async def test_keys_move_as_the_help_says() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 11)) as pilot:
        app.list.set_forest(Forest([*many(30), *(session(f"y{n}", 60 * 24 + n) for n in range(30))]))
        await pilot.pause()
        for keys, expected in [
            ("j", "s00001"),
            ("down", "s00002"),
            ("k", "s00001"),
            ("up", "s00000"),
            ("up", "s00000"),
            ("pagedown", "s00010"),
            ("ctrl+d", "s00015"),
            ("ctrl+u", "s00010"),
            ("pageup", "s00000"),
            ("right_square_bracket", "y0"),
            ("left_square_bracket", "s00000"),
            ("end", "y29"),
            ("down", "y29"),
            ("left_square_bracket", "y0"),
            ("up", "s00029"),
            ("home", "s00000"),
        ]:
            await pilot.press(keys)
            await pilot.pause()
            assert app.here == expected, keys
            top = app.list.scroll_offset.y
            assert top <= app.list.cursor < top + 11


async def test_folding() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 11)) as pilot:
        root, other = session("root", 50), session("other", 10)
        fork = session("fork", 60, kind="fork", parent_id="root")
        helper = session("helper", 70, kind="subagent", parent_id="fork")
        app.list.set_forest(Forest([root, other, fork, helper]))
        await pilot.pause()
        await pilot.press("z")
        refused = app.messages[-1]
        assert "no fork or helper" in str(refused)
        await pilot.press("down", "right")
        assert "▾ cc  Title of root" in screen_text(pilot)
        await pilot.press("right")
        assert app.here == "fork"
        await pilot.press("z", "down")
        assert app.here == "helper"
        await pilot.press("left")
        assert app.here == "fork"
        await pilot.press("h", "h")
        assert app.here == "root"
        await pilot.press("h")
        await pilot.pause()
        assert "▸ cc  Title of root" in screen_text(pilot)
        await pilot.press("Z")
        assert len(app.list.rows) == 5
        await pilot.press("Z")
        assert len(app.list.rows) == 3


async def test_new_data_keeps_the_cursor_on_its_session_and_its_line() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 11)) as pilot:
        sessions = list(many(100))
        app.list.set_forest(Forest(sessions))
        await pilot.pause()
        for _ in range(3):
            await pilot.press("pagedown")
        here, line = app.here, app.list.cursor - app.list.scroll_offset.y
        newer = [session(f"new{n}", 0) for n in range(5)]
        app.list.set_forest(Forest([*sessions, *newer]))
        await pilot.pause()
        assert (app.here, app.list.cursor - app.list.scroll_offset.y) == (here, line)
        # It goes on in another session: the cursor goes with it.
        goes_on = session("goes on", 0, kind="continuation", parent_id=here)
        app.list.set_forest(Forest([*sessions, *newer, goes_on]))
        await pilot.pause()
        assert app.here == "goes on"
        # It is gone: the cursor is on a neighbour.
        app.list.set_forest(Forest(newer))
        await pilot.pause()
        assert app.here.startswith("new")
        app.list.set_forest(Forest([]))
        await pilot.pause()
        assert app.list.highlighted is None


async def test_new_data_draws_only_lines_that_look_different() -> None:
    app = ListApp()
    async with app.run_test(size=(80, 11)) as pilot:
        sessions = list(many(100))
        app.list.set_forest(Forest(sessions))
        await pilot.pause()
        app.list.asked = []
        grown = [session("s00002", 2, cwd=sessions[2].cwd, size=4711, message_count=9), *sessions[:2], *sessions[3:]]
        app.list.set_forest(Forest(grown))
        assert app.list.asked == []
        app.list.set_forest(
            Forest([session("s00002", 2, cwd=sessions[2].cwd, turn_count=9), *sessions[:2], *sessions[3:]])
        )
        assert [(region.y, region.height) for region in app.list.asked] == [(3, 1)]


async def test_ages_grow_line_by_line_and_days_turn() -> None:
    clock = MovingClock()
    app = ListApp(clock)
    async with app.run_test(size=(80, 11)) as pilot:
        app.list.set_forest(Forest([session("a", 3), session("b", 200), session("c", 60 * 24 * 9)]))
        await pilot.pause()
        app.list.asked = []
        clock.moment = NOW + timedelta(minutes=1)
        app.list.tick()
        assert [region.y for region in app.list.asked] == [1]
        clock.moment = NOW + timedelta(hours=13)
        app.list.tick()
        await pilot.pause()
        assert app.list.rows[0].heading == "yesterday"


async def test_filter_and_back_to_exactly_where_one_was() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 11)) as pilot:
        kids = [session("kid", 35, kind="fork", parent_id="s00030")]
        app.list.set_forest(Forest([*many(100), *kids]))
        await pilot.pause()
        for key in ("pagedown", "pagedown", "pagedown", "down"):
            await pilot.press(key)
        before = (app.here, app.list.cursor, app.list.scroll_y)
        third = {one.unified_id for one in many(100) if (one.cwd or "").endswith("3")}
        app.list.set_filter(frozenset(third))
        await pilot.pause()
        assert app.list.scroll_y == 0
        assert len(app.list.rows) == 1 + len(third)
        app.list.set_filter(frozenset({"claude:s00003"}))
        assert app.here == "s00003"
        app.list.set_filter(frozenset())
        assert app.list.highlighted is None
        await pilot.press("down", "enter", "pagedown", "G", "g", "space")
        app.list.set_filter(None)
        await pilot.pause()
        assert (app.here, app.list.cursor, app.list.scroll_y) == before


async def test_the_cursor_stands_on_what_matches_not_on_what_leads_there() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 11)) as pilot:
        kid = session("kid", 35, kind="fork", parent_id="s00030")
        other = session("other kid", 36, kind="fork", parent_id="s00030")
        app.list.set_forest(Forest([*many(40), kid, other]))
        await pilot.pause()
        app.list.set_filter(frozenset({"claude:kid"}))
        await pilot.pause()
        assert app.here == "kid"
        assert [row.key for row in app.list.rows] == ["", "claude:s00030", "claude:kid"]
        assert app.list.left == 1
        await pilot.press("left", "z")
        assert app.here == "s00030" and len(app.list.rows) == 2
        await pilot.press("right")
        assert len(app.list.rows) == 3
        app.list.set_filter(frozenset({"claude:s00030"}))
        await pilot.press("right")
        refused = app.messages[-1]
        assert "the filter leaves no fork" in str(refused)
        app.list.set_filter(None)
        assert "▾" not in screen_text(pilot)  # folded, as it was before


async def test_words_of_the_search_are_lit() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 5)) as pilot:
        app.list.set_forest(Forest([session("a", title="Fix the Login; login again")]))
        app.list.set_answer(ShownAnswer(app.list.rows, containing(["login"])), top=True)
        await pilot.pause()
        match = app.list.own_look("match")
        lit = [one.text for one in app.list.render_line(1) if one.style and one.style.color == match.color]
        assert lit == ["Login", "login"]


async def test_mouse() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 11)) as pilot:
        root, fork = session("root", 50), session("fork", 60, kind="fork", parent_id="root")
        app.list.set_forest(Forest([session("top", 1), root, fork]))
        await pilot.pause()
        await pilot.click(app.list, offset=(20, 2))
        assert app.here == "root"
        await pilot.click(app.list, offset=(20, 0))
        assert app.here == "root"
        await pilot.click(app.list, offset=(0, 2))
        assert len(app.list.rows) == 4
        await pilot.click(app.list, offset=(20, 9))
        await pilot.click(app.list, offset=(20, 2))
        await until(pilot, lambda: isinstance(app.messages[-1], SessionList.Selected))


async def test_messages_say_what_happened_once() -> None:
    app = ListApp()
    async with app.run_test(size=(60, 11)) as pilot:
        forest = Forest(many(5))
        app.list.set_forest(forest)
        await pilot.pause()
        assert len(app.messages) == 1
        await pilot.press("down")
        await pilot.press("enter")
        await pilot.pause()
        kinds = [type(message).__name__ for message in app.messages]
        assert kinds == ["HighlightChanged", "HighlightChanged", "Selected"]
        app.list.set_forest(Forest([]))
        await pilot.press("enter")
        await pilot.pause()
        last = app.messages[-1]
        assert last == "There is no session here to open."
