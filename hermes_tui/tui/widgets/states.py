"""States as glyph and word, and money for a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hermes_tui.display import PIN, count, money
from session_adapters.model import Cost, SessionSummary

if TYPE_CHECKING:
    from hermes_tui.attention.states import SessionState

__all__ = ["MEANINGS", "State", "attention_state", "narrow_money", "state_of"]


class State(NamedTuple):
    """A state as glyph and word; never by colour alone."""

    glyph: str
    word: str
    style: str
    """Name of a purpose: `live`, `idle`, `error`, `faint`, `question` …"""


MEANINGS: tuple[tuple[str, str], ...] = (
    ("⚑", "approval: a tool waits for your leave"),
    ("?", "question: it asked you something, or shows a plan"),
    ("!", "stuck: at work, and silent for five minutes"),
    ("✗", "its last call failed"),
    ("◔", "limited: the provider refuses for a while"),
    ("†", "gone: its process ended in the middle of a turn"),
    ("✓", "done: it finished since you last looked"),
    ("●", "at work, or at least open in a process"),
    ("◐", "working?: no sign tells whether it is at work, waits for your leave or has ended"),
    ("○", "idle: open in a process, and nothing is going on"),
    ("┃", "unread: something came since you last looked"),
    (PIN, "pinned by you"),
    ("↻", "resume pending: a restart of Hermes' gateway interrupted it, and its lane goes on with it"),
    ("■", "suspended: the next message of its lane begins another session"),
    ("▪", "archived"),
    ("∅", "gone: its store no longer has it"),
    ("~", "the cost is an estimate"),
    ("+", "at least so many: only the ends of a large file were read so far"),
)
"""Every mark of the list, explained."""


def narrow_money(cost: Cost | None, width: int) -> str:
    """`display.money` in `width` columns (at least 5): cents give way to the dollars."""
    text = money(cost)
    if cost is None or len(text) <= width:
        return text
    mark = "~" if cost.estimated else ""
    whole = f"{mark}{cost.total_usd:.0f}"
    return whole if len(whole) <= width else mark + count(int(cost.total_usd))


def state_of(session: SessionSummary, judged: SessionState | None = None, lane: State | None = None) -> State | None:
    """What is to be known of a session at a glance; None for one that simply rests. `judged`: how it is, where it
    was looked at for that. `lane`: the state of the lane that it is in, where there is something to be said of it."""
    if session.gone:
        return State("∅", "gone", "faint")
    if judged is not None and judged.needs_person:
        return attention_state(judged)
    if lane is not None:
        return lane
    if judged is not None and (judged.state == "working" or session.live):
        return attention_state(judged)
    if session.live:
        word = (session.status or "live").strip().lower()
        if word in ("idle", "waiting"):
            return State("○", word, "idle")
        return State("●", word if len(word) <= 8 and word.isalpha() else "live", "live")
    if session.error:
        return State("✗", "error", "error")
    if session.archived:
        return State("▪", "archived", "faint")
    return None


_ATTENTION = {
    "approval": ("⚑", "needs"),
    "question": ("?", "question"),
    "stuck": ("!", "warning"),
    "failed": ("✗", "error"),
    "limited": ("◔", "limited"),
    "gone": ("†", "gone"),
    "done": ("✓", "accent"),
    "working": ("●", "live"),
    "idle": ("○", "idle"),
}


def attention_state(state: SessionState) -> State:
    """A judged state, with a question mark behind its word where it is not sure."""
    glyph, style = _ATTENTION[state.state]
    if state.word == "working?":
        glyph = "◐"
    return State(glyph, state.word, style)
