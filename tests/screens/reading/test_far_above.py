"""Jumps in a session that is too long to be loaded: the part with the place is shown alone, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.sessions.landmarks import calls_of
from hermes_tui.tui.screens.dialogs.outline import OutlineScreen
from pilots import main_of, screen_text, toasts, until
from session_adapters.growing import jsonl_adapter
from session_adapters.growing.jsonl_adapter import JsonlTranscript
from session_adapters.transcript import Transcript
from support import PATIENCE

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]

ROUNDS, LONG = 500, 50_000
"""Twenty-five megabytes of talk, in parts of one."""
FAILED = (20, 21, 300)
"""Rounds in which a command failed."""
BOUND = 9_000_000


@pytest.fixture
def long_home(claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(jsonl_adapter, "PART", 1 << 20)
    path = claude_home.session("First things first")
    for number in range(ROUNDS):
        claude_home.say(path, "user", f"Prompt number {number}")
        if number in FAILED:
            call = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {"command": f"make {number}"}}
            result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "no", "is_error": True}
            claude_home.say(path, "assistant", f"CALL{number}")
            claude_home.say(path, "user", f"RESULT{number}")
            text = path.read_text()
            text = text.replace(json.dumps([{"type": "text", "text": f"CALL{number}"}]), json.dumps([call]))
            path.write_text(text.replace(f'"RESULT{number}"', json.dumps([result])))
        claude_home.say(path, "assistant", f"Answer {number} needle{number}x " + "word " * (LONG // 5))
    return claude_home.home


def kept(pilot: Pilot[None]) -> int:
    """Characters of all messages that the pane has."""
    return sum(len(one.content) for one in main_of(pilot).pane.messages)


def command(pilot: Pilot[None]) -> str:
    """The command of the failed call under the cursor."""
    pane = main_of(pilot).pane
    piece, message = pane.view.piece(), pane.message
    if piece is None or message is None or not calls_of(message, "error") or piece.block != "tool0":
        return ""
    return str(message.tool_calls[0].input["command"])


async def _read(pilot: Pilot[None]) -> None:
    await pilot.press("enter")
    await until(pilot, lambda: main_of(pilot).parts.is_reading and main_of(pilot).pane.message is not None)


async def test_errors_far_up_and_down_again(program: Program, long_home: Path) -> None:
    async with program(long_home, size=(160, 48)) as pilot:
        await _read(pilot)
        pane = main_of(pilot).pane
        for wanted in ("make 300", "make 21", "make 20"):
            await pilot.press("left_square_bracket", "e")
            await until(pilot, lambda: command(pilot) == wanted)  # noqa: B023
            assert kept(pilot) < BOUND
        await pilot.press("left_square_bracket", "e")
        await until(pilot, lambda: toasts(pilot) == ["There is no further error above"])
        assert command(pilot) == "make 20"
        assert "more below, G goes to the end" in str(pane.border_subtitle) and not pane.following
        for wanted in ("make 21", "make 300"):
            await pilot.press("right_square_bracket", "e")
            await until(pilot, lambda: command(pilot) == wanted)  # noqa: B023
            assert kept(pilot) < BOUND
        await pilot.press("right_square_bracket", "e")
        await until(pilot, lambda: toasts(pilot)[-1] == "There is no further error below")
        await pilot.press("G")
        await until(pilot, lambda: pane.following and not pane.opened.is_cut)
        await pilot.press("3", "left_square_bracket", "e")
        await until(pilot, lambda: command(pilot) == "make 20")
        await pilot.press("G")
        await until(pilot, lambda: pane.following and not pane.opened.is_cut)
        assert pane.messages[-1].content.startswith(f"Answer {ROUNDS - 1}") and kept(pilot) < BOUND


async def test_esc_stops_the_search_where_it_was(
    program: Program, long_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = Event()
    real = JsonlTranscript.part

    def held_up(transcript: JsonlTranscript[Any], step: int) -> Transcript | None:
        assert goes_on.wait(PATIENCE)
        return real(transcript, step)

    async with program(long_home, size=(160, 48)) as pilot:
        await _read(pilot)
        pane = main_of(pilot).pane
        monkeypatch.setattr(JsonlTranscript, "part", held_up)
        await pilot.press("left_square_bracket", "s")
        await until(pilot, lambda: "looking for it, 0 % read, esc stops" in str(pane.border_subtitle))
        await pilot.resize_terminal(60, 24)  # the way to stop is the last to be left out
        await until(pilot, lambda: main_of(pilot).size.width == 60)
        assert "looking for it, 0 % read, esc stops" in screen_text(pilot)
        before = pane.opened
        await pilot.press("escape")
        assert "esc stops" not in str(pane.border_subtitle)
        goes_on.set()
        await until(pilot, lambda: main_of(pilot).transcript.is_settled)
        assert pane.opened is before and main_of(pilot).parts.is_reading and not toasts(pilot)


async def test_matches_and_the_outline_go_there_too(program: Program, long_home: Path) -> None:
    async with program(long_home, size=(160, 48)) as pilot:
        await _read(pilot)
        pane = main_of(pilot).pane
        await pilot.press("slash", *"needle7x", "enter")
        await until(pilot, lambda: pane.message is not None and "needle7x" in pane.message.content)
        assert kept(pilot) < BOUND
        await until(pilot, lambda: "“needle7x” 1 of 1" in str(pane.border_subtitle))
        await pilot.press("O")
        await until(pilot, lambda: isinstance(pilot.app.screen, OutlineScreen))
        await pilot.press(*"number 120")
        await until(
            pilot, lambda: "Prompt number 120" in screen_text(pilot) and "Prompt number 7 " not in screen_text(pilot)
        )
        await pilot.press("enter")
        await until(pilot, lambda: pane.message is not None and pane.message.content == "Prompt number 120")
        assert kept(pilot) < BOUND


async def test_a_match_far_below_is_gone_to_and_then_one_above(program: Program, long_home: Path) -> None:
    async with program(long_home, size=(160, 48)) as pilot:
        await _read(pilot)
        pane = main_of(pilot).pane
        await pilot.press("g")
        await until(pilot, lambda: pane.message is not None and pane.message.content == "First things first")
        last = f"Prompt number {ROUNDS - 1}"
        await pilot.press("slash", *f'"{last}"', "enter")
        await until(pilot, lambda: pane.message is not None and pane.message.content == last)
        assert kept(pilot) < BOUND
        await until(pilot, lambda: "1 of 1" in str(pane.border_subtitle))
        await pilot.press("g", "right_square_bracket", "e")
        await until(pilot, lambda: command(pilot) == "make 20")
        await pilot.press("slash", *'"first things"', "enter")
        await until(pilot, lambda: '“"first things"” 2 of 2' in str(pane.border_subtitle))
        assert pane.message is not None and pane.message.content == "Answer 0 to First things first"
        await pilot.press("slash", *"zzqx", "enter")
        await until(pilot, lambda: "“zzqx” is not in this session" in str(pane.border_subtitle))
        assert pane.message is not None and pane.message.content == "Answer 0 to First things first"


async def test_what_is_said_meanwhile_is_there_at_the_end(
    program: Program, long_home: Path, claude_home: ClaudeHome
) -> None:
    path = next(claude_home.projects.rglob("*.jsonl"))
    async with program(long_home, size=(160, 48)) as pilot:
        await _read(pilot)
        main = main_of(pilot)
        await pilot.press("g")
        await until(
            pilot, lambda: main.pane.message is not None and main.pane.message.content == "First things first"
        )
        claude_home.say(path, "user", "What is new")
        assert main.transcript.shown is not None
        main.transcript.grown(main.transcript.shown)
        await until(pilot, lambda: main.transcript.is_settled)
        assert main.pane.message is not None and main.pane.message.content == "First things first"
        await pilot.press("G")
        await until(pilot, lambda: "What is new" in screen_text(pilot))
        assert kept(pilot) < BOUND
