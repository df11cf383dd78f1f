"""What an agent still sees, message by message, and the sentence that says so."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from hermes_tui.memory.working.buffer_window import WINDOW
from hermes_tui.memory.working.strategy import fitting
from hermes_tui.memory.working.summary_buffer import BUDGET, FEWEST, TARGET
from hermes_tui.memory.working.token_window import PRESERVED
from hermes_tui.sessions.context.hector import hector_seen
from hermes_tui.sessions.context.tokens import estimate, text_tokens
from hermes_tui.sessions.context.window_choice import WindowChoice
from session_adapters.model import Message

__all__ = ["ContextView", "context_view", "gauged"]

_CODEX_PROMPTS = 20_000
"""Tokens of earlier prompts that Codex keeps beside the summary, the newest first (codex FACTS.md, `compacted`)."""


class ContextView(Struct, frozen=True, kw_only=True):
    """What is seen of some messages."""

    seen: tuple[bool, ...]
    """For each message, in order."""
    tokens: int
    """About; of what is seen."""
    checkpoint: int = 0
    """Which summary the agent's view begins with, counted from 1; 0 for none."""
    checkpoints: int = 0
    """How many there are among the messages."""
    complete: bool = True
    """The messages are all there are."""
    last_call: int = 0
    """Tokens that the last call which it sees took and gave; 0 where that is not recorded."""
    model: str = ""
    """The model of that call."""
    model_window: int = 0
    """Tokens that the model takes; 0 where that is not known."""
    choice: WindowChoice = WindowChoice()
    """The window that was applied."""
    note: str = ""
    """What has to be known besides: one sentence without a full stop."""

    @property
    def count(self) -> int:
        """How many messages are seen."""
        return sum(self.seen)

    @property
    def sentence(self) -> str:
        """`sees 200 of 1,000 messages, ≈ 41 k tokens, checkpoint 2 of 2`."""
        total = len(self.seen)
        if not total:
            return "there are no messages"
        noun = "message" if total == 1 else "messages"
        if self.count == total and self.complete:
            much = f"sees all {total:,} {noun}" if total > 1 else "sees the only message"
        elif self.complete:
            much = f"sees {self.count:,} of {total:,} {noun}"
        else:
            much = f"sees {self.count:,} of the last {total:,} {noun}"
        parts = [much, f"≈ {_rounded(self.tokens)} tokens"]
        if self.last_call:
            parts.append(self._gauge)
        if self.checkpoints:
            parts.append(f"checkpoint {self.checkpoint or '–'} of {self.checkpoints}")
        return ", ".join(parts)

    @property
    def _gauge(self) -> str:
        """What the last call took of the model's window; what is said to have taken more is no single call."""
        if not 0 < self.last_call <= self.model_window:
            return f"last call {_rounded(self.last_call)}"
        share = f"{100 * self.last_call // self.model_window or '<1'} %"
        return f"last call {_rounded(self.last_call)} of {_rounded(self.model_window)} ({share})"

    @property
    def reason(self) -> str:
        """Which window it is and who says so, for those who want to know; empty without one."""
        choice = self.choice
        if choice.strategy is None:
            return ""
        number = choice.size if choice.strategy == "buffer_window" else choice.tokens
        name = choice.strategy if number is None else f"{choice.strategy} {number:,}"
        return f"{name} ({choice.source})"


def _rounded(number: int) -> str:
    """`950`, `1.2 k`, `41 k`, `1.3 M`."""
    if number < 1000:
        return str(number)
    value, unit = (number / 1000, "k") if number < 999_500 else (number / 1_000_000, "M")
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"


def context_view(
    agent: str, messages: Sequence[Message], choice: WindowChoice | None = None, *, complete: bool = True
) -> ContextView:
    """What `agent` still sees of `messages`, the newest of a conversation, or with `complete` all of it."""
    choice = choice or WindowChoice()
    marks = [index for index, one in enumerate(messages) if one.kind == "compaction" and one.visibility == "live"]
    if choice.generation:
        seen, marks, note = hector_seen(messages, choice)
    else:
        seen = _since_compaction(agent, messages, marks)
        if choice.strategy is not None:
            seen = _window(messages, seen, choice)
        note = ""
    # The last message that says what its call used. Not what stands for several calls: notices and sums.
    calls = (
        one
        for one, is_seen in zip(reversed(messages), reversed(seen), strict=True)
        if is_seen and one.role == "assistant" and one.kind == "message"
        if one.token_usage is not None and one.token_usage.total
    )
    last = next(calls, None)
    in_force = [number for number, index in enumerate(marks, 1) if seen[index]]
    return ContextView(
        seen=tuple(seen),
        tokens=estimate(one for one, is_seen in zip(messages, seen, strict=True) if is_seen),
        checkpoint=in_force[-1] if in_force else 0,
        checkpoints=len(marks),
        complete=complete,
        last_call=last.token_usage.total if last is not None and last.token_usage is not None else 0,
        model=(last.model or "") if last is not None else "",
        model_window=last.context_window if last is not None else 0,
        choice=choice,
        note="; ".join(part for part in (note, choice.trouble) if part),
    )


def gauged(view: ContextView) -> ContextView:
    """The same with the window of its model as the price list has it, where the agent has not recorded it; that may
    wait for a process."""
    from hermes_tui.sessions.context.model_window import window_of

    if view.model_window or not (view.last_call and view.model):
        return view
    return replace(view, model_window=window_of(view.model) or 0)


def _since_compaction(agent: str, messages: Sequence[Message], marks: Sequence[int]) -> list[bool]:
    """What is live since the last compaction, and what that left as it was."""
    start = marks[-1] if marks else 0
    seen = [one.visibility == "live" and index >= start for index, one in enumerate(messages)]
    if not marks:
        return seen
    kept = messages[start].kept_from
    first = next((index for index in range(start) if messages[index].id == kept), None) if kept else None
    if first is not None:
        for index in range(first, start):
            seen[index] = messages[index].visibility == "live"
    if agent == "codex":
        # Codex begins anew with the user's own earlier words, the newest first, and the summary.
        left = _CODEX_PROMPTS
        for index in range(start - 1, -1, -1):
            if messages[index].is_prompt and messages[index].visibility == "live":
                if left <= 0:
                    break
                seen[index] = True  # the one that no longer fits is cut, not dropped
                left -= text_tokens(messages[index].content)
    return seen


def _window(messages: Sequence[Message], seen: Sequence[bool], choice: WindowChoice) -> list[bool]:
    """A window by hand on what an agent without one sees: Hector's, on messages."""
    places = [index for index, is_seen in enumerate(seen) if is_seen]
    newest_first = (estimate((messages[index],)) for index in reversed(places))
    budget = choice.tokens or BUDGET
    if choice.strategy == "buffer_window":
        count = choice.size or WINDOW
    elif choice.strategy == "token_window":
        count = fitting(newest_first, budget, PRESERVED)
    else:
        count = fitting(newest_first, int(budget * (choice.target or TARGET)), FEWEST)
    kept = set(places[max(0, len(places) - count) :])
    return [index in kept for index in range(len(messages))]
