"""Shows what a tool was asked: its name, its target in one line, its arguments.

Tools are told by the names of their arguments rather than by their own, so that a tool nobody has heard of yet
gets a sensible line too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hermes_tui.display import compact
from hermes_tui.sessions.calls.checklists import progress, questions_in, several, steps_in, tasks_in
from hermes_tui.sessions.calls.edits import PATHS, patch_in, path_of
from hermes_tui.sessions.calls.outcome import output_text
from hermes_tui.sessions.jsontext import json_text
from session_adapters.model import ToolCall

__all__ = ["PROSE", "arguments", "label", "target"]

# fmt: off
_TARGETS = (
    "command", "cmd", "pattern", "query", *PATHS, "script", "code", "url", "uri", "skill", "subject", "description",
    "plan", "prompt", "question", "goal", "task", "name", "message", "text",
)
# fmt: on
PROSE = frozenset({"plan", "prompt"})
"""Arguments that are written in Markdown."""
_PLACES = ("path", "file_path", "filePath", "directory", "dir_path", "glob", "include")
_MCP = re.compile(r"mcp__(.+?)__(.+)")
_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh(?:\.exe)?")
_MOST_NAMED = 2


def label(call: ToolCall) -> str:
    """The tool's name; of a tool of an MCP server the server's and its own."""
    found = _MCP.fullmatch(call.tool_name[:400])
    return compact(f"{found[1]} · {found[2]}" if found else call.tool_name, 60) or "tool"


def target(call: ToolCall) -> str:
    """What the call is about, on one safe line: a command, a path, a pattern and where, a plan's next step …"""
    given = call.input
    # The files of a patch, or of edits that each name their own.
    named: Sequence[str] = ()
    if (patch := patch_in(call)) is not None:
        named = [file.path for file in patch.files if file.path]
    elif isinstance(given, Mapping) and not path_of(given) and isinstance(parts := given.get("edits"), list):
        named = [path for path in dict.fromkeys(map(path_of, parts)) if path]
    if named:
        more = [f"{len(named) - _MOST_NAMED} more"] if len(named) > _MOST_NAMED else []
        return compact(", ".join((*named[:_MOST_NAMED], *more)))
    if not isinstance(given, Mapping):
        return "" if given is None else compact(json_text(given))
    for value in given.values():
        if (listed := _listed(value, call)) is not None:
            return compact(listed)
    for key in _TARGETS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return _with_more(key, value, given)
        if isinstance(value, list) and value and key in ("command", "cmd"):
            return compact(_command(value))
    return compact(", ".join(f"{key}: {json_text(value)}" for key, value in list(given.items())[:40]))


def _listed(value: Any, call: ToolCall) -> str | None:
    """A list of steps, questions or tasks in one line."""
    if steps := steps_in(value):
        return progress(steps)
    if not isinstance(value, list):
        return None
    if questions := questions_in(value, output_text(call.output)):
        answer = questions[0].answer
        return several([one.text for one in questions], "question") + (f" → {answer}" if answer else "")
    tasks = tasks_in(value)
    return several(tasks, "task") if tasks else None


def _command(parts: list[Any]) -> str:
    """A command as one types it; of `bash -lc SCRIPT` the script."""
    words = [part if isinstance(part, str) else json_text(part) for part in parts]
    if len(words) == 3 and _SHELL.fullmatch(words[0]) and words[1] in ("-c", "-lc"):
        return words[2]
    return shlex.join(words)


def _with_more(key: str, value: str, given: Mapping[str, Any]) -> str:
    if key == "plan":
        value = value.strip().partition("\n")[0].lstrip("# ")
    if key in ("pattern", "query"):
        where = next((given[name] for name in _PLACES if isinstance(given.get(name), str) and given[name]), "")
        return compact(value) + (f"  in {compact(where)}" if where else "")
    first, last = given.get("offset", given.get("start_line")), given.get("limit")
    if key in ("file_path", "filePath", "path") and isinstance(first, int):
        end = given.get("end_line", first + last - 1 if isinstance(last, int) else None)
        return compact(value) + f"  {first}–{end if isinstance(end, int) else ''}"
    return compact(value)


def arguments(call: ToolCall) -> Iterator[tuple[str, str]]:
    """(name, text) of each argument; a value that is not an object has no name."""
    if isinstance(call.input, Mapping):
        for key, value in call.input.items():
            yield str(key), _text(str(key), value, call)
    elif call.input is not None:
        yield "", json_text(call.input, indent=2)


def _text(key: str, value: Any, call: ToolCall) -> str:
    """An argument as one reads it: lists of steps, questions and tasks line by line, a command as one types it."""
    if not isinstance(value, list) or not value:
        return json_text(value, indent=2)
    listed = steps_in(value) or questions_in(value, output_text(call.output))
    if listed:
        return "\n".join(map(str, listed))
    if tasks := tasks_in(value):
        return "\n".join(f"{number}. {task}" for number, task in enumerate(tasks, 1))
    return _command(value) if key in ("command", "cmd") else json_text(value, indent=2)
