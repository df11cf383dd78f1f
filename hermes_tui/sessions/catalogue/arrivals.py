"""Notices that an agent begins to have sessions here.

Where there is nothing yet the system notifies of nothing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable

from hermes_tui.sessions.catalogue.snapshot import AgentPlace
from session_adapters.base import Environment
from session_adapters.presence import may_have_sessions

__all__ = ["Arrivals"]


class Arrivals:
    """Cheap enough to be asked every second: some dozens of `stat`."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._above = (
            environment.home,
            environment.path("XDG_CONFIG_HOME", ".config"),
            environment.path("XDG_DATA_HOME", ".local", "share"),
            environment.path("XDG_STATE_HOME", ".local", "state"),
        )
        """Where most agents have their folders."""
        self._changed: list[int] = []
        """When something was last made or taken away there."""
        self._told: set[str] = set()

    def since(self, places: Iterable[AgentPlace]) -> Collection[str]:
        """Paths that were not there when `places` were looked at; each is told once. `/`: somewhere."""
        known = list(places)
        found = {
            str(root.path)
            for place in known
            for root in place.roots
            if not root.exists and os.path.lexists(root.path)
        }
        before, self._changed = self._changed, [_changed(path) for path in self._above]
        if self._changed != before:
            absent = [place.agent for place in known if not place.roots]
            if any(may_have_sessions(agent, self._environment) for agent in absent):
                found.add("/")
                self._told.discard("/")
        new = found - self._told
        self._told = found
        return new


def _changed(path: os.PathLike[str]) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - asked for every second
    except OSError:
        return 0
