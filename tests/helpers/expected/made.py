"""Made-up sessions for tests of what is shown; times count back from a fixed moment."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from session_adapters.model import SessionSummary

__all__ = ["NOW", "ago", "many", "session"]

NOW = datetime(2026, 11, 19, 12, 0, tzinfo=UTC)
"""A Thursday."""


def ago(minutes: float) -> datetime:
    """That many minutes before `NOW`."""
    return NOW - timedelta(minutes=minutes)


def session(session_id: str, minutes: float = 5, **fields: Any) -> SessionSummary:
    """A session whose last message is `minutes` old."""
    values: dict[str, Any] = {
        "agent": "claude",
        "session_id": session_id,
        "title": f"Title of {session_id}",
        "created_at": ago(minutes + 30),
        "updated_at": ago(minutes),
        "turn_count": 1,
    }
    return SessionSummary(**(values | fields))


def many(number: int) -> Iterable[SessionSummary]:
    """Sessions one minute apart, newest first."""
    return (session(f"s{index:05}", index, cwd=f"/home/dev/project{index % 7}") for index in range(number))
