"""What one line says about the session under the cursor."""

from __future__ import annotations

from hermes_tui.clock import Clock
from hermes_tui.display import age, count, safe
from hermes_tui.widgets.line import Part
from hermes_tui.widgets.session_rows import Conversation
from hermes_tui.widgets.states import state_of
from session_adapters.model import EPOCH, TokenUsage

__all__ = ["detail_parts"]


def detail_parts(conversation: Conversation, clock: Clock) -> tuple[list[Part], list[Part]]:
    """Left: model, branch, turns, tokens, times. Right: the state in words."""
    tip = conversation.tip
    least = "≥ " if conversation.partial else ""
    facts = [
        safe(tip.model or ""),
        safe(tip.git_branch or ""),
        f"{least}{conversation.turns} turn{'' if conversation.turns == 1 else 's'}",
        _tokens(conversation.tokens, least),
        _parts(conversation),
        _times(conversation, clock),
    ]
    left: list[Part] = [(" ", "")]
    for fact in facts:
        if fact:
            left += [(" · ", "faint")] if len(left) > 1 else []
            left.append((fact, ""))
    state = state_of(tip)
    return left, [] if state is None else [(f"{state.glyph} {state.word} ", state.style)]


def _tokens(tokens: TokenUsage | None, least: str) -> str:
    """Everything read, cached or not, and everything written."""
    if tokens is None or not tokens.total:
        return ""
    return f"{least}{count(tokens.total - tokens.output_tokens)} in {count(tokens.output_tokens)} out"


def _parts(conversation: Conversation) -> str:
    return f"{len(conversation.parts)} parts" if len(conversation.parts) > 1 else ""


def _times(conversation: Conversation, clock: Clock) -> str:
    first, last = conversation.parts[0].created_at, conversation.tip.updated_at
    if last <= EPOCH:
        return ""
    now = clock.now()
    ago = age(last, now).strip()
    ago = "just now" if ago == "now" else f"{ago} ago"
    if first <= EPOCH:
        return f"last {ago}"
    local = clock.local(first)
    same_day = local.date() == clock.local(now).date()
    return f"started {local:%H:%M}, last {ago}" if same_day else f"started {local:%Y-%m-%d %H:%M}, last {ago}"
