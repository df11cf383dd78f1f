"""Which changes of state a person is told of, and in which words."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from hermes_tui.attention.states import StateName
from hermes_tui.display import safe

if TYPE_CHECKING:
    from hermes_tui.attention.report import Attended, AttentionReport

__all__ = ["EVERY", "TOLD", "Alert", "Transitions", "alert_of"]

TOLD: frozenset[StateName] = frozenset(("approval", "question", "done", "failed", "limited", "stuck"))
"""States that a person is told of when a session comes into one."""
EVERY = 30.0
"""Seconds between two alerts of the same session and state."""
_LONGEST = 200
"""Characters of a text."""


class Alert(NamedTuple):
    """That a session came into a state. Texts are safe for a terminal, and short."""

    unified_id: str
    agent: str
    state: str
    title: str
    project: str
    """The last part of its directory."""
    since: datetime | None
    tool: str = ""
    """Empty, as `text` is, where words of transcripts are not to go out."""
    text: str = ""

    @property
    def heading(self) -> str:
        """`approval · shop`."""
        return f"{self.state} · {self.project or self.agent}"

    @property
    def body(self) -> str:
        """The title, and what it waits for where that may be said."""
        return " · ".join(part for part in (self.title, f"{self.tool} {self.text}".strip()) if part)

    @property
    def variables(self) -> Mapping[str, str]:
        """For a command of the user's."""
        named = {
            "SESSION": self.unified_id,
            "STATE": self.state,
            "TITLE": self.title,
            "PROJECT": self.project,
            "AGENT": self.agent,
            "SINCE": self.since.isoformat() if self.since is not None else "",
            "TOOL": self.tool,
            "TEXT": self.text,
        }
        return {f"HERMES_TUI_{name}": text for name, text in named.items()}


def alert_of(one: Attended, *, text: bool) -> Alert:
    """The alert of a session as it is now; with `text` also words of its transcript other than its title."""
    session, state = one.session, one.state
    project = (session.cwd or "").rstrip("/").rpartition("/")[2]
    return Alert(
        unified_id=_short(session.unified_id),
        agent=_short(session.agent),
        state=state.word,
        title=_short(one.lane or session.title) or "untitled",
        project=_short(project),
        since=state.since,
        tool=_short(state.tool) if text else "",
        text=_short(state.text) if text else "",
    )


def _short(text: str) -> str:
    return safe(text[: 2 * _LONGEST])[:_LONGEST]


class Transitions:
    """Finds who came into one of the states `TOLD` since the report before. What was so at the first is no news."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._began: float | None = None
        """When the first report came, seconds since the epoch."""
        self._states: dict[str, StateName] = {}
        """By unified id, the state that was told, or was no news."""
        self._told: dict[tuple[str, StateName], float] = {}
        """When a session's state was told last."""
        self._due: float | None = None

    @property
    def due(self) -> float | None:
        """Seconds after which a report is wanted, whether it says anything new or not: somebody waits to be told of.
        None: nobody does."""
        return self._due

    def of(self, report: AttentionReport) -> Sequence[Attended]:
        """Those of whom a person is to be told now. One that was told of lately waits for a later report, and is told
        of then if it still stands in that state."""
        now, found = self._now(), []
        self._began = None if self._began is None else min(self._began, now)  # the clock may be set back
        began = None if self._began is None else datetime.fromtimestamp(self._began, UTC)
        states: dict[str, StateName] = {}
        self._due = None
        for key, one in report.by_session.items():
            before, state = self._states.get(key), one.state.state
            states[key] = state
            if state == before or state not in TOLD:
                continue
            since = one.state.since
            if before is None and since is not None and began is not None and since < began:
                continue  # it was so before the first report, and only now found
            passed = now - self._told.get((key, state), 0.0)
            if 0 <= passed < EVERY:
                states[key] = before or "idle"  # as if it had not come into it yet: a later report tells of it
                self._due = min(EVERY - passed, EVERY if self._due is None else self._due)
            else:
                self._told[key, state] = now
                found.append(one)
        self._states = states
        self._told = {which: at for which, at in self._told.items() if 0 <= now - at < EVERY}
        if self._began is None:
            self._began = now
            return ()
        return found
