"""What became of an operation on sessions: all of one transaction, or nothing."""

from __future__ import annotations

from typing import Literal

from hermes_tui.display import counted
from hermes_tui.lifecycle.operations.record import Operation, OutcomeState

__all__ = ["sessions_verdict"]


def sessions_verdict(
    operation: Operation, stored: Literal["before", "after", "both", "neither"]
) -> tuple[OutcomeState, str]:
    """The state and a clause; `stored` says on which side the rows stand."""
    if stored == "after":
        return "done", _done(operation)
    if operation.applied is None and stored in ("before", "both"):
        return "failed", "the program ended before anything was written"
    if operation.applied is None:
        return "unknown", "the program ended while it was at it, and the store has changed since"
    if stored == "before":
        return "lost", "something wrote it back as it was before"
    return "unknown", "the store has changed since, and what it held right after the operation was not noted"


def _done(operation: Operation) -> str:
    request, changes = operation.begun.request, operation.begun.changes
    assert request is not None  # noqa: S101 - every `begun` has one
    match request.kind:
        case "rename":
            return f"the session is called {request.title!r}" if request.title else "the session has no title"
        case "end":
            return "the session has ended"
        case "reopen":
            return "the session is open again"
        case "undo":
            return "all is as it was before"
    messages = sum(one.tables.get("messages", 0) for one in changes.removed)
    sessions = sum("sessions" in one.tables for one in changes.removed)
    parts = [(sessions, "session"), (messages, "message")]
    said = [counted(number, what) for number, what in parts if number]
    return f"{' and '.join(said) or 'nothing'} {'are' if sessions + messages > 1 else 'is'} gone"
