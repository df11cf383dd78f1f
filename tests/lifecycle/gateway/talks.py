"""What random steps remember of a lane of a real gateway."""

from __future__ import annotations

import re
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from hermes_tui.lifecycle.operations.plan import Plan
from hermes_tui.lifecycle.operations.verify import Outcome
from lifecycle.real_world import RealLane, RealWorld

__all__ = ["Applied", "Talk", "active_words", "lane_words", "tell", "words_in"]


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


def words_in(rows: list[tuple[Any, ...]]) -> list[str]:
    """The words `W<number>` of texts, in their order."""
    return [word for (text,) in rows for word in re.findall(r"\bW\d+\b", text or "")]


def active_words(world: RealWorld, session_id: str) -> list[str]:
    """Of the user, in that session's context."""
    statement = "SELECT content FROM messages WHERE session_id = ? AND role = 'user' AND active ORDER BY id"
    return words_in(world.sql(statement, session_id))


def lane_words(lane: RealLane) -> list[str]:
    """Of the user, in all sessions of the lane."""
    statement = "SELECT content FROM messages m JOIN sessions s ON s.id = m.session_id WHERE s.session_key = ?"
    return words_in(lane.world.sql(f"{statement} AND role = 'user'", lane.key))


def tell(words: str) -> None:
    """What is done: shown of a sequence that failed."""
    print(f"{time.time():.2f} {words}")
