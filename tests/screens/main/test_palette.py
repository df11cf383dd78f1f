"""The command palette: every command with its key, those of lanes included."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import cast

from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.palette import Palette, commands_of
from hermes_tui.tui.screens.dialogs.menu import MenuScreen
from hermes_tui.tui.screens.lanes.screen import LanesScreen
from lane_homes import NOW, HermesDemo
from pilots import main_of, screen_text, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def offered(pilot: Pilot[None]) -> dict[str, str]:
    return {one.title: one.help for one in commands_of(cast(HermesApp, pilot.app), pilot.app.screen)}


async def test_a_command_says_its_key_and_does_what_the_key_does(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home) as pilot:
        found = offered(pilot)
        assert found["Export"].startswith("e  ") and found["Costs"].startswith("C  ")
        assert found["Sort and group the list"] == "o"
        assert not {"Next session", "A page down", "Open the command palette"} & found.keys()
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(pilot.app.screen, Palette))
        await pilot.press(*"group the list")
        await until(pilot, lambda: "Sort and group the list" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen))
        assert "Sort by cost" in screen_text(pilot)


async def test_on_the_lanes_it_has_what_changes_a_lane(program: Program, demo: HermesDemo) -> None:
    async with program(demo.home, now=NOW) as pilot:
        assert "Reset the lane" not in offered(pilot)
        await pilot.press("L")
        await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen) and pilot.app.screen.is_mounted)
        found = offered(pilot)
        assert found["Reset the lane"].startswith("R  ") and "Suspend the lane" in found
        assert main_of(pilot) is not pilot.app.screen and "Compare" not in found
