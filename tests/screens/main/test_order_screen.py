"""The order of the list by keys: sorted, grouped, turned, said, remembered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import cast

from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.dialogs.menu import MenuScreen
from hermes_tui.tui.state.view_state import ViewFile, ViewState
from hermes_tui.tui.widgets.session_list.order import Order
from pilots import main_of, screen_text, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def titles(pilot: Pilot[None]) -> list[str]:
    rows = main_of(pilot).sessions.rows
    return [row.conversation.title for row in rows if row.conversation is not None]


def first_heading(pilot: Pilot[None]) -> str:
    return screen_text(pilot).splitlines()[1].strip()


async def choose(pilot: Pilot[None], key: str) -> None:
    await pilot.press("o")
    await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen))
    await pilot.press(key)
    await until(pilot, lambda: pilot.app.screen is main_of(pilot))


async def test_keys_sort_turn_and_group_and_the_list_says_so(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Longest", turns=5, project="shop")
    claude_home.session("Short", turns=1, project="blog")
    claude_home.session("Middle", turns=3, project="shop")
    # The clock stands where the sessions began, or just after midnight they would be of yesterday.
    async with program(claude_home.home, now=claude_home.start) as pilot:
        assert titles(pilot) == ["Middle", "Short", "Longest"] and first_heading(pilot).startswith("today ")
        await choose(pilot, "u")
        assert titles(pilot) == ["Longest", "Middle", "Short"]
        assert first_heading(pilot).startswith("most turns first ")
        await pilot.press("O")
        await until(pilot, lambda: titles(pilot) == ["Short", "Middle", "Longest"])
        assert first_heading(pilot).startswith("fewest turns first ")
        await choose(pilot, "u")
        assert titles(pilot) == ["Longest", "Middle", "Short"]
        await choose(pilot, "P")
        assert first_heading(pilot).startswith("shop · most turns first ")
        assert titles(pilot) == ["Longest", "Middle", "Short"] and "\n blog\n" in screen_text(pilot)
        main = main_of(pilot)
        await pilot.press("right_square_bracket")
        assert main.sessions.highlighted is not None and main.sessions.highlighted.title == "Short"
        await until(pilot, lambda: ViewFile().read().order == Order("turns", group="project"))
    async with program(claude_home.home) as pilot:
        assert titles(pilot) == ["Longest", "Middle", "Short"]
        claude_home.session("Newest of all", turns=9, project="shop")
        cast(HermesApp, pilot.app).action_refresh()
        await until(pilot, lambda: titles(pilot)[0] == "Newest of all")


async def test_what_a_search_found_is_in_the_order_of_the_list(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Heron of five", turns=5)
    claude_home.session("Heron of one", turns=1)
    claude_home.session("Heron of three", turns=3)
    async with program(claude_home.home) as pilot:
        main = main_of(pilot)
        main.search_for("heron")
        await until(pilot, lambda: len(titles(pilot)) == 3 and main.search.results.snapshot is not None)
        await until(pilot, lambda: main.search.results.snapshot.done)  # type: ignore[union-attr]
        await pilot.press("enter")
        await choose(pilot, "u")
        await until(pilot, lambda: titles(pilot) == ["Heron of five", "Heron of three", "Heron of one"])
        main.search_for("agent:claude")
        await until(pilot, lambda: main.sessions.answer is None and main.sessions.is_filtered)
        assert titles(pilot) == ["Heron of five", "Heron of three", "Heron of one"]


async def test_leaving_the_menu_changes_nothing(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home) as pilot:
        await choose(pilot, "escape")
        assert main_of(pilot).sessions.order == Order()
        assert not ViewFile().path.exists()


def test_a_damaged_file_counts_as_absent_and_each_program_writes_its_own_fields() -> None:
    file = ViewFile()
    file.path.parent.mkdir(parents=True, exist_ok=True)
    for text in ("", "{", "[]", '{"order": {"field": "colour"}}', "\0" * 100_000):
        file.path.write_text(text)
        assert file.read() == ViewState()
    file.path.write_text('{"theme": "ansi", "later": 1}')
    assert file.read() == ViewState(theme="ansi")
