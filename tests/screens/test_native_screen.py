"""What is asked before a session is resumed or forked, without a terminal to hand over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from claude_lines import ClaudeHome
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.dialogs.confirm import ConfirmScreen
from hermes_tui.tui.screens.dialogs.start_agent import StartScreen
from hermes_tui.tui.widgets.buttons import Buttons
from hermes_tui.tui.widgets.page import Page
from pilots import screen_text, until
from standins import StandIns
from system_programs import required_program

Program = Callable[..., Any]


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    """Claude's program alone on PATH, and no tmux around us."""
    programs = StandIns(tmp_path / "programs")
    monkeypatch.setenv("PATH", str(programs.bin))
    monkeypatch.delenv("TMUX", raising=False)
    programs.add("claude")
    return programs


@pytest.fixture
def work(claude_home: ClaudeHome, tmp_path: Path) -> Path:
    """Where the only session was held."""
    folder = tmp_path / "work"
    folder.mkdir()
    path = claude_home.session("Fix the [b]login[/b] test\x1b[31m")
    path.write_text(path.read_text().replace("/home/dev/shop", str(folder)))
    return folder


def shown(pilot: Pilot[None]) -> StartScreen:
    screen = pilot.app.screen
    assert isinstance(screen, StartScreen)
    return screen


def words(pilot: Pilot[None]) -> tuple[str, ...]:
    return shown(pilot).query_one(Buttons).words


async def ask(pilot: Pilot[None], key: str = "r") -> None:
    await pilot.press(key)
    await until(pilot, lambda: shown(pilot).start is not None)


async def test_it_says_what_is_started_and_where(
    program: Program, claude_home: ClaudeHome, stand_ins: StandIns, work: Path
) -> None:
    async with program(claude_home.home, size=(100, 30)) as pilot:
        await ask(pilot)
        text = screen_text(pilot)
        for part in ("Resume with Claude Code?", "claude --resume", "sessions resume claude"):
            assert part in text
        assert str(work) in "".join(shown(pilot).query_one(Page).text.split())  # a long path takes several lines
        assert "[b]login[/b]" in text and "\x1b" not in text
        assert words(pilot) == ("Cancel", "Here (y)")
        await pilot.press("escape")
        await ask(pilot, "F")
        assert "--fork-session" in screen_text(pilot)


async def test_the_first_button_says_no(
    program: Program, claude_home: ClaudeHome, stand_ins: StandIns, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ConfirmScreen, "QUIET", 0.0)
    async with program(claude_home.home) as pilot:
        for key in ("enter", "escape", "n"):
            await ask(pilot)
            await pilot.press(key)
            await until(pilot, lambda: not isinstance(pilot.app.screen, StartScreen))
        assert not stand_ins.was_started("claude")


async def test_a_key_typed_ahead_agrees_to_nothing(
    program: Program, claude_home: ClaudeHome, stand_ins: StandIns, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Law 9."""
    monkeypatch.setattr(ConfirmScreen, "QUIET", 3600.0)
    async with program(claude_home.home) as pilot:
        await pilot.press("r", "y")
        await until(pilot, lambda: shown(pilot).start is not None)
        await pilot.press("y", "y", "tab", "enter")
        assert isinstance(pilot.app.screen, StartScreen)
        assert "too soon" in screen_text(pilot)
        assert not stand_ins.was_started("claude")


async def test_without_a_terminal_the_command_is_told(
    program: Program, claude_home: ClaudeHome, stand_ins: StandIns, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is none to hand over in a test; the program is not started, and nothing breaks."""
    monkeypatch.setattr(ConfirmScreen, "QUIET", 0.0)
    async with program(claude_home.home, size=(140, 30)) as pilot:
        await ask(pilot)
        await pilot.press("y")
        await until(pilot, lambda: "there is no terminal to hand over" in screen_text(pilot))
        assert not stand_ins.was_started("claude")
        assert isinstance(pilot.app, HermesApp)
        assert pilot.app.screen is pilot.app.main


async def test_a_directory_that_comes_after_it_was_left_is_not_looked_at(
    program: Program, claude_home: ClaudeHome, stand_ins: StandIns, work: Path, tmp_path: Path
) -> None:
    """The field says later than the key that was pressed in it what was typed."""
    async with program(claude_home.home, size=(100, 30)) as pilot:
        await ask(pilot)
        screen = shown(pilot)
        screen.post_message(Input.Submitted(screen.query_one(Input), str(tmp_path)))
        screen.dismiss(None)
        await until(pilot, lambda: not screen.is_attached)
        await pilot.app.workers.wait_for_complete()
        assert screen.start is None


async def test_the_directory_is_gone_and_another_is_typed(
    program: Program, claude_home: ClaudeHome, stand_ins: StandIns, work: Path, tmp_path: Path
) -> None:
    work.rmdir()  # noqa: ASYNC240  (before anything runs)
    async with program(claude_home.home, size=(120, 30)) as pilot:
        await ask(pilot)
        assert "Cannot resume yet" in screen_text(pilot)
        page = " ".join(shown(pilot).query_one(Page).text.split())
        assert "Its directory" in page and "is gone; choose another." in page and "--cwd" not in page
        assert words(pilot) == ("Cancel",)
        await pilot.press("y", "w")
        assert isinstance(pilot.app.screen, StartScreen)
        await pilot.press("d")
        field = shown(pilot).query_one(Input)
        assert field.value == str(work)
        # What is typed is text, not keys: `y`, `n` and `w` do nothing else there.
        await pilot.press("y", "n", "w")
        assert field.value == f"{work}ynw"
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, StartScreen)
        await pilot.press("d", "ctrl+u")
        field.value = str(tmp_path)
        await pilot.press("enter")
        await until(pilot, lambda: words(pilot) == ("Cancel", "Here (y)"))
        assert shown(pilot).start is not None
        page = shown(pilot).query_one(Page).text
        assert "The session was held in" in page
        assert f"--cwd{tmp_path}" in "".join(page.split())  # what does the same does it in that directory


async def test_what_cannot_be_done_is_said(program: Program, tmp_path: Path, store: Callable[..., Path]) -> None:
    home = store("hermes", "home")
    async with program(home, size=(120, 30)) as pilot:
        await pilot.press("F")
        await until(pilot, lambda: "Hermes cannot fork a session" in screen_text(pilot))
        assert words(pilot) == ("Cancel",)
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.screen is pilot.app.screen_stack[0])


@pytest.mark.needs("tmux")
async def test_inside_tmux_a_window_comes_first(
    program: Program, claude_home: ClaudeHome, stand_ins: StandIns, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where tmux does not answer, that is told."""
    monkeypatch.setenv("TMUX", "/nowhere,1,0")
    monkeypatch.setattr(ConfirmScreen, "QUIET", 0.0)
    async with program(claude_home.home, size=(140, 30)) as pilot:
        await ask(pilot)
        assert words(pilot) == ("Cancel", "New window (w)", "Here (y)")
        await pilot.press("w")
        await until(pilot, lambda: "tmux is not on PATH" in screen_text(pilot))
        (stand_ins.bin / "tmux").symlink_to(required_program("tmux"))
        await ask(pilot)
        await pilot.press("w")
        await until(pilot, lambda: "tmux opened no window" in screen_text(pilot))
    assert not stand_ins.was_started("claude")


async def test_an_empty_list_has_nothing_to_resume(program: Program, claude_home: ClaudeHome) -> None:
    async with program(claude_home.home) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: "There is no session here" in screen_text(pilot))
