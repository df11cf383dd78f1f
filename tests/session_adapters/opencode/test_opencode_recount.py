"""A database that is written to is summed up by what changed in it, and comes to the same as all of it."""

from __future__ import annotations

import json
import random
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from chances import TIMES, chance
from opencode_store import Store, adapter_for
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


def write(store: Store, dice: random.Random) -> None:
    """Something that OpenCode does, or that was done to its database."""
    run = store.connection.execute
    known = [key for (key,) in run("SELECT id FROM session ORDER BY id")]
    session = dice.choice(known) if known else ""
    messages = [key for (key,) in run("SELECT id FROM message WHERE session_id = ? ORDER BY id", (session,))]
    done = dice.random()
    if not known or done < 0.06:
        store.session(f"ses_{len(known)}{store.tick()}")
    elif done < 0.6 or not messages:
        asked = store.say(session, "user", f"prompt {store.tick()}")
        assert asked
        answer = store.say(session, "assistant", "so", cost=dice.random())
        store.part(session, answer, type="tool", tool="bash", callID=f"c{store.clock}", state={"status": "running"})
    elif done < 0.75:  # an answer, mostly the last one, is written again
        chosen = dice.choice(messages[-2:] if dice.random() < 0.8 else messages)
        state = {"status": "completed", "input": {}, "output": "x" * dice.randrange(40)}
        data = json.dumps({"type": "tool", "tool": "bash", "callID": "c", "state": state})
        run("UPDATE part SET data = ?, time_updated = ? WHERE message_id = ?", (data, store.tick(), chosen))
    elif done < 0.8:
        tokens = {"input": dice.randrange(99), "output": 1, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        data = json.dumps({"role": "assistant", "modelID": "other", "cost": 2, "tokens": tokens, "time": {}})
        chosen = dice.choice(messages)
        run("UPDATE message SET data = ?, time_updated = ? WHERE id = ?", (data, store.tick(), chosen))
    elif done < 0.85:
        run("DELETE FROM message WHERE id = ?", (dice.choice(messages),))
    elif done < 0.9:
        revert = json.dumps({"messageID": dice.choice(messages)}) if dice.random() < 0.5 else None
        run("UPDATE session SET revert = ? WHERE id = ?", (revert, session))
    elif done < 0.94:
        run("UPDATE session SET title = ? WHERE id = ?", (f"Title {store.tick()}", session))
    elif done < 0.96:
        run("DELETE FROM session WHERE id = ?", (session,))
    else:  # a fork, which has its parent's messages with their times
        fork = store.session(f"ses_f{store.tick()}")
        for data, created in list(run("SELECT data, time_created FROM message WHERE session_id = ?", (session,))):
            store.message(fork, message_id="", **{**json.loads(data), "created": created})


@pytest.mark.usefixtures("lengths")
@pytest.mark.parametrize("seed", range(2 * TIMES))
def test_what_changed_comes_to_the_same_as_all_of_it(seed: int, tmp_path: Path) -> None:
    store, dice = Store(tmp_path), chance(seed)
    count = counting(store.adapter)
    for step in range(STEPS):
        for _ in range(dice.choice((1, 1, 1, 8))):
            write(store, dice)
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
