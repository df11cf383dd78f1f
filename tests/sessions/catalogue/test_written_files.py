"""A look at the files that were written comes to the same as one at every file."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from chances import TIMES, chance
from claude_lines import ClaudeHome
from hermes_tui.clock import Clock
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.catalogue.snapshot import Snapshot, newest_first
from hermes_tui.sessions.cost.priced_sessions import priced
from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.runs import RunIndex
from hermes_tui.sessions.cost.session_books import SessionBooks, SheetBasis
from hermes_tui.sessions.cost.summary import SpendRow, SpendSummary
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.widgets.session_list.order import Order
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.workers.list_layout import ListLayout
from made import NOW
from sample_homes import HOMES
from session_adapters.base import Environment
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.model import SessionSummary
from session_adapters.reading.files import METER
from support import STORES
from tiny_adapter import TinyAdapter
from tiny_home import TinyHome

STEPS = 12 * TIMES
LINES = [name for name in HOMES if any(path.is_file() for path in (STORES / name).rglob("*.jsonl"))]
"""Homes with files of lines."""


def write(home: Path, dice: random.Random) -> Collection[Path]:
    """Do something to a file as agents and their users do; the paths that the system would notify of."""
    path = dice.choice(sorted(one for one in home.rglob("*.jsonl") if one.is_file()))
    lines = path.read_bytes().splitlines(keepends=True)
    other = path.with_name(f"{dice.randrange(1 << 40):x}{path.name[-60:]}")
    match dice.randrange(9):
        case 0:
            path.write_bytes(b"".join(lines[: len(lines) // 2]))
        case 1:
            shutil.copy(path, other)
            return (other,)
        case 2:
            path.rename(other)
            return (path, other)
        case 3 if len(list(home.rglob("*.jsonl"))) > 2:
            path.unlink()
        case 4:
            other.write_bytes(b"".join(lines))
            other.replace(path)
            return (path, other)
        case 5:
            side = path.with_suffix(".meta.json")
            side.write_text('{"description": "another"}')
            return (side,)
        case 6 if lines:
            path.write_bytes(b"".join([*lines, lines[-1][: len(lines[-1]) // 2]]))
        case _ if lines:
            with path.open("ab") as file:
                file.write(lines[-1])
        case _:
            path.touch()
    return (path,)


def looked(snapshot: Snapshot) -> tuple[object, ...]:
    """What it says of sessions."""
    return snapshot.sessions, snapshot.problems, snapshot.places, snapshot.partial


def related(catalogue: Catalogue, agent: str) -> Sequence[SessionSummary]:
    """What the adapter says when it compares all that was read."""
    adapter = catalogue.adapter_of(agent)
    assert adapter is not None
    entries = [one for one in catalogue.entries() if one.source.agent == agent]
    return list(adapter.relate([each for entry in entries for each in entry.summaries]))


@pytest.mark.parametrize("name", LINES)
def test_it_comes_to_the_same_as_a_look_at_all(name: str, tmp_path: Path) -> None:
    home, agent = tmp_path / "home", name.partition("/")[0]
    shutil.copytree(STORES / name, home, symlinks=True)
    dice = chance(LINES.index(name))
    environment = Environment(home=home, variables={}, proc=tmp_path / "proc")
    few, all_of_them = (SessionManager(environment, cache_dir=tmp_path / one).catalogue for one in ("few", "all"))
    assert looked(few.refresh()) == looked(all_of_them.refresh())
    for _ in range(STEPS):
        written = {str(path) for _ in range(dice.randint(1, 3)) for path in write(home, dice)}
        found = few.refresh((agent,), written=written)
        assert looked(found) == looked(all_of_them.refresh((agent,))), written
        compared = related(few, agent)
        there = [one for one in found.sessions if one.agent == agent and not one.gone]
        assert {one.session_id for one in there} == {one.session_id for one in compared}
        assert all(one in compared for one in there), written


def test_no_other_file_is_looked_at(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tiny_home.add(f"s{number}") for number in range(10)]
    catalogue = manager.catalogue
    catalogue.refresh()
    listings: list[str] = []
    sources = TinyAdapter.sources

    def counted(self: TinyAdapter, report: object) -> object:
        listings.append("listed")
        return sources(self, report)  # type: ignore[arg-type]

    monkeypatch.setattr(TinyAdapter, "sources", counted)
    tiny_home.add("s3", turns=5)
    METER.reset()
    found = catalogue.refresh(("tiny",), written={str(paths[3])})
    assert {one.session_id: one.turn_count for one in found.sessions}["s3"] == 5
    assert (listings, METER.opened) == ([], 1)
    elsewhere = os.fspath(tiny_home.add("new"))
    assert len(catalogue.refresh(("tiny",), written={elsewhere}).sessions) == 11
    assert listings == ["listed"]


@pytest.mark.parametrize("name", LINES)
def test_costs_and_the_list_are_those_of_a_program_that_begins_now(name: str, tmp_path: Path) -> None:
    """Both go on from what they were."""
    home, agent = tmp_path / "home", name.partition("/")[0]
    shutil.copytree(STORES / name, home, symlinks=True)
    dice = chance(LINES.index(name))
    environment = Environment(home=home, variables={}, proc=tmp_path / "proc")
    manager = SessionManager(environment, cache_dir=tmp_path / "cache", indexed=False)
    shown: list[tuple[Snapshot, Forest]] = []
    layout = ListLayout(manager, Order, shown.append)
    manager.catalogue.refresh()
    for _ in range(STEPS):
        layout.make()
        sheet = manager.costs.book()
        layout.make()
        there = tuple(one for one in manager.catalogue.snapshot.sessions if not one.gone)
        listed = SheetBasis(tuple(manager.catalogue.entries()), there, RunIndex(), Prices({}))
        anew = SessionBooks().add_up(listed, SpendSummary())
        if there:  # of an agent that has no session now nothing is forgotten
            assert (sheet.own, sheet.made_of, sheet.copies) == (anew.own, anew.made_of, anew.copies)
        assert rounded(sheet.rows) == rounded(anew.rows)
        snapshot, forest = shown[-1]
        assert list(snapshot.sessions) == priced(manager.catalogue.snapshot.sessions, sheet.own)
        assert told(forest) == told(Forest(snapshot.sessions))
        written = {str(path) for _ in range(dice.randint(1, 3)) for path in write(home, dice)}
        manager.catalogue.refresh((agent,), written=written)


def rounded(rows: Iterable[SpendRow]) -> Sequence[SpendRow]:
    """What is added in another order is not the same to the last digit."""
    return [replace(one, usd=round(one.usd, 9), estimated_usd=round(one.estimated_usd, 9)) for one in rows]


def told(forest: Forest) -> object:
    """The rows, with all that is below them, and what a search looks in."""
    rows = forest.rows(Clock(NOW), {one.key for one in forest.by_session.values()})
    shown = [(row.heading, row.guide, row.conversation and row.conversation.parts) for row in rows]
    return shown, [one.haystack for one in forest.newest]


def test_a_line_has_no_other_session_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them were compared and sorted for it."""
    claude_home = ClaudeHome(tmp_path / "home")
    paths = [claude_home.session(f"question {number}") for number in range(64)]
    manager = SessionManager(Environment(home=claude_home.home), cache_dir=claude_home.home / "cache")
    catalogue = manager.catalogue
    catalogue.refresh()
    compared: list[int] = []
    asked: list[str] = []

    def key(one: SessionSummary) -> tuple[float, str]:
        asked.append(one.session_id)
        return newest_first(one)

    monkeypatch.setattr(ClaudeAdapter, "relate", lambda adapter, all_: compared.append(len(all_)))
    monkeypatch.setattr("hermes_tui.sessions.catalogue.sorted_sessions.newest_first", key)
    claude_home.say(paths[40], "user", "One more")
    snapshot = catalogue.refresh(("claude",), written=(str(paths[40]),))
    assert snapshot.sessions[0].path == str(paths[40]) and len(snapshot.sessions) == 64
    assert not compared and len(asked) <= 2 * (7 + 2)
