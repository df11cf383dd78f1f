"""The panes of the main screen: zoomed, moved, kept; the columns, the theme and the agent's name."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast, get_args

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.config import Column
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.dialogs.menu import MenuScreen
from hermes_tui.tui.state.view_state import ViewFile
from pi_lines import answered, asked, write_pi
from pilots import main_of, screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


async def test_a_pane_is_given_the_whole_screen_and_both_come_back(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("First things first")
    claude_home.session("Second thoughts")
    async with program(claude_home.home, size=(160, 40)) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "Answer 0 to Second thoughts" in screen_text(pilot))
        await pilot.press("plus")
        await until(pilot, lambda: main.sessions.size.width > 150)
        assert not main.pane.display and main.focused is main.sessions
        await pilot.press("down", "enter")
        await until(pilot, lambda: "Answer 0 to First things" in screen_text(pilot) and main.pane.size.width > 150)
        assert main.parts.is_reading and not main.sessions.display
        await pilot.press("plus")
        assert "This pane has the whole screen." in toasts(pilot)
        await pilot.press("underscore")
        await until(pilot, lambda: main.sessions.display and main.pane.display)
        assert main.parts.is_reading and main.sessions.size.width < 90
        await pilot.press("plus")  # from the transcript it hides the list
        await until(pilot, lambda: not main.sessions.display)
        await pilot.press("escape")
        assert main.focused is main.sessions and not main.pane.display
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: main.size.width == 80)
        await pilot.resize_terminal(160, 40)
        await until(pilot, lambda: main.sessions.size.width > 150)  # as it was left
        assert not main.pane.display
        await pilot.press("underscore")
        await until(pilot, lambda: main.pane.display and main.sessions.display)


@pytest.mark.parametrize(("size", "keys"), [((80, 24), ()), ((160, 40), ()), ((160, 40), ("plus",))])
async def test_the_words_in_the_border_stand_apart_from_its_line(
    program: Program, claude_home: ClaudeHome, size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    claude_home.session("First things first")
    async with program(claude_home.home, size=size) as pilot:
        await pilot.press("enter", *keys)
        await until(pilot, lambda: "─ following · 100 % ─" in screen_text(pilot))
        above = next(line for line in screen_text(pilot).splitlines() if "─ First things first" in line)
        assert re.search(r"1 turn( · ~<\$0\.01)? ─", above)  # what it cost is known after two seconds


async def test_the_split_is_moved_and_kept(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home, size=(160, 40)) as pilot:
        main = main_of(pilot)
        before = main.sessions.outer_size.width
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: main.sessions.outer_size.width > before)
        wider = main.sessions.outer_size.width
        await pilot.press("less_than_sign", "less_than_sign")
        await until(pilot, lambda: main.sessions.outer_size.width < before)
        await pilot.press("greater_than_sign", "greater_than_sign")
        await until(pilot, lambda: main.sessions.outer_size.width == wider)
        for _ in range(20):
            await pilot.press("greater_than_sign")
        await until(pilot, lambda: "The panes are as far apart as they can be." in toasts(pilot))
        most = main.sessions.outer_size.width
        assert main.pane.size.width > 20
        await until(pilot, lambda: ViewFile().read().split == 80)
    async with program(claude_home.home, size=(160, 40)) as pilot:
        assert main_of(pilot).sessions.outer_size.width == most
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: main_of(pilot).sessions.outer_size.width == 80)
        await pilot.press("less_than_sign", "underscore")
        assert "There is one pane only, so there is nothing to move." in toasts(pilot)
        assert "Two panes need 120 columns." in toasts(pilot)


async def test_columns_are_chosen_one_after_the_other_and_kept(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any", project="shop")
    # The clock stands where the session began, or just after midnight it would be of yesterday.
    async with program(claude_home.home, now=claude_home.start) as pilot:
        main = main_of(pilot)
        assert screen_text(pilot).splitlines()[1].split() == ["today", "project", "age", "turns", "cost"]
        await pilot.press("c")
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen))
        await pilot.press("1")
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen) and pilot.app.screen.is_mounted)
        await pilot.press(str(1 + get_args(Column).index("tokens")))
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen) and pilot.app.screen.is_mounted)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main)
        assert screen_text(pilot).splitlines()[1].split() == ["today", "age", "turns", "tokens", "cost"]
        await until(pilot, lambda: ViewFile().read().columns == ("age", "turns", "tokens", "cost", "state"))
    async with program(claude_home.home, now=claude_home.start) as pilot:
        assert screen_text(pilot).splitlines()[1].split() == ["today", "age", "turns", "tokens", "cost"]


async def test_columns_of_the_settings_stand_until_others_are_chosen(
    program: Program, claude_home: ClaudeHome
) -> None:
    claude_home.session("Any", project="shop")
    async with program(claude_home.home, now=claude_home.start, columns=("branch", "size")) as pilot:
        assert screen_text(pilot).splitlines()[1].split() == ["today", "branch", "size"]
        await pilot.press("c")
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen))
        await pilot.press("1", "escape")
        await until(pilot, lambda: ViewFile().read().columns == ("project", "branch", "size"))


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (160, 48)])
async def test_a_title_has_room_and_of_a_long_project_the_end_is_seen(
    program: Program, claude_home: ClaudeHome, size: tuple[int, int]
) -> None:
    claude_home.session("Why is the tax table slow on Monday mornings and fast on every other day", project="shop")
    claude_home.session("Another", project="a-very-long-name-of-a-monorepo-frontend")
    async with program(claude_home.home, size=size) as pilot:
        width = main_of(pilot).sessions.size.width
        shown = [line[:width] for line in screen_text(pilot).splitlines()]
        title = next(line for line in shown if "Why is the tax" in line).partition("…")[0]
        assert len(title[title.index("Why") :].rstrip()) >= 24
        assert "frontend" in next(line for line in shown if "Another" in line)


async def test_a_title_that_is_markup_is_cleaned_by_the_rule_of_its_agent(program: Program, tmp_path: Path) -> None:
    prompt = '<file name="/srv/a.py">\nprint("x")\n</file>\nFix the clock'
    write_pi(tmp_path / "home", "one", asked(1, None, prompt), answered(2, 1))
    async with program(tmp_path / "home") as pilot:
        await until(pilot, lambda: "Fix the clock" in screen_text(pilot))
        assert "<file" not in screen_text(pilot)


async def test_the_theme_is_remembered_unless_one_was_asked_for(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude_home.session("Any")
    async with program(claude_home.home) as pilot:
        await pilot.press("T")
        assert pilot.app.theme == "hermes-light"
        await until(pilot, lambda: ViewFile().read().theme == "hermes-light")
    async with program(claude_home.home) as pilot:
        assert pilot.app.theme == "hermes-light"
    async with program(claude_home.home, theme="high-contrast") as pilot:
        assert pilot.app.theme == "high-contrast"
        await pilot.press("T")
        assert "begins with high-contrast" in toasts(pilot)[0]
    assert ViewFile().read().theme == "hermes-light"


async def test_the_line_of_details_names_the_agent(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home) as pilot:
        assert screen_text(pilot).splitlines()[-2].startswith(" Claude Code · ")
        assert cast(HermesApp, pilot.app).main.parts.detail.text
