"""Saves the list for the next run: when it is written, and what is shown first.

For one thread at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from hermes_tui.sessions.catalogue import cache
from hermes_tui.sessions.catalogue.agent import AgentSessions
from hermes_tui.sessions.catalogue.snapshot import newest_first
from hermes_tui.sessions.marks import OwnMarks
from session_adapters.model import Problem

__all__ = ["SavedList"]

_SAVE_EVERY = 60.0  # seconds between two writes of the file while sessions keep changing


class SavedList:
    """Owns the list's cache file."""

    def __init__(self, path: Path | None, *, of_all: bool) -> None:
        """`path` None: nothing is kept. `of_all`: every agent that is installed is read."""
        self._path = path
        self._of_all = of_all
        self._picture: cache.FirstPicture | None = None
        self.is_loaded = False
        """The file was read, or there is none."""
        self._is_outdated = False
        self.problem: Problem | None = None
        """Why nothing could be written."""
        self._sums: Callable[[], bytes] | None = None
        self._saved_at: float | None = None

    @property
    def picture(self) -> cache.FirstPicture:
        """What was shown before this process; of agents that were not looked at since it is the latest there is."""
        if self._picture is None:
            self._picture = (cache.load_picture(self._path) if self._path else None) or cache.FirstPicture()
        return self._picture

    def load(self, agents: Collection[str]) -> Iterator[cache.CachedSource]:
        """What each source held then, of other agents than these as well; once."""
        self.is_loaded = True
        found = False
        picture = self._picture or cache.FirstPicture()
        for entry in cache.load(self._path, picture, self.outdate) if self._path else ():
            found = found or entry.source.agent in agents
            yield entry
        if self._picture is not None and not self._picture.sessions:
            self._is_outdated = self._is_outdated or found  # the picture is lost, or there was none yet

    @property
    def sums(self) -> bytes:
        """What was last added up of the calls, by this process or an earlier one; see `Catalogue.keep`."""
        if self._sums is not None:
            return self._sums()
        return cache.load_sums(self._path) if self._path is not None else b""

    def keep(self, sums: Callable[[], bytes]) -> None:
        """Have these written beside the calls that were read: at once the first time. They are made when the file is
        written: for each line that an agent adds they need not be."""
        if self._sums is None:
            self.hurry()
        self._sums, self._is_outdated = sums, True

    def outdate(self) -> None:
        """Something in the list is different from what was saved."""
        self._is_outdated = True

    def hurry(self) -> None:
        """Write at the next opportunity, however short a time ago that was."""
        self._saved_at = None

    def save_if_due(
        self, entries: Callable[[], list[cache.CachedSource]], picture: Callable[[], cache.FirstPicture]
    ) -> None:
        """Write it where something is to be written, though not too often; what is wrong is in `problem`."""
        now = time.monotonic()
        if not self._is_outdated or self._path is None:
            return
        if self._saved_at is not None and now - self._saved_at < _SAVE_EVERY:
            return
        self._saved_at = now
        try:
            cache.save(self._path, entries(), picture(), self.sums)
            self.problem, self._is_outdated = None, False  # else tried again: there may be room then
        except OSError as error:
            reason = f"the list of sessions cannot be kept for the next start: {error.strerror or error}"
            self.problem = Problem(agent="hermes-tui", path=str(self._path), reason=reason)

    def new_picture(
        self,
        agents: Collection[AgentSessions],
        label: Callable[[str], tuple[str, str]],
        marks: Mapping[str, OwnMarks],
    ) -> cache.FirstPicture:
        """What is shown now, without processes; agents that this process did not look at are as they were."""
        old = self.forget_old(agents)
        looked = [state for state in agents if state.place is not None]
        sessions = [*old.sessions, *(one for state in looked for one in state.related if one.kind != "memory")]
        labels = dict(old.labels) | {state.agent: label(state.agent) for state in looked}
        shown = tuple(sorted(sessions, key=newest_first)[: cache.PICTURED])
        marked = {one.unified_id: marks[one.unified_id] for one in shown if one.unified_id in marks}
        return cache.FirstPicture(sessions=shown, left=len(sessions) - len(shown), labels=labels, marks=marked)

    def forget_old(self, agents: Collection[AgentSessions]) -> cache.FirstPicture:
        """Drop from the old picture what this process looked at itself, and agents that are not installed any more;
        what is left of it."""
        looked = {state.agent for state in agents if state.place is not None}
        if self._picture is None and self._path and self._of_all and len(looked) == len(agents):
            self._picture = cache.load_labels(self._path)
        old, names = self.picture, {state.agent for state in agents}
        left = tuple(
            one for one in old.sessions if one.agent not in looked and (not self._of_all or one.agent in names)
        )
        if len(left) != len(old.sessions):
            self._picture = cache.FirstPicture(sessions=left, labels=old.labels)
        return self.picture

    def forget_shown(self, agents: Collection[AgentSessions]) -> None:
        """The same where there is an old picture in memory; else nothing is read for it."""
        if self._picture is not None:
            self.forget_old(agents)
