"""Hector's messages, as they stand in `message_json`.

Format: spec 001 «Data Example»; facts agentmux_hector.md 2.3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

__all__ = ["AUTHORS", "HectorMessage", "NativeRole", "native_role"]

NativeRole = Literal["ROLE_USER", "ROLE_AGENT", "ROLE_SYSTEM", "ROLE_TOOL", "ROLE_UNSPECIFIED"]

_ROLES: dict[str, NativeRole] = {
    "USER": "ROLE_USER", "1": "ROLE_USER",
    "AGENT": "ROLE_AGENT", "2": "ROLE_AGENT", "ASSISTANT": "ROLE_AGENT", "MODEL": "ROLE_AGENT",
    "SYSTEM": "ROLE_SYSTEM",
    "TOOL": "ROLE_TOOL",
}  # fmt: skip
AUTHORS: Mapping[NativeRole, str] = MappingProxyType(
    {
        "ROLE_USER": "user",
        "ROLE_AGENT": "assistant",
        "ROLE_TOOL": "assistant",
        "ROLE_SYSTEM": "system",
        "ROLE_UNSPECIFIED": "system",
    }
)
"""Who is taken to speak where only the role is known. What tools give is the agent's."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def native_role(role: object) -> NativeRole:
    """The role by its name, with or without `ROLE_`, or by its number; what is neither is unspecified."""
    return _ROLES.get(str(role).upper().removeprefix("ROLE_"), "ROLE_UNSPECIFIED")


class HectorMessage(Struct, frozen=True, kw_only=True):
    """A message of the A2A protocol, or of an agent of which no more is known than this."""

    role: NativeRole
    text: str = ""
    """What is said; not thinking, calls or results."""
    message_id: str = ""
    """Empty until it is stored, and in many rows that Hector wrote."""
    author: str = ""
    has_message: bool = True
    """False for an event that only says what happened."""
    kept_from: str = ""
    """Of a summary: the id of the first message that stays as it is beside the summary."""
    value: Mapping[str, Any] = _NOTHING
    """All of its JSON; empty for one that was made of a text."""

    @classmethod
    def of_value(cls, value: Mapping[str, Any]) -> HectorMessage:
        """A message of the protocol, with calls, results and files as they are there."""
        from session_adapters.hector.messages import MessageParts  # with its adapter: only who reads JSON needs it

        about = value.get("metadata")
        kept = about.get("kept_from") if isinstance(about, dict) else None
        role = native_role(value.get("role"))
        return cls(
            role=role,
            author=AUTHORS[role],
            text=MessageParts.of_message(value).text,
            message_id=str(value.get("messageId") or ""),
            kept_from=kept if isinstance(kept, str) else "",
            value=value,
        )

    @classmethod
    def of_json(cls, text: str) -> HectorMessage:
        """What a column holds. Raises `ValueError`, one clause."""
        from session_adapters.hector.records import decoded

        try:
            value = decoded(text)
        except ValueError as error:
            raise ValueError("the message is empty" if not text else "the message is no JSON") from error
        if not isinstance(value, dict):
            raise ValueError("the message is no JSON object")
        return cls.of_value(value)

    @property
    def is_empty(self) -> bool:
        """It has no text, calls no tool and carries no result: Hector's agent does not save it."""
        from session_adapters.hector.messages import MessageParts

        parts = MessageParts.of_message(self.value)
        return not (self.text or parts.calls or parts.results)

    def identified_as(self, message_id: str) -> HectorMessage:
        """The same under this id."""
        return self if self.message_id == message_id else replace(self, message_id=message_id)

    def to_json(self, message_id: str, context_id: str) -> str:
        """What is stored: the JSON it came with, or one with a single text, under this id and in this session. A
        role that is unspecified is left out, as protobuf does."""
        value = dict(self.value) or {"parts": [{"text": self.text}]}
        value["messageId"] = message_id
        value.setdefault("contextId", context_id)
        if "role" not in value and self.role != "ROLE_UNSPECIFIED":
            value["role"] = self.role
        if self.kept_from and "metadata" not in value:
            value["metadata"] = {"kept_from": self.kept_from}
        return json.dumps(value)  # ASCII: half a surrogate pair stays what it is
