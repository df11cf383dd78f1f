"""Which message the tokens of a model call stand in, and that each call counts once.

Since 1.0.9x a `session.usage_record` comes before the reply of each call and names it; before that a reply has its
output alone and the rest stands in `session.shutdown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from session_adapters.copilot.records import Count, Shutdown, whole
from session_adapters.copilot.usage import RunTotals
from session_adapters.model import Message, TokenUsage
from session_adapters.transcript import Builder

__all__ = ["HIDDEN_CALL", "CountingBuilder", "moved_position"]

HIDDEN_CALL = "(a model call without a visible reply)"
"""Content of the notice that carries the tokens of such a call."""


class CountingBuilder(Builder):
    """The part of `CopilotBuilder` that counts."""

    def __init__(self) -> None:
        super().__init__()
        self.totals = RunTotals()
        self._spent: dict[str, Message] = {}
        """Notices that stand for calls whose reply has not come, by call."""
        self._counted: dict[str, str] = {}
        """Calls of the records that were read, by usage key."""
        self._recorded: set[str] = set()
        """The same calls."""
        self._replies: dict[str, int] = {}
        """Indices of replies whose record has not been read, by call."""
        self._settled: int | None = None
        """Where the first event stands after which no reply to an earlier call comes."""
        self._hidden: dict[str, int] = {}
        """Indices of notices that are shown since no reply came, by call."""
        self._ended: int | None = None
        """Index of the notice of the first shutdown, if it has one."""

    def add_reply(self, message: Message, call: str, output: Count) -> None:
        """A reply, with the tokens that are known of it."""
        waiting = self._take_notice(call)
        if waiting is None and output is not None and call not in self._recorded:
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
        if notice.usage_key in self._counted:
            return
        self._counted[notice.usage_key] = call
        self._recorded.add(call)
        index = self._replies.pop(call, None)
        if index is not None:
            self._count(index, notice)
        else:
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
        if self._settled is None:
            self._settled = len(self.messages)
        for call, notice in self._left().items():
            self._hidden[call] = self.add(notice)
        self._spent.clear()

    def _left(self) -> dict[str, Message]:
        return {call: one for call, one in self._spent.items() if one.token_usage and one.token_usage.total}

    def _take_notice(self, call: str) -> Message | None:
        """What stands for a call whose reply has come, taken out of where it stands."""
        index = self._hidden.pop(call, None)
        if index is None:
            return self._spent.pop(call, None)
        notice = self.messages[index]
        self.drop({index})
        self._touch(index)
        return notice

    def count_run(self, shutdown: Shutdown, notice: Message) -> None:
        """The end of a run whose calls have no records."""
        first = self.totals.first is None
        usage = self.totals.end(shutdown)
        if usage.total:
            index = self.add(replace(notice, token_usage=usage))
            if first:
                self._ended = index

    # Pages -------------------------------------------------------------------------------------------------

    def meet_counts(self, front: CountingBuilder) -> None:
        """Settle what the cut between two pages went through, before the messages of `front` are put in front."""
        for key in self._counted.keys() & front._counted.keys():
            self._uncount(key)
        for replies, notices in ((self, front), (front, self)):
            for call in replies._replies.keys() & (notices._spent.keys() | notices._hidden.keys()):
                notice = notices._take_notice(call)
                if notice is not None:
                    replies._count(replies._replies.pop(call), notice)
        if self._settled is not None:
            self._show(self._settled, front._left())
            front._spent.clear()
        usage = self.totals.settle(front.totals)
        if usage is not None and self._ended is not None:
            if usage.total:
                self.change(self._ended, replace(self.messages[self._ended], token_usage=usage))
            else:
                self.drop({self._ended})

    def take_counts(self, front: CountingBuilder) -> None:
        """Go on from the state of `front`, whose messages stand in front now."""
        self._spent = {**front._spent, **self._spent}
        self._replies = {**front._replies, **self._replies}
        self._hidden = {**front._hidden, **self._hidden}
        self._counted |= front._counted
        self._recorded |= front._recorded
        if front._settled is not None:
            self._settled = front._settled
        if front.totals.first is not None:
            self._ended = front._ended

    def _uncount(self, key: str) -> None:
        """Forget the repetition of a record: its tokens are counted above."""
        self._spent = {call: one for call, one in self._spent.items() if one.usage_key != key}
        for index, message in enumerate(self.messages):
            if message.usage_key == key:
                if message.content == HIDDEN_CALL:
                    self.drop({index})
                else:
                    self.change(index, replace(message, token_usage=None, usage_key=""))
                    self._replies[self._counted[key]] = index
                return

    def _show(self, index: int, notices: Mapping[str, Message]) -> None:
        """Put notices before the message at `index`."""
        if notices:
            self.renumber([at + len(notices) * (at >= index) for at in range(len(self.messages))])
            self.messages[index:index] = notices.values()
            self._hidden |= {call: index + at for at, call in enumerate(notices)}

    def renumber(self, places: Sequence[int | None]) -> None:
        """See `Builder.renumber`."""
        super().renumber(places)
        self._replies = {key: at for key, index in self._replies.items() if (at := places[index]) is not None}
        self._hidden = {key: at for key, index in self._hidden.items() if (at := places[index]) is not None}
        if self._ended is not None:
            self._ended = places[self._ended]
        if self._settled is not None:
            self._settled = moved_position(self._settled, places)


def moved_position(at: int, places: Sequence[int | None]) -> int:
    """Where a place between messages is when they have moved."""
    before = [place for place in places[:at] if place is not None]
    behind = next((place for place in places[at:] if place is not None), None)
    return before[-1] + 1 if before else behind or 0
