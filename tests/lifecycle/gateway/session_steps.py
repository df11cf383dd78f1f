"""Random operations on the sessions of lanes that a real gateway has, and what must hold of them."""

from __future__ import annotations

import random
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from hermes_tui.lifecycle.operations.plan import Plan, Request
from hermes_tui.lifecycle.operations.verify import Outcome
from hermes_tui.lifecycle.state_db.pruning import PruneFilter
from lifecycle.gateway.talks import Talk, active_words, lane_words, tell, words_in
from lifecycle.real_world import RealWorld

__all__ = ["SessionSteps"]

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
class Pruned:
    """Sessions that were pruned at once, as they were before."""

    outcome: Outcome
    rows: dict[str, dict[str, Any]]
    words: dict[str, list[str]]


class SessionSteps:
    """Operations on sessions, and their checks."""

    def __init__(self, world: RealWorld, dice: random.Random, talks: Sequence[Talk], count: Counter[str]) -> None:
        """`count` takes what was done."""
        self.world, self.random, self.talks, self.count = world, dice, talks, count
        self.stopped = False
        """No gateway runs."""
        self.deleted: set[str] = set()
        """Words that went with their sessions or out of them, and were not put back."""
        self._managed: list[Managed | Pruned] = []
        self._titles = 0

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
        row, words = self.world.row(session), active_words(self.world, session)
        current = talk.lane.session_id
        held = session in (current, talk.expected)
        if kind == "reopen" and (talk.by is not None or not current or not self._is_open(current)):
            return
        if held and kind != "rename" and (self.stopped or session != current):
            return
        self._titles += 1
        more: dict[str, Any] = {"title": f"Title {self._titles}"} if kind == "rename" else {}
        plan = self.world.operations.plan(Request(kind=kind, session=session, **more))
        words_said = f"{talk.lane.chat}: {kind} {session}"
        if held and kind != "rename":
            beside = ("has ended already", "has not ended", "has no messages")
            assert any(one in plan.refusal for one in (f"lane {talk.lane.key} is in it", *beside)), plan
        if plan.refusal:
            tell(f"{words_said} is refused: {plan.refusal}")
            self.count[f"refused {kind}"] += 1
            return
        every = self._every_word_in(session)
        outcome = self.world.operations.apply(plan)
        tell(f"{words_said} is {outcome.operation}, {outcome.state}")
        self.count[f"{plan.mode} {kind}"] += 1
        assert outcome.state == "done", outcome
        self._managed.append(Managed(plan, outcome, talk, row, words))
        after = self.world.row(session)
        if kind == "delete":
            assert (after, active_words(self.world, session)) == ({}, [])
        elif kind == "clear-messages":
            assert (after["id"], active_words(self.world, session)) == (session, [])
        else:
            assert active_words(self.world, session) == words
            wanted = {"rename": ("title", more.get("title")), "end": ("end_reason", "user_exit")}
            name, value = wanted.get(kind, ("ended_at", None))
            assert after[name] == value
        if kind in ("delete", "clear-messages"):
            assert self._every_word_in(session) == []
            self.deleted.update(every)

    def put_back(self) -> None:
        """The latest operation on a session is taken back, where nothing speaks against it."""
        if not self._managed:
            return
        one = self._managed.pop()
        if isinstance(one, Pruned):
            self._put_back_pruned(one)
            return
        session, kind, talk = one.plan.session_id, one.plan.request.kind, one.talk
        current = talk.lane.session_id
        opens = kind != "rename" and one.row["ended_at"] is None
        if opens and (talk.by is not None or not current or not self._is_open(current)):
            return  # its lane may go on there then, as with one that is opened again
        if kind != "rename" and session in (current, talk.expected):
            return
        plan = self.world.operations.undo(one.outcome.operation)
        if plan.refusal:
            tell(f"undo of {kind} {session} is refused: {plan.refusal}")
            self.count[f"refused undo of {kind}"] += 1
            return
        outcome = self.world.operations.apply(plan)
        tell(f"{talk.lane.chat}: {kind} {session} is taken back, {outcome.state}")
        self.count[f"{plan.mode} undo of {kind}"] += 1
        assert outcome.state == "done", outcome
        back = self.world.row(session)
        names = {"rename": ("title",), "end": ("ended_at", "end_reason"), "reopen": ("ended_at", "end_reason")}
        for name in names.get(kind, ("title", "ended_at", "end_reason", "session_key", "parent_session_id")):
            assert back[name] == one.row[name], name
        assert set(one.words) <= set(active_words(self.world, session)) or kind == "rename"
        self.deleted -= set(lane_words(talk.lane))

    def prune(self) -> None:
        """Delete sessions that fit random filters. Where no gateway runs, the sessions that lanes are in are left
        out, as of other operations; a running one's, Hermes' lanes keep them."""
        name, condition, value = self.random.choice(self._filters())
        wanted = PruneFilter(**{name: value}, source="bluebubbles")
        plan = self.world.operations.plan(Request(kind="prune-sessions", matching=wanted))
        statement = "SELECT id FROM sessions WHERE ended_at IS NOT NULL AND archived = 0 AND source = 'bluebubbles'"
        bound = datetime.fromisoformat(value).timestamp() if name == "older_than" else value
        fitting = {one for (one,) in self.world.sql(f"{statement} AND {condition}", bound)}
        current = {talk.lane.session_id for talk in self.talks}
        goes = {one.session_id for one in plan.changes.removed}
        words_said = f"prune {shlex.join(wanted.words)} of {sorted(fitting)}"
        assert goes == (fitting - current if not self.stopped else fitting), f"{words_said}: {plan}"
        promised = goes & {talk.expected for talk in self.talks}
        if plan.refusal:
            tell(f"{words_said} is refused: {plan.refusal}")
            self.count["refused prune"] += 1
            assert not goes or "waits for its next message" in plan.refusal, plan
            assert not goes or promised, plan
            return
        if goes & current or promised:
            return
        rows = {one: self.world.row(one) for one in goes}
        words = {one: self._every_word_in(one) for one in goes}
        kept = self._sessions() - goes
        outcome = self.world.operations.apply(plan)
        tell(f"{words_said} is {outcome.operation}, {outcome.state}")
        self.count[f"{plan.mode} prune of {len(goes)}"] += 1
        assert outcome.state == "done", outcome
        assert not goes & self._sessions() and kept <= self._sessions()
        assert not any(self._every_word_in(one) for one in goes)
        self._managed.append(Pruned(outcome, rows, words))
        self.deleted.update(word for found in words.values() for word in found)

    def _filters(self) -> list[tuple[str, str, Any]]:
        """Of a prune: the filter, what it means in SQL, and its value."""
        lane = self.random.choice(self.talks).lane
        chats = self.world.sql("SELECT chat_id FROM sessions WHERE session_key = ?", lane.key)
        (chat,) = chats[0] if chats else (lane.chat,)  # a lane's every session may have been deleted
        (reason,) = self.random.choice(
            self.world.sql("SELECT DISTINCT end_reason FROM sessions ORDER BY 1") or [("",)]
        )
        before = datetime.now() - timedelta(seconds=self.random.choice((5, 20, 60)))
        return [
            ("chat_id", "chat_id = ?", chat),
            ("end_reason", "end_reason = ?", reason or "user_exit"),
            ("max_messages", "message_count <= ?", self.random.choice((0, 2, 4))),
            ("older_than", "started_at < ?", before.isoformat()),
        ]

    def _put_back_pruned(self, one: Pruned) -> None:
        """As with one that is opened again: a lane goes on in one that ended by accident."""
        for row in one.rows.values():
            for talk in self.talks:
                current = talk.lane.session_id
                if talk.lane.key == row["session_key"] and (
                    talk.by is not None or not current or not self._is_open(current)
                ):
                    return
        plan = self.world.operations.undo(one.outcome.operation)
        if plan.refusal:
            tell(f"undo of {one.outcome.operation} is refused: {plan.refusal}")
            self.count["refused undo of prune"] += 1
            return
        outcome = self.world.operations.apply(plan)
        tell(f"{one.outcome.operation} is taken back, {outcome.state}")
        self.count[f"{plan.mode} undo of prune"] += 1
        assert outcome.state == "done", outcome
        assert {session: self.world.row(session) for session in one.rows} == one.rows
        assert {session: self._every_word_in(session) for session in one.rows} == one.words
        self.deleted.difference_update(word for found in one.words.values() for word in found)

    def _sessions(self) -> set[str]:
        return {one for (one,) in self.world.sql("SELECT id FROM sessions")}

    def _every_word_in(self, session_id: str) -> list[str]:
        statement = "SELECT content FROM messages WHERE session_id = ? AND role = 'user' ORDER BY id"
        return words_in(self.world.sql(statement, session_id))

    def _is_open(self, session_id: str) -> bool:
        return self.world.row(session_id).get("ended_at") is None
