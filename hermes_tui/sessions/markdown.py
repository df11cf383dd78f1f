"""A session as a Markdown document (spec 004 §6.5, checklist E-5, E-6).

What was said stays readable as it was, code included; control characters are made visible, and a fence is always
longer than any run of backticks inside it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Container, Iterator
from datetime import datetime
from typing import Any

from hermes_tui.display import safe
from hermes_tui.sessions.jsontext import pretty
from hermes_tui.sessions.prose import contained
from session_adapters.model import EPOCH, Message, Session, TokenUsage, ToolCall

__all__ = ["to_markdown"]

_BACKTICKS = re.compile("`{3,}")
_ROLES = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}


def to_markdown(session: Session) -> Iterator[str]:
    """The document in parts."""
    yield f"# {_inline(session.title) or 'Untitled session'}\n\n"
    for name, value in _facts(session):
        yield f"- **{name}:** {value}\n"
    # A result that has a message of its own stands there, not also under its call.
    apart = {one.tool_result.tool_call_id for one in session.messages if one.tool_result is not None}
    for message in session.messages:
        yield from _message(message, apart)
    yield from _spent(session)


def _facts(session: Session) -> Iterator[tuple[str, str]]:
    yield "Agent", _inline(session.agent)
    yield "Session", _code(session.session_id)
    if session.model:
        yield "Model", _inline(session.model)
    if session.created_at > EPOCH:
        yield "Created", _time(session.created_at)
    if session.updated_at > EPOCH:
        yield "Updated", _time(session.updated_at)
    if session.cwd:
        yield "Directory", _code(session.cwd)
    if session.git_branch:
        yield "Branch", _code(session.git_branch)
    if session.forked_from:
        yield "Forked from", _code(session.forked_from)
    if session.tags:
        yield "Tags", ", ".join(map(_inline, session.tags))
    yield "Turns", str(session.turn_count)
    yield "Cost", _cost(session)
    if session.warnings:
        yield "Not readable", f"{session.warnings} records"


def _message(message: Message, apart: Container[str]) -> Iterator[str]:
    notes = [_time(message.timestamp)] if message.timestamp else []
    if message.kind != "message":
        notes.append(message.kind)
    if message.visibility != "live":
        notes.append(message.visibility)
    if message.inherited:
        notes.append("from the parent session")
    yield f"\n### {_ROLES[message.role]}\n\n"
    if notes:
        yield f"*{' · '.join(notes)}*\n\n"
    if message.thinking:
        yield _details("Thinking", html.escape(_block(message.thinking), quote=False))
    if message.content and message.tool_result is None:
        yield f"{contained(_block(message.content))}\n"
    for attachment in message.attachments:
        name = f" {_code(attachment.name)}" if attachment.name else ""
        yield f"\n*Attachment:{name} ({_inline(attachment.media_type)}, {attachment.size} bytes)*\n"
    for call in message.tool_calls:
        yield from _call(call, with_output=call.tool_call_id not in apart)
    if message.tool_result is not None:
        result = message.tool_result
        yield f"**Result of {_code(result.tool_name or result.tool_call_id)}**{_failed(result.is_error)}\n\n"
        yield _fence(result.output if result.output is not None else message.content)


def _call(call: ToolCall, *, with_output: bool) -> Iterator[str]:
    took = f" · {call.duration_ms} ms" if call.duration_ms is not None else ""
    yield f"\n**Tool call {_code(call.tool_name)}**{_failed(call.is_error)}{took}\n\n{_fence(call.input)}"
    if with_output and call.output is not None:
        yield f"\nOutput:\n\n{_fence(call.output)}"


def _spent(session: Session) -> Iterator[str]:
    yield "\n---\n\n### Cost\n\n"
    yield f"- **Total:** {_cost(session)}\n"
    tokens: TokenUsage | None = session.tokens
    if tokens is None and session.cost is not None:
        tokens = TokenUsage(
            input_tokens=session.cost.input_tokens,
            output_tokens=session.cost.output_tokens,
            cached_tokens=session.cost.cached_tokens,
            thinking_tokens=session.cost.thinking_tokens,
        )
    if tokens is not None:
        yield f"- **Input tokens:** {tokens.input_tokens}\n"
        yield f"- **Cached tokens:** {tokens.cached_tokens} read, {tokens.cache_write_tokens} written\n"
        yield f"- **Output tokens:** {tokens.output_tokens}, of which thinking {tokens.thinking_tokens}\n"


def _cost(session: Session) -> str:
    if session.cost is None:
        return "unknown"
    return f"{'~' if session.cost.estimated else ''}${session.cost.total_usd:.4f}"


def _failed(is_error: bool) -> str:
    return " (failed)" if is_error else ""


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _block(text: str) -> str:
    return safe(text, keep_newlines=True).strip("\n")


def _inline(text: str) -> str:
    """Text on one line with Markdown's own characters escaped."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", safe(text))


def _code(text: str) -> str:
    """Text on one line as code."""
    text = safe(text)
    ticks = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def _fence(value: Any) -> str:
    """A value in a fence that nothing inside can close."""
    language = ""
    if not isinstance(value, str):
        language = "json"
        value = pretty(value).decode()
    text = _block(value)
    ticks = "`" * max(3, max(map(len, _BACKTICKS.findall(text)), default=0) + 1)
    return f"{ticks}{language}\n{text}\n{ticks}\n"


def _details(title: str, text: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n<pre>\n{text}\n</pre>\n\n</details>\n\n"
