"""Databases with more sessions than a list holds, or that are refused: what was not searched or added up is said."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from hermes_tui.sessions.manager import SessionManager
from hostile_databases import PLACES, lay
from session_adapters.base import Environment, Report, Source
from session_adapters.model import Problem
from session_adapters.reading import bounds, sqlite, sqlite_limits
from session_adapters.registry import adapter_class

_LISTS = ("hermes", "opencode", "openclaw", "hector", "cursor-document")


@pytest.fixture
def cut(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionManager:
    """A home with more sessions than fit into the list, which was made; from now on there is no time for more."""
    place: str = request.param
    lay("many", place, tmp_path / "home", 400)
    monkeypatch.setattr(sqlite_limits, "LIST_LIMIT", 150 << 10)
    manager = SessionManager(
        Environment(home=tmp_path / "home"), cache_dir=tmp_path / "cache", agents=(place.partition("-")[0],)
    )
    assert any("too large for a list" in problem.reason for problem in manager.catalogue.refresh().problems)
    monkeypatch.setattr(bounds, "LIST_SECONDS", 0.0)
    return manager


@pytest.mark.parametrize("cut", _LISTS, indirect=True)
def test_a_search_says_how_many_sessions_it_left_out(cut: SessionManager) -> None:
    outcome = cut.discover("xylophone")
    assert str(outcome.coverage).startswith("scanned, ") and outcome.coverage.unread
    said, *_ = [problem.reason for problem in outcome.problems if "to search" in problem.reason]
    assert said.startswith("there are too many sessions to search: 0 of the ")
    assert not [one for one in cut.discover("-xylophone", limit=None).results if "composerData:n" in one.session_id]


@pytest.mark.parametrize("cut", [place for place in _LISTS if place != "hermes"], indirect=True)
def test_costs_say_how_many_sessions_they_lack(cut: SessionManager) -> None:
    """Hermes' sums are rows of a table: as many are taken as are listed."""
    assert any("too many sessions to add up: 0 of the " in problem.reason for problem in cut.costs.sheet().problems)


@pytest.mark.parametrize("cut", ["opencode"], indirect=True)
def test_what_was_cut_is_not_read_in_full(cut: SessionManager) -> None:
    before = cut.catalogue.snapshot
    assert before.partial == cut.catalogue.complete(lambda: False).partial


@pytest.mark.parametrize("place", _LISTS)
def test_a_search_says_that_a_database_was_refused(place: str, tmp_path: Path) -> None:
    path = lay("endless", place, tmp_path / "home", 0)
    manager = SessionManager(
        Environment(home=tmp_path / "home"), cache_dir=tmp_path / "cache", agents=(place.partition("-")[0],)
    )
    outcome = manager.discover("xylophone")
    assert outcome.coverage.unread == 1
    assert "all scanned" not in str(outcome.coverage) and "1 could not be read in full" in str(outcome.coverage)
    assert {problem.path for problem in outcome.problems if PLACES[place].table in problem.reason} == {str(path)}


@pytest.mark.parametrize("place", ["opencode", "openclaw", "hector", "cursor-document"])
def test_a_database_that_is_refused_during_a_search_is_named_once(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was said of each of its sessions."""
    path = lay("many", place, tmp_path / "home", 400)
    monkeypatch.setattr(sqlite_limits, "LIST_LIMIT", 150 << 10)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE one_more (x)")
        db.commit()
        manager = SessionManager(
            Environment(home=tmp_path / "home"), cache_dir=tmp_path / "cache", agents=(place.partition("-")[0],)
        )
        assert len(manager.catalogue.refresh().sessions) > 50
        monkeypatch.setattr(sqlite, "OPENING_SECONDS", -1.0)
        outcome = manager.discover("xylophone")
    said = [problem for problem in outcome.problems if "open it once with its own program" in problem.reason]
    assert [(problem.path, problem.session_id) for problem in said] == [(str(path), "")]


@pytest.mark.parametrize("place", [place for place in _LISTS if place != "hermes"])
def test_of_a_list_that_was_cut_as_many_are_indexed_as_there_is_time_for(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each was opened on its own: an index of 300,000 sessions took minutes. Hermes' are looked at together."""
    path = lay("many", place, tmp_path / "home", 400)
    monkeypatch.setattr(sqlite_limits, "LIST_LIMIT", 150 << 10)
    adapter = adapter_class(place.partition("-")[0])(Environment(home=tmp_path / "home"))
    (source,) = [one for one in adapter.sources(lambda problem: None) if one.path == str(path)]
    session_ids = adapter.session_ids

    def slow(source: Source, report: Report) -> Sequence[str]:
        found = session_ids(source, report)
        monkeypatch.setattr(bounds, "LIST_SECONDS", 0.0)
        return found

    monkeypatch.setattr(adapter, "session_ids", slow)
    problems: list[Problem] = []
    assert list(adapter.texts(source, problems.append)) == []
    assert any("too many sessions to search: 0 of the" in problem.reason for problem in problems)
