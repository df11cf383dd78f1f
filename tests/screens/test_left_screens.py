"""Nothing is kept of a screen that was left."""

from __future__ import annotations

import gc
import time
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from textual._styles_cache import StylesCache
from textual.app import App
from textual.cache import FIFOCache
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from claude_lines import ClaudeHome
from hermes_tui.attention.report import AttentionReport
from hermes_tui.tui.left_screens import AT_ONCE, LeftScreens
from hermes_tui.tui.screens.attention import AttentionScreen
from hermes_tui.tui.screens.lanes.screen import LanesScreen
from pilots import main_of, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.mark.parametrize("key", ["C", "A", "L", "S", "question_mark", "colon", "e", "y", "r", "t"])
async def test_a_screen_that_was_left_is_let_go(key: str, program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Read it", turns=3)
    of_others = weakref.WeakSet(one for one in gc.get_objects() if isinstance(one, Widget))
    async with program(claude_home.home, size=(120, 40)) as pilot:
        await until(pilot, lambda: main_of(pilot).pane.summary is not None)  # some keys need an open session
        await open_and_leave(pilot, key)
        before = len(pictures())
        await open_and_leave(pilot, key)
        await until(pilot, lambda: len(pictures()) <= before)  # no picture of a widget is kept that is gone

        def left() -> Counter[str]:
            gc.collect()
            return Counter(type(one).__name__ for one in gc.get_objects() if is_left(one) and one not in of_others)

        await until(pilot, lambda: not left())


async def test_one_is_let_go_without_another(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight of them were waited for: what they needed together, 8 MB, a program that was left open kept for ever."""
    monkeypatch.setattr("hermes_tui.tui.app.clear_up", lambda look: None)  # it comes now and then, after a change
    claude_home.session("Read it", turns=3)
    async with program(claude_home.home, size=(120, 40)) as pilot:
        gc.disable()  # Python itself may look for what is left now, or much later
        try:
            for _ in range(8):  # on a busy machine a screen may not have ended yet when it is looked for
                if await is_soon_gone(pilot):
                    break
            else:
                pytest.fail("no screen that was left was let go")
        finally:
            gc.enable()


async def is_soon_gone(pilot: Pilot[None]) -> bool:
    """Whether a screen that is left is let go within three seconds."""
    await pilot.press("question_mark")
    await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
    screen = weakref.ref(pilot.app.screen)
    await pilot.press("escape")
    end = time.monotonic() + 3
    await until(pilot, lambda: screen() is None or time.monotonic() > end)
    return screen() is None


async def test_many_are_let_go_without_a_look(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys that come faster than they are answered hold up timers: what was left lay about meanwhile."""
    monkeypatch.setattr("hermes_tui.tui.left_screens.LOOK", 3600.0)
    monkeypatch.setattr("hermes_tui.tui.app.clear_up", lambda look: None)
    claude_home.session("Read it", turns=3)
    left: list[weakref.ref[Screen[Any]]] = []
    async with program(claude_home.home, size=(120, 40)) as pilot:
        gc.disable()
        try:
            for _ in range(15):
                await pilot.press("question_mark")
                await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
                left.append(weakref.ref(pilot.app.screen))
                await pilot.press("escape")
                await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        finally:
            gc.enable()
        assert sum(screen() is not None for screen in left) <= AT_ONCE


async def test_what_lives_on_is_passed_over_where_nothing_passes(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a screen or a toast has would not be found for long once it was passed over."""
    monkeypatch.setattr("hermes_tui.tui.left_screens.LONG", -1.0)  # as if each look took long
    claude_home.session("Read it", turns=3)
    monkeypatch.setattr("hermes_tui.tui.left_screens.SELDOM", 0.0)
    settled: list[float] = []
    async with program(claude_home.home, size=(120, 40)) as pilot:
        app = main_of(pilot).parts.program
        screens = LeftScreens(app, lambda: settled.append(time.monotonic()))

        async def looked() -> int:
            screens.look()
            await pilot.pause()
            return len(settled)

        await pilot.press("question_mark")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        assert not await looked()  # one is open
        kept = app.screen
        screens.one_more(kept)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert not await looked()  # one was left, and somebody, here this test, keeps it
        del kept
        app.notify("for a while")
        await until(pilot, lambda: toasts(pilot) == ["for a while"])
        assert not await looked()
        app.clear_notifications()
        end = time.monotonic() + 60
        while not await looked():
            assert time.monotonic() < end
        assert await looked() == 2
        monkeypatch.setattr("hermes_tui.tui.left_screens.SELDOM", 1e9)
        assert await looked() == 3
        assert await looked() == 3  # it is not time yet


async def test_a_drawn_line_keeps_no_pieces(program: Program, claude_home: ClaudeHome) -> None:
    """Each had seven caches of what was cut out of it: of some thousand lines that was a third of a screen."""
    claude_home.session("Read it", turns=30)
    old = [one for one in gc.get_objects() if isinstance(one, Strip)]
    async with program(claude_home.home, size=(120, 40)) as pilot:
        await open_and_leave(pilot, "A")
        known = {id(one) for one in old}
        lines = [one for one in gc.get_objects() if isinstance(one, Strip) and id(one) not in known]
        kept = {id(one) for line in lines for one in gc.get_referents(line) if isinstance(one, FIFOCache)}
    assert len(lines) > 40
    assert len(kept) == 1


@pytest.mark.parametrize("key", ["A", "L"])
async def test_what_comes_while_a_screen_is_put_up_waits_for_its_widgets(
    key: str, program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look at what needs somebody may end just then."""
    claude_home.session("Read it", turns=3)
    told: list[str] = []
    push = App.push_screen

    def push_and_tell(app: App[None], screen: Screen[object], *arguments: Any, **options: Any) -> Any:
        pushed = push(app, screen, *arguments, **options)
        told.append(type(screen).__name__)
        if isinstance(screen, LanesScreen):
            screen.states_changed()
        elif isinstance(screen, AttentionScreen):
            screen.apply(AttentionReport())
        return pushed

    monkeypatch.setattr(App, "push_screen", push_and_tell)
    async with program(claude_home.home, size=(120, 40)) as pilot:
        await open_and_leave(pilot, key)
    assert {"LanesScreen", "AttentionScreen"} & set(told)


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
