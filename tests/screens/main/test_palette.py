"""The command palette: every command with its key, those of lanes included."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.palette import Palette
from hermes_tui.tui.screens.cost import CostScreen
from hermes_tui.tui.screens.dialogs.menu import MenuScreen
from hermes_tui.tui.screens.dialogs.picker import FoundRows
from hermes_tui.tui.screens.lanes.plan import PlanScreen
from hermes_tui.tui.screens.lanes.screen import LanesScreen
from hermes_tui.tui.themes import NO_COLOUR_THEME, PLAIN_THEME
from lane_homes import NOW, HermesDemo
from pilots import main_of, screen_text, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def offered(pilot: Pilot[None]) -> dict[str, str]:
    return {one.title: one.keys for one in cast(HermesApp, pilot.app).commands()}


async def test_a_command_says_its_key_and_does_what_the_key_does(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home) as pilot:
        found = offered(pilot)
        assert found["Export"] == "e" and found["Costs"] == "C"
        assert found["Sort and group the list"] == "o"
        assert not {"Next session", "A page down", "Open the command palette"} & found.keys()
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(pilot.app.screen, Palette))
        await pilot.press(*"group the list")
        await until(pilot, lambda: "Sort and group the list" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen))
        assert "Sort by cost" in screen_text(pilot)


async def test_what_changes_a_lane_is_there_on_every_screen_and_asks(program: Program, demo: HermesDemo) -> None:
    async with program(demo.home, now=NOW) as pilot:
        await until(pilot, lambda: "Reset the lane" in offered(pilot))
        assert offered(pilot)["Reset the lane"] == "L R"
        await pilot.press("C")
        await until(pilot, lambda: isinstance(pilot.app.screen, CostScreen))
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(pilot.app.screen, Palette))
        await pilot.press(*"reset the lane")
        await until(pilot, lambda: "L R" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, PlanScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))
        found = offered(pilot)
        assert found["Reset the lane"] == "R" and "Suspend the lane" in found
        assert main_of(pilot) is not pilot.app.screen and "Compare" not in found


async def test_without_lanes_or_rights_nothing_of_them_is_offered(
    program: Program, demo: HermesDemo, tmp_path: Path
) -> None:
    other = ClaudeHome(tmp_path / "other")
    other.session("Any")
    async with program(other.home) as pilot:
        await until(pilot, lambda: main_of(pilot).parts.lanes is not None)
        assert "Reset the lane" not in offered(pilot)
    async with program(demo.home, now=NOW) as pilot:
        await until(pilot, lambda: "Reset the lane" in offered(pilot))
        app = cast(HermesApp, pilot.app)
        app.config = replace(app.config, read_only=True)
        assert "Reset the lane" not in offered(pilot)


@pytest.mark.parametrize("theme", [PLAIN_THEME, NO_COLOUR_THEME])
async def test_each_has_a_line_and_the_one_under_the_cursor_is_seen_in_any_colours(
    program: Program, claude_home: ClaudeHome, theme: str
) -> None:
    claude_home.session("Any")
    async with program(claude_home.home, size=(80, 24)) as pilot:
        pilot.app.theme = theme
        await pilot.press("colon")
        await until(pilot, lambda: "Choose the columns" in screen_text(pilot))
        lines = [line.strip("│ ") for line in screen_text(pilot).splitlines()]
        assert [line.split()[0] for line in lines if "Costs" in line or "Export" in line] == ["C", "e"]
        rows = pilot.app.screen.query_one(FoundRows)
        seen = [any(part.style and part.style.reverse for part in rows.render_line(y)) for y in range(3)]
        assert seen == [True, False, False]


async def test_what_is_called_so_comes_first(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home) as pilot:
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(pilot.app.screen, Palette))
        await pilot.press(*"export")
        rows = pilot.app.screen.query_one(FoundRows)
        found = [rows.item(at).title for at in range(rows.count)]
        assert found[0] == "Export" and "mark" in " ".join(found[1:]).lower()
        await pilot.press(*" xyz")
        await until(pilot, lambda: "No command has all these words." in screen_text(pilot))
        await pilot.press("enter", "escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
