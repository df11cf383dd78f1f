"""A log of Gemini's in the midst of which something is taken back is read as a whole where its parts cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from textual.pilot import Pilot

from long_talks import GeminiTalk
from pilots import main_of, screen_text, toasts, until
from session_adapters.transcript import PART

FAILED = 900
Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


async def test_an_error_behind_what_was_taken_back_is_found(program: Program, tmp_path: Path) -> None:
    talk = GeminiTalk(tmp_path / "long", failing={FAILED}, filler=10_000)
    talk.add(400)
    (path,) = talk.home.rglob("session-*.jsonl")
    assert path.stat().st_size > PART
    with path.open("a") as file:
        file.write(json.dumps({"$rewindTo": f"g{399 * 4}"}) + "\n")
    talk.add(600)
    async with program(talk.home, size=(120, 40)) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).parts.is_reading and " 999 turns " in screen_text(pilot))
        pane = main_of(pilot).pane
        await pilot.press("g")
        await until(pilot, lambda: pane.message is not None and pane.message == pane.opened.messages[0])
        await pilot.press("right_square_bracket", "e")
        await until(pilot, lambda: pane.message is not None and any(one.is_error for one in pane.message.tool_calls))
        assert not toasts(pilot)
