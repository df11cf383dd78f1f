"""The tables of v2: sessions of an app and a user, and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from session_adapters.hector import ids
from session_adapters.hector.layout import HectorFacts, HectorLayout
from session_adapters.hector.messages import messages_of_event
from session_adapters.hector.reader import HectorReader, moment
from session_adapters.hector.records import EVENT_SESSIONS, EVENTS, EventSession, HectorMark, decoded
from session_adapters.model import Message
from session_adapters.reading.sqlite import DatabaseUnreadable
from session_adapters.reading.sqlite_rows import LISTED_LIMIT, as_text

__all__ = ["Events"]


_NAME = "v2"
_STATES = (
    ("app state", "app_states", ("app_name",)),
    ("user state", "user_states", ("app_name", "user_id")),
)
"""(name, table, its key): what v2 keeps for several sessions together."""


class Events(HectorLayout):
    """`sessions` and `session_events`."""

    table = "session_events"
    owners = ("app_name", "user_id", "session_id")
    texts = ("content_json", "tool_calls_json", "tool_results_json", "thinking_json", "error_message")

    def __init__(self, reader: HectorReader, sessions: frozenset[str], events: frozenset[str]) -> None:
        super().__init__(reader, events)
        self._sessions = sessions

    @property
    def key(self) -> str:
        """See `HectorLayout.key`."""
        return "id"

    @property
    def wanted(self) -> Sequence[str]:
        """See `HectorLayout.wanted`."""
        return EVENTS.names

    def order(self) -> Sequence[str]:
        """See `HectorLayout.order`. Never by time: a summary has none."""
        return *self.owners, "sequence_num", self.reader.insertion

    def messages(self, values: Sequence[Any], mark: HectorMark) -> list[Message]:
        """See `HectorLayout.messages`."""
        row = EVENTS.read(values)
        return messages_of_event(row, mark.id, moment(row.created_at, self.reader.zone))

    # Sessions ------------------------------------------------------------------------------------------------

    def sessions(self) -> Iterator[HectorFacts]:
        """See `HectorLayout.sessions`."""
        seen: set[tuple[str, ...]] = set()
        for row in self._noted(self._rows, "sessions", "sessions"):
            parts = (row.app_name, row.user_id, row.id)
            if not row.id or any("\ufffd" in part for part in parts):
                self.lost.add("table sessions", "a session has no readable id")
            elif parts not in seen:
                seen.add(parts)
                yield self._facts(row)
        for row in self._noted(self.owners_of_rows, self.table, "sessions without a row of their own"):
            left = tuple(as_text(value) or "" for value in row)
            if left not in seen:
                yield self._orphan(left)

    def _rows(self, parts: tuple[str, ...] | None = None) -> Iterator[EventSession]:
        if not self.can_tell(self._sessions, "app_name", "user_id", "id"):
            return iter(())
        if parts is None:
            return self._newest(EVENT_SESSIONS, self._sessions)
        query = f"SELECT {self.reader.select(self._sessions, EVENT_SESSIONS.names)} FROM sessions"  # noqa: S608
        same = " WHERE app_name = ? AND user_id = ? AND id = ?"
        return EVENT_SESSIONS.read_all(self.reader.run(query + same, *parts))

    def find(self, parts: ids.Parts) -> HectorFacts | None:
        """See `HectorLayout.find`."""
        owner = tuple(part for part in parts if isinstance(part, str))
        if len(parts) != 3 or len(owner) != 3:
            return None
        rows = list(self._noted(lambda: self._rows(owner), "sessions", "sessions"))
        if rows:
            return self._facts(rows[0])
        same = "app_name = ? AND user_id = ? AND session_id = ?"
        query = f"SELECT 1 FROM {self.table} WHERE {same} LIMIT 1"  # noqa: S608
        return self._orphan(owner) if list(self.reader.run(query, *owner)) else None

    def beside(self, facts: HectorFacts) -> Mapping[str, Any]:
        """See `HectorLayout.beside`: what the app keeps for all its users, and for this one. Text that is no JSON
        is given as it is."""
        found: dict[str, Any] = {}
        for name, table, keys in _STATES:
            try:
                have = self.reader.columns(table)
            except DatabaseUnreadable as error:
                self.lost.add(f"table {table}", str(error))
                continue
            if not have.issuperset((*keys, "state_json")):
                continue
            same = " AND ".join(f'"{key}" = ?' for key in keys)
            query = f"SELECT {self.reader.select(have, ('state_json',), LISTED_LIMIT)} FROM {table} WHERE {same}"  # noqa: S608
            run = partial(self.reader.run, query, *facts.owner[: len(keys)])
            for (column,) in self._noted(run, table, "what is kept there"):
                if text := as_text(column):
                    try:
                        value = decoded(text)
                    except ValueError:
                        value = text
                    found |= {name: value} if value else {}
        return found

    def _orphan(self, parts: tuple[str, ...]) -> HectorFacts:
        raw = {"orphaned": True, **_names(parts)}
        return HectorFacts(parts=parts, owner=parts, layout=_NAME, source=parts[0], raw=raw)

    def _facts(self, row: EventSession) -> HectorFacts:
        parts = (row.app_name, row.user_id, row.id)
        raw: dict[str, Any] = _names(parts)
        damaged = ""
        try:
            state = decoded(row.state_json) if row.state_json else None
        except ValueError:
            state, damaged = None, "the session's state is no JSON"
        if state:
            raw["state"] = state
        return HectorFacts(
            parts=parts,
            owner=parts,
            layout=_NAME,
            source=row.app_name,
            created=moment(row.created_at, self.reader.zone),
            updated=moment(row.updated_at, self.reader.zone),
            damaged=damaged,
            raw=raw,
        )


def _names(parts: tuple[str, ...]) -> dict[str, Any]:
    return {"appName": parts[0], "userId": parts[1], "sessionId": parts[2]}
