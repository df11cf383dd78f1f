"""The typed records of Cursor's stores.

Fields appear and disappear every month: each is optional, and one of another type than expected costs itself alone.
Format: stores/cursor FACTS.md.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct, field

from session_adapters.reading.decoding import Decoder
from session_adapters.text import scrub, scrub_json

__all__ = [
    "BUBBLE",
    "CHAT_FACTS",
    "CHAT_MESSAGE",
    "COMPOSER",
    "LINE",
    "META",
    "TABS",
    "Bubble",
    "ChatFacts",
    "ChatMessage",
    "Composer",
    "Meta",
    "Tabs",
    "TranscriptLine",
    "as_json",
    "decoded",
    "dig",
    "items",
    "number",
    "word",
]


class ChatFacts(Struct, rename="camel"):
    """`meta` of a `store.db`, key 0: hexadecimal of JSON. It holds a key for encryption too, which is not read."""

    latest_root_blob_id: Any = None
    name: Any = None
    mode: Any = None
    created_at: Any = None
    """Milliseconds."""
    last_used_model: Any = None


class Meta(Struct, rename="camel"):
    """`meta.json` beside it, since 2026.08."""

    title: Any = None
    cwd: Any = None
    created_at_ms: Any = None
    updated_at_ms: Any = None


class ChatMessage(Struct, rename="camel"):
    """A message of the CLI: a blob that is JSON, or the JSON inside an older one."""

    role: Any = None
    content: Any = None
    """Text, or parts: text, reasoning, tool-call, tool-result …"""
    provider_options: Any = None


class TranscriptLine(Struct):
    """A line of an agent transcript. Roles stand in messages, a type in everything else."""

    role: Any = None
    message: Any = None
    content: Any = None
    kind: Any = field(default=None, name="type")
    """turn_ended …"""
    status: Any = None
    error: Any = None


class Composer(Struct, rename="camel"):
    """`composerData:<id>` of the editor: a conversation without its messages, in older ones with them."""

    name: Any = None
    created_at: Any = None
    """Milliseconds, as in the next."""
    last_updated_at: Any = None
    status: Any = None
    unified_mode: Any = None
    model_config: Any = None
    is_archived: Any = None
    is_draft: Any = None
    full_conversation_headers_only: Any = None
    conversation: Any = None
    conversation_map: Any = None
    sub_composer_ids: Any = None
    subagent_info: Any = None
    workspace_identifier: Any = None


class Bubble(Struct, rename="camel"):
    """`bubbleId:<composer>:<id>`: one message of the editor."""

    kind: Any = field(default=None, name="type")
    """1 the user's, 2 the model's; `user` and `ai` in the oldest."""
    bubble_id: Any = None
    text: Any = None
    created_at: Any = None
    thinking: Any = None
    tool_former_data: Any = None
    token_count: Any = None
    model_info: Any = None
    workspace_uris: Any = None
    workspace_project_dir: Any = None
    images: Any = None


class Tabs(Struct):
    """`workbench.panel.aichat.view.aichat.chatdata`: the conversations of the oldest editors, all in one value."""

    tabs: Any = None


CHAT_FACTS = Decoder(ChatFacts)
META = Decoder(Meta)
CHAT_MESSAGE = Decoder(ChatMessage)
LINE = Decoder(TranscriptLine)
COMPOSER = Decoder(Composer)
BUBBLE = Decoder(Bubble)
TABS = Decoder(Tabs)


# Values of any type ------------------------------------------------------------------------------------------


def word(value: Any) -> str:
    """Text; empty for anything else."""
    return scrub(value) if isinstance(value, str) else ""


def number(value: Any) -> float | None:
    """A number; None for anything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def items(value: Any) -> list[Any]:
    """A list; empty for anything else."""
    return value if isinstance(value, list) else []


def dig(value: Any, *names: str) -> Any:
    """What stands under these names, one inside the other; None where one is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def decoded(value: Any) -> Any:
    """JSON that was written as a string; any other value as it is."""
    if not isinstance(value, str):
        return scrub_json(value)
    try:
        return scrub_json(json.loads(value)) if value else None
    except (ValueError, RecursionError):
        return scrub(value)


def as_json(value: Any) -> str:
    """A value that has no words of its own, written out."""
    try:
        return scrub(json.dumps(value, ensure_ascii=False))
    except (ValueError, RecursionError):
        return "nested too deeply to be shown"
