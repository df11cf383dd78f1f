"""What layer 3 needs of an embedder and of a vector store.

HermesTuiError              hermes_tui.errors
├── EmbedderUnavailable     texts cannot be turned into vectors now
│   └── EmbedderRefused     these texts never can
└── VectorStoreUnavailable  points cannot be kept or found now
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Protocol

from msgspec import Struct

from hermes_tui.errors import HermesTuiError

__all__ = [
    "Embedder",
    "EmbedderRefused",
    "EmbedderUnavailable",
    "MemoryPoint",
    "RecalledMemory",
    "VectorStore",
    "VectorStoreUnavailable",
]

Vector = Sequence[float]


class EmbedderUnavailable(HermesTuiError):
    """Texts cannot be turned into vectors: the embedder is not there, does not answer, or answers something else."""

    code = "EMBEDDER_UNAVAILABLE"


class EmbedderRefused(EmbedderUnavailable):
    """The embedder answers that it does not take what it was given: trying the same again is of no use."""


class VectorStoreUnavailable(HermesTuiError):
    """Points cannot be kept or found: the store is not there, does not answer, or refuses."""

    code = "VECTOR_STORE_UNAVAILABLE"


class MemoryPoint(Struct, frozen=True, kw_only=True):
    """A message as long-term memory keeps it, without its vector."""

    id: str
    """A UUID: the same point again replaces itself."""
    agent_id: str
    session_id: str
    role: str
    """As Hector's points have it: `user`, `agent`, `system` …"""
    content: str
    timestamp: int
    """Seconds since 1970; 0 for one that Hector itself wrote without."""
    message_index: int = 0
    """Tells those of one second apart: later ones have larger numbers."""

    @property
    def time(self) -> datetime | None:
        """When it was kept, UTC; None where that is not known."""
        try:
            return datetime.fromtimestamp(self.timestamp, UTC) if self.timestamp else None
        except (OverflowError, ValueError, OSError):  # others write into these stores too, and may write any number
            return None


class RecalledMemory(Struct, frozen=True):
    """A point that was found."""

    point: MemoryPoint
    score: float
    """Cosine of the angle to the question: 1 for the same direction."""


class Embedder(Protocol):
    """Turns texts into vectors. Safe to use from many threads."""

    @property
    def name(self) -> str:
        """Which model, for people."""

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, all of one length. Raises `EmbedderUnavailable`."""


class VectorStore(Protocol):
    """Keeps points with vectors. Whatever is asked names agent and session. Safe to use from many threads."""

    @property
    def label(self) -> str:
        """Where it is, for people; never with a password."""

    def upsert(self, points: Sequence[tuple[MemoryPoint, Vector]]) -> None:
        """Keep all of these or none; what has the id of one of them is replaced. The first call decides how long
        vectors are. Raises `VectorStoreUnavailable`."""

    def search(self, agent_id: str, session_id: str, vector: Vector, k: int) -> list[RecalledMemory]:
        """The `k` points of this agent and session that are nearest, the nearest first; none where nothing was ever
        kept. Raises `VectorStoreUnavailable`."""

    def points(self, agent_id: str, session_id: str, limit: int = 100) -> list[MemoryPoint]:
        """Points of this agent and session, the newest first. Raises `VectorStoreUnavailable`."""

    def count(self, agent_id: str, session_id: str | None = None) -> int:
        """How many points an agent has, in a session or at all. Raises `VectorStoreUnavailable`."""

    def delete(self, agent_id: str, session_id: str) -> None:
        """Forget a session of an agent. Raises `VectorStoreUnavailable`."""

    def close(self) -> None:
        """Write what is left, and give everything back."""
