"""Nothing is kept of a screen that was left."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from textual._styles_cache import StylesCache
from textual.pilot import Pilot
from textual.widget import Widget

from claude_lines import ClaudeHome
from pilots import until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.mark.parametrize("key", ["C", "A", "L", "S", "question_mark", "colon", "e", "y", "r", "t"])
async def test_a_screen_that_was_left_is_let_go(key: str, program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Read it", turns=3)
    async with program(claude_home.home, size=(120, 40)) as pilot:
        await open_and_leave(pilot, key)
        before = len(pictures())
        await open_and_leave(pilot, key)
        await until(pilot, lambda: len(pictures()) <= before)  # no picture of a widget is kept that is gone

        def left() -> Counter[str]:
            gc.collect()
            return Counter(type(one).__name__ for one in gc.get_objects() if is_left(one))

        await until(pilot, lambda: not left())


async def open_and_leave(pilot: Pilot[None], key: str) -> None:
    """Three times."""
    for _ in range(3):
        await pilot.press(key)
        await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
        await pilot.pause()
        await pilot.press("escape")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)


def pictures() -> list[StylesCache]:
    """What Textual keeps of widgets as they were drawn last."""
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, StylesCache)]


def is_left(one: object) -> bool:
    return isinstance(one, Widget) and not one.is_running and not one.is_attached
