"""Which tool calls a message is about, and the files that they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from session_adapters.model import Message, ToolCall

__all__ = ["calls_of", "paths_of"]

_PATH = re.compile(r"path|file|filename|dir|directory|folder|cwd|workdir", re.IGNORECASE)
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) (?:[ab]/)?)(.+)$", re.M
)
_LONGEST = 1000
"""Characters of a path."""
_DEEPEST = 6


def calls_of(messages: Sequence[Message]) -> Iterator[Sequence[ToolCall]]:
    """For each message the calls that it made, and the call that it answers."""
    made: dict[str, ToolCall] = {}
    for message in messages:
        made.update({call.tool_call_id: call for call in message.tool_calls})
        result = message.tool_result
        if result is None:
            yield message.tool_calls
            continue
        call = made.get(result.tool_call_id) if result.linked else None
        answered = call or ToolCall(tool_call_id=result.tool_call_id, tool_name=result.tool_name)
        yield (*message.tool_calls, answered)


def paths_of(calls: Iterable[ToolCall]) -> list[str]:
    """The paths in the arguments of calls: values of fields that are named like one, and files in a patch."""
    return [path for call in calls for path in _paths(call.input, 0)]


def _paths(value: Any, depth: int, named: bool = False) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _paths(item, depth + 1, bool(_PATH.search(str(key))))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _paths(item, depth + 1, named)
    elif isinstance(value, str):
        if named and len(value) <= _LONGEST and "\n" not in value:
            yield value
        elif "*** " in value or "+++ " in value:
            yield from (found[1].strip() for found in _PATCHED.finditer(value))
