"""Summaries of Hermes sessions, out of what was asked of the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import apsw

from session_adapters.hermes.lineage import Relations
from session_adapters.hermes.records import HermesSessionRow, UsageRow
from session_adapters.hermes.row_counts import RowCounts
from session_adapters.hermes.session_queries import Census, Note, marks_of, take_census
from session_adapters.model import EPOCH, Cost, SessionSummary, TokenUsage
from session_adapters.text import one_line
from session_adapters.times import from_epoch

__all__ = ["FEW", "PREVIEW_LENGTH", "KeptSummaries", "recorded_cost", "recorded_tokens", "summaries_of"]

PREVIEW_LENGTH = 200
"""Characters."""

FEW = 32
"""Sessions that are asked for one by one."""
_RAW = (
    "user_id",
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "display_name",
    "profile_name",
    "billing_provider",
    "cost_status",
    "api_call_count",
    "rewind_count",
    "git_repo_root",
    "handoff_state",
    "handoff_platform",
    "handoff_error",
    "compression_failure_error",
    "expiry_finalized",
    "ended_at",
)
"""Columns that go to `raw` under their own names."""


def summaries_of(
    census: Census, path: str, profile: str | None, session_id: str | None = None
) -> list[SessionSummary]:
    """A summary for each session of the census, or for that one session (none when it is not there)."""
    last = {key: counts.last for key, counts in census.by_session.items() if counts.last is not None}
    relations = Relations(census.sessions, last)
    chosen = census.sessions if session_id is None else {session_id} & census.sessions.keys()
    return [_summary(census, relations, census.sessions[key], path, profile) for key in chosen]


class KeptSummaries:
    """What the sessions of one database came to, each with its mark: where few changed the others stay as they are.
    One thread at a time may use it."""

    def __init__(self, path: str, profile: str | None) -> None:
        self._path, self._profile = path, profile
        self._kept: dict[str, tuple[int, SessionSummary]] = {}

    def read(self, connection: apsw.Connection, note: Note) -> list[SessionSummary]:
        """As `summaries_of` a census of all sessions. Raises `DatabaseUnreadable`."""
        marks = marks_of(connection)  # before what they are of: what comes between changes them again
        kept = None if marks is None else self._gone_on(connection, marks)
        if kept is not None:
            self._kept = kept
            return [summary for _, summary in kept.values()]
        noted: list[str] = []

        def tell(place: str, reason: str) -> None:
            noted.append(place)
            note(place, reason)

        found = summaries_of(take_census(connection, tell), self._path, self._profile)
        self._kept = {}
        if marks is not None and not noted and len(found) == len(marks):
            self._kept = {one.session_id: (marks[one.session_id], one) for one in found if one.session_id in marks}
        return found

    def _gone_on(
        self, connection: apsw.Connection, marks: Mapping[str, int]
    ) -> dict[str, tuple[int, SessionSummary]] | None:
        """What is kept, with those counted anew that changed; None where those are many, or not all is as it was."""
        now = {key: known for key, mark in marks.items() if (known := self._kept.get(key)) and known[0] == mark}
        changed = [key for key in marks if key not in now]
        noted: list[str] = []
        for key in changed if len(changed) <= FEW else ():
            census = take_census(connection, lambda place, reason: noted.append(place), key)
            now.update((key, (marks[key], one)) for one in summaries_of(census, self._path, self._profile, key))
        return {key: now[key] for key in marks} if len(now) == len(marks) and not noted else None


def _summary(
    census: Census, relations: Relations, row: HermesSessionRow, path: str, profile: str | None
) -> SessionSummary:
    counts = census.by_session.get(row.id) or RowCounts()
    usage = census.usage.get(row.id, [])
    relation = relations[row.id]
    tokens = _tokens(row, usage)
    models = _models(row, usage)
    created = from_epoch(row.started_at) or from_epoch(counts.first) or EPOCH
    return SessionSummary(
        agent="hermes",
        session_id=row.id,
        title=one_line(row.title or "") or one_line(counts.preview),
        created_at=created,
        updated_at=from_epoch(counts.last) or created,
        turn_count=counts.turns,
        message_count=counts.messages,
        model=models[0] if models else None,
        cost=_cost(row, usage, tokens),
        cwd=row.cwd or None,
        forked_from=relation.forked_from,
        kind=relation.kind,
        parent_id=relation.parent_id,
        lineage_id=relations.root(row.id),
        models=models,
        tokens=tokens,
        tool_call_count=counts.tool_calls,
        git_branch=row.git_branch or None,
        source=row.source or None,
        profile=profile,
        preview=one_line(counts.preview, PREVIEW_LENGTH),
        # The vocabulary is open; the reasons that are known and mean no failure contain neither word.
        error=any(word in (row.end_reason or "") for word in ("error", "fail")),
        end_reason=row.end_reason or None,
        archived=bool(row.archived),
        partial=not census.complete,
        path=path,
        warnings=counts.damaged,
        raw=_raw(row, counts, relations.tip(row.id)),
    )


def _tokens(row: HermesSessionRow, usage: list[UsageRow]) -> TokenUsage | None:
    """The conversation's own calls stand in the session's row, and per model in the usage table too; the calls
    beside it (titles, compression, vision) stand in the usage table alone."""
    own = recorded_tokens(row)
    if usage and not own.total:
        own = sum((recorded_tokens(line) for line in usage if not line.task), TokenUsage())
    if usage:
        own = sum((recorded_tokens(line) for line in usage if line.task), own)
    return own if own.total else None


def recorded_tokens(row: HermesSessionRow | UsageRow) -> TokenUsage:
    """Those that a row holds."""
    return TokenUsage(
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cached_tokens=row.cache_read_tokens,
        cache_write_tokens=row.cache_write_tokens,
        thinking_tokens=row.reasoning_tokens,
    )


def _models(row: HermesSessionRow, usage: list[UsageRow]) -> tuple[str, ...]:
    """Most used first, the conversation's own before those that only helped; ties go to the latest."""
    calls: dict[str, tuple[bool, int, float]] = {}
    for line in usage:
        own, count, seen = calls.get(line.model, (False, 0, 0.0))
        calls[line.model] = (own or not line.task, count + line.api_call_count, max(seen, line.last_seen))
    if row.model and not any(own for own, _, _ in calls.values()):
        calls[row.model] = (True, 1 << 60, 0.0)
    elif row.model:
        calls.setdefault(row.model, (True, 0, 0.0))
    return tuple(sorted((name for name in calls if name), key=lambda name: calls[name], reverse=True))


def _cost(row: HermesSessionRow, usage: list[UsageRow], tokens: TokenUsage | None) -> Cost | None:
    """What Hermes recorded, the actual amount before its own estimate; None while it knows neither."""
    lines = [line for line in usage if line.task]
    helpers = sum(line.actual_cost_usd or line.estimated_cost_usd for line in lines)
    guessed = any(line.estimated_cost_usd and not line.actual_cost_usd for line in lines)
    amount, estimated = recorded_cost(row)
    if amount is None and not helpers:
        return None
    counted = tokens or TokenUsage()
    return Cost.of(counted, (amount or 0.0) + helpers, estimated=estimated or guessed)


def recorded_cost(row: HermesSessionRow) -> tuple[float | None, bool]:
    """What the session's row says the conversation cost, in US dollars (None: it knows nothing), and whether that
    is an estimate."""
    if row.cost_status == "actual" or (row.actual_cost_usd or 0) > 0:
        return row.actual_cost_usd, False
    amount = row.estimated_cost_usd
    if row.cost_status not in ("estimated", "included") and not amount:
        amount = None
    return amount, row.cost_status != "included"


def _raw(row: HermesSessionRow, counts: RowCounts, tip: str) -> dict[str, Any]:
    raw = {name: value for name in _RAW if (value := getattr(row, name)) not in (None, "")}
    if tip != row.id:
        raw["tip"] = tip
    if counts.rewound:
        raw["rewound_messages"] = counts.rewound
    if counts.compacted:
        raw["compacted_messages"] = counts.compacted
    return raw
