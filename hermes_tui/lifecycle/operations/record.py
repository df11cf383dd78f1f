"""One record of the log of operations, and all records of one operation."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

from hermes_tui.lifecycle.operations.plan import Changes, Request
from session_adapters.model import JsonRecord

__all__ = ["AuditRecord", "Evidence", "Moment", "Operation", "OutcomeState"]

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
