"""A person's own marks reach list, search, one session and its export, and no store."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from hermes_tui.errors import ValidationError
from hermes_tui.platform import paths
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.mark_store import MarkStore
from hermes_tui.sessions.marks import MarkChange, as_tag
from session_adapters.base import Environment


@pytest.fixture
def manager(store: Callable[..., Path], tmp_path: Path) -> SessionManager:
    return SessionManager(Environment(home=store("claude", "home")), cache_dir=tmp_path / "cache", agents=["claude"])


def mark(manager: SessionManager, unified_ids: list[str], change: MarkChange) -> None:
    manager.marks.change(unified_ids, change)
    manager.catalogue.refresh_marks()


def test_marks_are_in_the_list_in_the_session_and_in_every_search(manager: SessionManager) -> None:
    one, other = manager.list()[:2]
    change = MarkChange(pinned=True, tag=("Needs Review",), note="ask Zoë\nabout it", name="The quux migration")
    mark(manager, [one.unified_id], change)
    marked, plain = manager.summary("claude", one.session_id), manager.summary("claude", other.session_id)
    assert (marked.pinned, marked.tags, marked.own_note) == (True, (*one.tags, "needs-review"), "ask Zoë\nabout it")
    assert (marked.title, marked.agent_title) == ("The quux migration", one.title)
    assert plain == other
    got = manager.get("claude", one.session_id)
    assert (got.title, got.agent_title, got.pinned, got.own_note) == (
        marked.title,
        one.title,
        True,
        "ask Zoë\nabout it",
    )
    assert [found.session_id for found in manager.list(pinned=True)] == [one.session_id]
    for tag in ("Needs Review", "needs-review"):
        assert [found.session_id for found in manager.list(tags=(tag,))] == [one.session_id]
    for query in (
        "is:pinned",
        "tag:needs",
        "note:zoe",
        'note:"about it"',
        "quux",
        "title:quux",
        f'title:"{one.title}"',
    ):
        for use_index in (True, False):
            found = manager.search(query, use_index=use_index)
            assert [result.session_id for result in found if result.title != one.title] == [one.session_id], query
    assert one.session_id not in [found.session_id for found in manager.search("-is:pinned", limit=None)]
    assert "needs-review" in [way.insert for way in manager.searches.complete("tag:nee", 7)]


def test_what_another_program_marks_is_in_the_next_snapshot(manager: SessionManager) -> None:
    one = manager.list()[0]
    before = manager.catalogue.refresh_marks()
    assert manager.catalogue.refresh_marks() is before
    other_program = MarkStore(paths.state_dir() / "marks.db")
    other_program.change([one.unified_id], MarkChange(pinned=True))
    after = manager.catalogue.refresh_marks()
    assert after.version == before.version + 1
    assert [found.session_id for found in after.sessions if found.pinned] == [one.session_id]
    other_program.change([one.unified_id], MarkChange(pinned=False))
    assert not any(found.pinned for found in manager.catalogue.refresh_marks().sessions)


def test_the_first_picture_of_the_next_start_has_them(manager: SessionManager, tmp_path: Path) -> None:
    one = manager.list()[0]
    mark(manager, [one.unified_id], MarkChange(name="Mine"))
    manager.catalogue.refresh_marks()
    manager.catalogue.close()
    again = SessionManager(manager.environment, cache_dir=tmp_path / "cache", agents=["claude"])
    assert "Mine" in [found.title for found in again.catalogue.saved().sessions]


def test_marks_outlive_a_move_of_the_project(manager: SessionManager) -> None:
    """Claude Code keeps a project's sessions in a folder named after its directory: another directory, another
    folder, the same ids."""
    one = manager.list()[0]
    mark(manager, [one.unified_id], MarkChange(name="Mine", pinned=True))
    path = Path(one.path)
    shutil.move(path.parent, path.parent.with_name("-moved-away"))
    moved = manager.list(pinned=True)
    assert [(found.title, found.path == one.path) for found in moved] == [("Mine", False)]
    shutil.rmtree(path.parent.with_name("-moved-away"))
    assert manager.list(pinned=True) == []
    assert manager.marks.all()[one.unified_id].name == "Mine"


def test_nothing_is_made_by_looking(manager: SessionManager) -> None:
    manager.list()
    assert manager.marks.all() == {}
    assert not (paths.state_dir() / "marks.db").exists()


def test_marks_that_cannot_be_read_are_a_problem_and_hide_no_session(manager: SessionManager) -> None:
    file = paths.state_dir() / "marks.db"
    there = manager.list()
    mark(manager, [there[0].unified_id], MarkChange(pinned=True))
    manager.marks.close()
    file.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    assert [one.session_id for one in manager.list()] == [one.session_id for one in there]
    (said,) = [one for one in manager.catalogue.snapshot.problems if one.agent == "hermes-tui"]
    assert str(file) in said.reason
    assert manager.catalogue.refresh_marks() is manager.catalogue.snapshot
    file.unlink()
    assert not [one for one in manager.catalogue.refresh_marks().problems if one.agent == "hermes-tui"]


def test_what_another_program_marks_in_one_tick_of_the_clock_is_seen(tmp_path: Path) -> None:
    """Where the file's own time does not tell that it was written again."""
    ours, theirs = MarkStore(tmp_path / "marks.db"), MarkStore(tmp_path / "marks.db")
    now = time.time_ns()
    for number in range(1, 4):
        theirs.change([f"claude:{number}"], MarkChange(pinned=True))
        os.utime(tmp_path / "marks.db", ns=(now, now))
        assert len(ours.all()) == number
    # Long ago it is told by that.
    os.utime(tmp_path / "marks.db", ns=(1, 1))
    known = ours.all()
    assert len(known) == 3 and ours.all() is known
    theirs.change(["claude:4"], MarkChange(pinned=True))
    assert len(ours.all()) == 4
    for store in (ours, theirs):
        store.close()


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Review", "review"),
        ("#bug", "bug"),
        ("needs  review", "needs-review"),
        ("a,b", "a-b"),
        ("Cafe\u0301", "café"),
    ],
)
def test_a_tag_is_one_word_in_lower_case(typed: str, kept: str) -> None:
    assert as_tag(typed) == kept


@pytest.mark.parametrize(
    "change",
    [{"tag": ("",)}, {"tag": (" \x1b\x00",)}, {"tag": ("a" * 41,)}, {"name": "a" * 101}, {"note": "a" * 10_001}],
)
def test_what_is_too_long_or_nothing_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        MarkChange(**change)  # type: ignore[arg-type]


def test_a_name_without_a_title_of_the_agents(tmp_path: Path) -> None:
    """An agent without titles has none to be told, and that is another thing than no name."""
    file = tmp_path / "marks.db"
    MarkStore(file).change(["claude:a"], MarkChange(name=" two\n words "))
    assert next(apsw.Connection(str(file)).execute("SELECT name FROM session_mark"))[0] == "two words"


def test_marks_that_began_under_a_clock_that_was_ahead_begin_now(tmp_path: Path) -> None:
    """Until that moment nothing counted as new."""
    ahead = MarkStore(tmp_path / "marks.db", now=lambda: 2e9)
    assert ahead.began == 2e9
    ahead.close()
    right = MarkStore(tmp_path / "marks.db", now=lambda: 1e9)
    assert (right.began, right.began) == (1e9, 1e9)
    right.close()


def test_it_is_heard_of_what_another_program_marks_and_sees(tmp_path: Path) -> None:
    here, there = MarkStore(tmp_path / "marks.db"), MarkStore(tmp_path / "marks.db")
    heard: list[str] = []
    here.heard = lambda: heard.append("")
    assert (here.all(), heard) == ({}, [])
    there.see("claude:one", datetime.now(UTC))
    here.all()
    assert len(heard) == 1
    here.all()
    assert len(heard) == 1, "nothing was written since"
    there.change(["claude:one"], MarkChange(pinned=True))
    assert here.all()["claude:one"].pinned and len(heard) == 2
    here.close()
    there.close()
