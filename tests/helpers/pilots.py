"""Waiting for what a screen shows, never for time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot

__all__ = ["screen_text", "until"]


async def until(pilot: Pilot[Any], condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Let the app work until `condition()` is true; fails with the screen's text when it never is."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"still not so after {seconds} s:\n{screen_text(pilot)}"
        await pilot.pause(0.01)
    await pilot.pause()


def screen_text(pilot: Pilot[Any]) -> str:
    """What the screen shows, line by line. Uses `Screen._compositor`, which Textual has had since 0.1."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).rstrip() for strip in strips)
