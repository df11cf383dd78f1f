"""Enter on a sub-agent's call reads what it did; Escape returns to the line."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_tui.demo import STATIC_NOW
from hermes_tui.demo.home import write_home
from hermes_tui.tui.widgets.session_list.widget import SessionList
from pilots import main_of, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
async def test_there_and_back_to_the_line(program: Program, tmp_path: Path, size: tuple[int, int]) -> None:
    home = tmp_path / "demo"
    write_home(home, STATIC_NOW)
    async with program(home, size=size, now=STATIC_NOW) as pilot:
        main = main_of(pilot)
        pane = main.pane
        fix = next(
            one for one in main.snapshot.sessions if one.title == "Fix the flaky login test" and not one.parent_id
        )
        main.sessions.reveal(fix.unified_id)
        await pilot.press("enter")
        await until(pilot, lambda: pane.summary is not None and pane.summary.unified_id == fix.unified_id)
        await pilot.press("left_square_bracket", "s")
        await until(pilot, lambda: (piece := pane.view.piece()) is not None and piece.block.startswith("tool"))
        before = pane.view.bookmark()
        await pilot.press("enter")
        await until(pilot, lambda: pane.summary is not None and pane.summary.kind == "subagent" and pane.message)
        assert pane.summary is not None and pane.summary.parent_id == fix.session_id
        await pilot.resize_terminal(size[0] + 1, size[1])
        await pilot.press("k", "j")
        await pilot.pause()
        assert pane.summary.kind == "subagent"
        await pilot.press("escape")
        await until(pilot, lambda: pane.summary is not None and pane.summary.unified_id == fix.unified_id)
        assert pane.view.bookmark() == before and main.parts.is_reading
        await pilot.press("space")
        await until(pilot, lambda: pane.view.piece() is not None and pane.opened.levels)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(main.focused, SessionList))
        assert not toasts(pilot)


async def test_one_that_is_nowhere_is_said(program: Program, tmp_path: Path) -> None:
    home = tmp_path / "demo"
    write_home(home, STATIC_NOW)
    async with program(home, now=STATIC_NOW) as pilot:
        main = main_of(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: main.parts.is_reading and main.pane.message is not None)
        main.pane.post_message(main.pane.HelperWanted("nobody"))
        await until(pilot, lambda: toasts(pilot) == ["This sub-agent's session is not among those that were found"])
