"""The tables of v0, v1 and the guide: sessions of agents, and bare ids.

Hector joins the two by that id alone. Where two agents have a session of one id, both are given every row, and
nothing says whose it is (facts: agentmux_hector.md 2.2): the rows are counted with the session that was there first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from session_adapters.hector import ids
from session_adapters.hector.layout import HectorFacts, HectorLayout, Owner
from session_adapters.hector.messages import messages_of_row
from session_adapters.hector.reader import HectorReader, moment
from session_adapters.hector.records import MESSAGES, SESSIONS, HectorMark, HectorSessionRow, decoded
from session_adapters.model import Message
from session_adapters.reading.sqlite_rows import as_text

__all__ = ["Conversations"]

_LAST = datetime.max.replace(tzinfo=UTC)


class Conversations(HectorLayout):
    """`sessions` and `session_messages`."""

    table = "session_messages"
    owners: tuple[str, ...] = ("session_id",)
    texts = ("message_json",)

    def __init__(self, reader: HectorReader, sessions: frozenset[str], messages: frozenset[str]) -> None:
        super().__init__(reader, messages)
        self._sessions = sessions
        self._isolated = "agent_id" in messages
        """Each row says whose it is, as in the tables that `hermes_tui.memory` makes."""
        if self._isolated:
            self.owners = "session_id", "agent_id"
        first = "agent_id" not in reader.keys("sessions")
        self._layout = "doc" if "sequence_num" not in messages else "v0" if first else "v1"
        if self._isolated:
            self._layout = "isolated"

    @property
    def key(self) -> str:
        """See `HectorLayout.key`. Where Hector keeps a number, the message's own id is mostly empty."""
        return "id" if "id" in self.have and not self._isolated else "message_id"

    @property
    def wanted(self) -> Sequence[str]:
        """See `HectorLayout.wanted`."""
        return MESSAGES.names

    def order(self) -> Sequence[str]:
        """See `HectorLayout.order`. Numbers may be there twice; the rows of one turn have one time."""
        if "sequence_num" in self.have:
            return *self.owners, "sequence_num", "id" if "id" in self.have else self.reader.insertion
        return *self.owners, self.reader.since("created_at"), self.reader.insertion

    def messages(self, values: Sequence[Any], mark: HectorMark) -> list[Message]:
        """See `HectorLayout.messages`."""
        row = MESSAGES.read(values)
        return messages_of_row(row, mark.id, moment(row.created_at, self.reader.zone))

    # Sessions ------------------------------------------------------------------------------------------------

    def sessions(self) -> Iterator[HectorFacts]:
        """See `HectorLayout.sessions`."""
        by_id: dict[Owner, list[HectorSessionRow]] = {}
        for row in self._noted(self._rows, "sessions", "sessions"):
            if not row.id or "\ufffd" in row.id:
                self.lost.add("table sessions", "a session has no readable id")
            else:
                by_id.setdefault(self._owner(row), []).append(row)
        for rows in by_id.values():
            yield from (facts._replace(beside={}) for facts in self._facts(rows))
        for key in self._noted(self.owners_of_rows, self.table, "sessions without a row of their own"):
            owner = tuple(as_text(part) or "" for part in key)
            if owner not in by_id:
                yield self._orphan(owner)

    def _owner(self, row: HectorSessionRow) -> Owner:
        return (row.id, row.agent_id or "") if self._isolated else (row.id,)

    def _agent(self, agent: str | None) -> str | ids.Missing:
        """Where rows say whose they are, an empty name says that it is not known."""
        return ids.Missing.NO_AGENT if agent is None or (self._isolated and not agent) else agent

    def _rows(self, session_id: str | None = None) -> Iterator[HectorSessionRow]:
        if not self.can_tell(self._sessions, "id"):
            return iter(())
        if session_id is None:
            return self._newest(SESSIONS, self._sessions)
        query = f"SELECT {self.reader.select(self._sessions, SESSIONS.names)} FROM sessions"  # noqa: S608
        return SESSIONS.read_all(self.reader.run(f"{query} WHERE id = ?", session_id))

    def find(self, parts: ids.Parts) -> HectorFacts | None:
        """See `HectorLayout.find`."""
        if len(parts) != 2 or isinstance(parts[1], ids.Missing):
            return None
        name = parts[1]
        rows = list(self._noted(lambda: self._rows(name), "sessions", "sessions"))
        if self._isolated:
            rows = [row for row in rows if self._agent(row.agent_id) == parts[0]]
        found = next((facts for facts in self._facts(rows) if facts.parts == parts), None)
        if found is not None or (rows and not self._isolated):
            return found
        orphan = self._orphan((name, parts[0] if isinstance(parts[0], str) else "")[: len(self.owners)])
        same = " AND ".join(f'"{column}" = ?' for column in self.owners)
        query = f"SELECT 1 FROM {self.table} WHERE {same} LIMIT 1"  # noqa: S608 - names of ours
        return orphan if orphan.parts == parts and list(self.reader.run(query, *orphan.owner)) else None

    def _orphan(self, owner: Owner) -> HectorFacts:
        """Rows whose session was deleted."""
        return HectorFacts(
            parts=(self._agent(owner[1]) if self._isolated else ids.Missing.DELETED, owner[0]),
            owner=owner,
            layout=self._layout,
            source="(deleted)",
            raw={"orphaned": True, "sessionId": owner[0]},
        )

    def _facts(self, rows: Sequence[HectorSessionRow]) -> Iterator[HectorFacts]:
        """The sessions of one id, the oldest first."""
        zone = self.reader.zone
        made = [(moment(row.created_at, zone), row) for row in rows]
        made.sort(key=lambda pair: (pair[0] or _LAST, pair[1].agent_id or ""))
        agents = [row.agent_id for _, row in made]
        for number, (created, row) in enumerate(made):
            raw: dict[str, Any] = {"sessionId": row.id}
            if isinstance(self._agent(row.agent_id), str):
                raw["agentId"] = row.agent_id
            others = [agent or "" for place, agent in enumerate(agents) if place != number]
            if others:
                raw["sharedWith"] = others
            damaged = ""
            try:
                metadata = decoded(row.metadata) if row.metadata else None
            except ValueError:  # its text is shown as it is
                metadata, damaged = row.metadata, "the session's metadata is no JSON"
            if waiting := _waiting(metadata):
                raw["waitsForApproval"] = waiting
            yield HectorFacts(
                parts=(self._agent(row.agent_id), row.id),
                owner=self._owner(row),
                layout=self._layout,
                source=row.agent_id or "",
                created=created,
                updated=moment(row.updated_at, zone),
                counted_elsewhere=number > 0,
                beside={"metadata": metadata} if metadata else {},
                damaged=damaged,
                raw=raw,
            )


def _waiting(metadata: Any) -> Mapping[str, str]:
    """By task the tool that a human is to approve. Work that goes on is noted in the same place, with another phase
    (Hector 1.7.8 to 1.9.9)."""
    pending = metadata.get("pending_executions") if isinstance(metadata, dict) else None
    found: dict[str, str] = {}
    for task, execution in pending.items() if isinstance(pending, dict) else ():
        if isinstance(execution, dict) and execution.get("phase") not in (None, "", "tool_approval"):
            continue
        call = execution.get("pending_tool_call") if isinstance(execution, dict) else None
        found[str(task)] = str(call.get("name") or "") if isinstance(call, dict) else ""
    return found
