"""An immutable view of all sessions at one moment."""

from __future__ import annotations

import msgspec

from session_adapters.base import Root
from session_adapters.model import Problem, SessionSummary

__all__ = ["AgentPlace", "Snapshot", "newest_first"]


class AgentPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where one agent's sessions were looked for."""

    agent: str
    label: str
    roots: tuple[Root, ...] = ()


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All sessions as last seen."""

    sessions: tuple[SessionSummary, ...] = ()
    """Newest `updated_at` first. Sessions that this process saw and that are gone since have `gone` set."""
    memories: tuple[SessionSummary, ...] = ()
    """What agents keep in mind beyond their sessions, in the same order: searches find it, no list shows it."""
    problems: tuple[Problem, ...] = ()
    """What could not be read, by agent and path."""
    places: tuple[AgentPlace, ...] = ()
    partial: int = 0
    """How many of the sessions have only been read at their ends."""
    unread: int = 0
    """New or changed files that there was no time to read yet: their sessions are missing, or as they were."""
    version: int = 0
    """One more whenever anything in the snapshot differs from the one before."""


def newest_first(summary: SessionSummary) -> tuple[float, str]:
    """Sort key: last activity, newest first; the unified id makes the order total."""
    return (-summary.updated_at.timestamp(), summary.unified_id)
