"""What was said in a Codex rollout, without what the tools got and gave: by the rules of `CodexBuilder`, in a third
of its time, for a file that is read from its beginning and builds on no other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from msgspec import Struct

from session_adapters.codex.messages import SHELL
from session_adapters.codex.records import (
    CodexContent,
    CodexUsage,
    CompletedItem,
    TokenInfo,
    attachments_of,
    is_injected,
    normalised,
    text_of,
)
from session_adapters.codex.tokens import HIDDEN_CALL
from session_adapters.reading.batches import Batch
from session_adapters.reading.searchable import Text
from session_adapters.times import from_iso

__all__ = ["Speech", "SpokenLine"]

_RUN = 200
"""Messages after which those that are settled are handed over."""
_ABORTED = "<turn_aborted>"


class SpokenPayload(Struct, gc=False):
    """See `Payload`: what tells who says what, and where a reply ends."""

    type: str | None = None
    id: str | None = None
    role: str | None = None
    content: list[CodexContent] | str | None = None
    summary: list[CodexContent] | str | None = None
    message: str | None = None
    info: TokenInfo | None = None
    item: CompletedItem | None = None
    error: Any = None
    usage: CodexUsage | None = None
    thread_token_usage: CodexUsage | None = None


class SpokenLine(SpokenPayload, gc=False):
    """See `Line`."""

    timestamp: str | None = None
    ordinal: int | None = None
    payload: SpokenPayload | None = None
    record_type: str | None = None


class _Said:
    """A message, as far as what comes later depends on it."""

    __slots__ = ("calls", "id", "kind", "role", "text", "time")

    def __init__(self, role: str, text: str, kind: str, id: str, time: datetime | None) -> None:  # noqa: A002
        self.role, self.text, self.kind, self.id, self.time = role, text, kind, id, time
        self.calls = False
        """It calls a tool."""


_SILENT = _Said("tool", "", "message", "", None)
"""Every output of a tool."""


class Speech:
    """Takes the lines of one rollout. The names are those of `CodexBuilder`, where what they stand for is told."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._messages: list[_Said] = []
        """Those of user and assistant that were not handed over."""
        self._last: _Said | None = None
        self._open: _Said | None = None
        self._candidate: _Said | None = None
        self._said: _Said | None = None
        self._echo: str | None = None
        self._spoken: tuple[str, str, datetime | None] | None = None
        self._ordinal: int | None = None
        self._total: CodexUsage | None = None
        self._used: CodexUsage | None = None
        self._place: tuple[Batch[SpokenLine], int]

    def take(self, batch: Batch[SpokenLine]) -> Iterator[Text]:
        """The next lines; what no later one can change."""
        for index, record in enumerate(batch.records):
            self._place = batch, index
            if record.ordinal is not None:
                if record.ordinal == self._ordinal:
                    continue  # the same line twice
                self._ordinal = record.ordinal
            payload = record.payload
            if self._spoken is not None and (payload is None or payload.role != "assistant"):
                self._flush_spoken()
            if payload is None:
                if record.record_type is None and (record.type is not None or record.role is not None):
                    self._item(record, record.timestamp, bare=True)
            elif record.type == "response_item":
                self._item(payload, record.timestamp, bare=False)
            elif record.type == "event_msg":
                self._event(record, payload)
            elif record.type == "token_usage_record" and payload.usage is not None:
                self._count_record(payload.usage, payload.thread_token_usage)
            elif record.type == "compacted":
                self._compacted(payload.message or "")
        if len(self._messages) >= _RUN:
            yield from self._settled()

    def rest(self) -> Iterator[Text]:
        """What was not handed over yet."""
        self._open = self._candidate = self._last = None
        yield from self._settled()

    def _settled(self) -> Iterator[Text]:
        ends = (self._open, self._candidate, self._last)
        known = self._messages
        stop = next((at for at, one in enumerate(known) if any(one is end for end in ends)), len(known))
        self._messages = known[stop:]
        for one in known[:stop]:
            if one.text and one.role != "system":
                at = one.time.timestamp() if one.time is not None else None
                yield Text(self._session_id, one.id, one.role, at, one.text, "")

    def _say(self, role: str, text: str, kind: str, item_id: str | None, when: datetime | None) -> _Said:
        self._last = one = _Said(role, text, kind, item_id or self._at(), when)
        self._messages.append(one)
        return one

    def _note(self, text: str, kind: str) -> None:
        """What the program says."""
        self._last = _Said("system", text, kind, "", None)

    def _at(self) -> str:
        batch, index = self._place
        offset, number = batch.place(index)
        return f"{offset}.{number}" if number else str(offset)

    # Items -------------------------------------------------------------------------------------------------

    def _item(self, item: SpokenPayload, timestamp: str | None, *, bare: bool) -> None:
        kind = item.type or (item.role and "message") or ""
        if kind == "message":
            if item.role == "user":
                self._user_item(item, from_iso(timestamp), bare=bare)
            elif item.role == "assistant":
                self._assistant_item(item, from_iso(timestamp))
        elif kind == "reasoning":
            if _is_readable(item):
                when = from_iso(timestamp)
                reply = self._reply(item.id, when, above=True)
                reply.time = when or reply.time
        elif kind.endswith("_output"):
            self._last = _SILENT
        elif kind.endswith("_call"):
            when = from_iso(timestamp)
            reply = self._reply(item.id, when, above=False)
            reply.calls = True
            reply.time = when or reply.time

    def _reply(self, item_id: str | None, when: datetime | None, *, above: bool) -> _Said:
        """The message that takes the next part of a reply; `above`: one that belongs before text and calls."""
        reply = self._open
        if reply is None or reply is not self._last or (above and (reply.text or reply.calls)):
            self._open = reply = self._say("assistant", "", "message", item_id, when)
        return reply

    def _assistant_item(self, item: SpokenPayload, when: datetime | None) -> None:
        self._spoken = None
        text = text_of(item.content)
        if self._said is not None and self._said is self._last and self._said.text == text:
            self._said = None  # by its event
        elif text or attachments_of(item.content):
            self._fill(item.id, text, when)
        if item.usage is not None:
            self._open = None

    def _fill(self, item_id: str | None, text: str, when: datetime | None) -> _Said:
        reply = self._reply(item_id, when, above=True)
        reply.text = text
        reply.time = when or reply.time
        return reply

    def _user_item(self, item: SpokenPayload, when: datetime | None, *, bare: bool) -> None:
        text = text_of(item.content)
        echo, self._echo = self._echo, None
        last = self._last
        if not (text or attachments_of(item.content)):
            return
        if text == echo and last is not None and last.role == "user" and last.kind == "message":
            return
        injected = is_injected(text)
        kind = "message" if bare and not injected and not text.startswith(SHELL) else "notice"
        said = self._say("user", text, kind, item.id, when)
        self._open = None
        self._candidate = None if bare or injected else said

    # Events ------------------------------------------------------------------------------------------------

    def _event(self, record: SpokenLine, event: SpokenPayload) -> None:
        kind = event.type
        if kind == "token_count":
            if event.info is not None:
                self._count_event(event.info, recorded=record.ordinal is not None)
        elif kind == "user_message":
            self._prompt(event.message or "", record.timestamp)
        elif kind == "agent_message":
            self._hear(event.message or "", None, record.timestamp)
        elif kind == "item_completed":
            item = event.item
            if item is not None and item.type == "UserMessage":
                self._prompt(text_of(item.content), record.timestamp)
            elif item is not None and item.type == "AgentMessage":
                self._hear(text_of(item.content), item.id, record.timestamp)
        elif kind == "error":
            self._error(event.message or "unknown error")
        elif kind == "task_complete":
            text = event.error.get("message") if isinstance(event.error, dict) else event.error
            if isinstance(text, str) and text:
                self._error(text)
        elif kind == "turn_aborted" and not (self._last is not None and self._last.text.startswith(_ABORTED)):
            self._say("user", _ABORTED, "notice", None, from_iso(record.timestamp))

    def _hear(self, text: str, item_id: str | None, timestamp: str | None) -> None:
        last = self._last
        if last is None or last.role != "assistant" or last.text != text:
            self._spoken = text, item_id or self._at(), from_iso(timestamp)

    def _flush_spoken(self) -> None:
        if self._spoken is not None:
            (text, item_id, when), self._spoken = self._spoken, None
            if text:
                self._said = self._fill(item_id, text, when)

    def _prompt(self, text: str, timestamp: str | None) -> None:
        item, self._candidate = self._candidate, None
        if is_injected(text):
            return
        if item is not None and item is self._last:
            item.kind, item.text = "message", text or item.text
        elif text:
            self._say("user", text, "message", None, from_iso(timestamp))
            self._echo, self._open = text, None

    def _error(self, text: str) -> None:
        last = self._last
        if last is None or last.kind != "error" or last.text != text:
            self._note(text, "error")

    def _compacted(self, summary: str) -> None:
        last = self._last
        if last is not None and _is_summary_call(last, summary):
            last.role, last.text, last.kind = "system", "", "compaction"
        else:
            self._note("", "compaction")
        if summary:
            self._note(summary, "summary")
        self._open = None

    # Token figures: the next ones end a reply ---------------------------------------------------------------

    def _count_record(self, usage: CodexUsage, total: CodexUsage | None) -> None:
        self._total, self._used = total or self._total, usage
        self._end_reply(repeats=False)

    def _count_event(self, info: TokenInfo, *, recorded: bool) -> None:
        total, last = info.total_token_usage, info.last_token_usage
        usage = last if last is not None else total
        if usage is None or (total is not None and total == self._total) or (last is not None and last == self._used):
            return
        if normalised(usage).total:
            self._total = total or self._total
            self._end_reply(repeats=recorded)

    def _end_reply(self, *, repeats: bool) -> None:
        if self._open is not None:
            self._open = None
        elif not repeats:
            self._note(HIDDEN_CALL, "notice")


def _is_readable(item: SpokenPayload) -> bool:
    parts = item.summary if isinstance(item.summary, list) and item.summary else item.content
    return isinstance(parts, list) and any(part.text for part in parts)


def _is_summary_call(last: _Said, summary: str) -> bool:
    if last.text == HIDDEN_CALL:
        return True
    said = last.text.strip()
    return last.role == "assistant" and not last.calls and bool(said) and said in summary
