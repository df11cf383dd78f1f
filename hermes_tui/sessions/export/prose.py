"""Embeds foreign Markdown in a document without swallowing what follows it.

A fence left open or the beginning of an HTML block would run on to the end of the document (CommonMark 0.31, §4.5 and
§4.6). Where a simple look at the lines proves how the fences stand, they are left or closed; where it does not (a
fence inside a list item that ends early, say), the whole is quoted, and a quote ends by itself.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["contained"]

_FENCE = re.compile(r"( {0,3})(?:(`{3,})([^`]*)|(~{3,})(.*))$")
_HTML = re.compile(r" {0,3}<(?:[!?]|/?[A-Za-z][A-Za-z0-9-]*(?:[\s/>]|$))")


class _Open(NamedTuple):
    """A fence that began."""

    mark: str
    indent: int


def contained(text: str) -> str:
    """`text` such that the line after it is not part of it. Newlines are `\\n`."""
    fence: _Open | None = None
    lines: list[str] = []
    for written in text.split("\n"):
        line = written.expandtabs(4)  # as Markdown itself looks at it
        fence_line = _FENCE.match(line)
        if fence is not None:
            if line.strip() and len(line) - len(line.lstrip(" ")) < fence.indent:
                return _quoted(text)  # whatever held the fence may have ended here, and the fence with it
            if fence_line:
                mark = fence_line[2] or fence_line[4]
                behind = (fence_line[3] or fence_line[5] or "").strip()
                if mark[0] == fence.mark[0] and len(mark) >= len(fence.mark) and not behind:
                    fence = None
        elif fence_line:
            fence = _Open(fence_line[2] or fence_line[4], len(fence_line[1]))
        elif "```" in line or "~~~" in line:
            return _quoted(text)
        elif _HTML.match(line):
            written = written.replace("<", "\\<", 1)
        lines.append(written)
    if fence is None:
        return "\n".join(lines)
    # A fence that is left open is closed; an indented one may stand in a list item, and the whole is quoted.
    return "\n".join([*lines, fence.mark]) if fence.indent == 0 else _quoted(text)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
