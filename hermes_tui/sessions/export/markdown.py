"""A session as a Markdown document (spec 004 §6.5, checklist E-5, E-6).

What was said stays as it was, code included, except for what `plain` makes visible; a fence is always longer than any
run of backticks inside it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

from hermes_tui.display import attachment_facts
from hermes_tui.sessions.export.facts import facts_of, notes_of, spent
from hermes_tui.sessions.export.plain import line, plain
from hermes_tui.sessions.export.prose import contained
from hermes_tui.sessions.jsontext import pretty
from session_adapters.model import Session

__all__ = ["to_markdown"]

_BACKTICKS = re.compile("`{3,}")
_VERBATIM = {"Session", "Directory", "Branch", "Forked from"}
_ROLES = {"user": "User", "assistant": "Assistant", "system": "System", "tool": "Tool"}


def to_markdown(session: Session) -> Iterator[str]:
    """The document in parts."""
    yield f"# {_inline(session.title) or 'Untitled session'}\n\n"
    for name, value in facts_of(session):
        yield f"- **{name}:** {_code(value) if name in _VERBATIM else _inline(value)}\n"
    # A result that has a message of its own stands there, not also under its call.
    apart = {one.tool_result.tool_call_id for one in session.messages if one.tool_result is not None}
    for message in session.messages:
        notes = list(notes_of(message))
        yield f"\n### {_ROLES[message.role]}\n\n"
        if notes:
            yield f"*{' · '.join(notes)}*\n\n"
        if message.thinking:
            yield (
                "<details>\n<summary>Thinking</summary>\n\n<pre>\n"
                f"{html.escape(_block(message.thinking), quote=False)}\n</pre>\n\n</details>\n\n"
            )
        if message.content and message.tool_result is None:
            yield f"{contained(_block(message.content))}\n"
        for one in message.attachments:
            yield f"\n*Attachment: {', '.join(map(_inline, attachment_facts(one)))}*\n"
        for call in message.tool_calls:
            took = f" · {call.duration_ms} ms" if call.duration_ms is not None else ""
            yield f"\n**Tool call {_code(call.tool_name)}**{_failed(call.is_error)}{took}\n\n{_fence(call.input)}"
            if call.tool_call_id not in apart and call.output is not None:
                yield f"\nOutput:\n\n{_fence(call.output)}"
        if message.tool_result is not None:
            result = message.tool_result
            yield f"**Result of {_code(result.tool_name or result.tool_call_id)}**{_failed(result.is_error)}\n\n"
            yield _fence(result.output if result.output is not None else message.content)
    yield "\n---\n\n### Cost\n\n"
    for name, value in spent(session):
        yield f"- **{name}:** {value}\n"


def _failed(is_error: bool) -> str:
    return " (failed)" if is_error else ""


def _block(text: str) -> str:
    return plain(text).strip("\n")


def _inline(text: str) -> str:
    """Text on one line with Markdown's own characters escaped."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", line(text))


def _code(text: str) -> str:
    """Text on one line as code."""
    text = line(text)
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
