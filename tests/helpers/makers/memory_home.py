"""A home of Hector's in which two agents keep long-term memory, for tests."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from hermes_tui.memory.longterm.protocols import MemoryPoint, VectorStore
from hermes_tui.memory.longterm.qdrant_embedded import EmbeddedQdrant
from hermes_tui.memory.longterm.static_embedder import StaticEmbedder

__all__ = ["KEPT", "fill", "with_long_term_memory"]

KEPT: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("assistant", "s1"): (
        "My name is Alice and I live in Lisbon.",
        "The staging database runs PostgreSQL 15.",
        "Thanks \x1b[31mvery\x1b[0m much.",
    ),
    ("assistant", "deploy-review"): ("The production database is MySQL 8.",),
    ("math_bot", "s1"): ("17 * 23 is 391.", "Alice wants a database of primes."),
}
"""By agent and session."""
_BEGAN = int(datetime(2026, 3, 1, 9, tzinfo=UTC).timestamp())
_CONFIGURATION = """
session_stores:
  default-session-store: {backend: sql, sql: {driver: sqlite, database: ./data/sessions.db}}
agents:
  assistant: {session_store: default-session-store, memory: {strategy: summary_buffer, budget: 2000, longterm: %s}}
  math_bot: {session_store: default-session-store, memory: {longterm: %s}}
  researcher: {session_store: default-session-store, memory: {strategy: summary_buffer, budget: 3000}}
"""


def fill(store: VectorStore) -> None:
    """Put `KEPT` into an empty store, a minute apart."""
    embedder = StaticEmbedder()
    texts = [(owner, text) for owner, all_ in KEPT.items() for text in all_]
    vectors = embedder.embed([text for _, text in texts])
    points = [
        MemoryPoint(
            id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{owner} {number}")),
            agent_id=owner[0],
            session_id=owner[1],
            role="user",
            content=text,
            timestamp=_BEGAN + 60 * number,
        )
        for number, (owner, text) in enumerate(texts)
    ]
    store.upsert(list(zip(points, vectors, strict=True)))


def with_long_term_memory(home: Path, longterm: str = "{}") -> Path:
    """Give a copy of the sample home a configuration with `longterm`; where that is the embedded one, fill it."""
    (home / "config.yaml").write_text(_CONFIGURATION % (longterm, longterm))
    (home / "config.yaml").chmod(0o600)
    if longterm == "{}":
        store = EmbeddedQdrant(home / "data" / "vectors")
        fill(store)
        store.close()
    return home
