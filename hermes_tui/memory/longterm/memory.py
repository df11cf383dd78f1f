"""Long-term memory: embeds what was said, keeps it, and finds it again.

Format: spec 001 «Long-Term Memory».
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Sequence

from msgspec import Struct

from hermes_tui.memory.longterm.protocols import (
    Embedder,
    EmbedderUnavailable,
    MemoryPoint,
    RecalledMemory,
    VectorStore,
)
from hermes_tui.memory.message import HectorMessage
from session_adapters.text import scrub

__all__ = ["RECALL_LIMIT", "LongTermMemory", "MemoryStats"]

RECALL_LIMIT = 5
"""What a recall finds where nobody gives a number."""


class MemoryStats(Struct, frozen=True, kw_only=True):
    """What there is of an agent, or of one of its sessions."""

    points: int
    store: str
    embedder: str


class LongTermMemory:
    """Points of all agents in one vector store. Whatever is asked names the agent and the session."""

    def __init__(self, embedder: Embedder, vectors: VectorStore, *, clock: Callable[[], float] = time.time) -> None:
        self._embedder = embedder
        self._vectors = vectors
        self._clock = clock
        self._numbers = itertools.count()

    def store(self, agent_id: str, session_id: str, messages: Sequence[HectorMessage]) -> int:
        """Keep what these messages say, all of it or nothing; how many points that are. A message without text is
        none. Raises `EmbedderUnavailable` and `VectorStoreUnavailable`; the same messages can then be stored again,
        and are there once."""
        said = [one for one in messages if one.text.strip()]
        if not said:
            return 0
        now = int(self._clock())
        # The document takes a random id; a batch that is tried again would then be there twice.
        points = [
            MemoryPoint(
                id=str(
                    uuid.uuid5(uuid.NAMESPACE_OID, "\0".join((agent_id, session_id, one.message_id)))
                    if one.message_id
                    else uuid.uuid4()
                ),
                agent_id=agent_id,
                session_id=session_id,
                role=one.role.removeprefix("ROLE_").lower(),
                content=scrub(one.text),
                timestamp=now,
                message_index=next(self._numbers),
            )
            for one in said
        ]
        vectors = self._embedder.embed([scrub(one.text) for one in said])
        if len(vectors) != len(points):
            raise EmbedderUnavailable(
                f"The embedder {self._embedder.name} gave {len(vectors)} vectors for {len(points)} texts."
            )
        self._vectors.upsert(list(zip(points, vectors, strict=True)))
        return len(points)

    def recall(self, agent_id: str, session_id: str, query: str, k: int = RECALL_LIMIT) -> list[RecalledMemory]:
        """What this agent said and heard in this session that is nearest to `query`, the nearest first. Raises
        `EmbedderUnavailable` and `VectorStoreUnavailable`."""
        return self.recall_each([(agent_id, session_id)], query, k)[0]

    def recall_each(
        self, sessions: Sequence[tuple[str, str]], query: str, k: int = RECALL_LIMIT
    ) -> list[list[RecalledMemory]]:
        """The same for each of these (agent, session) by itself; the question is embedded once."""
        if k <= 0 or not query.strip():
            return [[] for _ in sessions]
        (vector,) = self._embedder.embed([scrub(query)])
        return [self._vectors.search(agent_id, session_id, vector, k) for agent_id, session_id in sessions]

    def newest(self, agent_id: str, session_id: str, limit: int = 100) -> list[MemoryPoint]:
        """What is kept of a session, the newest first. Raises `VectorStoreUnavailable`."""
        return self._vectors.points(agent_id, session_id, limit)

    def forget(self, agent_id: str, session_id: str) -> None:
        """Remove what is kept of a session. Raises `VectorStoreUnavailable`."""
        self._vectors.delete(agent_id, session_id)

    def stats(self, agent_id: str, session_id: str | None = None) -> MemoryStats:
        """How much there is, and where. Raises `VectorStoreUnavailable`."""
        return MemoryStats(
            points=self._vectors.count(agent_id, session_id), store=self._vectors.label, embedder=self._embedder.name
        )

    def close(self) -> None:
        """Give back what the vector store holds."""
        self._vectors.close()
