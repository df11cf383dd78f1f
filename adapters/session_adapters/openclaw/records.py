"""The typed records of OpenClaw's sessions, beside events; what their keys say.

Format: stores/openclaw FACTS.md.

The events are those of Pi (`tree.records`). Around: an entry per session key, in `sessions.json` until 2026.3 and
in the column `entry_json` since; rows of `session_nodes` and `session_windows`; a lock file while a session runs; the
document's layout (spec 004 §4.2.9).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec import Struct

from session_adapters.reading.decoding import Decoder
from session_adapters.reading.sqlite_rows import LISTED_LIMIT, RowReader

__all__ = [
    "DOCUMENT",
    "ENTRY",
    "LOCK",
    "NODES",
    "WINDOWS",
    "ClawDocument",
    "ClawKey",
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


# Session keys -----------------------------------------------------------------------------------------------


_CHAT_TYPES = frozenset({"direct", "dm", "group", "channel"})
_OWN = frozenset({"main", "dashboard", "subagent", "cron", "hook", "acp"})
"""Not held in a channel: the key's first word says how they came about."""


class ClawKey(NamedTuple):
    """A session key, taken apart."""

    agent_id: str
    channel: str | None
    """telegram, discord …, where the key names one."""
    chat_type: str | None
    origin: str | None
    """main, dashboard, subagent, cron or hook."""

    @classmethod
    def of(cls, key: str) -> ClawKey:
        """`agent:<agent>:main`, `agent:<agent>:<channel>:(direct|group|channel):<id>[:topic:<n>]`,
        `agent:<agent>:subagent:<uuid>`, `cron:<job>` …"""
        words = key.split(":")
        agent_id = "main"
        if words[0] == "agent" and len(words) > 2:
            agent_id, words = words[1] or "main", words[2:]
        first = words[0]
        if len(words) > 2 and words[1] in _CHAT_TYPES:
            return cls(agent_id, first, "direct" if words[1] == "dm" else words[1], None)
        return cls(agent_id, None, None, first if first in _OWN else None)

    @property
    def is_subagent(self) -> bool:
        """The conversation of a helper that another session started."""
        return self.origin == "subagent"
