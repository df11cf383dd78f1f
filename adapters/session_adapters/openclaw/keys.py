"""Parses session keys: what OpenClaw calls a conversation, and its channel.

Format: stores/openclaw FACTS.md «Semantics».
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ClawKey"]

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
