"""Codex' token figures: which message each belongs to, and that each model call is counted once.

`token_usage_record` (0.149 and later) is exact. `token_count` holds the thread's running total and the latest call;
it is repeated at the start of turns and after compaction, and in a fork the total starts at the parent's
(stores/codex FACTS.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from session_adapters.codex.records import CodexUsage, TokenInfo, normalised
from session_adapters.model import Message, TokenUsage
from session_adapters.transcript import Builder

__all__ = ["HIDDEN_CALL", "PendingUsage", "TokenBuilder", "minus"]

HIDDEN_CALL = "(a model call without a visible reply)"
"""Content of the notice that carries the tokens of such a call."""


class PendingUsage(NamedTuple):
    """The first token figures of a run of lines that begins in the middle of a file, met before any reply: they
    belong to a reply above, or repeat what was counted there."""

    call: Message
    """What stands for the call, if there is no reply."""
    total: CodexUsage | None
    last: CodexUsage | None
    place: int
    """How many messages of the run come before it."""
    repeats: bool
    """It can only be the echo of a record, unless a reply above has none yet."""


class TokenBuilder(Builder):
    """The part of `CodexBuilder` that counts."""

    def __init__(self, owner: str, *, parent: str, inherited: bool) -> None:
        super().__init__()
        self.owner = owner
        self.model: str | None = None
        """Of the turn that is being read."""
        self.baseline: CodexUsage | None = None
        """The thread's running total before its first own call."""
        self.total: CodexUsage | None = None
        """The latest running total."""
        self.pending: PendingUsage | None = None
        self.open: int | None = None
        """The reply that the next token figures belong to."""
        self.inherited = inherited
        """The line being read is another session's."""
        self.at = ""
        """Where it stands: makes ids for messages that have none."""
        self.from_start = False
        """Nothing comes before this run of lines."""
        self._parent = parent
        self.counted = False
        """This run of lines has token figures."""
        self._last: CodexUsage | None = None

    @property
    def _thread(self) -> str:
        return self._parent or self.owner if self.inherited else self.owner

    def count_inline(self, usage: CodexUsage) -> None:
        """The usage that stands in a reply itself (spec 004's layout)."""
        self._count(normalised(usage), f"{self._thread}:{self.at}")

    def count_record(self, response_id: str | None, usage: CodexUsage, total: CodexUsage | None) -> None:
        """`token_usage_record`: each call once; `total`, the thread's, goes on from the parent's."""
        self._note_total(total, usage)
        self._last = usage
        self._place(normalised(usage), response_id or f"{self._thread}:{self.at}", total, None, repeats=False)

    def count_event(self, info: TokenInfo, *, recorded: bool) -> None:
        """`token_count`: counts when the total moved. `recorded`: the version writes records too."""
        total, last = info.total_token_usage, info.last_token_usage
        usage = last if last is not None else total
        if usage is None or self.echoes(total, last):
            return
        tokens = normalised(usage)
        if not tokens.total:
            return
        self._note_total(total, usage)
        figures = total or usage
        key = f"{self._thread}:{figures.input_tokens}+{figures.output_tokens}"
        self._place(tokens, key, total, last, repeats=recorded)

    def echoes(self, total: CodexUsage | None, last: CodexUsage | None) -> bool:
        """Whether these figures were counted already: the total stands where it stood, or a record gave them."""
        return (total is not None and total == self.total) or (last is not None and last == self._last)

    def _note_total(self, total: CodexUsage | None, usage: CodexUsage) -> None:
        if total is None:
            return
        if self.baseline is None and not self.inherited:
            self.baseline = minus(total, usage)
        self.total = total

    def _place(
        self, usage: TokenUsage, key: str, total: CodexUsage | None, last: CodexUsage | None, *, repeats: bool
    ) -> None:
        if self.open is not None:
            self._count(usage, key)
        elif not self.from_start and not self.counted:
            call = self._hidden(usage, key)
            self.pending = PendingUsage(call, total, last, len(self.messages), repeats)
        elif not repeats:
            self.add(self._hidden(usage, key))
        self.counted = True

    def _hidden(self, usage: TokenUsage, key: str) -> Message:
        return Message(
            role="system",
            content=HIDDEN_CALL,
            id=self.at,
            kind="notice",
            token_usage=usage,
            usage_key=key,
            model=self.model,
            inherited=self.inherited,
        )

    def _count(self, usage: TokenUsage, key: str) -> None:
        if self.open is not None:
            message = self.messages[self.open]
            self.change(self.open, replace(message, token_usage=usage, usage_key=key))
            self.open = None

    def insert(self, index: int, message: Message) -> None:
        """Put a message before the one at `index`."""
        self.renumber([at + (at >= index) for at in range(len(self.messages))])
        self.messages.insert(index, message)

    def renumber(self, places: Sequence[int | None]) -> None:
        """See `Builder.renumber`."""
        super().renumber(places)
        if self.open is not None:
            self.open = places[self.open]
        pending = self.pending
        if pending is not None:
            # How many messages remain before it, not where one of them is.
            before = [place for place in places[: pending.place] if place is not None]
            behind = [place for place in places[pending.place :] if place is not None]
            place = before[-1] + 1 if before else behind[0] if behind else 0
            self.pending = pending._replace(place=place)


def minus(total: CodexUsage, usage: CodexUsage) -> CodexUsage:
    """`total` without `usage`, figure by figure."""
    return CodexUsage(
        input_tokens=(total.input_tokens or 0) - (usage.input_tokens or 0),
        cached_input_tokens=(total.cached_input_tokens or 0) - (usage.cached_input_tokens or 0),
        cache_write_input_tokens=(total.cache_write_input_tokens or 0) - (usage.cache_write_input_tokens or 0),
        output_tokens=(total.output_tokens or 0) - (usage.output_tokens or 0),
        reasoning_output_tokens=(total.reasoning_output_tokens or 0) - (usage.reasoning_output_tokens or 0),
    )
