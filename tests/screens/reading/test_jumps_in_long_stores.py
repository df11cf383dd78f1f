"""Jumps in a session of 4,000 messages of every store: what is held of it is a part, and the end is there again."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_tui.sessions.landmarks import calls_of
from long_talks import TALKS, TURN
from pilots import main_of, screen_text, toasts, until
from session_adapters.model import Message

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]

TURNS = 1_000
FAILED = 20


def held() -> int:
    """Messages that anything in the process has. They are not known to the collector themselves."""
    gc.collect()
    found = {id(one) for owner in gc.get_objects() for one in gc.get_referents(owner) if type(one) is Message}
    return len(found)


def command(pilot: Pilot[None]) -> str:
    """The command of the failed call in the message under the cursor."""
    message = main_of(pilot).pane.message
    failed = calls_of(message, "error") if message is not None else ()
    return str(message.tool_calls[failed[0]].input["command"]) if message is not None and failed else ""


@pytest.mark.parametrize("agent", list(TALKS))
async def test_the_beginning_and_an_error_far_up_take_a_part(agent: str, program: Program, tmp_path: Path) -> None:
    talk = TALKS[agent](tmp_path / "long", failing={FAILED}, filler=2_000)
    talk.add(TURNS)
    async with program(talk.home, size=(160, 48)) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).parts.is_reading and f"Answer {TURNS - 1}" in screen_text(pilot))
        pane = main_of(pilot).pane
        await pilot.press("g")
        await until(pilot, lambda: pane.opened.is_cut and pane.message == pane.opened.messages[0])
        assert "Prompt 0" in screen_text(pilot)
        assert "more below, G goes to the end" in str(pane.border_subtitle)
        counts = [held()]
        await pilot.press("right_square_bracket", "e")
        await until(pilot, lambda: command(pilot) == f"make {FAILED}")
        await pilot.press("G")
        await until(pilot, lambda: pane.following and not pane.opened.is_cut)
        talk.add(1)
        shown = main_of(pilot).transcript.shown
        assert shown is not None
        main_of(pilot).transcript.grown(shown)
        await until(pilot, lambda: f"Answer {TURNS}" in screen_text(pilot))
        counts.append(held())
        await pilot.press("left_square_bracket", "e")
        await until(pilot, lambda: command(pilot) == f"make {FAILED}")
        counts.append(held())
        assert pane.opened.is_cut and not toasts(pilot)
        await pilot.press("G")
        await until(pilot, lambda: f"Answer {TURNS}" in screen_text(pilot))
        counts.append(held())
        assert max(counts) < TURNS * TURN * 3 / 4, counts
