"""A database that is written to is summed up by what changed in it, and comes to the same as all of it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from chances import TIMES, chance
from opencode_store import Store, adapter_for, change
from recounts import counting, whole
from sample_homes import quiet
from session_adapters.growing import sessions
from session_adapters.opencode import recount
from session_adapters.opencode.schema import sessions_of
from session_adapters.opencode.tables import OpenCodeRows
from session_adapters.opencode.units import OpenCodeUnit
from session_adapters.reading.sqlite import read_database

STEPS = 50


@pytest.fixture(params=[True, False], ids=["all long", "none long"])
def lengths(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which sessions the settled part is kept."""
    if request.param:
        for name, value in {"LONG": 4, "OPEN": 2, "STEP": 1, "_TAIL": 6}.items():
            monkeypatch.setattr(recount, name, value)
        monkeypatch.setattr(sessions, "MOST", 2)


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize("seed", range(2 * TIMES))
def test_what_changed_comes_to_the_same_as_all_of_it(seed: int, tmp_path: Path) -> None:
    store, dice = Store(tmp_path), chance(seed)
    count = counting(store.adapter)
    for step in range(STEPS):
        for _ in range(dice.choice((1, 1, 1, 8))):
            change(store, dice)
        assert count() == whole(store.adapter), step
        (source,) = store.adapter.sources(quiet)
        fresh = adapter_for(tmp_path)
        assert list(store.adapter.usage(source, quiet)) == list(fresh.usage(source, quiet)), step


def test_only_what_changed_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    read: list[str] = []
    contents = OpenCodeRows.contents

    def noted(self: OpenCodeRows, units: list[OpenCodeUnit], *rest: str) -> object:
        read.extend(unit.id for unit in units)
        return contents(self, units, *rest)

    monkeypatch.setattr(OpenCodeRows, "contents", noted)
    with closing(store.connection):
        for name in ("quiet", "long", "short"):
            store.session(name)
            for turn in range(200 if name == "long" else 3):
                store.say(name, "user", f"prompt {turn}")
        count = counting(store.adapter)
        count()
        assert len(read) == 206
        for _ in range(3):
            read.clear()
            said = [store.say(name, "user", "one more") for name in ("long", "short")]
            count()
            assert set(said) <= set(read)
            assert len(read) < 60
        read.clear()
        count()
        assert read == []


def test_a_session_that_stands_twice_is_counted_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.session("twice")
    store.say("twice", "user", "once")

    def count(connection: apsw.Connection) -> list[str]:
        rows = OpenCodeRows(connection)
        facts = list(sessions_of(connection, rows.schema, lambda lost: None))
        found = recount.Recount(str(store.path)).count(rows, [*facts, *facts])
        return [key for key, one in found.items() if one.counted.summary.message_count == 1]

    assert read_database(str(store.path), count) == ["twice"]
