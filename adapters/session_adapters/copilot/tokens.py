"""Assigns the tokens of each model call to one message; counts each call once.

Since 1.0.9x a `session.usage_record` comes before the reply of each call and names it; before that a reply has its
output alone and the rest stands in `session.shutdown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from session_adapters.copilot.records import CopilotUsage, Count, Metric, Shutdown, normalised, whole
from session_adapters.growing.hashes import Hashes
from session_adapters.model import Message, TokenUsage
from session_adapters.transcript import Builder

__all__ = ["HIDDEN_CALL", "RUN_ENDED", "CountingBuilder", "call_key", "main_total", "usage_key"]

HIDDEN_CALL = "(a model call without a visible reply)"
"""Content of the notice that carries the tokens of such a call."""


def usage_key(usage: CopilotUsage, event_id: str) -> str:
    """What a record of usage counts once by."""
    accounting = usage.accounting
    return (accounting.usage_id if accounting else None) or usage.api_call_id or event_id


def call_key(usage: CopilotUsage, event_id: str) -> str:
    """The call of the model that the record is of, as its reply names it."""
    return usage.api_call_id or usage_key(usage, event_id)


class CountingBuilder(Builder):
    """The part of `CopilotBuilder` that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.totals = RunTotals()
        self._spent: dict[str, Message] = {}
        """Notices that stand for calls whose reply has not come, by call."""
        self._counted = Hashes()
        """Hashes of the usage keys of the records that were read."""
        self._recorded = Hashes()
        """Those of the same calls."""
        self._replies: dict[str, int] = {}
        """Indices of replies whose record has not been read, by call."""
        self._hidden: dict[str, int] = {}
        """Indices of notices that are shown since no reply came, by call."""
        self._noticed: set[int] = set()
        """Hashes of calls whose notice was handed over."""
        self._unrecorded: set[int] = set()
        """Those of calls whose reply was handed over, and whose record was not read."""
        self.is_late = False
        """A reply came in whose place a notice was handed over."""

    def add_reply(self, message: Message, call: str, output: Count) -> None:
        """A reply, with the tokens that are known of it."""
        # What stands for the call until its reply comes is taken out of where it stands.
        shown = self._hidden.pop(call, None)
        if shown is None:
            self.is_late = self.is_late or hash(call) in self._noticed
            waiting = self._spent.pop(call, None)
        else:
            waiting = self.messages[shown]
            self.drop({shown})
            self._touch(shown)
        if waiting is None and output is not None and hash(call) not in self._recorded:
            self.totals.own += whole(output)
            usage = TokenUsage(output_tokens=whole(output))
            if usage.total:
                message = replace(message, token_usage=usage, usage_key=message.id)
        index = self.add(message)
        if waiting is not None:
            self._count(index, waiting)
        elif call:
            self._replies[call] = index

    def count_call(self, call: str, notice: Message) -> None:
        """The record of a call; `notice` has its tokens, and is shown if no reply comes."""
        if hash(notice.usage_key) in self._counted:
            return
        self._counted.add(hash(notice.usage_key))
        self._recorded.add(hash(call))
        index, is_replied = self._replies.pop(call, None), hash(call) in self._unrecorded
        self._unrecorded.discard(hash(call))
        if index is not None:
            self._count(index, notice)
        elif not is_replied:
            self._spent[call] = notice

    def _count(self, index: int, notice: Message) -> None:
        reply = self.messages[index]
        if reply.token_usage is not None:
            self.totals.own -= reply.token_usage.output_tokens
        usage = notice.token_usage if notice.token_usage is not None and notice.token_usage.total else None
        counted = replace(
            reply,
            token_usage=usage,
            usage_key=notice.usage_key if usage is not None else "",
            model=reply.model or notice.model,
            inherited=reply.inherited or notice.inherited,
        )
        self.change(index, counted)

    def settle(self) -> None:
        """No reply comes any more to the calls so far."""
        for call, notice in self._spent.items():
            if notice.token_usage and notice.token_usage.total:
                self._hidden[call] = self.add(notice)
                self._noticed.discard(hash(call))
        self._spent.clear()

    def count_run(self, shutdown: Shutdown, notice: Message) -> None:
        """The end of a run whose calls have no records."""
        usage = self.totals.end(shutdown)
        if usage.total:
            self.add(replace(notice, token_usage=usage))

    def drop(self, indices: set[int], *, handed_over: bool = False) -> None:
        """See `Builder.drop`."""
        if handed_over:
            self._noticed.update(hash(call) for call, index in self._hidden.items() if index in indices)
            self._unrecorded.update(hash(call) for call, index in self._replies.items() if index in indices)
        super().drop(indices, handed_over=handed_over)

    def renumber(self, places: Sequence[int | None]) -> None:
        """See `Builder.renumber`."""
        super().renumber(places)
        self._replies = {key: at for key, index in self._replies.items() if (at := places[index]) is not None}
        self._hidden = {key: at for key, index in self._hidden.items() if (at := places[index]) is not None}


# What a shutdown reports ------------------------------------------------------------------------------------


RUN_ENDED = "(tokens of the run that ended here, beside what its replies tell)"
"""Content of the notice that carries them."""


def main_total(shutdown: Shutdown) -> tuple[TokenUsage, bool]:
    """What the session itself spent, over all models, and whether helpers are left out of it."""
    main = (shutdown.agent_metrics or {}).get("main")
    if main is not None and main.model_metrics is not None:
        return _sum(main.model_metrics), True
    return _sum(shutdown.model_metrics or {}), False


def _sum(metrics: Mapping[str, Metric]) -> TokenUsage:
    total = TokenUsage()
    for metric in metrics.values():
        if metric.usage is not None:
            total += normalised(metric.usage)
    return total


class RunTotals:
    """What the shutdowns in a run of lines add. Where the lines begin in the middle of a file, the first one's figure
    may be too large."""

    def __init__(self) -> None:
        self.own = 0
        """Output of the session's replies since the last shutdown."""
        self.helpers = 0
        """The helpers' output since then."""
        self.previous: TokenUsage | None = None
        """Of the last shutdown whose figures go on."""

    def end(self, shutdown: Shutdown) -> TokenUsage:
        """What the run that ends here adds."""
        total, alone = main_total(shutdown)
        known = TokenUsage(output_tokens=self.own if alone else self.own + self.helpers)
        self.own = self.helpers = 0
        if shutdown.accounting_snapshot is not None:
            known += self.previous or TokenUsage()
            self.previous = total
        output = max(0, total.output_tokens - known.output_tokens)
        return replace(
            total,
            input_tokens=max(0, total.input_tokens - known.input_tokens),
            output_tokens=output,
            cached_tokens=max(0, total.cached_tokens - known.cached_tokens),
            cache_write_tokens=max(0, total.cache_write_tokens - known.cache_write_tokens),
            thinking_tokens=min(output, max(0, total.thinking_tokens - known.thinking_tokens)),
        )
