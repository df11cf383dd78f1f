"""Picks a session by typing words of its title, id or project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple

from rich.segment import Segment
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input

from hermes_tui.display import age, safe
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.dismissal import Dialog
from hermes_tui.tui.widgets.cells import fit, pad, width_of
from hermes_tui.tui.widgets.line import Line
from hermes_tui.tui.widgets.session_list.rows import project_of
from session_adapters.model import SessionSummary

__all__ = ["Candidate", "SessionPicker"]

_LONGEST = 200
_NOTE = 22


class Candidate(NamedTuple):
    """A session that can be chosen."""

    session: SessionSummary
    note: str = ""
    """What is special about it; safe for a terminal."""

    @property
    def haystack(self) -> str:
        """What is searched, lower-case."""
        one = self.session
        parts = (one.title, one.preview, one.session_id, project_of(one), one.source or "", self.note)
        return "\n".join(parts).lower()


class _Found(Widget, inherit_bindings=False):
    """Those that match, with a cursor. The keys go to the box above."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"choices--key", "choices--faint", "choices--cursor"}

    class Clicked(Message):
        """One was clicked twice."""

    def __init__(self, candidates: Sequence[Candidate], now: datetime) -> None:
        super().__init__()
        self._all = [(one.haystack, one) for one in candidates]
        self.found: list[Candidate] = list(candidates)
        self._now = now
        names = Counter(one.session.title or one.session.preview for one in candidates)
        self._alike = {name for name, count in names.items() if count > 1}
        """Titles that several have: there the end of the id is shown where there is no room for all of it."""
        self.cursor = 0
        self._top = 0

    @property
    def chosen(self) -> Candidate | None:
        """Under the cursor."""
        return self.found[self.cursor] if self.found else None

    def search(self, text: str) -> None:
        """Show those that have every word."""
        words = text.lower().split()
        self.found = [one for haystack, one in self._all if all(word in haystack for word in words)]
        self.cursor = self._top = 0
        self.refresh()

    def move(self, step: int) -> None:
        """Up or down."""
        self.cursor = max(0, min(self.cursor + step, len(self.found) - 1))
        height = max(1, self.size.height)
        self._top = max(min(self._top, self.cursor), self.cursor - height + 1)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One session."""
        width, base = self.size.width, self.rich_style
        faint = base + self.get_component_rich_style("choices--faint", partial=True)
        at = self._top + y
        if not self.found and y == 0:
            return Strip([Segment(" No session has all these words.", faint)]).adjust_cell_length(width, base)
        if at >= len(self.found):
            return Strip.blank(width, base)
        one = self.found[at]
        session = one.session
        last = f" {age(session.updated_at, self._now)} {session.message_count:>5} msg "
        note = f" {fit(one.note, _NOTE)}" if one.note and width >= 60 else ""
        id_ = f" {pad(safe(session.session_id), 24)}" if width >= 90 else ""
        if not id_ and width >= 60 and (session.title or session.preview) in self._alike:
            id_ = f" …{safe(session.session_id)[-8:]}"
        room = max(1, width - len(last) - width_of(note) - width_of(id_) - 1)
        title = pad(safe(session.title or session.preview) or "untitled", room)
        strip = Strip([Segment(f" {title}", base), Segment(note + id_ + last, faint)])
        strip = strip.adjust_cell_length(width, base)
        if at == self.cursor:
            strip = strip.apply_style(self.get_component_rich_style("choices--cursor", partial=True))
        return strip

    def on_click(self, event: events.Click) -> None:
        """To the line; a second click chooses it."""
        if self._top + event.y < len(self.found):
            self.move(self._top + event.y - self.cursor)
            if event.chain > 1:
                self.post_message(self.Clicked())


class SessionPicker(Dialog["SessionSummary | None"]):
    """Gives the session that was chosen; None when it was left."""

    AUTO_FOCUS = "Input"
    BINDINGS = bindings("picker")

    def __init__(self, heading: str, candidates: Sequence[Candidate], now: datetime) -> None:
        super().__init__()
        self._heading = heading
        self.candidates = candidates
        self._now = now

    def compose(self) -> ComposeResult:
        """Heading, the box, what was found."""
        with Vertical(classes="dialog"):
            yield Line(id="dialog-title")
            box = Input(placeholder="words of its title, id or project", max_length=_LONGEST, select_on_focus=False)
            box.cursor_blink = False
            yield box
            yield _Found(self.candidates, self._now)

    def on_mount(self) -> None:
        """Say what it is about."""
        hints = [(" ↵ choose  esc leave ", "faint")]
        self.query_one("#dialog-title", Line).show([(f" {self._heading}", "bright")], hints)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self.query_one(_Found).search(event.value)

    @on(Input.Submitted)
    @on(_Found.Clicked)
    def action_choose(self) -> None:
        """Take what is under the cursor."""
        # What was typed in the same moment may not have been looked for yet.
        found = self.query_one(_Found)
        words = self.query_one(Input).value.lower().split()
        if found.chosen is not None and all(word in found.chosen.haystack for word in words):
            self.dismiss(found.chosen.session)

    def action_move(self, step: int) -> None:
        """Up or down."""
        self.query_one(_Found).move(step)

    def action_page(self, step: int) -> None:
        """A page up or down."""
        found = self.query_one(_Found)
        found.move(step * max(1, found.size.height - 1))

    def action_leave(self) -> None:
        """Choose nothing."""
        self.dismiss(None)
