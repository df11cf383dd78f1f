"""The normalised types: what a session is, whichever agent wrote it.

Field names follow spec 004 section 3 (camelCase in JSON); what that document does not have is marked «ours».
All times are aware datetimes in UTC. All types are frozen; change one with `msgspec.structs.replace`.
`msgspec.json.encode` gives the document's JSON: required fields are always there, optional ones absent
rather than null.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import field

from session_adapters.text import drop_impossible, scrub_field, scrub_json

__all__ = [
    "EPOCH",
    "Attachment",
    "Cost",
    "JsonRecord",
    "Message",
    "MessageKind",
    "Problem",
    "Role",
    "Session",
    "SessionKind",
    "SessionSummary",
    "TokenUsage",
    "ToolCall",
    "ToolResult",
    "Visibility",
    "unified_id",
]

EPOCH = datetime.fromtimestamp(0, UTC)
"""Stands for «no time known»; sorts before every real one."""

Role = Literal["user", "assistant", "system", "tool"]

MessageKind = Literal["message", "notice", "command", "compaction", "summary", "error"]
"""«ours». `message`: said by the human or the model. `notice`: put into the conversation by the program
(reminders, task notifications, «interrupted»). `command`: a slash or shell command and its echo.
`compaction`: the point above which the agent no longer sees the conversation. `summary`: the text that
replaced it. `error`: a call that failed."""

Visibility = Literal["live", "rewound", "compacted", "branch"]
"""«ours». `rewound`: undone by the user; `compacted`: summarised away in place; `branch`: on a branch of the
conversation that the agent is not on. All are still in the store."""

SessionKind = Literal["session", "fork", "continuation", "subagent", "memory"]
"""«ours». How a session came from its parent: not at all; by a fork or branch; as the next part of the same
conversation (compression); as a helper's own conversation. `memory`: no conversation but what an agent keeps in mind
from one to the next, which searches find and no list shows (spec 004 §4.2.10)."""


def unified_id(agent: str, session_id: str) -> str:
    """`<agent>:<native id>`; pure, no check that either exists (spec 004 §5.2)."""
    return f"{agent}:{session_id}"


class JsonRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """JSON: a plain default is left out when it holds, a `default_factory` always written. `gc`: in no circle."""


# Factories that msgspec does not recognise as «empty», so that the field is written even then.
def _empty_object() -> dict[str, Any]:
    return {}


def _empty_list() -> tuple[Any, ...]:
    return ()


class TokenUsage(JsonRecord, frozen=True):
    """Tokens with one meaning for every agent: each token is in exactly one of the first, second, third or
    fourth field; `thinking_tokens` is the part of `output_tokens` spent on reasoning."""

    input_tokens: int = field(default_factory=int)
    """Fresh input: neither read from nor written to a cache."""
    output_tokens: int = field(default_factory=int)
    """Everything the model wrote, reasoning included."""
    cached_tokens: int = 0
    """Input read from a cache."""
    cache_write_tokens: int = 0
    """Input written to a cache. «ours»"""
    thinking_tokens: int = 0
    cache_write_hour_tokens: int = 0
    """The part of `cache_write_tokens` that is kept for an hour rather than for minutes, which costs more. «ours»"""

    def __post_init__(self) -> None:
        drop_impossible(self)

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            thinking_tokens=self.thinking_tokens + other.thinking_tokens,
            cache_write_hour_tokens=self.cache_write_hour_tokens + other.cache_write_hour_tokens,
        )

    @property
    def total(self) -> int:
        """All tokens, each once."""
        return self.input_tokens + self.output_tokens + self.cached_tokens + self.cache_write_tokens


class Cost(JsonRecord, frozen=True):
    """Money in US dollars. Unknown cost is an absent `Cost`, never zero (checklist C-9)."""

    total_usd: float
    input_tokens: int = field(default_factory=int)
    output_tokens: int = field(default_factory=int)
    thinking_tokens: int = 0
    cached_tokens: int = 0
    estimated: bool = False
    """Computed from a price list rather than recorded by the agent. «ours»"""

    @property
    def tokens(self) -> TokenUsage:
        """What it was paid for."""
        return TokenUsage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cached_tokens=self.cached_tokens,
            thinking_tokens=self.thinking_tokens,
        )

    @classmethod
    def of(cls, used: TokenUsage, total_usd: float, *, estimated: bool = False) -> Cost:
        """What those tokens cost."""
        return cls(
            total_usd=total_usd,
            input_tokens=used.input_tokens,
            output_tokens=used.output_tokens,
            thinking_tokens=used.thinking_tokens,
            cached_tokens=used.cached_tokens,
            estimated=estimated,
        )


class ToolCall(JsonRecord, frozen=True):
    """One call of a tool by the model, with its result once there is one."""

    tool_call_id: str
    tool_name: str
    input: Any = None
    """The arguments, decoded where they were JSON."""
    output: Any = None
    """The result as text or JSON; None while there is none."""
    is_error: bool = False
    """«ours»"""
    duration_ms: int | None = None
    subagent_id: str | None = None
    """Native session id of the helper that this call started. «ours»"""
    begun: bool = False
    """Without a result yet, and its agent notes that the tool is at work: it waits for no leave. «ours»"""


class ToolResult(JsonRecord, frozen=True):
    """What a `tool` message carries."""

    tool_call_id: str
    tool_name: str = field(default_factory=str)
    output: Any = None
    is_error: bool = False
    """«ours»"""
    linked: bool = False
    """The call is in the same session and shows this output already. «ours»"""


class Attachment(JsonRecord, frozen=True):
    """What is not text in a message: never its bytes, perhaps their `place`. «ours»"""

    media_type: str
    name: str = ""
    size: int = 0
    """Bytes, decoded; 0 when unknown, or not in the session."""
    width: int = 0
    """Pixels; 0 when unknown."""
    height: int = 0
    place: str = ""  # outside of the record: an absolute path, or a name in the agent's store of blobs


class Message(JsonRecord, frozen=True):
    """One message in conversation order."""

    role: Role
    content: str = field(default_factory=str)
    """Text only; empty for messages that carry only tool calls."""
    id: str = ""
    """The agent's own id of the message, or a stable one made from its place. «ours»"""
    kind: MessageKind = "message"
    timestamp: datetime | None = None
    thinking: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_result: ToolResult | None = None
    token_usage: TokenUsage | None = None
    cost: Cost | None = None
    model: str | None = None
    attachments: tuple[Attachment, ...] = ()
    visibility: Visibility = "live"
    inherited: bool = False
    """Copied from the parent session: shown and counted as a message, but what it used is the parent's. «ours»"""
    context_window: int = 0
    """Tokens that the model takes, where its agent recorded that with the call. «ours»"""
    usage_key: str = ""
    """Identity of the model call that `token_usage` belongs to. The same call can stand in several files
    (forks, resumes): count it once per key over all of them. One that begins with `@` was made from a place, and
    tells calls apart within one session only. «ours»"""
    unfinished: bool = False
    """The model has not said all of it, or never came to. «ours»"""
    kept_from: str = ""
    """Of a compaction that left something above it: id of its first message that the agent still sees. «ours»"""

    @property
    def is_prompt(self) -> bool:
        """Said by the human: what a turn starts with (checklist L-15)."""
        return self.role == "user" and self.kind == "message"


class SessionSummary(JsonRecord, frozen=True):
    """A session without its messages: what a list shows (spec 004 §3.1)."""

    agent: str
    session_id: str
    unified_id: str = field(default_factory=str)
    """Always `agent:session_id`; set here, whatever is passed."""
    title: str = field(default_factory=str)
    """The agent's own title, else the first prompt; one line, at most 100 characters (checklist L-14)."""
    created_at: datetime = field(default_factory=lambda: EPOCH)
    updated_at: datetime = field(default_factory=lambda: EPOCH)
    """Time of the newest message, not of the file."""
    turn_count: int = field(default_factory=int)
    """Prompts that were answered, those that a fork has from its parent among them (see `SessionFold`)."""
    message_count: int = field(default_factory=int)
    """As many as the transcript shows."""
    model: str | None = None
    """The most used one; ties go to the latest."""
    cost: Cost | None = None
    tags: tuple[str, ...] = field(default_factory=_empty_list)
    cwd: str | None = None
    forked_from: str | None = None
    relevance_score: float | None = None
    # The rest is ours.
    kind: SessionKind = "session"
    parent_id: str | None = None
    """Native id of the session this one came from, whatever the kind."""
    lineage_id: str | None = None
    """Native id of the first session of the same conversation; None when it is this one."""
    models: tuple[str, ...] = ()
    """Every model used, most used first."""
    tokens: TokenUsage | None = None
    """Sum over the model calls in this session's own record, each call once."""
    tool_call_count: int = 0
    git_branch: str | None = None
    source: str | None = None
    """Where the conversation was held (cli, telegram, cron …), as the agent names it."""
    profile: str | None = None
    preview: str = ""
    """The first prompt of the session's own, on the branch where it goes on; one line, at most 200 characters. Of a
    fork in which nothing was asked yet its parent's."""
    live: bool = False
    """A process has the session open now."""
    status: str | None = None
    """What that process says of itself (busy, waiting …)."""
    error: bool = False
    """It ended in a failed call."""
    end_reason: str | None = None
    archived: bool = False
    notes: tuple[str, ...] = ()
    """What else people should know of it, each in a few words: whom it is shared with, what it waits for."""
    gone: bool = False
    """It was here and its store no longer has it."""
    pinned: bool = False
    """The user keeps it at hand. This and the next two are the user's own marks, which no agent knows of."""
    own_note: str = ""
    """What the user noted of it; may have several lines."""
    agent_title: str | None = None
    """The agent's title where `title` is a name that the user gave it; else None."""
    known_as: str = ""
    """What its agent's users call it where that is not its title: agent and session id of Hector's; one line."""
    repeated: bool = False
    """All its messages are rows of another session, too, which a search finds in its place."""
    partial: bool = False
    """Counts, models and tokens are lower bounds: of a large file, its ends and what names it were read so far."""
    path: str = ""
    """The file or database that holds it."""
    size: int = 0
    """Bytes of its own file; 0 for a row in a database."""
    warnings: int = 0
    """Records that could not be read."""
    raw: dict[str, Any] = field(default_factory=_empty_object)
    """Agent-specific facts that have no field of their own."""

    @property
    def waits(self) -> bool:
        """Its store says that it waits for its user, whether a process runs or not."""
        return bool(self.raw.get("waitsForApproval") or self.raw.get("waitsForInput"))

    def __post_init__(self) -> None:
        if not (self.path.isascii() and self.session_id.isascii()):  # thousands are made, and hardly any is not
            scrub_field(self, "session_id")
            if scrub_field(self, "path"):  # the name of a file is in more than one field
                for name in ("cwd", "parent_id", "profile", "source", "raw"):
                    msgspec.structs.force_setattr(self, name, scrub_json(getattr(self, name)))
        msgspec.structs.force_setattr(self, "unified_id", f"{self.agent}:{self.session_id}")


class Session(SessionSummary, frozen=True):
    """A session with all its messages (spec 004 §3.2)."""

    messages: tuple[Message, ...] = field(default_factory=_empty_list)
    beside: dict[str, Any] = {}
    """What the store keeps of it beside the messages and the list does not hold: metadata, states. «ours»"""

    @classmethod
    def of(cls, summary: SessionSummary, messages: Iterable[Message], left: int = 0, **changes: Any) -> Session:
        """A summary, with `changes`, and its messages; so many are left out, for there are too many."""
        facts = {**msgspec.structs.asdict(summary), **changes, "messages": tuple(messages)}
        return cls(**{**facts, "raw": {**facts["raw"], "leftOut": left}} if left else facts)


class SessionMissing(LookupError):
    """The session is not in the store (any more)."""


class SessionUnreadable(ValueError):
    """The session is there and nothing of it can be read. The text is one sentence: what, where, why."""


class Problem(JsonRecord, frozen=True):
    """Something that could not be read (law 4: nothing hidden)."""

    agent: str
    path: str
    reason: str
    """One sentence, ending without a full stop."""
    place: str = ""
    """Where in the file: `line 12`, `byte 4096`, `table messages`."""
    session_id: str = ""

    def __post_init__(self) -> None:
        for name in ("path", "reason", "place", "session_id"):
            scrub_field(self, name)
