"""Picks a session by typing words of its title, id or project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input

from hermes_tui.display import age, safe
from hermes_tui.tui.keymap import bindings
from hermes_tui.tui.screens.dialogs.dismissal import Dialog
from hermes_tui.tui.widgets.cells import fit, pad, width_of
from hermes_tui.tui.widgets.session_list.conversation import project_of
from hermes_tui.tui.widgets.styled import Parts, RowView, looks
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


class _Found(RowView, can_focus=False, inherit_bindings=False):
    """Those that match, with a cursor. The keys go to the box above."""

    COMPONENT_CLASSES: ClassVar[set[str]] = looks("faint", "cursor")

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

    @property
    def count(self) -> int:
        """How many match."""
        return len(self.found)

    @property
    def highlighted(self) -> Candidate | None:
        """Under the cursor."""
        return self.found[self.cursor] if self.found else None

    def search(self, text: str) -> None:
        """Show those that have every word."""
        words = text.lower().split()
        self.found = [one for haystack, one in self._all if all(word in haystack for word in words)]
        self.cursor = 0
        self.fit()
        self.jump(0)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One session, or why there is none."""
        if not self.found and y == 0:
            return self.strip([(" No session has all these words.", "faint")])
        return super().render_line(y)

    def parts(self, at: int) -> Parts:
        """One session."""
        one, width = self.found[at], self.size.width
        session = one.session
        last = f" {age(session.updated_at, self._now)} {session.message_count:>5} msg "
        note = f" {fit(one.note, _NOTE)}" if one.note and width >= 60 else ""
        id_ = f" {pad(safe(session.session_id), 24)}" if width >= 90 else ""
        if not id_ and width >= 60 and (session.title or session.preview) in self._alike:
            id_ = f" …{safe(session.session_id)[-8:]}"
        room = max(1, width - len(last) - width_of(note) - width_of(id_) - 1)
        title = pad(safe(session.title or session.preview) or "untitled", room)
        return [(f" {title}", ""), (note + id_ + last, "faint")]

    def action_open(self) -> None:
        """Say that it is chosen."""
        self.post_message(self.Clicked())


class SessionPicker(Dialog["SessionSummary | None"]):
    """Gives the session that was chosen; None when it was left."""

    AUTO_FOCUS = "Input"
    BINDINGS = bindings("picker")

    def __init__(self, heading: str, candidates: Sequence[Candidate], now: datetime) -> None:
        super().__init__(heading, "↵ choose")
        self.candidates = candidates
        self._now = now

    def body(self) -> ComposeResult:
        """The box, what was found."""
        box = Input(placeholder="words of its title, id or project", max_length=_LONGEST, select_on_focus=False)
        box.cursor_blink = False
        yield box
        yield _Found(self.candidates, self._now)

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
        if found.highlighted is not None and all(word in found.highlighted.haystack for word in words):
            self.dismiss(found.highlighted.session)

    def action_move(self, step: int) -> None:
        """Up or down."""
        self.query_one(_Found).action_move(step)

    def action_page(self, step: int) -> None:
        """A page up or down."""
        self.query_one(_Found).action_page(step)
