"""Memory entries add results to a search, and are in no list (spec 004 §4.2.10, checklist S-8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_store import Store
from hermes_tui.sessions.manager import SessionManager
from indexing import build
from session_adapters.base import Environment


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    store = Store(home)
    store.session("s1", title="Birds")
    store.say("s1", "user", "a heron at the weir")
    store.connection.close()
    folder = home / ".hermes" / "memories"
    folder.mkdir()
    (folder / "USER.md").write_text("Lives near the weir\n§\nLoves the kingfisher")
    return home


@pytest.mark.parametrize("indexed", [False, True])
def test_entries_are_found_and_not_listed(home: Path, tmp_path: Path, *, indexed: bool) -> None:
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache")
    if indexed:
        build(manager.environment, manager.index.path)
    outcome = manager.discover("weir")
    assert {one.session_id for one in outcome.results} == {"s1", "memory-user"}
    assert outcome.coverage.indexed == (2 if indexed else 0)
    (found,) = manager.discover("kingfisher").results
    assert (found.kind, found.session_id, found.message_id) == ("memory", "memory-user", "2")
    assert found.snippet[slice(*found.marks[0])] == "kingfisher"
    assert [line.text for line in found.start] == ["Lives near the weir", "Loves the kingfisher"]
    assert not manager.discover("kingfisher agent:claude").results
    assert [one.session_id for one in manager.discover("-heron").results] == ["memory-user"]

    assert [one.session_id for one in manager.list()] == ["s1"]
    assert [one.session_id for one in manager.browse()] == ["s1"]
    assert [one.session_id for one in manager.catalogue.snapshot.sessions] == ["s1"]
    (examined,) = [one for one in manager.doctor().agents if one.agent == "hermes"]
    assert examined.sessions == 1
    assert manager.get("hermes", "memory-user").messages[1].content == "Loves the kingfisher"
    assert manager.summary("hermes", "memory-user").kind == "memory"
    assert [one.session_id for one in manager.matches("hermes", "memory-")] == ["memory-user"]
    manager.catalogue.close()
    again = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache")
    assert [one.session_id for one in again.catalogue.saved().sessions] == ["s1"]


def test_an_entry_that_was_forgotten_is_found_no_more(home: Path, tmp_path: Path) -> None:
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache")
    assert manager.discover("kingfisher").total == 1
    (home / ".hermes" / "memories" / "USER.md").write_text("Lives near the weir")
    assert manager.discover("kingfisher").total == 0
    (home / ".hermes" / "memories" / "USER.md").unlink()
    assert [one.session_id for one in manager.discover("weir").results] == ["s1"]
    assert not manager.catalogue.snapshot.memories
    assert [one.session_id for one in manager.catalogue.snapshot.sessions] == ["s1"]
