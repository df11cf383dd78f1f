"""The typed rows of Hermes' `state.db`.

Format: spec 000; facts hermes.md 2.1 and 2.2 for every schema since.

Columns are found by name, so these hold for every schema from 1 to 23: what a database does not have reads as
the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from session_adapters.reading.sqlite_rows import LISTED_LIMIT, RowReader, as_float, as_text

__all__ = ["MESSAGES", "SESSIONS", "USAGE", "HermesKin", "HermesMessageRow", "HermesSessionRow", "UsageRow"]


class HermesSessionRow(msgspec.Struct, frozen=True):
    """A row of `sessions`. Times are seconds since the epoch. `system_prompt` is left where it is: it is long, and
    no part of the conversation."""

    id: str
    source: str | None
    parent_session_id: str | None
    model_config: str | None
    """JSON; `_branched_from` and `_delegate_from` in it say how the session came from its parent."""
    started_at: float | None
    ended_at: float | None
    end_reason: str | None
    title: str | None
    model: str | None
    input_tokens: int
    """Fresh input: Hermes adds cache reads and writes to it to get the prompt."""
    output_tokens: int
    """Reasoning included."""
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    estimated_cost_usd: float | None
    actual_cost_usd: float | None
    cost_status: str | None
    """actual, estimated, included (in a subscription) or unknown."""
    cwd: str | None
    git_branch: str | None
    git_repo_root: str | None
    archived: int
    # What has no field of its own goes to `raw` as it is.
    user_id: str | None
    session_key: str | None
    chat_id: str | None
    chat_type: str | None
    thread_id: str | None
    display_name: str | None
    profile_name: str | None
    billing_provider: str | None
    api_call_count: int | None
    rewind_count: int | None
    handoff_state: str | None
    handoff_platform: str | None
    handoff_error: str | None
    compression_failure_error: str | None
    expiry_finalized: int | None


class HermesMessageRow(msgspec.Struct, frozen=True):
    """A row of `messages`. `id` is the order: times go backwards."""

    id: int
    role: str
    content: str
    """Text; a NUL and `json:` in front of it stand for JSON: the parts of a message with pictures."""
    tool_call_id: str | None
    tool_calls: str | None
    """JSON list of calls, possibly malformed."""
    tool_name: str | None
    timestamp: float | None
    finish_reason: str | None
    reasoning: str | None
    reasoning_content: str | None
    reasoning_details: str | None
    codex_reasoning_items: str | None
    codex_message_items: str | None
    observed: int
    """1: overheard in a group, not said to the agent."""
    active: int = 1
    """1 or NULL: the agent still sees it."""
    compacted: int = 0
    """1 beside `active` 0: summarised away; 0 beside it: rewound by the user."""


class UsageRow(msgspec.Struct, frozen=True):
    """A row of `session_model_usage`: the calls of one session to one model for one task."""

    session_id: str
    model: str
    task: str
    """Empty for the conversation itself, whose sums stand in `sessions` too; else vision, compression …, which
    stand nowhere else."""
    api_call_count: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    estimated_cost_usd: float
    actual_cost_usd: float
    last_seen: float


SESSIONS = RowReader(HermesSessionRow, limit=LISTED_LIMIT)
MESSAGES = RowReader(HermesMessageRow)
USAGE = RowReader(UsageRow, limit=LISTED_LIMIT)


class HermesKin(NamedTuple):
    """Of a row of `sessions` what tells how it came from others; as in `HermesSessionRow`."""

    id: str
    source: str | None
    parent_session_id: str | None
    model_config: str | None
    started_at: float | None
    ended_at: float | None
    end_reason: str | None

    @classmethod
    def of(cls, row: Sequence[Any]) -> HermesKin:
        """Of a row as `SESSIONS` selects it: these are its first columns."""
        id_, source, parent, config, started, ended, reason = row[:7]
        begun, ended = as_float(started), as_float(ended)
        return cls(
            as_text(id_) or "", as_text(source), as_text(parent), as_text(config), begun, ended, as_text(reason)
        )
