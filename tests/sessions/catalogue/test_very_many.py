"""More sessions than anybody has: what is left out is said, and nothing of it is gone."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.manager import SessionManager
from tiny_home import START, TinyHome

MOST = "hermes_tui.sessions.catalogue.source_listing.MOST_SOURCES"
PICTURED = "hermes_tui.sessions.catalogue.cache.PICTURED"


def add(home: TinyHome, number: int, turns: int = 1) -> Path:
    """A session that was written to at a time of its own."""
    path = home.add(f"s{number}", at=START + timedelta(hours=number), turns=turns)
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    return path


def told(snapshot: Snapshot) -> tuple[dict[str, bool], list[str]]:
    """Whether each session is gone, and what is said of the rest."""
    return {one.session_id: one.gone for one in snapshot.sessions}, [one.reason for one in snapshot.problems]


def left_out(count: int) -> list[str]:
    return [f"there are too many for a list: {count:,} older files are left out"] if count else []


@pytest.mark.parametrize("order", [(4, 0, 3, 1, 2), (0, 1, 2, 3, 4), (4, 3, 2, 1, 0)])
def test_the_newest_are_listed_and_the_others_counted(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch, order: tuple[int, ...]
) -> None:
    names = {number: f"{place}-s{number}" for place, number in enumerate(order)}
    for number, name in names.items():
        add(tiny_home, number).rename(tiny_home.store / f"{name}.jsonl")
    for most in range(1, 7):
        monkeypatch.setattr(MOST, most)
        newest = {names[number]: False for number in range(max(5 - most, 0), 5)}
        assert told(manager.catalogue.refresh()) == (newest, left_out(max(5 - most, 0)))


def test_what_makes_room_is_not_gone_and_what_is_deleted_is(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MOST, 3)
    paths = [add(tiny_home, number) for number in range(3)]
    catalogue = manager.catalogue
    assert told(catalogue.refresh()) == ({"s2": False, "s1": False, "s0": False}, left_out(0))
    paths.append(add(tiny_home, 3))
    assert told(catalogue.refresh()) == ({"s3": False, "s2": False, "s1": False}, left_out(1))
    paths[2].unlink()
    add(tiny_home, 4)
    assert told(catalogue.refresh()) == ({"s4": False, "s3": False, "s2": True, "s1": False}, left_out(1))
    paths[3].unlink()
    assert told(catalogue.refresh()) == ({"s4": False, "s3": True, "s2": True, "s1": False, "s0": False}, left_out(0))


def test_the_first_picture_has_the_newest_and_says_that_there_are_more(
    tiny_home: TinyHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        add(tiny_home, number)
    monkeypatch.setattr(PICTURED, 2)
    catalogue = tiny_home.manager(tmp_path / "kept").catalogue
    whole = catalogue.refresh()
    catalogue.close()
    again = tiny_home.manager(tmp_path / "kept").catalogue
    first = again.saved()
    assert (first.sessions, first.partial) == (whole.sessions[:2], 3)
    now = again.refresh()
    assert (now.sessions, now.partial) == (whole.sessions, 0)
