"""Notices that an agent begins to have sessions here.

Where there is nothing yet the system notifies of nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable

from hermes_tui.sessions.catalogue.snapshot import AgentPlace
from session_adapters.base import Environment

__all__ = ["Arrivals"]


_SHARE = 100
"""A look at all that lies in the home that took one second of the processor is followed by so many without one."""


class Arrivals:
    """Cheap enough to be asked every second: some dozens of `stat`."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        working = environment.variables.get("PWD", "")
        above = (
            environment.home,
            environment.path("XDG_CONFIG_HOME", ".config"),
            environment.path("XDG_DATA_HOME", ".local", "share"),
            environment.path("XDG_STATE_HOME", ".local", "state"),
            environment.home / "Library" / "Application Support",
        )
        self._above = [*map(str, above), *([working] if working.startswith("/") else ())]
        """Where most agents have their folders."""
        self._changed: list[int] = []
        """When something was last made or taken away there."""
        self._next = 0.0
        self._told: set[tuple[str, bool]] = set()
        """Paths, and whether there is a folder."""

    def since(self, places: Iterable[AgentPlace]) -> Collection[str]:
        """Paths that were not there when `places` were looked at; each is told once. `/`: somewhere."""
        from session_adapters.presence import PLACES, may_have_sessions, names_at_home  # no first picture needs it

        known = list(places)
        missing = [str(root.path) for place in known for root in place.roots if not root.exists]
        there = {(path, os.path.isdir(path)) for path in missing if os.path.exists(path)}  # noqa: PTH110, PTH112
        found = {path for path, _ in there - self._told}
        self._told = there
        changed = [_changed(path) for path in self._above]
        if changed != self._changed and time.monotonic() >= self._next:
            self._changed = changed
            began = time.thread_time()
            names = names_at_home(self._environment)
            absent = [place.agent for place in known if not place.roots and place.agent in PLACES]
            if any(may_have_sessions(agent, self._environment, lambda _: names) for agent in absent):
                found.add("/")
            self._next = time.monotonic() + _SHARE * (time.thread_time() - began)
        return found


def _changed(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - asked every second
    except OSError:
        return 0
