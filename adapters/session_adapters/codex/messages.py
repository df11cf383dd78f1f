"""Codex' records, one at a time, turned into messages (stores/codex FACTS.md).

What one model call says (reasoning, text, calls) becomes one message, with the time of its last part, as long as the
order allows it. Every message stands in a rollout twice, as a `response_item` and as an `event_msg`: the item is
shown, and the event tells which of the items of role user was typed by a human.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar

from msgspec.structs import replace

from session_adapters.activity import Activity
from session_adapters.codex.records import (
    LINE,
    Payload,
    attachments_of,
    cwd_in,
    is_injected,
    is_stray,
    read_output,
    reasoning_of,
    text_of,
)
from session_adapters.codex.records import RolloutLine as Record
from session_adapters.codex.tokens import TokenBuilder, is_summary_call
from session_adapters.model import Message, MessageKind, ToolCall, ToolResult
from session_adapters.reading.decoding import RecordDecoder
from session_adapters.reading.lines import Line
from session_adapters.text import if_json
from session_adapters.times import from_iso

__all__ = ["SHELL", "CodexBuilder"]

_TURN = re.compile(rb'"type":\s*"task_started"|"role":\s*"user"')
_ABORTED = "<turn_aborted>"
SHELL = "<user_shell_command>"


class CodexBuilder(TokenBuilder):
    """See the module. Lines before `own_from` (a byte offset) are another session's: `parent`, if it is known."""

    decoder: ClassVar[RecordDecoder[Record]] = LINE

    def __init__(self, owner: str, *, parent: str = "", own_from: int = 0) -> None:
        super().__init__(owner, parent=parent)
        self.contexts: list[str] = []
        """Models of this session's own turns, in order, each once."""
        self.cwd: str | None = None
        self.first: datetime | None = None
        """Time of the first own line."""
        self.newest: datetime | None = None
        """Time of the newest own line."""
        self.candidate: int | None = None
        """An item of role user that waits for the event that makes it a prompt."""
        self.echo: str | None = None
        """A prompt made from an event, which an item may repeat."""
        self._own_from = own_from
        self._ordinal: int | None = None
        self._spoken: tuple[str, str, datetime | None] | None = None
        self._said: int | None = None
        self.turn: bool | None = None
        """Whether a turn is being worked on; None where nothing was read of turns."""

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """See `Builder.starts_turn`."""
        return _TURN.search(line, 0, 400) is not None

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        if self.from_start is None:
            self.from_start = line.offset == 0
        records, lost = self.decoder.all(line.data)
        if lost:
            self.damaged.add(line.offset, "a record that is no JSON or not of the expected form")
        self.inherited = bool(self.base) or line.offset < self._own_from
        for number, record in enumerate(records):
            self.at = f"{line.offset}.{number}" if number else str(line.offset)
            if is_stray(record):
                self.damaged.add(line.offset, "a message of an unknown kind")
            self._take(record)

    def _take(self, record: Record) -> None:
        if record.ordinal is not None:
            if record.ordinal == self._ordinal:
                return  # the same line twice
            self._ordinal = record.ordinal
        when = from_iso(record.timestamp)
        if when is not None and not self.inherited:
            self.first = self.first or when
            self.newest = max(self.newest or when, when)
        payload = record.payload
        if self._spoken is not None and (payload is None or payload.role != "assistant"):
            self._show_spoken(*self._spoken)
        if payload is None:
            if record.record_type is None and (record.type is not None or record.role is not None):
                self._item(record, when, bare=True)
            elif record.record_type is None and record.id is not None:
                self._context(record.model, record.cwd)
        elif record.type == "response_item":
            self._item(payload, when, bare=False)
        elif record.type == "event_msg":
            if payload.type == "token_count" and payload.info is not None:
                self.count_event(payload.info, recorded=record.ordinal is not None)
            handle = _EVENTS.get(payload.type or "")
            if handle is not None:
                handle(self, payload, when)
        elif record.type == "turn_context":
            self._context(payload.model, payload.cwd)
        elif record.type == "token_usage_record" and payload.usage is not None:
            self.count_record(payload.response_id, payload.usage, payload.thread_token_usage)
        elif record.type == "compacted":
            self._compacted(payload.message or "", when)

    def _show_spoken(self, text: str, item_id: str, when: datetime | None) -> None:
        """No item follows that repeats what an event said: it is shown from there."""
        self._spoken = None
        if text:
            index = self._reply(item_id, when, above=("content", "tool_calls"))
            message = self.messages[index]
            self.change(index, replace(message, content=text, timestamp=when or message.timestamp))
            self._said = index

    def _context(self, model: str | None, cwd: str | None) -> None:
        self.model = model or self.model
        if self.inherited:
            return
        self.cwd = cwd or self.cwd
        if model and model not in self.contexts:
            self.contexts.append(model)

    # Items -------------------------------------------------------------------------------------------------

    def _item(self, item: Payload, when: datetime | None, *, bare: bool) -> None:
        kind = item.type or (item.role and "message") or ""
        if kind == "message":
            if item.role == "user":
                self._user_item(item, when, bare=bare)
            elif item.role == "assistant":
                self._spoken = None
                text = text_of(item.content)
                images = attachments_of(item.content)
                said = self._said is not None and self._said == len(self.messages) - 1
                if said and self.messages[-1].content == text:
                    self._said = None  # by its event
                elif text or images:
                    index = self._reply(item.id, when, above=("content", "tool_calls"))
                    message = self.messages[index]
                    at = when or message.timestamp
                    self.change(index, replace(message, content=text, attachments=images, timestamp=at))
                if item.usage is not None:
                    self.count_inline(item.usage)
        elif kind == "reasoning":
            thinking = reasoning_of(item)
            if thinking:
                index = self._reply(item.id, when, above=("content", "tool_calls"))
                message = self.messages[index]
                joined = f"{message.thinking}\n\n{thinking}" if message.thinking else thinking
                self.change(index, replace(message, thinking=joined, timestamp=when or message.timestamp))
        elif kind.endswith("_output"):
            self._output(item, when)
        elif kind.endswith("_call"):
            self._call(item, kind, when)

    def _reply(self, item_id: str | None, when: datetime | None, *, above: tuple[str, ...] = ()) -> int:
        """Index of the message that takes the next part of a reply; a new one if a field in `above`, which
        belongs after that part, is filled already."""
        index = self.open
        if index is not None and index == len(self.messages) - 1:
            message = self.messages[index]
            if not any(getattr(message, name) for name in above):
                return index
        self.open = self._say("assistant", item_id=item_id, when=when, model=self.model)
        return self.open

    def _say(
        self,
        role: Any,
        content: str = "",
        kind: MessageKind = "message",
        *,
        item_id: str | None = None,
        when: datetime | None = None,
        **more: Any,
    ) -> int:
        return self.add(
            Message(
                role=role,
                content=content,
                kind=kind,
                id=item_id or self.at,
                timestamp=when,
                inherited=self.inherited,
                **more,
            )
        )

    def _user_item(self, item: Payload, when: datetime | None, *, bare: bool) -> None:
        text, images = text_of(item.content), attachments_of(item.content)
        echo, self.echo = self.echo, None
        if not (text or images) or (text == echo and self.messages and self.messages[-1].is_prompt):
            return
        injected = is_injected(text)
        kind: MessageKind = "message" if bare and not injected else "notice"
        if text.startswith(SHELL):
            kind = "command"
        if bare and injected and not self.inherited:
            self.cwd = cwd_in(text) or self.cwd
        index = self._say("user", text, kind, item_id=item.id, when=when, attachments=images)
        self.open = None
        self.candidate = None if bare or injected else index

    def _call(self, item: Payload, kind: str, when: datetime | None) -> None:
        name = item.name or kind.removesuffix("_call")
        arguments = next((one for one in (item.arguments, item.input, item.action) if one is not None), None)
        call = ToolCall(
            tool_call_id=item.call_id or item.id or self.at,
            tool_name=f"{item.namespace}.{name}" if item.namespace else name,
            input=arguments if kind == "custom_tool_call" else if_json(arguments),
            is_error=item.status == "failed",
        )
        index = self._reply(item.id, when)
        message = self.messages[index]
        calls = (*message.tool_calls, call)
        self.change(index, replace(message, tool_calls=calls, timestamp=when or message.timestamp))

    def _output(self, item: Payload, when: datetime | None) -> None:
        output = read_output(item.output)
        result = ToolResult(tool_call_id=item.call_id or "", output=output.value, is_error=output.is_error)
        more: dict[str, object] = {"duration_ms": output.duration_ms, "subagent_id": output.subagent_id}
        linked = self.link(result, **more)
        self._say("tool", item_id=item.id, when=when, tool_result=linked, attachments=output.attachments)

    def _compacted(self, text: str, when: datetime | None) -> None:
        """`replacement_history` repeats what is there already and is not read."""
        index = len(self.messages) - 1
        more: dict[str, Any] = {"timestamp": when, "model": self.model, "inherited": self.inherited}
        marker = Message(role="system", kind="compaction", id=self.at, **more)
        last = self.messages[index] if self.messages else None
        if last is not None and is_summary_call(last, text):
            spent = replace(marker, token_usage=last.token_usage, usage_key=last.usage_key)
            self.change(index, spent)
        else:
            self.add(marker)
        if text:
            self._say("system", text, "summary", item_id=f"{self.at}.summary", when=when)
        self.open = None

    # Events ------------------------------------------------------------------------------------------------

    def _user_event(self, event: Payload, when: datetime | None) -> None:
        self._prompt(event.message or "", when)

    def _agent_event(self, event: Payload, when: datetime | None) -> None:
        self._hear(event.message or "", self.at, when)

    def _error_event(self, event: Payload, when: datetime | None) -> None:
        self._error(event.message or "unknown error", when)

    def _item_event(self, event: Payload, when: datetime | None) -> None:
        item = event.item
        if item is not None and item.type == "UserMessage":
            self._prompt(text_of(item.content), when)
        elif item is not None and item.type == "AgentMessage":
            self._hear(text_of(item.content), item.id or self.at, when)

    def _hear(self, text: str, item_id: str, when: datetime | None) -> None:
        """What an event says: the next item repeats it, or the last one said it."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.role != "assistant" or last.content != text:
            self._spoken = (text, item_id, when)

    def _prompt(self, text: str, when: datetime | None) -> None:
        index, self.candidate = self.candidate, None
        if is_injected(text):
            return  # early versions have an event for these too
        if index is not None and index == len(self.messages) - 1:
            item = self.messages[index]
            self.change(index, replace(item, kind="message", content=text or item.content))
            return
        if text:
            self._say("user", text, when=when)
            self.echo, self.open = text, None

    @property
    def activity(self) -> Activity:
        """See `Builder.activity`. What is said in the middle of a turn is not the last of it."""
        found = super().activity
        if self.turn and found.step in ("done", "idle"):
            return replace(found, step="working", record="a turn that is not complete")
        return found

    def _task_started(self, event: Payload, when: datetime | None) -> None:
        self.turn = True

    def _task_complete(self, event: Payload, when: datetime | None) -> None:
        self.turn = False
        error = event.error
        text = error.get("message") if isinstance(error, dict) else error
        if isinstance(text, str) and text:
            self._error(text, when)

    def _error(self, text: str, when: datetime | None) -> None:
        last = self.messages[-1] if self.messages else None
        if last is None or last.kind != "error" or last.content != text:
            self._say("system", text, "error", when=when)

    def _turn_aborted(self, event: Payload, when: datetime | None) -> None:
        self.turn = False
        if self.messages and self.messages[-1].content.startswith(_ABORTED):
            return
        self._say("user", _ABORTED, "notice", when=when)

    def renumber(self, places: Sequence[int | None]) -> None:
        """See `Builder.renumber`."""
        super().renumber(places)
        if self.candidate is not None:
            self.candidate = places[self.candidate]
        if self._said is not None:
            self._said = places[self._said]

    def settled(self) -> int:
        """See `Builder.settled`."""
        return max(0, min(at for at in (self.open, self.candidate, len(self.messages) - 1) if at is not None))


# Not kept by each builder, which would be a cycle then: what it read would lie about until somebody looks for those.
_EVENTS: Mapping[str, Callable[[CodexBuilder, Payload, datetime | None], None]] = {
    "user_message": CodexBuilder._user_event,
    "item_completed": CodexBuilder._item_event,
    "agent_message": CodexBuilder._agent_event,
    "task_started": CodexBuilder._task_started,
    "task_complete": CodexBuilder._task_complete,
    "turn_aborted": CodexBuilder._turn_aborted,
    "error": CodexBuilder._error_event,
}
