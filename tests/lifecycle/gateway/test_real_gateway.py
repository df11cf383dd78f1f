"""Every live operation beside a whole, running gateway: what was promised is what the lane's next message showed.

Direct chats are never reset by policy there; groups are, three seconds after their last message. What a lane's
context holds, the model says: it answers with the words that it was shown.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifecycle.real_world import RealLane, RealWorld
from oracle.gateway import RealGateway

IDLE = 0.05
"""Minutes without a message after which the policy resets a group."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealGateway]:
    """One running gateway for all of them."""
    gateway = RealGateway(tmp_path_factory.mktemp("gateway"))
    gateway.store.mkdir(parents=True)
    policies = {"reset_by_type": {"group": {"mode": "idle", "idle_minutes": IDLE}}}
    (gateway.store / "gateway.json").write_text(json.dumps(policies))
    with gateway:
        yield gateway


@pytest.fixture(scope="module")
def watched(gateway: RealGateway) -> RealLane:
    """A group whose session the expiry watcher ends, a minute after the gateway's start."""
    lane = RealWorld(gateway).group()
    assert lane.say("W1") == ["W1"]
    return lane


@pytest.fixture
def world(gateway: RealGateway, watched: RealLane, tmp_path: Path) -> Iterator[RealWorld]:
    """Lanes of this test's own."""
    world = RealWorld(gateway)
    yield world
    print(gateway.log())  # shown of a test that failed
    world.whole(tmp_path)


def test_a_reset_gives_the_next_message_a_fresh_session(world: RealWorld) -> None:
    lane = world.direct()
    assert [lane.say("W1"), lane.say("W2")] == [["W1"], ["W1", "W2"]]
    old = lane.session_id
    outcome = lane.apply("reset")
    lane.became(outcome, "pending", old)
    assert "its next message begins a fresh one" in lane.plan("reset").refusal, "it is promised once"
    assert lane.say("W3") == ["W3"]
    assert lane.became(outcome, "done").session_id != old


def test_a_resume_leads_back_into_an_earlier_session(world: RealWorld) -> None:
    lane = world.direct()
    lane.say("W1")
    old = lane.session_id
    reset = lane.apply("reset")
    lane.say("W2")
    new = lane.session_id
    resume = lane.apply("resume", target=old)
    assert lane.say("W3") == ["W1", "W3"]
    lane.became(resume, "done", old)
    lane.became(reset, "done", new)


def test_a_suspended_lane_begins_anew(world: RealWorld) -> None:
    lane = world.direct()
    lane.say("W1")
    old = lane.session_id
    outcome = lane.apply("suspend")
    assert lane.say("W2") == ["W2"]
    assert lane.became(outcome, "done").session_id != old


@pytest.mark.parametrize("kind", ["reset", "suspend"])
def test_what_is_undone_before_the_message_has_no_effect(world: RealWorld, kind: str) -> None:
    lane = world.direct()
    lane.say("W1")
    old = lane.session_id
    outcome = lane.apply(kind)
    undone = world.operations.apply(world.operations.undo(outcome.operation))
    assert lane.say("W2") == ["W1", "W2"]
    lane.became(undone, "done", old)
    lane.became(outcome, "undone", old)


def test_a_resume_is_undone_before_the_message(world: RealWorld) -> None:
    lane = world.direct()
    lane.say("W1")
    old = lane.session_id
    lane.apply("reset")
    lane.say("W2")
    resume = lane.apply("resume", target=old)
    world.operations.apply(world.operations.undo(resume.operation))
    assert lane.say("W3") == ["W2", "W3"]
    lane.became(resume, "undone")


def test_others_in_the_group_are_left_alone(world: RealWorld) -> None:
    one = world.group("+15551")
    other = RealLane(world, one.chat, "+15552")
    one.say("W1")
    other.say("W2")
    outcome = one.apply("reset")
    assert other.say("W3") == ["W2", "W3"]
    assert one.say("W4") == ["W4"]
    one.became(outcome, "done")
    assert other.say("W5") == ["W2", "W3", "W5"]
    assert f"another lane is in it: {other.key}" in one.plan("resume", target=other.session_id).refusal


def test_a_reset_during_a_turn_takes_effect_after_its_end(world: RealWorld) -> None:
    """A message that is sent while it runs belongs to it, and shows nothing of the reset."""
    lane, gateway = world.direct(), world.gateway
    lane.say("W1")
    old = lane.session_id
    position = gateway.begin_turn(lane.chat, "W2")
    plan = lane.plan("reset")
    assert any("so does what is sent before it ends" in note for note in plan.notes), plan.notes
    outcome = world.operations.apply(plan)
    gateway.send(lane.chat, "W3")
    gateway.reply(lane.chat, position, expect="Interrupting current task")
    gateway.end_turns()
    # The turn may be over before its interruption reaches it: then W2 has an answer of its own first.
    assert gateway.reply(lane.chat, position, expect="W3").words == ["W1", "W2", "W3"]
    assert lane.words_in(old) == ["W1", "W2", "W3"]
    lane.became(outcome, "pending")
    assert lane.say("W4") == ["W4"]
    lane.became(outcome, "done")


def test_a_reset_that_the_end_of_a_turn_has_carried_out_is_not_undone(world: RealWorld) -> None:
    """The gateway looks at the lane at the end of each turn, too."""
    lane, gateway = world.direct(), world.gateway
    lane.say("W1")
    old = lane.session_id
    position = gateway.begin_turn(lane.chat, "W2")
    outcome = lane.apply("reset")
    gateway.end_turns()
    assert gateway.reply(lane.chat, position).words == ["W1", "W2"]
    gateway.until(lambda: lane.session_id != old, "moves the lane at the end of the turn")
    lane.became(outcome, "pending")
    assert lane.session_id in world.operations.undo(outcome.operation).refusal
    assert lane.say("W3") == ["W3"]
    lane.became(outcome, "done")


@pytest.mark.parametrize(("command", "expect"), [("/status", "Session ID"), ("/retry", "No previous message")])
def test_a_command_leaves_a_pending_reset(world: RealWorld, command: str, expect: str) -> None:
    lane = world.direct()
    lane.say("W1")
    outcome = lane.apply("reset")
    lane.command(command, expect)
    assert lane.say("W2") == ["W2"]
    lane.became(outcome, "done")


@pytest.mark.parametrize("command", ["/undo", "/new"])
def test_a_command_that_asks_to_be_confirmed_leaves_it_too(world: RealWorld, command: str) -> None:
    lane = world.direct()
    lane.say("W1")
    outcome = lane.apply("reset")
    lane.command(command, "onfirm")
    assert lane.say("W2") == ["W2"]
    lane.became(outcome, "done")


def test_a_reset_beside_a_halted_gateway_holds_once_it_goes_on(world: RealWorld) -> None:
    lane, gateway = world.direct(), world.gateway
    lane.say("W1")
    world.halt()
    try:
        plan = lane.plan("reset")
        assert any(f"kill -CONT {gateway.pid}" in note for note in plan.notes)
        outcome = world.operations.apply(plan)
    finally:
        gateway.proceed()
    assert lane.say("W2") == ["W2"]
    lane.became(outcome, "done")


@pytest.mark.parametrize("kind", ["mark", "clear"])
def test_what_the_gateway_has_in_memory_cannot_be_set(world: RealWorld, kind: str) -> None:
    """The plan refuses; and what is written beside it is lost at the next message."""
    lane = world.direct()
    lane.say("W1")
    assert "a gateway is running" in lane.plan(kind).refusal
    assert "a gateway is running" in world.plan("prune", "", days=1).refusal
    set_by_hand = "UPDATE gateway_routing SET entry_json = json_set(entry_json, '$.suspended', json('true'))"
    world.sql(f"{set_by_hand} WHERE session_key = ?", lane.key)
    assert lane.say("W2") == ["W1", "W2"]
    assert lane.entry["suspended"] is False


def test_a_session_without_messages_is_not_resumed(world: RealWorld) -> None:
    lane = world.direct()
    lane.say("W1")
    world.sql(
        "INSERT INTO sessions (id, source, session_key, user_id, chat_id, chat_type, started_at)"
        " SELECT 'empty-' || id, source, session_key, user_id, chat_id, chat_type, started_at + 1 FROM sessions"
        " WHERE id = ?",
        lane.session_id,
    )
    empty = f"empty-{lane.session_id}"
    assert "it has no messages" in lane.plan("resume", target=empty).refusal
    lane.end_by_hand("session_switch", reopen=empty)
    assert lane.say("W2") == ["W2"]
    assert lane.session_id != empty


def test_a_resume_where_the_policy_is_due_is_not_promised(world: RealWorld) -> None:
    lane = world.group()
    lane.say("W1")
    old = lane.session_id
    lane.apply("reset")
    lane.say("W2")
    lane.idle(IDLE)
    plan = lane.plan("resume", target=old)
    assert "idle" in plan.refusal
    lane.end_by_hand("session_switch", reopen=old)
    assert lane.say("W3") == ["W3"]


def test_a_resume_is_lost_to_a_policy_that_comes_due_before_the_message(world: RealWorld) -> None:
    lane = world.group()
    lane.say("W1")
    old = lane.session_id
    lane.apply("reset")
    lane.say("W2")
    plan = lane.plan("resume", target=old)
    assert "when the lane is reset for being idle" in plan.next_message
    outcome = world.operations.apply(plan)
    lane.idle(IDLE)
    assert lane.say("W3") == ["W3"]
    lane.became(outcome, "lost")


def test_settings_that_the_running_gateway_has_not_read_are_not_relied_on(world: RealWorld) -> None:
    lane, settings = world.group(), world.home / "gateway.json"
    lane.say("W1")
    old = lane.session_id
    lane.apply("reset")
    lane.say("W2")
    lane.idle(IDLE)
    assert not any("was changed" in note for note in lane.plan("resume", target=old).notes)
    before, times = settings.read_bytes(), settings.stat()
    settings.write_text("{}")
    try:
        plan = lane.plan("resume", target=old)
        outcome = world.operations.apply(plan)
        assert lane.say("W3") == ["W3"]
    finally:
        settings.write_bytes(before)
        os.utime(settings, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert any("gateway.json was changed after this gateway was started" in note for note in plan.notes), plan
    lane.became(outcome, "lost")


def test_a_reset_where_the_policy_is_due_is_fresh_either_way(world: RealWorld) -> None:
    lane = world.group()
    lane.say("W1")
    lane.idle(IDLE)
    outcome = lane.apply("reset")
    assert lane.say("W2") == ["W2"]
    lane.became(outcome, "done")


def test_each_outcome_is_settled_by_the_message_after_it(world: RealWorld) -> None:
    """Nobody asks in between; the log says of each what was so then, and says it for good."""
    lane = world.direct()
    lane.say("W1")
    first = lane.session_id
    outcomes, sessions = [], []
    for kind, target in [("reset", ""), ("resume", first), ("suspend", ""), ("resume", first), ("reset", "")]:
        outcomes.append(lane.apply(kind, target=target) if target else lane.apply(kind))
        words = lane.say(f"W{len(outcomes) + 1}")
        assert words[0] == ("W1" if target else words[-1])
        sessions.append(lane.session_id)
    for outcome, session_id in zip(outcomes, sessions, strict=True):
        lane.became(outcome, "done", session_id)


def test_a_session_that_the_watcher_ended_is_not_resumed(world: RealWorld, watched: RealLane) -> None:
    old = watched.session_id
    world.gateway.until(lambda: watched.world.row(old)["end_reason"], "finalizes what has expired", 90)
    plan = watched.plan("resume", target=old)
    assert "idle" in plan.refusal
    watched.end_by_hand("session_switch", reopen=old)
    assert watched.say("W2") == ["W2"]
    assert watched.session_id != old
