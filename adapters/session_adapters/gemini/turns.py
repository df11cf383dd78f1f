"""What one record of the conversation says, whichever version wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from session_adapters.attachments.made import made_attachment
from session_adapters.gemini.records import (
    Blob,
    Call,
    Content,
    FunctionResponse,
    GeminiPart,
    GeminiRecord,
    token_usage,
    usage_of_line,
)
from session_adapters.model import Attachment, MessageKind, TokenUsage, ToolCall, ToolResult
from session_adapters.times import parse_time

__all__ = ["GLANCE", "Speaker", "Turn", "is_context", "merged", "turn_of"]

Speaker = Literal["user", "model", "info", "error"]

GLANCE = 400
"""Characters of a text that a list can have a use for."""

_SPEAKERS: dict[str, Speaker] = {
    "user": "user",
    "human": "user",
    "tool": "user",
    "function": "user",
    "gemini": "model",
    "model": "model",
    "assistant": "model",
    "error": "error",
}
"""By `type`, or `role` in the document's layout; everything else (info, warning, system) was said by the program."""

_CONTEXT = ("<session_context>", "This is the Gemini CLI. We are setting up the context for our chat.")
"""How the description of the workspace begins that stands before the first prompt."""
_INJECTED = (*_CONTEXT, "<hook_context>", "<state_snapshot>")
_SNAPSHOT = "<state_snapshot>"
_THANKS = ("Got it. Thanks for the context!", "Got it. Thanks for the additional context!")
"""What the program lets the model answer to a context or a snapshot."""
_COMMAND = re.compile(r"/[a-z][\w:.-]*(\s|$)|\?\s*$", re.IGNORECASE)
_FAILED = {"error", "cancelled"}
_EXIT_CODE = re.compile(
    r"\n(?:Exit Code: [1-9]\d*|Signal: \d+)\n(?:[A-Z][A-Za-z ]*: .*\n)*Process Group PGID: \d+\s*"
    r"(?:</untrusted_context>\s*)?\Z"
)
"""The end of what `run_shell_command` returns when the command failed; its status is `success` then too."""


class Turn(Struct, frozen=True, kw_only=True, gc=False):
    """One record of the conversation."""

    id: str
    speaker: Speaker
    kind: MessageKind = "message"
    """Of `text`."""
    text: str = ""
    """What was sent to the model or came from it."""
    shown: str = ""
    """What the human typed, where it is not what was sent (file contents are put in for `@file`)."""
    notices: tuple[tuple[MessageKind, str], ...] = ()
    """What the program put in front of the text."""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    usage: TokenUsage | None = None
    model: str | None = None
    timestamp: datetime | None = None
    size: int = 0
    """Characters of `text`, also where it was cut."""

    @property
    def mark(self) -> tuple[object, ...]:
        """Equal for the same thing said under another id."""
        return (
            self.speaker,
            self.size,
            self.text[:GLANCE],
            tuple(text[:GLANCE] for _, text in self.notices),
            tuple(call.tool_call_id for call in self.calls),
            tuple(result.tool_call_id for result in self.results),
        )

    @property
    def is_snapshot(self) -> bool:
        """A summary that replaces what was said before."""
        return any(kind == "summary" for kind, _ in self.notices)

    @property
    def only_results(self) -> bool:
        """Nothing but the results of tools."""
        return bool(self.results) and not (self.text or self.notices or self.attachments)


def is_context(turn: Turn) -> bool:
    """The description of the workspace, and nothing else."""
    return bool(turn.notices) and not turn.text and turn.notices[0][1].lstrip().startswith(_CONTEXT)


def turn_of(record: GeminiRecord, place: str, *, glance: bool = False) -> Turn:
    """`place` serves as the id of a record that has none. With `glance`, thoughts, arguments and outputs are left out
    and what was said is cut: enough for a list."""
    turn_id = record.id or place
    speaker = _SPEAKERS.get((record.type or record.role or "").lower(), "info")
    content = record.content if record.content is not None else record.parts
    parts = [] if content is None or isinstance(content, str) else _parts(content)
    texts = [content] if isinstance(content, str) else [part.text for part in parts if part.text and not part.thought]
    notices: list[tuple[MessageKind, str]] = []
    while speaker == "user" and texts and texts[0].lstrip().startswith(_INJECTED):
        text = texts.pop(0)
        notices.append(("summary" if text.lstrip().startswith(_SNAPSHOT) else "notice", text))
    text = "".join(texts)
    results = tuple(_result(part.function_response, glance) for part in parts if part.function_response is not None)
    if record.role is not None and record.role.lower() in ("tool", "function") and not results:
        results, text = (ToolResult(tool_call_id=turn_id, output=text),), ""
    shown = "".join(part.text for part in _parts(record.display_content) if part.text)
    thoughts: list[str] = []
    if not glance:
        thoughts += ["\n".join(filter(None, (one.subject, one.description))) for one in record.thoughts or ()]
        thoughts += [part.text for part in parts if part.text and part.thought]  # of a message that was restored
    usage = record.tokens or usage_of_line(record.usage or record.usage_metadata)
    return Turn(
        id=turn_id,
        speaker=speaker,
        kind=_kind(speaker, text, record),
        text=_cut(text) if glance else text,
        shown=(_cut(shown) if glance else shown) if shown.strip() and shown != text else "",
        notices=tuple(notices),
        thinking="\n\n".join(filter(None, thoughts)),
        calls=_calls(record, parts, turn_id, glance),
        results=results,
        attachments=tuple(_attachments(parts)) if parts else (),
        usage=token_usage(usage) if usage is not None else None,
        model=record.model or None,
        timestamp=parse_time(record.timestamp),
        size=len(text),
    )


def merged(old: Turn, new: Turn, *, restored: bool) -> Turn:
    """A record that was written again under the same id.

    The later one holds. One that was restored from the model's history has lost tokens, model, thoughts and the
    details of its calls, and its time is that of the restoring (FACTS.md): of such only a changed text is taken.
    """
    if restored:
        return replace(
            old,
            text=new.text or old.text,
            size=new.size or old.size,
            shown=old.shown if new.text in ("", old.text) else "",
            notices=new.notices or old.notices,
            thinking=old.thinking or new.thinking,
            calls=old.calls or new.calls,
            results=old.results or new.results,
            attachments=old.attachments or new.attachments,
            usage=new.usage or old.usage,
            model=old.model or new.model,
        )
    return replace(
        new,
        id=old.id if old.usage else new.id,
        thinking=new.thinking or old.thinking,
        calls=new.calls or old.calls,
        usage=new.usage or old.usage,
        model=new.model or old.model,
        timestamp=new.timestamp or old.timestamp,
    )


def _cut(text: str) -> str:
    return text if len(text) <= GLANCE else text.lstrip()[:GLANCE]


def _kind(speaker: Speaker, text: str, record: GeminiRecord) -> MessageKind:
    if speaker == "error":
        return "error"
    if speaker == "info" or (speaker == "model" and record.tokens is None and text.strip() in _THANKS):
        return "notice"
    return "command" if speaker == "user" and _COMMAND.match(text) else "message"


def _parts(content: Content) -> list[GeminiPart]:
    if content is None:
        return []
    found = [content] if isinstance(content, str | GeminiPart) else content
    return [GeminiPart(text=part) if isinstance(part, str) else part for part in found]


def _calls(record: GeminiRecord, parts: Iterable[GeminiPart], turn_id: str, glance: bool) -> tuple[ToolCall, ...]:
    """Those of `toolCalls`, and those that stand among the parts alone."""
    calls = [
        ToolCall(tool_call_id=call.id or f"{turn_id}#{number}", tool_name=call.name or "")
        if glance
        else _call(call, f"{turn_id}#{number}")
        for number, call in enumerate(record.tool_calls or ())
    ]
    known = {call.tool_call_id for call in calls}
    for number, part in enumerate(parts):
        asked = part.function_call
        if asked is not None and asked.id not in known:
            call_id = asked.id or f"{turn_id}#{number}"
            given = None if glance else asked.args
            calls.append(ToolCall(tool_call_id=call_id, tool_name=asked.name or "", input=given))
    return tuple(calls)


def _call(call: Call, place: str) -> ToolCall:
    """A call with its result: the first function response, else the text of the parts, else what was displayed."""
    output: Any = None
    failed = call.status in _FAILED
    parts = _parts(call.result)
    responses = [part.function_response for part in parts if part.function_response is not None]
    if responses:
        output, error = _output(responses[0].response)
        failed = failed or error or _exit_failed(call.name, output)
    elif texts := [part.text for part in parts if part.text]:
        output = "".join(texts)
    # What is displayed while a call runs is not its result.
    elif isinstance(call.result_display, str) and call.status not in ("executing", "scheduled", "validating"):
        output = call.result_display or None
    return ToolCall(
        tool_call_id=call.id or place,
        tool_name=call.name or "",
        input=call.args,
        output=output,
        is_error=failed,
        subagent_id=call.agent_id or None,
    )


def _result(found: FunctionResponse, glance: bool) -> ToolResult:
    if glance:
        return ToolResult(tool_call_id=found.id or "", tool_name=found.name or "")
    output, failed = _output(found.response)
    failed = failed or _exit_failed(found.name, output)
    return ToolResult(tool_call_id=found.id or "", tool_name=found.name or "", output=output, is_error=failed)


def _output(response: Any) -> tuple[Any, bool]:
    """What a tool returned, and whether that is an error."""
    if isinstance(response, dict) and len(response) == 1:
        if "error" in response:
            return response["error"], True
        if "output" in response:
            return response["output"], False
    return response, False


def _exit_failed(name: str | None, output: Any) -> bool:
    return name == "run_shell_command" and isinstance(output, str) and _EXIT_CODE.search(output[-2_000:]) is not None


def _attachments(parts: Iterable[GeminiPart]) -> Iterable[Attachment]:
    for part in parts:
        blob: Blob | None = part.inline_data or part.file_data
        if blob is not None:
            name = blob.display_name or (blob.file_uri or "").rpartition("/")[2]
            yield made_attachment(blob.mime_type or "", name, blob.data)
