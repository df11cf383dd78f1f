"""What a person put on sessions is kept in one file of ours, and nothing else is."""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_tui.attention.marks import MarkStore, MarksUnusable, SessionMarks

SOME = SessionMarks(pinned=True, name="The big one", note="Ask Ann.\nThen merge.", tags=("shop", "later"))


def test_marks_outlive_the_program(tmp_path: Path) -> None:
    path = tmp_path / "state" / "marks.db"
    first = MarkStore(path)
    first.put("claude:a", SOME)
    first.put("codex:b", SessionMarks(tags=("shop", "shop", "  ", "two  words")))
    first.close()
    second = MarkStore(path)
    assert second.of("claude:a") == SOME
    assert second.of("codex:b").tags == ("shop", "two words")
    assert set(second.all()) == {"claude:a", "codex:b"}
    second.put("claude:a", SessionMarks())
    assert second.of("claude:a") == SessionMarks()
    assert set(second.all()) == {"codex:b"}
    rows = sqlite3.connect(path).execute("SELECT id, tags FROM mark").fetchall()
    assert rows == [("codex:b", "shop\ntwo words")]


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "marks.db"
    MarkStore(path).put("claude:a", SOME)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_was_seen_never_becomes_older(tmp_path: Path) -> None:
    marks = MarkStore(tmp_path / "marks.db", now=lambda: 1000.0)
    assert marks.began == 1000.0
    newer, older = datetime.fromtimestamp(2000, UTC), datetime.fromtimestamp(1500, UTC)
    marks.see("claude:a", newer, 12)
    marks.see("claude:a", older, 12)
    assert marks.seen() == {"claude:a": 2000.0}
    marks.close()
    assert MarkStore(tmp_path / "marks.db", now=lambda: 9000.0).began == 1000.0


def test_two_programs_may_mark_at_once(tmp_path: Path) -> None:
    path = tmp_path / "marks.db"
    programs = [MarkStore(path) for _ in range(4)]
    for one in programs:
        assert one.all() == {}

    def work(marks: MarkStore, number: int) -> None:
        for at in range(25):
            marks.put(f"claude:{number}-{at}", SOME)

    threads = [threading.Thread(target=work, args=(one, number)) for number, one in enumerate(programs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(programs[0].all()) == 100


@pytest.mark.parametrize("kind", ["folder", "link", "junk", "pipe"])
def test_something_else_in_its_place_is_named(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "marks.db"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        (tmp_path / "other").touch()
        path.symlink_to(tmp_path / "other")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"no database at all, but long enough to be looked at" * 100)
        path.chmod(0o600)
    with pytest.raises(MarksUnusable) as error:
        MarkStore(path).put("claude:a", SOME)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
