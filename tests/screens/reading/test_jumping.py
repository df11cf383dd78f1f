"""`]` and `[` and a letter: to the next and the previous prompt, call, error … of the open session."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from textual import events
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.sessions.landmarks import calls_of, is_landmark
from hermes_tui.tui.app import HermesApp
from pilots import main_of, screen_text, toasts, until
from session_adapters.model import ToolCall, ToolResult
from transcripts import GrowingTranscript, PaneApp, said, settle, talk

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]

FAILED = ToolCall(
    tool_call_id="1", tool_name="Bash", input={"command": "pytest"}, output="Exit code 1\nno", is_error=True
)
EDIT = ToolCall(
    tool_call_id="2", tool_name="Edit", input={"file_path": "a.py", "old_string": "x", "new_string": "y"}, output="ok"
)
HELPER = ToolCall(tool_call_id="3", tool_name="Agent", input={"prompt": "look"}, output="found", subagent_id="h")

TALK = [
    said("user", "first", id="m0"),
    said("assistant", "I run it.", 1, id="m1", tool_calls=(FAILED, EDIT)),
    said("system", "", 2, id="m2", kind="compaction"),
    said("user", "second", 3, id="m3"),
    said("assistant", "I ask.", 4, id="m4", tool_calls=(HELPER,)),
    said("assistant", "overloaded", 5, id="m5", kind="error"),
    said("assistant", "Done.", 6, id="m6"),
]


def under(app: PaneApp) -> tuple[str, str]:
    """The message under the cursor, and the block of it."""
    piece = app.pane.view.piece()
    assert app.pane.message is not None and piece is not None
    return app.pane.message.id, piece.block


async def test_every_kind_both_ways() -> None:
    ways = {
        "p": [("m0", "prose"), ("m3", "prose")],
        "m": [("m0", "prose"), ("m1", "prose"), ("m3", "prose"), ("m4", "prose"), ("m6", "prose")],
        "t": [("m1", "tool0"), ("m1", "tool1"), ("m4", "tool0")],
        "e": [("m1", "tool0"), ("m5", "prose")],
        "d": [("m1", "tool1")],
        "s": [("m4", "tool0")],
        "c": [("m2", "compaction")],
    }
    app = PaneApp(GrowingTranscript(TALK))
    async with app.run_test(size=(80, 12)) as pilot:
        await settle(pilot)
        for letter, places in ways.items():
            await pilot.press("G")
            for place in reversed(places):
                await pilot.press("left_square_bracket", letter)
                assert under(app) == place, letter
            assert not app.refused
            await pilot.press("left_square_bracket", letter)
            assert under(app) == places[0] and "There is no further" in app.refused.pop()
            await pilot.press("home")
            for place in places[under(app) == places[0] :]:
                await pilot.press("right_square_bracket", letter)
                assert under(app) == place, letter
            await pilot.press("right_square_bracket", letter)
            assert under(app) == places[-1] and "below" in app.refused.pop()
        await pilot.press("home", "right_square_bracket", "right_square_bracket")
        assert under(app) == ("m3", "prose")


async def test_a_number_before_says_how_often() -> None:
    app = PaneApp(GrowingTranscript(TALK))
    async with app.run_test(size=(80, 12)) as pilot:
        await settle(pilot)
        await pilot.press("3", "left_square_bracket", "t")
        assert under(app) == ("m1", "tool0")
        await pilot.press("2", "right_square_bracket", "t")
        assert under(app) == ("m4", "tool0")
        await pilot.press("home", "2", "J")
        assert under(app) == ("m3", "prose") and "further prompt" in app.refused.pop()
        await pilot.press("home", "1", "0", "j")
        far = app.pane.view.cursor
        await pilot.press("home", *["j"] * 10)
        assert app.pane.view.cursor == far
        await pilot.press("9", "escape", "k")  # another key takes the number with it
        await pilot.press("j")
        assert app.pane.view.cursor == far


async def test_a_number_reaches_what_is_earlier() -> None:
    app = PaneApp(GrowingTranscript([*TALK, *talk(400)], page=60))
    async with app.run_test(size=(80, 12)) as pilot:
        await settle(pilot)
        await pilot.press("2", "left_square_bracket", "e")
        await until(pilot, lambda: under(app) == ("m1", "tool0"))
        assert not app.refused


async def test_what_is_earlier_is_read_until_there_is_one() -> None:
    transcript = GrowingTranscript([*TALK, *talk(400)], page=60)
    app = PaneApp(transcript)
    async with app.run_test(size=(80, 12)) as pilot:
        await settle(pilot)
        await pilot.press("left_square_bracket", "e")
        await until(pilot, lambda: under(app) == ("m5", "prose"))
        await pilot.press("left_square_bracket", "e")
        await until(pilot, lambda: under(app) == ("m1", "tool0"))
        assert not app.refused
    app = PaneApp(GrowingTranscript(talk(400), page=60))
    async with app.run_test(size=(80, 12)) as pilot:
        await settle(pilot)
        await pilot.press("left_square_bracket", "e")
        await until(pilot, lambda: app.refused == ["There is no further error above"])


async def test_hints_say_what_may_follow_and_no_other_key_acts(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("One")
    async with program(claude_home.home, size=(80, 24)) as pilot:
        main = main_of(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: main.parts.is_reading and main.pane.message is not None)
        before = screen_text(pilot).splitlines()[-1]
        await pilot.press("right_square_bracket")
        hints = " p prompt  m message  t tool  e error  d edit  s helper  i image  c compaction"
        await until(pilot, lambda: screen_text(pilot).splitlines()[-1].rstrip() == hints)
        await pilot.press("escape")
        await until(pilot, lambda: screen_text(pilot).splitlines()[-1] == before)
        assert main.parts.is_reading
        for typed in ("]q", "[C", "]r"):  # in one read of the terminal
            for char in typed:
                key = {"]": "right_square_bracket", "[": "left_square_bracket"}.get(char, char)
                pilot.app.post_message(events.Key(key, char))
        await pilot.pause()
        assert pilot.app.is_running and len(pilot.app.screen_stack) == 1 and not toasts(pilot)
        await pilot.press("right_square_bracket", "slash", "escape", "e")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 2)  # the export, as always


async def test_letters_can_be_changed(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("One")
    async with program(claude_home.home, keymap={"jump.error": "x"}) as pilot:
        assert isinstance(pilot.app, HermesApp)
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).pane.message is not None)
        await pilot.press("left_square_bracket", "x")
        await until(pilot, lambda: toasts(pilot) == ["There is no further error above"])


async def test_of_a_keymap_with_a_mistake_nothing_counts_and_that_is_said(
    program: Program, claude_home: ClaudeHome
) -> None:
    claude_home.session("One")
    async with program(claude_home.home, keymap={"jump.error": "x", "list.open": "enter,o"}) as pilot:
        await until(pilot, lambda: bool(toasts(pilot)))
        [said] = toasts(pilot)
        assert "'o' means both list.open and list.order" in said
        assert "no key of the keymap counts" in said
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).pane.message is not None)
        await pilot.press("left_square_bracket", "e")
        await until(pilot, lambda: "There is no further error above" in toasts(pilot))


@pytest.mark.parametrize("output", ["Exit code 2\nno", {"exit_code": 2}])
def test_a_result_without_its_call_is_a_failed_one(output: object) -> None:
    result = said("tool", tool_result=ToolResult(tool_call_id="9", output=output))
    assert is_landmark(result, "error") and is_landmark(result, "tool call") and not calls_of(result, "error")
