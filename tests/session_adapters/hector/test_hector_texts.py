"""What is new in a database is read for searching, and makes up what all of it gives."""

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
from sample_homes import quiet
from session_adapters.hector import texts as module
from session_adapters.hector.layout import HectorLayout, HectorRow
from support import STORES
from text_followers import Follower, in_order

STEPS = 40


def data_part(**fields: Any) -> dict[str, Any]:
    return {"data": {"data": fields}, "metadata": {"event_type": fields["type"]}}


def write(store: Store, dice: random.Random) -> None:
    """Something that Hector 1 does, or that was done to its database."""
    run = store.connection.execute
    key, agent, done = f"s{dice.randrange(3)}", dice.choice(("assistant", "assistant", "helper")), dice.random()
    ids = [one for (one,) in run("SELECT id FROM session_messages WHERE session_id = ? ORDER BY id", (key,))]
    call = f"c{dice.randrange(len(ids) + 1)}"
    if done < 0.1:
        if not run("SELECT 1 FROM sessions WHERE id = ? AND agent_id = ?", (key, agent)).fetchone():
            store.session(key, agent)
    elif done < 0.4 or not ids:
        store.say(key, dice.choice(("USER", "AGENT")), f"words {dice.random()}")
    elif done < 0.6:
        store.say(key, "AGENT", [data_part(type="tool_use", id=call, name="bash", arguments={"command": "ls"})])
    elif done < 0.82:
        store.say(key, "USER", [data_part(type="tool_result", tool_call_id=call, content=f"out {dice.random()}")])
    elif done < 0.86:
        run("DELETE FROM session_messages WHERE id = ?", (dice.choice(ids),))
    elif done < 0.92:
        text = json.dumps({"role": "ROLE_USER", "parts": [{"text": "x" * dice.randrange(90, 900)}]})
        run("UPDATE session_messages SET message_json = ? WHERE id = ?", (text, dice.choice(ids)))
    elif done < 0.96:
        run("DELETE FROM session_messages WHERE session_id = ?", (key,))
    else:
        run("DELETE FROM sessions WHERE id = ?", (key,))


@pytest.mark.parametrize(("back", "long"), [(1, 3), (64, 3), (64, 256)])
@pytest.mark.parametrize("seed", range(2 * TIMES))
@pytest.mark.parametrize("generation", [1, 2])
def test_what_is_new_makes_up_all_of_it(
    generation: int, seed: int, back: int, long: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_BACK", back)
    monkeypatch.setattr(module, "LONG", long)
    store = Store(tmp_path) if generation == 1 else Store(tmp_path, schema=V2_SCHEMA)
    dice, follower = chance(seed), Follower(store.adapter)
    for step in range(STEPS):
        for _ in range(dice.choice((1, 1, 1, 8))):
            (write if generation == 1 else write_events)(store, dice)
        fresh = adapter_for(tmp_path)
        (source,) = fresh.sources(quiet)
        assert follower.look(source) == in_order(fresh.texts(source, quiet)), step
        assert follower.look(source) == in_order(fresh.texts(source, quiet)) and not follower.anew


def test_real_databases_give_the_same(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(STORES / "hector" / "home", home, symlinks=True)
    adapter = sample_adapter(home)
    looked = 0
    for source in adapter.sources(quiet):
        if adapter.new_texts(source, quiet, {}) is not None:
            looked += 1
            assert Follower(adapter).look(source) == in_order(adapter.texts(source, quiet))
    assert looked >= 3


def test_of_a_long_session_what_is_new_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, read, held = Store(tmp_path), list[str](), list[int]()
    really, told = HectorLayout.read, HectorLayout.marks

    def noted(self: HectorLayout, *given: Any) -> Iterator[HectorRow]:
        for row in really(self, *given):
            read.append(row.mark.id)
            yield row

    def listed(self: HectorLayout, owners: list[tuple[str, ...]], most: int = 65_000) -> object:
        found = told(self, owners, most)
        held.extend(map(len, found.values()))
        return found

    for name in ("quiet", "long"):
        store.session(name)
        for turn in range(400):
            store.say(name, "USER", f"prompt {turn}")
    (source,) = store.adapter.sources(quiet)
    follower = Follower(store.adapter)
    assert len(follower.look(source)) == 800
    monkeypatch.setattr(HectorLayout, "read", noted)
    monkeypatch.setattr(HectorLayout, "marks", listed)
    for turn in range(3):
        store.say("long", "USER", f"more {turn}")
        read.clear()
        assert len(follower.look(source)) == 801 + turn and not follower.anew
        assert len(read) == 1 + module.LOOK_BACK
    assert held and max(held) == 1 + module.LOOK_BACK  # not all of its rows, each time
