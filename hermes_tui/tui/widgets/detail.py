"""What one line says about the session under the cursor."""

from __future__ import annotations

from hermes_tui.cells import fit, width_of
from hermes_tui.clock import Clock
from hermes_tui.display import age, compact, count, counted, safe
from hermes_tui.sessions.catalogue.origin import origin_of
from hermes_tui.tui.widgets.line import Part
from hermes_tui.tui.widgets.session_list.conversation import Conversation
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from session_adapters.model import EPOCH, TokenUsage

__all__ = ["detail_parts"]

_ORIGIN = {"Source": "", "User": "user ", "Chat": "", "Parent": "from ", "Ended": "ended: "}
"""What stands before each fact of `origin_of`."""
_LEAST_FIRST = (
    "Parent",
    "User",
    "branch",
    "parts",
    "titled",
    "Chat",
    "turns",
    "tokens",
    "Ended",
    "Source",
    "model",
    "times",
    "known",
    "agent",
)
"""What is left out first. Branch and turns are in other places, too."""


def detail_parts(
    conversation: Conversation, clock: Clock, width: int, states: ShownStates, agent: str = ""
) -> tuple[list[Part], list[Part]]:
    """Left: `agent` as it is called, what the session is known as, source, user, chat, parent and end, model, branch,
    turns, tokens, parts, notes, the user's own marks, times, without the least of them where `width` is too little.
    Right: the state in words, what it is about and since when: half of the line at most."""
    tip = conversation.tip
    least = "≥ " if conversation.partial else ""
    right: list[Part] = []
    if (state := states.of(conversation)) is not None:
        said = " · ".join(filter(None, (f"{state.glyph} {state.word}", states.more(conversation, clock))))
        right.append((f"{fit(said, min(width_of(said), max(width // 2, 20)))} ", state.style))
    tokens = conversation.tokens or TokenUsage()
    given, written = count(tokens.total - tokens.output_tokens), count(tokens.output_tokens)
    facts = {
        "agent": agent,
        "known": compact(tip.known_as, 60),
        # That it was held in a terminal goes without saying.
        **{
            name: f"{_ORIGIN[name]}{compact(value, 60)}"
            for name, value in origin_of(tip)
            if (name, value) != ("Source", "cli")
        },
        "model": safe(tip.model or ""),
        "branch": safe(tip.git_branch or ""),
        "turns": f"{least}{counted(conversation.turns, 'turn')}",
        "tokens": f"{least}{given} in {written} out" if tokens.total else "",
        "parts": f"{len(conversation.parts)} parts" if len(conversation.parts) > 1 else "",
        "notes": ", ".join(map(safe, tip.notes)),
        "tags": " ".join(f"#{safe(tag)}" for part in conversation.parts for tag in part.tags),
        "noted": next((f"“{compact(part.own_note, 60)}”" for part in conversation.parts if part.own_note), ""),
        "titled": next((compact(part.agent_title, 60) for part in conversation.parts if part.agent_title), ""),
        "times": _times(conversation, clock),
    }
    shown = {name: fact for name, fact in facts.items() if fact}
    room = width - 2 - sum(width_of(text) for text, _ in right)
    for name in _LEAST_FIRST:
        if width_of(" · ".join(shown.values())) <= room:
            break
        shown.pop(name, None)
    left: list[Part] = [(" ", "")]
    for fact in shown.values():
        left += [(" · ", "faint")] if len(left) > 1 else []
        left.append((fact, ""))
    return left, right


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
