"""Says which sessions a server may show, and which one asks."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from hermes_tui.attention.panes import parents_of
from hermes_tui.errors import ValidationError
from hermes_tui.sessions.catalogue.options import ListOptions, matches
from hermes_tui.sessions.manager import SessionManager
from session_adapters.model import SessionSummary

__all__ = ["AskingSession", "Scope"]

_RECENT = timedelta(minutes=10)
"""A session that was active within this time may be the one that asks."""


@lru_cache(maxsize=4096)
def _real(path: str) -> str:
    """A directory however it is spelled; sessions share few."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # a NUL in a path from a transcript
        return os.path.normpath(path)


class AskingSession(NamedTuple):
    """The session whose agent started this server."""

    unified_id: str
    how: str
    """How it was recognised."""


class Scope:
    """What may be seen of a manager's sessions."""

    def __init__(
        self,
        manager: SessionManager,
        *,
        cwd: Path | None = None,
        since: datetime | date | None = None,
        directory: Path | None = None,
        ancestors: Sequence[int] | None = None,
    ) -> None:
        """Only sessions that were started in `cwd` or below it, and `since` then. `directory` is where the server
        runs and `ancestors` are the processes that started it; None: this process's own. Raises `ValidationError`."""
        self._manager = manager
        try:
            self._cwd = None if cwd is None else os.path.realpath(cwd)
        except OSError as error:
            raise ValidationError(f"{str(cwd)!r} is no directory: the working directory is gone") from error
        self._options = ListOptions(since=since, limit=None)
        self._directory = ""
        with suppress(OSError):  # removed since: then no session is known by where it runs
            self._directory = os.path.realpath(directory or Path.cwd())
        self._ancestors = ancestors
        self.client = ""
        """As the client names itself."""

    @property
    def restricts(self) -> bool:
        """Whether the options leave any session out."""
        return self._cwd is not None or self._options != ListOptions(limit=None)

    def asking(self) -> AskingSession | None:
        """The session that asks: the one that a process above this one has open, else the latest of the client's
        agent in this directory, if it was active just now. Waits for a look at the stores that is under way."""
        processes = self._manager.catalogue.processes
        ancestors = self._ancestors
        if ancestors is None:
            ancestors = parents_of(Path("/proc"), os.getpid())
        for pid in ancestors:
            for unified, live in processes.items():
                if live.pid == pid:
                    return AskingSession(unified, f"process {pid}, which started this server, has it open")
        agent = next((name for name in self._manager.agents if name in self.client.lower()), None)
        now = datetime.now(UTC)
        for one in self._manager.catalogue.snapshot.sessions:  # newest first
            if one.updated_at < now - _RECENT:
                break
            may_ask = one.agent == agent and one.kind != "subagent" and not one.gone
            if may_ask and one.cwd and _real(one.cwd) == self._directory:
                return AskingSession(one.unified_id, f"the latest of {agent} in this directory, active just now")
        return None

    def sees(self, one: SessionSummary) -> bool:
        """Whether the options let a session be shown."""
        if not matches(one, self._options):
            return False
        if self._cwd is None:
            return True
        return bool(one.cwd) and Path(_real(one.cwd or "")).is_relative_to(self._cwd)

    def hidden_with(self, asking: AskingSession | None) -> Collection[str]:
        """Native ids, after the agent's name, of what belongs to the conversation that asks."""
        if asking is None:
            return ()
        agent, _, session_id = asking.unified_id.partition(":")
        one = self._manager.catalogue.summary(agent, session_id)
        return {f"{agent}:{name}" for name in (session_id, one.lineage_id if one is not None else None) if name}
