"""Sessions managed beside a whole, running gateway: what it holds is left alone, what is done it does not notice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import OperationRefused
from hermes_tui.lifecycle.operations.plan import Request
from hermes_tui.lifecycle.operations.verify import Outcome
from hermes_tui.lifecycle.state_db.pruning import PruneFilter
from lifecycle.real_world import RealWorld
from oracle.gateway import RealGateway


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RealWorld]:
    with RealGateway(tmp_path / "gateway") as gateway:
        world = RealWorld(gateway)
        yield world
        print(gateway.log())  # shown of a test that failed
        world.whole(tmp_path)


def done(world: RealWorld, **request: Any) -> Outcome:
    plan = world.operations.plan(Request(**request))
    assert plan.mode == "live"
    outcome = world.operations.apply(plan)
    assert outcome.state == "done", outcome
    return outcome


def test_what_a_pending_operation_has_promised_is_kept(world: RealWorld) -> None:
    lane = world.direct()
    assert lane.say("W1") == ["W1"]
    old = lane.session_id
    lane.apply("reset")
    assert lane.say("W2") == ["W2"]
    new = lane.session_id
    resumed = lane.apply("resume", target=old)
    for kind in ("end", "delete", "clear-messages"):
        refusal = world.operations.plan(Request(kind=kind, session=old)).refusal
        assert f"resume {resumed.operation} of lane {lane.key} waits for its next message; undo that" in refusal
    assert lane.say("W3") == ["W1", "W3"], "it goes on where the resume said"
    lane.became(resumed, "done", old)
    assert lane.say("W4") == ["W1", "W3", "W4"]
    done(world, kind="reopen", session=new)
    assert lane.say("W5") == ["W1", "W3", "W4", "W5"], "another one of its sessions is open, and it stays"
    reset = lane.apply("reset")
    assert "waits for its next message" in world.operations.plan(Request(kind="reopen", session=new)).refusal
    other = world.direct()
    assert other.say("W7") == ["W7"]
    other.apply("reset")
    assert other.say("W8") == ["W8"]
    (chat,) = world.sql("SELECT chat_id FROM sessions WHERE id = ?", other.session_id)[0]
    pruned = done(world, kind="prune-sessions", matching=PruneFilter(chat_id=chat))
    assert pruned.text.startswith("1 session and "), "a lane that waits keeps none of another's"
    assert lane.say("W6") == ["W6"]
    lane.became(reset, "done")
    done(world, kind="delete", session=old)


def test_nothing_comes_in_the_place_of_a_fresh_session(world: RealWorld) -> None:
    """Of what was ended or deleted before the reset, it has closed nothing: Hermes would take it up all the same."""
    lane = world.direct()
    olds = []
    for word in ("W1", "W2", "W3"):
        assert lane.say(word) == [word]
        olds.append(lane.session_id)
        lane.apply("reset")
    assert lane.say("W4") == ["W4"]
    reopened, ended, deleted = olds
    for one in (ended, deleted):
        done(world, kind="reopen", session=one)
    over = done(world, kind="end", session=ended)
    gone = done(world, kind="delete", session=deleted)
    reset = lane.apply("reset")
    waits = f"reset {reset.operation} of lane {lane.key} waits for its next message; undo that first"
    assert world.operations.plan(Request(kind="reopen", session=reopened)).refusal == waits
    for done_before in (over, gone):
        assert world.operations.undo(done_before.operation).refusal == waits
    assert lane.say("W5") == ["W5"]
    lane.became(reset, "done")
    for done_before in (over, gone):
        assert world.operations.apply(world.operations.undo(done_before.operation)).state == "done"
    assert lane.say("W6") == ["W5", "W6"], "they are open, and the lane stays where it is"


def test_beside_a_running_gateway(world: RealWorld) -> None:
    lane = world.direct()
    assert lane.say("W1") == ["W1"]
    old = lane.session_id
    lane.apply("reset")
    assert lane.say("W2") == ["W2"]
    new = lane.session_id
    for kind in ("end", "delete", "clear-messages"):
        plan = world.operations.plan(Request(kind=kind, session=new))
        assert f"a gateway is running and lane {lane.key} is in it" in plan.refusal
        with pytest.raises(OperationRefused):
            world.operations.apply(plan)
    done(world, kind="rename", session=new, title="Named beside it")
    deleted = done(world, kind="delete", session=old)
    assert (world.row(old), lane.words_in(old)) == ({}, [])
    assert lane.say("W3") == ["W2", "W3"]
    assert (lane.session_id, world.row(new)["title"]) == (new, "Named beside it")
    undone = world.operations.apply(world.operations.undo(deleted.operation))
    assert undone.state == "done"
    assert (lane.words_in(old), world.row(old)["end_reason"]) == (["W1"], "session_reset")
    assert lane.say("W4") == ["W2", "W3", "W4"]
    cleared = done(world, kind="clear-messages", session=old)
    assert lane.words_in(old) == []
    assert world.operations.apply(world.operations.undo(cleared.operation)).state == "done"
    resumed = lane.apply("resume", target=old)
    assert lane.say("W5") == ["W1", "W5"], "what was put back is what the model is shown"
    lane.became(resumed, "done", old)
