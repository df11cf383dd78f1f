"""Whom a session talks to."""

from __future__ import annotations

import msgspec

from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.source import SessionSource

__all__ = ["Peer"]


class Peer(msgspec.Struct, frozen=True):
    """Whom a session talks to, as its row says it."""

    source: str
    user_id: str | None
    chat_id: str | None
    chat_type: str | None
    thread_id: str | None

    @classmethod
    def of(cls, source: SessionSource) -> Peer:
        """The peer of messages from there."""
        return cls(source.platform, source.user_id, source.chat_id, source.chat_type, source.thread_id)

    @classmethod
    def of_entry(cls, entry: SessionEntry) -> Peer:
        """The peer of the lane's messages; of an entry without an origin only the platform is known."""
        return cls.of(entry.origin) if entry.origin else cls(entry.platform or "unknown", None, None, None, None)
