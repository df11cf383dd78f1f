"""Where Codex' sessions are found, what they are called, whether they are open, and how Codex goes on with them."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from plain_codex import FORK_ID, ROOT_ID, STORE, adapter, both, meta, no_report, turn, uuid, write
from session_adapters.base import Adapter, NativeCommand, SessionMissing
from session_adapters.codex.adapter import CodexAdapter
from session_adapters.model import Problem, SessionSummary
from session_adapters.reading.files import METER
from session_adapters.registry import adapter_class

DAEMON = "Codex starts a background app-server that keeps running after you leave it"


def listed(reader: CodexAdapter, report: Callable[[Problem], None] = no_report) -> list[SessionSummary]:
    found = [one for source in reader.sources(report) for one in reader.summaries(source, report)]
    return list(reader.relate(found))


# Finding -------------------------------------------------------------------------------------------------------


def test_it_is_registered() -> None:
    assert adapter_class("codex") is CodexAdapter
    assert (CodexAdapter.name, CodexAdapter.label, CodexAdapter.badge) == ("codex", "Codex CLI", "cx")
    assert issubclass(CodexAdapter, Adapter)


def test_roots_follow_the_variable(tmp_path: Path) -> None:
    default = [str(root.path) for root in adapter(tmp_path).roots()]
    assert default == [str(tmp_path / ".codex/sessions"), str(tmp_path / ".codex/archived_sessions")]
    moved = adapter(tmp_path, CODEX_HOME="~/elsewhere").roots()
    assert [str(root.path) for root in moved] == [
        str(tmp_path / "elsewhere/sessions"), str(tmp_path / "elsewhere/archived_sessions"),
    ]  # fmt: skip
    assert not any(root.exists for root in moved)
    assert list(adapter(tmp_path).sources(no_report)) == []


def test_flat_dated_and_archived(tmp_path: Path) -> None:
    write(tmp_path, uuid(1), meta(uuid(1)), *turn("dated", "A"))
    write(tmp_path, uuid(2), meta(uuid(2)), *turn("flat", "A"), folder="sessions")
    write(tmp_path, uuid(3), meta(uuid(3)), *turn("archived", "A"), folder="archived_sessions")
    assert {(one.title, one.archived) for one in listed(adapter(tmp_path))} == {
        ("dated", False), ("flat", False), ("archived", True),
    }  # fmt: skip


@pytest.mark.parametrize("longer", ["sessions", "archived_sessions", "neither"])
def test_a_session_in_both_folders_is_one(tmp_path: Path, longer: str) -> None:
    """The longer copy counts; of equal ones the one that is not archived."""
    for folder in ("sessions", "archived_sessions"):
        more = turn("b", "B", 5) if folder == longer else []
        write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"), *more, folder=folder)
    reader = adapter(tmp_path)
    (summary,) = listed(reader)
    assert summary.archived == (longer == "archived_sessions")
    source = reader.find(uuid(1))
    assert source is not None and source.path == summary.path


def test_a_file_whose_name_does_not_tell_is_found_by_its_beginning(tmp_path: Path) -> None:
    path = write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"))
    path = path.rename(path.with_name("rollout-copy.jsonl"))
    other = write(tmp_path, uuid(2), meta(uuid(2)), *turn("b", "B"))
    reader = adapter(tmp_path)
    METER.reset()
    source = reader.find(uuid(1))
    assert source is not None and source.path == str(path) and METER.opened == 1
    assert reader.session(source, uuid(1)).session_id == uuid(1)
    assert reader.find("../../etc/passwd") is None and reader.find("") is None
    source = reader.find(uuid(2))
    assert source is not None and source.path == str(other)
    with pytest.raises(SessionMissing):
        reader.session(source, uuid(1))


def test_compressed_and_unreadable_places_are_reported(tmp_path: Path, problems: list[Problem]) -> None:
    path = write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"))
    (path.parent / f"rollout-2026-11-21T09-00-00-{uuid(2)}.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (path.parent / f"rollout-2026-11-21T09-00-00-{uuid(3)}.jsonl").mkdir()
    os.mkfifo(path.parent / f"rollout-2026-11-21T09-00-00-{uuid(4)}.jsonl")
    (path.parent / f"rollout-2026-11-21T09-00-00-{uuid(5)}.jsonl").symlink_to(tmp_path / "nowhere")
    (path.parent / "round").symlink_to(tmp_path / ".codex/sessions")
    assert [one.session_id for one in listed(adapter(tmp_path), problems.append)] == [uuid(1)]
    reasons = {Path(problem.path).name.partition(".")[0][-4:]: problem.reason for problem in problems}
    assert "compressed" in reasons[uuid(2)[-4:]]
    assert "not a regular file" in reasons[uuid(4)[-4:]]
    assert len(problems) == 2


def test_links_are_followed_but_those_to_what_is_around_the_store(tmp_path: Path, problems: list[Problem]) -> None:
    """A link to `/` would have the files of every other program read."""
    for number, name in ((1, "moved"), (2, "home")):
        write(tmp_path / name, uuid(number), meta(uuid(number)), *turn("a", "A"))
    write(tmp_path, uuid(3), meta(uuid(3)), *turn("a", "A"))
    home, moved = tmp_path / "home", tmp_path / "moved/.codex/sessions"
    sessions = (home / ".codex/sessions").rename(home / "elsewhere")
    (home / ".codex/sessions").symlink_to(sessions)
    (sessions / "disk").symlink_to(moved)
    (sessions / "self").symlink_to(".")
    (moved / "back").symlink_to(sessions)
    for link, target in (("up", ".."), ("top", tmp_path), ("root", "/")):
        (sessions / link).symlink_to(target)
    assert sorted(one.session_id for one in listed(adapter(home), problems.append)) == [uuid(1), uuid(2)]
    assert [(Path(one.path).name, one.reason.rpartition("; ")[2]) for one in problems] == [
        ("root", "not followed"),
        ("top", "not followed"),
        ("up", "not followed"),
    ]


def test_what_lies_too_deep_is_said(tmp_path: Path, problems: list[Problem]) -> None:
    path = write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"))
    ninth = tmp_path / ".codex/sessions/1/2/3/4/5/6/7/8/9"
    (ninth / "10").mkdir(parents=True)
    path.rename(ninth / path.name)
    assert listed(adapter(tmp_path), problems.append) == []
    said = "not read: it lies more than 8 folders deep"
    assert [(problem.path, problem.reason) for problem in problems] == [(str(ninth), said)]
    (ninth.parent / "also").mkdir()
    assert listed(adapter(tmp_path), problems.append) == []
    assert problems[1:] == [Problem(agent="codex", path=str(ninth), reason=f"{said}, like 1 more")]


def test_names_given_by_the_user(tmp_path: Path, problems: list[Problem]) -> None:
    write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"))
    index = tmp_path / ".codex/session_index.jsonl"
    index.write_text(
        json.dumps({"id": uuid(1), "thread_name": "old"}) + "\nhalf a line\n"
        + json.dumps({"id": uuid(1), "thread_name": "new  name\n"}) + "\n"
    )  # fmt: skip
    reader = adapter(tmp_path)
    (summary,) = listed(reader, problems.append)
    assert summary.title == "new name"
    assert [problem.path for problem in problems] == [str(index)]
    source = reader.find(uuid(1))
    assert source is not None and reader.session(source, uuid(1)).title == "new name"
    with index.open("a") as file:
        file.write(json.dumps({"id": uuid(1), "thread_name": "newest"}) + "\n")
    # Renaming changes no rollout: what is known of it is related anew.
    assert [one.title for one in reader.relate([summary])] == ["newest"]


def test_lost_names_are_said_at_every_look(tmp_path: Path) -> None:
    """They belong to no rollout: what was said of one that has not changed is not said again."""
    write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"))
    index = tmp_path / ".codex/session_index.jsonl"
    index.write_text("half a line\n")
    long = adapter(tmp_path)
    assert long.find(uuid(1)) is not None and long.relate(listed(long, lambda problem: None))
    for size, lost in ((0, 1), (16 << 20, 2)):
        index.write_bytes(index.read_bytes() + (b"x" * size + b"\n" if size else b""))
        for reader in (long, adapter(tmp_path)):
            problems: list[Problem] = []
            assert len(list(reader.sources(problems.append))) == 1
            assert [one.reason for one in problems] == [f"{lost} damaged lines with names of sessions"]


def threads(folder: Path, number: int, **names: str | None) -> Path:
    """A database of Codex' with a name for each session."""
    path = folder / f"state_{number}.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE threads (id TEXT PRIMARY KEY, title TEXT, name TEXT)")
        connection.executemany("INSERT INTO threads VALUES (?, 'a title', ?)", names.items())
        connection.commit()
    return path


def test_names_that_only_the_database_has(tmp_path: Path, problems: list[Problem]) -> None:
    home = tmp_path / ".codex"
    ids = [uuid(number) for number in range(1, 5)]
    for session_id in ids:
        write(tmp_path, session_id, meta(session_id), *turn("asked", "A"))
    (home / "session_index.jsonl").write_text(json.dumps({"id": ids[0], "thread_name": "in the index"}) + "\n")
    path = threads(home, 5, **dict(zip(ids, ["in the rows", "of the rows", "", None], strict=True)))
    threads(home, 4, **{ids[1]: "of an older version"})
    reader = adapter(tmp_path)
    titles = {one.session_id: one.title for one in listed(reader, problems.append)}
    assert titles == dict(zip(ids, ["in the index", "of the rows", "asked", "asked"], strict=True))
    source = reader.find(ids[1])
    assert source is not None and reader.session(source, ids[1]).title == "of the rows"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE threads SET name = 'newest' WHERE id = ?", (ids[1],))
        connection.commit()
    assert {one.title for one in reader.relate(listed(reader))} == {"in the index", "newest", "asked"}
    assert problems == []
    path.write_bytes(b"x" * 5000)
    assert len(listed(reader, problems.append)) == 4
    assert {problem.path for problem in problems} == {str(path)}
    (tmp_path / "elsewhere").mkdir()
    threads(tmp_path / "elsewhere", 7, **{ids[2]: "moved"})
    moved = adapter(tmp_path, CODEX_SQLITE_HOME=str(tmp_path / "elsewhere"))
    assert {one.session_id: one.title for one in listed(moved)}[ids[2]] == "moved"


# Read-only -----------------------------------------------------------------------------------------------------


def tree(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        digest.update(f"{path.relative_to(folder)} {status.st_mode} {status.st_mtime_ns} {status.st_ino}".encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


HAS_PROC = sys.platform == "linux"
"""Elsewhere it cannot be known which sessions are open."""

# Live ----------------------------------------------------------------------------------------------------------

_HOLD = """
import fcntl, sys
file = open(sys.argv[1])
if sys.argv[2] == "lock":
    fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(program: str, path: Path, what: str) -> Iterator[int]:
    """A process that has `path` open, or locked, until the block ends."""
    process = subprocess.Popen(
        [program, "-c", _HOLD, str(path), what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        assert process.stdout.readline() == "held\n"
        yield process.pid
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def pids(reader: CodexAdapter) -> dict[str, int]:
    return {name: one.pid for name, one in reader.live().items()}


def test_a_held_lock_is_seen_and_not_taken(tmp_path: Path) -> None:
    folder = tmp_path / ".codex/thread-writer-locks"
    folder.mkdir(parents=True)
    for name in (uuid(1), uuid(2), ".coordination", "not-an-id"):
        (folder / f"{name}.lock").touch()
    reader = adapter(tmp_path)
    assert reader.live() == {}
    with holder(sys.executable, folder / f"{uuid(1)}.lock", "lock") as pid:
        assert pids(reader) == ({uuid(1): pid} if HAS_PROC else {})
    with holder(sys.executable, folder / "not-an-id.lock", "lock"):
        assert pids(reader) == {}
    # After SIGKILL the file stays.
    assert reader.live() == {}


def test_older_versions_are_known_by_the_open_rollout(tmp_path: Path) -> None:
    path = write(tmp_path, uuid(1), meta(uuid(1)), *turn("a", "A"))
    program = tmp_path / "codex"
    program.symlink_to(Path(sys.executable).resolve())
    reader = adapter(tmp_path)
    with holder(sys.executable, path, "open"):
        assert reader.live() == {}
    with holder(str(program), path, "open") as pid:
        assert pids(reader) == ({uuid(1): pid} if HAS_PROC else {})


# Commands ------------------------------------------------------------------------------------------------------


def test_resume_and_fork() -> None:
    reader = adapter(STORE / "home")
    summary, _ = both(STORE / "home", ROOT_ID)
    assert reader.resume_command(summary) == NativeCommand(
        argv=("codex", "resume", ROOT_ID), cwd="/home/dev/shop", warning=DAEMON
    )
    assert reader.fork_command(summary) == NativeCommand(
        argv=("codex", "fork", ROOT_ID), cwd="/home/dev/shop", warning=DAEMON
    )
    assert reader.capabilities.can_fork and reader.capabilities.can_resume
    assert reader.capabilities.session_persistence == "file"


def test_hazards_are_said() -> None:
    archived, _ = both(STORE / "home", "01a1fd33-0582-7393-9766-e9829ba0918a")
    command = adapter(STORE / "home").resume_command(archived)
    assert command is not None and command.warning is not None
    assert command.warning.startswith(
        "The session is archived: run `codex unarchive 01a1fd33-0582-7393-9766-e9829ba0918a` first; Codex starts"
    )
    live = adapter(Path("/nowhere")).resume_command(SessionSummary(agent="codex", session_id=FORK_ID, live=True))
    assert live is not None and live.warning == f"Another process has the session open; {DAEMON}"
    assert live.cwd is None


def test_another_home_is_handed_on(tmp_path: Path) -> None:
    summary = SessionSummary(agent="codex", session_id=FORK_ID, cwd="/w; rm -rf ~")
    command = adapter(tmp_path, CODEX_HOME="~/x").fork_command(summary)
    assert command is not None
    assert command.argv == ("codex", "fork", FORK_ID)
    assert command.env == {"CODEX_HOME": str(tmp_path / "x")}
    assert command.cwd == "/w; rm -rf ~"


@pytest.mark.parametrize("session_id", ["--last", "-c", "a b", "x;y", "", "../x", "a\nb"])
def test_an_id_that_could_be_an_option_gives_no_command(session_id: str) -> None:
    summary = SessionSummary(agent="codex", session_id=session_id)
    assert adapter(Path("/nowhere")).resume_command(summary) is None


def test_the_documents_ids_are_taken_for_names() -> None:
    summary, _ = both(STORE / "spec-layout/home", "session-2025-01-15-001")
    command = adapter(STORE / "spec-layout/home").resume_command(summary)
    assert command is not None and command.argv == ("codex", "resume", "session-2025-01-15-001")
    assert command.warning is not None and "no uuid" in command.warning
