"""Without a gateway: what is written is what Hermes itself would have written, and nothing besides."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import LaneNotFound, OperationRefused, ValidationError
from hermes_tui.lifecycle.lanes import board
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from lifecycle.sample_home import LIVE, Home
from lifecycle.worlds import ANA, BOB, KEY, World, gateway
from oracle.hermes import Oracle
from session_adapters.base import Environment
from tiny_home import tree_hash

CLEAR = "agent:main:telegram:group:-100700001:12"


@pytest.fixture
def world(hermes: Oracle, tmp_path: Path) -> Iterator[World]:
    """A home whose gateway has stopped; `world.start()` starts it again."""
    world = World(hermes, tmp_path / "user")
    world.start()
    yield world


# Beside the real one, stopped and started ----------------------------------------------------------------------


def test_a_reset_is_what_the_next_gateway_finds(world: World) -> None:
    world.talk()
    older = world.talk(force_new=True)
    world.say(older)
    world.hermes.close_store()
    outcome = world.apply("reset")
    assert outcome.state == "done"
    assert world.table()[KEY] == world.mirror()[KEY]
    world.start()
    assert world.get() == outcome.session_id
    assert world.row(outcome.session_id)["session_key"] == KEY


def test_the_row_and_entry_of_a_reset_are_those_of_hermes(world: World) -> None:
    """Two lanes, one reset by Hermes and one by us: the same but for names and times."""
    world.talk(ANA)
    world.talk(BOB)
    theirs = world.hermes.store("reset_session", "agent:main:telegram:dm:800")
    world.hermes.close_store()
    ours = world.apply("reset").session_id
    rows = [world.row(theirs["session_id"]), world.row(ours)]
    entries = [world.table()["agent:main:telegram:dm:800"], world.table()[KEY]]
    for row in rows:
        for name in ("id", "started_at"):
            row.pop(name)
    for entry in entries:
        for name in ("session_id", "created_at", "updated_at"):
            entry.pop(name)

    def named(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("800", "700").replace("Bob", "Ana"))

    assert named(rows[0]) == named(rows[1])
    assert named(entries[0]) == named(entries[1])


def test_a_suspended_lane_begins_anew(world: World) -> None:
    world.talk()
    old = world.talk(force_new=True)
    world.hermes.close_store()
    assert world.apply("suspend").state == "done"
    world.start()
    new = world.hermes.get(ANA)
    assert new["session_id"] != old
    assert new["auto_reset_reason"] == "suspended"


@pytest.mark.parametrize("end", ["agent_close", "session_reset"])
def test_a_suspended_lane_whose_session_is_ended_brings_nothing_back(world: World, end: str) -> None:
    older = world.talk()
    old = world.talk(force_new=True)
    world.hermes.close_store()
    world.sql("UPDATE sessions SET ended_at = 1, end_reason = ? WHERE id = ?", end, old)
    outcome = world.apply("suspend")
    assert outcome.state == "done"
    world.start()
    assert world.get() not in (old, older)


def test_a_marked_lane_goes_on(world: World) -> None:
    old = world.talk()
    world.hermes.close_store()
    assert world.apply("mark", reason="shutdown_timeout").state == "done"
    world.start()
    entry = world.hermes.get(ANA)
    assert (entry["session_id"], entry["resume_pending"], entry["resume_reason"]) == (old, True, "shutdown_timeout")
    world.hermes.close_store()
    assert world.apply("clear").state == "done"
    world.start()
    assert world.hermes.get(ANA)["resume_pending"] is False


def test_a_lane_resumed_into_an_earlier_session(world: World) -> None:
    earlier = world.talk()
    world.hermes.store("reset_session", KEY)
    world.talk()
    world.hermes.close_store()
    outcome = world.apply("resume", target=earlier)
    assert (outcome.state, outcome.session_id) == ("done", earlier)
    world.start()
    assert world.get() == earlier


def test_pruned_lanes_do_as_the_plan_said(world: World) -> None:
    old = world.talk(ANA)
    world.talk(BOB)
    world.hermes.close_store()
    world.sql("UPDATE sessions SET ended_at = 1, end_reason = 'idle' WHERE session_key LIKE '%800'")
    world.sql("UPDATE gateway_routing SET entry_json = replace(entry_json, '2026-07-21T', '2025-07-21T')")
    plan = world.plan("prune", "", days=30)
    assert plan.notes == (f"{KEY}: Hermes would take up {old} again",)
    assert "1 of 2 take up" in plan.next_message
    assert world.operations.apply(plan).state == "done"
    assert world.table() == world.mirror() == {}
    world.start()
    assert world.get(ANA) == old


@pytest.mark.parametrize(
    ("end", "then"), [(None, "in a session that was never ended"), ("idle", "in a fresh session")]
)
def test_a_plan_of_one_pruned_lane_is_no_statistics(world: World, end: str | None, then: str) -> None:
    world.talk(ANA)
    world.hermes.close_store()
    world.sql("UPDATE sessions SET ended_at = 1, end_reason = ? WHERE ? IS NOT NULL", end, end)
    world.sql("UPDATE gateway_routing SET entry_json = replace(entry_json, '2026-07-21T', '2025-07-21T')")
    plan = world.plan("prune", "", days=30)
    assert plan.next_message == f"makes the lane anew: {then}"
    assert world.operations.apply(plan).text == "1 lane gone from the index"


def test_a_gateway_that_starts_in_between_stops_it(world: World) -> None:
    world.talk()
    world.hermes.close_store()
    plan = world.plan("reset")
    before = (world.table(), world.mirror())
    with gateway(world.home), pytest.raises(OperationRefused, match="has changed since"):
        world.operations.apply(plan)

    started: list[Any] = []

    def step(name: str) -> None:
        if name == "rows":
            started.append(gateway(world.home))
            started[0].__enter__()

    operations = Operations(world.environment, audit=Audit(world.user_home / "second.jsonl"), step=step)
    try:
        with pytest.raises(OperationRefused, match="has started meanwhile"):
            operations.apply(plan)
    finally:
        started[0].__exit__(None, None, None)
    assert (world.table(), world.mirror()) == before
    assert [one.state for one in operations.log()] == ["failed"]


def test_a_gateway_that_starts_right_after_is_watched(world: World) -> None:
    """It may have read the index before: until it saves, nobody knows; what it saves tells."""
    world.talk()
    world.start()  # this one has the old entry in its memory
    world.hermes.store("list_sessions")
    started: list[Any] = []

    def step(name: str) -> None:
        if name == "applied":
            started.append(gateway(world.home))
            started[0].__enter__()

    operations = Operations(world.environment, audit=world.audit, step=step)
    try:
        outcome = operations.apply(operations.plan(Request(kind="suspend", key=KEY)))
        assert outcome.state == "pending"
        world.hermes.store("update_session", KEY)  # it saves its own, without the mark
        assert operations.outcome(outcome.operation).state == "lost"
    finally:
        started[0].__exit__(None, None, None)


# What is kept --------------------------------------------------------------------------------------------------


def test_members_that_nobody_knows_and_the_mode_stay(home: Home) -> None:
    members = home.members()
    members["_NOTE"] = "ours"
    members[LIVE]["future"] = {"a": [1, None]}
    members["agent:main:x:dm:broken"] = ["not", "an", "entry"]
    home.index.write_text(json.dumps(members, indent=2))
    home.index.chmod(0o640)
    home.sql(
        "UPDATE gateway_routing SET entry_json = json_set(entry_json, '$.future', 7) WHERE session_key = ?", LIVE
    )
    home.apply("suspend")
    after = home.members()
    assert list(after) == list(members)
    assert after["_README"] == members["_README"]
    assert after["_NOTE"] == "ours"
    assert after["agent:main:x:dm:broken"] == ["not", "an", "entry"]
    assert (after[LIVE]["suspended"], after[LIVE]["future"]) == (True, 7)
    assert home.index.stat().st_mode & 0o777 == 0o640
    assert {key: after[key] for key in members if key != LIVE} == {
        key: members[key] for key in members if key != LIVE
    }
    assert home.index.read_bytes() == json.dumps(after, indent=2).encode()


def test_only_the_lane_and_its_sessions_change(home: Home) -> None:
    def rows() -> dict[str, Any]:
        return {row[0]: row for row in home.sql("SELECT * FROM sessions")}

    before, messages = rows(), home.sql("SELECT count(*), sum(length(content)) FROM messages")
    current = home.plan("reset").session_id
    new = home.apply("reset").session_id
    after = rows()
    assert {id_ for id_ in after if after[id_] != before.get(id_)} == {current, new}
    assert home.sql("SELECT count(*), sum(length(content)) FROM messages") == messages
    assert home.sql("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize(
    ("kind", "key", "more"),
    [
        ("reset", LIVE, {}),
        ("suspend", LIVE, {}),
        ("mark", LIVE, {}),
        ("clear", CLEAR, {}),
        ("resume", "agent:main:telegram:dm:700001", {"target": "20260614_162517_8648cd1d"}),
        ("prune", "", {"days": 3}),
    ],
)
def test_undo_puts_everything_back(home: Home, kind: str, key: str, more: dict[str, Any]) -> None:
    def everything() -> Any:
        table = dict(home.sql("SELECT session_key, entry_json FROM gateway_routing"))
        return home.sql("SELECT * FROM sessions ORDER BY id"), table, home.members()

    before = everything()
    outcome = home.apply(kind, key, **more)
    assert everything() != before
    undone = home.operations.apply(home.operations.undo(outcome.operation))
    assert undone.state == "done"
    assert everything() == before
    assert [one.state for one in home.operations.log()] == ["done", "undone"]
    assert "undone already" in home.operations.undo(outcome.operation).refusal
    with pytest.raises(ValidationError, match="itself an undo"):
        home.operations.undo(undone.operation)


def test_a_home_is_the_same_by_whatever_path(home: Home, tmp_path: Path) -> None:
    """Its operations were not in the log, and not to be undone, where the program was shown a link to it."""
    before = home.members()
    done = home.apply("mark")
    (tmp_path / "link").symlink_to(home.path)
    linked = Environment(home=tmp_path / "nobody", variables={"HERMES_HOME": str(tmp_path / "link")})
    operations = Operations(linked, audit=Audit(home.audit))
    assert [one.operation for one in operations.log()] == [done.operation]
    assert operations.apply(operations.undo(done.operation)).state == "done"
    assert home.members() == before


def test_a_session_that_was_used_is_not_removed(home: Home) -> None:
    outcome = home.apply("reset")
    planned = home.operations.undo(outcome.operation)
    assert not planned.refusal
    home.sql(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'x', 1)", outcome.session_id
    )
    assert (
        f"the session {outcome.session_id} that it made has been used"
        in home.operations.undo(outcome.operation).refusal
    )
    with pytest.raises(OperationRefused, match="has been used"):
        home.operations.apply(planned)
    assert home.sql("SELECT count(*) FROM messages WHERE session_id = ?", outcome.session_id) == [(1,)]


@pytest.mark.parametrize("kind", ["reset", "suspend", "mark"])
def test_what_was_changed_since_is_not_undone(home: Home, kind: str) -> None:
    """The plan says so, before anybody agrees to it."""
    outcome = home.apply(kind)
    home.sql(
        "UPDATE gateway_routing SET entry_json = json_set(entry_json, '$.last_prompt_tokens', 77)"
        " WHERE session_key = ?",
        LIVE,
    )
    tree = tree_hash(home.path)
    plan = home.operations.undo(outcome.operation)
    assert "the store is no longer as the operation left it" in plan.refusal
    assert "take back first what `lanes log` has of that" in plan.refusal
    assert ("`lanes resume` leads it to" in plan.refusal) == (kind == "reset")  # else the lane is in that session
    with pytest.raises(OperationRefused, match="no longer as the operation left it"):
        home.operations.apply(plan)
    assert tree_hash(home.path) == tree


@pytest.mark.parametrize("kind", ["reset", "suspend", "resume"])
def test_another_lanes_session_is_left_open(world: World, kind: str) -> None:
    """Two lanes of one peer, told apart by another name of the person: Hermes might take up either's session."""
    mine = {"platform": "signal", "chat_id": "", "chat_type": "dm", "user_id": "+49", "user_id_alt": "uuid-1"}
    other = {**mine, "user_id_alt": "uuid-2"}
    wanted = world.talk(mine)
    current = world.talk(mine, force_new=True)
    theirs = world.talk(other, force_new=True)
    world.hermes.close_store()
    if kind == "suspend":  # of a lane whose session is over: only then are any rows closed
        world.sql("UPDATE sessions SET ended_at = 1, end_reason = 'agent_close' WHERE id = ?", current)
    before = world.row(theirs)
    target = {"target": wanted} if kind == "resume" else {}
    key = "agent:main:signal:dm:uuid-1"
    if kind == "suspend":  # a gateway that starts drops the lane, with its mark, and takes up the other's session
        other_lane = f"Hermes would take up {theirs} instead of lane agent:main:signal:dm:uuid-2"
        assert world.plan(kind, key).refusal == other_lane
        return
    outcome = world.apply(kind, key, **target)
    assert outcome.state == "done"
    assert theirs not in {row.session_id for row in world.audited().changes.rows}
    assert world.row(theirs) == before
    world.start()
    assert world.get(other) == theirs


def test_a_session_of_two_lanes_is_said_to_be_one(world: World) -> None:
    """Hermes took it up for the second lane, whose sender and chat are the same; a reset of its own ends it too."""
    mine = {"platform": "signal", "chat_id": "", "chat_type": "dm", "user_id": "+49", "user_id_alt": "uuid-1"}
    other = {**mine, "user_id_alt": "uuid-2"}
    both = world.talk(mine)
    assert world.talk(other) == both
    world.hermes.close_store()
    plan = world.plan("reset", "agent:main:signal:dm:uuid-1")
    assert "lane agent:main:signal:dm:uuid-2 is in the same session, and begins a fresh one as well" in plan.notes
    world.operations.apply(plan)
    world.start()
    assert world.get(other) not in (both, plan.becomes)


# The documents' store ------------------------------------------------------------------------------------------


def test_a_store_of_before_the_table(old: Home) -> None:
    key = "agent:main:telegram:dm:700001"
    before = old.members()[key]
    outcome = old.apply("reset", key)
    after = old.members()[key]
    assert after["session_id"] == outcome.session_id != before["session_id"]
    rows = dict(old.sql("SELECT id, end_reason FROM sessions"))
    assert rows[before["session_id"]] == "session_reset"
    assert rows[outcome.session_id] is None
    assert old.apply("suspend", key).state == "done"
    assert old.members()[key]["suspended"] is True
    assert old.apply("reset", key).state == "done"
    assert old.apply("mark", key).state == "done"
    assert old.apply("clear", key).state == "done"


@pytest.mark.parametrize("label", ["0.13.0", "0.15.0", "0.16.0", "0.17.0", "0.18.0", "0.18.2"])
def test_every_old_version(label: str, store: Callable[..., Path], tmp_path: Path) -> None:
    home = Home(store("hermes", "old_versions", label), tmp_path)
    found = board(home.environment)
    assert found.problems == ()
    key = next(lane.key for lane in found.lanes if lane.state in ("live", "expired"))
    columns = home.sql("PRAGMA table_info(sessions)")
    outcome = home.apply("reset", key)
    assert outcome.state == "done"
    assert next(lane.session_id for lane in board(home.environment).lanes if lane.key == key) == outcome.session_id
    assert home.sql("PRAGMA table_info(sessions)") == columns


@pytest.mark.parametrize(("kind", "where"), [("reset", "the new, empty session"), ("resume", "")])
def test_after_a_crash_the_gateways_own_turn_is_said(world: World, kind: str, where: str) -> None:
    wanted = world.talk()
    world.talk(force_new=True)
    world.hermes.close_store()
    target = {"target": wanted} if kind == "resume" else {}
    said = f"takes the lane for interrupted, runs a turn by itself in {where or wanted} and writes to the chat"
    assert any(said in note for note in world.plan(kind, **target).notes)
    (world.home / ".clean_shutdown").touch()
    assert not any(said in note for note in world.plan(kind, **target).notes)


@pytest.mark.parametrize("label", ["v1", "v2", "v3", "v4", "v5", "v6"])
def test_documented_stores_have_no_lanes(label: str, store: Callable[..., Path], tmp_path: Path) -> None:
    home = Home(store("hermes", "old_versions", label), tmp_path)
    assert board(home.environment).lanes == ()
    with pytest.raises(LaneNotFound):
        home.plan("reset")
