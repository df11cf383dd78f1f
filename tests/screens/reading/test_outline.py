"""`O`: the outline of the open session, filtered by typed words, and the jump from it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

from textual.pilot import Pilot
from textual.widgets import Input

from claude_lines import ClaudeHome
from hermes_tui.sessions.outline import outline
from hermes_tui.tui.screens.dialogs.outline import OutlineScreen
from pilots import main_of, screen_text, until
from session_adapters.model import ToolCall
from transcripts import NOON, GrowingTranscript, PaneApp, said, settle, talk

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]

RUN = ToolCall(tool_call_id="1", tool_name="Bash", input={"command": "pytest"}, output="Exit code 1\nno")
EDIT = ToolCall(
    tool_call_id="2",
    tool_name="Edit",
    input={"file_path": "shop/\x1b[31mcart.py", "old_string": "x", "new_string": "y"},
    output="ok",
)
TALK = [
    said("user", "Mend the cart.\nAnd soon.", id="m0"),
    said("assistant", "I run it.", 1, id="m1", tool_calls=(RUN, EDIT)),
    said("user", "Thanks", 2, id="m2"),
    said("assistant", "overloaded", 3, id="m3", kind="error"),
]


def test_what_stands_in_it() -> None:
    found = [(one.message_id, one.call, one.kind, one.time, one.text) for one in outline(TALK)]
    assert [one[:3] for one in found] == [
        ("m0", None, "prompt"),
        ("m1", 0, "error"),
        ("m1", 1, "file"),
        ("m2", None, "prompt"),
        ("m3", None, "error"),
    ]
    assert found[1][3] == NOON + timedelta(minutes=1) and "pytest" in found[1][4]
    assert "cart.py" in found[2][4] and not any("\x1b" in one[4] or "\n" in one[4] for one in found)


async def test_it_is_filtered_and_jumped_from() -> None:
    app = PaneApp(GrowingTranscript([*TALK, *talk(300)], page=50))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("O")
        screen = app.screen
        assert isinstance(screen, OutlineScreen)
        await until(pilot, lambda: screen.heading == "Outline · 155")
        assert screen.rows.cursor > 100  # where the view is, at the end
        await pilot.press(*"error pytest")
        await until(pilot, lambda: screen.rows.count == 1 and "Bash pytest" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: app.pane.message is not None and app.pane.message.id == "m1")
        piece = app.pane.view.piece()
        assert piece is not None and piece.block == "tool0"
        await pilot.press("O", "escape")
        assert app.pane.message is not None and app.pane.message.id == "m1"


async def test_of_a_long_session_all_is_shown_and_little_loaded(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("A long walk")
    for number in range(1_000):
        claude_home.say(path, "assistant", f"We went on past {number}, " + "and on, " * 600)
    async with program(claude_home.home, size=(120, 30)) as pilot:
        main = main_of(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: main.parts.is_reading and main.pane.message is not None)
        await pilot.press("O")
        await until(pilot, lambda: "Outline · 1 " in screen_text(pilot) and "you  A long walk" in screen_text(pilot))
        assert not main.pane.view.complete
        await pilot.press(*"walrus")
        await until(pilot, lambda: "No place has all these words." in screen_text(pilot))
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, OutlineScreen)
        pilot.app.screen.query_one(Input).value = ""
        await until(pilot, lambda: "you  A long walk" in screen_text(pilot))
        await pilot.press("enter")
        await until(pilot, lambda: main.pane.message is not None and main.pane.message.content == "A long walk")
