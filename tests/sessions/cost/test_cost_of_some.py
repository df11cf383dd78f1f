"""What a few sessions cost is added up without reading what other agents' sessions cost."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import apsw
import pytest
from msgspec.structs import replace

from hermes_tui.sessions.catalogue.cache import CachedSource
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment, Report, Source
from session_adapters.model import Cost
from session_adapters.registry import adapter_class
from session_adapters.usage import Usage
from spending import Spender

_AGENTS = ("claude", "codex")


@pytest.fixture
def home(store: Callable[..., Path]) -> Path:
    """Sessions of both."""
    found = store("claude", "home")
    shutil.copytree(store("codex", "home") / ".codex", found / ".codex", symlinks=True)
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The agents whose sources are read for costs."""
    found: list[str] = []

    def watch(agent: str) -> None:
        kind = adapter_class(agent)
        usage = kind.usage

        def watched(
            self: object, source: Source, report: Report, session_ids: Collection[str] | None = None
        ) -> Iterator[Usage]:
            found.append(agent)
            return usage(self, source, report, session_ids)  # type: ignore[arg-type]

        monkeypatch.setattr(kind, "usage", watched)

    for agent in _AGENTS:
        watch(agent)
    return found


def manager_of(home: Path, cache: Path) -> SessionManager:
    """With the caches there."""
    return SessionManager(Environment(home=home), cache_dir=cache, agents=_AGENTS)


def test_only_the_agents_of_what_is_printed_are_added_up(home: Path, tmp_path: Path, asked: list[str]) -> None:
    """A search's JSON of one session of Claude Code added up every session of every agent."""
    whole = manager_of(home, tmp_path / "other")
    whole.catalogue.refresh()
    sheet = whole.costs.sheet()
    assert set(asked) == set(_AGENTS)
    asked.clear()

    manager = manager_of(home, tmp_path / "cache")
    claude = [one for one in manager.list() if one.agent == "claude"]
    found = manager.exact(claude)
    assert set(asked) == {"claude"}
    assert len(found) == len(claude) and any(one.cost is not None for one in found)
    assert {one.unified_id: one.cost for one in found} == {one.unified_id: sheet.own[one.unified_id] for one in found}

    asked.clear()
    manager = manager_of(home, tmp_path / "cache")
    manager.catalogue.refresh()
    after = manager.costs.sheet()
    assert set(asked) == {"codex"}, "what was added up is kept"
    assert after.rows == sheet.rows
    assert after.own == sheet.own


def test_only_the_files_of_what_is_printed_are_read(home: Path, tmp_path: Path, asked: list[str]) -> None:
    """A search of 100,000 small files, of which a fifth were known, read that fifth once more."""
    whole = manager_of(home, tmp_path / "other")
    whole.catalogue.refresh()
    sheet = whole.costs.sheet()
    asked.clear()

    manager = manager_of(home, tmp_path / "cache")
    manager.catalogue.seconds = 0.0
    first = manager.list()
    assert first and manager.catalogue.snapshot.unread
    found = manager.exact(first)
    assert {one.unified_id: one.cost for one in found} == {one.unified_id: sheet.own[one.unified_id] for one in found}
    assert len(asked) <= len({one.path for one in first})  # fewer, where the list has read one in full


def test_what_there_is_no_time_to_add_up_is_said_and_goes_on(
    home: Path, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100,000 small files that the list knew, a cost report read all: 22 s of the processor."""
    in_a_hurry = manager_of(home, tmp_path / "few")
    in_a_hurry.catalogue.seconds = 0.0
    in_a_hurry.catalogue.refresh()
    assert not in_a_hurry.costs.sheet().left, "of fewer all are read"
    monkeypatch.setattr("hermes_tui.sessions.cost.call_reader.MANY", 0)
    asked.clear()
    whole = manager_of(home, tmp_path / "other")
    whole.catalogue.refresh()
    sheet = whole.costs.sheet()
    assert not sheet.left and len(asked) > 3
    manager_of(home, tmp_path / "cache").catalogue.refresh()

    before = len(whole.catalogue.entries())
    for _ in range(before):
        asked.clear()
        manager = manager_of(home, tmp_path / "cache")
        manager.catalogue.seconds = 0.0
        total = manager.total_cost()
        assert len(asked) <= 1, "one file in each run makes progress"
        left = manager.costs.left
        assert left < before
        before = left
        known = {one.unified_id for one in manager.list()} - manager.pending_costs(manager.list())
        assert {name: sheet.own[name] for name in known} == {
            one.unified_id: one.cost for one in manager.list() if one.unified_id in known
        }
        if not left:
            break
        assert total.session_count == len(manager.list()), "those that are not added up yet are sessions, too"
    assert not before
    after = manager_of(home, tmp_path / "cache")
    after.catalogue.refresh()
    assert (after.costs.sheet().rows, after.costs.sheet().own) == (sheet.rows, sheet.own)


def test_json_of_very_many_adds_up_what_there_is_time_for_and_goes_on(
    home: Path, tmp_path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 100,000 small files `list --json` read all, and priced once more what it knew: 30 s of the processor."""
    whole = manager_of(home, tmp_path / "other")
    sheet = whole.exact(whole.list())
    manager_of(home, tmp_path / "cache").list()
    monkeypatch.setattr("hermes_tui.sessions.cost.call_reader.MANY", 0)

    before = len(sheet)
    while before:
        asked.clear()
        manager = manager_of(home, tmp_path / "cache")
        manager.catalogue.seconds = 0.0
        rows = manager.exact(manager.list())
        assert len(asked) == 1, "one file in each run makes progress"
        pending = manager.pending_costs(rows)
        assert len(pending) < before
        before = len(pending)
        expected = [replace(one, cost=None) if one.unified_id in pending else one for one in sheet]
        assert rows == expected
        manager.catalogue.close()


def test_what_was_added_up_for_json_is_what_the_table_shows(tmp_path: Path) -> None:
    """A table kept showing what the sessions had cost before they grew, once JSON of one of them had been printed."""
    spender = Spender(tmp_path / "home")
    for name in ("grown", "same"):
        spender.session(name, {"input": 10})
    spender.manager().total_cost()
    spender.session("grown", {"input": 10}, {"input": 1_000})

    manager = spender.manager()
    (printed,) = manager.exact([one for one in manager.list() if one.session_id == "grown"])
    assert printed.cost is not None and printed.cost.input_tokens == 1_010
    manager = spender.manager()
    listed = manager.list()
    assert not manager.pending_costs(listed)
    shown = {one.session_id: one.cost and one.cost.input_tokens for one in listed}
    assert shown == {"grown": 1_010, "same": 10}


def test_a_source_of_many_sessions_is_not_gone_through_for_each(
    store: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a database of 35,000 sessions JSON took 80 s of the processor."""
    manager = SessionManager(Environment(home=store("hermes", "home")), cache_dir=tmp_path, agents=("hermes",))
    listed = manager.list()
    names, asked = CachedSource.names, 0
    assert isinstance(names, property) and names.fget is not None
    told = names.fget

    def counted(entry: CachedSource) -> object:
        nonlocal asked
        asked += 1
        return told(entry)

    monkeypatch.setattr(CachedSource, "names", property(counted))
    assert any(one.cost for one in manager.exact(listed))
    sources = len(manager.catalogue.entries())
    assert len(listed) > 10 * sources >= asked, "a few times each"


def test_what_shares_a_file_with_what_was_printed_is_not_shown_as_it_was(
    store: Callable[..., Path], tmp_path: Path
) -> None:
    """Sessions of one database are read for costs together, and those that nobody asked about kept the old ones."""
    home = store("hermes", "old_versions/v6")
    database = apsw.Connection(str(home / ".hermes" / "state.db"))

    def manager() -> SessionManager:
        return SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", agents=("hermes",))

    def spend(tokens: int) -> None:
        database.execute("UPDATE sessions SET model = 'claude-haiku-4-5', output_tokens = ?", (tokens,))

    spend(1_000)
    manager().total_cost()
    asked, other = [one for one in manager().list() if one.cost is not None][:2]
    spend(2_000_000)
    database.close()

    (printed,) = manager().exact([one for one in manager().list() if one.session_id == asked.session_id])
    assert printed.cost is not None and printed.cost.output_tokens == 2_000_000
    after = manager()
    listed = after.list()
    assert {one.unified_id: one.cost for one in listed}[asked.unified_id] == printed.cost
    assert other.unified_id in after.pending_costs(listed), "it was not added up again"


@pytest.mark.parametrize("file", ["c2d77fac-*.jsonl", "rollout-*-01a1fd32-f807-*.jsonl"], ids=_AGENTS)
@pytest.mark.parametrize("added_up", ["total", "exact"])
def test_a_cost_of_before_a_file_grew_is_never_given(home: Path, tmp_path: Path, file: str, added_up: str) -> None:
    """The exact reading of a partial session brought its calls along, with which the cost of before went as its."""
    (path,) = home.rglob(file)
    lines = path.read_bytes().splitlines(keepends=True)
    kept = len(lines) * 2 // 3
    path.write_bytes(b"".join(lines[:kept]))

    def costs(cache: Path) -> dict[str, Cost | None]:
        manager = manager_of(home, cache)
        found = {one.unified_id: one.cost for one in manager.exact(manager.list())}
        manager.catalogue.close()
        return found

    before = costs(tmp_path / "cache")
    if added_up == "total":
        manager_of(home, tmp_path / "cache").total_cost()
    with path.open("ab") as written:
        written.writelines(lines[kept:])
    assert any(one.partial and one.path == str(path) for one in manager_of(home, tmp_path / "new").list())
    now = costs(tmp_path / "new")
    assert now != before
    assert costs(tmp_path / "cache") == now
    assert {one.unified_id: one.cost for one in manager_of(home, tmp_path / "cache").list()} == now
