"""Where Copilot's sessions are looked for, what a look leaves behind (nothing), which are open, and its commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from databases import run_python
from plain_copilot import (
    DOCUMENTS,
    FORK_ID,
    HELPER_ID,
    HOME,
    IDS,
    PARENT_ID,
    Scribe,
    adapter,
    events_path,
    listed,
    no_report,
    uuid,
)
from session_adapters.base import NativeCommand
from session_adapters.copilot.workspace import Workspace, read_workspace
from session_adapters.model import Problem, SessionSummary
from session_adapters.proc import FileLock, flocks, open_files

# Places ----------------------------------------------------------------------------------------------------------


def test_roots_follow_the_environment(tmp_path: Path) -> None:
    roots = adapter(tmp_path).roots()
    assert [one.path for one in roots] == [
        tmp_path / ".copilot/session-state",
        tmp_path / ".copilot/history-session-state",
        tmp_path / ".config/github-copilot/sessions",
    ]
    assert not any(one.exists for one in roots)
    moved = adapter(tmp_path, COPILOT_HOME="~/c", XDG_CONFIG_HOME="/etc/x", XDG_STATE_HOME=str(tmp_path)).roots()
    assert [str(one.path) for one in moved] == [
        str(tmp_path / "c/session-state"),
        str(tmp_path / "c/history-session-state"),
        "/etc/x/github-copilot/sessions",
    ]


def test_versions_until_0_0_42x_kept_their_state_elsewhere(tmp_path: Path) -> None:
    Scribe(tmp_path, uuid(1)).turn("a", "A")
    (tmp_path / ".copilot").rename(tmp_path / "moved")
    (tmp_path / "state").mkdir()
    (tmp_path / "moved").rename(tmp_path / "state/.copilot")
    assert set(listed(adapter(tmp_path, XDG_STATE_HOME="~/state"))) == {uuid(1)}
    assert listed(adapter(tmp_path)) == {}


def test_what_is_no_session(tmp_path: Path, problems: list[Problem]) -> None:
    Scribe(tmp_path).turn("a", "A")
    state = tmp_path / ".copilot/session-state"
    for name in (".session-operation-locks", "empty", "zero", "pipe", "folder", "loop"):
        (state / name).mkdir()
    (state / ".session-operation-locks/events.jsonl").write_text("{}\n")
    (state / "zero/events.jsonl").touch()
    os.mkfifo(state / "pipe/events.jsonl")
    (state / "folder/events.jsonl").mkdir()
    (state / "loop/events.jsonl").symlink_to("events.jsonl")
    (state / "twice").symlink_to(state / uuid(1))
    (state / "notes.txt").write_text("x")
    found = list(adapter(tmp_path).sources(problems.append))
    assert [one.session_id for one in found] == [uuid(1)]
    reasons = {Path(one.path).parent.name: one.reason for one in problems}
    assert set(reasons) == {"pipe", "folder", "loop"}
    assert reasons["pipe"] == reasons["folder"] == "is not a regular file"


def test_an_unreadable_folder_is_said(tmp_path: Path, problems: list[Problem]) -> None:
    (tmp_path / ".copilot").mkdir()
    (tmp_path / ".copilot/session-state").write_text("not a folder")
    folder = tmp_path / ".config/github-copilot/sessions"
    folder.mkdir(parents=True)
    (folder / "gh-1.json").write_text('[{"role": "user", "content": "a"}]')
    assert [one.session_id for one in adapter(tmp_path).sources(problems.append)] == ["gh-1"]
    assert [one.path for one in problems] == [str(tmp_path / ".copilot/session-state")]


def test_renaming_changes_the_stamp(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.turn("a", "A")
    (before,) = adapter(tmp_path).sources(no_report)
    (scribe.path.parent / "workspace.yaml").write_text("name: new\n")
    (after,) = adapter(tmp_path).sources(no_report)
    assert before.stamp != after.stamp


# workspace.yaml --------------------------------------------------------------------------------------------------

NAMES = (
    "plain",
    "Broken: prompt",
    "it's",
    '"quoted"',
    "ends with:",
    "a #hash",
    "- dash",
    "123",
    "true",
    "null",
    "~",
    "2026-11-21",
    "日本語 👩‍💻",
    "two\nlines",
    "trailing ",
    "* star",
    "[x]",
    "long " * 60,
    "tab\there",
    "",
)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_read_however_they_are_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / "workspace.yaml"
    entries = {"id": "x", "cwd": "/w", "branch": "main", "name": name, "user_named": True, "summary_count": 0}
    for width in (80, 10_000):
        path.write_text(yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=width))
        expected = Workspace(name=name, user_named=True, cwd="/w", branch="main")
        assert read_workspace(str(path)) == (expected, "")


@pytest.mark.parametrize("session_id", IDS)
def test_the_plain_reading_is_that_of_a_yaml_parser(session_id: str) -> None:
    path = events_path(session_id).with_name("workspace.yaml")
    whole = yaml.safe_load(path.read_text())
    expected = {name: whole.get(name, "") for name in ("name", "user_named", "cwd", "branch", "client_name")}
    found, reason = read_workspace(str(path))
    assert not reason and {name: getattr(found, name) for name in expected} == expected


def test_a_plain_workspace_loads_no_parser() -> None:
    code = """
import sys
from session_adapters.copilot.workspace import read_workspace
found, reason = read_workspace(sys.argv[1])
assert found.name and not reason, (found, reason)
assert "yaml" not in sys.modules
"""
    run_python(code, events_path(IDS[0]).with_name("workspace.yaml"))


@pytest.mark.parametrize(
    "text",
    [
        "name: b: c",
        "name: x\n  y: " + "[" * 100_000,
        "[" * 100_000,
        "- x",
        "\x00\x01",
        "name: &a [*a]",
        "name: !!python/object:x {}",
        "7",
        'name: "half',
        "name: " + "{" * 100_000,
    ],
)
def test_a_damaged_workspace_is_said_and_no_more(tmp_path: Path, text: str) -> None:
    scribe = Scribe(tmp_path)
    scribe.turn("the prompt", "A")
    (scribe.path.parent / "workspace.yaml").write_text(text)
    found: list[Problem] = []
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    (summary,) = reader.summaries(source, found.append)
    assert summary.title == "the prompt"
    assert all(one.path.endswith("workspace.yaml") and one.reason for one in found)
    assert found


# Live ------------------------------------------------------------------------------------------------------------

HAS_PROC = sys.platform == "linux"
"""Elsewhere it cannot be known which sessions are open."""

_HOLD = """
import fcntl, os, sys
kept = []
for folder in sys.argv[2:]:
    pid = os.getpid()
    open(f"{folder}/inuse.{pid}.lock", "w").write(str(pid))
    kept.append(open(f"{folder}/inuse.{pid}.hold", "w"))
    if sys.argv[1] == "lock":
        fcntl.flock(kept[-1], fcntl.LOCK_EX)
    elif sys.argv[1] == "other":
        kept.append(open(f"{folder}/other", "w"))
        fcntl.flock(kept[-1], fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(what: str, *folders: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has sessions in use, as Copilot does, until the block ends."""
    command = [sys.executable, "-c", _HOLD, what, *map(str, folders)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def test_open_sessions_are_seen_and_no_lock_is_taken(tmp_path: Path) -> None:
    folders = [Scribe(tmp_path, uuid(number)).path.parent for number in (1, 2, 3)]
    reader = adapter(tmp_path)
    assert reader.live() == {}
    with holder("lock", *folders[:2]) as process:
        now = {name: one.pid for name, one in reader.live().items()}
        assert now == ({uuid(1): process.pid, uuid(2): process.pid} if HAS_PROC else {})
        process.kill()
        process.wait()
        # Both files stay.
        assert len(list(folders[0].glob("inuse.*"))) == 2
        assert reader.live() == {}
    for what in ("open", "other"):
        with holder(what, folders[2]):
            assert reader.live() == {}


def test_a_lock_of_another_kind_is_no_sign(tmp_path: Path) -> None:
    folder = Scribe(tmp_path).path.parent
    code = "import fcntl, sys\nf = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX)\nprint('held', flush=True)\n"
    for name in ("inuse.1.hold", "other.hold"):
        command = [sys.executable, "-c", code + "sys.stdin.read()", str(folder / name)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        assert adapter(tmp_path).live() == {}
        process.communicate("")


def test_the_table_of_locks(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text(
        "1: FLOCK  ADVISORY  WRITE 7 fd:01:99 0 EOF\n"
        "1: -> FLOCK  ADVISORY  WRITE 8 fd:01:99 0 EOF\n"
        "2: POSIX  ADVISORY  READ 9 fd:01:98 128 128\nodd\n3: FLOCK x y z q\n"
    )
    assert list(flocks(tmp_path)) == [FileLock("FLOCK", "WRITE", 7, (0xFD, 1), 99)]
    assert not list(flocks(tmp_path / "nowhere"))
    assert not list(open_files(tmp_path, 7))


# Commands --------------------------------------------------------------------------------------------------------


def test_resume() -> None:
    reader = adapter(HOME)
    found = listed(reader)
    assert reader.resume_command(found[PARENT_ID]) == NativeCommand(
        argv=("copilot", f"--resume={PARENT_ID}"), cwd="/home/dev/shop"
    )
    assert reader.resume_command(found[HELPER_ID]) is None
    # /fork is typed inside a session; there is no option for it.
    assert reader.fork_command(found[PARENT_ID]) is None
    assert (reader.capabilities.can_resume, reader.capabilities.can_fork) == (True, False)
    assert reader.capabilities.session_persistence == "file"


def test_documents_are_not_copilots_own() -> None:
    reader = adapter(DOCUMENTS)
    assert [reader.resume_command(one) for one in listed(reader).values()] == [None, None]


def test_another_home_is_handed_on(tmp_path: Path) -> None:
    summary = SessionSummary(agent="copilot", session_id=FORK_ID, cwd="/w; rm -rf ~")
    command = adapter(tmp_path, COPILOT_HOME="~/x").resume_command(summary)
    assert command is not None
    assert command.argv == ("copilot", f"--resume={FORK_ID}")
    assert command.env == {"COPILOT_HOME": str(tmp_path / "x")}
    assert command.cwd == "/w; rm -rf ~" and command.warning is None


def test_hazards_are_said(tmp_path: Path) -> None:
    reader = adapter(tmp_path)
    live = reader.resume_command(SessionSummary(agent="copilot", session_id=uuid(1), live=True))
    assert live is not None and live.warning == "Another process has the session open"
    older = SessionSummary(agent="copilot", session_id="my-session", raw={"layout": "session-state/<id>.jsonl"})
    command = reader.resume_command(older)
    assert command is not None and command.warning == (
        "An older version wrote this session, and today's may not find it; "
        "this id is no uuid, so Copilot will look for a session of that name"
    )


@pytest.mark.parametrize("session_id", ["--last", "-c", "a b", "x;y", "", "../x", "a\nb", "a:b"])
def test_an_id_that_could_be_something_else_gives_no_command(session_id: str) -> None:
    summary = SessionSummary(agent="copilot", session_id=session_id)
    assert adapter(Path("/nowhere")).resume_command(summary) is None
