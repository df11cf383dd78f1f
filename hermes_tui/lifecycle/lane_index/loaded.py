"""A home's lane index as a gateway loads it: table rows and file together.

On load the table wins, the file only fills in keys that the table lacks, and a gateway sees the rows of its own
scope alone: the resolved path of its sessions directory (facts on Hermes, sections 0 and 3.1). A store that was
copied, or is mounted into a container, has rows of another path; they are shown, and said to be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from hermes_tui.errors import EntryError
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.fields import Fields
from hermes_tui.lifecycle.lane_index.index_file import IndexFile
from hermes_tui.lifecycle.lane_index.rows import RoutingRow

__all__ = ["IndexedLane", "indexed_lanes"]


class IndexedLane(msgspec.Struct, frozen=True, kw_only=True):
    """What both stores say of one lane."""

    key: str
    primary: Literal["table", "file"]
    """Which of them counts."""
    scope: str | None = None
    """Of the table's row."""
    table: str | None = None
    """The row's `entry_json`."""
    table_updated: float | None = None
    """When the row was written; seconds since the epoch."""
    file: Any = None
    """What stands in `sessions.json`."""
    in_file: bool = False
    entry: SessionEntry | None = None
    """The one that counts, understood."""
    fault: str = ""
    """Why it is not understood, or may not be changed."""
    disagreement: str = ""
    """In what the two differ; empty if they agree, or if there is but one."""

    @property
    def raw(self) -> dict[str, Any]:
        """The JSON object that counts; empty where there is none."""
        value = _decoded(self.table) if self.primary == "table" and self.table is not None else self.file
        return value if isinstance(value, dict) else {}


def indexed_lanes(rows: Sequence[RoutingRow], file: IndexFile, scope: str) -> list[IndexedLane]:
    """Every lane that either store has, in the table's order and then in the file's."""
    by_key: dict[str, list[RoutingRow]] = {}
    for row in rows:
        by_key.setdefault(row.key, []).append(row)
    members = file.entries
    keys = dict.fromkeys((*by_key, *members))
    # Where only one of the two has lanes, they cannot disagree.
    mirrored = bool(members) and bool(rows)
    return [_lane(key, by_key.get(key, ()), members, scope, mirrored) for key in keys]


def _lane(
    key: str, rows: Sequence[RoutingRow], members: Mapping[str, Any], scope: str, mirrored: bool
) -> IndexedLane:
    # The row that is this home's, or the only one that there is.
    row, fault = next((one for one in rows if one.scope == scope), None), ""
    if row is None and len(rows) > 1:
        places = ", ".join(sorted(one.scope for one in rows))
        fault = f"the table has it for several other directories ({places}) and not for this one"
    elif row is None and rows:
        row = rows[0]
    in_file = key in members
    entry: SessionEntry | None = None
    try:
        if row is not None:
            entry = SessionEntry.from_json(row.entry_json)
        elif in_file:
            Fields({"its key": key}).text("its key")
            entry = SessionEntry.from_dict(members[key])
    except EntryError as error:
        fault = fault or str(error)
    return IndexedLane(
        key=key,
        primary="table" if rows else "file",
        scope=row.scope if row else None,
        table=row.entry_json if row else None,
        table_updated=row.updated_at if row else None,
        file=members.get(key),
        in_file=in_file,
        entry=entry,
        fault=fault,
        disagreement=_disagreement(row, members.get(key), in_file) if mirrored else "",
    )


def _disagreement(row: RoutingRow | None, member: Any, in_file: bool) -> str:
    if row is None:
        return "only in sessions.json" if in_file else ""
    if not in_file:
        return "not in sessions.json"
    ours = _decoded(row.entry_json)
    if ours == member or not isinstance(ours, dict):
        return ""
    if not isinstance(member, dict):
        return "sessions.json has no entry that can be understood"
    if ours.get("session_id") != member.get("session_id"):
        return f"sessions.json says session {member.get('session_id')}"
    names = [name for name in {**ours, **member} if ours.get(name) != member.get(name)]
    return f"sessions.json differs in {', '.join(names)}" if names else ""


def _decoded(text: str | None) -> Any:
    try:
        return json.loads(text) if text is not None else None
    except (ValueError, RecursionError):
        return None
