"""Hector's three layers of memory: sessions, working memory, long-term memory.

Format: spec 001; facts agentmux_hector.md, part 2.

    MemoryService                 saves a turn, recalls, shuts down
    ├── SessionService            layer 1: messages in SQL (`sql`), or in memory
    ├── WorkingMemoryStrategy     layer 2: what of them the agent sees (`working`)
    └── LongTermMemory            layer 3: what was said, found by its meaning (`longterm`)
    MemoryComponents              all of it by Hector's own YAML (`configuration`)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_tui.memory.components import MemoryComponents
    from hermes_tui.memory.configuration import (
        AgentMemory,
        MemoryConfiguration,
        read_configuration,
        zero_configuration,
    )
    from hermes_tui.memory.longterm.batches import MemoryBatches
    from hermes_tui.memory.longterm.embedders import OllamaEmbedder, OpenAIEmbedder
    from hermes_tui.memory.longterm.memory import LongTermMemory
    from hermes_tui.memory.longterm.pgvector import PgVectorStore
    from hermes_tui.memory.longterm.protocols import (
        Embedder,
        EmbedderUnavailable,
        MemoryPoint,
        RecalledMemory,
        VectorStore,
        VectorStoreUnavailable,
    )
    from hermes_tui.memory.longterm.qdrant_embedded import EmbeddedQdrant
    from hermes_tui.memory.longterm.qdrant_server import QdrantServer
    from hermes_tui.memory.longterm.static_embedder import StaticEmbedder
    from hermes_tui.memory.message import HectorMessage
    from hermes_tui.memory.service import MemoryService, SavedTurn, SummaryNotSaved, worth_saving
    from hermes_tui.memory.session_service import HectorSession, InMemorySessionService, LoadOptions, SessionService
    from hermes_tui.memory.sql.postgres import PostgresDatabase
    from hermes_tui.memory.sql.service import SQLSessionService, migrate_store
    from hermes_tui.memory.sql.sqlite import SqliteDatabase
    from hermes_tui.memory.working.buffer_window import BufferWindow
    from hermes_tui.memory.working.history import ConversationHistory
    from hermes_tui.memory.working.strategy import WorkingMemoryStrategy
    from hermes_tui.memory.working.summary_buffer import SummaryBuffer
    from hermes_tui.memory.working.token_window import TokenWindow

_PLACES = {
    "AgentMemory": "configuration",
    "BufferWindow": "working.buffer_window",
    "ConversationHistory": "working.history",
    "EmbeddedQdrant": "longterm.qdrant_embedded",
    "Embedder": "longterm.protocols",
    "EmbedderUnavailable": "longterm.protocols",
    "HectorMessage": "message",
    "HectorSession": "session_service",
    "InMemorySessionService": "session_service",
    "LoadOptions": "session_service",
    "LongTermMemory": "longterm.memory",
    "MemoryBatches": "longterm.batches",
    "MemoryComponents": "components",
    "MemoryConfiguration": "configuration",
    "MemoryPoint": "longterm.protocols",
    "MemoryService": "service",
    "OllamaEmbedder": "longterm.embedders",
    "OpenAIEmbedder": "longterm.embedders",
    "PgVectorStore": "longterm.pgvector",
    "PostgresDatabase": "sql.postgres",
    "QdrantServer": "longterm.qdrant_server",
    "RecalledMemory": "longterm.protocols",
    "SQLSessionService": "sql.service",
    "SavedTurn": "service",
    "SessionService": "session_service",
    "SqliteDatabase": "sql.sqlite",
    "StaticEmbedder": "longterm.static_embedder",
    "SummaryBuffer": "working.summary_buffer",
    "SummaryNotSaved": "service",
    "TokenWindow": "working.token_window",
    "VectorStore": "longterm.protocols",
    "VectorStoreUnavailable": "longterm.protocols",
    "WorkingMemoryStrategy": "working.strategy",
    "migrate_store": "sql.service",
    "read_configuration": "configuration",
    "worth_saving": "service",
    "zero_configuration": "configuration",
}
"""Name → the module that has it; read when it is first asked for: none needs what only another does."""

__all__ = [
    "AgentMemory",
    "BufferWindow",
    "ConversationHistory",
    "EmbeddedQdrant",
    "Embedder",
    "EmbedderUnavailable",
    "HectorMessage",
    "HectorSession",
    "InMemorySessionService",
    "LoadOptions",
    "LongTermMemory",
    "MemoryBatches",
    "MemoryComponents",
    "MemoryConfiguration",
    "MemoryPoint",
    "MemoryService",
    "OllamaEmbedder",
    "OpenAIEmbedder",
    "PgVectorStore",
    "PostgresDatabase",
    "QdrantServer",
    "RecalledMemory",
    "SQLSessionService",
    "SavedTurn",
    "SessionService",
    "SqliteDatabase",
    "StaticEmbedder",
    "SummaryBuffer",
    "SummaryNotSaved",
    "TokenWindow",
    "VectorStore",
    "VectorStoreUnavailable",
    "WorkingMemoryStrategy",
    "migrate_store",
    "read_configuration",
    "worth_saving",
    "zero_configuration",
]


def __getattr__(name: str) -> object:
    if name in _PLACES:
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
