"""A database that is written to is summed up by the sessions that changed, and comes to the same as all of it."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from chances import TIMES, chance
from openclaw_store import Database, adapter_for, header, reply
from sample_homes import quiet
from session_adapters.base import Adapter
from session_adapters.model import Problem, SessionSummary
from session_adapters.openclaw.database.events import read_events
from session_adapters.reading.sqlite import DatabaseUnreadable

STEPS = 40


def whole(adapter: Adapter) -> tuple[list[SessionSummary], list[Problem]]:
    problems: list[Problem] = []
    (source,) = [one for one in adapter.sources(quiet) if one.path.endswith(".sqlite")]
    return list(adapter.summaries(source, problems.append, exact=True)), problems


def write(store: Database, dice: random.Random, step: int) -> None:
    """Something that OpenClaw does, or that was done to its database."""
    run = store.connection.execute
    name, done = f"s{dice.randrange(4)}", dice.random()
    events = [one for (one,) in run("SELECT event_json FROM transcript_events WHERE session_id = ?", (name,))]
    ids = [json.loads(one).get("id") for one in events]
    if not events or done < 0.05:
        if not events:
            store.key(f"agent:main:{name}", name)
            header = {"type": "session", "id": name, "version": 3, "timestamp": "2026-01-01T10:00:00Z", "cwd": "/srv"}
            store.write(name, header)
        else:  # the key goes on in another window
            store.key(f"agent:main:{name}", f"{name}-{step}", 1_795_219_200_000 + step)
    elif done < 0.7:
        parent = ids[-1] if dice.random() < 0.8 else dice.choice(ids)
        message: dict[str, Any] = {"role": dice.choice(("user", "assistant")), "model": "m", "timestamp": step}
        message["content"] = [{"type": "text", "text": f"words {step}"}]
        message["usage"] = {"input": dice.randrange(99), "output": 1}
        event = {"type": "message", "id": f"e{step}-{len(ids)}", "parentId": parent, "message": message}
        store.write(name, {**event, "timestamp": f"2026-01-01T10:{step:02}:00Z"})
    elif done < 0.78:
        store.write(name, {"type": "leaf", "id": f"l{step}", "parentId": ids[-1], "targetId": dice.choice(ids)})
    elif done < 0.86:
        where = (json.dumps({"type": "custom", "id": ids[-1], "x": "y" * dice.randrange(300)}), name, len(ids) - 1)
        run("UPDATE transcript_events SET event_json = ? WHERE session_id = ? AND seq = ?", where)
    elif done < 0.93:
        entry = json.dumps({"sessionId": name, "updatedAt": step, "label": f"Label {step}"})
        run("UPDATE session_nodes SET entry_json = ? WHERE session_key = ?", (entry, f"agent:main:{name}"))
    else:
        run("DELETE FROM transcript_events WHERE session_id = ?", (name,))


@pytest.mark.parametrize("long", [100, 1], ids=["each_anew", "all_gone_on_with"])
@pytest.mark.parametrize("seed", range(3 * TIMES))
def test_what_changed_comes_to_the_same_as_all_of_it(
    seed: int, long: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("session_adapters.openclaw.database.counting.LONG", long)
    store, dice = Database(tmp_path), chance(seed)
    (source,) = store.adapter.sources(quiet)
    counter = store.adapter.counter(source)
    assert counter is not None
    for step in range(STEPS):
        for _ in range(dice.choice((1, 1, 1, 8))):
            write(store, dice, step)
        problems: list[Problem] = []
        other = adapter_for(tmp_path)
        expected, expected_problems = whole(other)
        names = [one.session_id for one in expected] or ["none"]
        for name in dice.sample(names, dice.randrange(len(names))):  # whoever asks for costs may be first
            assert list(store.adapter.usage(source, quiet, [name])) == list(other.usage(source, quiet, [name])), step
        summaries, calls = counter(source, problems.append)
        assert calls is None
        assert (list(summaries), problems) == (expected, expected_problems), step


def test_a_long_session_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Database(tmp_path)
    store.key("k", "s")
    store.write("s", header("s"), *(reply(f"e{at}", f"e{at - 1}" if at else None, at=at) for at in range(400)))
    (source,) = store.adapter.sources(quiet)
    counter = store.adapter.counter(source)
    assert counter is not None
    counter(source, quiet)
    read = [0]

    def noted(*rest: Any, **more: Any) -> Any:
        rows = read_events(*rest, **more)
        read[0] += len(rows)
        return rows

    monkeypatch.setattr("session_adapters.openclaw.database.counting.read_events", noted)
    for at in range(400, 410):
        store.write("s", reply(f"e{at}", f"e{at - 1}", at=at))
        ((one,), _) = counter(source, quiet)
        assert one.message_count == at + 1 and one.tokens is not None
        calls = list(store.adapter.usage(source, quiet, [one.session_id]))
        assert len(calls) == at + 1 and sum(call.output_tokens for call in calls) == one.tokens.output_tokens
    assert read == [10]
    store.write("s", reply("back", "e7", at=500))
    assert (list(counter(source, quiet)[0]), []) == whole(adapter_for(tmp_path))
    assert read[0] > 400, "what the branch hangs on was let go of"


def test_only_what_changed_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, dice = Database(tmp_path), chance(1)
    for step in range(60):
        write(store, dice, step)
    (source,) = store.adapter.sources(quiet)
    counter = store.adapter.counter(source)
    assert counter is not None
    read: list[str] = []

    def noted(connection: Any, schema: Any, session_id: str, *rest: Any, **more: Any) -> Any:
        read.append(session_id)
        return read_events(connection, schema, session_id, *rest, **more)

    monkeypatch.setattr("session_adapters.openclaw.database.counting.read_events", noted)
    counter(source, quiet)
    assert len(set(read)) > 2
    read.clear()
    counter(source, quiet)
    assert read == []
    store.write("s1", {"type": "custom", "id": "new", "parentId": None})
    counter(source, quiet)
    assert set(read) == {"s1"}


def test_a_look_that_takes_too_long_leaves_nothing_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, dice = Database(tmp_path), chance(2)
    for step in range(60):
        write(store, dice, step)
    (source,) = store.adapter.sources(quiet)

    def refused(*rest: Any) -> dict[str, Any]:
        raise DatabaseUnreadable("reading it took too long")

    monkeypatch.setattr("session_adapters.openclaw.listing.marks_in", refused)
    counter = store.adapter.counter(source)
    assert counter is not None
    problems: list[Problem] = []
    assert (list(counter(source, problems.append)[0]), problems) == whole(store.adapter)
