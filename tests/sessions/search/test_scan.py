"""Searching without an index: what the raw bytes may turn away, in which order, and how it stops."""

from __future__ import annotations

import json
import tracemalloc
from datetime import timedelta
from pathlib import Path

import pytest

from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.scan import needles
from hermes_tui.sessions.search.engine import Hunt
from hermes_tui.sessions.search.model import SearchOptions
from session_adapters.base import Adapter
from session_adapters.reading.files import METER
from session_adapters.reading.prefilter import Verbatim, may_hold
from tiny_home import START, TinyHome


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("docker", {b"docker"}),
        ("docker networking", {b"networking"}),
        ('"a long phrase"', {b"phrase"}),
        ("docker OR kube", {b"docker", b"kube"}),
        ("docker -kube", {b"docker"}),
        ("-docker", None),
        ("docker OR かな", None),
        ("漢字", {"漢".encode(), b"\\u6f22"}),
        ("漢字 docker", {b"docker"}),
        ("😀", None),
        ("tool:bash docker", {b"docker"}),
    ],
)
def test_what_raw_bytes_are_searched_for(text: str, wanted: set[bytes] | None) -> None:
    assert needles(parse(text).tree) == wanted


PLAIN = Verbatim(own=frozenset({b"compacted"}), unless=(b"history_base",))


@pytest.mark.parametrize(
    ("raw", "needle", "held"),
    [
        (b'{"t":"some Docker here"}', b"docker", True),
        (b'{"t":"nothing here"}', b"docker", False),
        (b'{"t":"\\u0044ocker"}', b"docker", True),  # an escaped letter could be any
        (b'{"t":"\\u001b[31m red"}', b"docker", False),
        ('{"t":"d\u00f3cker"}'.encode(), b"docker", True),  # an accent is no difference
        (b'{"t":"d\\u00f3cker"}', b"docker", True),
        (b'{"t":"do\\u0301cker"}', b"docker", True),
        ('{"t":"— “so” 漢字 ✓"}'.encode(), b"docker", False),
        ('{"t":"10 \u212a"}'.encode(), b"k", True),
        (b'{"t":"x"}', b"compacted", True),  # the adapter says it itself
        (b'{"history_base":1}', b"docker", True),  # the rest is in another file
        (b'{"n":1e2}', b"100", True),  # a number that is said in another way
        (b'{"n":1.5,"m":42}', b"100", False),
    ],
)
def test_a_file_is_turned_away_only_where_that_is_sure(tmp_path: Path, raw: bytes, needle: bytes, held: bool) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(raw + b"\n")
    assert may_hold(str(path), {needle}, PLAIN) is held
    other = tmp_path / "session.json"
    other.write_bytes(raw)
    assert may_hold(str(other), {needle}, PLAIN)


def test_a_needle_across_two_blocks_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    for before in range((8 << 20) - 8, (8 << 20) + 2):
        path.write_bytes(b"x" * before + b" needle " + b"y" * 100)
        assert may_hold(str(path), {b"needle"}, PLAIN), before
    path.write_bytes(b"x" * (20 << 20))
    assert not may_hold(str(path), {b"needle"}, PLAIN)


def test_newest_first_each_file_once_and_no_further_than_asked(tiny_home: TinyHome, tmp_path: Path) -> None:
    for number in range(20):
        tiny_home.add(f"s-{number:02}", at=START + timedelta(days=number), title="", turns=2)
    manager = tiny_home.manager(tmp_path / "cache")
    query = parse('"question 1"')
    stores = manager.searches.stores(query, SearchOptions())
    METER.reset()
    ids = [one.summary.session_id for one in Hunt(stores, query, None).run()]
    assert ids == [f"s-{number:02}" for number in reversed(range(20))]
    assert METER.opened <= 4 * 20
    METER.reset()
    enough: list[str] = []
    hunt = Hunt(stores, query, None, stop=lambda: len(enough) >= 3)
    enough.extend(one.summary.session_id for one in hunt.run())
    assert enough == ["s-19", "s-18", "s-17"]
    assert not hunt.complete
    assert METER.opened <= 4 * 5


def test_one_broken_store_hides_no_other(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("good")
    tiny_home.add("bad")
    manager = tiny_home.manager(tmp_path / "cache", "tiny", "crashing", CRASH_IN="session")
    tiny_home.store.joinpath("bad.jsonl").write_text(
        "\n".join(
            (
                json.dumps({"title": "t", "at": "2026-01-01T00:00:00Z"}),
                "{broken",
                json.dumps({"role": "user", "text": "question 0"}),
            )
        )
    )
    outcome = manager.discover('"question 0"', sort="date")
    assert {(one.agent, one.session_id) for one in outcome.results} == {("tiny", "good"), ("tiny", "bad")}
    crashed = [Path(one.path).stem for one in outcome.problems if "crash in session" in one.reason]
    assert sorted(crashed) == ["bad", "good"]


def test_a_small_file_takes_no_room_for_a_large_one(tmp_path: Path) -> None:
    """Eight megabytes were made for each of 100,000 files of 400 bytes, and let go again."""
    path = tmp_path / "small.jsonl"
    path.write_bytes(b'{"text": "what was said"}\n')
    may_hold(str(path), {b"said"}, Verbatim())
    tracemalloc.start()
    try:
        assert may_hold(str(path), {b"said"}, Verbatim())
        assert not may_hold(str(path), {b"unsaid"}, Verbatim())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


def test_a_search_looks_at_the_environment_once(
    tiny_home: TinyHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each of 100,000 files all variables were copied: two fifths of the time of a search."""
    for number in range(30):
        tiny_home.add(f"s{number:02}", title="")
    manager = tiny_home.manager(tmp_path / "cache")
    manager.catalogue.refresh()
    asked: list[str] = []
    get = Adapters.get

    def counted(self: Adapters, name: str) -> Adapter:
        asked.append(name)
        return get(self, name)

    monkeypatch.setattr(Adapters, "get", counted)
    query = parse('"question 0"')
    stores = manager.searches.stores(query, SearchOptions())
    assert len({one.summary.session_id for one in Hunt(stores, query, None).run()}) == 30
    assert 0 < len(asked) < 10
