"""Where Claude Code's sessions are, which run, how to resume them; and that nothing of it is touched."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from claude_samples import (
    SAMPLES,
    adapter,
    got,
    listed,
    never,
    place,
    prompt,
    reply,
)
from session_adapters.base import Environment, SessionMissing, SessionUnreadable, Source
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.model import Problem
from session_adapters.reading.files import METER


def test_roots(tmp_path: Path) -> None:
    assert [(str(r.path), r.exists) for r in adapter(tmp_path).roots()] == [(f"{tmp_path}/.claude", False)]
    (tmp_path / ".config/claude").mkdir(parents=True)
    assert [str(r.path) for r in adapter(tmp_path).roots()] == [f"{tmp_path}/.claude", f"{tmp_path}/.config/claude"]
    moved = adapter(tmp_path, CLAUDE_CONFIG_DIR="~/elsewhere").roots()
    assert [str(r.path) for r in moved] == [f"{tmp_path}/elsewhere"]
    assert list(adapter(tmp_path).sources(never)) == []


def test_helpers_of_every_generation_are_found_also_without_their_session(tmp_path: Path) -> None:
    below = ".claude/projects/-p/lost-session/subagents"
    place(tmp_path, f"{below}/agent-a1.jsonl", prompt("one", isSidechain=True))
    place(tmp_path, f"{below}/workflows/w1/agent-a2.jsonl", prompt("two", isSidechain=True))
    place(tmp_path, f"{below}/workflows/w1/journal.jsonl", prompt("no"))
    place(tmp_path, ".claude/projects/-p/agent-a3.jsonl", prompt("three", isSidechain=True, sessionId="lost-session"))
    summaries = listed(adapter(tmp_path))
    assert {(s.session_id, s.kind, s.parent_id, s.title) for s in summaries.values()} == {
        ("agent-a1", "subagent", "lost-session", "one"),
        ("agent-a2", "subagent", "lost-session", "two"),
        ("agent-a3", "subagent", "lost-session", "three"),
    }
    assert [m.content for m in got(adapter(tmp_path), "agent-a2").messages] == ["two"]


def test_the_same_session_in_two_places_is_one(tmp_path: Path) -> None:
    place(tmp_path, ".claude/projects/-p/s.jsonl", prompt("a"), reply("m", "x"))
    longer = place(tmp_path, ".config/claude/projects/-p/s.jsonl", prompt("a"), reply("m", "x"), prompt("b"))
    (tmp_path / ".claude/projects/-q").symlink_to(tmp_path / ".claude/projects/-p")
    reader = adapter(tmp_path)
    assert len(list(reader.sources(never))) == 2  # each file once, whatever leads to it
    (summary,) = listed(reader).values()
    source = reader.find("s")
    assert source is not None
    assert summary.path == source.path == str(longer)
    assert summary.preview == "a"


def test_forks_of_forks_and_circles(tmp_path: Path) -> None:
    copied = {"forkedFrom": {"sessionId": "a"}}
    place(tmp_path, ".claude/projects/-p/a.jsonl", prompt("x", uuid="1"))
    place(tmp_path, ".claude/projects/-p/b.jsonl", prompt("x", uuid="1", **copied))
    place(tmp_path, ".claude/projects/-p/c.jsonl", prompt("x", uuid="1", forkedFrom={"sessionId": "b"}))
    place(tmp_path, ".claude/projects/-p/d.jsonl", prompt("y", uuid="2", forkedFrom={"sessionId": "gone"}))
    place(tmp_path, ".claude/projects/-p/e.jsonl", prompt("z", uuid="3", forkedFrom={"sessionId": "f"}))
    place(tmp_path, ".claude/projects/-p/f.jsonl", prompt("z", uuid="3", forkedFrom={"sessionId": "e"}))
    place(tmp_path, ".claude/projects/-p/g.jsonl", prompt("g", uuid="4", forkedFrom={"sessionId": "g"}))
    found = listed(adapter(tmp_path))
    assert {s: (found[s].forked_from, found[s].lineage_id) for s in "abcdg"} == {
        "a": (None, None),
        "b": ("a", "a"),
        "c": ("b", "a"),
        "d": ("gone", "gone"),
        "g": (None, None),
    }
    assert (found["e"].forked_from, found["f"].forked_from) == ("f", "e")


@pytest.mark.parametrize("typed_later", [False, True])
def test_of_two_that_begin_alike_the_one_that_was_asked_later_is_the_fork(tmp_path: Path, typed_later: bool) -> None:
    """`claude -p --fork-session` copies records with their times, and puts its own prompt's before them."""

    def queued(hour: int) -> dict[str, Any]:
        at = f"2026-11-21T{hour}:00:00.000Z"
        return {"type": "queue-operation", "operation": "enqueue", "content": "x", "timestamp": at, "uuid": None}

    said = prompt("x", uuid="1", timestamp="2026-11-21T10:00:01.000Z")
    parent = [said, queued(12)] if typed_later else [queued(10), said]
    place(tmp_path, ".claude/projects/-p/z-parent.jsonl", *parent)
    place(tmp_path, ".claude/projects/-p/a-fork.jsonl", queued(11), said, prompt("y", uuid="2"))
    found = listed(adapter(tmp_path))
    assert (found["a-fork"].forked_from, found["z-parent"].forked_from) == ("z-parent", None)


@pytest.mark.parametrize(
    "before", [[], [{"type": "custom-title", "customTitle": "Once"}]], ids=["unnamed", "renamed"]
)
def test_the_title_in_the_folder_stands_in_for_one_in_the_unread_middle(
    before: list[dict[str, Any]], tmp_path: Path
) -> None:
    path = place(
        tmp_path,
        ".claude/projects/-p/s.jsonl",
        prompt("first"),
        *before,
        {"type": "filler", "pad": "x" * 200_000},
        {"type": "custom-title", "customTitle": "Named"},
        {"type": "filler", "pad": "x" * 200_000},
        reply("m", "last"),
    )
    path.with_suffix("").mkdir()
    (path.with_suffix("") / "custom-title.json").write_text('{"customTitle": "Named"}')
    for exact in (True, False):
        assert listed(adapter(tmp_path), exact=exact)["s"].title == "Named"


@pytest.mark.parametrize(
    "session_id", ["../../etc/passwd", "/etc/passwd", "..", "", ".", "s/../s", "s.jsonl", "s\x00", "S", "*", "\udcff"]
)
def test_an_id_is_compared_never_made_a_path(tmp_path: Path, session_id: str) -> None:
    place(tmp_path, ".claude/projects/-p/s.jsonl", prompt("a"))
    reader = adapter(tmp_path)
    assert reader.find(session_id) is None
    source = reader.find("s")
    assert source is not None
    with pytest.raises(SessionMissing):
        reader.session(source, session_id)
    with pytest.raises(SessionMissing):
        reader.open(source, session_id)


def test_a_deleted_session_is_missing_and_an_empty_one_unreadable(tmp_path: Path) -> None:
    path = place(tmp_path, ".claude/projects/-p/s.jsonl", prompt("a"))
    reader = adapter(tmp_path)
    source = reader.find("s")
    assert source is not None
    path.write_bytes(b"not\nrecords\n")
    with pytest.raises(SessionUnreadable, match="not a record"):
        reader.session(source, "s")
    path.write_bytes(b"")
    with pytest.raises(SessionUnreadable, match="no record"):
        reader.session(source, "s")
    path.unlink()
    with pytest.raises(SessionMissing):
        reader.session(source, "s")
    with pytest.raises(SessionMissing):
        reader.open(source, "s")
    assert list(reader.summaries(source, never)) == []


def test_get_reads_no_other_session(tmp_path: Path) -> None:
    place(tmp_path, ".claude/projects/-p/s.jsonl", prompt("a"))
    for number in range(20):
        place(tmp_path, f".claude/projects/-p/other{number}.jsonl", prompt("b"))
    METER.reset()
    got(adapter(tmp_path), "s")
    assert METER.opened <= 2  # the file, and the title beside it


def process(home: Path, pid: int, session_id: str, start: Any, **fields: Any) -> None:
    folder = home / ".claude/sessions"
    folder.mkdir(parents=True, exist_ok=True)
    data = {"pid": pid, "sessionId": session_id, "procStart": start, "status": "busy", **fields}
    (folder / f"{pid}.json").write_text(json.dumps(data))
    (folder / f"{pid}.0a1b.key").write_text("secret")


def fake_proc(tmp_path: Path, **starts: int) -> Path:
    for pid, start in starts.items():
        folder = tmp_path / "proc" / pid.removeprefix("p")
        folder.mkdir(parents=True)
        # The name of a process may hold blanks and parentheses.
        (folder / "stat").write_text(f"1 (a ) b) S {' '.join('0' for _ in range(18))} {start} 0 0\n")
    return tmp_path / "proc"


def test_a_session_is_live_while_the_process_that_wrote_its_file_runs(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, p10=500, p11=501, p12=502)
    process(tmp_path, 10, "open", "500")
    process(tmp_path, 11, "another-process-now", "77")
    process(tmp_path, 12, "no-start", None)
    process(tmp_path, 13, "dead", "503")
    (tmp_path / ".claude/sessions/14.json").write_text("{torn")
    (tmp_path / ".claude/sessions/-1.json").write_text('{"sessionId": "negative", "procStart": "1"}')
    reader = ClaudeAdapter(Environment(home=tmp_path, proc=proc))
    METER.reset()
    live = reader.live()
    assert {key: (value.pid, value.status) for key, value in live.items()} == {"open": (10, "busy")}
    assert METER.opened == 5  # no key


@pytest.mark.parametrize("waiting", [9, 10])
def test_of_several_processes_with_a_session_the_one_that_waits_is_told_of(tmp_path: Path, waiting: int) -> None:
    resting = 19 - waiting
    proc = fake_proc(tmp_path, p9=500, p10=500)
    said = {"status": "waiting", "waitingFor": "permission prompt"}
    process(tmp_path, waiting, "s", "500", **said, statusUpdatedAt=1_790_000_001_000)
    process(tmp_path, resting, "s", "500", status="idle", statusUpdatedAt=1_790_000_002_000)
    reader = ClaudeAdapter(Environment(home=tmp_path, proc=proc))
    assert reader.live()["s"].pid == waiting
    process(tmp_path, waiting, "s", "500", status="idle", statusUpdatedAt=1_790_000_001_000)
    assert reader.live()["s"].pid == resting, "the newer word"


def test_a_damaged_file_of_a_process_is_told_with_the_list_once_nobody_writes_it(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, p10=500)
    process(tmp_path, 10, "open", "500")
    torn = tmp_path / ".claude/sessions/14.json"
    torn.write_text("{torn")
    (tmp_path / ".claude/sessions/15.json").mkdir()
    reader = ClaudeAdapter(Environment(home=tmp_path, proc=proc))

    def told() -> list[tuple[str, str]]:
        problems: list[Problem] = []
        assert list(reader.sources(problems.append)) == []
        return [(Path(one.path).name, one.reason) for one in problems]

    unknown = "whether the session of process {} is open is not known"
    folder = ("15.json", f"cannot be read: not a regular file: {torn.with_name('15.json')}; {unknown.format(15)}")
    assert told() == [folder]
    os.utime(torn, (1, 1))
    assert told() == [("14.json", f"is damaged; {unknown.format(14)}"), folder]
    assert set(reader.live()) == {"open"}


def test_of_very_many_files_of_processes_some_are_read_and_that_is_said(tmp_path: Path) -> None:
    """All were, twice in a list: a gigabyte in 5,000 of them took a second, 100,000 took as long as they liked."""
    for pid in range(1, 3001):
        process(tmp_path, pid, "open", "500")
    reader = ClaudeAdapter(Environment(home=tmp_path, proc=fake_proc(tmp_path, p1=500)))
    METER.reset()
    problems: list[Problem] = []
    assert list(reader.sources(problems.append)) == []
    assert set(reader.live()) == {"open"}
    assert METER.opened <= 2000
    (problem,) = problems
    assert problem.path == f"{tmp_path}/.claude/sessions"
    assert problem.reason.startswith("holds 3,000 files of processes, of which 1,000 are read")


def test_a_real_process_and_the_dead_one_of_the_sample(store: Callable[..., Path]) -> None:
    home = store("claude", "home")
    if Path("/proc/self/stat").exists():
        start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        process(home, os.getpid(), "mine", start)
        assert dict(adapter(home).live()) == {"mine": adapter(home).live()["mine"]}
    without = ClaudeAdapter(Environment(home=home, proc=home / "no-proc"))
    process(home, os.getpid(), "mine", None)
    assert without.live()["mine"].pid == os.getpid()


def test_nobody_is_live_where_nothing_is(tmp_path: Path) -> None:
    assert adapter(tmp_path).live() == {}


def test_commands_carry_the_id_and_the_last_directory() -> None:
    reader = adapter(SAMPLES["home"])
    assert (reader.capabilities.can_resume, reader.capabilities.can_fork) == (True, True)
    summary = listed(reader)["e83ad329-19e8-4541-be44-22c2ad4a47cf"]
    resume, fork = reader.resume_command(summary), reader.fork_command(summary)
    assert resume is not None
    assert fork is not None
    assert resume.argv == ("claude", "--resume", "e83ad329-19e8-4541-be44-22c2ad4a47cf")
    assert fork.argv == (*resume.argv, "--fork-session")
    assert resume.cwd == fork.cwd == "/home/dev/shop"
    assert resume.env == {}


def test_helpers_and_ids_that_look_like_options_have_no_command(tmp_path: Path) -> None:
    place(tmp_path, ".claude/projects/-p/agent-1.jsonl", prompt("a", isSidechain=True))
    place(tmp_path, ".claude/projects/-p/--dangerously-skip-permissions.jsonl", prompt("a"))
    place(tmp_path, ".claude/projects/-p/a b.jsonl", prompt("a"))
    reader = adapter(tmp_path)
    for summary in listed(reader).values():
        assert reader.resume_command(summary) is None
        assert reader.fork_command(summary) is None


def test_a_session_of_another_root_is_resumed_there(tmp_path: Path) -> None:
    place(tmp_path, ".config/claude/projects/-p/s.jsonl", prompt("a"))
    place(tmp_path, "elsewhere/projects/-p/t.jsonl", prompt("a"))
    for reader, root in (
        (adapter(tmp_path), ".config/claude"),
        (adapter(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere")), "elsewhere"),
    ):
        (summary,) = listed(reader).values()
        command = reader.resume_command(summary)
        assert command is not None
        assert command.env == {"CLAUDE_CONFIG_DIR": str(tmp_path / root)}


def test_a_session_copied_elsewhere_reads_the_same(store: Callable[..., Path], tmp_path: Path) -> None:
    home = store("claude", "home")
    shutil.move(home / ".claude", tmp_path / "moved")
    moved = listed(adapter(tmp_path / "nobody", CLAUDE_CONFIG_DIR=str(tmp_path / "moved")))
    original = listed(adapter(SAMPLES["home"]))
    for session_id, summary in original.items():
        same = {k: v for k, v in asdict(summary).items() if k != "path"}
        assert {k: getattr(moved[session_id], k) for k in same} == same


def test_sources_are_stamped_by_stat_alone(store: Callable[..., Path]) -> None:
    reader = adapter(store("claude", "home"))

    def stamps() -> dict[str, Source]:
        return {source.session_id: source for source in reader.sources(never)}

    before = stamps()
    path = Path(before["c9a5af63-90a2-4935-9317-2ffbce3e3b60"].path)
    with path.open("ab") as out:
        out.write(b"{}\n")
    after = stamps()
    assert {key for key in after if after[key].stamp != before[key].stamp} == {path.stem}
