"""The columns of the session list: which fit, and the text of each.

How a text looks is decided elsewhere, so that nothing here needs a screen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, get_args

from hermes_tui.cells import fit, pad, pad_end, width_of
from hermes_tui.config import USUAL_COLUMNS, Column
from hermes_tui.display import PIN, age, count, safe, size
from hermes_tui.tui.agent_colours import agent_colour
from hermes_tui.tui.widgets.session_list.conversation import Conversation, ListRow
from hermes_tui.tui.widgets.session_list.order import Order
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from hermes_tui.tui.widgets.states import State, narrow_money
from session_adapters.model import SessionSummary

__all__ = ["Columns", "RowTexts", "columns_for", "containing", "lit_parts", "merged"]

_WIDTHS: Mapping[Column, int] = {
    "age": 3,
    "turns": 5,
    "tokens": 6,
    "cost": 6,
    "size": 6,
    "model": 17,
    "branch": 12,
    "source": 10,
}
_LEAST_FIRST: tuple[Column, ...] = ("branch", "model", "source", "size", "tokens", "turns", "project")
"""What is left out first where titles would have too little room."""
_LEAD = 7
"""Columns before a title, and one behind it."""
_LEFT: tuple[Column, ...] = ("project", "model", "branch", "source", "state")
"""Columns of words; numbers are aligned to the right."""
_USUAL_ORDER = Order()
_LEAST_TITLE = 16
"""Columns that a title keeps where something urgent is said beside it."""
_USUAL_NAME = 26
"""Columns that a name before a title may take of it,"""
_LEAST_BESIDE = 10
"""as long as so many are left for the title."""
_RELATION = {"fork": "fork ", "subagent": "sub "}


class Columns(NamedTuple):
    """The columns that there is room for, from left to right; the title takes what is left."""

    widths: Mapping[Column, int]

    @property
    def state(self) -> int:
        """Columns of the state: 1 for the glyph alone, more for glyph and word, 0 without it."""
        return self.widths.get("state", 0)

    @property
    def figures(self) -> int:
        """What the columns behind the age take together, with the blanks between them."""
        return sum(width + 1 for name, width in self.widths.items() if name not in ("project", "age")) - 1

    @property
    def after_title(self) -> int:
        """What the columns to the right of the title take, with a blank before each."""
        return sum(width + 1 for width in self.widths.values())


def columns_for(
    width: int, *, words: bool, chosen: Collection[Column] = USUAL_COLUMNS, order: Order = _USUAL_ORDER
) -> Columns:
    """What fits into `width` columns of those that were chosen and of what the list is sorted by. With `words`, the
    list has the screen to itself, and states are written out where there is room; beside a transcript titles have
    room first."""
    shown = [name for name in get_args(Column) if name in chosen or name == order.field]
    # What the list is sorted by takes the place of the turns.
    if order.field in ("tokens", "size") and order.field not in chosen and "turns" in shown:
        shown.remove("turns")
    if width < 54:
        narrow = ["age", "state"] if width >= 24 else ["age"]
        shown = [name for name in shown if name in (*narrow, "cost" if width >= 46 else "age")]
    widths = {name: _WIDTHS.get(name, 0) for name in shown}
    if "project" in widths:
        widths["project"] = 9 if width < 72 else 12 if width < 100 else 20
    if "state" in widths:
        # With words: for `⚑ approval`, then `■ suspended`, then `↻ resume pending`.
        widths["state"] = 1 if not words or width < 64 else 10 if width < 72 else 11 if width < 100 else 16
    title = 16 if words else min(28, width * 0.42)
    for name in _LEAST_FIRST if width >= 54 else ():
        if width - Columns(widths).after_title - _LEAD >= title:
            break
        if name != order.field:
            widths.pop(name, None)
    return Columns(widths)


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
            label = f"     {row.snippet.label}  " if row.snippet.label else "     "
            text = fit(row.snippet.text, max(0, self.width - width_of(label) - 1))
            marks = [(start, min(end, len(text))) for start, end in row.snippet.marks if start < len(text)]
            parts = [(label, "faint"), *lit_parts(text, marks, "faint")]
        else:
            return [(self._heading(row), "caption")]
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
        names = "".join(
            " " + pad(name if name != "state" else "", width, right=name not in _LEFT)
            for name, width in columns.widths.items()
        ).rstrip()
        room = self.width - columns.after_title - 1
        return pad(f" {heading}", max(0, room)) + names

    def _parts(self, row: ListRow, conversation: Conversation) -> list[tuple[str, str]]:
        tip = conversation.tip
        columns = self.columns
        told = self.states.foremost(conversation) if row.unfolded is False else conversation
        state = self.states.of(told)
        urgent = state if self.states.is_urgent(told) else None
        lead = self._lead(row, conversation, urgent)
        room = self.width - sum(width_of(text) for text, _ in lead) - columns.after_title - 1
        said = f"{urgent.glyph} {urgent.word}" if urgent is not None and columns.state == 1 else ""
        # Where the figures have no room for it, it takes some of the title's: columns stay under their names.
        fits = width_of(said) <= columns.figures
        beside = "" if fits or room - width_of(said) - 1 < _LEAST_TITLE else f" {said}"
        room -= width_of(beside)
        pin = f"{PIN} " if room > 2 and any(part.pinned for part in conversation.parts) else ""
        room -= len(pin)
        known = self._known(row, tip, max(room // 2, min(room - _LEAST_BESIDE, _USUAL_NAME)))
        room -= width_of(known)
        title = fit(safe(conversation.title) or "untitled", max(0, room))
        asleep = tip.gone or tip.archived
        purpose = "faint" if asleep or not conversation.title else "title"
        parts = [*lead, (pin, "accent"), *self._lit(known, "faint"), *self._lit(title, purpose)]
        style = urgent.style if urgent else ""
        parts += [(" " * max(0, room - width_of(title)), ""), (beside, style)]
        for name, width in columns.widths.items():
            if said and fits and name not in ("project", "age"):
                # That somebody waits is worth more than what it cost.
                return [*parts, (" " + pad(said, columns.figures, right=True), style)]
            (text, purpose), *rest = self._cell(name, width, row, conversation, state)
            parts += [(f" {text}", purpose), *rest]  # a blank of its own would be two more changes of the colour
        return parts

    def _known(self, row: ListRow, tip: SessionSummary, most: int) -> str:
        """What stands before a title in at most so many columns: what else the session is known as, and of one that
        was found whom it is shared with. Of a long name the end tells more."""
        if not tip.known_as or most < 4:
            return ""
        name, *notes = map(safe, (tip.known_as, *(tip.notes if row.result else ())))
        if width_of(name) > most - 2:
            return f"{pad_end(name, most - 2)}  "
        said = ", ".join((name, *notes))
        return f"{said if width_of(said) <= most - 2 else fit(f'{name}, …', most - 2)}  "

    def _cell(
        self, name: Column, width: int, row: ListRow, conversation: Conversation, state: State | None
    ) -> list[tuple[str, str]]:
        """The text of one column, exactly as wide."""
        tip = conversation.tip
        if name == "project":
            return self._lit(pad_end(safe(conversation.project) or "—", width), "faint")
        if name == "state":
            shown = "" if state is None else state.glyph if width == 1 else f"{state.glyph} {state.word}"
            while width_of(shown) > width and shown.count(" ") > 1:  # of several words, those that fit
                shown = shown.rpartition(" ")[0]
            return [(pad(shown, width), state.style if state else "")]
        if name in ("model", "branch", "source"):
            said = {"model": tip.model, "branch": tip.git_branch, "source": tip.source}[name]
            return [(pad_end(safe(said or "—"), width), "faint")]
        if name == "cost":
            return [(pad(narrow_money(conversation.cost, width), width, right=True), "cost")]
        # Age, turns, tokens or size, as short as a column is.
        if name == "age":
            figure = age(conversation.activity if not row.guide else tip.updated_at, self.now)
        elif name == "turns":
            figure = str(conversation.turns) if conversation.turns < 10000 else "9999+"
        elif name == "tokens":
            figure = count(conversation.tokens.total) if conversation.tokens is not None else ""
        else:
            octets = sum(part.size for part in conversation.parts)
            figure = size(octets) if octets else ""
        return [(pad(figure, width, right=True), "faint")]

    def _lead(self, row: ListRow, conversation: Conversation, urgent: State | None) -> list[tuple[str, str]]:
        """What stands before the title: fold mark, whether it is unread, the agent's badge or the branch that it
        hangs on, and whether it is marked or somebody should look."""
        mark = "" if row.unfolded is None else "▾" if row.unfolded else "▸"
        tip = conversation.tip
        here = (conversation, *conversation.below) if row.unfolded is False else (conversation,)
        unread = ("┃", "accent") if any(map(self.states.is_unread, here)) else (" ", "")
        chosen = ("◆", "match") if conversation.key in self.marked else (" ", "")
        if urgent is not None and not chosen[1]:
            chosen = (urgent.glyph, urgent.style)
        if not row.guide:
            badge = pad(safe(self.badges.get(tip.agent, tip.agent[:2])), 2)
            alone = _relation(conversation) if row.result else ""
            agent = (badge, f"agent-{agent_colour(tip.agent)}")
            return [(mark or " ", "faint"), unread, agent, chosen, (" ", ""), (alone, "faint")]
        # A deep tree must leave room for the title; whole levels of it, two columns each.
        guide = row.guide[-max(4, self.width // 4 // 2 * 2) :]
        return [
            chosen,
            unread,
            (guide, "rule"),
            (f"{mark} " if mark else "", "faint"),
            (_relation(conversation), "faint"),
        ]

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
        # Some letters are two in lower case (`İ`): what is found there is elsewhere in the text.
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
