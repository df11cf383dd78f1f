"""The columns of the session list: which fit, and the text of each.

How a text looks is decided elsewhere, so that nothing here needs a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from hermes_tui.display import PIN, age, safe
from hermes_tui.tui.agent_colours import agent_colour
from hermes_tui.tui.widgets.cells import fit, pad, width_of
from hermes_tui.tui.widgets.session_list.conversation import Conversation, project_of
from hermes_tui.tui.widgets.session_list.order import Order
from hermes_tui.tui.widgets.session_list.rows import ListRow, Snippet
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from hermes_tui.tui.widgets.states import State, narrow_money

__all__ = ["Columns", "RowTexts", "columns_for", "containing", "lit_parts", "merged"]

_AGE = 3
_TURNS = 5
_RELATION = {"fork": "fork ", "subagent": "sub "}


class Columns(NamedTuple):
    """Widths, 0 for a column that is left out; the title takes what is left."""

    project: int
    age: int
    turns: int
    cost: int
    state: int
    """1 for the glyph alone, more for glyph and word."""

    @property
    def figures(self) -> int:
        """What turns, cost and state take together, with the blanks between them."""
        return sum(width + 1 for width in (self.turns, self.cost, self.state) if width) - 1

    @property
    def after_title(self) -> int:
        """What the columns to the right of the title take, with a blank before each."""
        return sum(width + 1 for width in self if width)


def columns_for(width: int, *, words: bool) -> Columns:
    """What fits into `width` columns. With `words`, states are written out where there is room."""
    if width < 30:
        return Columns(0, _AGE, 0, 0, 1 if width >= 24 else 0)
    if width < 46:
        return Columns(0, _AGE, 0, 0, 1)
    if width < 54:
        return Columns(0, _AGE, 0, 6, 1)
    project = 9 if width < 72 else 12 if width < 100 else 20
    # With words: for `? approval`, then `■ suspended`, then `↻ resume pending`.
    state = 1 if not words or width < 64 else 10 if width < 72 else 11 if width < 100 else 16
    return Columns(project, _AGE, _TURNS, 6, state)


def _in_words(state: State, width: int) -> str:
    """Glyph and word; of several words, those that fit."""
    said = f"{state.glyph} {state.word}"
    while width_of(said) > width and said.count(" ") > 1:
        said = said.rpartition(" ")[0]
    return said


class RowTexts(NamedTuple):
    """Everything that the text of a row depends on besides the row itself."""

    width: int
    columns: Columns
    now: datetime
    badges: Mapping[str, str]
    """Agent name → its two letters."""
    find: Callable[[str], Sequence[tuple[int, int]]] = lambda text: ()
    """The characters of a text that are to be lit; in order, merged."""
    states: ShownStates = ShownStates()
    marked: Collection[str] = ()
    """Keys of the conversations that are marked."""
    order: Order = Order()

    def parts(self, row: ListRow, *, on_cursor: bool = False) -> list[tuple[str, str]]:
        """Texts and their purposes, at most `width` columns in all; what is faint elsewhere is read where the cursor
        is."""
        if row.conversation is not None:
            parts = self._parts(row, row.conversation)
        elif row.snippet is not None:
            parts = self._snippet(row.snippet)
        else:
            return [(self._heading(row), "heading")]
        if on_cursor:
            return [(text, "" if purpose in ("faint", "title", "rule") else purpose) for text, purpose in parts]
        return parts

    def _heading(self, row: ListRow) -> str:
        """A day or another group, and where it is to name the columns, the order and each name over its column."""
        if not row.names:
            return f" {row.heading}"
        said = self.order.words if not self.order.is_usual else ""
        heading = row.heading if said in ("", row.heading) else f"{row.heading} · {said}"
        columns = self.columns
        named = (("project", columns.project, False), ("age", columns.age, True), ("turns", columns.turns, True))
        names = "".join(
            " " + pad(name, width, right=right)
            for name, width, right in (*named, ("cost", columns.cost, True))
            if width
        )
        room = self.width - columns.after_title - 1
        return pad(f" {heading}", max(0, room)) + names

    def _parts(self, row: ListRow, conversation: Conversation) -> list[tuple[str, str]]:
        tip = conversation.tip
        columns = self.columns
        state = self.states.of(conversation)
        urgent = state if self.states.is_urgent(conversation) else None
        lead = self._lead(row, conversation, urgent)
        room = self.width - sum(width_of(text) for text, _ in lead) - columns.after_title - 1
        pin = f"{PIN} " if room > 2 and any(part.pinned for part in conversation.parts) else ""
        room -= len(pin)
        title = fit(safe(conversation.title) or "untitled", max(0, room))
        asleep = tip.gone or tip.archived
        purpose = "faint" if asleep or not conversation.title else "title"
        parts = [*lead, (pin, "accent"), *self._lit(title, purpose), (" " * max(0, room - width_of(title)), "")]
        if columns.project:
            parts.append((" ", ""))
            parts.extend(self._lit(pad(safe(project_of(tip)) or "—", columns.project), "faint"))
        moment = conversation.activity if not row.guide else tip.updated_at
        parts.append((" " + pad(age(moment, self.now), columns.age, right=True), "faint"))
        if urgent is not None and columns.state == 1:
            # That somebody waits is worth more than what it cost.
            said = f"{urgent.glyph} {urgent.word}"
            if width_of(said) <= columns.figures:
                return [*parts, (" " + pad(said, columns.figures, right=True), urgent.style)]
        if columns.turns:
            turns = str(conversation.turns) if conversation.turns < 10000 else "9999+"
            parts.append((" " + pad(turns, columns.turns, right=True), "faint"))
        if columns.cost:
            parts.append((" " + pad(narrow_money(conversation.cost, columns.cost), columns.cost, right=True), "cost"))
        if columns.state:
            shown = "" if state is None else state.glyph
            if state is not None and columns.state > 1:
                shown = _in_words(state, columns.state)
            parts.append((" " + pad(shown, columns.state), state.style if state else ""))
        return parts

    def _lead(self, row: ListRow, conversation: Conversation, urgent: State | None) -> list[tuple[str, str]]:
        """What stands before the title: fold mark, whether it is unread, the agent's badge or the branch that it
        hangs on, and whether it is marked or somebody should look."""
        mark = "" if row.unfolded is None else "▾" if row.unfolded else "▸"
        tip = conversation.tip
        unread = ("┃", "accent") if self.states.is_unread(conversation) else (" ", "")
        chosen = ("◆", "match") if conversation.key in self.marked else (" ", "")
        if urgent is not None and not chosen[1]:
            chosen = (urgent.glyph, urgent.style)
        if not row.guide:
            badge = pad(safe(self.badges.get(tip.agent, tip.agent[:2])), 2)
            alone = _relation(conversation) if row.result else ""
            agent = (badge, f"agent-{agent_colour(tip.agent)}")
            return [(mark or " ", "faint"), unread, agent, chosen, (" ", ""), (alone, "faint")]
        # A deep tree must leave room for the title.
        guide = row.guide[-max(4, self.width // 4 // 2 * 2) :]
        return [
            chosen,
            unread,
            (guide, "rule"),
            (f"{mark} " if mark else "", "faint"),
            (_relation(conversation), "faint"),
        ]

    def _snippet(self, snippet: Snippet) -> list[tuple[str, str]]:
        label = f"     {snippet.label}  " if snippet.label else "     "
        text = fit(snippet.text, max(0, self.width - width_of(label) - 1))
        marks = [(start, min(end, len(text))) for start, end in snippet.marks if start < len(text)]
        return [(label, "faint"), *lit_parts(text, marks, "faint")]

    def _lit(self, text: str, purpose: str) -> list[tuple[str, str]]:
        return lit_parts(text, self.find(text), purpose)


def lit_parts(text: str, spans: Sequence[tuple[int, int]], purpose: str) -> list[tuple[str, str]]:
    """`text` as parts of a line, with the spans (in order, apart from one another) lit."""
    parts: list[tuple[str, str]] = []
    at = 0
    for start, end in spans:
        parts += [(text[at:start], purpose), (text[start:end], "match")]
        at = end
    return [*parts, (text[at:], purpose)]


def containing(words: Sequence[str]) -> Callable[[str], Sequence[tuple[int, int]]]:
    """Finds lower-case words anywhere in a text, in whatever case they are there."""

    def find(text: str) -> Sequence[tuple[int, int]]:
        lowered = text.lower()
        if not words or len(lowered) != len(text):
            return ()
        spans: list[tuple[int, int]] = []
        for word in words:
            start = lowered.find(word)
            while start >= 0:
                spans.append((start, start + len(word)))
                start = lowered.find(word, start + len(word))
        return merged(spans)

    return find


def merged(spans: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """In order, those that touch made one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _relation(conversation: Conversation) -> str:
    return _RELATION.get(conversation.parts[0].kind, "")
