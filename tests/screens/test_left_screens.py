"""Nothing is kept of a screen that was left."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from textual.pilot import Pilot
from textual.widget import Widget

from claude_lines import ClaudeHome
from pilots import until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.mark.parametrize("key", ["C", "A", "L", "S", "question_mark", "colon", "e", "y", "r", "t"])
async def test_a_screen_that_was_left_is_let_go(key: str, program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Read it", turns=3)
    async with program(claude_home.home, size=(120, 40)) as pilot:
        for _ in range(3):
            await pilot.press(key)
            await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
            await pilot.pause()
            await pilot.press("escape")
            await until(pilot, lambda: len(pilot.app.screen_stack) == 1)

        def left() -> Counter[str]:
            gc.collect()
            return Counter(type(one).__name__ for one in gc.get_objects() if is_left(one))

        await until(pilot, lambda: not left())


def is_left(one: object) -> bool:
    return isinstance(one, Widget) and not one.is_running and not one.is_attached
