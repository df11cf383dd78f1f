"""The line at the bottom: the keys of what has the focus, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual.screen import Screen

from hermes_tui.keymap import key_label
from hermes_tui.widgets.line import Line, Part

__all__ = ["Hints", "hints_of"]


def hints_of(screen: Screen[Any]) -> list[tuple[str, str]]:
    """(key, word) for every binding that works now and has a hint, innermost first; one key per action."""
    found: dict[str, tuple[str, str]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.show and active.enabled and binding.action not in found:
            found[binding.action] = (key_label(binding.key), binding.description)
    return list(found.values())


class Hints(Line):
    """Keys in the accent colour, a word or two for each."""

    def show_hints(self, hints: Sequence[tuple[str, str]]) -> None:
        """Show these, as many as fit."""
        parts: list[Part] = []
        for key, word in hints:
            parts.extend(((f" {key}", "accent"), (f" {word} ", "faint")))
        self.show(parts)
