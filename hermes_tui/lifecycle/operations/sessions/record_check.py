"""Rules that the record of an operation on sessions keeps, because undo trusts it.

What `record_rules` is for lanes: which columns each kind may change, and what it may delete.
"""

from __future__ import annotations

from hermes_tui.lifecycle.lane_index.entry import check_session_id
from hermes_tui.lifecycle.operations.plan import Request
from hermes_tui.lifecycle.operations.record import AuditRecord

__all__ = ["check_session_record"]

_CHANGED = {
    "rename": {"title"},
    "end": {"ended_at", "end_reason"},
    "reopen": {"ended_at", "end_reason"},
    "clear-messages": {"message_count", "tool_call_count"},
    "delete": {"parent_session_id"},
    "prune-sessions": {"parent_session_id"},
}
"""Operation → columns of `sessions` that it may change."""
_DELETES = ("delete", "prune-sessions", "clear-messages")


def check_session_record(record: AuditRecord, request: Request) -> None:
    """Raises `ValueError`, whose text is the reason, and `EntryError`."""
    changes = record.changes
    if changes.table or changes.file or changes.restored or record.keys:
        raise ValueError(f"{request.kind} changes no lane")
    if changes.removed and request.kind not in _DELETES:
        raise ValueError(f"{request.kind} deletes nothing")
    for row in changes.rows:
        if row.before is None or row.after is None or row.before.keys() != row.after.keys():
            raise ValueError(f"{request.kind} neither makes nor removes {row.session_id} as a row that changes")
        if not row.after.keys() <= _CHANGED[request.kind]:
            raise ValueError(f"{request.kind} never changes {min(row.after.keys() - _CHANGED[request.kind])}")
        if request.kind in ("end", "reopen", "clear-messages") and row.session_id != request.session:
            raise ValueError(f"it names {request.session} and changes {row.session_id}")
    for one in changes.removed:
        check_session_id(one.session_id)
        if request.kind == "clear-messages" and (
            one.session_id != request.session or one.tables.keys() != {"messages"}
        ):
            raise ValueError("it deletes more than the messages of the session")
    ids = [one.session_id for one in changes.removed]
    if len(set(ids)) != len(ids):
        raise ValueError("it deletes a session twice")
