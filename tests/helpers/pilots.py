"""Waiting for what a screen shows, never for time."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from textual.app import App
from textual.pilot import Pilot, WaitForScreenTimeout
from textual.strip import Strip

from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.main.next_splash import frame_of
from hermes_tui.tui.screens.main.screen import MainScreen
from support import PATIENCE

__all__ = ["drawn", "go_on", "main_of", "rest", "screen_text", "toasts", "until"]


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Let the app work until `condition()` is true; fails with the screen's text when it never is."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"still not so after {PATIENCE} s:\n{screen_text(pilot)}"
        await pilot.pause(0.01)
    await pilot.pause()


async def rest(pilot: Pilot[Any]) -> None:
    """As `pilot.pause`, which gives up after half a minute: on a loaded machine a burst of keys takes longer. What
    stands still for ever, the limit of the test ends."""
    while True:
        with suppress(WaitForScreenTimeout):
            return await pilot.pause()


async def go_on(pilot: Pilot[Any], key: str, there: Callable[[], object]) -> None:
    """Press `n` or `N`, and again where it says that this leaves the session; until `there`."""
    pilot.app.clear_notifications()
    await pilot.press(key)
    await until(pilot, lambda: there() or any("again goes to" in said for said in toasts(pilot)))
    if not there():
        pilot.app.clear_notifications()
        await pilot.press(key)
    await until(pilot, there)


def screen_text(pilot: Pilot[Any]) -> str:
    """What the screen shows, line by line."""
    return "\n".join(strip.text.rstrip() for strip in drawn(pilot.app))


def drawn(app: App[Any]) -> list[Strip]:
    """The lines of the terminal: the screen, and around a dialog what lies behind it."""
    return list(frame_of(app.screen))


def main_of(pilot: Pilot[None]) -> MainScreen:
    """The screen at the bottom of the stack."""
    return cast(HermesApp, pilot.app).main


def toasts(pilot: Pilot[None]) -> list[str]:
    """What the toasts on the screen say."""
    return [str(toast.render()) for toast in pilot.app.screen.query("Toast")]
