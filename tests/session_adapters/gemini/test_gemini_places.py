"""Where Gemini's sessions are found, which directory they belong to, and how they are resumed; nothing is touched."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gemini_samples import (
    CHATS,
    CONTEXT,
    SAMPLES,
    adapter,
    gemini,
    got,
    header,
    line,
    listed,
    never,
    place,
    put,
    user,
)
from session_adapters.base import SessionMissing
from session_adapters.model import Problem
from session_adapters.reading.files import METER

ID = "11111111-aaaa"
TALK = (line(**user("u", "Q")), line(**gemini("g", "A")))


def test_the_home_that_a_variable_names(tmp_path: Path) -> None:
    place(tmp_path / "other", header(), *TALK)
    assert listed(adapter(tmp_path)) == {}
    reader = adapter(tmp_path, GEMINI_CLI_HOME="~/other")
    assert [str(root.path) for root in reader.roots()] == [
        f"{tmp_path}/other/.gemini/tmp", f"{tmp_path}/other/.gemini/sessions",
    ]  # fmt: skip
    assert [root.exists for root in reader.roots()] == [True, False]
    assert set(listed(reader)) == {ID}


def test_only_session_files_are_taken(tmp_path: Path) -> None:
    name = "session-2026-11-21T08-00-11111111.jsonl"
    for other in (f"{name}.tmp-123", f"{name}.unreadable-1700000000000", "notes.txt"):
        place(tmp_path, header(), *TALK, name=other)
    place(tmp_path, name=name)  # zero bytes
    for folder in ("logs", "tool-outputs/session-11111111-aaaa", "."):
        place(tmp_path, header(), *TALK, folder=f".gemini/tmp/shop/{folder}")
    (tmp_path / ".gemini/tmp/shop/logs.json").write_text("[]")
    (tmp_path / ".gemini/tmp/shop/checkpoint-x.json").write_text('{"history": []}')
    assert list(adapter(tmp_path).sources(never)) == []


def test_what_has_no_conversation_is_no_session(tmp_path: Path) -> None:
    """A start without a prompt leaves such a file, and so does resuming in a later minute (FACTS.md, «Loss»)."""
    place(tmp_path, header(), put(CONTEXT), *TALK)
    place(tmp_path, header(), put(CONTEXT), name="session-2026-11-22T08-00-11111111.jsonl")
    place(tmp_path, header("22222222-b"), put(CONTEXT), name="session-2026-11-21T08-00-22222222.jsonl")
    reader = adapter(tmp_path)
    found = [s for source in reader.sources(never) for s in reader.summaries(source, never)]
    assert [(summary.session_id, summary.title) for summary in found] == [(ID, "Q")]
    assert got(reader, ID).title == "Q"
    # By name it can still be looked at.
    assert [message.kind for message in got(reader, "22222222-b").messages] == ["notice"]


def test_of_copies_the_one_that_goes_on_longest(tmp_path: Path) -> None:
    later = line(**user("v", "R", timestamp="2026-11-23T08:00:00.000Z"))
    for name, rows in {"08-00": (*TALK, later), "09-00": (*TALK, line(**gemini("x", "long " * 900)))}.items():
        place(tmp_path, header(), *rows, name=f"session-2026-11-21T{name}-11111111.jsonl")
    reader = adapter(tmp_path)
    summary = listed(reader)[ID]
    assert "T08-00" in summary.path
    source = reader.find(ID)
    assert source is not None
    assert source.path == summary.path


def test_a_hash_is_resolved_by_the_directories_that_are_known(tmp_path: Path) -> None:
    for root in ("/home/dev/rooted", "/home/dev/registered", "/home/dev/unknown"):
        name = hashlib.sha256(root.encode()).hexdigest()
        session_id = f"{name[:8]}-x"
        file = f"session-2026-11-21T08-00-{name[:8]}.jsonl"
        place(tmp_path, header(session_id), *TALK, name=file, folder=f".gemini/tmp/{name}/chats")
    (tmp_path / ".gemini/tmp/slug").mkdir()
    (tmp_path / ".gemini/tmp/slug/.project_root").write_text("/home/dev/rooted\n")
    reader = adapter(tmp_path)
    assert sorted(str(s.cwd) for s in listed(reader).values()) == ["/home/dev/rooted", "None", "None"]
    registry = tmp_path / ".gemini/projects.json"
    registry.write_text(json.dumps({"projects": {"/home/dev/registered": "slug-2"}}))
    assert sorted(str(s.cwd) for s in listed(reader).values()) == ["/home/dev/registered", "/home/dev/rooted", "None"]
    registry.write_text("{torn")
    problems: list[Problem] = []
    found = [one for source in reader.sources(never) for one in reader.summaries(source, problems.append)]
    assert sorted(str(one.cwd) for one in found) == ["/home/dev/rooted", "None", "None"]
    reason = f"its project is not known: {registry} cannot be read: it is no JSON as Gemini CLI writes it"
    assert [problem.reason for problem in problems] == [reason, reason]


def test_the_directory_without_a_root_file(tmp_path: Path) -> None:
    folder = ".gemini/tmp/shop-1/chats"
    text = "<session_context>\n- **Workspace Directories:**\n  - /home/dev/told\n  - /more\n</session_context>"
    place(tmp_path, header(), put(user("c", text)), *TALK, folder=folder)
    reader = adapter(tmp_path)
    assert listed(reader)[ID].cwd == "/home/dev/told"
    (tmp_path / ".gemini/projects.json").write_text(json.dumps({"projects": {"/home/dev/shop": "shop-1"}}))
    assert listed(reader)[ID].cwd == "/home/dev/shop"
    for content in ("relative/path", "/two\n/lines", "/nul\0"):
        (tmp_path / ".gemini/tmp/shop-1/.project_root").write_text(content)
        assert listed(reader)[ID].cwd == "/home/dev/shop"
    (tmp_path / ".gemini/tmp/shop-1/.project_root").write_text("/home/dev/root")
    assert listed(reader)[ID].cwd == "/home/dev/root"


def test_an_id_is_what_the_header_says(tmp_path: Path) -> None:
    """The name has eight characters of it, which two can share; a renamed file has none."""
    place(tmp_path, header("11111111-one"), *TALK)
    place(tmp_path, header("11111111-two"), *TALK, name="session-2026-11-21T08-01-11111111.jsonl")
    place(tmp_path, header("33333333-x"), *TALK, name="renamed.jsonl")
    reader = adapter(tmp_path)
    assert set(listed(reader)) == {"11111111-one", "11111111-two", "33333333-x"}
    for session_id in listed(reader):
        source = reader.find(session_id)
        assert source is not None
        assert reader.session(source, session_id).session_id == session_id
    for hostile in ("", "../../../etc/passwd", "11111111", "nothing", "a\0b", "*"):
        assert reader.find(hostile) is None


def test_a_chat_whose_header_is_lost_goes_by_its_file(tmp_path: Path) -> None:
    place(tmp_path, b"{torn\n", *TALK)
    problems: list[Problem] = []
    reader = adapter(tmp_path)
    (source,) = reader.sources(never)
    (summary,) = reader.summaries(source, problems.append)
    assert (summary.session_id, summary.title) == ("session-2026-11-21T08-00-11111111", "Q")
    assert [problem.place for problem in problems] == ["byte 0"]
    assert got(reader, summary.session_id).turn_count == 1
    assert reader.resume_command(summary) is None  # that is no id of Gemini's
    # A resume says the id again.
    place(tmp_path, b"{torn\n", *TALK, line(**{"$set": {"sessionId": ID}}))
    assert got(reader, ID).title == "Q"


def test_asking_a_file_for_another_session(tmp_path: Path) -> None:
    place(tmp_path, header(), *TALK)
    (source,) = adapter(tmp_path).sources(never)
    with pytest.raises(SessionMissing, match="is not in"):
        adapter(tmp_path).session(source, "22222222-x")
    Path(source.path).unlink()
    for read in (adapter(tmp_path).session, adapter(tmp_path).open):
        with pytest.raises(SessionMissing, match="not there any more"):
            read(source, ID)
    assert adapter(tmp_path).summaries(source, never) == ()


def test_helpers_of_two_parents(tmp_path: Path) -> None:
    for parent in ("p-one", "p-two"):
        rows = (header(f"h-{parent}", kind="subagent", directories=["/home/dev/x"]), *TALK)
        place(tmp_path, *rows, name=f"h-{parent}.jsonl", folder=f".gemini/tmp/new/chats/{parent}")
    found = listed(adapter(tmp_path))
    assert {s.session_id: (s.kind, s.parent_id, s.cwd) for s in found.values()} == {
        "h-p-one": ("subagent", "p-one", "/home/dev/x"),
        "h-p-two": ("subagent", "p-two", "/home/dev/x"),
    }


# Commands ----------------------------------------------------------------------------------------------------


def test_resuming() -> None:
    reader = adapter(SAMPLES["home"])
    summary = listed(reader)["219c5e65-c96c-431d-ad55-2e1c5fa5872b"]
    command = reader.resume_command(summary)
    assert command is not None
    assert command.argv == ("gemini", "--resume", "219c5e65-c96c-431d-ad55-2e1c5fa5872b")
    assert command.cwd == "/home/dev/shop-api"
    assert command.env == {}
    assert command.warning is not None
    assert "delete" in command.warning
    assert summary.path in command.warning
    assert reader.fork_command(summary) is None


def test_resuming_in_another_home(tmp_path: Path) -> None:
    place(tmp_path / "o", header(), *TALK)
    reader = adapter(tmp_path, GEMINI_CLI_HOME="~/o")
    command = reader.resume_command(listed(reader)[ID])
    assert command is not None
    assert command.env == {"GEMINI_CLI_HOME": f"{tmp_path}/o"}


def test_what_gemini_cannot_resume() -> None:
    reader = adapter(SAMPLES["home"])
    found = listed(reader)
    assert reader.resume_command(found["81535ab9-f2cf-4b09-b017-84781b2aa6b7"]) is None  # a helper
    plain = found["219c5e65-c96c-431d-ad55-2e1c5fa5872b"]
    assert reader.resume_command(replace(plain, cwd=None)) is None  # from elsewhere it ends with exit code 42
    for session_id in ("--yolo", "latest", "a b", "$(x)", ""):
        assert reader.resume_command(replace(plain, session_id=session_id)) is None
    (document,) = listed(adapter(SAMPLES["spec-layout"])).values()
    assert reader.resume_command(replace(document, cwd="/home/dev/shop")) is None  # Gemini does not look there


# Laziness and reading alone ------------------------------------------------------------------------------------


def test_sources_open_nothing() -> None:
    METER.reset()
    assert len(list(adapter(SAMPLES["home"]).sources(never))) == 7
    assert (METER.opened, METER.bytes) == (0, 0)


def test_a_large_log_is_not_read_to_be_listed_or_opened(tmp_path: Path) -> None:
    path = place(tmp_path, header(), put(user("c", "<session_context>" + "x" * 30_000)))
    with path.open("ab") as out:
        for number in range(1_000):
            out.write(line(**user(f"u{number}", f"Question {number}")))
            out.write(line(**gemini(f"g{number}", "x" * 20_000)))
    reader = adapter(tmp_path)
    (source,) = reader.sources(never)
    METER.reset()
    (glance,) = reader.summaries(source, never)
    assert METER.bytes < 250 << 10
    assert (glance.partial, glance.title, glance.cwd) == (True, "Question 0", "/home/dev/shop")
    METER.reset()
    transcript = reader.open(source, ID)
    assert METER.bytes < 5 << 20
    assert not transcript.complete
    (exact,) = reader.summaries(source, never, exact=True)
    assert (exact.turn_count, exact.message_count, exact.partial) == (1_000, 2_001, False)


def test_a_large_document_is_listed_by_its_ends(tmp_path: Path) -> None:
    messages = []
    for number in range(600):
        at = f"2026-11-21T{number // 60:02}:{number % 60:02}:00.000Z"
        messages += [user(f"u{number}", f"Question {number}"), gemini(f"g{number}", "x" * 5_000, timestamp=at)]
    document = {"sessionId": ID, "projectHash": "h", "startTime": "2026-11-21T00:00:00.000Z", "messages": messages}
    name = "session-2026-11-21T08-00-11111111.json"
    for indent in (2, None):
        path = place(
            tmp_path, json.dumps(document | {"summary": "Many questions"}, indent=indent).encode(), name=name
        )
        reader = adapter(tmp_path)
        (source,) = reader.sources(never)
        METER.reset()
        (glance,) = reader.summaries(source, never)
        assert METER.bytes < 60 << 10 < path.stat().st_size
        assert (glance.session_id, glance.title, glance.preview) == (ID, "Many questions", "Question 0")
        (exact,) = reader.summaries(source, never, exact=True)
        assert glance.updated_at == exact.updated_at
        assert (glance.partial, exact.partial) == (True, False)
        assert (exact.turn_count, exact.message_count) == (600, 1_200)


def test_reading_one_session_reads_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = os.open

    def note(path: Any, *rest: Any, **more: Any) -> int:
        opened.append(str(path))
        return real(path, *rest, **more)

    monkeypatch.setattr(os, "open", note)
    reader = adapter(SAMPLES["home"])
    source = reader.find("6e351249-9fd4-4432-986d-bed2ba2a932c")
    assert source is not None
    reader.session(source, "6e351249-9fd4-4432-986d-bed2ba2a932c")
    assert {path for path in opened if path.endswith(".jsonl")} == {source.path}


def test_a_closed_folder_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(tmp_path, header(), *TALK)
    closed = tmp_path / ".gemini/tmp/closed/chats"
    closed.mkdir(parents=True)
    real = os.scandir

    def scandir(path: Any) -> Any:
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    problems: list[Problem] = []
    assert len(list(adapter(tmp_path).sources(problems.append))) == 1
    assert [(p.path, p.reason) for p in problems] == [(str(closed), "the folder cannot be read: Permission denied")]


def test_what_stands_where_a_file_or_folder_should_be(tmp_path: Path) -> None:
    place(tmp_path, header(), *TALK)
    chats = tmp_path / CHATS
    tmp = chats.parents[1]
    (tmp / "file").write_text("x")
    (tmp / "empty").mkdir()
    (tmp / "loop").symlink_to(tmp / "loop")
    (tmp / "odd").mkdir()
    (tmp / "odd/chats").write_text("x")
    (chats / "folder.jsonl").mkdir()
    (chats / "gone.jsonl").symlink_to(chats / "nowhere")
    (chats / "round.jsonl").symlink_to(chats / "round.jsonl")
    (chats / "again.jsonl").symlink_to(chats / "session-2026-11-21T08-00-11111111.jsonl")
    os.mkfifo(chats / "pipe.jsonl")
    (chats / os.fsdecode(b"bad\xff.jsonl")).write_bytes(b"broken\n")
    (tmp / "shop-2").symlink_to(tmp / "shop")
    problems: list[Problem] = []
    reader = adapter(tmp_path)
    found = [s for source in reader.sources(problems.append) for s in reader.summaries(source, problems.append)]
    assert {summary.session_id for summary in found} == {ID}
    named = {Path(problem.path).name for problem in problems}
    assert named == {"chats", "pipe.jsonl", "round.jsonl", "bad\ufffd.jsonl"}
    (tmp_path / "o/.gemini").mkdir(parents=True)
    (tmp_path / "o/.gemini/tmp").write_text("x")
    problems.clear()
    assert list(adapter(tmp_path / "o").sources(problems.append)) == []
    assert [Path(problem.path).name for problem in problems] == ["tmp"]
