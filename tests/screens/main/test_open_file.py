"""`E` opens the file that a line names in the user's editor, at the line, and the screen comes back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.platform.external_programs import editor_at
from hermes_tui.sessions.file_places import FilePlace, named_by, named_in, there
from hermes_tui.tui.screens import open_file
from pilots import main_of, toasts, until
from session_adapters.model import ToolCall

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("see src/cart.py:88: error", [("src/cart.py", 88)]),
        ("`a.py:3`, (b.py:4) │ c.py:5:12 │", [("a.py", 3), ("b.py", 4), ("c.py", 5)]),
        ('  File "/srv/shop/my cart.py", line 12, in pay', [("/srv/shop/my cart.py", 12)]),
        ("at 10:31 it was done", [("10", 31)]),  # no such file: nothing comes of it
        ("nothing here", []),
    ],
)
def test_places_in_texts(text: str, places: list[tuple[str, int]]) -> None:
    assert list(named_in(text)) == places


def test_places_of_calls() -> None:
    read = ToolCall(tool_call_id="1", tool_name="Read", input={"file_path": "a.py", "offset": 40, "limit": 9})
    assert next(named_by(read)) == ("a.py", 40)
    assert list(named_by(ToolCall(tool_call_id="1", tool_name="Bash", input={"command": "ls"}))) == []


def test_only_plain_files_are_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    (tmp_path / "-c").touch()
    assert there(FilePlace("a.py"), str(tmp_path)) == tmp_path / "a.py"
    assert str(there(FilePlace("-c"), str(tmp_path))).startswith("/")  # no option of any editor
    for path in (".", "missing.py", "/dev/null", "a\0b", "~nobody-of-that-name/x"):
        assert there(FilePlace(path), str(tmp_path)) is None
    assert there(FilePlace("a.py"), None) is None


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("vim", ["+88", "/x/a.py"]),
        ("nano", ["+88", "/x/a.py"]),
        ("code", ["--goto", "/x/a.py:88"]),
        ("hx", ["/x/a.py:88"]),
        ("myed", ["/x/a.py"]),
    ],
)
def test_how_editors_are_told_the_line(tmp_path: Path, name: str, argv: list[str]) -> None:
    program = tmp_path / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    variables = {"VISUAL": f"{program} --wait", "EDITOR": "false"}
    assert editor_at("/x/a.py", 88, variables) == [str(program), "--wait", *argv]
    assert editor_at("/x/a.py", 0, variables) == [str(program), "--wait", "/x/a.py"]


async def test_from_the_line_under_the_cursor(
    program: Program, claude_home: ClaudeHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "cart.py").touch()
    ran: list[list[str]] = []

    def run(app: object, argv: list[str]) -> int:
        ran.append(argv)
        return 3

    monkeypatch.setattr(open_file, "run_outside", run)
    monkeypatch.setattr(open_file, "editor_at", lambda path, line: ["vim", f"+{line}", path])
    path = claude_home.session("One")
    for said in (f"{project}/cart.py:88 is it", "gone.py:3 is wrong", "no file"):
        claude_home.say(path, "assistant", said)
    async with program(claude_home.home, size=(240, 30)) as pilot:
        main = main_of(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: main.parts.is_reading and main.pane.message is not None)
        await pilot.press("E")
        await until(pilot, lambda: toasts(pilot) == ["This line names no file."])
        pilot.app.clear_notifications()
        await pilot.press("left_square_bracket", "m", "left_square_bracket", "m", "j", "E")
        await until(pilot, lambda: toasts(pilot) == ["gone.py is not there."])
        pilot.app.clear_notifications()
        await pilot.press("left_square_bracket", "m", "left_square_bracket", "m", "j", "E")
        await until(pilot, lambda: toasts(pilot) == ["The editor ended with code 3."])
        assert ran == [["vim", "+88", f"{project}/cart.py"]]
