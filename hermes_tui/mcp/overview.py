"""What a session came to: goal, files, commands, outcome, cost; no model is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from hermes_tui.display import priced
from hermes_tui.sessions.calls.arguments import target
from hermes_tui.sessions.calls.files import files_touched
from hermes_tui.sessions.calls.outcome import exit_code, failed
from session_adapters.model import Message, Session, ToolCall

__all__ = ["overview_of"]

_MOST = 40
"""Files and commands that are named, the last ones."""


def overview_of(session: Session, mask: Callable[[Any], Any] = lambda value: value) -> dict[str, Any]:
    """The facts of a session, from its messages; `mask` is applied to what is said of them, before it is cut."""
    said = [one for one in session.messages if one.kind == "message" and one.content and one.visibility != "rewound"]
    prompts = [one.content for one in said if one.is_prompt]
    answers = [one.content for one in said if one.role == "assistant"]
    made = [call for message in session.messages for call in message.tool_calls]
    files = files_touched(made, session.cwd)
    changed, read = ([path for path, done in files.items() if done == how] for how in ("edited", "read"))
    commands = [
        call for call in made if isinstance(call.input, dict) and (call.input.get("command") or call.input.get("cmd"))
    ]
    errors = (one.content for one in reversed(session.messages) if one.kind == "error")
    return {
        "session_id": session.unified_id,
        "agent": session.agent,
        "title": session.title,
        "cwd": session.cwd,
        "model": session.model,
        "started_at": session.created_at,
        "last_active": session.updated_at,
        "kind": session.kind,
        "parent_session_id": f"{session.agent}:{session.parent_id}" if session.parent_id else None,
        "goal": mask(prompts[0]) if prompts else session.preview,
        "last_prompt": mask(prompts[-1]) if len(prompts) > 1 else None,
        "outcome": mask(answers[-1]) if answers else None,
        "ended_in_error": session.error or None,
        "last_error": mask(next(errors, None)) if session.error else None,
        "files_changed": mask(changed[-_MOST:]),
        "files_read": mask(read[-_MOST:]),
        "commands": [_command(replace(call, input=mask(call.input))) for call in commands[-_MOST:]],
        "counts": {
            "turns": session.turn_count,
            "messages": session.message_count,
            "tool_calls": len(made),
            "files_changed": len(changed),
            "files_read": len(read),
            "commands": len(commands),
            "failed_calls": sum(failed(call) for call in made),
        },
        "tools": mask(dict(Counter(call.tool_name for call in made).most_common(12))),
        "tokens": session.tokens.total if session.tokens is not None else None,
        "cost": priced(session.cost),
        "first_message_id": _name(session.messages, 0),
        "last_message_id": _name(session.messages, len(session.messages) - 1),
    }


def _command(call: ToolCall) -> str:
    status = exit_code(call.output)
    how = f" [exit {status}]" if status else " [failed]" if call.is_error else ""
    return target(call) + how


def _name(messages: tuple[Message, ...], at: int) -> str | None:
    return (messages[at].id or f"#{at}") if messages else None
