"""`SessionManager.list` (spec 004 §3.4, §6.1; checklist L-*)."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.errors import AgentNotFound, ValidationError
from hermes_tui.sessions.catalogue.options import ListOptions, select
from hermes_tui.sessions.manager import SessionManager
from session_adapters.model import Cost, SessionSummary
from session_adapters.reading.files import METER
from tiny_home import START, TinyHome


def ids(found: list[SessionSummary]) -> list[str]:
    return [one.session_id for one in found]


def test_l_1_unknown_agent(manager: SessionManager) -> None:
    with pytest.raises(AgentNotFound, match="unknown agent 'bogus'") as caught:
        manager.list("bogus")
    assert caught.value.code == "AGENT_NOT_FOUND"


def test_l_2_missing_store_is_an_empty_list(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.store.rmdir()
    assert manager.list("tiny") == []
    assert manager.catalogue.snapshot.problems == ()


def test_l_3_an_agent_that_keeps_nothing(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one")
    assert tiny_home.manager(tmp_path / "cache", "nostore").list("nostore") == []


def test_l_4_defaults(tiny_home: TinyHome, manager: SessionManager) -> None:
    for number in range(103):
        tiny_home.add(f"s{number:03}", at=START + timedelta(hours=number))
    assert ids(manager.list("tiny")) == [f"s{number:03}" for number in range(102, 2, -1)]


# An order in which creation, last activity, cost and turns all disagree, with two ties.
SAMPLE: dict[str, dict[str, Any]] = {
    "a": {"at": START, "turns": 9, "usd": None},
    "b": {"at": START + timedelta(minutes=1), "turns": 1, "usd": 0.0},
    "c": {"at": START + timedelta(minutes=2), "turns": 3, "usd": 5.0},
    "d": {"at": START + timedelta(minutes=3), "turns": 3, "usd": 0.25},
    "e": {"at": START + timedelta(minutes=3), "turns": 3, "usd": None},
}


@pytest.mark.parametrize(
    ("sort", "rising"),
    [
        ("date", ["a", "b", "c", "d", "e"]),  # d and e tie in both times: by id
        ("cost", ["e", "a", "b", "d", "c"]),  # unknown below zero; e's last activity is before a's
        ("turns", ["b", "c", "d", "e", "a"]),  # c's last activity is before d's
    ],
)
def test_l_5_sort_is_total_in_both_directions(
    tiny_home: TinyHome, manager: SessionManager, sort: str, rising: list[str]
) -> None:
    for name, figures in SAMPLE.items():
        tiny_home.add(name, **figures)
    assert ids(manager.list("tiny", sort=sort, sort_direction="asc")) == rising
    assert ids(manager.list("tiny", sort=sort)) == rising[::-1]


@given(st.permutations(range(6)), st.sampled_from(["date", "cost", "turns", "tokens"]))
def test_l_5_order_does_not_depend_on_the_order_of_reading(order: list[int], sort: Any) -> None:
    rows = [
        SessionSummary(
            agent="tiny",
            session_id=str(number),
            turn_count=number // 2,
            cost=None if number % 3 == 0 else Cost(total_usd=number // 3),
        )
        for number in range(6)
    ]
    options = ListOptions(sort=sort)
    assert select([rows[number] for number in order], options, "/") == select(rows, options, "/")


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/New_York"])
def test_the_first_and_the_last_moment_there_is(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    tiny_home.add("one")
    far = (timezone(timedelta(hours=14)), timezone(timedelta(hours=-14)), None)
    firsts = (date.min, *(datetime.min.replace(tzinfo=one) for one in far))
    lasts = (date.max, *(datetime.max.replace(tzinfo=one) for one in far))
    try:
        for first, last in zip(firsts, lasts, strict=True):
            assert ids(manager.list("tiny", since=first, until=last)) == ["one"]
            assert manager.list("tiny", until=first) == manager.list("tiny", since=last) == []
    finally:
        monkeypatch.undo()
        time.tzset()


def test_l_6_since_and_until_are_inclusive_on_creation(tiny_home: TinyHome, manager: SessionManager) -> None:
    for number in range(4):
        tiny_home.add(f"s{number}", at=START + timedelta(hours=number), turns=200)
    hour = timedelta(hours=1)
    found = manager.list("tiny", since=START + hour, until=START + 2 * hour)
    assert ids(found) == ["s2", "s1"]
    # The same moments from another zone.
    plus_five = timezone(timedelta(hours=5))
    found = manager.list(
        "tiny", since=(START + hour).astimezone(plus_five), until=(START + 2 * hour).astimezone(plus_five)
    )
    assert ids(found) == ["s2", "s1"]
    assert manager.list("tiny", since=START + 2 * hour, until=START) == []


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu"])
def test_l_6_bare_dates_cover_local_days(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    from zoneinfo import ZoneInfo

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        # 8 March 2026: New York's day of 23 hours.
        local = ZoneInfo(zone)
        moments = {
            "before": datetime(2026, 3, 7, 23, 59, 59, 999999, local),
            "first": datetime(2026, 3, 8, 0, 0, 0, 0, local),
            "last": datetime(2026, 3, 8, 23, 59, 59, 999999, local),
            "after": datetime(2026, 3, 9, 0, 0, 0, 0, local),
        }
        for name, moment in moments.items():
            tiny_home.add(name, at=moment.astimezone(UTC))
        day = date(2026, 3, 8)
        assert ids(manager.list("tiny", since=day, until=day)) == ["last", "first"]
        assert ids(manager.list("tiny", until=day)) == ["last", "first", "before"]
        assert ids(manager.list("tiny", since=day)) == ["after", "last", "first"]
        # A time without a zone is local too.
        assert ids(manager.list("tiny", since=datetime(2026, 3, 9))) == ["after"]
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()


def test_l_7_model_is_any_model_used(tiny_home: TinyHome, manager: SessionManager) -> None:
    path = tiny_home.add("mixed", turns=3, model="m-1")
    late = {"role": "assistant", "text": "x", "at": START.isoformat(), "model": "m-2"}
    path.write_text(path.read_text() + json.dumps(late) + "\n")
    tiny_home.add("plain", model="m-1")
    assert set(ids(manager.list("tiny", model="m-1"))) == {"mixed", "plain"}
    assert ids(manager.list("tiny", model="m-2")) == ["mixed"]
    assert manager.list("tiny", model="m") == []


def test_l_7_model_in_the_middle_of_a_large_file(tiny_home: TinyHome, manager: SessionManager) -> None:
    path = tiny_home.add("large", turns=200, filler=300)
    text = path.read_text().splitlines()
    text[200] = text[200].replace('"m-1"', '"m-rare"')
    path.write_text("\n".join(text) + "\n")
    assert [one.partial for one in manager.list("tiny")] == [True]
    assert ids(manager.list("tiny", model="m-rare")) == ["large"]


def test_l_7_tags_match_any(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("a", tags=["x", "y"])
    tiny_home.add("b", tags=["z"])
    tiny_home.add("c")
    assert set(ids(manager.list("tiny", tags=["y", "z"]))) == {"a", "b"}
    assert len(manager.list("tiny", tags=[])) == 3


def test_l_7_cwd_is_the_same_directory_however_spelled(
    tiny_home: TinyHome, manager: SessionManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tiny_home.home / "work" / "shop"
    real.mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(real)
    tiny_home.add("real", cwd=str(real))
    tiny_home.add("link", cwd=str(link))
    tiny_home.add("below", cwd=str(real / "src"))
    tiny_home.add("none")
    tiny_home.add("nul", cwd="/a\0b")
    monkeypatch.chdir(real)
    for spelled in (
        str(real),
        f"{real}/",
        f"{real}/../shop",
        str(link),
        "~/work/shop",
        "~/work/shop/",
        ".",
        real,
        link,
    ):
        assert set(ids(manager.list("tiny", cwd=spelled))) == {"real", "link"}, spelled
    assert ids(manager.list("tiny", cwd="/a\0b")) == ["nul"]


def test_l_8_filters_then_sorts_then_cuts(tiny_home: TinyHome, manager: SessionManager) -> None:
    for number in range(20):
        tiny_home.add(f"s{number:02}", at=START + timedelta(hours=number), model="rare" if number < 3 else "m-1")
    assert ids(manager.list("tiny", model="rare", limit=2, sort_direction="asc")) == ["s00", "s01"]


def test_l_9_limit(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("a")
    assert manager.list("tiny", limit=0) == []
    assert ids(manager.list("tiny", limit=None)) == ["a"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": -1},
        {"limit": "5"},
        {"limit": 1.5},
        {"limit": True},
        {"sort": "name"},
        {"sort_direction": "up"},
        {"since": "2026-01-01"},
        {"tags": "x"},
        {"cwd": 5},
        {"no_such_option": 1},
    ],
)
def test_l_9_values_that_make_no_sense(manager: SessionManager, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        manager.list("tiny", **wrong)
    with pytest.raises(ValidationError):
        manager.list("tiny", ListOptions(), **wrong)


def test_l_10_one_bad_session_hides_no_other(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("good")
    (tiny_home.store / "zero.jsonl").write_bytes(b"")
    (tiny_home.store / "junk.jsonl").write_bytes(b"\xff\xfe not json\n")
    (tiny_home.store / "directory.jsonl").mkdir()
    (tiny_home.store / "dangling.jsonl").symlink_to(tiny_home.store / "nowhere")
    os.mkfifo(tiny_home.store / "pipe.jsonl")
    assert ids(manager.list("tiny")) == ["good"]
    named = {Path(problem.path).stem for problem in manager.catalogue.snapshot.problems}
    assert named == {"junk", "directory", "dangling", "pipe"}


def test_l_11_no_unified_id_twice(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one")
    tiny_home.add("sub/one", turns=4)  # the same id in another folder
    manager = tiny_home.manager(tmp_path / "cache", "tiny", "copy")
    found = manager.list(None)
    assert [one.unified_id for one in found] == sorted({one.unified_id for one in found}, reverse=True)
    assert [one.turn_count for one in manager.list("tiny")] == [4]


def test_l_12_listing_reads_only_the_ends(tiny_home: TinyHome, manager: SessionManager) -> None:
    path = tiny_home.add("huge")
    with path.open("ab") as file:
        file.writelines([b"{" + b" " * 9_998 + b"\n"] * 5_000)  # a body of 50 MB
    METER.reset()
    assert ids(manager.list("tiny")) == ["huge"]
    assert METER.bytes < 100_000
    METER.reset()
    manager.list("tiny")
    assert METER.opened == 0  # nothing changed, so nothing is opened


def test_l_13_required_fields_are_always_there(tiny_home: TinyHome, manager: SessionManager) -> None:
    (tiny_home.store / "bare.jsonl").write_text("{}\n")
    (row,) = json.loads(msgspec.json.encode(manager.list("tiny")))
    assert row["title"] == ""
    assert row["turnCount"] == row["messageCount"] == 0
    assert row["tags"] == []
    assert row.keys().isdisjoint({"model", "cost", "cwd", "forkedFrom", "relevanceScore"})
    assert None not in row.values()
    tiny_home.add("full", usd=1.0, cwd="/srv", title="T")
    full = json.loads(msgspec.json.encode(manager.summary("tiny", "full")))
    assert full["createdAt"] == "2026-03-01T12:00:00Z"
    assert full["cost"]["totalUsd"] == 1.0
    assert {"unifiedId", "sessionId", "updatedAt", "messageCount"} <= full.keys()


def test_l_14_title_at_most_100_characters(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("long", title="many  words\n" * 50)
    (one,) = manager.list("tiny")
    assert len(one.title) <= 100
    assert "\n" not in one.title


def test_l_17_forked_from_is_the_parents_native_id(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("parent")
    tiny_home.add("child", parent="parent")
    tiny_home.add("orphan", parent="never-was")
    found = {one.session_id: one.forked_from for one in manager.list("tiny")}
    assert found == {"parent": None, "child": "parent", "orphan": None}


def test_sorting_by_a_figure_reads_partial_sessions_in_full(tiny_home: TinyHome, manager: SessionManager) -> None:
    tiny_home.add("large", turns=300, filler=200, usd=0.01)
    tiny_home.add("small", turns=100)
    assert manager.summary("tiny", "large").turn_count < 300
    found = manager.list("tiny", sort="turns")
    assert [(one.session_id, one.turn_count, one.partial) for one in found] == [
        ("large", 300, False),
        ("small", 100, False),
    ]


def test_all_agents_are_merged(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one")
    tiny_home.add("two", at=START + timedelta(days=1))
    found = tiny_home.manager(tmp_path / "cache", "tiny", "copy").list()
    assert [one.unified_id for one in found] == ["tiny:two", "copy:two", "tiny:one", "copy:one"]


def test_of_very_many_as_many_are_read_in_full_as_there_is_time_for(
    tiny_home: TinyHome, manager: SessionManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        tiny_home.add(f"large{number}", turns=200, filler=300)
    listed = manager.list("tiny")
    monkeypatch.setattr("hermes_tui.sessions.catalogue.exact.MANY", 2)
    manager.catalogue.seconds = 0.0
    assert [one.partial for one in manager.exact(listed)] == [True, True, True]
    assert [one.partial for one in manager.exact(listed[:2])] == [False, False], "few are worth waiting for"
    manager.catalogue.seconds = None
    assert [one.partial for one in manager.exact(listed)] == [False, False, False]
