"""The memory of a session of Hector's. See `test_pictures`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_tui.clock import Clock
from hermes_tui.demo import STATIC_NOW
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.memory import MemoryScreen
from hermes_tui.tui.widgets.page import Page
from memory_home import with_long_term_memory
from pilots import until
from session_adapters.base import Environment


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
@pytest.mark.parametrize("question", ["", "Which database is on staging?"], ids=["listed", "asked"])
def test_memory(
    snap_compare: Callable[..., bool],
    store: Callable[..., Path],
    tmp_path: Path,
    size: tuple[int, int],
    question: str,
) -> None:
    home = with_long_term_memory(store("hector", "home"))
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", indexed=False)
    app = HermesApp(manager, clock=Clock(STATIC_NOW))

    async def look(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.main.snapshot.places and not app.main.snapshot.partial)
        summary = manager.summary("hector", "assistant/s1")
        screen = MemoryScreen(app, summary)
        pilot.app.push_screen(screen)
        await until(pilot, lambda: screen.is_mounted and _shows(screen, "keeps") and _shows(screen, "left out"))
        if question:
            await pilot.press("slash", *question, "enter")
            await until(pilot, lambda: _shows(screen, "asked"))
            page = screen.query_one(Page)
            await until(pilot, lambda: page.scroll_offset.y == page.max_scroll_y)
        await pilot.pause()

    assert snap_compare(app, terminal_size=size, run_before=look)


def _shows(screen: MemoryScreen, label: str) -> bool:
    return any(one.label == label for one in screen.query_one(Page).blocks)
