"""The attention screen: what needs a person on top, how that is known, and one key to each session."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.attention import AttentionScreen
from hermes_tui.tui.screens.dialogs.start_agent import StartScreen
from pilots import main_of, screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.fixture
def other() -> Iterator[int]:
    """Another process."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process.pid
        process.kill()


def call(file: Path) -> None:
    """The model calls a tool, and nothing answers."""
    record = json.loads(file.read_text().splitlines()[-1])
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "rm -rf build"}}
    record["message"] |= {"content": [call], "stop_reason": "tool_use"}
    record |= {"uuid": "00000000-0000-0000-0000-00000000ca11"}
    with file.open("a") as lines:
        lines.write(json.dumps(record) + "\n")


def screen_of(pilot: Pilot[None]) -> AttentionScreen:
    assert isinstance(pilot.app.screen, AttentionScreen)
    return pilot.app.screen


async def opened(pilot: Pilot[None]) -> AttentionScreen:
    await until(pilot, lambda: isinstance(pilot.app, HermesApp) and pilot.app.attention is not None)
    await pilot.press("A")
    await until(pilot, lambda: isinstance(pilot.app.screen, AttentionScreen) and pilot.app.screen.is_mounted)
    return screen_of(pilot)


def place(pilot: Pilot[None], words: str) -> int:
    """On which line of the screen these words stand."""
    return next(at for at, line in enumerate(screen_text(pilot).splitlines()) if words in line)


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_who_needs_a_person_stands_on_top(
    program: Program, claude_home: ClaudeHome, other: int, size: tuple[int, int]
) -> None:
    asks, works = claude_home.session("Clear the build"), claude_home.session("Draw the totals")
    call(asks)
    claude_home.process(asks.stem, "busy")
    claude_home.process(works.stem, "busy", other)
    async with program(claude_home.home, size=size, attention=True) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: len(screen.table.rows) == 3)
        assert "● 2 working" in screen_text(pilot)
        claude_home.process(asks.stem, "waiting", waitingFor="permission prompt")
        await until(pilot, lambda: "? 1 needs you" in screen_text(pilot))
        heads = [place(pilot, head) for head in ("need you\n".strip(), " working")]
        assert place(pilot, "Clear the build") < place(pilot, "Draw the totals")
        assert heads[0] < place(pilot, "Clear the build")
        line = screen_text(pilot).splitlines()[place(pilot, "Clear the build")]
        assert "⚑ approval" in line and "cc" in line and "rm -rf build" in line
        assert ("shop" in line) is (size[0] > 100)


async def test_the_cursor_stays_on_its_session(program: Program, claude_home: ClaudeHome, other: int) -> None:
    one, two = claude_home.session("Clear the build"), claude_home.session("Draw the totals")
    claude_home.process(one.stem, "busy")
    claude_home.process(two.stem, "busy", other)
    async with program(claude_home.home, attention=True) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: len(screen.table.rows) == 3)
        await pilot.press("end")
        row = screen.table.highlighted
        assert row is not None and row.session is not None
        file, pid = (one, None) if row.session.session_id == one.stem else (two, other)
        claude_home.process(file.stem, "waiting", pid, waitingFor="permission prompt")
        await until(pilot, lambda: len(screen.table.rows) == 4)
        assert screen.table.cursor == 1
        after = screen.table.highlighted
        assert after is not None and after.identity == row.identity


async def test_a_key_opens_the_session(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Draw the totals")
    one = claude_home.session("Clear the build")
    claude_home.session("Newer than that")
    claude_home.process(one.stem, "busy")
    async with program(claude_home.home, size=(140, 30), attention=True) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: len(screen.table.rows) == 2)
        await pilot.press("enter")
        main = main_of(pilot)
        await until(
            pilot, lambda: pilot.app.screen is main and main.pane.summary is not None and main.parts.is_reading
        )
        await pilot.pause(0.3)
        assert main.pane.summary is not None and main.pane.summary.session_id == one.stem
        assert main.sessions.highlighted is not None and main.sessions.highlighted.tip.session_id == one.stem


async def test_a_session_is_opened_from_sessions_of_one_cost(program: Program, claude_home: ClaudeHome) -> None:
    """The costs, where that list had been begun from, were on top."""
    file = claude_home.session("remove it")
    call(file)
    claude_home.process(file.stem, "waiting", waitingFor="permission prompt")
    async with program(claude_home.home, size=(120, 30), attention=True) as pilot:
        main = main_of(pilot)
        back: list[str] = []
        await until(pilot, lambda: "? 1 needs you" in screen_text(pilot))
        main.show_only("model:m", [f"claude:{file.stem}"], lambda: back.append(""))
        await until(pilot, lambda: main.sessions.is_filtered)
        await pilot.press("A")
        await until(pilot, lambda: isinstance(pilot.app.screen, AttentionScreen) and "rm -rf" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: main.is_active and main.parts.is_reading)
        assert not main.sessions.is_filtered and back == []


async def test_the_evidence_says_which_sign_contradicts(program: Program, claude_home: ClaudeHome) -> None:
    one = claude_home.session("Clear the build")
    claude_home.say(one, "user", "And the cache")  # a call that has no result contradicts nothing: it may wait
    claude_home.process(one.stem, "waiting", waitingFor="permission prompt")
    async with program(claude_home.home, size=(140, 30), attention=True) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: len(screen.table.rows) == 2)
        assert "a prompt without an answer" in screen_text(pilot)
        await pilot.press("x")
        await until(pilot, lambda: "How it is known" in screen_text(pilot))
        shown = screen_text(pilot)
        assert "says waiting (permission prompt)" in shown
        assert "this contradicts the state" in shown.split("a prompt without an answer")[1].splitlines()[0]
        assert "contradicts" not in shown.split("says waiting")[1].splitlines()[0]


async def test_what_was_looked_at_is_read(program: Program, claude_home: ClaudeHome) -> None:
    one = claude_home.session("Clear the build")
    claude_home.process(one.stem, "idle")
    async with program(claude_home.home, size=(140, 30), attention=True) as pilot:
        await opened(pilot)
        claude_home.start = claude_home.start.replace(year=claude_home.start.year + 1)
        claude_home.say(one, "assistant", "All of it is built.\n\nNothing is left.")
        await until(pilot, lambda: "✓ done" in screen_text(pilot))
        assert "Nothing is left." in screen_text(pilot) and "All of it is built." not in screen_text(pilot)
        await pilot.press("u", "m")
        await until(pilot, lambda: "○ idle" in screen_text(pilot))
        assert {"No other session here has anything new.", "Counted as seen."} <= set(toasts(pilot))
        await pilot.press("u")
        await until(pilot, lambda: "No session here has anything new." in toasts(pilot))


async def test_nothing_to_show_is_said_in_a_sentence(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Clear the build")
    async with program(claude_home.home, attention=True) as pilot:
        screen = await opened(pilot)
        assert "Nothing needs you, and nothing is at work." in screen_text(pilot)
        for key in ("enter", "x", "m"):
            pilot.app.clear_notifications()
            await pilot.press(key)
            await until(pilot, lambda: any("no session here" in one for one in toasts(pilot)))
        assert pilot.app.screen is screen


async def test_nothing_is_written_while_nothing_changes(
    written: list[str], program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.tui.screens.attention.TICK", 0.02)
    one = claude_home.session("Clear the build")
    claude_home.process(one.stem, "busy")
    async with program(claude_home.home, attention=True) as pilot:
        screen = await opened(pilot)
        await until(pilot, lambda: len(screen.table.rows) == 2)
        await pilot.pause(0.3)
        shows: list[object] = []
        monkeypatch.setattr(AttentionScreen, "show_title", lambda *_: shows.append(1))
        written.clear()
        await until(pilot, lambda: len(shows) > 5)
        assert written == []


async def test_a_session_without_a_process_is_offered_to_be_resumed(
    program: Program, claude_home: ClaudeHome
) -> None:
    one = claude_home.session("Clear the build")
    async with program(claude_home.home, attention=True) as pilot:
        screen = await opened(pilot)
        claude_home.start = datetime.now(UTC)
        claude_home.say(one, "assistant", "Nothing is left.")
        await until(pilot, lambda: len(screen.table.rows) == 2)
        await pilot.press("g")
        await until(pilot, lambda: isinstance(pilot.app.screen, StartScreen))
        assert "Cannot jump: no process has the session open, so it is in no pane." in toasts(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)
