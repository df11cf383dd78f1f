"""What Hermes keeps in mind, as its own memory tool writes it: entries parted by a line with a section sign."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hermes_store import adapter_for, get, listed
from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.model import Problem

NOTES = "The staging box is called heron.\nIt runs Debian.\n§\nPrices are in § 12 of the contract\n§\n  \n§\nUse tabs"


@pytest.fixture
def memories(tmp_path: Path) -> Path:
    folder = tmp_path / ".hermes" / "memories"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(NOTES)
    (folder / "MEMORY.md.lock").touch()
    (folder / "other.md").write_text("no memory")
    return folder


def test_each_entry_is_a_message(memories: Path, tmp_path: Path) -> None:
    os.utime(memories / "MEMORY.md", (1_780_000_000, 1_780_000_000))
    adapter = adapter_for(tmp_path)
    summary = listed(adapter)["memory-notes"]
    session = get(adapter, "memory-notes")
    assert [message.content for message in session.messages] == [
        "The staging box is called heron.\nIt runs Debian.",
        "Prices are in § 12 of the contract",
        "Use tabs",
    ]
    assert [message.id for message in session.messages] == ["1", "2", "3"]
    assert summary.kind == session.kind == "memory"
    assert summary.message_count == 3 and summary.turn_count == 0
    assert summary.preview == "The staging box is called heron. It runs Debian."
    assert summary.updated_at.timestamp() == 1_780_000_000
    assert adapter.resume_command(summary) is None


def test_every_home_has_its_own(memories: Path, tmp_path: Path) -> None:
    (memories / "USER.md").write_text("Likes birds")
    for profile in ("coder", "user"):
        folder = tmp_path / ".hermes" / "profiles" / profile / "memories"
        folder.mkdir(parents=True)
        (folder / "USER.md").write_text(f"{profile} likes fish\r\n§\r\nand soup")
    adapter = adapter_for(tmp_path)
    found = listed(adapter)
    assert {one: summary.profile for one, summary in found.items()} == {
        "memory-notes": None,
        "memory-user": None,
        "memory-coder-user": "coder",
        "memory-user-user": "user",
    }
    assert [one.content for one in get(adapter, "memory-coder-user").messages] == ["coder likes fish", "and soup"]


@pytest.mark.parametrize("raw", [b"", b"\n", b"\xa7", "§".encode(), "\n§\n§\n".encode(), "\ufeff§\n".encode()])
def test_files_without_an_entry(memories: Path, tmp_path: Path, raw: bytes) -> None:
    (memories / "MEMORY.md").write_bytes(raw)
    texts = [message.content for message in get(adapter_for(tmp_path), "memory-notes").messages]
    assert texts == (["\ufffd"] if raw == b"\xa7" else [])


def test_a_file_that_is_written_is_followed(memories: Path, tmp_path: Path) -> None:
    adapter = adapter_for(tmp_path)
    source = adapter.find("memory-notes")
    assert source is not None
    transcript = adapter.open(source, "memory-notes")
    assert transcript.complete and len(transcript.messages) == 3
    (memories / "new").write_text(f"{NOTES}\n§\nA fourth")
    (memories / "new").replace(memories / "MEMORY.md")
    change = transcript.refresh()
    assert change.first == 3 and not change.rewritten
    assert transcript.messages[3].content == "A fourth"
    (memories / "MEMORY.md").unlink()
    assert transcript.refresh().gone
    with pytest.raises(SessionMissing):
        adapter.session(source, "memory-notes")
    assert adapter.find("memory-notes") is None


def test_what_cannot_be_read_is_said(memories: Path, tmp_path: Path, problems: list[Problem]) -> None:
    (memories / "MEMORY.md").unlink()
    (memories / "MEMORY.md").mkdir()
    (memories / "USER.md").write_text("Likes birds")
    adapter = adapter_for(tmp_path)
    sources = list(adapter.sources(problems.append))
    found = [summary.session_id for source in sources for summary in adapter.summaries(source, problems.append)]
    assert found == ["memory-user"]
    assert [problem.path for problem in problems] == [str(memories / "MEMORY.md")]
    with pytest.raises(SessionUnreadable):
        get(adapter, "memory-notes")
