"""Twelve tasks of a day with the program, each in at most eight keys; a word that is typed counts as one.

Written down before they were tried. The keys are those of someone who knows `?`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, cast

import pytest
from textual.app import App
from textual.pilot import Pilot

from hermes_tui.demo import STATIC_NOW
from hermes_tui.demo.home import write_home
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens import open_file
from hermes_tui.tui.screens.dialogs.export import ARMED_AFTER, ExportScreen
from hermes_tui.tui.screens.dialogs.save_file import SaveFile
from hermes_tui.tui.screens.dialogs.tags import TagsScreen
from pilots import main_of, screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]

MOST = 8
_CART = "5c2f1d4e-0000-4000-8000-00000000cafe"


class Step(NamedTuple):
    """What is typed, and what is to be seen then, on the screen or in a toast."""

    typed: str
    """The name of a key, or with a blank at its end a word."""
    seen: str = ""


class Task(NamedTuple):
    """From the list, with the cursor on the session of that title."""

    wish: str
    title: str
    steps: tuple[Step, ...]


TASKS = (
    Task(
        "which session touched cart.py last week and what did it cost",
        "Checkout in one page",
        (
            Step("slash"),
            Step("file:cart.py since:2026-11-14 ", "The cart forgets its last line"),
            Step("enter", "~0.18"),
        ),
    ),
    Task(
        "find the second error in this session and open its file at the line",
        "The cart forgets its last line",
        (
            Step("enter", "The cart forgets its last line"),
            Step("g", "It loses the newest"),
            Step("2"),
            Step("right_square_bracket"),
            Step("e", "pytest -q tests/test_cart.py"),
            Step("E", "+3 src/shop/cart.py"),
        ),
    ),
    Task(
        "what failed first of all, and how",
        "Make `address` pass the strict type check.",
        (
            Step("enter", "strict type check"),
            Step("g"),
            Step("right_square_bracket"),
            Step("e"),
            Step("o", "errors"),
        ),
    ),
    Task(
        "show me only what Codex did in shop, dearest first",
        "Checkout in one page",
        (
            Step("a"),
            Step("w"),
            Step("o", "Sort by cost"),
            Step("cost "),
            Step("enter", "Make `address` pass"),
        ),
    ),
    Task(
        "what did it change, as a patch",
        "Checkout in one page",
        (Step("D", "files"), Step("e", ".patch"), Step("enter", "Wrote ")),
    ),
    Task(
        "read the sub-agent's answer and come back",
        "Fix the flaky login test",
        (
            Step("enter", "Fix the flaky login test"),
            Step("left_square_bracket"),
            Step("s", "Search for TODO"),
            Step("enter", "Search for TODO comments"),
            Step("G"),
            Step("escape", "Fix the flaky login test"),
        ),
    ),
    Task(
        "save the picture that somebody sent",
        "Was steht auf dem Schild? 📷",
        (
            Step("enter", "Schild"),
            Step("left_square_bracket"),
            Step("i", "[image/"),
            Step("w", "Save the image"),
            Step("enter", "Wrote ~/hermes-was-steht"),
        ),
    ),
    Task(
        "where does this session speak of rates, and where else",
        "VAT by country",
        (
            Step("enter", "VAT by country"),
            Step("g"),
            Step("slash", "find"),
            Step("rates "),
            Step("enter", "1 of"),
            Step("n", "2 of"),
        ),
    ),
    Task(
        "what did we spend this month, by branch",
        "Checkout in one page",
        (
            Step("C", "last 30 days"),
            Step("r", "last 90 days"),
            Step("r", "this month"),
            Step("tab"),
            Step("tab"),
            Step("tab", "By branch"),
        ),
    ),
    Task(
        "how does the fork differ from its origin",
        "Try it as two pages: address and delivery together",
        (Step("d", "Checkout in one page"), Step("n")),
    ),
    Task(
        "copy the command that failed",
        "Fix the flaky login test",
        (
            Step("enter", "Fix the flaky login test"),
            Step("left_square_bracket"),
            Step("e", "error"),
            Step("y", "Copy"),
            Step("enter", "opied"),
        ),
    ),
    Task(
        "tag three sessions at once",
        "Checkout in one page",
        (
            Step("space"),
            Step("space"),
            Step("space", "3 marked"),
            Step("t", "Tags of 3 marked sessions"),
            Step("release "),
            Step("enter"),
            Step("k", "#release"),
        ),
    ),
)


def _forgetful_cart(home: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the demo a session of five days ago in which cart.py is edited, and two commands fail; the second says
    in which line of that file, which is there. What the editor is told is said in a toast."""
    (project / "src" / "shop").mkdir(parents=True)
    (project / "src" / "shop" / "cart.py").write_text("lines = []\n\nassert lines\n")
    failed = "src/shop/cart.py:3: AssertionError"
    asked, begun = STATIC_NOW - timedelta(days=5), [0]

    def record(role: str, content: object, **more: object) -> str:
        begun[0] += 1
        at = (asked + timedelta(seconds=begun[0])).isoformat().replace("+00:00", "Z")
        facts = {"sessionId": _CART, "cwd": str(project), "version": "2.1.330", "parentUuid": None, "timestamp": at}
        message = {"role": role, "content": content, **more}
        return json.dumps(
            {**facts, "type": role, "uuid": f"cart-{begun[0]}", "isSidechain": False, "message": message}
        )

    lines = [record("user", "The cart forgets its last line. It loses the newest.")]
    for name, given, output, is_error in (
        ("Bash", {"command": "make check"}, "make: *** No rule to make target 'check'", True),
        ("Edit", {"file_path": str(project / "src/shop/cart.py"), "old_string": "a", "new_string": "b"}, "ok", False),
        ("Bash", {"command": "pytest -q tests/test_cart.py"}, failed, True),
    ):
        call = {"type": "tool_use", "id": f"toolu_{begun[0]}", "name": name, "input": given}
        usage = {"input_tokens": 20_000, "output_tokens": 100}
        lines.append(record("assistant", [call], id=f"msg_{begun[0]}", model="claude-sonnet-4-6", usage=usage))
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": output, "is_error": is_error}
        lines.append(record("user", [result]))
    path = home / ".claude" / "projects" / "-shop" / f"{_CART}.jsonl"
    path.parent.mkdir()
    path.write_text("".join(f"{line}\n" for line in lines))
    os.utime(path, (asked.timestamp(), asked.timestamp()))
    editor = project / "vim"
    editor.write_text("#!/bin/sh\n")
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))

    def told(app: App[None], argv: list[str]) -> int:
        line, file = argv[-2:]
        app.notify(f"{line} {Path(file).relative_to(project)}")
        return 0

    monkeypatch.setattr(open_file, "run_outside", told)


def test_none_takes_more_than_eight_keys() -> None:
    assert len(TASKS) == 12
    assert {task.wish: len(task.steps) for task in TASKS if len(task.steps) > MOST} == {}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.wish.replace(" ", "-")[:40])
async def test_it_is_done(program: Program, tmp_path: Path, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "demo"
    write_home(home, STATIC_NOW)
    _forgetful_cart(home, tmp_path / "shop", monkeypatch)
    async with program(home, size=(160, 48), now=STATIC_NOW, attention=True) as pilot:
        main = main_of(pilot)
        cast(HermesApp, pilot.app).cost_refresh.look()  # as with a clock that runs
        named = [one for one in main.snapshot.sessions if one.title.startswith(task.title) and one.kind != "subagent"]
        assert named, [one.title for one in main.snapshot.sessions]
        main.sessions.reveal(named[0].unified_id)
        for typed, seen in task.steps:
            if typed == "enter" and isinstance(pilot.app.screen, ExportScreen | SaveFile | TagsScreen):
                await pilot.pause(ARMED_AFTER)
            await pilot.press(*(typed.strip() if typed.endswith(" ") else [typed]))
            if seen:
                await until(pilot, lambda: seen in "\n".join([screen_text(pilot), *toasts(pilot)]))  # noqa: B023
