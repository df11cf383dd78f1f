"""Where Pi keeps its sessions, how little of them is read, how they are resumed, and which are open."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from session_adapters.base import Environment, SessionMissing, Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.pi import PiAdapter
from session_adapters.reading.files import METER
from session_adapters.tree.ends import HEAD, TAIL
from tree_store import PI_BRANCHED, Samples, everything, opened, running

SAMPLES = Samples("pi")


# Laziness and reading only -----------------------------------------------------------------------------------


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A store with one session of 4 MB."""
    path = tmp_path / ".pi" / "agent" / "sessions" / "--srv--" / "2026-01-01T00-00-00-000Z_big.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("w") as file:
        file.write('{"type":"session","version":3,"id":"big","timestamp":"2026-01-01T00:00:00Z","cwd":"/srv"}\n')
        for number in range(2000):
            record = {
                "type": "message", "id": str(number), "parentId": str(number - 1) if number else None,
                "timestamp": "2026-01-01T00:00:00Z",
                "message": {"role": "assistant" if number % 2 else "user", "content": f"{number} " + "x" * 2000,
                            "model": "m", "usage": {"input": number % 2, "output": 0}},
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")
    return tmp_path


def test_a_large_file_is_summed_up_from_its_ends(large: Path) -> None:
    adapter = PiAdapter(Environment(home=large))
    METER.reset()
    (source,) = adapter.sources(lambda problem: None)
    assert METER.bytes == 0
    (summary,) = adapter.summaries(source, lambda problem: None)
    assert METER.bytes <= HEAD + TAIL + (16 << 10), "the ends, and the rest of the lines that they cut"
    assert summary.partial
    assert summary.title.startswith("0 xxx")
    assert 0 < summary.message_count < 2000
    assert "branches" not in summary.raw
    (exact,) = adapter.summaries(source, lambda problem: None, exact=True)
    assert not exact.partial
    assert (exact.message_count, exact.turn_count, exact.raw["branches"]) == (2000, 1000, 1)
    assert exact.tokens is not None
    assert exact.tokens.total == 1000
    assert summary.tokens is not None
    assert summary.tokens.total < 1000


def test_a_large_file_opens_at_its_end(large: Path) -> None:
    transcript = opened(PiAdapter(Environment(home=large)), "big")
    assert transcript.messages[-1].content.startswith("1999 ")
    assert len(transcript.messages) < 1100
    while not transcript.complete:
        assert transcript.earlier()
    assert [message.content.split()[0] for message in transcript.messages] == [str(number) for number in range(2000)]


def test_one_session_is_read_without_the_others(store: Callable[..., Path]) -> None:
    home = store("pi", "home")
    adapter = PiAdapter(Environment(home=home))
    kept = next(home.rglob("*custom-id-7.jsonl"))
    for path in home.rglob("*.jsonl"):
        if path != kept:
            path.write_bytes(b'{"poison": ' * 10_000)
    METER.reset()
    source = adapter.find("custom-id-7")
    assert source is not None
    session = adapter.session(source, "custom-id-7")
    assert len(session.messages) == 3
    assert METER.bytes < 6 * kept.stat().st_size


# Places ------------------------------------------------------------------------------------------------------


def test_where_it_looks(tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "settings.json").write_text('{"sessionDir": "~/mine"}')
    variables = {"PI_CODING_AGENT_DIR": str(moved), "PI_CODING_AGENT_SESSION_DIR": "~/flat"}
    roots = PiAdapter(Environment(home=tmp_path, variables=variables)).roots()
    assert [root.path for root in roots] == [
        tmp_path / "flat",
        moved / "sessions",
        tmp_path / "mine",
        tmp_path / ".pi" / "agent" / "sessions",
    ]
    assert [root.exists for root in roots] == [False] * 4


def test_a_relative_session_dir_is_said_to_be_unlisted(tmp_path: Path, problems: list[Problem]) -> None:
    (tmp_path / ".pi" / "agent").mkdir(parents=True)
    (tmp_path / ".pi" / "agent" / "settings.json").write_text('{"sessionDir": ".sessions"}')
    assert not list(PiAdapter(Environment(home=tmp_path)).sources(problems.append))
    assert [problem.path for problem in problems] == [str(tmp_path / ".pi" / "agent" / "settings.json")]


def test_symlinked_folders_count_once(store: Callable[..., Path]) -> None:
    home = store("pi", "home")
    sessions = home / ".pi" / "agent" / "sessions"
    (sessions / "--also-shop--").symlink_to(sessions / "--home-dev-shop--")
    (sessions / "--loop--").symlink_to(sessions)
    adapter = PiAdapter(Environment(home=home))
    assert len(everything(adapter)) == len(SAMPLES.expected["home"])


def test_the_same_id_in_two_directories_is_two_sessions_and_a_copy_is_one(store: Callable[..., Path]) -> None:
    home = store("pi", "home")
    original = next(home.rglob("*custom-id-7.jsonl"))
    (original.parent / "2026-11-21T08-33-27-480Z_custom-id-7-1.jsonl").write_bytes(original.read_bytes())
    other = original.parent.parent / "--srv--" / "2026-12-01T00-00-00-000Z_custom-id-7.jsonl"
    other.parent.mkdir()
    other.write_bytes(
        original.read_bytes().replace(b"/home/dev/api", b"/srv", 1).replace(b"08:33:27.480", b"09:00:00.000")
    )
    adapter = PiAdapter(Environment(home=home))
    found = adapter.relate([summary for _, summary in everything(adapter)])
    ids = [summary.session_id for summary in found if "custom-id-7" in summary.session_id]
    assert ids == ["custom-id-7", "2026-12-01T00-00-00-000Z_custom-id-7"]
    source = adapter.find(ids[1])
    assert source is not None
    assert source.path == str(other)
    assert adapter.session(source, ids[1]).cwd == "/srv"


def test_a_session_that_is_gone(tmp_path: Path) -> None:
    adapter = PiAdapter(Environment(home=tmp_path))
    assert adapter.find("../../../etc/passwd") is None
    source = Source(agent="pi", path=str(tmp_path / "x.jsonl"), stamp=(0, 0, 0, 0))
    with pytest.raises(SessionMissing):
        adapter.open(source, "x")
    with pytest.raises(SessionMissing):
        adapter.session(source, "x")


# Running -----------------------------------------------------------------------------------------------------


def test_commands() -> None:
    adapter = PiAdapter(Environment(home=Path("/h"), variables={"PI_CODING_AGENT_DIR": "/store"}))
    summary = SessionSummary(
        agent="pi", session_id="--help; rm -rf /", cwd="/home/dev/shop", path="/store/sessions/--x--/s.jsonl",
        raw={"version": 3},
    )  # fmt: skip
    resume = adapter.resume_command(summary)
    fork = adapter.fork_command(summary)
    assert resume is not None
    assert fork is not None
    assert resume.argv == ("pi", "--session", "/store/sessions/--x--/s.jsonl")
    assert fork.argv == ("pi", "--fork", "/store/sessions/--x--/s.jsonl")
    assert resume.cwd == fork.cwd == "/home/dev/shop"
    assert resume.env == fork.env == {"PI_CODING_AGENT_DIR": "/store"}
    assert "does not lock" in (resume.warning or "")
    assert fork.warning is None
    document = SessionSummary(agent="pi", session_id="x", path="/p", raw={"layout": "document"})
    assert adapter.resume_command(document) is None
    old = SessionSummary(agent="pi", session_id="x", path="/p", raw={"version": 1})
    command = adapter.resume_command(old)
    assert command is not None
    assert "rewrites" in (command.warning or "")
    assert PiAdapter.capabilities.can_resume
    assert PiAdapter.capabilities.can_fork


def test_live_by_a_real_process(store: Callable[..., Path], tmp_path: Path) -> None:
    home, cwd = store("pi", "home"), tmp_path / "project"
    cwd.mkdir()
    path = next(home.rglob("*custom-id-7.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"/home/dev/api", os.fsencode(cwd), 1))
    adapter = PiAdapter(Environment(home=home))
    with running("pi", cwd) as pid:
        os.utime(path)
        os.utime(next(home.rglob(f"*{PI_BRANCHED}.jsonl")))  # newer, but of another directory
        live = adapter.live()
        assert {name: one.pid for name, one in live.items()} == {"custom-id-7": pid}
        os.utime(path, (1, 1))  # not touched since that process started
        assert not adapter.live()
        os.utime(path)
        assert adapter.live()
    assert not adapter.live()
