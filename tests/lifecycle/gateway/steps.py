"""Random steps on a whole, running gateway: messages, operations, crashes, halts, restarts, other policies.

What must hold is told without our own reading of the store: the model says which words it was shown, plain SQL says
which words a session has, and this module remembers what each plan promised of the lane's next message.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from hermes_tui.lifecycle.operations import Outcome, Plan, Request
from lifecycle.real_world import RealLane, RealWorld

__all__ = ["Steps"]

_IDLE = 3.0
"""Seconds without a message, where the policy is that."""
_POLICIES = {False: "session_reset: {mode: none}", True: f"session_reset: {{mode: idle, idle_minutes: {_IDLE / 60}}}"}
_KINDS = {
    "running": ("reset", "suspend", "resume", "resume"),
    "halted": ("reset", "suspend", "resume"),
    "stopped": ("reset", "suspend", "resume", "mark", "clear"),
}


_MANAGED = ("rename", "end", "reopen", "delete", "clear-messages")
"""Operations on sessions; one that a lane of a running gateway is in is left alone by all but the first."""


@dataclass
class Managed:
    """An operation on a session, and what was there before."""

    plan: Plan
    outcome: Outcome
    talk: Talk
    row: dict[str, Any]
    words: list[str]


@dataclass
class Applied:
    """An operation, and what its lane was to meet without it."""

    plan: Plan
    outcome: Outcome
    idle: bool
    """The policy was to reset idle lanes when it was planned."""
    before: str


@dataclass
class Talk:
    """One lane, and what this side knows of it."""

    lane: RealLane
    expected: str = ""
    """The session in which its next message must be; empty: a fresh one."""
    by: Applied | None = None
    """The operation that promised so; None: no operation since its last message."""
    touched: float = 0.0
    """When its last message was answered."""
    answered: list[str] = field(default_factory=list)
    """Every word that was answered."""
    reset: bool = False
    """A gateway that started has gone on with it by itself, when the policy was due."""
    posted: tuple[str, int, Future[int]] | None = None
    """A word that was sent to a halted gateway."""


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
        self.managed: list[Managed] = []
        self.deleted: set[str] = set()
        """Words that went with their sessions or out of them, and were not put back."""
        self.settled: dict[str, tuple[str, str, str]] = {}
        self.count: Counter[str] = Counter()

    def run(self, number: int) -> None:
        """Take that many steps, then bring everything to its end. Raises `AssertionError`."""
        for talk in self.talks:
            self.say(talk)
        for _ in range(number):
            steps, weights = zip(*self._steps().items(), strict=True)
            self.random.choices(steps, weights)[0]()
            self._compare_log()
        if self.state == "halted":
            self.proceed()
        if self.state == "stopped":
            self.start()
        for talk in self.talks:
            self.say(talk)
            lost = set(talk.answered) - set(self._words_of(talk.lane)) - self.deleted
            assert not lost, f"{talk.lane.key}: lost are {lost}"
        self._compare_log()
        self.senders.shutdown()

    def _steps(self) -> dict[Callable[[], None], int]:
        if self.state == "running":
            steps: dict[Callable[[], None], int] = {self._say: 12, self.operate: 12, self.undo: 3, self.turn: 2}
            steps |= {self.manage: 6, self.put_back: 3}
            return {**steps, self.kill: 1, self.stop: 1, self.halt: 2, self.wait: 2 * self.idle}
        if self.state == "halted":
            return {self.post: 3, self.operate: 5, self.undo: 1, self.proceed: 4, self.kill: 1, self.manage: 2}
        return {self.operate: 6, self.undo: 2, self.start: 4, self.manage: 4, self.put_back: 2}

    def tell(self, words: str) -> None:
        """What is done: shown of a sequence that failed."""
        print(f"{time.time():.2f} {words}")

    # Messages --------------------------------------------------------------------------------------------------

    def _say(self) -> None:
        self.say(self.random.choice(self.talks))

    def say(self, talk: Talk) -> None:
        """A message, and its answer."""
        word = self._word()
        self.tell(f"{talk.lane.chat} says {word}; expected in {talk.expected or 'a fresh session'}")
        self._check(talk, [word], talk.lane.say(word))

    def turn(self) -> None:
        """A message during whose turn something happens: that takes effect after its end."""
        talk, word = self.random.choice(self.talks), self._word()
        self.tell(f"{talk.lane.chat} begins a turn with {word}; expected in {talk.expected or 'a fresh session'}")
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
            self.tell(f"  and says {word} meanwhile")
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
        self.tell(f"  {word} went into {current}: {shown}{' (policy due)' * due}")
        self.count["messages"] += 1
        stored = [one for one in self._words_in(current) if one <= word]
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
        self.tell(f"  {outcome.operation}: {outcome.state}, {outcome.text}")
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

    def _words_in(self, session_id: str) -> list[str]:
        statement = "SELECT content FROM messages WHERE session_id = ? AND role = 'user' AND active ORDER BY id"
        return _words(self.world.sql(statement, session_id))

    def _words_of(self, lane: RealLane) -> list[str]:
        statement = "SELECT content FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.session_key = ?"
        return _words(self.world.sql(f"{statement} AND role = 'user'", lane.key))

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
            self.tell(f"{words} is refused: {plan.refusal}")
            self.count[f"refused {kind}"] += 1
            return
        outcome = self.world.operations.apply(plan)
        self.tell(f"{words} is {outcome.operation}, {outcome.state}: {plan.next_message}")
        self.count[f"{plan.mode} {kind}"] += 1
        applied = Applied(plan, outcome, self.idle, talk.expected)
        self.applied[outcome.operation] = talk, applied
        talk.expected, talk.by = expected, applied

    # Sessions --------------------------------------------------------------------------------------------------

    def manage(self) -> None:
        """An operation on one of a lane's sessions. What would take back what another operation promised is left
        out: the sessions that a lane is to go on in, and opening one again while its lane's own has ended."""
        talk = self.random.choice(self.talks)
        kind: Any = self.random.choice(_MANAGED)
        statement = "SELECT id FROM sessions WHERE session_key = ? ORDER BY started_at, id"
        sessions = [one for (one,) in self.world.sql(statement, talk.lane.key)]
        if not sessions:
            return
        session = self.random.choice(sessions)
        row, words = self.world.row(session), self._words_in(session)
        current = talk.lane.session_id
        held = session in (current, talk.expected)
        if kind == "reopen" and (talk.by is not None or not current or not self._is_open(current)):
            return
        if held and kind != "rename" and (self.state == "stopped" or session != current):
            return
        more: dict[str, Any] = {"title": f"Title {self._word()}"} if kind == "rename" else {}
        plan = self.world.operations.plan(Request(kind=kind, session=session, **more))
        words_said = f"{talk.lane.chat}: {kind} {session}"
        if held and kind != "rename":
            beside = ("has ended already", "has not ended", "has no messages")
            assert any(one in plan.refusal for one in (f"lane {talk.lane.key} is in it", *beside)), plan
        if plan.refusal:
            self.tell(f"{words_said} is refused: {plan.refusal}")
            self.count[f"refused {kind}"] += 1
            return
        said = "SELECT content FROM messages WHERE session_id = ? AND role = 'user'"
        every = _words(self.world.sql(said, session))
        outcome = self.world.operations.apply(plan)
        self.tell(f"{words_said} is {outcome.operation}, {outcome.state}")
        self.count[f"{plan.mode} {kind}"] += 1
        assert outcome.state == "done", outcome
        self.managed.append(Managed(plan, outcome, talk, row, words))
        after = self.world.row(session)
        if kind == "delete":
            assert (after, self._words_in(session)) == ({}, [])
        elif kind == "clear-messages":
            assert (after["id"], self._words_in(session)) == (session, [])
        else:
            assert self._words_in(session) == words
            wanted = {"rename": ("title", more.get("title")), "end": ("end_reason", "user_exit")}
            name, value = wanted.get(kind, ("ended_at", None))
            assert after[name] == value
        if kind in ("delete", "clear-messages"):
            assert self.world.sql(said, session) == []
            self.deleted.update(every)

    def put_back(self) -> None:
        """The latest operation on a session is taken back, where nothing speaks against it."""
        if not self.managed:
            return
        one = self.managed.pop()
        session, kind, talk = one.plan.session_id, one.plan.request.kind, one.talk
        current = talk.lane.session_id
        opens = kind != "rename" and one.row["ended_at"] is None
        if opens and (talk.by is not None or not current or not self._is_open(current)):
            return  # its lane may go on there then, as with one that is opened again
        if kind != "rename" and session in (current, talk.expected):
            return
        plan = self.world.operations.undo(one.outcome.operation)
        if plan.refusal:
            self.tell(f"undo of {kind} {session} is refused: {plan.refusal}")
            self.count[f"refused undo of {kind}"] += 1
            return
        outcome = self.world.operations.apply(plan)
        self.tell(f"{talk.lane.chat}: {kind} {session} is taken back, {outcome.state}")
        self.count[f"{plan.mode} undo of {kind}"] += 1
        assert outcome.state == "done", outcome
        back = self.world.row(session)
        names = {"rename": ("title",), "end": ("ended_at", "end_reason"), "reopen": ("ended_at", "end_reason")}
        for name in names.get(kind, ("title", "ended_at", "end_reason", "session_key", "parent_session_id")):
            assert back[name] == one.row[name], name
        assert set(one.words) <= set(self._words_in(session)) or kind == "rename"
        self.deleted -= set(self._words_of(talk.lane))

    def _is_open(self, session_id: str) -> bool:
        return self.world.row(session_id).get("ended_at") is None

    def _compare_log(self) -> None:
        """What is settled stays as it is, unless it is taken back."""
        for one in self.world.operations.log(1000):
            found = (one.state, one.text, one.session_id)
            before = self.settled.setdefault(one.operation, found) if one.final else None
            assert before in (None, found) or one.state == "undone", f"{before} became {found}"

    # The gateway -----------------------------------------------------------------------------------------------

    def wait(self) -> None:
        """Until the policy is due for every lane."""
        self.tell("nobody says anything")
        time.sleep(_IDLE + 0.1)

    def kill(self) -> None:
        """What was sent to a halted gateway is lost with it: its sender is told so."""
        self.tell("the gateway is killed")
        self.gateway.kill()
        for talk in self.talks:
            if talk.posted is not None:
                assert talk.posted[2].exception() is not None
                talk.posted = None
        self.state = "stopped"

    def stop(self) -> None:
        """A clean end."""
        self.tell("the gateway is stopped")
        self.gateway.stop()
        self.state = "stopped"

    def start(self) -> None:
        """With any policy."""
        self.idle = self.random.random() < 0.3
        self.gateway.settings = _POLICIES[self.idle]
        self.gateway.start()
        self.tell(f"the gateway is started with {self.gateway.settings}")
        self.state = "running"
        for talk in self.talks:
            talk.reset = talk.reset or self._due(talk)

    def halt(self) -> None:
        """It does nothing for a while."""
        self.tell("the gateway is halted")
        self.world.halt()
        self.state = "halted"

    def post(self) -> None:
        """A message to a halted gateway."""
        talk = self.random.choice(self.talks)
        if talk.posted is None:
            word, position = self._word(), self.gateway.position
            self.tell(f"{talk.lane.chat} says {word} to the halted gateway")
            sent = self.senders.submit(self.gateway.send, talk.lane.chat, word, user=talk.lane.user)
            talk.posted = word, position, sent

    def proceed(self) -> None:
        """It takes what was sent meanwhile."""
        self.tell("the gateway goes on")
        self.gateway.proceed()
        self.state = "running"
        for talk in self.talks:
            if talk.posted is not None:
                (word, position, sent), talk.posted = talk.posted, None
                sent.result()
                shown = self.gateway.reply(talk.lane.chat, position, user=talk.lane.user, expect=word).words
                self._check(talk, [word], shown)


def _words(rows: list[tuple[Any, ...]]) -> list[str]:
    return [word for (text,) in rows for word in re.findall(r"\bW\d+\b", text or "")]
