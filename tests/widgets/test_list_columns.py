"""The columns of the list: which fit, what each says, and the heading that stays."""

from __future__ import annotations

from typing import get_args

import pytest
from textual.app import App, ComposeResult

from hermes_tui.cells import pad_end, width_of
from hermes_tui.clock import Clock
from hermes_tui.config import USUAL_COLUMNS, Column
from hermes_tui.tui.themes import THEMES
from hermes_tui.tui.widgets.session_list.conversation import ListRow
from hermes_tui.tui.widgets.session_list.list_columns import columns_for
from hermes_tui.tui.widgets.session_list.order import FIELDS, Order
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.widgets.session_list.shown_answer import ShownAnswer
from hermes_tui.tui.widgets.session_list.widget import SessionList
from hermes_tui.tui.widgets.styled import LOOKS
from made import NOW, many, session
from pilots import screen_text
from session_adapters.model import Cost, SessionSummary, TokenUsage


class ListApp(App[None]):
    """Nothing but the list."""

    COMPONENT_CLASSES = LOOKS
    CSS = "SessionList { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }"

    def __init__(self, *sessions: SessionSummary, chosen: tuple[Column, ...] = USUAL_COLUMNS) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = "hermes-dark"
        self.list = SessionList(Clock(NOW), {"claude": "cc"}, chosen=chosen)
        self.forest = Forest(sessions)

    def compose(self) -> ComposeResult:
        yield self.list

    def on_mount(self) -> None:
        self.list.set_forest(self.forest)


def test_beside_a_transcript_titles_have_room_first() -> None:
    """At 120 columns the list has 60 of them."""
    columns = columns_for(60, words=False)
    assert list(columns.widths) == ["project", "age", "cost", "state"]
    assert 60 - columns.after_title - 7 >= 28
    assert "turns" in columns_for(60, words=True).widths


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("width", [54, 60, 80, 160])
def test_what_the_list_is_sorted_by_is_shown(field: str, width: int) -> None:
    widths = columns_for(width, words=False, order=Order(field)).widths  # type: ignore[arg-type]
    if field in ("cost", "tokens", "turns", "size", "project"):
        assert field in widths


@pytest.mark.parametrize("width", [1, 20, 29, 45, 53, 54, 80, 120, 200])
async def test_all_columns_at_once_fill_a_line_exactly_and_are_named(width: int) -> None:
    one = session(
        "a",
        3,
        cwd="/x/a-very-long-name-of-a-project-for-shop\x1b",
        model="claude-sonnet-4-6",
        git_branch="feature/名前\x1b",
        tokens=TokenUsage(input_tokens=1_234_567),
        cost=Cost(total_usd=1.5),
        size=31_000_000,
        error=True,
    )
    app = ListApp(one, session("b"), chosen=get_args(Column))
    async with app.run_test(size=(width, 4)) as pilot:
        await pilot.pause()
        for y in range(4):
            assert app.list.render_line(y).cell_length == app.list.size.width
        text = screen_text(pilot)
        assert "\x1b" not in text
        if width == 200:
            names, row = text.splitlines()[:2]
            assert names.split() == [
                "today",
                "project",
                "model",
                "branch",
                "source",
                "age",
                "turns",
                "tokens",
                "cost",
                "size",
            ]
            for said in ("…a-project-for-shop␛", "claude-sonnet-4-6", "1.2M", "1.50", "31 MB", "✗"):
                assert said in row


async def test_the_heading_of_what_is_in_view_stays_above_it() -> None:
    app = ListApp(*many(60), *(session(f"old{n}", 60 * 24 * 40 + n) for n in range(60)))
    async with app.run_test(size=(80, 10)) as pilot:
        await pilot.pause()
        names = screen_text(pilot).splitlines()[0].split()
        assert names == ["today", "project", "age", "turns", "cost"]
        for _ in range(30):
            await pilot.press("down")
        assert screen_text(pilot).splitlines()[0].split() == names
        await pilot.press("G")
        await pilot.pause()
        assert screen_text(pilot).splitlines()[0].split() == ["October", "2026", *names[1:]]
        for _ in range(100):
            await pilot.press("up")
            line = app.list.cursor - app.list.scroll_offset.y
            assert 1 <= line < 10, "the cursor is never under the heading"
        before = app.list.cursor
        app.list.jump(20)
        await pilot.pause()
        await pilot.click(SessionList, offset=(5, 0))
        assert app.list.cursor == before, "what lies under the heading is not meant by a click on it"


def test_of_a_long_name_the_end_is_kept() -> None:
    assert pad_end("pipeline", 12) == "pipeline    "
    assert pad_end("shop-frontend", 9) == "…frontend"
    assert pad_end("abc", 1) == "…" and pad_end("abc", 0) == ""
    for width in range(12):
        assert width_of(pad_end("領収書の名前", width)) == width


@pytest.mark.parametrize("width", [1, 20, 29, 45, 54, 80, 160])
async def test_what_a_session_is_known_as_stands_before_its_title(width: int) -> None:
    long = "assistant/" + "f00d-" * 30
    sessions = [
        session("a", known_as="assistant/s1", title="My name is Alice and I live in Lisbon"),
        session("b", known_as="math_bot/s1", title="My name is Alice and I live in Lisbon"),
        session("c", known_as=long, title="Of a long name"),
        session("d", known_as="日本語\x1b/s1", title=""),
    ]
    app = ListApp(*sessions)
    async with app.run_test(size=(width, 6)) as pilot:
        await pilot.pause()
        for y in range(6):
            assert app.list.render_line(y).cell_length == app.list.size.width
        text = screen_text(pilot)
        assert "\x1b" not in text
        if width >= 54:
            assert "assistant/s1  My name" in text and "math_bot/s1  My name" in text
            assert "f00d-  Of a long" in text, "of a long name the end"
            assert "日本語␛/s1  untitled" in text


async def test_a_result_says_whom_it_is_shared_with() -> None:
    one = session("a", known_as="assistant/s1", title="My name is Alice", notes=("shared with math_bot",))
    app = ListApp(one)
    async with app.run_test(size=(120, 6)) as pilot:
        await pilot.pause()
        assert "shared with" not in screen_text(pilot)
        (home,) = app.forest.newest
        app.list.set_answer(ShownAnswer([ListRow(conversation=home, result=True)], lambda text: ()), top=True)
        await pilot.pause()
        assert "assistant/s1, shared with math_bot  My name is Alice" in screen_text(pilot)


async def test_columns_of_one_colour_are_written_in_one_go() -> None:
    """Each change of the colour is forty bytes: over a slow line they are what one waits for."""
    app = ListApp(session("a", 3, title="Fix it", cwd="/x/shop"))
    async with app.run_test(size=(80, 6)):
        texts = [segment.text for segment in app.list.render_line(1)]
        assert any("shop" in text and " 3m" in text and text.rstrip().endswith("1") for text in texts), texts
