"""A lane as a line of the table, and all that is known of it as text."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from hermes_tui.attention.lane_turns import queue_words, turn_words
from hermes_tui.display import age, count, counted, safe
from hermes_tui.tui.widgets.lanes.columns import LaneRow
from hermes_tui.tui.widgets.lanes.states import lane_state, state_with
from hermes_tui.tui.widgets.page import Paragraph
from hermes_tui.tui.widgets.states import State, attention_state

if TYPE_CHECKING:
    from hermes_tui.attention.states import SessionState
    from hermes_tui.lifecycle.lanes import Lane
    from hermes_tui.tui.workers.lane_watch import Notice

__all__ = ["lane_blocks", "lane_row"]

_COLUMN = 14
_EARLIER = 4
"""Earlier sessions that are named."""


def lane_row(
    lane: Lane,
    now: datetime,
    local: Callable[[datetime], datetime],
    notice: Notice | None,
    doing: str = "",
    turn: SessionState | None = None,
) -> LaneRow:
    """The line. `notice`: what was done to it lately; `doing`: what is being done right now; `turn`: how its turn
    stands, or was left."""
    chat = safe(lane.chat) or safe(dict(lane.parts).get("chat", "")) or "?"
    tokens = f"{count(lane.context_tokens)} ctx" if lane.context_tokens else ""
    cells = (
        safe(lane.platform) or "?",
        f"{lane.chat_type} {chat}" if lane.chat_type in ("group", "dm") else chat,
        safe(lane.who),
        safe(lane.session_id),
        age(lane.last_active, now),
        tokens or (count(lane.input_tokens + lane.output_tokens) if lane.input_tokens else ""),
    )
    state = lane_state(lane) if notice is None else state_with(lane, notice, local)
    if turn is not None and (notice is None or notice.settled is not None):
        state = attention_state(turn)
        state = state._replace(word=f"{state.word} {age(turn.since, now).strip()}")
    if doing:
        state = State("…", doing, "accent")
    if lane.disagreement and notice is None:
        state = state._replace(word=f"{state.word} !")
    return LaneRow(lane.profile, lane.key, cells, state, safe(lane.resets), safe(lane.resets_briefly))


def lane_blocks(
    lane: Lane,
    now: datetime,
    local: Callable[[datetime], datetime],
    notice: Notice | None,
    waits: str = "",
    turn: SessionState | None = None,
) -> list[Paragraph]:
    """Everything about one lane, the most telling first. `waits`: for whom what is being done to it has to wait;
    `turn` as for `lane_row`."""

    def moment(one: datetime | None) -> str:
        return f"{local(one):%Y-%m-%d %H:%M}" if one is not None else ""

    by_gateway = ", by the gateway" if "was_auto_reset" in lane.flags else ""
    tokens = {"in the last prompt": lane.context_tokens, "in": lane.input_tokens, "out": lane.output_tokens}
    facts = {"waits": waits}
    if notice is not None:
        outcome = notice.outcome
        facts[f"{outcome.request.kind}"] = f"{moment(outcome.at)}: {outcome.state}, {outcome.text}"
    if turn is not None:
        facts |= {"turn": turn_words(turn, local), "queue": queue_words(lane, turn)}
    facts |= {
        "not readable": lane.fault,
        "disagreement": lane.disagreement and f"the index and its mirror differ: {lane.disagreement}",
        "state": _state_words(lane),
        "resets": lane.resets,
        "policy": lane.policy if not lane.resets.startswith(lane.policy) else "",
        "session": _session_words(lane),
        "sessions": _lineage(lane),
        "last reset": f"{lane.last_reset}{by_gateway}" if lane.last_reset else "",
        "restarts": f"{lane.restarts} in a row while it was busy; at 3 it is suspended" if lane.restarts else "",
        "tokens": ", ".join(f"{number:,} {name}" for name, number in tokens.items() if number),
        "since": f"{moment(lane.created_at)}, last active {moment(lane.last_active)}" if lane.created_at else "",
        "key": ", ".join(f"{name} {value}" for name, value in lane.parts),
    }
    warned = {"waits", "not readable", "disagreement", "restarts"}
    blocks = [Paragraph(safe(lane.key), style="heading")]
    for name, value in facts.items():
        if value:
            style = "warning" if name in warned else ""
            blocks.append(Paragraph(safe(value), style=style, label=name, column=_COLUMN))
    return blocks


def _state_words(lane: Lane) -> str:
    words = [lane_state(lane).word]
    if lane.who == "shared":
        words.append("several people share the session")
    if lane.resume_reason:
        words.append(f"resume mark: {lane.resume_reason}")
    return " · ".join([*words, *(flag for flag in lane.flags if flag not in ("suspended", "resume_pending"))])


def _session_words(lane: Lane) -> str:
    if not lane.session_id:
        return ""
    words = [lane.session_id]
    if lane.title:
        words.append(f"“{lane.title}”")
    details = [counted(lane.messages, "message")] if lane.messages else []
    details += [one for one in (lane.model, lane.end_reason and f"ended: {lane.end_reason}") if one]
    if lane.continues_in:
        details.append(f"goes on in {lane.continues_in}")
    return " ".join(words) + (f" · {', '.join(details)}" if details else "")


def _lineage(lane: Lane) -> str:
    """`20261121_0912 ← 20261120_1800 (compression) ← …`."""
    if not lane.earlier and not lane.continues_in:
        return ""
    parts = [lane.continues_in, f"{lane.session_id} (compression)"] if lane.continues_in else [lane.session_id or "?"]
    parts += [f"{one.session_id} ({one.end_reason or 'not ended'})" for one in lane.earlier[:_EARLIER]]
    more = len(lane.earlier) - _EARLIER
    return " ← ".join(parts) + (f" ← {more} more" if more > 0 else "")
