"""The question before a session is resumed. See `test_pictures`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.clock import Clock
from hermes_tui.demo import STATIC_NOW
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.native.plan import Start
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.dialogs.start_agent import StartScreen
from hermes_tui.tui.widgets.buttons import Buttons
from pilots import until
from session_adapters.base import Environment

START = Start(
    verb="resume",
    agent="claude",
    label="Claude Code",
    session_id="64169303-8f2f-4b6a-9c3e-0d6f5a1b2c3d",
    title="Fix the flaky login test",
    argv=("claude", "--resume", "64169303-8f2f-4b6a-9c3e-0d6f5a1b2c3d"),
    program="/usr/bin/claude",
    cwd="/home/dev/shop",
    env={"CLAUDE_CONFIG_DIR": "/srv/claude"},
    warnings=("The session is open elsewhere (process 4127, busy): two programs would write to it at once",),
)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
def test_resume(snap_compare: Callable[..., bool], tmp_path: Path, size: tuple[int, int]) -> None:
    home = ClaudeHome(tmp_path / "home", STATIC_NOW - timedelta(hours=2))
    for title in ("Fix the flaky login test", "Write the release notes"):
        home.session(title)
    manager = SessionManager(Environment(home=home.home), cache_dir=tmp_path / "cache", indexed=False)
    app = HermesApp(manager, clock=Clock(STATIC_NOW))

    async def ask(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.main.snapshot.places and not app.main.snapshot.partial)
        if app.main.parts.is_wide:
            await until(pilot, lambda: app.main.pane.summary)
        screen = StartScreen("resume", lambda directory: START, tmux=True)
        pilot.app.push_screen(screen)
        await until(pilot, lambda: screen.start is not None and len(screen.query_one(Buttons).words) == 3)

    assert snap_compare(app, terminal_size=size, run_before=ask)
