"""A short list of things to choose from, each with a key of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widget import Widget

from hermes_tui.keymap import bindings
from hermes_tui.widgets.cells import fit, width_of
from hermes_tui.widgets.line import Line

__all__ = ["Choice", "MenuScreen"]

_LEAVE = "esc leaves "


class Choice(NamedTuple):
    """One line. Texts must be safe for a terminal already."""

    key: str
    """A single character that chooses it at once."""
    label: str
    detail: str = ""


class _Choices(Widget, can_focus=True, inherit_bindings=False):
    """The lines, with a cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"choices--key", "choices--faint", "choices--cursor"}
    BINDINGS = bindings("menu")

    def __init__(self, choices: Sequence[Choice], width: int) -> None:
        """`width`: columns that are wanted in any case."""
        super().__init__()
        self._choices = choices
        self._width = width
        self._column = max((width_of(one.label) for one in choices), default=0)
        self.cursor = 0

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """A line for each."""
        return len(self._choices)

    def get_content_width(self, container: object, viewport: object) -> int:
        """What the longest takes, the line above included."""
        details = max((width_of(one.detail) for one in self._choices), default=0)
        return max(self._width, 6 + self._column + details)

    def render_line(self, y: int) -> Strip:
        """One choice."""
        width, base = self.size.width, self.rich_style
        if y >= len(self._choices):
            return Strip.blank(width, base)
        one = self._choices[y]
        key = base + self.get_component_rich_style("choices--key", partial=True)
        faint = base + self.get_component_rich_style("choices--faint", partial=True)
        label = fit(one.label, width - 4).ljust(min(self._column, max(0, width - 4)))
        room = width - 6 - width_of(label)
        detail = Segment(f"  {fit(one.detail, room)}", faint)
        strip = Strip([Segment(f" {one.key} ", key), Segment(f" {label}", base), detail]).adjust_cell_length(
            width, base
        )
        if y == self.cursor:
            strip = strip.apply_style(self.get_component_rich_style("choices--cursor", partial=True))
        return strip

    def action_move(self, step: int) -> None:
        """Up (-1) or down (1), round and round."""
        self.cursor = (self.cursor + step) % len(self._choices)
        self.refresh()


class MenuScreen(ModalScreen[str]):
    """Gives the key of what was chosen; None when it was left."""

    AUTO_FOCUS = "_Choices"

    def __init__(self, heading: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self._heading = heading
        self._choices = choices

    def compose(self) -> ComposeResult:
        """Heading and choices."""
        with Vertical(classes="dialog"):
            yield Line(id="dialog-title")
            yield _Choices(self._choices, width_of(self._heading) + width_of(_LEAVE) + 3)

    def on_mount(self) -> None:
        """Say what it is about."""
        self.query_one("#dialog-title", Line).show([(f" {self._heading}", "bright")], [(_LEAVE, "faint")])

    def on_key(self, event: events.Key) -> None:
        """The character of a choice chooses it."""
        if any(one.key == event.character for one in self._choices):
            event.stop()
            self.dismiss(event.character)

    def action_choose(self) -> None:
        """Choose what the cursor is on."""
        self.dismiss(self._choices[self.query_one(_Choices).cursor].key)

    def action_leave(self) -> None:
        """Choose nothing."""
        self.dismiss(None)
