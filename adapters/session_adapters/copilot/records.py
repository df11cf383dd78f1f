"""The typed events of Copilot CLI, one per line.

`{type, data, id, timestamp, parentId, agentId?}`

About 200 types exist; those below make up a conversation or say something of the session. `system.message` and
`model.*` are logs of requests that repeat the conversation, and `tool.execution_start` repeats the call: they are
passed over, as is every type that is not in `DATA`.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct

from session_adapters.model import TokenUsage
from session_adapters.reading.decoding import Decoder

__all__ = [
    "DATA",
    "Attached",
    "Compacted",
    "CopilotUsage",
    "CopilotUsageRecord",
    "Done",
    "Event",
    "HelperStarted",
    "Ignored",
    "Metric",
    "Noted",
    "Present",
    "Prompt",
    "Reply",
    "Resumed",
    "Rewound",
    "SessionStarted",
    "Shutdown",
    "Titled",
    "ToolStarted",
    "WorkContext",
    "normalised",
    "whole",
]

Text = str | None
Count = int | float | None
Flag = bool | None


class Event(Struct, rename="camel"):
    """A line. `data` is decoded by its type."""

    type: str
    data: msgspec.Raw = msgspec.Raw(b"{}")
    id: Text = None
    timestamp: str | int | float | None = None
    agent_id: Text = None


class _Data(Struct, rename="camel"):
    parent_tool_call_id: Text = None
    """Marks a helper's event where there is no `agentId`."""


class WorkContext(Struct, rename="camel"):
    """Where the agent works."""

    cwd: Text = None
    git_root: Text = None
    repository: Text = None
    branch: Text = None


class SessionStarted(_Data):
    """`session.start`. In a fork `startTime` is the fork's, later than the events copied behind it."""

    session_id: Text = None
    copilot_version: Text = None
    start_time: str | int | float | None = None
    context: WorkContext | None = None


class Resumed(_Data):
    """`session.resume`."""

    context: WorkContext | None = None


class Attached(Struct, rename="camel"):
    """An attachment of a prompt, or something in a tool's result that is not text."""

    type: Any = None
    path: Any = None
    display_name: Any = None
    mime_type: Any = None
    data: Any = None


class Prompt(_Data):
    """`user.message`. `transformedContent`, which is not read, is the same text with the program's padding."""

    content: Text = None
    source: Text = None
    attachments: list[Attached] | None = None


class ToolRequest(Struct, rename="camel"):
    """One of `toolRequests`."""

    tool_call_id: Text = None
    name: Text = None
    arguments: Any = None


class Reply(_Data):
    """`assistant.message`."""

    content: Text = None
    model: Text = None
    reasoning_text: Text = None
    tool_requests: list[ToolRequest] | None = None
    output_tokens: Count = None
    api_call_id: Text = None


class ToolStarted(_Data):
    """`tool.execution_start`, and `tool.user_requested` for what the user ran himself."""

    tool_call_id: Text = None
    tool_name: Text = None
    arguments: Any = None


class ToolOutput(Struct, rename="camel"):
    """`result` of a call: `content` is what the model saw."""

    content: Any = None
    contents: list[Attached | str] | None = None


class Failure(Struct):
    """`error` of a call."""

    message: Text = None
    code: Any = None


class Shell(Struct, rename="camel"):
    """How a command ended."""

    exit_code: Any = None


class Done(_Data):
    """`tool.execution_complete`."""

    tool_call_id: Text = None
    success: Flag = None
    result: ToolOutput | str | None = None
    error: Failure | str | None = None
    shell_execution: Shell | None = None


class Accounting(Struct, rename="camel"):
    """Whose call it was. A helper's `sourceSessionId` is internal and no session."""

    source_session_id: Text = None
    usage_id: Text = None


class CopilotUsage(Struct, rename="camel"):
    """One model call; `inputTokens` include what was read from and written to the cache."""

    model: Text = None
    input_tokens: Count = None
    output_tokens: Count = None
    cache_read_tokens: Count = None
    cache_write_tokens: Count = None
    reasoning_tokens: Count = None
    api_call_id: Text = None
    accounting: Accounting | None = None


class CopilotUsageRecord(_Data):
    """`session.usage_record` (1.0.9x and later), before the reply it belongs to."""

    usage: CopilotUsage | None = None


class Metric(Struct):
    """Figures for one model."""

    usage: CopilotUsage | None = None


class AgentMetric(Struct, rename="camel"):
    """Figures for the main conversation (`main`) or a helper."""

    model_metrics: dict[str, Metric] | None = None


class Present(Struct):
    """An object of which nothing is read but that it is there."""


class Shutdown(_Data):
    """`session.shutdown`. With `accountingSnapshot` the figures go on from run to run, and from a parent to its fork;
    without it they are this run's. `usageAccountingWatermarks`: every call has a `session.usage_record`."""

    accounting_snapshot: Present | None = None
    usage_accounting_watermarks: Present | None = None
    model_metrics: dict[str, Metric] | None = None
    agent_metrics: dict[str, AgentMetric] | None = None


class Spent(CopilotUsage):
    """`compactionTokensUsed`; older versions have the short names."""

    input: Count = None
    output: Count = None
    cached_input: Count = None


class Compacted(_Data):
    """`session.compaction_complete`. Its own model call stands in no usage record."""

    success: Flag = None
    error: Any = None
    trigger: Text = None
    summary_content: Text = None
    pre_compaction_tokens: Count = None
    post_compaction_tokens: Count = None
    behavior_model_id: Text = None
    compaction_tokens_used: Spent | None = None


class Noted(_Data):
    """`session.info`, `session.error` and others that say something in words."""

    message: Any = None
    content: Any = None
    reason: Any = None
    info_type: Text = None


class Titled(_Data):
    """`session.title_changed`."""

    title: Text = None


class Rewound(_Data):
    """`session.snapshot_rewind`: the events named, or all after `upToEventId`, are undone."""

    event_ids: list[str] | None = None
    up_to_event_id: Text = None


class HelperStarted(_Data):
    """`subagent.started`; its `agentId` is the new helper's."""

    tool_call_id: Text = None
    agent_name: Text = None
    agent_display_name: Text = None
    agent_description: Text = None
    model: Text = None


class Permission(Struct, rename="camel"):
    """What a tool wants to do."""

    tool_call_id: Text = None
    kind: Text = None
    full_command_text: Text = None
    intention: Text = None
    path: Text = None


class PermissionAsked(_Data):
    """`permission.requested`, and `permission.completed`, which has the id alone."""

    request_id: Text = None
    permission_request: Permission | None = None


class Ignored(_Data):
    """Marks the end of a turn or that there is something of which nothing is shown."""


DATA: dict[str, Decoder[Any]] = {
    "abort": Decoder(Noted),
    "assistant.message": Decoder(Reply),
    "assistant.turn_end": Decoder(Ignored),
    "permission.completed": Decoder(PermissionAsked),
    "permission.requested": Decoder(PermissionAsked),
    "session.compaction_complete": Decoder(Compacted),
    "session.context_cleared": Decoder(Noted),
    "session.error": Decoder(Noted),
    "session.info": Decoder(Noted),
    "session.resume": Decoder(Resumed),
    "session.shutdown": Decoder(Shutdown),
    "session.snapshot_rewind": Decoder(Rewound),
    "session.start": Decoder(SessionStarted),
    "session.title_changed": Decoder(Titled),
    "session.truncation": Decoder(Noted),
    "session.usage_record": Decoder(CopilotUsageRecord),
    "session.warning": Decoder(Noted),
    "subagent.completed": Decoder(Ignored),
    "subagent.failed": Decoder(Ignored),
    "subagent.started": Decoder(HelperStarted),
    "system.notification": Decoder(Noted),
    "tool.execution_complete": Decoder(Done),
    "tool.execution_start": Decoder(ToolStarted),
    "tool.user_requested": Decoder(ToolStarted),
    "user.message": Decoder(Prompt),
}
"""The types that are read, and what is in them."""


def whole(number: Count) -> int:
    """A count as it should be: an integer, not negative."""
    if number is None or (isinstance(number, float) and not isfinite(number)):
        return 0
    return max(0, int(number))


def normalised(usage: CopilotUsage) -> TokenUsage:
    """Each token once: `inputTokens` include the cache's (FACTS.md: 7 fresh + 5,769 written = 5,776)."""
    given, output, read = usage.input_tokens, usage.output_tokens, usage.cache_read_tokens
    if isinstance(usage, Spent):
        given = usage.input if given is None else given
        output = usage.output if output is None else output
        read = usage.cached_input if read is None else read
    cached, written = whole(read), whole(usage.cache_write_tokens)
    return TokenUsage(
        input_tokens=max(0, whole(given) - cached - written),
        output_tokens=whole(output),
        cached_tokens=cached,
        cache_write_tokens=written,
        thinking_tokens=whole(usage.reasoning_tokens),
    )
