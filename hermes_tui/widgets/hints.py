"""The line at the bottom: the keys of what has the focus, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.screen import Screen
from textual.strip import Strip

from hermes_tui.keymap import KEYS, key_label
from hermes_tui.widgets.cells import width_of
from hermes_tui.widgets.line import Line, Part

__all__ = ["Hints", "hints_of"]

_ORDER = {key.id: number for number, key in enumerate(KEYS)}


def hints_of(screen: Screen[Any]) -> list[tuple[str, str]]:
    """(key, word) for every binding that works now and has a hint, one key per action: the way back first, then
    those of the innermost widget, in the order in which the keys are listed."""
    places: dict[object, int] = {}
    found: dict[str, tuple[tuple[int, int], str, str]] = {}
    for number, active in enumerate(screen.active_bindings.values()):
        place = places.setdefault(active.node, len(places))
        binding = active.binding
        if binding.show and active.enabled and binding.action not in found:
            # The way out comes first: on a narrow screen it must not fall off the end.
            rank = (-1, 0) if binding.id == "main.back" else (place, _ORDER.get(binding.id or "", number))
            found[binding.action] = rank, key_label(binding.key), binding.description
    return [(key, word) for _, key, word in sorted(found.values())]


class Hints(Line):
    """Keys in the accent colour, a word or two for each; as many as fit whole."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._hints: tuple[tuple[str, str], ...] = ()

    def show_hints(self, hints: Sequence[tuple[str, str]]) -> None:
        """Show these; does nothing when they are shown already."""
        if tuple(hints) != self._hints:
            self._hints = tuple(hints)
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """The line, made for the width it has now."""
        parts: list[Part] = []
        room = self.size.width
        for key, word in self._hints:
            hint: list[Part] = [(f" {key}", "accent"), (f" {word} ", "faint")]
            room -= sum(width_of(text) for text, _ in hint)
            if room < 0:
                break
            parts.extend(hint)
        self._left = tuple(parts)
        return super().render_line(y)
