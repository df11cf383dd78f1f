"""Assigns Codex' token counts to messages; counts each model call once.

`token_usage_record` (0.149 and later) is exact. `token_count` holds the thread's running total and the latest call;
it is repeated at the start of turns and after compaction, and in a fork the total starts at the parent's
(stores/codex FACTS.md).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from session_adapters.codex.records import CodexUsage, TokenInfo, normalised
from session_adapters.model import Message, TokenUsage
from session_adapters.transcript import Builder

__all__ = ["TokenBuilder", "is_summary_call", "minus"]

_HIDDEN_CALL = "(a model call without a visible reply)"
"""Content of the notice that carries the tokens of such a call."""


class TokenBuilder(Builder):
    """The part of `CodexBuilder` that counts."""

    def __init__(self, owner: str, *, parent: str) -> None:
        super().__init__()
        self.owner = owner
        self.model: str | None = None
        """Of the turn that is being read."""
        self.baseline: CodexUsage | None = None
        """The thread's running total before its first own call."""
        self.total: CodexUsage | None = None
        """The latest running total."""
        self.open: int | None = None
        """The reply that the next token figures belong to."""
        self.base = ""
        """The thread in whose rollout the lines stand that are read, where that is another one."""
        self.inherited = False
        """The line being read is another session's."""
        self.at = ""
        """Where it stands: makes ids for messages that have none."""
        self.from_start: bool | None = None
        """Nothing comes before this run of lines. None: the first of them tells."""
        self._parent = parent
        self.window = 0
        """Tokens that the model takes, as the latest event says; 0 before one does."""
        self.counted = False
        """This run of lines has token figures."""
        self._last: CodexUsage | None = None

    @property
    def _thread(self) -> str:
        return self.base or self._parent or self.owner if self.inherited else self.owner

    def count_inline(self, usage: CodexUsage) -> None:
        """The usage that stands in a reply itself (spec 004's layout)."""
        self._count(normalised(usage), f"{self._thread}:{self.at}")

    def count_record(self, response_id: str | None, usage: CodexUsage, total: CodexUsage | None) -> None:
        """`token_usage_record`: each call once; `total`, the thread's, goes on from the parent's."""
        self._note_total(total, usage)
        self._last = usage
        self._place(normalised(usage), response_id or f"{self._thread}:{self.at}", repeats=False)

    def count_event(self, info: TokenInfo, *, recorded: bool) -> None:
        """`token_count`: counts when the total moved. `recorded`: the version writes records too."""
        window = info.model_context_window or 0
        if window > 0 and window != self.window:
            # A record of the same call stands above, and does not tell the model's window.
            self.window = window
            spent = (at for at in range(len(self.messages) - 1, -1, -1) if self.messages[at].token_usage is not None)
            if (at := next(spent, None)) is not None and not self.messages[at].context_window:
                self.change(at, replace(self.messages[at], context_window=window))
        total, last = info.total_token_usage, info.last_token_usage
        usage = last if last is not None else total
        if usage is None or self.echoes(total, last):
            return
        tokens = normalised(usage)
        if not tokens.total:  # after a compaction an event has zeros
            return
        self._note_total(total, usage)
        figures = total or usage
        key = f"{self._thread}:{figures.input_tokens}+{figures.output_tokens}"
        self._place(tokens, key, repeats=recorded)

    def echoes(self, total: CodexUsage | None, last: CodexUsage | None) -> bool:
        """Whether these figures were counted already: the total stands where it stood, or a record gave them."""
        return (total is not None and total == self.total) or (last is not None and last == self._last)

    def _note_total(self, total: CodexUsage | None, usage: CodexUsage) -> None:
        if total is None:
            return
        # A fork's total goes on from its parent's: what it was before the first own call is no part of it.
        if self.baseline is None and not self.inherited:
            self.baseline = minus(total, usage)
        self.total = total

    def _place(self, usage: TokenUsage, key: str, *, repeats: bool) -> None:
        """Count a call. `repeats`: if no reply waits for it, it is the echo of a record. The first figures in a run
        of lines that begins in the middle of a file may belong to a reply above, or repeat what was counted there."""
        if self.open is not None:
            self._count(usage, key)
        elif not repeats and (self.from_start or self.counted):
            self.add(
                Message(
                    role="system",
                    content=_HIDDEN_CALL,
                    id=self.at,
                    kind="notice",
                    token_usage=usage,
                    usage_key=key,
                    model=self.model,
                    inherited=self.inherited,
                )
            )
        self.counted = True

    def _count(self, usage: TokenUsage, key: str) -> None:
        if self.open is not None:
            message = self.messages[self.open]
            self.change(self.open, replace(message, token_usage=usage, usage_key=key, context_window=self.window))
            self.open = None

    def renumber(self, places: Sequence[int | None]) -> None:
        """See `Builder.renumber`."""
        super().renumber(places)
        if self.open is not None:
            self.open = places[self.open]


def minus(total: CodexUsage, usage: CodexUsage) -> CodexUsage:
    """`total` without `usage`, figure by figure."""
    return CodexUsage(
        input_tokens=(total.input_tokens or 0) - (usage.input_tokens or 0),
        cached_input_tokens=(total.cached_input_tokens or 0) - (usage.cached_input_tokens or 0),
        cache_write_input_tokens=(total.cache_write_input_tokens or 0) - (usage.cache_write_input_tokens or 0),
        output_tokens=(total.output_tokens or 0) - (usage.output_tokens or 0),
        reasoning_output_tokens=(total.reasoning_output_tokens or 0) - (usage.reasoning_output_tokens or 0),
    )


def is_summary_call(message: Message, summary: str) -> bool:
    """Whether `message`, right above a compaction, is the reply that became its summary, or stands for one."""
    if message.content == _HIDDEN_CALL:
        return True
    if message.role != "assistant" or message.tool_calls:
        return False
    said = message.content.strip()
    return bool(said) and said in summary
