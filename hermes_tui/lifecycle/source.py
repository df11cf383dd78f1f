"""Where a message came from, and what an agent is told about it.

Format: spec 002 sections 1 and 9.

The JSON of a source is the member `origin` of a lane's entry. The document's `guild_id` is `scope_id` today; both
are written, both are read, and the newer name wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr

from hermes_tui.errors import EntryError
from hermes_tui.lifecycle.lane_index.fields import Fields

__all__ = ["HomeChannel", "SessionContext", "SessionSource"]

_WRITTEN_IF_SET = (
    ("user_id_alt", "user_id_alt"),
    ("chat_id_alt", "chat_id_alt"),
    ("scope_id", "scope_id"),
    ("guild_id", "scope_id"),
    ("parent_chat_id", "parent_chat_id"),
    ("message_id", "message_id"),
    ("profile", "profile"),
    ("auto_thread_created", "auto_thread_created"),
    ("auto_thread_initial_name", "auto_thread_initial_name"),
)
"""Member of the JSON → field, in Hermes' order, after the eight that are always there."""


class SessionSource(Struct, frozen=True, kw_only=True):
    """Where one message came from. Identifiers are the platform's own, as text."""

    platform: str
    """Name of the messaging platform, lower case: telegram, discord, whatsapp, local … or a plugin's."""
    chat_id: str
    """Chat, group or channel; may be empty."""
    chat_name: str | None = None
    chat_type: str = "dm"
    """dm, group, channel or thread; others are treated as a group."""
    user_id: str | None = None
    user_name: str | None = None
    thread_id: str | None = None
    chat_topic: str | None = None
    user_id_alt: str | None = None
    """Stable second identifier (Signal UUID, Feishu union_id); wins over `user_id` in keys."""
    chat_id_alt: str | None = None
    is_bot: bool = False
    """Never written by Hermes; read, and kept for writing back, where something else wrote it."""
    scope_id: str | None = None
    """Discord guild, Slack workspace or Matrix server."""
    guild_id: str | None = None
    """The document's name for `scope_id`; both always hold the same."""
    parent_chat_id: str | None = None
    message_id: str | None = None
    role_authorized: bool = False
    """As `is_bot`."""
    profile: str | None = None
    """The profile that a multiplexing gateway serves with this message; None: its own."""
    auto_thread_created: bool = False
    auto_thread_initial_name: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members that this program does not know, kept for writing back."""

    def __post_init__(self) -> None:
        scope = self.guild_id if self.scope_id is None else self.scope_id
        force_setattr(self, "scope_id", scope)
        force_setattr(self, "guild_id", scope)
        force_setattr(self, "platform", self.platform.strip().lower())

    @property
    def description(self) -> str:
        """For people: `DM with Alice`, `group: Ops, thread: 17`."""
        if self.platform == "local":
            return "CLI terminal"
        if self.chat_type == "dm":
            place = f"DM with {self.user_name or self.user_id or 'user'}"
        else:
            place = self.chat_name or self.chat_id
            if self.chat_type in ("group", "channel"):
                place = f"{self.chat_type}: {place}"
        return f"{place}, thread: {self.thread_id}" if self.thread_id else place

    def to_dict(self) -> dict[str, Any]:
        """The JSON object as Hermes writes it, with what it wrote and we do not know at the end."""
        written: dict[str, Any] = {
            "platform": self.platform,
            "chat_id": self.chat_id,
            "chat_name": self.chat_name,
            "chat_type": self.chat_type,
            "user_id": self.user_id,
            "user_name": self.user_name,
            "thread_id": self.thread_id,
            "chat_topic": self.chat_topic,
        }
        for member, name in _WRITTEN_IF_SET:
            if value := getattr(self, name):
                written[member] = value
        return written | dict(self.extra)

    @classmethod
    def from_dict(cls, data: Any, place: str = "") -> SessionSource:
        """Read Hermes' JSON object. Raises `EntryError`; `place` precedes the names of its fields there."""
        fields = Fields(data, place)
        platform = fields.required("platform")
        if not platform.strip():
            raise EntryError(f"{place}platform", "is empty")
        chat_type = fields.text("chat_type")
        scope, guild = fields.text("scope_id"), fields.text("guild_id")
        others = fields.rest
        return cls(
            platform=platform,
            chat_id=fields.required("chat_id"),
            chat_name=fields.text("chat_name"),
            chat_type="dm" if chat_type is None else chat_type,
            user_id=fields.text("user_id"),
            user_name=fields.text("user_name"),
            thread_id=fields.text("thread_id"),
            chat_topic=fields.text("chat_topic"),
            user_id_alt=fields.text("user_id_alt"),
            chat_id_alt=fields.text("chat_id_alt"),
            scope_id=guild if scope is None else scope,
            parent_chat_id=fields.text("parent_chat_id"),
            message_id=fields.text("message_id"),
            profile=fields.text("profile"),
            auto_thread_created=fields.flag("auto_thread_created"),
            auto_thread_initial_name=fields.text("auto_thread_initial_name"),
            # Only looked at, not taken: Hermes does not write these two, and `extra` keeps them as they stand there.
            is_bot=others.get("is_bot") is True,
            role_authorized=others.get("role_authorized") is True,
            extra=fields.rest,
        )


class HomeChannel(Struct, frozen=True, kw_only=True):
    """Where a platform's scheduled results go."""

    platform: str
    chat_id: str
    name: str = "Home"
    thread_id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As Hermes writes it."""
        written = {"platform": self.platform, "chat_id": self.chat_id, "name": self.name}
        return written | {"thread_id": self.thread_id} if self.thread_id else written


class SessionContext(Struct, frozen=True, kw_only=True):
    """What an agent is told about its conversation: where it takes place and where else it can deliver to."""

    source: SessionSource
    connected_platforms: tuple[str, ...] = ()
    home_channels: Mapping[str, HomeChannel] = field(default_factory=dict)
    """Platform → its home channel."""
    shared_multi_user_session: bool = False
    session_key: str = ""
    session_id: str = ""
    created_at: datetime | None = None
    """Local time without a zone, as in the entry; so is `updated_at`."""
    updated_at: datetime | None = None

    def to_dict(self) -> dict[str, Any]:
        """As Hermes writes it."""
        return {
            "source": self.source.to_dict(),
            "connected_platforms": list(self.connected_platforms),
            "home_channels": {name: channel.to_dict() for name, channel in self.home_channels.items()},
            "shared_multi_user_session": self.shared_multi_user_session,
            "session_key": self.session_key,
            "session_id": self.session_id,
            "created_at": self.created_at.isoformat() if self.created_at else None,
            "updated_at": self.updated_at.isoformat() if self.updated_at else None,
        }
