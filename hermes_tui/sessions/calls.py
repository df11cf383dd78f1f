"""Shows a tool call in one line and in full: target, outcome, diff, output.

Tools are told by the names of their arguments rather than by their own, so that a tool nobody has heard of yet
gets a sensible line too.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from hermes_tui.display import compact, count_lines
from session_adapters.model import ToolCall

__all__ = ["Edit", "arguments", "duration", "edits", "exit_code", "facts", "json_text", "output_text", "target"]

# fmt: off
_TARGETS = (
    "command", "cmd", "pattern", "query", "file_path", "filePath", "path", "notebook_path", "target_file",
    "absolute_path", "script", "code", "url", "uri", "skill", "description", "subject", "prompt", "question",
    "goal", "task", "name", "message", "text",
)
# fmt: on
_PATHS = ("path", "file_path", "filePath", "directory", "dir_path", "glob", "include")
_OLD = ("old_string", "oldString", "old_str", "old_text", "oldText", "old")
_NEW = ("new_string", "newString", "new_str", "new_text", "newText", "new")
_PATCHES = ("patch", "diff", "patchText", "input")
_WRITTEN = ("content", "contents", "file_text")
_EXIT = re.compile(
    r"\s*(?:exit code:?|exited with code|process exited with code|command exited with code)\s+(-?\d{1,5})\b", re.I
)
_MOST_COMPARED = 2_000


def json_text(value: Any, *, indent: int = 0) -> str:
    """`value` as JSON; text stays text."""
    if isinstance(value, str):
        return value
    try:
        # The standard library's, because it lets lone surrogates and NaN through to where they are made safe.
        return json.dumps(value, ensure_ascii=False, indent=indent or None, default=repr)
    except RecursionError:
        return "(nested too deeply to be shown)"


def target(call: ToolCall) -> str:
    """What the call is about, on one safe line: a command, a path, a pattern and where, a URL …"""
    given = call.input
    if not isinstance(given, Mapping):
        return "" if given is None else compact(json_text(given))
    for key in _TARGETS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return _with_more(key, value, given)
        if isinstance(value, list) and key in ("command", "cmd") and all(isinstance(part, str) for part in value):
            return compact(" ".join(value))
    return compact(json_text(given)) if given else ""


def _with_more(key: str, value: str, given: Mapping[str, Any]) -> str:
    if key in ("pattern", "query"):
        where = next((given[name] for name in _PATHS if isinstance(given.get(name), str) and given[name]), "")
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
            yield str(key), json_text(value, indent=2)
    elif call.input is not None:
        yield "", json_text(call.input, indent=2)


class Edit(NamedTuple):
    """A change of a file, as a call asked for it."""

    lines: list[tuple[Literal["+", "-", " "], str]]

    def tells(self, value: str) -> bool:
        """Whether every line of an argument stands in it, so that the argument need not be shown, too."""
        there = {line for _, line in self.lines} | {mark + line for mark, line in self.lines}
        return all(line in there for line in value.splitlines())

    @property
    def added(self) -> int:
        """Lines put in."""
        return sum(mark == "+" for mark, _ in self.lines)

    @property
    def removed(self) -> int:
        """Lines taken out."""
        return sum(mark == "-" for mark, _ in self.lines)


def edits(call: ToolCall) -> Edit | None:
    """The change that the call asked for, where its arguments are one: old and new text, several of them, a patch,
    or a whole new file."""
    given = call.input
    if isinstance(given, str):
        return _patch(given)
    if not isinstance(given, Mapping):
        return None
    several = given.get("edits")
    if isinstance(several, list) and several:
        parts = [_replacement(one) for one in several if isinstance(one, Mapping)]
        found = [part for part in parts if part is not None]
        return Edit([line for part in found for line in part.lines]) if found else None
    for key in _PATCHES:
        if isinstance(given.get(key), str) and (patch := _patch(given[key])) is not None:
            return patch
    return _replacement(given) or _creation(given)


def _replacement(given: Mapping[str, Any]) -> Edit | None:
    old = next((given[key] for key in _OLD if isinstance(given.get(key), str)), None)
    new = next((given[key] for key in _NEW if isinstance(given.get(key), str)), None)
    if old is None or new is None:
        return None
    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _MOST_COMPARED:  # comparing takes quadratic time
        return Edit([*(("-", line) for line in before), *(("+", line) for line in after)])
    lines: list[tuple[Literal["+", "-", " "], str]] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            lines.extend((" ", line) for line in before[a:b])
        else:
            lines.extend(("-", line) for line in before[a:b])
            lines.extend(("+", line) for line in after[c:d])
    return Edit(lines)


def _creation(given: Mapping[str, Any]) -> Edit | None:
    text = next((given[key] for key in _WRITTEN if isinstance(given.get(key), str)), None)
    if text is None or not any(isinstance(given.get(key), str) for key in ("file_path", "filePath", "path")):
        return None
    return Edit([("+", line) for line in text.splitlines()])


def _patch(text: str) -> Edit | None:
    if not text.lstrip().startswith(("*** Begin Patch", "--- ", "diff --git ", "@@ ")):
        return None
    lines: list[tuple[Literal["+", "-", " "], str]] = []
    for line in text.splitlines():
        if line.startswith(("+++", "---", "***", "@@", "diff ", "index ")) or line[:1] not in ("+", "-"):
            lines.append((" ", line))
        else:
            lines.append(("+" if line[0] == "+" else "-", line[1:]))
    return Edit(lines)


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
        return _object_text(output)
    return json_text(output, indent=2)


def _object_text(output: Mapping[str, Any]) -> str:
    """The one text in an object first, then what else it says, one `name: value` a line."""
    main = next((key for key in ("output", "stdout", "content", "result") if isinstance(output.get(key), str)), None)
    if main is None:
        return json_text(output, indent=2)
    more = [
        f"{key}: {json_text(value)}"
        for key, value in output.items()
        if key != main and value not in (None, "", [], {})
    ]
    text = str(output[main])
    return "\n".join([text.removesuffix("\n"), *more] if text else more)


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
            if isinstance(output.get(key), int) and not isinstance(output[key], bool):
                return int(output[key])
        metadata = output.get("metadata")
        return exit_code(metadata) if isinstance(metadata, Mapping) else None
    return None


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
