"""What a person has seen is kept in one file of ours, and nothing else is."""

from __future__ import annotations

import os
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hermes_tui.sessions.mark_store import MarkStore, MarksUnusable

NOON = datetime.fromtimestamp(2000, UTC)


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "marks.db"
    MarkStore(path).see("claude:a", NOON)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_what_was_seen_never_becomes_older(tmp_path: Path) -> None:
    marks = MarkStore(tmp_path / "marks.db", now=lambda: 1000.0)
    assert marks.began == 1000.0
    newer, older = datetime.fromtimestamp(2000, UTC), datetime.fromtimestamp(1500, UTC)
    marks.see("claude:a", newer)
    marks.see("claude:a", older)
    assert marks.seen() == {"claude:a": 2000.0}
    marks.close()
    assert MarkStore(tmp_path / "marks.db", now=lambda: 9000.0).began == 1000.0


def test_what_no_message_tells_is_something_new_until_it_is_seen(tmp_path: Path) -> None:
    marks = MarkStore(tmp_path / "marks.db")
    for _ in range(2):
        marks.see("claude:a", NOON)
        assert marks.seen()["claude:a"] == 2000.0
        marks.renew("claude:a", NOON)
        marks.renew("claude:b", NOON)
        assert all(1999.9 < at < 2000.0 for at in marks.seen().values()) and len(marks.seen()) == 2


def test_a_home_may_have_a_name_that_is_no_utf_8(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/h\xff %41?x")) / "marks.db"
    MarkStore(path).see("claude:a", NOON)
    assert path.exists() and MarkStore(path).seen() == {"claude:a": 2000.0}


def test_two_programs_may_mark_at_once(tmp_path: Path) -> None:
    path = tmp_path / "marks.db"
    programs = [MarkStore(path) for _ in range(4)]
    for one in programs:
        assert one.seen() == {}

    def work(marks: MarkStore, number: int) -> None:
        for at in range(25):
            marks.see(f"claude:{number}-{at}", NOON)

    threads = [threading.Thread(target=work, args=(one, number)) for number, one in enumerate(programs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(programs[0].seen()) == 100


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
        MarkStore(path).see("claude:a", NOON)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
