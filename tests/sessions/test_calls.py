"""One line for a tool call: what it was about and how it went."""

from __future__ import annotations

from typing import Any

import pytest

from hermes_tui.sessions.calls.arguments import arguments, label, target
from hermes_tui.sessions.calls.edits import edits
from hermes_tui.sessions.calls.files import files_touched
from hermes_tui.sessions.calls.outcome import duration, exit_code, facts, output_text
from session_adapters.model import ToolCall


def _call(given: Any = None, output: Any = None, **more: Any) -> ToolCall:
    return ToolCall(**{"tool_call_id": "1", "tool_name": "x", "input": given, "output": output, **more})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"command": "pytest -x\n  tests", "description": "Run"}, "pytest -x tests"),
        ({"command": ["bash", "-lc", "ls | wc"]}, "ls | wc"),
        ({"command": ["git", "commit", "-m", "two words"]}, "git commit -m 'two words'"),
        ({"file_path": "src/a.py", "offset": 1, "limit": 120}, "src/a.py  1–120"),
        ({"file_path": "src/a.py", "offset": 7}, "src/a.py  7–"),
        ({"pattern": "now\\(", "path": "src"}, "now\\(  in src"),
        ({"query": "clock", "n": 3}, "clock"),
        ({"url": "https://example.org", "prompt": "what"}, "https://example.org"),
        ({"subagent_type": "x", "prompt": "Do it", "description": "Search for TODO"}, "Search for TODO"),
        ({"a": 1, "b": [2]}, "a: 1, b: [2]"),
        ({"relativeWorkspacePath": "NOTES.md"}, "NOTES.md"),
        (
            {"edits": [{"path": "a.py", "old": "1", "new": "2"}, {"path": "b.py", "old": "1", "new": "2"}]},
            "a.py, b.py",
        ),
        ({"path": "a.py", "edits": [{"oldText": "1", "newText": "2"}]}, "a.py"),
        ({"plan": "# Move the clock\n\n1. Add it"}, "Move the clock"),
        ({"subject": "Fix it", "description": "The coupon is counted twice"}, "Fix it"),
        (
            {"todos": [{"content": "A", "status": "completed"}, {"content": "B", "status": "pending"}]},
            "1 of 2 done · next: B",
        ),
        (
            {"todos": [{"content": "A", "status": "cancelled"}, {"content": "B", "status": "completed"}]},
            "1 of 1 done",
        ),
        ({"explanation": "why", "plan": [{"step": "A", "status": "in_progress"}]}, "0 of 1 done · now: A"),
        ({"todos": "- [x] A\n- [ ] B"}, "1 of 2 done · next: B"),
        (
            {"i": "x", "context": "y", "tasks": [{"description": "Count", "assignment": "Count it"}, {"task": "Z"}]},
            "2 tasks · Count",
        ),
        (
            {"questions": [{"question": "Which?", "options": [{"label": "A"}]}, {"question": "When?"}]},
            "2 questions · Which?",
        ),
        ({"questions": [{"question": "Which?"}, "none"]}, 'questions: [{"question": "Which?"}, "none"]'),
        (
            "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n@@\n+y\n"
            "*** Delete File: c.py\n*** End Patch",
            "a.py, b.py, 1 more",
        ),
        (
            {
                "command": [
                    "bash",
                    "-lc",
                    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch\nEOF",
                ]
            },
            "a.py",
        ),
        ({"command": "grep '*** Begin Patch' a"}, "grep '*** Begin Patch' a"),
        ({}, ""),
        (None, ""),
        ("just text", "just text"),
        ({"command": "\x1b]52;c;eA==\x07"}, "␛]52;c;eA==␇"),
    ],
)
def test_the_target_of_a_call(given: Any, expected: str) -> None:
    assert target(_call(given)) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("Exit code 3\ncat: no such file", 3),
        ('{"output": "x", "exit_code": 0, "error": null}', 0),
        ({"output": "x", "metadata": {"exit": 2}}, 2),
        ("Process exited with code -9", -9),
        ("no code", None),
        ("the exit code 3 is only talked of", None),
        ({"exit_code": True}, None),
        (None, None),
    ],
)
def test_the_exit_code_of_a_call(output: Any, expected: int | None) -> None:
    assert exit_code(output) == expected


def test_how_a_call_went() -> None:
    assert facts(_call(output="Exit code 1\na\nb", is_error=True, duration_ms=4200)) == [
        "error",
        "exit 1",
        "4.2 s",
        "3 lines",
    ]
    assert facts(_call(output="")) == ["no output"]
    assert facts(_call(output="x")) == ["1 line"]
    assert facts(_call()) == ["no result"]
    assert facts(_call({"path": "a", "content": "x\ny\n"}, output="ok")) == ["+2 −0"]


def test_a_call_that_failed_touched_no_file() -> None:
    edit = {"old_string": "1", "new_string": "2"}
    calls = [
        _call({"file_path": "/w/read.py"}, "text"),
        _call({"file_path": "/w/gone.py"}, "no such file", is_error=True),
        _call({"file_path": "/w/read.py", **edit}, "not found", is_error=True),
        _call({"file_path": "/w/never.py", **edit}, "not found", is_error=True),
        _call("*** Begin Patch\n*** Add File: new.py\n+x\n*** End Patch", "Exit code: 1\nno"),
        _call({"file_path": "/w/done.py", **edit}, "no", is_error=True),
        _call({"file_path": "/w/done.py", **edit}, "ok"),
    ]
    assert files_touched(calls, "/w") == {"read.py": "read", "done.py": "edited"}
    waiting = _call({"file_path": "/w/waits.py", **edit})
    assert files_touched([*calls, waiting], "/w") == {"read.py": "read", "done.py": "edited"}
    assert files_touched([waiting], "/w") == {"waits.py": "edited"}, "some agents store no results"


def test_edits_of_every_form() -> None:
    change = edits(_call({"file_path": "a", "old_string": "a\nb\nc", "new_string": "a\nB\nc\nd"}))
    assert change is not None
    assert change.lines == [(" ", "a"), ("-", "b"), ("+", "B"), (" ", "c"), ("+", "d")]
    assert (change.added, change.removed) == (2, 1)
    several = edits(_call({"edits": [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": ""}]}))
    assert several is not None and (several.added, several.removed) == (1, 2)
    patch = edits(_call("*** Begin Patch\n*** Update File: a\n@@\n-old\n+new\n same\n*** End Patch"))
    assert patch is not None and (patch.added, patch.removed) == (1, 1)
    large = edits(_call({"old_string": "a\n" * 5000, "new_string": "b\n" * 5000}))
    assert large is not None and (large.added, large.removed) == (5000, 5000)
    assert edits(_call({"command": "ls"})) is None
    assert edits(_call({"content": "a message, not a file"})) is None
    assert edits(_call({"edits": ["not an edit"]})) is None


def test_a_patch_is_told_by_file_without_its_own_marks() -> None:
    text = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@ def one():\n kept\n-old\n+new\n@@\n+++i;\n"
        "*** Delete File: c.py\n*** End Patch"
    )
    change = edits(_call(text))
    assert change is not None and [(one.path, one.moved, one.kind) for one in change.files] == [
        ("a.py", "b.py", "change"),
        ("c.py", "", "delete"),
    ]
    assert change.lines == [
        ("@", "a.py → b.py"),
        ("@", "⋯ def one():"),
        (" ", "kept"),
        ("-", "old"),
        ("+", "new"),
        ("@", "⋯"),
        ("+", "++i;"),
        ("@", "c.py (deleted)"),
    ]


def test_a_unified_diff_is_told_by_file() -> None:
    text = (
        "diff --git a/a.py b/a.py\nindex 1..2 100644\n--- a/a.py\n+++ b/a.py\n@@ -3,2 +3,2 @@ def one():\n kept\n"
        "--- old\n+new\n\\ No newline at end of file\n--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+made\n"
    )
    change = edits(_call({"patch": text}))
    assert change is not None and [(one.path, one.kind) for one in change.files] == [
        ("a.py", "change"),
        ("b.py", "add"),
    ]
    assert [(hunk.start, hunk.near) for hunk in change.files[0].hunks] == [(3, "def one():")]
    assert change.files[0].hunks[0].rows == [(" ", "kept"), ("-", "-- old"), ("+", "new")]


def test_lists_are_shown_line_by_line() -> None:
    steps = [
        {"content": "A", "status": "completed"},
        {"content": "B", "status": "in_progress"},
        {"content": "C", "status": "pending"},
    ]
    assert list(arguments(_call({"todos": steps}))) == [("todos", "✓ done     A\n● now      B\n○ open     C")]
    asked = [{"question": "Which?", "options": [{"label": "Euro", "description": "most use it"}, {"label": "Yen"}]}]
    said = 'User has answered your questions: "Which?"="Yen". You can now continue.'
    assert list(arguments(_call({"questions": asked}, said))) == [
        ("questions", "Which?\n  ○ Euro  most use it\n  ● Yen\n  → Yen")
    ]
    assert target(_call({"questions": asked}, said)) == "Which? → Yen"
    asked[0]["id"] = "currency"
    assert target(_call({"questions": asked}, '{"answers": {"currency": {"answers": ["Euro"]}}}')) == "Which? → Euro"
    tasks = [{"description": "Count", "assignment": "Count it"}, {"task": "Sort"}]
    assert list(arguments(_call({"tasks": tasks}))) == [("tasks", "1. Count\nCount it\n2. Sort")]
    assert list(arguments(_call({"todos": [{"content": "A"}]}))) == [("todos", '[\n  {\n    "content": "A"\n  }\n]')]


def test_a_tool_of_a_server_is_named_with_it() -> None:
    assert label(ToolCall(tool_call_id="1", tool_name="mcp__git-hub__create_issue")) == "git-hub · create_issue"
    assert label(ToolCall(tool_call_id="1", tool_name="mcp__")) == "mcp__"
    assert label(ToolCall(tool_call_id="1", tool_name="")) == "tool"


def test_output_is_text_where_it_is() -> None:
    assert output_text([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]) == "a\nb"
    assert output_text('{"output": "a\\n", "exit_code": 0, "error": null}') == "a\nexit_code: 0"
    assert output_text({"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}'
    assert output_text('{"torn": ') == '{"torn": '
    assert output_text(None) == ""
    assert "\ud800" in output_text(["\ud800"])
    nested: Any = []
    for _ in range(100_000):
        nested = [nested]
    assert output_text(nested) == "(nested too deeply to be shown)"


def test_durations_are_short() -> None:
    assert [duration(ms) for ms in (0, 340, 4200, 190_000)] == ["0 ms", "340 ms", "4.2 s", "3 min 10 s"]
