"""How a tool call went: output as text, exit status, duration, figures."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from hermes_tui.display import count_lines
from hermes_tui.sessions.calls.edits import edits, is_untold_edit
from hermes_tui.sessions.jsontext import json_text
from session_adapters.model import ToolCall, ToolResult

__all__ = ["duration", "exit_code", "facts", "failed", "is_open", "output_text"]

_EXIT = re.compile(
    r"\s*(?:exit code:?|exited with code|process exited with code|command exited with code)\s+(-?\d{1,5})\b", re.I
)


def output_text(output: Any) -> str:
    """The result as one reads it: text, text parts joined, or JSON. Empty when there is none."""
    if output is None:
        return ""
    if isinstance(output, str):
        decoded = _decoded(output)
        return output if decoded is None else output_text(decoded)
    if isinstance(output, list) and output and all(isinstance(part, Mapping) for part in output):
        texts = [part.get("text") for part in output]
        if all(isinstance(text, str) for text in texts):
            return "\n".join(text for text in texts if isinstance(text, str))
    if isinstance(output, Mapping):
        names = ("output", "stdout", "content", "result")
        main = next((key for key in names if isinstance(output.get(key), str)), None)
        if main is not None:
            # The one text in an object first, then what else it says, one `name: value` a line.
            more = [
                f"{key}: {json_text(value)}"
                for key, value in output.items()
                if key != main and value not in (None, "", [], {})
            ]
            text = str(output[main])
            return "\n".join([text.removesuffix("\n"), *more] if text else more)
    return json_text(output, indent=2)


def _decoded(text: str) -> dict[str, Any] | None:
    """The object that a result's text is the JSON of, if it is."""
    if not text.startswith("{") or len(text) > 1_000_000:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError):  # then it is the text that it looks like
        return None


def exit_code(output: Any) -> int | None:
    """The exit status of a command, where the result tells it."""
    if isinstance(output, str):
        decoded = _decoded(output)
        if decoded is None:
            match = _EXIT.match(output[:200])
            return int(match[1]) if match else None
        output = decoded
    if isinstance(output, Mapping):
        for key in ("exit_code", "exitCode", "exit", "returncode"):
            # True is an int, too, and no exit status.
            if isinstance(output.get(key), int) and not isinstance(output[key], bool):
                return int(output[key])
        metadata = output.get("metadata")
        return exit_code(metadata) if isinstance(metadata, Mapping) else None
    return None


def failed(call: ToolCall | ToolResult) -> bool:
    """Whether a call failed: the agent says so, or its command ended with a status other than 0."""
    return call.is_error or bool(exit_code(call.output))


def is_open(call: ToolCall) -> bool:
    """Whether a call has no result: it waits for leave, still runs or was broken off, unless its agent stores none at
    all. Nothing it asked for counts as done where another call of its session has one."""
    return call.output is None and not call.is_error


def facts(call: ToolCall) -> list[str]:
    """How the call went, the most telling first: `error`, `exit 1`, `+3 −1`, `4.2 s`, `312 lines`."""
    said: list[str] = []
    if call.is_error:
        said.append("error")
    status = exit_code(call.output)
    if status:
        said.append(f"exit {status}")
    change = edits(call)
    if change is not None:
        said.append(f"+{change.added:,} −{change.removed:,}")
    if call.duration_ms is not None:
        said.append(duration(call.duration_ms))
    if call.output is None:
        said.append("no result")
    elif is_untold_edit(call):
        said.append("change not stored")
    elif change is None:
        lines = count_lines(output_text(call.output))
        said.append("no output" if lines == 0 else "1 line" if lines == 1 else f"{lines:,} lines")
    return said


def duration(milliseconds: int) -> str:
    """`340 ms`, `4.2 s`, `3 min 10 s`."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"
