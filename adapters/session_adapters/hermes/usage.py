"""Token sums of Hermes' sessions by model, which is all that it keeps.

Format: hermes.md 2.2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import apsw

from session_adapters.hermes.records import HermesSessionRow, UsageRow
from session_adapters.hermes.session_queries import HermesSchema, money_rows
from session_adapters.hermes.summaries import FEW, recorded_cost, recorded_tokens
from session_adapters.usage import Usage, call_of

__all__ = ["read_usage"]

_CENT = 0.01


def read_usage(connection: apsw.Connection, session_ids: Collection[str] | None) -> list[Usage]:
    """The sums of the sessions in a database, or of those named; no message is read. Raises `DatabaseUnreadable`."""
    schema, wanted = HermesSchema.of(connection), None if session_ids is None else set(session_ids)
    if wanted is not None and len(wanted) <= FEW:
        told = [money_rows(connection, schema, key) for key in sorted(wanted)]
    else:
        told = [money_rows(connection, schema)]
    return [
        one
        for rows, usage in told
        for key in sorted(rows.keys() if wanted is None else rows.keys() & wanted)
        for one in _of_session(rows[key], usage.get(key, []))
    ]


def _of_session(row: HermesSessionRow, usage: list[UsageRow]) -> Iterator[Usage]:
    """The conversation's own calls stand in the session's row, and by model in the usage table too, which is taken
    where the two agree. Calls beside the conversation stand in the usage table alone."""
    own = [line for line in usage if not line.task]
    amount, estimated = recorded_cost(row)
    whole = call_of(
        row.id,
        "",
        row.ended_at or max((line.last_seen for line in own), default=0.0) or row.started_at,
        row.model or next((line.model for line in own), None),
        recorded_tokens(row),
        amount,
        estimated=estimated,
        calls=max(1, row.api_call_count or sum(line.api_call_count for line in own)),
        provider=row.billing_provider or None,
    )
    by_model = [_line(row, line) for line in own]
    tokens = sum(part.tokens.total for part in by_model)
    usd = sum(part.usd or 0.0 for part in by_model)
    agrees = bool(by_model) and tokens == whole.tokens.total and abs(usd - (whole.usd or 0.0)) < _CENT
    if agrees or (by_model and not whole.tokens.total and not amount):
        yield from by_model
    elif whole.tokens.total or amount is not None:
        yield whole
    yield from (_line(row, line) for line in usage if line.task)


def _line(row: HermesSessionRow, line: UsageRow) -> Usage:
    amount = line.actual_cost_usd or line.estimated_cost_usd
    included = row.cost_status == "included" and not line.task
    return call_of(
        row.id,
        "",
        line.last_seen or row.ended_at or row.started_at,
        line.model or row.model,
        recorded_tokens(line),
        amount if amount or included else None,
        estimated=not line.actual_cost_usd and not included,
        calls=max(1, line.api_call_count),
        provider=row.billing_provider or None,
    )
