"""The line to find something inside the open session, in the place of the hints."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input

from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.widgets.hints import Hints
from hermes_tui.tui.widgets.line import Line
from hermes_tui.tui.widgets.search_box import QueryBox
from hermes_tui.tui.widgets.transcript.find.typed_find import TypedFind

__all__ = ["FindBar"]


class _FindBox(QueryBox):
    """What is typed here is found in the open session."""

    BINDINGS = bindings("find")

    def __init__(self, bar: FindBar) -> None:
        super().__init__("words; ↵ alone finds the last ones again")
        self._bar = bar

    def action_keep(self) -> None:
        """Go on with `n` and `N`."""
        self._bar.keep()

    def action_leave(self) -> None:
        """Back to where the finding began."""
        self._bar.leave()

    def action_match(self, step: int) -> None:
        """Go to the next match (1), or the previous one (-1), and stay in the box."""
        self._bar.typed.go_on(step)


class FindBar(Horizontal):
    """Shown while somebody types; the keys go back to the transcript then."""

    def __init__(self, pane: Widget, typed: TypedFind) -> None:
        """`pane` has the keys before and after; `typed` finds."""
        super().__init__()
        self._pane = pane
        self.typed = typed
        self.box = _FindBox(self)
        self._before = ""
        """What was looked for last."""

    def compose(self) -> ComposeResult:
        """Name, box, keys."""
        yield Line(id="find-name")
        yield self.box
        yield Line(id="find-keys")

    def on_mount(self) -> None:
        """Say what it is."""
        self.query_one("#find-name", Line).show([(" find in this session", "bright")])
        keys = [(" ↵", "accent"), (" n N go on ", "faint"), (" esc", "accent"), (" leave ", "faint")]
        self.query_one("#find-keys", Line).show(keys)

    def open(self) -> None:
        """Let somebody type. The focus moves at once: the next key may be in the same read."""
        self._show(True)
        self.box.value = ""
        self.typed.begin()
        self.screen.set_focus(self.box)

    def keep(self) -> None:
        """What is typed stays found."""
        text = self.box.value.strip() or self._before
        self._before = text
        self.typed.find(text, last=True)
        self._give_back()

    def leave(self) -> None:
        """Find nothing after all."""
        self.typed.give_up()
        self._give_back()

    def _give_back(self) -> None:
        self.screen.set_focus(self._pane)
        self._show(False)

    def _show(self, shown: bool) -> None:
        self.styles.display = "block" if shown else "none"
        for hints in self.screen.query(Hints):
            hints.styles.display = "none" if shown else "block"

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.box.has_focus:
            self.typed.find(event.value)

    def on_descendant_blur(self) -> None:
        """The keys went elsewhere; not where the terminal has lost them all."""
        if self.screen.focused not in (None, self.box):
            self._show(False)
