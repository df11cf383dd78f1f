"""The program's sessions by where they are, as a search asks for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from hermes_tui.sessions.index.reading.reader import IndexCoverage
from hermes_tui.sessions.query.filters import SessionFilter
from hermes_tui.sessions.search.titles import Titles
from session_adapters.base import Adapter, Source
from session_adapters.model import Problem, SessionSummary

__all__ = ["Place", "SourceSessions", "Stores"]

Place = tuple[str, str, str, str]
"""Agent, path and native id of a source, native id of a session."""


class SourceSessions(NamedTuple):
    """A source and the sessions in it."""

    source: Source
    sessions: tuple[SessionSummary, ...]
    """As the list shows them: with their relations."""
    whole: bool
    """It holds no others."""
    named: str = ""
    """Native id that the source has for its only session, where the list has another."""
    cut: bool = False
    """The list of its sessions had to be cut: there are more than anybody has."""


class Stores(Protocol):
    """What a hunt needs of the program, as of one moment."""

    sessions: tuple[SessionSummary, ...]
    """The newest first."""
    sources: tuple[Source, ...]
    """Where they are."""
    unread: tuple[Problem, ...]
    """Why the list lacks sessions of some sources, or all."""

    def shelves(self) -> Sequence[SourceSessions]:
        """Every source with its sessions, the newest first."""

    @property
    def titles(self) -> Titles[SessionSummary]:
        """All titles, as they are searched."""

    def verdicts(self, condition: SessionFilter) -> Sequence[bool]:
        """Which of the sessions pass a filter."""

    @property
    def by_place(self) -> Mapping[Place, SessionSummary]:
        """The session that is in a place."""

    @property
    def answering(self) -> Sequence[SourceSessions]:
        """Those with an index of their own."""

    def uncovered(self, coverage: IndexCoverage) -> Sequence[SourceSessions]:
        """Those for which our index does not answer in full."""

    def adapter(self, agent: str) -> Adapter:
        """Raises `AdapterBroken`."""
