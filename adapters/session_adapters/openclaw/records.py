"""The typed records that OpenClaw keeps about its sessions, beside events.

Format: stores/openclaw FACTS.md.

The events are those of Pi (`tree.records`). Around: an entry per session key, in `sessions.json` until 2026.3 and
in the column `entry_json` since; rows of `session_nodes` and `session_windows`; a lock file while a session runs; the
document's layout (spec 004 §4.2.9).
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from session_adapters.reading.files import Decoder
from session_adapters.reading.sqlite_rows import LISTED_LIMIT, RowReader

__all__ = [
    "DOCUMENT",
    "ENTRY",
    "LOCK",
    "NODES",
    "WINDOWS",
    "ClawDocument",
    "IndexEntry",
    "KeyNode",
    "RunLock",
    "TranscriptWindow",
]


class _Delivery(Struct, frozen=True):
    channel: Any = None
    provider: Any = None


class IndexEntry(Struct, frozen=True, rename="camel"):
    """What is known of a session key, without its transcript. Token counters are left out: they are of the last run
    alone, or stale (FACTS.md «Semantics»)."""

    session_id: str = ""
    updated_at: float | None = None
    session_file: str | None = None
    """Absolute, as it was when written."""
    label: str | None = None
    display_name: str | None = None
    auto_label: str | None = None
    model: str | None = None
    model_override: str | None = None
    status: str | None = None
    chat_type: str | None = None
    channel: str | None = None
    last_channel: str | None = None
    origin: _Delivery | None = None
    delivery_context: _Delivery | None = None
    spawned_by: str | None = None
    parent_session_key: str | None = None
    session_root: str | None = None
    spawned_cwd: str | None = None
    archived_at: float | None = None
    created_at: float | None = None
    estimated_cost_usd: float | None = None


class KeyNode(Struct, frozen=True):
    """A row of `session_nodes`: a session key."""

    session_key: str
    current_session_id: str
    entry_json: str | None
    status: str | None
    created_at: float | None
    created_via: str | None
    parent_session_key: str | None
    spawned_by: str | None
    fork_source_session_key: str | None
    fork_source_session_id: str | None
    fork_source_entry_id: str | None
    label: str | None
    display_name: str | None
    archived_at: float | None
    updated_at: float | None


class TranscriptWindow(Struct, frozen=True):
    """A row of `session_windows`: one of the transcripts that a key had over time, by rewinding or resetting."""

    session_id: str
    session_key: str
    previous_session_id: str | None
    reason: str | None
    created_at: float | None
    updated_at: float | None
    status: str | None
    chat_type: str | None
    channel: str | None
    model: str | None


class RunLock(Struct, frozen=True, rename="camel"):
    """`<id>.jsonl.lock`, there while a run writes, and after a crash."""

    pid: int = 0
    created_at: Any = None
    starttime: float | None = None
    """Field 22 of `/proc/PID/stat`: clock ticks since boot."""


class ClawDocument(Struct, frozen=True, rename="camel"):
    """A whole session in the document's layout; its messages are taken apart one by one."""

    id: Any = None
    channel: Any = None
    title: str | None = None
    model: str | None = None
    cwd: str | None = None
    created_at: Any = None
    updated_at: Any = None
    messages: list[Any] | None = None


ENTRY = Decoder(IndexEntry)
LOCK = Decoder(RunLock)
DOCUMENT = Decoder(ClawDocument)
NODES = RowReader(KeyNode, limit=LISTED_LIMIT)
WINDOWS = RowReader(TranscriptWindow, limit=LISTED_LIMIT)
