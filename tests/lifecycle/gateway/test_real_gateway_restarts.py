"""Operations while no gateway runs, and what a whole, real one makes of them when it starts again.

A row is a generator: the gateway is stopped (or killed) at its first `yield`, and runs again after its second. The
rows share a restart, each with a lane of its own that has one message, W1.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from lifecycle.real_world import RealLane, RealWorld
from oracle.gateway import RealGateway

Row = Generator[None, None, None]


def reset(lane: RealLane) -> Row:
    """It holds, and the gateway waits for the next message."""
    yield
    outcome, position = lane.apply("reset"), lane.world.gateway.position
    yield
    assert lane.say("W2") == ["W2"]
    assert len(lane.world.gateway.sent(lane.chat, position)) == 1
    lane.became(outcome, "done")


def reset_and_undo(lane: RealLane) -> Row:
    """As if nothing had been."""
    yield
    outcome = lane.apply("reset")
    lane.world.operations.apply(lane.world.operations.undo(outcome.operation))
    yield
    assert lane.say("W2") == ["W1", "W2"]
    lane.became(outcome, "undone")


def suspend(lane: RealLane) -> Row:
    """The next message begins anew."""
    old = lane.session_id
    yield
    outcome = lane.apply("suspend")
    lane.became(outcome, "done", old)
    yield
    assert lane.say("W2") == ["W2"]
    lane.became(outcome, "done", old)


def suspend_then_resume(lane: RealLane) -> Row:
    """A running gateway has the mark in its memory, and lets it win over what is written beside it."""
    old = lane.session_id
    lane.apply("reset")
    lane.say("W2")
    yield
    lane.apply("suspend")
    yield
    assert "suspended" in lane.plan("resume", target=old).refusal
    lane.end_by_hand("session_switch", reopen=old)
    assert lane.say("W3") == ["W3"]


def resume(lane: RealLane) -> Row:
    """The lane goes on in the earlier session."""
    old = lane.session_id
    lane.apply("reset")
    assert lane.say("W2") == ["W2"]
    yield
    outcome = lane.apply("resume", target=old)
    yield
    assert lane.say("W3") == ["W1", "W3"]
    lane.became(outcome, "done", old)


def resume_where_the_daily_reset_is_due(lane: RealLane) -> Row:
    """The policy goes first beside a running gateway too."""
    old = lane.session_id
    lane.apply("reset")
    lane.say("W2")
    yield
    lane.touched(datetime.now() - timedelta(days=2))
    yield
    assert "daily" in lane.plan("resume", target=old).refusal
    lane.end_by_hand("session_switch", reopen=old)
    assert lane.say("W3") == ["W3"]


def offline_resume_where_the_daily_reset_is_due(lane: RealLane) -> Row:
    """It counts as activity, so that nothing is due after it."""
    old = lane.session_id
    lane.apply("reset")
    lane.say("W2")
    yield
    lane.touched(datetime.now() - timedelta(days=2))
    outcome = lane.apply("resume", target=old)
    yield
    assert lane.say("W3") == ["W1", "W3"]
    lane.became(outcome, "done", old)


def mark(lane: RealLane) -> Row:
    """The starting gateway goes on by itself, in the session that the lane has."""
    yield
    plan = lane.plan("mark")
    assert any("runs a turn" in note for note in plan.notes)
    outcome, position = lane.world.operations.apply(plan), lane.world.gateway.position
    yield
    assert lane.world.gateway.reply(lane.chat, position).words == ["W1"]
    assert lane.say("W2") == ["W1", "W2"]
    lane.became(outcome, "done")


def clear(lane: RealLane) -> Row:
    """The starting gateway waits for the next message."""
    yield
    lane.apply("mark")
    outcome, position = lane.apply("clear"), lane.world.gateway.position
    yield
    assert lane.say("W2") == ["W1", "W2"]
    assert len(lane.world.gateway.sent(lane.chat, position)) == 1
    lane.became(outcome, "done")


def prune(lane: RealLane) -> Row:
    """A session that was never ended is taken up again."""
    yield
    lane.touched(datetime(2020, 1, 1))
    plan = lane.world.plan("prune", "", days=300)
    assert plan.keys == (lane.key,)
    outcome = lane.world.operations.apply(plan)
    assert lane.key not in lane.world.table()
    yield
    assert lane.say("W2") == ["W1", "W2"]
    lane.became(outcome, "done")


def pending_reset(lane: RealLane) -> Row:
    """It waits for the next gateway's next message."""
    outcome = lane.apply("reset")
    yield
    lane.became(outcome, "pending")
    yield
    lane.became(outcome, "pending")
    assert lane.say("W2") == ["W2"]
    lane.became(outcome, "done")


def pending_suspend(lane: RealLane) -> Row:
    """So does that."""
    outcome = lane.apply("suspend")
    yield
    yield
    assert lane.say("W2") == ["W2"]
    lane.became(outcome, "done")


def pending_resume(lane: RealLane) -> Row:
    """And that."""
    old = lane.session_id
    lane.apply("reset")
    lane.say("W2")
    outcome = lane.apply("resume", target=old)
    yield
    yield
    assert lane.say("W3") == ["W1", "W3"]
    lane.became(outcome, "done", old)


def resume_before_a_crash(lane: RealLane) -> Row:
    """It goes on with it in the session that the lane was led to, and writes to the user."""
    old = lane.session_id
    lane.apply("reset")
    lane.say("W2")
    plan = lane.plan("resume", target=old)
    assert any(f"may run a turn by itself in {old} and write to the chat" in note for note in plan.notes), plan.notes
    outcome = lane.world.operations.apply(plan)
    yield
    position = lane.world.gateway.position
    yield
    assert lane.world.gateway.reply(lane.chat, position).words == ["W1"]
    assert lane.say("W3") == ["W1", "W3"]
    lane.became(outcome, "done", old)


def crash(lane: RealLane) -> Row:
    """Without us: the starting gateway takes the lane for interrupted, and goes on with it."""
    yield
    position = lane.world.gateway.position
    yield
    assert lane.world.gateway.reply(lane.chat, position).words == ["W1"]
    assert lane.say("W2") == ["W1", "W2"]


def reset_after_a_crash(lane: RealLane) -> Row:
    """It goes on with it in the new session, which is empty, and writes to the user."""
    yield
    plan = lane.plan("reset")
    said = "takes the lane for interrupted, runs a turn by itself in the new, empty session and writes to the chat"
    assert any(said in note for note in plan.notes), plan.notes
    outcome, position = lane.world.operations.apply(plan), lane.world.gateway.position
    yield
    assert lane.world.gateway.reply(lane.chat, position).words == []
    assert lane.say("W2") == ["W2"]
    lane.became(outcome, "done")


def suspend_after_a_crash(lane: RealLane) -> Row:
    """A suspended lane is not taken for interrupted."""
    old = lane.session_id
    yield
    outcome, position = lane.apply("suspend"), lane.world.gateway.position
    yield
    assert lane.say("W2") == ["W2"]
    assert [text for text in lane.world.gateway.sent(lane.chat, position) if "REPLY" in text] == [
        "REPLY; I have seen W2"
    ]
    lane.became(outcome, "done", old)


STOPPED: tuple[Callable[[RealLane], Row], ...] = (
    *(reset, reset_and_undo, suspend, suspend_then_resume, resume, mark, clear, prune),
    *(resume_where_the_daily_reset_is_due, offline_resume_where_the_daily_reset_is_due),
    *(pending_reset, pending_suspend, pending_resume),
)
KILLED: tuple[Callable[[RealLane], Row], ...] = (
    *(crash, reset_after_a_crash, suspend_after_a_crash, pending_reset, pending_suspend, resume_before_a_crash),
)


@pytest.mark.parametrize(("end", "rows"), [("stop", STOPPED), ("kill", KILLED)])
def test_what_a_gateway_makes_of_it_when_it_starts_again(
    end: str, rows: tuple[Callable[[RealLane], Row], ...], tmp_path: Path
) -> None:
    failed: list[Exception] = []
    with RealGateway(tmp_path / "home", "session_reset: {mode: daily, at_hour: 0}") as gateway:
        world = RealWorld(gateway)
        begun = {row.__name__: row(_lane_with_a_message(world)) for row in rows}
        for step in (getattr(gateway, end), gateway.start, lambda: world.whole(tmp_path)):
            for name, row in begun.items():
                try:
                    next(row, None)
                except Exception as error:
                    error.add_note(f"in the row {name}")
                    failed.append(error)
            step()
        if failed:
            raise ExceptionGroup(gateway.log(), failed)
    assert all(inspect.getgeneratorstate(row) == inspect.GEN_CLOSED for row in begun.values())


def _lane_with_a_message(world: RealWorld) -> RealLane:
    lane = world.direct()
    assert lane.say("W1") == ["W1"]
    return lane
