"""The terminal changes its size twice while the program is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from textual import events
from textual.geometry import Size
from textual.pilot import Pilot

from claude_lines import ClaudeHome

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]
SIZES = (Size(20, 5), Size(200, 60))


@pytest.mark.timeout(60)  # a program that goes on for ever does not end either
@pytest.mark.parametrize(
    "keys",
    [(), ("A",), ("A", "question_mark"), ("question_mark", "C")],
    ids=["list", "attention", "help above it", "costs above help"],
)
async def test_it_is_laid_out_for_one_of_them(
    keys: tuple[str, ...], program: Program, claude_home: ClaudeHome
) -> None:
    """Both sizes were sent to the screens before either was taken, and other messages stand between them."""
    claude_home.session("What is it?")
    layouts = 0

    def count(screen: object) -> None:
        nonlocal layouts
        layouts += 1

    async with program(claude_home.home, size=(120, 40)) as pilot:
        for key in keys:
            await pilot.press(key)
        app = pilot.app
        for screen in app.screen_stack:
            screen.screen_layout_refresh_signal.subscribe(app, count)
        for size in SIZES:
            for screen in app.screen_stack[-2:]:
                screen.post_message(events.Resize(size, size))
                screen.call_later(asyncio.sleep, 0.05)
        await asyncio.sleep(0.5)
        layouts = 0
        await asyncio.sleep(0.5)
        assert layouts < 5, "it is laid out again and again"
        assert {screen.size for screen in app.screen_stack} == {Size(120, 40)}
