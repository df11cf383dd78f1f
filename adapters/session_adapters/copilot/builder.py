"""Copilot's events turned into messages: the session's own, or one helper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from session_adapters.activity import Activity, activity_of
from session_adapters.copilot.pieces import (
    attachments,
    call_of,
    compaction_text,
    output_of,
    prompt_kind,
    result_attachments,
    words,
)
from session_adapters.copilot.reader import CopilotEvent, EventReader, is_prompt
from session_adapters.copilot.records import (
    Compacted,
    CopilotUsageRecord,
    Done,
    HelperStarted,
    Noted,
    PermissionAsked,
    Prompt,
    Reply,
    Rewound,
    Shutdown,
    ToolStarted,
    normalised,
    whole,
)
from session_adapters.copilot.tokens import HIDDEN_CALL, RUN_ENDED, CountingBuilder, call_key, usage_key
from session_adapters.growing.hashes import Hashes
from session_adapters.model import Message, MessageKind, Role, ToolCall, ToolResult
from session_adapters.reading.lines import Line
from session_adapters.text import one_line

__all__ = ["SETTLING", "CopilotBuilder", "helper_id"]


def helper_id(session_id: str, agent: str) -> str:
    """Our id of a helper: its `agentId` alone does not tell which file it is in, and a fork copies it."""
    return f"{session_id}:{agent}" if agent else session_id


class CopilotBuilder(CountingBuilder):
    """Takes the events of `agent` (the session itself if empty) and passes over the others'."""

    def __init__(self, session_id: str, *, agent: str = "", began: datetime | None = None) -> None:
        """`began`: when a fork was made; what is older was copied from its parent."""
        super().__init__()
        self.reader = EventReader()
        self.damaged = self.reader.damaged
        self._session_id = session_id
        self._agent = agent
        self.began = began
        self._seen = Hashes()
        self._helpers: dict[str, str] = {}
        self._running: dict[str, datetime] = {}
        """When calls that have no result yet were begun."""
        self._asked: dict[str, tuple[str, Activity]] = {}
        """Who asked for the user's leave, and for what, by the id of the question."""

    @classmethod
    def starts_turn(cls, line: bytes) -> bool:
        """Whether the line is a prompt."""
        return is_prompt(line)

    def feed(self, line: Line) -> None:
        """See `Builder.feed`."""
        for found in self.reader.feed(line):
            self.take(found)

    def take(self, found: CopilotEvent) -> None:
        """Take in one event."""
        data = found.data
        if isinstance(data, HelperStarted) and data.tool_call_id and found.agent != self._agent:
            # The call that began the helper is its caller's: it is told whom it began.
            self._helpers[data.tool_call_id] = found.agent
            place = self._calls.get(data.tool_call_id)
            if place is not None:
                index, position = place
                calls = list(self.messages[index].tool_calls)
                calls[position] = replace(calls[position], subagent_id=helper_id(self._session_id, found.agent))
                self.change(index, replace(self.messages[index], tool_calls=tuple(calls)))
        if found.agent != self._agent:
            if isinstance(data, Reply):
                self.totals.helpers += whole(data.output_tokens)
            if isinstance(data, PermissionAsked) and not self._agent:  # the session asks for its helper
                _TAKE[found.type](self, found, data)
            elif found.type in SETTLING or found.type in _HELPER_ENDS:
                self._forget_asked(found.agent)
            return
        if found.key:
            if hash(found.key) in self._seen:
                return
            self._seen.add(hash(found.key))
        if found.type in SETTLING:
            self.settle()
            self._running.clear()  # of a call that was broken off there comes no result
            self._forget_asked(None if found.type in _ENDS else self._agent)
        take = _TAKE.get(found.type)
        if take is not None:
            take(self, found, data)

    # What was said -----------------------------------------------------------------------------------------

    def _prompt(self, found: CopilotEvent, data: Prompt) -> None:
        text = data.content or ""
        files = attachments(data.attachments)
        if text.strip() or files:
            self._say(found, "user", text, prompt_kind(data), attachments=files)

    def _reply(self, found: CopilotEvent, data: Reply) -> None:
        message = self._message(
            found,
            "assistant",
            data.content or "",
            "message",
            thinking=data.reasoning_text or None,
            tool_calls=tuple(
                call_of(request, self._helper_of(request.tool_call_id)) for request in data.tool_requests or ()
            ),
            model=data.model,
        )
        self.add_reply(message, data.api_call_id or "", data.output_tokens)

    def _begin(self, found: CopilotEvent, data: ToolStarted) -> None:
        if data.tool_call_id and found.time is not None:
            self._running[data.tool_call_id] = found.time

    def _user_ran(self, found: CopilotEvent, data: ToolStarted) -> None:
        call = ToolCall(
            tool_call_id=data.tool_call_id or found.id, tool_name=data.tool_name or "", input=data.arguments
        )
        command = data.arguments.get("command") if isinstance(data.arguments, dict) else None
        text = f"! {command}" if isinstance(command, str) else f"! {data.tool_name or ''}"
        self._say(found, "user", text, "command", tool_calls=(call,))

    def _done(self, found: CopilotEvent, data: Done) -> None:
        output, failed = output_of(data)
        result = ToolResult(tool_call_id=data.tool_call_id or "", output=output, is_error=failed)
        begun, ended = self._running.pop(result.tool_call_id, None), found.time
        facts: dict[str, object] = {}
        if begun is not None and ended is not None and ended >= begun:
            facts["duration_ms"] = round((ended - begun).total_seconds() * 1000)
        if helper := self._helper_of(result.tool_call_id):
            facts["subagent_id"] = helper
        linked = self.link(result, **facts)
        self._say(found, "tool", "", "message", tool_result=linked, attachments=result_attachments(data))

    def _compaction(self, found: CopilotEvent, data: Compacted) -> None:
        spent = data.compaction_tokens_used
        usage = normalised(spent) if spent is not None else None
        counted = usage is not None and usage.total > 0
        tokens: dict[str, Any] = {
            "token_usage": usage if counted else None,
            "usage_key": found.id if counted else "",
            "model": ((spent.model if spent else None) or data.behavior_model_id) if counted else None,
        }
        if data.success is False:
            self._say(
                found, "system", f"Compaction failed: {words(data.error) or 'no reason given'}", "notice", **tokens
            )
            return
        self._say(found, "system", compaction_text(data), "compaction", **tokens)
        if data.summary_content:
            self._say(found._replace(id=f"{found.id}#1"), "system", data.summary_content, "summary")

    def _noted(self, found: CopilotEvent, data: Noted) -> None:
        kind: MessageKind = "notice"
        if found.type == "abort":
            reason = words(data.reason)
            text = f"Interrupted ({reason})" if reason else "Interrupted"
        elif found.type == "session.truncation":
            text = "Older messages were left out of what the model sees"
        elif found.type == "session.context_cleared":
            text, kind = "Context cleared", "compaction"
        else:
            text = words(data.message) or words(data.content)
            kind = "error" if found.type == "session.error" else "notice"
        if text:
            self._say(found, "system", text, kind)

    def _say(self, found: CopilotEvent, role: Role, text: str, kind: MessageKind, **more: Any) -> None:
        self.add(self._message(found, role, text, kind, **more))

    def _message(self, found: CopilotEvent, role: Role, text: str, kind: MessageKind, **more: Any) -> Message:
        copied = self.began is not None and found.time is not None and found.time < self.began
        return Message(
            role=role, content=text, id=found.id, kind=kind, timestamp=found.time, inherited=copied, **more
        )

    # Leave -------------------------------------------------------------------------------------------------

    @property
    def activity(self) -> Activity:
        """See `Builder.activity`. A permission that was asked for and not answered comes first."""
        return next((asked for _, asked in reversed(self._asked.values())), None) or activity_of(self.messages)

    def _forget_asked(self, agent: str | None) -> None:
        """What `agent` asked for (anybody, if None) waits no more."""
        self._asked = {name: one for name, one in self._asked.items() if agent is not None and one[0] != agent}

    def _ask(self, found: CopilotEvent, data: PermissionAsked) -> None:
        wanted = data.permission_request
        if not data.request_id or wanted is None:
            return
        place = self._calls.get(wanted.tool_call_id or "")
        call = self.messages[place[0]].tool_calls[place[1]] if place is not None else None
        text = one_line(wanted.full_command_text or wanted.path or wanted.intention or "", 200)
        asked = Activity(
            step="approval",
            since=found.time,
            tool=call.tool_name if call is not None else wanted.kind or "",
            text=text,
            record="permission.requested",
        )
        self._asked[data.request_id] = found.agent, asked

    def _answered(self, found: CopilotEvent, data: PermissionAsked) -> None:
        self._asked.pop(data.request_id or "", None)

    # Tokens ------------------------------------------------------------------------------------------------

    def _usage(self, found: CopilotEvent, data: CopilotUsageRecord) -> None:
        usage = data.usage
        if usage is None:
            return
        accounting = usage.accounting
        key = usage_key(usage, found.id)
        message = self._message(
            found, "system", HIDDEN_CALL, "notice", token_usage=normalised(usage), usage_key=key, model=usage.model
        )
        source = accounting.source_session_id if accounting else None
        if not self._agent and source and source != self._session_id:
            message = replace(message, inherited=True)
        self.count_call(call_key(usage, found.id), message)

    def _shutdown(self, found: CopilotEvent, data: Shutdown) -> None:
        if not self._agent and data.usage_accounting_watermarks is None:
            self.count_run(data, self._message(found, "system", RUN_ENDED, "notice", usage_key=found.id))

    # Helpers and rewinds -----------------------------------------------------------------------------------

    def _helper_of(self, call: str | None) -> str | None:
        agent = self._helpers.get(call or "")
        return helper_id(self._session_id, agent) if agent else None

    def _rewind(self, found: CopilotEvent, data: Rewound) -> None:
        if data.event_ids:
            self._undo(0, set(data.event_ids))
        elif data.up_to_event_id:
            start = next((at for at, one in enumerate(self.messages) if one.id == data.up_to_event_id), None)
            if start is not None:
                self._undo(start + 1, None)

    def _undo(self, start: int, ids: set[str] | None) -> None:
        for index, message in enumerate(self.messages[start:], start):
            if message.visibility == "live" and (ids is None or message.id.partition("#")[0] in ids):
                self.change(index, replace(message, visibility="rewound"))

    def drain(self) -> list[Message]:
        """Hand over, and forget, all messages but the last, so that a long file is read in bounded memory. Results of
        forgotten calls stay unlinked."""
        done = self.messages[:-1]
        self.drop(set(range(len(done))))
        return done


_ENDS = frozenset(("session.error", "session.resume", "session.shutdown", "abort"))
"""Behind these no helper waits either; beside the turns of its session one may go on."""
SETTLING = _ENDS | {"assistant.turn_end", "user.message"}
"""Behind these no reply comes to a call of the model that was made before."""
_HELPER_ENDS = frozenset(("subagent.completed", "subagent.failed"))
_TAKE: Mapping[str, Callable[[CopilotBuilder, CopilotEvent, Any], None]] = {
    "abort": CopilotBuilder._noted,
    "assistant.message": CopilotBuilder._reply,
    "permission.completed": CopilotBuilder._answered,
    "permission.requested": CopilotBuilder._ask,
    "session.compaction_complete": CopilotBuilder._compaction,
    "session.context_cleared": CopilotBuilder._noted,
    "session.error": CopilotBuilder._noted,
    "session.info": CopilotBuilder._noted,
    "session.shutdown": CopilotBuilder._shutdown,
    "session.snapshot_rewind": CopilotBuilder._rewind,
    "session.truncation": CopilotBuilder._noted,
    "session.usage_record": CopilotBuilder._usage,
    "session.warning": CopilotBuilder._noted,
    "system.notification": CopilotBuilder._noted,
    "tool.execution_complete": CopilotBuilder._done,
    "tool.execution_start": CopilotBuilder._begin,
    "tool.user_requested": CopilotBuilder._user_ran,
    "user.message": CopilotBuilder._prompt,
}
