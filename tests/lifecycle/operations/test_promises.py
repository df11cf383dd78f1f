"""What a plan promises beside a gateway is what Hermes does then: its policy, marks and recovery decide, not ids.

A real SessionStore of hermes-agent is the gateway; its clock is moved on.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import OperationRefused
from lifecycle.worlds import KEY, World, gateway
from oracle.hermes import Oracle


@pytest.fixture
def world(hermes: Oracle, tmp_path: Path) -> Iterator[World]:
    """A running gateway, its lanes reset after an hour without activity."""
    world = World(hermes, tmp_path / "user")
    world.keep_time()
    world.policy(mode="idle", idle_minutes=60)
    with gateway(world.home):
        yield world


def two(world: World) -> tuple[str, str]:
    """Two conversations of the lane, which is in the second."""
    return world.talk(), world.talk(force_new=True)


def test_a_resume_is_refused_where_a_reset_is_due(world: World) -> None:
    wanted, current = two(world)
    world.later(3700)
    plan = world.plan("resume", target=wanted)
    assert plan.refusal.startswith("its reset is due, for it was idle too long, and Hermes lets that win")
    assert plan.refusal.endswith("the next message begins a fresh session; stop it first (`hermes gateway stop`)")
    with pytest.raises(OperationRefused):
        world.operations.apply(plan)
    # Written all the same, it would be lost.
    world.sql("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", wanted)
    world.sql("UPDATE sessions SET ended_at = 1, end_reason = 'session_switch' WHERE id = ?", current)
    assert world.get() not in (wanted, current)


def test_a_resume_is_refused_where_the_lane_is_suspended(world: World) -> None:
    wanted, _ = two(world)
    world.hermes.store("suspend_session", KEY)
    assert "the lane is suspended, and Hermes lets that win" in world.plan("resume", target=wanted).refusal


def test_a_resume_is_refused_where_the_mark_has_expired(world: World) -> None:
    wanted, _ = two(world)
    world.policy(mode="idle", idle_minutes=600)
    world.hermes.store("mark_resume_pending", KEY)
    world.later(3601)
    assert "its resume mark has expired" in world.plan("resume", target=wanted).refusal


def test_without_a_gateway_all_of_these_are_led_back(hermes: Oracle, tmp_path: Path) -> None:
    world = World(hermes, tmp_path / "user")
    world.keep_time()
    world.policy(mode="idle", idle_minutes=60)
    wanted, _ = two(world)
    world.hermes.store("suspend_session", KEY)
    world.later(3700)
    world.hermes.close_store()
    assert world.apply("resume", target=wanted).state == "done"
    world.policy(mode="idle", idle_minutes=60)
    assert world.get() == wanted


def test_the_lanes_own_session_that_the_watcher_ended_is_not_resumed(world: World) -> None:
    """It stays the lane's by its id, and is reset all the same."""
    current = world.talk()
    world.later(3700)
    world.sql("UPDATE sessions SET ended_at = 1, end_reason = 'session_reset' WHERE id = ?", current)
    assert "its reset is due" in world.plan("resume", target=current).refusal
    world.sql("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", current)
    assert world.get() != current


def test_a_resume_says_until_when_it_holds_and_is_done_by_a_message_before(world: World) -> None:
    wanted, current = two(world)
    plan = world.plan("resume", target=wanted)
    until = world.moment - timedelta(seconds=5) + timedelta(minutes=60)
    promised = f"goes on in {wanted} (1 message) if it comes before {until:%Y-%m-%d %H:%M}"
    assert plan.next_message == f"{promised}, when the lane is reset for being idle"
    outcome = world.operations.apply(plan)
    assert outcome.text == f"the lane's next message {plan.next_message}"
    world.later(3500)
    assert world.talk() == wanted
    done = world.operations.outcome(outcome.operation)
    assert (done.state, done.evidence and done.evidence.session_id) == ("done", wanted)
    assert world.row(current)["end_reason"] == "session_switch"


def test_a_resume_that_the_reset_overtook_is_lost(world: World) -> None:
    wanted, _ = two(world)
    outcome = world.apply("resume", target=wanted)
    world.later(3700)
    waits = world.operations.outcome(outcome.operation)
    assert (waits.state, "begins a fresh session (its reset is due" in waits.text) == ("pending", True)
    new = world.talk()
    lost = world.operations.outcome(outcome.operation)
    assert (lost.state, lost.evidence and lost.evidence.session_id) == ("lost", new)


@pytest.mark.parametrize("own", [True, False])
def test_equal_ids_prove_nothing(world: World, own: bool) -> None:
    """Done is what a message showed, also where the lane is in the session already by its id."""
    wanted, current = two(world)
    if own:
        world.sql("UPDATE sessions SET ended_at = 1, end_reason = 'user_exit' WHERE id IN (?, ?)", wanted, current)
        wanted = current
    outcome = world.apply("resume", target=wanted)
    assert outcome.state == "pending"
    assert world.get() == wanted
    assert world.operations.outcome(outcome.operation).state == "pending"
    world.say(wanted)
    assert world.operations.outcome(outcome.operation).state == "done"


def test_hermes_passes_over_a_session_of_another_profile(world: World) -> None:
    """Found by its peer, it is none of this gateway's; nor is anything found behind it."""
    wanted = world.talk()
    world.talk(force_new=True)
    world.sql("UPDATE sessions SET session_key = 'agent:coder:telegram:dm:700' WHERE id = ?", wanted)
    plan = world.plan("reset")
    world.operations.apply(plan)
    assert world.get() != wanted


@pytest.mark.parametrize(("schema", "said"), [(30, "schema 30, later than Hermes 0.19's (22)"), (19, "schema 19")])
def test_another_schema_is_refused_by_its_number(world: World, schema: int, said: str) -> None:
    wanted, _ = two(world)
    world.sql("UPDATE schema_version SET version = ?", schema)
    more: dict[str, dict[str, Any]] = {"resume": {"target": wanted}, "reset": {}, "suspend": {}}
    for kind, options in more.items():
        assert said in world.plan(kind, **options).refusal


def test_a_later_schema_is_left_alone_without_a_gateway_too(hermes: Oracle, tmp_path: Path) -> None:
    world = World(hermes, tmp_path / "user")
    world.start()
    world.talk()
    world.hermes.close_store()
    world.sql("UPDATE schema_version SET version = 30")
    for kind in ("reset", "suspend", "mark"):
        refusal = world.plan(kind).refusal
        assert refusal.endswith("whose rules are known: what a gateway of that version would make of it is not known")


def test_an_undo_says_where_the_lane_is_then(world: World) -> None:
    old = world.talk()
    outcome = world.apply("reset")
    plan = world.operations.undo(outcome.operation)
    assert (
        f"finds the lane as it was before, and goes on in {old} (1 message) if it comes before" in plan.next_message
    )
    world.later(3700)
    assert "begins a fresh session (its reset is due" in world.operations.undo(outcome.operation).next_message
