"""Databases made to keep a reader busy for ever or to fill its memory: what is left out is said, the rest is read."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hostile_databases import PLACES, Place, lay
from session_adapters.base import Environment
from session_adapters.model import EPOCH, Problem, SessionSummary
from session_adapters.reading import sqlite_limits
from session_adapters.registry import adapter_class

_LONG = 3 << 20
_LISTS = ("hermes", "opencode", "cursor-document", "codex", "openclaw", "hector")
"""The places whose tables are lists of sessions."""


def listed(place: str, home: Path) -> tuple[list[SessionSummary], list[Problem]]:
    """All that is shown of a home, and what is said beside it."""
    problems: list[Problem] = []
    adapter = adapter_class(place.partition("-")[0])(Environment(home=home))
    found = [one for source in adapter.sources(problems.append) for one in adapter.summaries(source, problems.append)]
    return found, problems


def rows(path: Path, query: str) -> list[tuple[str, ...]]:
    """What plain SQL finds."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("place", [name for name in PLACES if name != "codex"])
@pytest.mark.parametrize("bomb", ["endless", "expanding"])
def test_a_view_is_named_and_not_read(bomb: str, place: str, tmp_path: Path) -> None:
    path = lay(bomb, place, tmp_path / "home", _LONG)
    _, problems = listed(place, tmp_path / "home")
    said = [problem.reason for problem in problems if "view" in problem.reason]
    assert said and all(PLACES[place].table in reason for reason in said)
    assert str(path) in {problem.path for problem in problems} or place == "cursor-tracking"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("bomb", ["endless", "expanding"])
def test_names_of_sessions_out_of_a_view_are_none(bomb: str, tmp_path: Path) -> None:
    lay(bomb, "codex", tmp_path / "home", _LONG)
    adapter = adapter_class("codex")(Environment(home=tmp_path / "home"))
    problems: list[Problem] = []
    found = [one for source in adapter.sources(problems.append) for one in adapter.summaries(source, problems.append)]
    assert found
    assert any("threads" in problem.reason and "view" in problem.reason for problem in problems)


@pytest.mark.parametrize("place", _LISTS)
def test_a_computed_column_is_not_computed(place: str, tmp_path: Path) -> None:
    lay("generated", place, tmp_path / "home", _LONG)
    found, _ = listed(place, tmp_path / "home")
    assert found and not [one for one in found if "0" * 50 in f"{one.title}{one.raw}"]


@pytest.mark.parametrize("place", _LISTS)
def test_a_long_text_is_left_out_and_its_neighbours_stay(place: str, tmp_path: Path) -> None:
    where = PLACES[place]
    path = lay("long", place, tmp_path / "home", _LONG)
    ((key,),) = rows(path, f'SELECT max("{where.key}") FROM {where.table}')
    found, problems = listed(place, tmp_path / "home")
    (problem,) = [one for one in problems if f"{where.text} is left out" in f"{one.place} {one.reason}"]
    said = f"{problem.place} {problem.reason}"
    assert f"table {where.table}, row {key}" in said and str(_LONG) in said
    lay("many", place, tmp_path / "before", 0)
    assert {one.session_id for one in found} == {one.session_id for one in listed(place, tmp_path / "before")[0]}


@pytest.mark.parametrize("place", [*_LISTS, "hector-events"])
def test_a_list_says_how_much_it_leaves_out(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    where = PLACES[place]
    lay("many", place, tmp_path / "home", 400)
    whole, problems = listed(place, tmp_path / "home")
    assert not [one for one in problems if "too large for a list" in one.reason]
    monkeypatch.setattr(sqlite_limits, "LIST_LIMIT", 100 << 10)
    part, problems = listed(place, tmp_path / "home")
    (problem,) = [one for one in problems if "too large for a list" in one.reason]
    assert where.table in f"{problem.place} {problem.reason}"
    assert len(part) < len(whole) or place == "codex"


def without_row_ids(path: Path, where: Place) -> None:
    """Make the table anew without them."""
    with closing(sqlite3.connect(path)) as db:
        names = [name for _, name, *_ in db.execute(f"PRAGMA table_info({where.table})")]
        keys = [name for _, name, *_, key in db.execute(f"PRAGMA table_info({where.table})") if key]
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            db.execute(f'DROP TRIGGER "{name}"')
        db.execute(f"CREATE TABLE other ({', '.join(names)}, PRIMARY KEY ({', '.join(keys)})) WITHOUT ROWID")
        db.execute(f"INSERT INTO other SELECT * FROM {where.table}")
        db.execute(f"DROP TABLE {where.table}")
        db.execute("PRAGMA legacy_alter_table = 1")
        db.execute(f"ALTER TABLE other RENAME TO {where.table}")
        db.commit()


@pytest.mark.parametrize("place", ["hermes", "opencode", "openclaw"])
def test_a_table_without_row_ids_is_listed(place: str, tmp_path: Path) -> None:
    path = lay("many", place, tmp_path / "home", 0)
    before = {one.session_id for one in listed(place, tmp_path / "home")[0]}
    without_row_ids(path, PLACES[place])
    found, problems = listed(place, tmp_path / "home")
    assert not [one for one in problems if "rowid" in one.reason]
    assert {one.session_id for one in found} == before


@pytest.mark.parametrize("place", ["hector", "hector-messages", "hector-events", "cursor-document"])
def test_tables_whose_rows_are_found_by_their_ids_are_named_without_them(place: str, tmp_path: Path) -> None:
    path = lay("many", place, tmp_path / "home", 0)
    without_row_ids(path, PLACES[place])
    _, problems = listed(place, tmp_path / "home")
    (said,) = [one.reason for one in problems if one.path == str(path) and "row" in one.reason]
    assert said == f"«{PLACES[place].table}» in it was made without row ids, by which its rows are found"


def test_messages_of_sessions_that_were_left_out_are_no_strays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay("many", "hermes", tmp_path / "home", 0)
    monkeypatch.setattr(sqlite_limits, "LIST_LIMIT", 1200)
    found, problems = listed("hermes", tmp_path / "home")
    assert found and any("too large for a list" in one.reason for one in problems)
    assert not [one for one in problems if "belong to no session" in one.reason]


@pytest.mark.parametrize(
    "place", ["hermes", "opencode", "hector", "hector-events", "openclaw", "cursor-editor", "cursor-document"]
)
def test_of_a_session_as_much_is_read_as_there_is_room_for(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was read whole or refused whole, and of most agents the newest were left out."""
    path = lay("many", place, tmp_path / "home", 0)
    adapter = adapter_class(place.partition("-")[0])(Environment(home=tmp_path / "home"))
    (source,) = [one for one in adapter.sources(lambda problem: None) if one.path == str(path)]
    ids = [one.session_id for one in adapter.summaries(source, lambda problem: None, exact=True)]
    before = {one: adapter.session(source, one) for one in ids}
    monkeypatch.setattr(sqlite_limits, "SESSION_LIMIT", 2 << 10 if place == "cursor-document" else 8 << 10)
    after = {one: adapter.session(source, one) for one in ids}
    left = {one: session.raw["leftOut"] for one, session in after.items() if "leftOut" in session.raw}
    assert left
    for one in ids:
        kept, there = ([message.id for message in session[one].messages] for session in (after, before))
        if place == "openclaw":  # a summary is shown before what it kept, and the first event is no message
            newest = max(before[one].messages, key=lambda message: message.timestamp or EPOCH, default=None)
            assert set(kept) <= set(there) and (newest is None or newest.id in kept)
        else:
            assert kept == there[len(there) - len(kept) :] and (len(kept) < len(there) or one not in left)
        if place == "hector":
            assert len(before[one].messages) + before[one].warnings == len(after[one].messages) + after[one].warnings
        if place == "hermes":
            assert len(before[one].messages) - len(after[one].messages) == left.get(one, 0)
        if one in left:
            said = [problem.reason for problem in adapter.open(source, one).problems]
            assert any("the first " in reason and "left out" in reason for reason in said)
    problems: list[Problem] = []
    assert list(adapter.texts(source, problems.append))
    said = [problem.session_id for problem in problems if "left out" in problem.reason and problem.session_id]
    assert set(left) <= set(said)
