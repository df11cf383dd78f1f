"""The whole program on a home of its own, without a terminal."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path

import pytest
from textual.drivers.headless_driver import HeadlessDriver
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.clock import Clock
from hermes_tui.config import USUAL_COLUMNS, Column, Config
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.dialogs.confirm import ConfirmScreen
from lane_homes import HermesDemo
from pilots import until
from session_adapters.base import Environment

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.fixture
def claude_home(tmp_path: Path) -> ClaudeHome:
    """An empty store of Claude Code."""
    return ClaudeHome(tmp_path / "home")


@pytest.fixture
def demo(tmp_path: Path) -> HermesDemo:
    """The demo's lanes, with a gateway."""
    return HermesDemo(tmp_path / "home")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Yes counts as soon as the plan is on the screen."""
    monkeypatch.setattr(ConfirmScreen, "QUIET", 0.0)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the program writes to the terminal, which without one it does not."""
    texts: list[str] = []
    monkeypatch.setattr(HeadlessDriver, "is_headless", False)
    monkeypatch.setattr(HeadlessDriver, "write", lambda driver, text: texts.append(text))
    return texts


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """`async with program(home, size=(80, 24)) as pilot`: the program, once it has looked at the stores. What it says
    in passing stays, or a busy machine would look too late."""
    monkeypatch.setattr(HermesApp, "NOTIFICATION_TIMEOUT", 600)

    @asynccontextmanager
    async def run(
        home: Path,
        *,
        size: tuple[int, int] = (80, 24),
        now: datetime | None = None,
        theme: str | None = None,
        keymap: dict[str, str] | None = None,
        searches: dict[str, str] | None = None,
        columns: tuple[Column, ...] = USUAL_COLUMNS,
        wait: bool = True,
        attention: bool = False,
    ) -> AsyncIterator[Pilot[None]]:
        manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache")
        config = Config(theme=theme, keymap=keymap or {}, searches=searches or {}, columns=columns)
        app = HermesApp(manager, config, clock=Clock(now), attention=attention)
        async with app.run_test(size=size, notifications=True) as pilot:
            if wait:
                await until(pilot, lambda: app.main.snapshot.places)
            yield pilot

    return run
