"""Random sequences beside a live owner: the gateway's calls and our operations in any order.

The invariant: after each of our operations the gateway's next message on that lane is where the plan said, unless
something came in between, and the outcome says which of the two; where a plan refuses because Hermes resets the lane,
Hermes does; and a session that was closed by a reset never comes back by itself.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from chances import TIMES, repeatable
from hermes_tui.errors import LaneNotFound
from hermes_tui.lifecycle.operations.plan import Plan
from hermes_tui.lifecycle.operations.verify import Outcome
from lifecycle.worlds import ANA, BOB, World, gateway
from oracle.hermes import Oracle

SHARED: tuple[Mapping[str, Any], ...] = tuple(
    {"platform": "discord", "chat_id": "7", "chat_type": "thread", "user_id": user, "thread_id": "7"} for user in "12"
)
LANES: dict[str, tuple[Mapping[str, Any], ...]] = {
    "agent:main:telegram:dm:700": (ANA,),
    "agent:main:telegram:dm:800": (BOB,),
    "agent:main:discord:thread:7:7": SHARED,
}
keys = st.sampled_from(sorted(LANES))


class LiveOwner(RuleBasedStateMachine):
    """One gateway, and us."""

    hermes: ClassVar[Oracle]
    applied: ClassVar[int] = 0
    lost: ClassVar[int] = 0
    refused: ClassVar[int] = 0

    @initialize(
        policy=st.sampled_from(
            (
                {"mode": "none"},
                {"mode": "idle", "idle_minutes": 60},
                {"mode": "daily", "at_hour": 4},
                {"mode": "both", "idle_minutes": 600, "at_hour": 20},
            )
        )
    )
    def begin(self, policy: Mapping[str, Any]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="owner-"))
        self.world = World(self.hermes, self.folder)
        self.policy = policy
        self.world.keep_time()
        self.world.policy(**policy)
        self.gateway = gateway(self.world.home)
        self.gateway.__enter__()
        self.said: dict[str, list[str]] = {key: [] for key in LANES}
        """Sessions of each lane in which something was said, in order."""
        self.pending: dict[str, tuple[Outcome, set[str]]] = {}
        self.disturbed: set[str] = set()
        """Lanes to which something else than a message came since."""
        for key in LANES:
            self._message(key, 0, False)

    def _message(self, key: str, person: int, force_new: bool) -> str:
        people = LANES[key]
        session_id = self.world.talk(people[person % len(people)], force_new=force_new)
        if session_id not in self.said[key]:
            self.said[key].append(session_id)
        return session_id

    @rule(key=keys, person=st.integers(0, 1), force_new=st.booleans())
    def message(self, key: str, person: int, force_new: bool) -> None:
        before = set(self.said[key])
        session_id = self._message(key, person, force_new)
        waiting = self.pending.pop(key, None)
        if waiting is None:
            return
        outcome, closed = waiting
        disturbed = key in self.disturbed
        self.disturbed.discard(key)
        found = self.world.operations.outcome(outcome.operation)
        assert found.state in ("done", "lost"), found
        type(self).lost += found.state == "lost"
        assert found.evidence is not None and found.evidence.session_id == session_id
        if outcome.request.kind == "resume":
            assert (session_id == outcome.request.target) == (found.state == "done"), found
        else:
            assert (session_id not in before) == (found.state == "done"), found
        if not force_new and not disturbed and found.state == "lost":
            raise AssertionError(f"nothing came in between, and still: {found}")
        assert session_id not in closed or found.state == "lost"

    @rule(key=keys, kind=st.sampled_from(("reset", "suspend")))
    def operate(self, key: str, kind: str) -> None:
        plan = self._plan(kind, key)
        if plan is None or key in self.pending or plan.refusal:
            assert plan is None or key in self.pending or "begins a fresh one" in plan.refusal, plan.refusal
            return
        outcome = self.world.operations.apply(plan)
        assert outcome.state == "pending"
        type(self).applied += 1
        self.pending[key] = (outcome, {plan.session_id, *plan.older})
        self.disturbed.discard(key)

    @precondition(lambda self: hasattr(self, "said") and any(len(one) > 1 for one in self.said.values()))
    @rule(data=st.data())
    def resume(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([key for key, said in sorted(self.said.items()) if len(said) > 1]))
        target = data.draw(st.sampled_from(self.said[key]))
        plan = self._plan("resume", key, target=target)
        if plan is None or key in self.pending:
            return
        if plan.refusal:
            if "Hermes lets that win" in plan.refusal:
                type(self).refused += 1
                before = set(self.said[key])
                assert self._message(key, 0, False) not in before, plan.refusal
            return
        outcome = self.world.operations.apply(plan)
        type(self).applied += 1
        assert outcome.state == "pending"
        self.pending[key] = (outcome, {plan.session_id, *plan.older} - {target})
        self.disturbed.discard(key)

    def _plan(self, kind: str, key: str, **more: str) -> Plan | None:
        """None where a restarted gateway has dropped the lane, because its session was ended."""
        try:
            return self.world.plan(kind, key, **more)
        except LaneNotFound:
            assert key not in self.world.table()
            return None

    @precondition(lambda self: bool(getattr(self, "pending", None)))
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.pending)))
        outcome, _ = self.pending[key]
        plan = self.world.operations.undo(outcome.operation)
        current = self.world.table().get(key, {}).get("session_id")
        if plan.refusal:  # a restarted gateway has dropped the lane, or has led it to the target already
            assert current is None or self.world.operations.outcome(outcome.operation).state == "done", plan.refusal
            return
        del self.pending[key]
        assert self.world.operations.apply(plan).state == "done"
        before = set(self.said[key])
        went = self._message(key, 0, False)
        if "begins a fresh session" in plan.next_message:
            assert went not in before, plan.next_message
        else:
            assert f"and goes on in {went}" in plan.next_message

    @rule(key=keys, tokens=st.integers(0, 9000))
    def turn_ends(self, key: str, tokens: int) -> None:
        """The gateway saves its whole index over whatever is there."""
        self.world.hermes.store("update_session", key, last_prompt_tokens=tokens)

    @rule(seconds=st.sampled_from((10, 600, 3600, 3601, 36000, 86400)))
    def later(self, seconds: float) -> None:
        self.world.later(seconds)
        self.disturbed |= set(LANES)

    @rule(key=keys, reason=st.sampled_from(("agent_close", "ws_orphan_reap", "session_reset", "user_exit")))
    def row_ends(self, key: str, reason: str) -> None:
        """By the accident after which Hermes reopens a session, by the expiry watcher, by a user."""
        current = self.world.table().get(key, {}).get("session_id")
        statement = "UPDATE sessions SET ended_at = 5, end_reason = ? WHERE id = ? AND ended_at IS NULL"
        self.world.sql(statement, reason, current)
        self.disturbed.add(key)

    @rule(key=keys, marked=st.booleans())
    def flagged(self, key: str, marked: bool) -> None:
        """In the gateway's memory: suspended, or marked as interrupted."""
        self.world.hermes.store("mark_resume_pending" if marked else "suspend_session", key)
        self.disturbed.add(key)

    @rule()
    def restart(self) -> None:
        self.world.hermes.close_store()
        self.world.start(policy=self.policy)
        self.disturbed |= set(LANES)

    def teardown(self) -> None:
        if hasattr(self, "gateway"):
            self.gateway.__exit__(None, None, None)
            self.world.hermes.close_store()
            shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def machine(hermes: Oracle) -> Iterator[type[LiveOwner]]:
    LiveOwner.hermes, LiveOwner.applied, LiveOwner.lost, LiveOwner.refused = hermes, 0, 0, 0
    yield LiveOwner


def test_no_older_conversation_ever_comes_back(machine: type[LiveOwner]) -> None:
    run_state_machine_as_test(
        repeatable(machine),
        settings=settings(
            max_examples=20 * TIMES,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
        ),
    )
    assert machine.applied > 10
