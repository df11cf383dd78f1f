"""Calls of common tools: what their folded line says, and what is drawn below it when they are opened."""

from __future__ import annotations

from typing import Any

import pytest

from pilots import screen_text, until
from session_adapters.model import ToolCall
from transcripts import GrowingTranscript, PaneApp, said, settle

PATCH = "*** Begin Patch\n*** Update File: src/cart.py\n@@\n-a = 1\n+a = 2\n*** End Patch"
TODOS = [
    {"content": "Read the cart", "status": "completed", "activeForm": "Reading the cart"},
    {"content": "Mend the sum", "status": "in_progress", "activeForm": "Mending the sum"},
    {"content": "Test it", "status": "pending", "activeForm": "Testing it"},
]
QUESTION = {
    "question": "Which currency?",
    "options": [{"label": "Euro", "description": "what most pay"}, {"label": "Yen", "description": "the rest"}],
}
ANSWER = 'User has answered your questions: "Which currency?"="Euro". You can now continue.'

CALLS: dict[str, tuple[str, Any, str, str, tuple[str, ...]]] = {
    "Claude's list": (
        *("TodoWrite", {"todos": TODOS}, "ok", "TodoWrite  1 of 3 done · now: Mend the sum"),
        ("✓ done     Read the cart", "● now      Mend the sum", "○ open     Test it"),
    ),
    "Claude's question": (
        *("AskUserQuestion", {"questions": [QUESTION]}, ANSWER, "AskUserQuestion  Which currency? → Euro"),
        ("● Euro  what most pay", "○ Yen  the rest", "→ Euro"),
    ),
    "Claude's plan": (
        *("ExitPlanMode", {"plan": "# Mend it\n\n1. Read `cart.py`\n"}, "approved", "ExitPlanMode  Mend it"),
        ("1 Read cart.py",),
    ),
    "omp's helpers": (
        "task",
        {"agent": "scout", "tasks": [{"id": "A", "description": "count pears"}, {"id": "B", "description": "plums"}]},
        *("done", "task   ", ("1. count pears", "2. plums")),
    ),
    "Codex' plan": (
        "update_plan",
        {"plan": [{"step": "Read", "status": "completed"}, {"step": "Mend", "status": "in_progress"}]},
        *("Plan updated", "update_plan  1 of 2 done · now: Mend", ("✓ done     Read", "● now      Mend")),
    ),
    "Codex' patch": ("apply_patch", PATCH, "Success", "apply_patch  src/cart.py", ("- a = 1", "+ a = 2")),
    "Cursor's edit": (
        *("edit_file_v2", {"relativeWorkspacePath": "NOTES.md"}, '{"afterContentId": "x"}'),
        *("edit_file_v2  NOTES.md", ("afterContentId",)),
    ),
    "a tool of a server": (
        *("mcp__github__create_issue", {"title": "One cent off"}, "#12"),
        *("github · create_issue  ", ("title  One cent off",)),
    ),
    "a command": (
        "Bash",
        {"command": "pytest -q", "description": "Test"},
        "3 passed",
        "Bash   pytest -q",
        ("3 passed",),
    ),
    "a command in parts": (
        *("shell", {"command": ["bash", "-lc", "ls -la"]}, "a.py", "shell  ", ("ls -la", "a.py")),
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("width", [80, 160])
async def test_folded_and_opened(name: str, width: int) -> None:
    tool, given, output, folded, opened = CALLS[name]
    call = ToolCall(tool_call_id="1", tool_name=tool, input=given, output=output)
    app = PaneApp(
        GrowingTranscript([said("user", "Go on", id="m0"), said("assistant", "Yes.", 1, id="m1", tool_calls=(call,))])
    )
    async with app.run_test(size=(width, 30)) as pilot:
        await settle(pilot)
        lines = [line.strip("│▎ ") for line in screen_text(pilot).splitlines()]
        assert any(line.startswith(f"▸ {folded}") for line in lines), lines
        assert not any(line.startswith(opened[0]) for line in lines)
        await pilot.press("g", "right_square_bracket", "t", "space")
        await until(pilot, lambda: all(text in screen_text(pilot) for text in opened))


async def test_an_edit_that_the_store_does_not_hold_is_one_all_the_same() -> None:
    calls = tuple(
        ToolCall(
            tool_call_id=name, tool_name=name, input={"relativeWorkspacePath": f"{name}.md"}, output="{}\n{}\n{}"
        )
        for name in ("read_file_v2", "edit_file_v2")
    )
    app = PaneApp(GrowingTranscript([said("assistant", "I write.", id="m0", tool_calls=calls)]))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        lines = [line.strip("│▎ ") for line in screen_text(pilot).splitlines() if "_file_v2" in line]
        assert [line.split(".md")[1].strip() for line in lines] == ["3 lines", "change not stored"]
        await pilot.press("g", "right_square_bracket", "d")
        await settle(pilot)
        piece = app.pane.view.piece()
        assert piece is not None and piece.block == "tool1"
        await pilot.press("O")
        await until(pilot, lambda: "Outline · 1" in screen_text(pilot) and "file   " in screen_text(pilot))
