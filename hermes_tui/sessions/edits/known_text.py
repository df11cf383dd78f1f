"""What is known of a file's text: what a session read of it, and wrote.

Calls show only a part of what is on the disk. Where they showed enough, edits have a place and lines around them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from hermes_tui.sessions.calls.edits import PATHS, Hunk
from hermes_tui.sessions.calls.outcome import output_text
from session_adapters.model import ToolCall

__all__ = ["KnownText", "after_hunk", "text_read"]

_NUMBERED = re.compile(r"[ \t]*(\d{1,7})(?:→|\t|\| )(.*)", re.DOTALL)
_LONGEST = 4_000_000


class KnownText(NamedTuple):
    """Consecutive lines of a file."""

    text: str
    first: int = 1
    """The number of its first line."""


def text_read(call: ToolCall) -> KnownText | None:
    """What a call that reads a file says is in it: numbered lines, or where only a path was given, all it says."""
    if not isinstance(call.input, Mapping) or call.output is None or call.is_error:
        return None
    text = output_text(call.output)
    if not text or len(text) > _LONGEST:
        return None
    numbered = _numbered(text)
    if numbered is not None:
        return numbered
    return KnownText(text if text.endswith("\n") else f"{text}\n") if set(call.input) <= set(PATHS) else None


def _numbered(text: str) -> KnownText | None:
    """The first run of lines that are numbered one after the other."""
    first = following = 0
    lines: list[str] = []
    for line in text.split("\n"):
        found = _NUMBERED.fullmatch(line)
        if found is not None and (not lines or int(found[1]) == following):
            first = first or int(found[1])
            following = int(found[1]) + 1
            lines.append(found[2])
        elif lines:
            break
    if not first:
        return None
    # Claude Code numbers what follows the last newline, too.
    return KnownText("\n".join(lines if lines[-1:] == [""] and len(lines) > 1 else [*lines, ""]), first)


def after_hunk(text: str, hunk: Hunk) -> str | None:
    """`text` with the change made; None where the old lines do not stand in it."""
    if hunk.old:
        if hunk.old not in text:
            return None
        return text.replace(hunk.old, hunk.new) if hunk.everywhere else text.replace(hunk.old, hunk.new, 1)
    if hunk.new:
        return None
    old, new = ("".join(f"{line}\n" for mark, line in hunk.rows if mark in kept) for kept in ("- ", "+ "))
    if not old:
        return None
    at = 0 if text.startswith(old) else text.find("\n" + old) + 1
    return text[:at] + new + text[at + len(old) :] if at or text.startswith(old) else None
