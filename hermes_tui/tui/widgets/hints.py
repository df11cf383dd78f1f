"""The line at the bottom: the keys of what has the focus, and no others."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from textual.screen import Screen
from textual.strip import Strip

from hermes_tui.cells import width_of
from hermes_tui.tui.keymap import KEYS, Key, key_label
from hermes_tui.tui.widgets.line import Line, Part

__all__ = ["OF_SEARCHES", "Hints", "keys_here"]

OF_SEARCHES = ("transcript.next_match",)
"""Ids of keys that are not worth a hint where nothing was searched for."""

_ORDER = {key.id: number for number, key in enumerate(KEYS)}
_FIRST = (
    *("main.back", "transcript.next_match", "lane.close", "lane.earlier", "lane.later"),
    *("lanes.close", "lanes.open", "operations.reset", "operations.suspend", "operations.resume"),
)
"""Before the keys of the innermost widget: on a narrow screen they must not fall off the end."""
_HELP = next(key.hint for key in KEYS if key.id == "app.help")
"""The word that stays, whatever else there is no room for: who sees it finds all the others."""


def keys_here(screen: Screen[Any]) -> list[Key]:
    """Every key that works on a screen now, with the keys that it has there: those of the innermost widget first.

    One that another takes, or that is typed where one types, is none of them; nor are the ids that the screen names
    as `unlisted`: what they say is that they do not work."""
    unlisted: Container[str] = getattr(screen, "unlisted", ())
    active = {key: one.binding.id for key, one in screen.active_bindings.items()}
    found: list[Key] = []
    for context in dict.fromkeys(id_.partition(".")[0] for id_ in active.values() if id_):
        for key in [one for one in KEYS if one.context == context and one.id not in unlisted]:
            names = [name for name, id_ in active.items() if id_ == key.id]
            # Textual's own ctrl+c copies what is selected, and where nothing is, lets ours have it.
            names = names or [name for name in key.keys.split(",") if active.get(name, key.id) is None]
            if names:
                found.append(key._replace(keys=",".join(names)))
    return found


class Hints(Line):
    """Keys in the accent colour, a word or two for each; as many as fit whole, the one that shows all among them."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._hints: tuple[tuple[str, str], ...] = ()
        self._without: Container[str] = ()

    def show_keys(self, without: Container[str] = ()) -> None:
        """Show the keys that work on this screen now, but for those with these ids."""
        self._without = without
        places: dict[object, int] = {}
        found: dict[str, tuple[tuple[int, int], str, str]] = {}
        for number, active in enumerate(self.screen.active_bindings.values()):
            place = places.setdefault(active.node, len(places))
            binding = active.binding
            # One key per action.
            if binding.show and active.enabled and binding.action not in found and binding.id not in without:
                # The way back first, then those of the innermost widget, in the order in which the keys are listed.
                rank = (place, _ORDER.get(binding.id or "", number))
                if binding.id in _FIRST:
                    rank = (-1, _FIRST.index(binding.id))
                found[binding.action] = rank, key_label(binding.key), binding.description
        only = [one for action, one in found.items() if action.startswith("jump_to")]
        hints = tuple((key, word) for _, key, word in sorted(only or found.values()))
        if hints != self._hints:
            self._hints = hints
            self.refresh()

    def renew(self) -> None:
        """Other keys work now."""
        self.show_keys(self._without)

    def render_line(self, y: int) -> Strip:
        """The line, made for the width it has now."""
        shown = list(self._hints)
        while sum(width_of(text) for hint in shown for text, _ in _parts(hint)) > self.size.width:
            others = [at for at, (_, word) in enumerate(shown) if word != _HELP]
            del shown[others[-1] if others else -1]
        self._left = tuple(part for hint in shown for part in _parts(hint))
        return super().render_line(y)


def _parts(hint: tuple[str, str]) -> list[Part]:
    return [(f" {hint[0]}", "accent"), (f" {hint[1]} ", "faint")]
