"""All edits of a session, by file, and the patch that git takes."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.sessions.edits.collect import FileDiff, SessionEdits
from hermes_tui.sessions.edits.sections import compared_texts
from hermes_tui.sessions.export import export
from session_adapters.model import Message, Session, ToolCall

LINES = "".join(f"line {number}\n" for number in range(1, 31))
NUMBERED = "".join(f"{number}\tline {number}\n" for number in range(1, 31)) + "31\t"


def call(name: str, given: Any, output: Any = "ok", **more: Any) -> ToolCall:
    return ToolCall(tool_call_id="1", tool_name=name, input=given, output=output, **more)


def edit(path: str, old: str, new: str, output: Any = "ok", **more: Any) -> ToolCall:
    return call("Edit", {"file_path": path, "old_string": old, "new_string": new}, output, **more)


def session(*calls: ToolCall, **facts: Any) -> Session:
    messages = [Message(role="assistant", tool_calls=(one,)) for one in calls]
    return Session(**{"agent": "claude", "session_id": "s", "cwd": "/home/dev/shop", "messages": messages, **facts})


def patch_of(*calls: ToolCall) -> str:
    return b"".join(export(session(*calls), "patch")).decode()


def applied(place: Path, files: Mapping[str, str], text: str) -> dict[str, str]:
    """The files after git applied the patch to those."""
    for name, content in files.items():
        (place / name).write_bytes(content.encode())
    patch = place.parent / "all.patch"
    patch.write_bytes(text.encode())
    subprocess.run(["git", "apply", str(patch)], cwd=place, check=True, capture_output=True)
    return {
        str(path.relative_to(place)): path.read_bytes().decode()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory that is no repository."""
    path = tmp_path / "shop"
    path.mkdir()
    return path


def test_edits_of_a_file_that_was_read_become_one_change(place: Path) -> None:
    text = patch_of(
        call("Read", {"file_path": "/home/dev/shop/a.py"}, NUMBERED),
        edit("/home/dev/shop/a.py", "ne 5\nlin", "NE 5\nLIN"),
        edit("/home/dev/shop/a.py", "LINe 6", "line six"),
        edit("/home/dev/shop/a.py", "line 25", "x\ny"),
    )
    assert text.count("diff --git") == 1 and text.count("@@ -") == 2
    wanted = LINES.replace("line 5\nline 6", "liNE 5\nline six").replace("line 25", "x\ny")
    assert applied(place, {"a.py": LINES}, text) == {"a.py": wanted}


def test_a_part_that_was_read_gives_the_numbers_of_its_lines(place: Path) -> None:
    part = "".join(f"   {number}→line {number}\n" for number in range(10, 20))
    text = patch_of(
        call("Read", {"file_path": "a.py", "offset": 10, "limit": 10}, part), edit("a.py", "line 14", "LINE")
    )
    assert "@@ -11,7 +11,7 @@" in text
    assert applied(place, {"a.py": LINES}, text) == {"a.py": LINES.replace("line 14", "LINE")}


def test_edits_of_a_file_nobody_read_are_found_by_their_own_lines(place: Path) -> None:
    text = patch_of(
        edit("a.py", "line 7\nline 8\nline 9", "line 7\nL8\nline 9"),
        edit("a.py", "L8\nline 9\nline 10", "L8\nL9\nline 10"),
    )
    assert applied(place, {"a.py": LINES}, text) == {"a.py": LINES.replace("line 8\nline 9", "L8\nL9")}


def test_a_file_that_one_patch_changed_and_moved_goes_on_from_there(place: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n line 3\n-line 4\n+LINE 4\n line 5\n"
        "*** End Patch"
    )
    text = patch_of(
        call("Read", {"file_path": "a.py"}, NUMBERED),
        call("apply_patch", patch),
        edit("b.py", "LINE 4\nline 5", "LINE 4\nLINE 5"),
    )
    assert applied(place, {"a.py": LINES}, text) == {"b.py": LINES.replace("line 4\nline 5", "LINE 4\nLINE 5")}


def test_files_come_go_and_move(place: Path) -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new.py\n+one\n+two\n*** Update File: a.py\n*** Move to: b.py\n@@\n line 3\n"
        "-line 4\n+LINE 4\n line 5\n*** Delete File: gone.py\n*** End Patch"
    )
    text = patch_of(
        call("read_file", {"path": "gone.py"}, "1\n2"),
        call("apply_patch", patch),
        call("apply_patch", "*** Begin Patch\n*** Update File: new.py\n@@\n one\n-two\n+2\n*** End Patch"),
        call("Write", {"file_path": "/home/dev/shop/end.py", "content": "no newline"}, "File created successfully"),
        call("Write", {"file_path": "it came", "content": "x"}, "created"),
        call("apply_patch", "*** Begin Patch\n*** Delete File: it came\n*** End Patch"),
    )
    assert applied(place, {"a.py": LINES, "gone.py": "1\n2\n"}, text) == {
        "b.py": LINES.replace("line 4", "LINE 4"),
        "end.py": "no newline",
        "new.py": "one\n2\n",
    }


def test_what_cannot_be_told_is_said_and_the_rest_applies(place: Path) -> None:
    text = patch_of(
        edit("a.py", "return total", "return total - 1"),
        call("edit_file_v2", {"relativeWorkspacePath": "b.py"}),
        call("Write", {"file_path": "c.py", "content": "c\n"}, "ok"),
        edit("d.py", "a", "b", is_error=True),
        call("apply_patch", "*** Begin Patch\n*** Delete File: e.py\n*** End Patch"),
        edit("/etc/hosts", "a\nb\nc", "a\nB\nc"),
    )
    comments = [line for line in text.splitlines() if line.startswith("# ")]
    assert comments[1:] == [
        "# 1 edit failed and left out",
        "# a.py: its place in the file is not known",
        "# -return total",
        "# +return total - 1",
        "# b.py: what was changed is not in the store",
        "# c.py: whether it was there before is not known: it is taken for new",
        "# e.py: what stood in it is not known",
        "# /etc/hosts: outside of the session's directory",
    ]
    assert "d.py" not in text and "a/etc/hosts" in text
    assert applied(place, {}, text.partition("# /etc/hosts")[0]) == {"c.py": "c\n"}


def test_what_was_taken_back_or_done_by_the_parent_is_left_out() -> None:
    found = SessionEdits(None)
    one = edit("a.py", "a\nb\nc", "a\nB\nc")
    found.take(Message(role="assistant", tool_calls=(one,), visibility="rewound"))
    found.take(Message(role="assistant", tool_calls=(one,), inherited=True))
    assert found.files == []
    found.take(Message(role="assistant", tool_calls=(one,), visibility="compacted"))
    assert [(file.path, file.added, file.removed) for file in map(FileDiff.of, found.files)] == [("a.py", 1, 1)]


WAITING = edit("a.py", "x", "y", output=None)


@pytest.mark.parametrize(
    ("calls", "changed", "unanswered"),
    [
        ([[edit("b.py", "x", "y")], [WAITING]], ["b.py"], 1),
        ([[edit("b.py", "x", "y"), WAITING]], ["b.py"], 1),
        ([[WAITING], [], [edit("b.py", "x", "y")]], ["b.py"], 1),
        ([[WAITING]], [], 1),
        # An agent that stores no results.
        ([[WAITING], [edit("b.py", "x", "y", output=None)], []], ["a.py", "b.py"], 0),
        ([[call("Read", {"file_path": "b.py"}, None)], [WAITING], []], ["a.py"], 0),
    ],
)
def test_an_edit_that_waits_for_leave_is_left_out(
    calls: list[list[ToolCall]], changed: list[str], unanswered: int
) -> None:
    messages = [Message(role="assistant", tool_calls=tuple(some)) for some in calls]
    found = SessionEdits(None)
    for one in messages:
        found.take(one)
    found.end()
    assert ([file.path for file in found.files], found.unanswered) == (changed, unanswered)
    text = b"".join(export(session(messages=messages), "patch")).decode()
    assert ("# 1 edit without a result and left out" in text) == bool(unanswered)


def test_a_name_cannot_begin_another_line_or_leave_the_directory(place: Path) -> None:
    name = 'x"\n+++ b/y\x1b[31m'
    text = patch_of(call("Write", {"file_path": name, "content": "x\n"}, "created"))
    assert "\x1b" not in text
    assert applied(place, {}, text) == {name: "x\n"}
    outside = patch_of(call("Write", {"file_path": "../y", "content": "x\n"}, "created"))
    with pytest.raises(subprocess.CalledProcessError):
        applied(place, {}, outside)


def test_long_texts_that_differ_everywhere_are_compared_at_once() -> None:
    one, other = "".join(f"a{n}\n" for n in range(15_000)), "".join(f"b{n}\n" for n in range(15_000))
    (hunk,) = compared_texts("same\n" + one + "end\n", "same\n" + other + "end\n")
    assert hunk.heading == "@@ -1,15002 +1,15002 @@"
