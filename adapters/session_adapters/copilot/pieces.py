"""Parts of Copilot's events as parts of messages."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from typing import Any

from session_adapters.attachments.made import made_attachment
from session_adapters.copilot.records import Attached, Compacted, Done, Prompt, ToolOutput, ToolRequest, whole
from session_adapters.model import Attachment, MessageKind, ToolCall
from session_adapters.text import scrub_json

__all__ = [
    "attachments",
    "call_of",
    "compaction_text",
    "output_of",
    "prompt_kind",
    "result_attachments",
    "words",
]

_INJECTED = ("<system_notification", "<system_reminder", "<system-")


def words(value: Any) -> str:
    """Text, or the message in an object; empty for anything else."""
    if isinstance(value, dict):
        value = value.get("message")
    return value if isinstance(value, str) else ""


def prompt_kind(prompt: Prompt) -> MessageKind:
    """What the user said, or what the program put in his name. A helper's task has the source `agent-<session>`."""
    injected = (prompt.content or "")[:64].lstrip().startswith(_INJECTED)
    source = prompt.source or "user"
    return "notice" if injected or not (source == "user" or source.startswith("agent-")) else "message"


def attachments(given: Sequence[Attached | str] | None) -> tuple[Attachment, ...]:
    """What is attached, without its bytes."""
    found = []
    for one in given or ():
        if isinstance(one, Attached) and one.type not in ("text", None):
            path = one.path if isinstance(one.path, str) else ""
            media = one.mime_type if isinstance(one.mime_type, str) else str(one.type)
            name = one.display_name if isinstance(one.display_name, str) else os.path.basename(path)  # noqa: PTH119
            found.append(made_attachment(media, name, one.data, path=path))
    return tuple(found)


def result_attachments(done: Done) -> tuple[Attachment, ...]:
    """Images and the like in a tool's result."""
    return attachments(done.result.contents if isinstance(done.result, ToolOutput) else None)


def call_of(request: ToolRequest, helper: str | None) -> ToolCall:
    """A call as the model asked for it."""
    return ToolCall(
        tool_call_id=request.tool_call_id or "",
        tool_name=request.name or "",
        input=scrub_json(request.arguments),
        subagent_id=helper,
    )


def output_of(done: Done) -> tuple[Any, bool]:
    """The result, and whether the call failed: the program says so, or the command ended with another code than 0."""
    code = done.shell_execution.exit_code if done.shell_execution is not None else None
    failed = done.success is False or (isinstance(code, int) and code != 0)
    if isinstance(done.result, ToolOutput):
        return done.result.content, failed
    if done.result is not None:
        return done.result, failed
    if done.error is not None:
        return (done.error if isinstance(done.error, str) else done.error.message), failed
    return None, failed


def compaction_text(data: Compacted) -> str:
    """`Conversation compacted (manual): 6821 → 5752 tokens`, as far as the record tells."""
    text = "Conversation compacted"
    if data.trigger:
        text += f" ({data.trigger})"
    if data.pre_compaction_tokens is not None:
        after = "?" if data.post_compaction_tokens is None else whole(data.post_compaction_tokens)
        text += f": {whole(data.pre_compaction_tokens)} → {after} tokens"
    return text
