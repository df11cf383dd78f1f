"""What needs a person is said on the screen, soon after an agent has written it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.tui.app import HermesApp
from pilots import screen_text, until

START = datetime(2026, 1, 1, tzinfo=UTC)
Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


async def test_who_waits_is_counted_in_the_header(program: Program, claude_home: ClaudeHome) -> None:
    one = claude_home.session("remove it").stem
    claude_home.process(one, "busy")
    async with program(claude_home.home, size=(120, 30), attention=True) as pilot:
        await until(pilot, lambda: isinstance(pilot.app, HermesApp) and pilot.app.attention is not None)
        assert "need" not in screen_text(pilot)
        claude_home.process(one, "waiting", waitingFor="permission prompt")
        await until(pilot, lambda: "? 1 needs you" in screen_text(pilot))
        claude_home.process(one, "busy")
        await until(pilot, lambda: "need" not in screen_text(pilot))


async def test_marks_that_cannot_be_kept_are_said_once(program: Program, claude_home: ClaudeHome) -> None:
    one = claude_home.session("remove it").stem
    marks = Path(os.environ["HOME"]) / ".local" / "state" / "hermes-tui" / "marks.db"
    marks.mkdir(parents=True)
    async with program(claude_home.home, size=(120, 30), attention=True) as pilot:
        await until(pilot, lambda: "cannot be kept" in screen_text(pilot))
        assert "remove it" in screen_text(pilot)
        claude_home.process(one, "waiting", waitingFor="permission prompt")
        await until(pilot, lambda: "? 1 needs you" in screen_text(pilot))  # states are looked at all the same


async def test_what_was_seen_is_kept_as_soon_as_it_can_be(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("remove it")
    marks = Path(os.environ["HOME"]) / ".local" / "state" / "hermes-tui" / "marks.db"
    async with program(claude_home.home, size=(120, 30), attention=True) as pilot:
        app = pilot.app
        assert isinstance(app, HermesApp)
        await until(pilot, lambda: app.attention is not None)

        def is_in_the_way() -> bool:
            """A folder stands where the marks are kept; the program may make the file anew in between."""
            app.manager.marks.close()
            marks.unlink(missing_ok=True)
            with suppress(FileExistsError):
                marks.mkdir()
            return marks.is_dir()

        await until(pilot, is_in_the_way)
        app.attention_watch.see(f"claude:{path.stem}", START)
        await until(pilot, lambda: "cannot be kept" in screen_text(pilot))
        marks.rmdir()
        app.attention_watch.look_again()
        await until(pilot, lambda: marks.is_file() and f"claude:{path.stem}" in app.manager.marks.seen())
