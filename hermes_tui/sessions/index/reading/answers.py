"""What the index answers with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from hermes_tui.sessions.index.source_state import Level, key_of
from session_adapters.base import Source

__all__ = ["Field", "Figures", "Hit", "IndexCoverage", "Key", "Known"]

Field = Literal["prose", "tool"]
Key = tuple[str, str, str]
Known = dict[Key, tuple[int, tuple[int, ...], Level, int]]
"""Number of the source, its stamp, its level, and the second up to which it is left alone."""


class Hit(NamedTuple):
    """A unit that a query found."""

    agent: str
    path: str
    source_id: str
    """`Source.session_id` of the source."""
    session_id: str
    message_id: str
    time: float
    """Seconds since the epoch; where the message has no time, that of the one before it or of the file."""
    role: str
    visibility: str
    field: Field
    row: int
    exact: bool = True
    """False where the index does not know all that was asked for."""
    number: int = 1
    """Units that it stands for."""


class Figures(NamedTuple):
    """How much there is in an index; see `service.Progress`."""

    sources: int
    prose: int
    everything: int
    failed: int
    left_out: int
    left_out_path: str
    messages: int


class IndexCoverage(NamedTuple):
    """How much of some sources the index answers for, as they are now."""

    generation: str
    levels: Mapping[Key, Level]
    """(agent, path, native id) → level; only those of which there is anything."""
    numbers: Mapping[int, Level]

    def level(self, source: Source) -> Level:
        """How much of `source` there is."""
        return self.levels.get(key_of(source), Level.NOTHING)
