"""Which tools a message is about, and the files that their calls name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from session_adapters.model import Message, ToolCall

__all__ = ["NOTHING", "ToolNames", "names_of", "of_call"]

_PATH = re.compile(r"path|file|filename|dir|directory|folder|cwd|workdir", re.IGNORECASE)
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:---|\+\+\+) (?:[ab]/)?)(.+)$", re.M
)
_LONGEST = 1000
"""Characters of a path."""
_DEEPEST = 6  # arguments are a model's words, and may be nested without end


class ToolNames(NamedTuple):
    """As they were written."""

    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    """Values of arguments that are named like a path, and files in a patch."""


NOTHING = ToolNames()


def names_of(
    messages: Sequence[Message],
    first: int = 0,
    stop: int | None = None,
    before: Mapping[str, ToolNames] | None = None,
) -> Iterator[ToolNames]:
    """For each message (from `first` up to `stop`) the tools that it called, and the one whose call it answers;
    `before` has those of earlier calls, by id."""
    made: dict[str, ToolCall] = {}
    known: MutableMapping[str, ToolNames] = dict(before or ())
    for index, message in enumerate(messages[:stop]):
        for call in message.tool_calls:
            made[call.tool_call_id] = call
            known.pop(call.tool_call_id, None)  # an id may be used again: the later call counts
        if index < first:
            continue
        result = message.tool_result
        if result is None and not message.tool_calls:
            yield NOTHING
            continue
        found = [of_call(call) for call in message.tool_calls]
        if result is not None:
            answered = known.get(result.tool_call_id) if result.linked else None
            if answered is None and result.linked and (call_made := made.get(result.tool_call_id)) is not None:
                answered = of_call(call_made)
            found.append(answered or ToolNames((result.tool_name,) if result.tool_name else ()))
        if len(found) == 1:
            yield found[0]
        else:
            tools = dict.fromkeys(tool for one in found for tool in one.tools)
            yield ToolNames(tuple(tools), tuple(dict.fromkeys(file for one in found for file in one.files)))


def of_call(call: ToolCall) -> ToolNames:
    """Those of one call."""
    return ToolNames((call.tool_name,) if call.tool_name else (), tuple(dict.fromkeys(_paths(call.input, 0))))


def _paths(value: Any, depth: int, named: bool = False) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _paths(item, depth + 1, _is_path(str(key)))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _paths(item, depth + 1, named)
    elif isinstance(value, str):
        if named and value and len(value) <= _LONGEST and "\n" not in value:
            yield value
        elif "*** " in value or "+++ " in value:
            yield from (found[1].strip() for found in _PATCHED.finditer(value))


@lru_cache(maxsize=1024)
def _is_path(key: str) -> bool:
    return bool(_PATH.search(key))
