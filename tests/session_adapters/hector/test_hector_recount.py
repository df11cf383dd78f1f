"""A database that is written to is summed up by what changed in it, and comes to the same as all of it."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chances import TIMES, chance
from hector_store import V2_SCHEMA, Store, adapter_for, sample_adapter, write_events
from recounts import counting, whole
from sample_homes import quiet
from session_adapters.growing import sessions
from session_adapters.hector import recount
from session_adapters.hector.layout import HectorLayout, HectorRow
from support import STORES

STEPS = 40


@pytest.fixture(params=[True, False], ids=["all long", "none long"])
def lengths(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which sessions the settled part is kept."""
    if request.param:
        for name, value in {"LONG": 4, "OPEN": 2, "STEP": 1}.items():
            monkeypatch.setattr(recount, name, value)
        monkeypatch.setattr(sessions, "MOST", 2)


def first(store: Store, dice: random.Random, key: str) -> None:
    """A session of v1; some ids are two agents'."""
    agent = dice.choice(("assistant", "assistant", "helper"))
    if not store.connection.execute("SELECT 1 FROM sessions WHERE id = ? AND agent_id = ?", (key, agent)).fetchone():
        store.session(key, agent)


def write(store: Store, dice: random.Random) -> None:
    """Something that Hector 1 does, or that was done to its database."""
    run = store.connection.execute
    key, done = f"s{dice.randrange(4)}", dice.random()
    ids = [one for (one,) in run("SELECT id FROM session_messages WHERE session_id = ? ORDER BY id", (key,))]
    if done < 0.1:
        first(store, dice, key)
    elif done < 0.75 or not ids:
        store.say(key, "USER", f"prompt {dice.random()}")
        store.say(key, "AGENT", "so")
    elif done < 0.8:
        run("UPDATE sessions SET metadata = ? WHERE id = ?", (json.dumps({"n": dice.random()}), key))
    elif done < 0.86:
        run("DELETE FROM session_messages WHERE id = ?", (dice.choice(ids),))
    elif done < 0.92:
        text = json.dumps({"role": "ROLE_USER", "parts": [{"text": "x" * dice.randrange(90, 400)}]})
        run("UPDATE session_messages SET message_json = ? WHERE id = ?", (text, dice.choice(ids)))
    else:
        run("DELETE FROM sessions WHERE id = ?", (key,))


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize("seed", range(2 * TIMES))
@pytest.mark.parametrize("generation", [1, 2])
def test_what_changed_comes_to_the_same_as_all_of_it(generation: int, seed: int, tmp_path: Path) -> None:
    store = Store(tmp_path) if generation == 1 else Store(tmp_path, schema=V2_SCHEMA)
    dice, count = chance(seed), counting(store.adapter)
    for step in range(STEPS):
        for _ in range(dice.choice((1, 1, 1, 8))):
            (write if generation == 1 else write_events)(store, dice)
        fresh = adapter_for(tmp_path)
        assert count() == whole(fresh), step
        (source,) = fresh.sources(quiet)
        assert list(store.adapter.usage(source, quiet)) == list(fresh.usage(source, quiet)), step


def test_real_databases_come_to_the_same(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(STORES / "hector" / "home", home, symlinks=True)
    adapter = sample_adapter(home)
    counted = 0
    for source in adapter.sources(quiet):
        if (counter := adapter.counter(source)) is not None:
            counted += 1
            for _ in range(2):
                assert counter(source, quiet)[0] == adapter.summaries(source, quiet, exact=True)
    assert counted == 4


def test_only_what_changed_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    read: list[str] = []
    really = HectorLayout.read

    def noted(self: HectorLayout, *given: Any) -> Iterator[HectorRow]:
        for row in really(self, *given):
            read.append(row.mark.id)
            yield row

    monkeypatch.setattr(HectorLayout, "read", noted)
    for name in ("quiet", "long", "short"):
        store.session(name)
        for turn in range(200 if name == "long" else 3):
            store.say(name, "USER", f"prompt {turn}")
    count = counting(store.adapter)
    count()
    assert len(read) == 206
    for _ in range(3):
        read.clear()
        for name in ("long", "short"):
            store.say(name, "USER", "one more")
        count()
        assert 2 < len(read) < 60
    read.clear()
    count()
    assert read == []
