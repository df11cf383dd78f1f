"""One record of the log of operations, and all records of one operation."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from hermes_tui.lifecycle.operations.plan import Changes, Request
from hermes_tui.lifecycle.state_db.pruning import PruneFilter
from session_adapters.model import JsonRecord

__all__ = ["AuditRecord", "Evidence", "Moment", "Operation", "OutcomeState", "decoded"]

Moment = Annotated[datetime, Meta(tz=True)]
"""A time with its zone."""

OutcomeState = Literal["done", "pending", "lost", "failed", "undone", "replaced", "interrupted", "unknown"]


class Evidence(JsonRecord, frozen=True):
    """What shows an outcome: where the lane's next message went."""

    session_id: str
    message: int | None = None
    """Number of the message's row; None: no message, but the gateway's index, or the end that the session has."""
    at: Moment | None = None


class AuditRecord(JsonRecord, frozen=True):
    """One line."""

    operation: str
    event: Literal["begun", "applied", "outcome"]
    at: Moment
    request: Request | None = None
    """With `begun`; so everything down to `changes`."""
    home: str = ""
    scope: str = ""
    mode: Literal["offline", "live"] = "offline"
    session_id: str = ""
    becomes: str = ""
    older: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    changes: Changes = Changes()
    seen: int | None = None
    """The last message in the whole store when this was written: what comes after it shows what became of it. None:
    written by a version that did not look."""
    state: OutcomeState | None = None
    """With `outcome`; so all that follows."""
    text: str = ""
    evidence: Evidence | None = None


class Operation(JsonRecord, frozen=True):
    """All records of one operation."""

    begun: AuditRecord
    applied: datetime | None = None
    outcome: AuditRecord | None = None

    @property
    def id(self) -> str:
        """Its name in the log."""
        return self.begun.operation


class _DaysRequest(JsonRecord, frozen=True):
    """What pruning of sessions asked for before it had filters."""

    days: int = 0
    source: str = ""
    empty: bool = False


class _DaysRecord(JsonRecord, frozen=True):
    request: _DaysRequest = _DaysRequest()


_RECORD = msgspec.json.Decoder(AuditRecord)
_DAYS_RECORD = msgspec.json.Decoder(_DaysRecord)


def decoded(line: bytes) -> AuditRecord:
    """The record of a line, also of one that an older version wrote. Raises `ValueError`, `RecursionError`."""
    record = _RECORD.decode(line)
    request = record.request
    if request is None or request.kind != "prune-sessions" or request.matching != PruneFilter():
        return record
    old = _DAYS_RECORD.decode(line).request
    wanted = PruneFilter(older_than=str(old.days) if old.days > 0 else "", source=old.source, empty=old.empty)
    return replace(record, request=replace(request, days=0, matching=wanted))
