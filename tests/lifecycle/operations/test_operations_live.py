"""Beside a live owner: a real SessionStore of hermes-agent keeps the lanes in memory, and ours works past it.

After each of our operations the gateway's next message must be where the plan said, or the outcome must say that it
is not; and never in an older conversation.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_tui.errors import OperationRefused
from lifecycle.worlds import ANA, BOB, KEY, World, gateway
from oracle.hermes import Oracle


@pytest.fixture
def world(hermes: Oracle, tmp_path: Path) -> Iterator[World]:
    """A running gateway with one lane of three messages."""
    world = World(hermes, tmp_path / "user")
    world.start()
    with gateway(world.home):
        yield world


def test_a_reset_takes_effect_at_the_next_message(world: World) -> None:
    old = world.talk()
    plan = world.plan("reset")
    assert (plan.mode, plan.expects, plan.refusal, plan.session_id) == ("live", "pending", "", old)
    outcome = world.operations.apply(plan)
    assert (outcome.state, outcome.final) == ("pending", False)
    assert outcome.text == "the lane's next message begins a fresh session"
    assert world.row(old)["end_reason"] == "session_reset"
    assert world.table()[KEY]["session_id"] == old  # the index is the gateway's
    new = world.get()
    assert new != old
    moved = world.operations.outcome(outcome.operation)
    assert (moved.state, new in moved.text) == ("pending", True)  # no message is recorded yet
    world.say(new)
    outcome = world.operations.outcome(outcome.operation)
    assert (outcome.state, outcome.session_id) == ("done", new)
    assert outcome.evidence is not None
    last = world.sql("SELECT id, session_id FROM messages ORDER BY id DESC LIMIT 1")
    assert [(outcome.evidence.message, outcome.evidence.session_id)] == last
    assert outcome.evidence.at is not None and abs(outcome.evidence.at.timestamp() - time.time()) < 60
    assert [one.state for one in world.operations.log()] == ["done"]


@pytest.mark.parametrize(
    ("turns", "said"), [(1, "1 turn is running"), (None, "whether a turn is running is not known")]
)
def test_what_is_sent_during_a_turn_is_said_to_go_into_the_old_session(
    hermes: Oracle, tmp_path: Path, turns: int | None, said: str
) -> None:
    world = World(hermes, tmp_path / "user")
    world.start()
    with gateway(world.home) as process:
        world.talk()
        (world.home / "gateway_state.json").write_text(json.dumps({"pid": process.pid, "active_agents": turns}))
        notes = " ".join(world.plan("reset").notes)
        assert f"{said}: one of this lane ends in the old session, and so does what is sent before it ends" in notes
        (world.home / "gateway_state.json").write_text(json.dumps({"pid": process.pid, "active_agents": 0}))
        assert world.plan("reset").notes == ()


def test_a_gateway_that_is_halted_is_said_to_be(hermes: Oracle, tmp_path: Path) -> None:
    world = World(hermes, tmp_path / "user")
    world.start()
    with gateway(world.home) as process:
        world.talk()
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        plan = world.plan("reset")
        assert any(f"`kill -CONT {process.pid}`" in note for note in plan.notes)
        assert world.operations.apply(plan).state == "pending"


@pytest.mark.parametrize("kind", ["reset", "suspend", "resume"])
def test_the_index_of_a_running_gateway_is_never_written(world: World, kind: str) -> None:
    """Neither the table nor the mirror: what it has in memory goes over both at its next save."""
    wanted = world.talk()
    world.talk(force_new=True)
    mirror = world.home / "sessions" / "sessions.json"
    everything = "SELECT * FROM gateway_routing"
    before = (world.sql(everything), mirror.read_bytes(), mirror.stat().st_ino, mirror.stat().st_mtime_ns)
    plan = world.plan(kind, **({"target": wanted} if kind == "resume" else {}))
    assert (plan.refusal, plan.changes.table, plan.changes.file) == ("", (), ())
    outcome = world.operations.apply(plan)
    assert outcome.state == "pending"
    world.operations.apply(world.operations.undo(outcome.operation))
    assert (world.sql(everything), mirror.read_bytes(), mirror.stat().st_ino, mirror.stat().st_mtime_ns) == before


def test_to_end_the_current_session_alone_resurrects_an_older_one(world: World) -> None:
    """The trap that the plan is there for."""
    older = world.talk()
    current = world.talk(force_new=True)
    world.sql("UPDATE sessions SET ended_at = 1, end_reason = 'session_reset' WHERE id = ?", current)
    assert world.get() == older


def test_a_reset_closes_what_the_gateway_would_bring_back(world: World) -> None:
    older = [world.talk(), world.talk(force_new=True), world.talk(force_new=True)]
    world.sql("UPDATE sessions SET ended_at = 1, end_reason = 'agent_close' WHERE id = ?", older[1])
    current = world.talk(force_new=True)
    plan = world.plan("reset")
    assert set(plan.older) == set(older)
    assert any("3 other sessions" in words and older[0] in words for words in plan.writes)
    outcome = world.operations.apply(plan)
    new = world.talk()
    assert new not in (*older, current)
    assert world.operations.outcome(outcome.operation).state == "done"


def test_rows_without_the_key_are_found_by_their_peer(world: World) -> None:
    older = world.talk()
    world.sql("UPDATE sessions SET session_key = NULL WHERE id = ?", older)
    current = world.talk(force_new=True)
    plan = world.plan("reset")
    assert plan.older == (older,)
    world.operations.apply(plan)
    assert world.get() not in (older, current)


def test_suspend_is_a_reset_with_its_own_reason(world: World) -> None:
    old = world.talk()
    outcome = world.apply("suspend")
    assert outcome.state == "pending"
    assert world.row(old)["end_reason"] == "suspended"
    assert world.talk() != old
    assert world.operations.outcome(outcome.operation).state == "done"


def test_resume_leads_the_lane_to_the_wanted_session(world: World) -> None:
    wanted, other = world.talk(), world.talk(force_new=True)
    current = world.talk(force_new=True)
    plan = world.plan("resume", target=wanted)
    assert set(plan.older) == {other}
    outcome = world.operations.apply(plan)
    assert outcome.state == "pending"
    assert world.talk() == wanted
    assert world.operations.outcome(outcome.operation).state == "done"
    assert world.row(current)["end_reason"] == "session_switch"
    assert world.row(wanted)["end_reason"] is None


def test_resume_of_an_ended_session_of_another_kind_needs_force(world: World) -> None:
    world.talk()
    world.hermes.db("create_session", "20260101_000000_abcdef", "cli")
    world.say("20260101_000000_abcdef", "from the terminal")
    world.hermes.db("end_session", "20260101_000000_abcdef", "user_exit")
    refused = world.plan("resume", target="20260101_000000_abcdef")
    assert "belongs to another chat" in refused.refusal
    with pytest.raises(OperationRefused):
        world.operations.apply(refused)
    plan = world.plan("resume", target="20260101_000000_abcdef", force=True)
    assert any("no longer listed as cli" in note for note in plan.notes)
    outcome = world.operations.apply(plan)
    assert world.talk() == "20260101_000000_abcdef"
    assert world.operations.outcome(outcome.operation).state == "done"
    assert world.row("20260101_000000_abcdef")["session_key"] == KEY


@pytest.mark.parametrize("kind", ["reset", "resume"])
def test_a_compression_in_between_loses_a_reset_and_says_so(world: World, kind: str) -> None:
    first = world.talk()
    old = world.talk(force_new=True)
    outcome = world.apply(kind, **({"target": first} if kind == "resume" else {}))
    # What a running turn does when it compresses: the end is taken already, the child is made, the lane moved.
    world.hermes.db("end_session", old, "compression")
    world.hermes.db("create_session", "20260721_130000_child001", "telegram", parent_session_id=old)
    world.say("20260721_130000_child001")
    world.hermes.store("switch_session", KEY, "20260721_130000_child001")
    outcome = world.operations.outcome(outcome.operation)
    assert outcome.state == "lost"
    assert "20260721_130000_child001" in outcome.text


def test_a_turn_after_a_crash_is_said_where_there_would_be_one(world: World) -> None:
    """A lane that was reset or suspended is dropped by the gateway that starts, which has nothing to go on with."""
    wanted = world.talk()
    world.talk(force_new=True)
    said = f"may run a turn by itself in {wanted} and write to the chat"
    assert any(said in note for note in world.plan("resume", target=wanted).notes)
    assert not [note for kind in ("reset", "suspend") for note in world.plan(kind).notes if "turn by itself" in note]


def test_a_user_who_resumes_in_between_is_told(world: World) -> None:
    first = world.talk()
    world.talk(force_new=True)
    outcome = world.apply("reset")
    world.hermes.store("switch_session", KEY, first)
    assert world.operations.outcome(outcome.operation).state == "lost"


def test_what_is_in_the_gateways_memory_is_refused(world: World) -> None:
    world.talk()
    for plan in (world.plan("mark"), world.plan("clear"), world.plan("prune", "", days=1)):
        assert "a gateway is running" in plan.refusal
        with pytest.raises(OperationRefused, match="gateway is running"):
            world.operations.apply(plan)
    assert world.operations.log() == []


def test_a_gateway_of_unknown_version_is_left_alone(hermes: Oracle, tmp_path: Path) -> None:
    world = World(hermes, tmp_path / "user")
    world.start()
    old = world.talk()
    with gateway(world.home, Path(sys.executable)):
        for kind in ("reset", "suspend"):
            plan = world.plan(kind)
            assert "nothing shows that it is Hermes 0.19" in plan.refusal
            assert plan.refusal.endswith("stop it first (`hermes gateway stop`)")
        assert world.row(old)["end_reason"] is None


def test_the_command_that_stops_it_is_that_of_its_profile(hermes: Oracle, tmp_path: Path) -> None:
    """A profile's own gateway; where the default one serves the profile too, it is that one."""
    world = World(hermes, tmp_path / "user")
    world.start()
    world.talk()
    coder = world.home / "profiles" / "coder"
    shutil.copytree(world.home / "sessions", coder / "sessions")
    shutil.copy(world.home / "state.db", coder / "state.db")
    with gateway(coder, Path(sys.executable)):
        assert "`hermes -p coder gateway stop`" in world.plan("reset", profile="coder").refusal
    with gateway(world.home, Path(sys.executable)) as process:
        said = {"pid": process.pid, "served_profiles": ["coder"]}
        (world.home / "gateway.pid").write_text(json.dumps({"pid": process.pid}))
        (world.home / "gateway_state.json").write_text(json.dumps(said))
        assert "`hermes gateway stop`" in world.plan("reset", profile="coder").refusal


def test_an_old_schema_means_an_old_gateway(world: World) -> None:
    world.talk()
    world.sql("UPDATE schema_version SET version = 19")
    assert "schema 19" in world.plan("reset").refusal


def test_another_lanes_session_is_never_closed(world: World) -> None:
    """Two lanes of one peer: Hermes would take up the other one's session, so nothing is done."""
    mine = {"platform": "signal", "chat_id": "", "chat_type": "dm", "user_id": "+49", "user_id_alt": "uuid-1"}
    other = {**mine, "user_id_alt": "uuid-2"}
    world.talk(mine)
    theirs = world.talk(other)
    plan = world.plan("reset", "agent:main:signal:dm:uuid-1")
    assert theirs in plan.refusal
    assert world.row(theirs)["end_reason"] is None


def test_the_lane_moved_since_the_plan(world: World) -> None:
    world.talk()
    plan = world.plan("reset")
    new = world.talk(force_new=True)
    with pytest.raises(OperationRefused, match="has changed since"):
        world.operations.apply(plan)
    assert world.row(new)["end_reason"] is None


def test_messages_since_the_plan_do_not_matter(world: World) -> None:
    old = world.talk()
    plan = world.plan("reset")
    assert world.talk() == old
    world.operations.apply(plan)
    assert world.get() != old


def test_a_title_that_comes_after_the_plan_does_not_matter(world: World) -> None:
    """Hermes makes one, and notes the model, when a session's first turn is over."""
    old = world.talk()
    plan = world.plan("reset")
    world.sql("UPDATE sessions SET title = 'A title', model = 'a-model' WHERE id = ?", old)
    assert world.operations.apply(plan).state == "pending"
    assert world.get() != old


def test_a_pending_reset_is_undone(world: World) -> None:
    older = world.talk()
    old = world.talk(force_new=True)
    outcome = world.apply("reset")
    undone = world.operations.apply(world.operations.undo(outcome.operation))
    assert undone.state == "done"
    assert world.row(old)["end_reason"] is None
    assert world.row(older)["end_reason"] is None
    assert world.get() == old
    assert world.operations.outcome(outcome.operation).state == "undone"


def test_what_has_come_true_is_not_undone(world: World) -> None:
    world.talk()
    outcome = world.apply("reset")
    world.talk()
    plan = world.operations.undo(outcome.operation)
    assert "no longer pending" in plan.refusal
    assert "lanes resume" in plan.refusal


def test_other_lanes_stay_as_they_are(world: World) -> None:
    world.talk()
    bob = world.talk(BOB)
    world.apply("reset")
    assert world.get(BOB) == bob
    assert world.get(ANA) != bob


def test_a_pending_reset_survives_the_gateways_restart(hermes: Oracle, tmp_path: Path) -> None:
    world = World(hermes, tmp_path / "user")
    world.start()
    old = world.talk()
    with gateway(world.home):
        outcome = world.apply("reset")
    world.hermes.close_store()
    world.start()
    with gateway(world.home):
        assert world.operations.outcome(outcome.operation).state == "pending"
        assert world.talk() != old
        assert world.operations.outcome(outcome.operation).state == "done"
