"""Applies a plan by compare-and-set: nothing is written if the store changed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from hermes_tui.errors import OperationRefused, StoreError
from hermes_tui.lifecycle.gateway.homes import HermesHome
from hermes_tui.lifecycle.lane_index.index_file import read_index, write_index
from hermes_tui.lifecycle.operations.plan import Changes, FileChange, RowChange, TableChange
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.lifecycle.state_db.sessions import count_conversation

__all__ = ["write_file", "write_rows"]


def write_rows(store: Store, changes: Changes) -> None:
    """Change rows and table, within the caller's transaction. Raises `OperationRefused` where something is not as
    it was; the caller then rolls back."""
    # A title is given up before another session takes it: two may not have the same.
    for row in sorted(changes.rows, key=lambda row: row.after_of("title") is not None):
        if row.before is None:
            if store.row("SELECT 1 FROM sessions WHERE id = ?", (row.session_id,)) is not None:
                raise OperationRefused(f"there is a session {row.session_id} meanwhile; nothing was changed")
            store.insert("sessions", dict(row.after or {}))
        elif row.after is None:
            _remove(store, row)
        else:
            _update(store, row)
    for one in changes.table:
        _table(store, one)
    if changes.removed:
        store.execute("PRAGMA defer_foreign_keys = 1")  # those that go may point at one another
    for gone in changes.removed:
        if "messages" in gone.tables:
            deleted = store.execute("DELETE FROM messages WHERE session_id = ?", (gone.session_id,))
            if deleted != gone.tables["messages"]:
                raise OperationRefused(f"session {gone.session_id} has other messages meanwhile; nothing was deleted")
        # What belongs to a session in other tables goes with its row: they say ON DELETE CASCADE.
        if "sessions" in gone.tables and store.execute("DELETE FROM sessions WHERE id = ?", (gone.session_id,)) != 1:
            raise OperationRefused(f"session {gone.session_id} is gone already; nothing was deleted")


def _update(store: Store, row: RowChange) -> None:
    before, after = dict(row.before or {}), dict(row.after or {})
    _check_columns(store, before, after)
    assignments = ", ".join(f'"{name}" = ?' for name in after)
    condition, values = _as_before(before)
    statement = f"UPDATE sessions SET {assignments} WHERE id = ? AND {condition}"  # noqa: S608 - columns of ours
    if store.execute(statement, [*after.values(), row.session_id, *values]) != 1:
        raise OperationRefused(f"session {row.session_id} was changed meanwhile; nothing was changed here")
    if "end_reason" in after:
        count_conversation(store, row.session_id, str(after["end_reason"]))


def _remove(store: Store, row: RowChange) -> None:
    """Only a session in which nothing happened."""
    _check_columns(store, before := dict(row.before or {}))
    condition, values = _as_before(before)
    statement = (
        f"DELETE FROM sessions WHERE id = ? AND {condition}"  # noqa: S608 - columns of ours
        " AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.session_id = sessions.id)"
        " AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = sessions.id)"
    )
    if store.execute(statement, [row.session_id, *values]) != 1:
        raise OperationRefused(f"session {row.session_id} has been used meanwhile; nothing was changed")


def _check_columns(store: Store, *sides: Mapping[str, Any]) -> None:
    """A name goes into a statement as it is, so none does that the table does not have."""
    for names in sides:
        if len(store.schema.only("sessions", names)) != len(names):
            raise OperationRefused("the sessions here have no such columns as the plan has; nothing was changed")


def _as_before(before: Mapping[str, Any]) -> tuple[str, list[Any]]:
    # IS takes NULL for NULL, as = does not; the first condition stands alone where nothing was.
    return " AND ".join(['"id" IS NOT NULL', *(f'"{name}" IS ?' for name in before)]), list(before.values())


def _table(store: Store, one: TableChange) -> None:
    place = (one.scope, one.key)
    if one.before is None:
        # A row that somebody else has made meanwhile stays, and is told by the count.
        statement = "INSERT OR IGNORE INTO gateway_routing (entry_json, updated_at, scope, session_key)"
        changed = store.execute(f"{statement} VALUES (?, ?, ?, ?)", (one.after, time.time(), *place))
    elif one.after is None:
        statement = "DELETE FROM gateway_routing WHERE scope = ? AND session_key = ? AND entry_json = ?"
        changed = store.execute(statement, (*place, one.before))
    else:
        statement = "UPDATE gateway_routing SET entry_json = ?, updated_at = ?"
        where = "WHERE scope = ? AND session_key = ? AND entry_json = ?"
        changed = store.execute(f"{statement} {where}", (one.after, time.time(), *place, one.before))
    if changed != 1:
        raise OperationRefused(f"lane {one.key} was changed meanwhile; nothing was changed here")


def write_file(home: HermesHome, changes: Sequence[FileChange]) -> None:
    """Change members of `sessions.json`, keeping all others, their order and the notes; where all are as they are to
    be, the file is left alone. Raises `OperationRefused` where one is not as it was, `StoreError` where it cannot be
    written."""
    if not changes:
        return
    found = read_index(home.index_file)
    if found.fault:
        raise OperationRefused(f"{home.index_file} may not be rewritten: {found.fault}")
    members, changed = dict(found.members), False
    for one in changes:
        before = json.dumps(members[one.key]) if one.key in members else None
        # As it is to be does as well: what is taken back may not have been written yet.
        if before not in (one.before, one.after):
            raise OperationRefused(f"lane {one.key} was changed in {home.index_file} meanwhile")
        changed = changed or before != one.after
        if one.after is None:
            members.pop(one.key, None)
        else:
            members[one.key] = json.loads(one.after)
    if not changed:
        return
    try:
        write_index(home.index_file, members)
    except OSError as error:
        raise StoreError(f"{home.index_file} cannot be written: {error.strerror or error}.") from error
