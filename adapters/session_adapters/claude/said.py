"""What a line of a transcript says: a prompt, a command, a notice, an error."""

from __future__ import annotations

import re
from typing import NamedTuple

from session_adapters.claude.records import ClaudeRecord, LineHead, Marks
from session_adapters.model import MessageKind

__all__ = ["Said", "assistant_kind", "system_said", "user_said"]


class Said(NamedTuple):
    """What a line adds to the conversation."""

    kind: MessageKind
    text: str
    kept_from: str = ""
    """Record with which what a compaction left as it was begins."""


_COMMANDS = (
    "<command-name>",
    "<command-message>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
)
_NOTICES = ("<local-command-", "<task-notification>", "Caveat:", "[Request interrupted")
_TAG = re.compile(r"<(command-(?:name|message|args)|local-command-std(?:out|err)|bash-[a-z]+)>(.*?)</\1>", re.DOTALL)


def user_said(line: Marks, text: str, *, results: int, images: int) -> Said | None:
    """What a user line says beside its tool results; None when that is nothing.

    A prompt is what the human typed: not isMeta, not a compaction summary, beside no tool result, not written by
    the program in the user's name (`FACTS.md`, «Fields»).
    """
    start = text[:64].lstrip()
    if start.startswith(_COMMANDS):
        text = _command_text(text)
        return Said("command", text) if text else None
    if not text.strip() and not images:
        return None
    if line.is_compact_summary:
        return Said("summary", text)
    if line.is_meta or results or line.prompt_source == "system" or start.startswith(_NOTICES):
        return Said("notice", text)
    return Said("message", text)


def system_said(line: ClaudeRecord) -> Said | None:
    """What a system line shows: the echo of a command, a compaction, an attempt that failed and is repeated."""
    if line.subtype == "compact_boundary":
        # `Conversation compacted (manual): 11592 → 2844 tokens`, as far as the record tells.
        facts, text = line.compact_metadata, "Conversation compacted"
        if facts and facts.trigger:
            text += f" ({facts.trigger})"
        if facts and facts.pre_tokens is not None:
            after = "?" if facts.post_tokens is None else facts.post_tokens
            text += f": {facts.pre_tokens} → {after} tokens"
        kept = facts.preserved_segment if facts else None
        return Said("compaction", text, (kept.head_uuid if kept else None) or "")
    content = line.content
    if line.subtype == "local_command" and isinstance(content, str):
        text = _command_text(content)
        return Said("command", text) if text else None
    if line.subtype == "api_error":
        error = line.error
        reason = error if isinstance(error, str) else error and (error.formatted or error.message)
        return Said("notice", f"{reason or 'The call failed'}; retry {line.retry_attempt} of {line.max_retries}")
    if isinstance(content, str) and content.strip():  # without a subtype: spec 004 §4.2.1
        return Said("message" if line.subtype is None else "notice", content)
    return None


def assistant_kind(line: LineHead, model: str | None) -> MessageKind:
    """A reply of the model, a call that failed, or words that the program put into the model's mouth."""
    if line.is_api_error_message:
        return "error"
    return "notice" if model == "<synthetic>" else "message"


def _command_text(text: str) -> str:
    """`/name args` for the tags of a slash command, the plain text for those of an output."""
    found = dict(_TAG.findall(text))
    if not found:
        return text.strip()
    if "command-name" in found or "command-message" in found:
        name = (found.get("command-name") or found.get("command-message") or "").strip()
        name = name if name.startswith("/") or not name else f"/{name}"
        return f"{name} {found.get('command-args', '').strip()}".strip()
    if "bash-input" in found:
        return f"! {found['bash-input'].strip()}"
    return "\n".join(part.strip("\n") for part in found.values() if part.strip())
