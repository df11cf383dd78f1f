"""What the program holds of the sessions that were read: what is on the screen, and a bounded part around it."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from weakref import WeakSet

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from pilots import main_of, screen_text, until
from session_adapters.growing.jsonl_adapter import JsonlTranscript
from session_adapters.model import Message

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]

SESSIONS, TURNS = 8, 1_500
FILLER = " word" * 400


def held() -> int:
    """Messages that anything in the process has. They are not known to the collector themselves."""
    gc.collect()
    found = {id(one) for owner in gc.get_objects() for one in gc.get_referents(owner) if type(one) is Message}
    return len(found)


def long_session(home: ClaudeHome, name: str) -> None:
    """Six megabytes of talk."""
    path = home.session(f"Prompt {name}")
    lines = path.read_text().splitlines()
    sample = json.loads(lines[-1])
    more = []
    for turn in range(TURNS):
        for role, said in (("user", f"Prompt {turn} of {name}"), ("assistant", f"Answer {turn} of {name}{FILLER}")):
            message = {"role": role, "content": said if role == "user" else [{"type": "text", "text": said}]}
            if role == "assistant":
                message |= {"id": f"msg_{name}_{turn}", "type": "message", "model": "claude-sonnet-4-6"}
            more.append(json.dumps(sample | {"type": role, "uuid": f"{name}-{turn}-{role}", "message": message}))
    path.write_text("\n".join([*lines, *more, ""]))


async def read_through(pilot: Pilot[None]) -> None:
    """The session under the cursor: its end, what is above that, its beginning; then on to the next."""
    main = main_of(pilot)
    pane = main.pane
    await pilot.press("enter")
    await until(pilot, lambda: main.parts.is_reading and f"Answer {TURNS - 1} of" in screen_text(pilot))
    before = len(pane.messages)
    await pilot.press("9", "9", "pageup")
    await until(pilot, lambda: len(pane.messages) > before)
    await pilot.press("g")
    await until(pilot, lambda: pane.message is not None and pane.message.content.startswith("Prompt s"))
    await pilot.press("escape", "down")
    await until(pilot, lambda: not main.parts.is_reading and main.transcript.is_settled)


async def test_sessions_that_were_read_are_let_go_of(program: Program, claude_home: ClaudeHome) -> None:
    """Each is read from its end, above it, and from its beginning: what was read before is not held any longer."""
    for number in range(SESSIONS):
        long_session(claude_home, f"s{number}")
    counts: list[int] = []
    async with program(claude_home.home, size=(160, 48)) as pilot:
        for _ in range(SESSIONS):
            await read_through(pilot)
            counts.append(held())
    assert max(counts) < 2 * TURNS, counts  # fewer than one of them has


async def test_a_session_in_which_nothing_was_found_is_let_go_of(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it cannot be read in parts."""
    for name in ("s0", "s1"):
        long_session(claude_home, name)
    monkeypatch.setattr(JsonlTranscript, "load_part", lambda self, step: False)
    async with program(claude_home.home, size=(160, 48)) as pilot:
        main = main_of(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: main.parts.is_reading and f"Answer {TURNS - 1} of" in screen_text(pilot))
        opened = WeakSet([main.pane.opened])
        await pilot.press("left_square_bracket", "e")
        await until(pilot, lambda: not main.pane.finder.is_seeking and main.pane.view.complete)
        await pilot.press("escape", "down")
        await until(pilot, lambda: main.pane.opened not in opened and main.transcript.is_settled)
        gc.collect()
        assert not opened
