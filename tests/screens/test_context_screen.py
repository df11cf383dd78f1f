"""`s`: what the agent no longer sees is dimmed, and the border says how much it sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.segment import Segment
from textual.pilot import Pilot
from textual.screen import ModalScreen

from claude_lines import ClaudeHome
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.dialogs.context_window import WindowScreen
from hermes_tui.tui.screens.dialogs.menu import MenuScreen
from pilots import screen_text, until

Program = Callable[..., Any]


def compacted(home: ClaudeHome) -> Path:
    """A session of six messages, of which the agent sees the last two and the summary."""
    path = home.session("Before it", turns=2)
    lines = path.read_text().splitlines()
    last = json.loads(lines[-1])
    boundary = {
        **{key: last[key] for key in ("sessionId", "cwd", "version", "timestamp", "isSidechain")},
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "uuid": "00000000-0000-4000-8000-00000000000b",
        "parentUuid": None,
        "compactMetadata": {"trigger": "manual", "preTokens": 900},
    }
    path.write_text("\n".join([*lines, json.dumps(boundary)]) + "\n")
    home.say(path, "user", "After it")
    home.say(path, "assistant", "The answer after it")
    return path


def dimmed(pilot: Pilot[None]) -> dict[str, bool]:
    """Words in the transcript → whether they are drawn dim."""
    assert isinstance(pilot.app, HermesApp)
    found: dict[str, bool] = {}
    for strip in pilot.app.main.pane.strips:
        for segment in strip:
            assert isinstance(segment, Segment)
            for words in ("Before it", "Answer 1 to", "After it", "The answer after it"):
                if words in segment.text and "answer" not in segment.text.replace(words, "").lower():
                    found[words] = bool(segment.style and segment.style.dim)
    return found


def border(pilot: Pilot[None]) -> str:
    assert isinstance(pilot.app, HermesApp)
    return str(pilot.app.main.pane.border_subtitle)


async def read(pilot: Pilot[None]) -> None:
    await pilot.press("enter")
    await until(pilot, lambda: "The answer after it" in screen_text(pilot))


async def test_the_border_has_a_gauge_of_the_context(program: Program, claude_home: ClaudeHome) -> None:
    path = compacted(claude_home)
    *before, last = path.read_text().splitlines()
    record = json.loads(last)
    record["message"]["model"] = "claude-sonnet-4-5"
    record["message"]["usage"] = {"input_tokens": 1000, "cache_read_input_tokens": 90_000, "output_tokens": 1000}
    path.write_text("\n".join([*before, json.dumps(record)]) + "\n")
    async with program(claude_home.home, size=(100, 40)) as pilot:
        await read(pilot)
        await pilot.press("s")
        await until(pilot, lambda: "last call 92 k of 200 k (46 %)" in border(pilot))
        assert "≈" in border(pilot)
        await pilot.resize_terminal(74, 24)
        await until(pilot, lambda: "≈" not in border(pilot))
        assert "last call 92 k of 200 k (46 %)" in border(pilot) and border(pilot).endswith(" % ")


async def test_dims_and_says_and_back_again(program: Program, claude_home: ClaudeHome) -> None:
    compacted(claude_home)
    async with program(claude_home.home, size=(118, 40)) as pilot:  # room for all its parts
        await read(pilot)
        assert "sees" not in border(pilot)
        assert not any(dimmed(pilot).values())
        await pilot.press("s")
        await until(pilot, lambda: "sees 3 of 7 messages" in border(pilot))
        assert "checkpoint 1 of 1" in border(pilot) and "tokens" in border(pilot)
        found = dimmed(pilot)
        assert found["Before it"] and found["Answer 1 to"]
        assert not found["After it"] and not found["The answer after it"]
        await pilot.press("s")
        await until(pilot, lambda: "sees" not in border(pilot))
        assert not any(dimmed(pilot).values())


async def test_follows_what_comes(program: Program, claude_home: ClaudeHome) -> None:
    path = compacted(claude_home)
    async with program(claude_home.home, size=(100, 40)) as pilot:
        await read(pilot)
        await pilot.press("s")
        await until(pilot, lambda: "sees 3 of 7" in border(pilot))
        claude_home.say(path, "user", "And one more")
        await until(pilot, lambda: "sees 4 of 8" in border(pilot))


async def test_another_window_is_chosen(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Many", turns=30)
    async with program(claude_home.home, size=(100, 40)) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: "Answer 29" in screen_text(pilot))
        await pilot.press("s")
        await until(pilot, lambda: "sees all 60 messages" in border(pilot))
        await pilot.press("S")
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen))
        assert "buffer_window 10" in screen_text(pilot)
        await pilot.press("2")
        await until(pilot, lambda: "sees 10 of 60 messages" in border(pilot))
        await pilot.press("S", "0")
        await until(pilot, lambda: "sees all 60" in border(pilot))


async def test_a_window_of_any_size_is_typed(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Many", turns=30)
    async with program(claude_home.home, size=(100, 40)) as pilot:
        await pilot.press("enter")
        await until(pilot, lambda: "Answer 29" in screen_text(pilot))
        await pilot.press("S", "8", *"3x", "enter")
        await until(pilot, lambda: "the size is a whole number" in screen_text(pilot))
        assert isinstance(pilot.app.screen, WindowScreen)
        await pilot.press("backspace", "7")
        await until(pilot, lambda: "buffer_window:N messages" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: "sees 37 of 60 messages" in border(pilot))
        await pilot.press("S", "8", "escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, ModalScreen))
        assert "sees 37 of 60 messages" in border(pilot)


async def test_another_session_is_shown_as_it_is(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Older one")
    compacted(claude_home)
    async with program(claude_home.home, size=(100, 40)) as pilot:
        await read(pilot)
        await pilot.press("s")
        await until(pilot, lambda: "sees 3 of 7" in border(pilot))
        await pilot.press("escape", "down", "enter")
        await until(pilot, lambda: "Older one" in str(pilot.app.main.pane.border_title))
        assert "sees" not in border(pilot)


async def test_without_an_open_session_it_says_what_to_do(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("One")
    async with program(claude_home.home) as pilot:
        await pilot.press("s")
        await until(pilot, lambda: "Open a session first" in screen_text(pilot))


async def test_hectors_own_window(program: Program, store: Callable[..., Path]) -> None:
    """With the size from its configuration."""
    async with program(store("hector", "home"), size=(100, 40)) as pilot:
        assert isinstance(pilot.app, HermesApp)
        main = pilot.app.main
        wanted = next(one for one in main.snapshot.sessions if one.session_id == "coder/windowed")
        home = main.sessions.forest.by_session[wanted.unified_id]
        main.transcript.request(home.tip)
        await until(pilot, lambda: main.pane.summary == wanted and main.pane.messages)
        main.go_to_transcript()
        await pilot.press("s")
        await until(pilot, lambda: "sees 10 of 38 messages" in border(pilot))
