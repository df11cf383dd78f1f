"""The state of a session, judged by all the signs there are of it.

A sign is what one source says: the session's own record, the process that has it open, the title of its terminal.
Each allows some steps; the freshest decides, and where it allows several the next one chooses among them. Nothing is
guessed: a record that says `working` while nobody can tell whether a process runs is not `sure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import inf
from typing import Literal, get_args

import msgspec

from session_adapters.activity import Activity, Step
from session_adapters.base import Liveness
from session_adapters.model import JsonRecord

__all__ = [
    "BROKEN",
    "GROUPS",
    "NEEDS",
    "RUNS",
    "STATES",
    "STUCK_AFTER",
    "SessionState",
    "Sign",
    "StateEvidence",
    "StateName",
    "judge",
]

StateName = Literal["working", "approval", "question", "done", "idle", "limited", "stuck", "failed", "gone"]
"""How a session is. `done`: finished since a person last looked. `stuck`: at work, and silent for long. `gone`: its
process ended in the middle of a turn. The others as `Step` says."""

STATES: tuple[StateName, ...] = get_args(StateName)

NEEDS: tuple[StateName, ...] = ("approval", "question", "stuck", "failed", "limited", "gone", "done")
"""States that need a person, the most urgent first."""

GROUPS = ("need you", "working", "stuck", "at rest")
"""The headings that sessions stand under, in this order."""

STUCK_AFTER = timedelta(minutes=5)
"""Silence after which work counts as stuck, where the settings say nothing else."""

RUNS: frozenset[Step] = frozenset(("working", "approval", "question"))
"""Steps that a process is at: without one they cannot go on."""

BROKEN: frozenset[StateName] = frozenset(("failed", "limited", "gone"))
"""States in which a turn was left without an answer."""

_RESTS: frozenset[Step] = frozenset(get_args(Step)) - RUNS

_LIKELY: tuple[Step, ...] = ("working", "approval", "question", "idle", "done", "failed", "limited")
"""What is said of several steps where nothing tells which."""


class Sign(msgspec.Struct, frozen=True, kw_only=True):
    """What one source says."""

    source: str
    """`record`, `process` or `title`."""
    steps: frozenset[Step]
    """What it allows."""
    at: datetime | None
    """When it came to say so; None: nobody knows."""
    words: str
    """The evidence, as a person reads it."""


class StateEvidence(JsonRecord, frozen=True):
    """A sign, as it is shown."""

    source: str
    words: str
    at: datetime | None = None
    contradicts: bool = False
    """It says something else than the state that was judged."""


class SessionState(JsonRecord, frozen=True):
    """How a session is now, and why it is thought so."""

    state: StateName
    sure: bool = True
    """False: no sign can tell (`working?`)."""
    since: datetime | None = None
    tool: str = ""
    """What runs, or waits for leave."""
    text: str = ""
    """Its command, the question, the error, the prompt that is being answered, an answer's last line; one line."""
    until: datetime | None = None
    """When a limit ends, where that is recorded."""
    pid: int | None = None
    evidence: tuple[StateEvidence, ...] = ()

    @property
    def word(self) -> str:
        """As it is shown: with a question mark where it is not sure."""
        return self.state if self.sure else f"{self.state}?"

    @property
    def needs_person(self) -> bool:
        """Whether somebody should look."""
        return self.state in NEEDS

    @property
    def group(self) -> str:
        """The one of `GROUPS` that it stands in."""
        if self.state in ("working", "stuck"):
            return self.state
        return "need you" if self.needs_person else "at rest"


def judge(
    activity: Activity,
    live: Liveness | None,
    *,
    title: Sign | None = None,
    changed: datetime | None,
    now: datetime,
    unread: bool = False,
    can_tell: bool = True,
    may_wait: bool = False,
    started: datetime | None = None,
    stuck_after: timedelta = STUCK_AFTER,
) -> SessionState:
    """The state of one session.

    `activity`: what its record says. `live`: the process that has it open; with `can_tell` False none that is found
    does not mean that there is none. With `may_wait` a record of work may hide that it waits for leave.
    `started`: when that process did; it cannot be at what was begun before.
    `title`: what the title of its terminal says. `changed`: when its store last changed; `unread`: it did since a
    person looked. Times are aware.
    """
    hides = may_wait and activity.step == "working"
    allowed: frozenset[Step] = frozenset((activity.step, "approval")) if hides else frozenset((activity.step,))
    record = Sign(source="record", steps=allowed, at=activity.since, words=activity.record)
    signs = [record]
    if live is not None:
        why = f" ({live.waits_for})" if live.waits_for else ""
        # A process of another container writes the number that it has there, which is none here.
        who = f"process {live.pid}" if live.pid else "a process that is not listed here"
        words = f"{who} says {live.status}{why}" if live.steps else f"{who} has it open"
        sign = Sign(source="process", steps=live.steps, at=live.since, words=words)
        # A session that was resumed is not at what was asked before its process began.
        began = activity.since
        if not live.steps and activity.step in RUNS and began and started and started > began:
            sign = Sign(source="process", steps=_RESTS, at=started, words=f"{words}, and was started after that")
        signs.append(sign)
    if title is not None and live is not None:
        signs.append(title)
    step, clear = _decide(signs, activity.step, trusts_title=live is None or not live.steps)
    # A tool that was given leave writes nothing until it ends: silent it is since then, not since it asked.
    said = (changed, activity.since, *(sign.at for sign in signs if step in sign.steps))
    last = max((at for at in said if at is not None), default=None)
    silent = last is not None and now - last >= stuck_after
    is_kept = activity.kept and step == activity.step
    state, sure = (step, True) if is_kept else _settled(step, live, can_tell=can_tell, unread=unread, silent=silent)
    sure = sure and (clear or state == "gone")
    same = step == activity.step
    evidence = [
        StateEvidence(
            source=sign.source, words=sign.words, at=sign.at, contradicts=bool(sign.steps) and step not in sign.steps
        )
        for sign in signs
    ]
    if live is None and can_tell and step in RUNS and not is_kept:
        evidence.append(StateEvidence(source="process", words="no process has the session open"))
    return SessionState(
        state=state,
        sure=sure,
        since=activity.since if same else _since(signs, step, record),
        tool=activity.tool if step in RUNS else "",
        text=activity.text if same or (step in RUNS and activity.step in RUNS) else "",
        until=activity.until,
        pid=(live.pid or None) if live is not None else None,
        evidence=tuple(evidence),
    )


def _settled(
    step: Step, live: Liveness | None, *, can_tell: bool, unread: bool, silent: bool
) -> tuple[StateName, bool]:
    """The state that a step comes to, and whether that is sure."""
    if step in RUNS and live is None:
        return ("gone" if can_tell or silent else "working"), can_tell
    if step == "working" and silent:
        return "stuck", True
    if step == "done" and not unread:
        return "idle", True
    return step, True


def _since(signs: Sequence[Sign], step: Step, record: Sign) -> datetime | None:
    """Since when one says so; of a title that said so at first sight since the call or the prompt."""
    told = next((sign.at for sign in reversed(signs) if step in sign.steps and sign.at is not None), None)
    return told or (record.at if step in RUNS and record.steps <= RUNS else None)


def _decide(signs: Sequence[Sign], recorded: Step, *, trusts_title: bool) -> tuple[Step, bool]:
    """The step that the freshest sign allows, the record's own where it is among those; and whether that is clear:
    not where a call may wait for leave as well, nor where the sign denies the record and leaves several steps."""

    def fresh(sign: Sign) -> float:
        # Since when a title says what it said at first, nobody knows: what the process itself says goes before it.
        if sign.at is None:
            return inf if sign.source == "title" and trusts_title else 0.0
        return sign.at.timestamp()

    told = sorted((sign for sign in signs if sign.steps), key=fresh, reverse=True)
    allowed = told[0].steps
    for sign in told[1:]:
        allowed = (allowed & sign.steps) or allowed
    if recorded in allowed:
        return recorded, recorded != "working" or "approval" not in allowed
    step = next(step for step in _LIKELY if step in allowed)
    return step, len(allowed) == 1 or not allowed & RUNS
