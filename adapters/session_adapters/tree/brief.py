"""What the list needs of an entry: the figures of its messages, no texts."""

from __future__ import annotations

from typing import NamedTuple

from session_adapters.model import Message, MessageKind, Role
from session_adapters.tree.messages import ROLES, messages_of
from session_adapters.tree.records import TreeEntry, TreeMessage

__all__ = ["EntryBrief", "brief_of"]


class EntryBrief(NamedTuple):
    """The messages of one entry, as far as a list counts them; `role` to `model` are those of the first."""

    messages: int
    role: Role = "system"
    kind: MessageKind = "notice"
    calls: int = 0
    """Tools that it calls."""
    model: str | None = None

    @property
    def is_prompt(self) -> bool:
        """See `Message.is_prompt`."""
        return self.role == "user" and self.kind == "message"


_NOTHING = EntryBrief(0)
_OTHERS = {
    "branch_summary": EntryBrief(1, "system", "summary"),
    "custom_message": EntryBrief(1, "system", "notice"),
    "reset_boundary": EntryBrief(1, "system", "compaction"),
    "session_init": EntryBrief(1, "system", "notice"),
}


def brief_of(entry: TreeEntry) -> EntryBrief:
    """The same as could be told from `messages_of`, at a fraction of the cost."""
    record = entry.message
    if entry.type == "message" and record is not None:
        role, kind = ROLES.get(record.role.lower(), ("system", "notice"))
        return EntryBrief(1, role, kind) if role != "assistant" else _reply(entry, record)
    if entry.type == "compaction":
        return EntryBrief(2 if entry.summary or entry.usage else 1, "system", "compaction")
    if entry.type in _OTHERS:
        return _OTHERS[entry.type]
    return _of_message(messages_of(entry, "")[0]) if entry.is_message else _NOTHING


def _reply(entry: TreeEntry, record: TreeMessage) -> EntryBrief:
    if record.stop_reason == "aborted":  # whether anything was said decides
        return _of_message(messages_of(entry, "")[0])
    blocks = record.content if isinstance(record.content, list) else ()
    calls = sum(1 for block in blocks if isinstance(block, dict) and block.get("type") == "toolCall")
    return EntryBrief(1, "assistant", "error" if record.stop_reason == "error" else "message", calls, record.model)


def _of_message(message: Message) -> EntryBrief:
    return EntryBrief(1, message.role, message.kind, len(message.tool_calls), message.model)
