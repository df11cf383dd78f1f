"""Random steps on a whole, running gateway: messages, operations, crashes, halts, restarts, other policies.

What must hold is told without our own reading of the store: the model says which words it was shown, plain SQL says
which words a session has, and this module remembers what each plan promised of the lane's next message.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from hermes_tui.lifecycle.operations.plan import Plan
from lifecycle.gateway.session_steps import SessionSteps
from lifecycle.gateway.talks import Applied, Talk, active_words, lane_words, tell
from lifecycle.real_world import RealWorld

__all__ = ["Steps"]

_IDLE = 3.0
"""Seconds without a message, where the policy is that."""
_POLICIES = {False: "session_reset: {mode: none}", True: f"session_reset: {{mode: idle, idle_minutes: {_IDLE / 60}}}"}
_KINDS = {
    "running": ("reset", "suspend", "resume", "resume"),
    "halted": ("reset", "suspend", "resume"),
    "stopped": ("reset", "suspend", "resume", "mark", "clear"),
}


class Steps:
    """A sequence of random steps, and their checks."""

    def __init__(self, world: RealWorld, dice: random.Random) -> None:
        self.world, self.gateway = world, world.gateway
        self.random = dice
        self.talks = [Talk(world.direct()), Talk(world.direct()), Talk(world.group())]
        self.words = 1000
        self.state = "running"
        self.idle = False
        self.senders = ThreadPoolExecutor(len(self.talks))
        self.applied: dict[str, tuple[Talk, Applied]] = {}
        self.settled: dict[str, tuple[str, str, str]] = {}
        self.count: Counter[str] = Counter()
        self.sessions = SessionSteps(world, dice, self.talks, self.count)

    def run(self, number: int) -> None:
        """Take that many steps, then bring everything to its end. Raises `AssertionError`."""
        for talk in self.talks:
            self.say(talk)
        for _ in range(number):
            self.sessions.stopped = self.state == "stopped"
            steps, weights = zip(*self._steps().items(), strict=True)
            self.random.choices(steps, weights)[0]()
            self._compare_log()
        if self.state == "halted":
            self.proceed()
        if self.state == "stopped":
            self.start()
        for talk in self.talks:
            self.say(talk)
            lost = set(talk.answered) - set(lane_words(talk.lane)) - self.sessions.deleted
            assert not lost, f"{talk.lane.key}: lost are {lost}"
        self._compare_log()
        self.senders.shutdown()

    def _steps(self) -> dict[Callable[[], None], int]:
        sessions = self.sessions
        if self.state == "running":
            steps: dict[Callable[[], None], int] = {self._say: 12, self.operate: 12, self.undo: 3, self.turn: 2}
            steps |= {sessions.manage: 6, sessions.put_back: 3, sessions.prune: 2}
            return {**steps, self.kill: 1, self.stop: 1, self.halt: 2, self.wait: 2 * self.idle}
        if self.state == "halted":
            steps = {self.post: 3, self.operate: 5, self.undo: 1, self.proceed: 4, self.kill: 1}
            return {**steps, sessions.manage: 2, sessions.prune: 1}
        steps = {self.operate: 6, self.undo: 2, self.start: 4}
        return {**steps, sessions.manage: 4, sessions.put_back: 2, sessions.prune: 2}

    # Messages --------------------------------------------------------------------------------------------------

    def _say(self) -> None:
        self.say(self.random.choice(self.talks))

    def say(self, talk: Talk) -> None:
        """A message, and its answer."""
        word = self._word()
        tell(f"{talk.lane.chat} says {word}; expected in {talk.expected or 'a fresh session'}")
        self._check(talk, [word], talk.lane.say(word))

    def turn(self) -> None:
        """A message during whose turn something happens: that takes effect after its end."""
        talk, word = self.random.choice(self.talks), self._word()
        tell(f"{talk.lane.chat} begins a turn with {word}; expected in {talk.expected or 'a fresh session'}")
        position = self.gateway.begin_turn(talk.lane.chat, word, user=talk.lane.user)
        began, promised, by = talk.lane.session_id, talk.expected, talk.by
        talk.expected, talk.by = began, None
        if self.random.random() < 0.2:
            talk.touched = time.time()
            self.kill()  # whether the word is in the store is open
            self.gateway.end_turns()
            return
        if self.random.random() < 0.7:
            self._operate(talk)
        own = [word]
        if self.random.random() < 0.5:
            talk.answered.append(word)
            word = self._word()
            own.append(word)
            tell(f"  and says {word} meanwhile")
            self.gateway.send(talk.lane.chat, word, user=talk.lane.user)
            self.gateway.reply(talk.lane.chat, position, user=talk.lane.user, expect="Interrupting current task")
        self.gateway.end_turns()
        shown = self.gateway.reply(talk.lane.chat, position, user=talk.lane.user, expect=word).words
        after = talk.expected, talk.by
        talk.expected, talk.by = promised, by
        self._check(talk, own, shown, began)
        talk.expected, talk.by = after

    def _check(self, talk: Talk, own: list[str], shown: list[str], current: str = "") -> None:
        """The context of an answer is that of its session, whole, and the session is the one that was promised.
        `own`: the words of the turn."""
        current, word = current or talk.lane.session_id, own[-1]
        due = talk.reset or self._due(talk)
        by, expected, fresh = talk.by, talk.expected, shown == own
        tell(f"  {word} went into {current}: {shown}{' (policy due)' * due}")
        self.count["messages"] += 1
        stored = [one for one in active_words(self.world, current) if one <= word]
        assert (shown, shown[-1]) == (stored, word), f"shown {shown}, stored {stored} in {current}"
        held = current == expected if expected else fresh
        assert held or (due and fresh), f"broken: {expected or 'fresh'} was promised {by and by.plan.next_message}"
        talk.expected, talk.by, talk.touched, talk.reset = current, None, time.time(), False
        talk.answered.append(word)
        if by is not None:
            self._settle(by, expected, held)

    def _settle(self, by: Applied, expected: str, held: bool) -> None:
        """Our log says of the operation what the message showed."""
        outcome = self.world.operations.outcome(by.outcome.operation)
        tell(f"  {outcome.operation}: {outcome.state}, {outcome.text}")
        self.count["kept" if held else "overruled by the policy, as said"] += 1
        if not held:
            assert not by.idle or "idle" in by.plan.next_message, by.plan
        if held or by.outcome.state != "pending":
            assert outcome.state == "done", outcome
        elif outcome.state == "done":  # the gateway has gone on with it by itself before, and there
            assert outcome.session_id == expected, outcome
        else:
            assert outcome.state == "lost", outcome

    def _due(self, talk: Talk) -> bool:
        return self.idle and time.time() - talk.touched > _IDLE

    def _word(self) -> str:
        self.words += 1
        return f"W{self.words}"

    # Operations ------------------------------------------------------------------------------------------------

    def operate(self) -> None:
        """One of ours, on any lane."""
        self._operate(self.random.choice(self.talks))

    def _operate(self, talk: Talk) -> None:
        kind, more = self.random.choice(_KINDS[self.state]), {}
        if not talk.lane.session_id:
            return  # a starting gateway drops a lane whose session was ended, until its next message
        if kind == "resume":
            statement = "SELECT id FROM sessions WHERE session_key = ? ORDER BY started_at, id"
            sessions = [one for (one,) in self.world.sql(statement, talk.lane.key)]
            earlier = [one for one in sessions if one != talk.lane.session_id]
            more = {"target": self.random.choice(earlier or sessions)}
        plan = talk.lane.plan(kind, **more)
        expected = {"reset": "", "suspend": "", "resume": plan.becomes}.get(kind, talk.expected)
        self._apply(talk, plan, expected)

    def undo(self) -> None:
        """Take back an operation that may still be taken back, or any."""
        if not self.applied:
            return
        operation = self.random.choice(list(self.applied)[-3:])
        talk, applied = self.applied[operation]
        if applied.plan.request.kind != "undo":
            self._apply(talk, self.world.operations.undo(operation), applied.before)

    def _apply(self, talk: Talk, plan: Plan, expected: str) -> None:
        kind = plan.request.kind
        words = f"{talk.lane.chat}: {kind} {plan.request.target}"
        if plan.refusal:
            tell(f"{words} is refused: {plan.refusal}")
            self.count[f"refused {kind}"] += 1
            return
        outcome = self.world.operations.apply(plan)
        tell(f"{words} is {outcome.operation}, {outcome.state}: {plan.next_message}")
        self.count[f"{plan.mode} {kind}"] += 1
        applied = Applied(plan, outcome, self.idle, talk.expected)
        self.applied[outcome.operation] = talk, applied
        talk.expected, talk.by = expected, applied

    def _compare_log(self) -> None:
        """What is settled stays as it is, unless it is taken back."""
        for one in self.world.operations.log(1000):
            found = (one.state, one.text, one.session_id)
            before = self.settled.setdefault(one.operation, found) if one.final else None
            assert before in (None, found) or one.state == "undone", f"{before} became {found}"

    # The gateway -----------------------------------------------------------------------------------------------

    def wait(self) -> None:
        """Until the policy is due for every lane."""
        tell("nobody says anything")
        time.sleep(_IDLE + 0.1)

    def kill(self) -> None:
        """What was sent to a halted gateway is lost with it: its sender is told so."""
        tell("the gateway is killed")
        self.gateway.kill()
        for talk in self.talks:
            if talk.posted is not None:
                assert talk.posted[2].exception() is not None
                talk.posted = None
        self.state = "stopped"

    def stop(self) -> None:
        """A clean end."""
        tell("the gateway is stopped")
        self.gateway.stop()
        self.state = "stopped"

    def start(self) -> None:
        """With any policy."""
        self.idle = self.random.random() < 0.3
        self.gateway.settings = _POLICIES[self.idle]
        self.gateway.start()
        tell(f"the gateway is started with {self.gateway.settings}")
        self.state = "running"
        for talk in self.talks:
            talk.reset = talk.reset or self._due(talk)

    def halt(self) -> None:
        """It does nothing for a while."""
        tell("the gateway is halted")
        self.world.halt()
        self.state = "halted"

    def post(self) -> None:
        """A message to a halted gateway."""
        talk = self.random.choice(self.talks)
        if talk.posted is None:
            word, position = self._word(), self.gateway.position
            tell(f"{talk.lane.chat} says {word} to the halted gateway")
            sent = self.senders.submit(self.gateway.send, talk.lane.chat, word, user=talk.lane.user)
            talk.posted = word, position, sent

    def proceed(self) -> None:
        """It takes what was sent meanwhile."""
        tell("the gateway goes on")
        self.gateway.proceed()
        self.state = "running"
        for talk in self.talks:
            if talk.posted is not None:
                (word, position, sent), talk.posted = talk.posted, None
                sent.result()
                shown = self.gateway.reply(talk.lane.chat, position, user=talk.lane.user, expect=word).words
                self._check(talk, [word], shown)
