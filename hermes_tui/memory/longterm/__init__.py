"""Layer 3: what was said, found again by its meaning.

Format: spec 001 «Long-Term Memory».
"""

from hermes_tui.memory.longterm.memory import LongTermMemory
from hermes_tui.memory.longterm.protocols import (
    Embedder,
    EmbedderUnavailable,
    MemoryPoint,
    RecalledMemory,
    VectorStore,
    VectorStoreUnavailable,
)

__all__ = [
    "Embedder",
    "EmbedderUnavailable",
    "LongTermMemory",
    "MemoryPoint",
    "RecalledMemory",
    "VectorStore",
    "VectorStoreUnavailable",
]
