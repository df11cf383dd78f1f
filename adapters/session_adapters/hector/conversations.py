"""The tables of v0, v1 and the guide: sessions of agents, and bare ids.

Hector joins the two by that id alone. Where two agents have a session of one id, both are given every row, and
nothing says whose it is (facts: agentmux_hector.md 2.2): the rows are counted with the session that was there first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from session_adapters.hector import ids
from session_adapters.hector.layout import HectorFacts, HectorLayout, HectorMark
from session_adapters.hector.messages import messages_of_row
from session_adapters.hector.reader import HectorReader, moment
from session_adapters.hector.records import MESSAGES, SESSIONS, HectorSessionRow, decoded
from session_adapters.model import Message
from session_adapters.reading.sqlite_rows import as_text

__all__ = ["Conversations"]

_LAST = datetime.max.replace(tzinfo=UTC)


class Conversations(HectorLayout):
    """`sessions` and `session_messages`."""

    table = "session_messages"
    owners = ("session_id",)
    texts = ("message_json",)

    def __init__(self, reader: HectorReader, sessions: frozenset[str], messages: frozenset[str]) -> None:
        super().__init__(reader, messages)
        self._sessions = sessions
        first = "agent_id" not in reader.keys("sessions")
        self._layout = "doc" if "sequence_num" not in messages else "v0" if first else "v1"

    @property
    def key(self) -> str:
        """See `HectorLayout.key`. Where there is a number, the message's own id is mostly empty."""
        return "id" if "id" in self.have else "message_id"

    @property
    def wanted(self) -> Sequence[str]:
        """See `HectorLayout.wanted`."""
        return MESSAGES.names

    def order(self) -> Sequence[str]:
        """See `HectorLayout.order`. Numbers may be there twice; the rows of one turn have one time."""
        if "sequence_num" in self.have:
            return "session_id", "sequence_num", "id" if "id" in self.have else self.reader.insertion
        return "session_id", self.reader.since("created_at"), self.reader.insertion

    def messages(self, values: Sequence[Any], mark: HectorMark) -> list[Message]:
        """See `HectorLayout.messages`."""
        row = MESSAGES.read(values)
        return messages_of_row(row, mark.id, moment(row.created_at, self.reader.zone))

    # Sessions ------------------------------------------------------------------------------------------------

    def sessions(self) -> Iterator[HectorFacts]:
        """See `HectorLayout.sessions`."""
        by_id: dict[str, list[HectorSessionRow]] = {}
        for row in self._noted(self._rows, "sessions", "sessions"):
            if not row.id or "\ufffd" in row.id:
                self.lost.add("table sessions", "a session has no readable id")
            else:
                by_id.setdefault(row.id, []).append(row)
        for rows in by_id.values():
            yield from self._facts(rows)
        for (key,) in self._noted(self.owners_of_rows, self.table, "sessions without a row of their own"):
            text = as_text(key) or ""
            if text not in by_id:
                yield self._orphan(text)

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
        if not rows and parts[0] is ids.Missing.DELETED:
            query = f"SELECT 1 FROM {self.table} WHERE session_id = ? LIMIT 1"  # noqa: S608
            return self._orphan(name) if list(self.reader.run(query, name)) else None
        return next((facts for facts in self._facts(rows) if facts.parts == parts), None)

    def _orphan(self, session_id: str) -> HectorFacts:
        return HectorFacts(
            parts=(ids.Missing.DELETED, session_id),
            owner=(session_id,),
            layout=self._layout,
            source="(deleted)",
            raw={"orphaned": True, "sessionId": session_id},
        )

    def _facts(self, rows: Sequence[HectorSessionRow]) -> Iterator[HectorFacts]:
        """The sessions of one id, the oldest first."""
        zone = self.reader.zone
        made = [(moment(row.created_at, zone), row) for row in rows]
        made.sort(key=lambda pair: (pair[0] or _LAST, pair[1].agent_id or ""))
        agents = [row.agent_id for _, row in made]
        for number, (created, row) in enumerate(made):
            raw: dict[str, Any] = {"sessionId": row.id}
            if row.agent_id is not None:
                raw["agentId"] = row.agent_id
            others = [agent or "" for place, agent in enumerate(agents) if place != number]
            if others:
                raw["sharedWith"] = others
            waiting, damaged = _waiting(row.metadata)
            if waiting:
                raw["waitsForApproval"] = waiting
            yield HectorFacts(
                parts=(ids.Missing.NO_AGENT if row.agent_id is None else row.agent_id, row.id),
                owner=(row.id,),
                layout=self._layout,
                source=row.agent_id or "",
                created=created,
                updated=moment(row.updated_at, zone),
                counted_elsewhere=number > 0,
                damaged=damaged,
                raw=raw,
            )


def _waiting(metadata: str | None) -> tuple[Mapping[str, str], str]:
    """By task the tool that a human is to approve; and what is wrong with the column."""
    try:
        value = decoded(metadata) if metadata else None
    except ValueError:
        return {}, "the session's metadata is no JSON"
    pending = value.get("pending_executions") if isinstance(value, dict) else None
    found: dict[str, str] = {}
    for task, execution in pending.items() if isinstance(pending, dict) else ():
        call = execution.get("pending_tool_call") if isinstance(execution, dict) else None
        found[str(task)] = str(call.get("name") or "") if isinstance(call, dict) else ""
    return found, ""
