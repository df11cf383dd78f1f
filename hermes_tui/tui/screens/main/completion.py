"""Completes the filter at the cursor of the search box.

Also says what the word there is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hermes_tui.display import safe
from hermes_tui.tui.widgets.line import Part
from hermes_tui.tui.widgets.search_box import SearchBox

if TYPE_CHECKING:
    from hermes_tui.sessions.query.completion import Completion

__all__ = ["FilterCompletion"]

_OFFERED = 6
"""Ways to complete a filter that are named."""


class FilterCompletion:
    """Owns which of the ways to complete a filter is in the box."""

    def __init__(self, box: SearchBox, ways: Callable[[str, int], Sequence[Completion]]) -> None:
        """`ways`: those to complete a text at a place."""
        self._box = box
        self._ways = ways
        self._cycle: tuple[str, int, Sequence[Completion], str] = ("", 0, (), "")
        """What completing made of the box, which of the ways that is, all of them, and what the box was before."""

    def complete(self) -> bool:
        """Complete the filter at the cursor, the next way each time; False where there is none."""
        box = self._box
        text, at, ways, before = self._cycle
        if ways and box.value == text:
            at = (at + 1) % len(ways)
        else:
            at, before = 0, box.value
            ways = self._ways(box.value, box.cursor_position)
        if not ways:
            return False
        way = ways[at]
        after = f"{before[: way.start]}{way.insert}{before[way.end :]}"
        box.value = after
        box.cursor_position = way.start + len(way.insert)
        # A filter without a value yet: the next key completes that.
        self._cycle = ("", 0, (), "") if way.insert.endswith(":") and len(ways) == 1 else (after, at, ways, before)
        return True

    def hint(self) -> list[Part]:
        """A hint about the word at the cursor; empty for an ordinary one."""
        text, cursor = self._box.value, self._box.cursor_position
        if not text:
            return [(' Words, "phrases", OR, -not, begin*, and filters such as agent: since:7d is:error', "faint")]
        from hermes_tui.sessions.query.completion import mistyped
        from hermes_tui.sessions.query.filters import FILTERS
        from hermes_tui.sessions.query.grammar import split
        from hermes_tui.sessions.query.query import parse

        piece = next((one for one in split(text) if one.start < cursor <= one.end), None)
        query = parse(text, typing=True)
        kinds = {part.kind for part in query.parts if part.start < cursor <= part.end}
        said: list[Part] = []
        if "odd" in kinds and piece is not None and piece.kind == "regex":
            said.append((f" {safe(query.refused)}; it is searched as text", "warning"))
        elif "odd" in kinds and piece is not None:
            said.append(
                (f" {safe(text[piece.start : piece.end])} makes no filter: it is searched as text", "warning")
            )
        if piece is not None and piece.kind != "filter":
            for name, near in mistyped(text[piece.start : piece.end]):
                said += [(f" {safe(name)}: is no filter; there is ", "warning"), (f"{near}:", "accent")]
        if piece is not None and piece.kind == "filter":
            said.append((f" {piece.name}:", "accent"))
            said.append((f" {FILTERS[piece.name]}", ""))
        ways = self._ways(text, cursor)
        if ways and (piece is None or piece.kind == "filter" or cursor - piece.start > 1):
            shown = ", ".join(safe(way.insert) for way in ways[:_OFFERED])
            more = ", …" if len(ways) > _OFFERED else ""
            said += [("   tab", "accent"), (f" {shown}{more}", "faint")]
        return said
