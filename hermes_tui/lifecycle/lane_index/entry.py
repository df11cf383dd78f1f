"""A lane's record: its session, and the flags that decide its next message.

Hermes keeps the same JSON object in the table `gateway_routing` (column `entry_json`) and in the mirror
`sessions/sessions.json` (spec 002 section 2). Times in it are local and without a zone; see `moments`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hermes_tui.errors import EntryError
from hermes_tui.lifecycle.lane_index.fields import Fields, decode_object
from hermes_tui.lifecycle.source import SessionSource

__all__ = ["SessionEntry", "check_session_id", "check_session_key"]

_MODEL_KEYS = ("model", "provider", "base_url")
"""What of a model override may be on disk: never a key of the provider."""
_DRIVE = re.compile(r"[^\W\d_]:")


class SessionEntry(Struct, frozen=True, kw_only=True):
    """One lane. Change it with `changed`; write it with `to_dict`."""

    session_key: str
    """The lane's name, see `keys`."""
    session_id: str
    """The conversation that the lane is in."""
    created_at: datetime
    """When this conversation began on the lane; local, without a zone."""
    updated_at: datetime
    """Last activity; local, without a zone. Resets are counted from it."""
    origin: SessionSource | None = None
    display_name: str | None = None
    platform: str | None = None
    """Decides over the policy where the origin is not known."""
    chat_type: str = "dm"
    input_tokens: int = 0
    """Practically always 0 today, like the other totals: take tokens from the session's row."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    total_tokens: int = 0
    last_prompt_tokens: int = 0
    """Size of the last prompt, in tokens; above 0 the lane counts as having had activity."""
    estimated_cost_usd: float = 0.0
    cost_status: str = "unknown"
    expiry_finalized: bool = False
    """The expired conversation has been closed down already."""
    suspended: bool = False
    """The next message begins a new conversation, whatever else is set."""
    resume_pending: bool = False
    """A restart interrupted a turn here; the conversation goes on while the mark is fresh."""
    resume_reason: str | None = None
    """restart_timeout, shutdown_timeout, restart_interrupted."""
    last_resume_marked_at: datetime | None = None
    """Local, without a zone."""
    is_fresh_reset: bool = False
    was_auto_reset: bool = False
    auto_reset_reason: str | None = None
    """idle, daily, suspended or resume_pending_expired: why the conversation before this one ended."""
    reset_had_activity: bool = False
    model_override: Mapping[str, str] | None = None
    """model, provider and base_url of a `/model` for this lane alone."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members that this program does not know, kept for writing back."""

    def changed(self, **values: Any) -> SessionEntry:
        """The entry with other values; unknown names raise `TypeError`."""
        return replace(self, **values)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object as Hermes writes it, in its order, with the members we do not know at the end."""
        marked = self.last_resume_marked_at
        written: dict[str, Any] = {
            "session_key": self.session_key,
            "session_id": self.session_id,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
            "display_name": self.display_name,
            "platform": self.platform,
            "chat_type": self.chat_type,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cache_read_tokens": self.cache_read_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "total_tokens": self.total_tokens,
            "last_prompt_tokens": self.last_prompt_tokens,
            "estimated_cost_usd": self.estimated_cost_usd,
            "cost_status": self.cost_status,
            "expiry_finalized": self.expiry_finalized,
            "suspended": self.suspended,
            "resume_pending": self.resume_pending,
            "resume_reason": self.resume_reason,
            "last_resume_marked_at": marked.isoformat() if marked else None,
            "is_fresh_reset": self.is_fresh_reset,
            "was_auto_reset": self.was_auto_reset,
            "auto_reset_reason": self.auto_reset_reason,
            "reset_had_activity": self.reset_had_activity,
        }
        if self.model_override:
            written["model_override"] = dict(self.model_override)
        if self.origin:
            written["origin"] = self.origin.to_dict()
        return written | dict(self.extra)

    @classmethod
    def from_json(cls, text: str | bytes) -> SessionEntry:
        """Read `entry_json`. Raises `EntryError`."""
        return cls.from_dict(decode_object(text))

    @classmethod
    def from_dict(cls, data: Any) -> SessionEntry:
        """Read Hermes' JSON object. Raises `EntryError`, which names the field and the reason."""
        fields = Fields(data)
        origin = fields.taken("origin")
        platform, chat_type = fields.text("platform"), fields.text("chat_type")
        cost_status = fields.text("cost_status")
        # Old versions called the flag by what the closing down did then.
        finalized_once = Fields({"memory_flushed": data.get("memory_flushed")}).flag("memory_flushed")
        finalized = fields.flag("expiry_finalized", default=finalized_once)
        return cls(
            session_key=check_session_key(fields.required("session_key")),
            session_id=check_session_id(fields.required("session_id")),
            created_at=fields.required_time("created_at"),
            updated_at=fields.required_time("updated_at"),
            origin=None if origin is None else SessionSource.from_dict(origin, "origin."),
            display_name=fields.text("display_name"),
            platform=platform.strip().lower() or None if platform else None,
            chat_type="dm" if chat_type is None else chat_type,
            input_tokens=fields.count("input_tokens"),
            output_tokens=fields.count("output_tokens"),
            cache_read_tokens=fields.count("cache_read_tokens"),
            cache_write_tokens=fields.count("cache_write_tokens"),
            total_tokens=fields.count("total_tokens"),
            last_prompt_tokens=fields.count("last_prompt_tokens"),
            estimated_cost_usd=fields.number("estimated_cost_usd"),
            cost_status="unknown" if cost_status is None else cost_status,
            expiry_finalized=finalized,
            suspended=fields.flag("suspended"),
            resume_pending=fields.flag("resume_pending"),
            resume_reason=fields.text("resume_reason"),
            last_resume_marked_at=fields.time("last_resume_marked_at"),
            is_fresh_reset=fields.flag("is_fresh_reset"),
            was_auto_reset=fields.flag("was_auto_reset"),
            auto_reset_reason=fields.text("auto_reset_reason"),
            reset_had_activity=fields.flag("reset_had_activity"),
            model_override=_model_override(fields.taken("model_override")),
            extra=fields.rest,
        )


def check_session_id(value: str) -> str:
    """The id itself; it becomes part of file names, so it may hold nothing of a path. Raises `EntryError`."""
    if not value:
        raise EntryError("session_id", "is empty")
    if ".." in value or "/" in value or "\\" in value or _DRIVE.match(value):
        raise EntryError("session_id", "holds parts of a path; Hermes refuses it too")
    return value


def check_session_key(value: str) -> str:
    """The key itself; identifiers of some platforms have a `/` inside (`spaces/AAA`), which is allowed. Raises
    `EntryError`."""
    if not value:
        raise EntryError("session_key", "is empty")
    if ".." in value or value[0] in "/\\" or _DRIVE.match(value):
        raise EntryError("session_key", "holds parts of a path; Hermes refuses it too")
    return value


def _model_override(value: Any) -> dict[str, str] | None:
    if value is None:
        return None
    fields = Fields(value, "model_override.")
    found = {name: fields.text(name) for name in fields.rest if name in _MODEL_KEYS}
    return {name: text for name, text in found.items() if text} or None
