"""The SQL that reads messages from OpenCode's databases.

Only rows of the wanted sessions, by their indices, and never a word of the event tables, which grow to tens of
gigabytes (FACTS.md «Traps»).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import Any, TypeVar

import apsw

from session_adapters.model import Message
from session_adapters.opencode.document import message_of_row
from session_adapters.opencode.entries import messages_of_entry
from session_adapters.opencode.messages import messages_of
from session_adapters.opencode.records import (
    DOCUMENT_CALLS,
    DOCUMENT_MESSAGES,
    ENTRY,
    MESSAGE,
    PART,
    DocumentCall,
    OpenCodeMessage,
    PartRecord,
)
from session_adapters.opencode.schema import OpenCodeSchema, backwards, bounded
from session_adapters.opencode.units import (
    CONTENT_LIMIT,
    Lost,
    OpenCodeFacts,
    OpenCodeUnit,
    revised,
)
from session_adapters.reading.bounds import Stint, excess
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.sqlite_limits import SESSION_LIMIT, SESSION_ROWS, Ration
from session_adapters.reading.sqlite_rows import as_float, as_int, as_text, each_or_alone, select_list

__all__ = ["OpenCodeRows"]

T = TypeVar("T")
_CHUNK = 200
"""Messages whose rows are held at a time."""
_WANTED = "(SELECT value AS wanted FROM json_each(?1)) CROSS JOIN"
"""Gives rows in the order of the ids that are asked for: those there is no room for are the last of these."""

MESSAGE_ROW, ENTRY_ROW, DOCUMENT_ROW = "message", "session_message", "messages"


class OpenCodeRows:
    """The rows of an open database."""

    def __init__(
        self, connection: apsw.Connection, schema: OpenCodeSchema | None = None, stint: Stint | None = None
    ) -> None:
        """`stint` is the time that a list may take; what is read of one session has none."""
        self.connection = connection
        self.schema = schema or OpenCodeSchema.of(connection)
        self.lost: dict[str, Damage] = {}
        """What could not be read, by session id or empty."""
        self.stint = stint
        self.ration = Ration(stint=stint)
        self.left: Counter[str] = Counter()
        """Messages for which it has no room, by the same."""

    # Which messages there are ------------------------------------------------------------------------------

    def units(
        self, sessions: Sequence[OpenCodeFacts], *, parts: bool = True, most: int = SESSION_ROWS
    ) -> dict[str, list[OpenCodeUnit]]:
        """The units of each of these sessions, of one alone `most` of them, the last. Without `parts` the stamps say
        nothing of them."""
        known = {facts.id: facts for facts in sessions}
        found: dict[str, list[OpenCodeUnit]] = {facts.id: [] for facts in sessions}
        document = [facts.id for facts in sessions if facts.generation == "document"]
        real = [facts.id for facts in sessions if facts.generation != "document"]
        entries = self._entries(real, most) if real else {}
        # A migrated session has its old rows still; one that 1.18's v2 interface went on with has both kinds.
        older = [key for key in real if known[key].generation != "2.x" or not entries.get(key)]
        for key, unit in self._messages(older, parts, most) if older else ():
            found[key].append(unit)
        for key, units in entries.items():
            if found[key]:
                units = sorted([*found[key], *units], key=lambda unit: unit.created or 0)
                units = units[-most:] if most < SESSION_ROWS else units  # of both kinds the last are known
            found[key] = units
        for key, unit in self._document(document, most) if document else ():
            found[key].append(unit)
        boundaries = self._boundaries(sessions)
        for key, units in found.items():
            limit = boundaries.get(key)
            if limit is not None:
                units = [
                    unit._replace(inherited=unit.stamp[0] is not None and unit.stamp[0] <= limit) for unit in units
                ]
            found[key] = revised(units, known[key])
        return found

    def _messages(self, ids: Sequence[str], parts: bool, most: int) -> Iterator[tuple[str, OpenCodeUnit]]:
        have = self.schema.message
        if not self.schema.has_messages:
            self.note("", "table message", "it is missing or has no columns for session and content")
            return
        times = select_list(have, ("time_created", "time_updated"))
        query = (
            f"SELECT CAST(session_id AS BLOB), CAST(id AS BLOB), octet_length(data), {times} FROM message"  # noqa: S608
            f" WHERE session_id IN (SELECT value FROM json_each(?1))"
            f" {backwards(have, 'time_created', 'id', most=most)}"
        )
        every = parts and most >= SESSION_ROWS
        sizes = self._part_sizes("session_id", ids) if every else {}
        rows = self._last(query, ids, "message")
        if parts and not every:
            sizes = self._part_sizes("message_id", [as_text(row[1]) or "" for row in rows])
        while rows:  # of ten thousand messages rows and units are not held at once
            session_id, id_, size, created, updated = rows.pop()
            key = as_text(id_) or ""
            stamp = (None, size, as_float(updated), *sizes.pop(key, ()))
            yield as_text(session_id) or "", OpenCodeUnit(key, MESSAGE_ROW, as_float(created), stamp)

    def _part_sizes(self, column: str, ids: Sequence[str]) -> dict[str, tuple[Any, ...]]:
        """For each message of these, or of these sessions, what its parts look like from outside; no text is read."""
        have = self.schema.part
        if not self.schema.has_parts or "session_id" not in have:
            return {}
        newest = "max(time_updated)" if "time_updated" in have else "NULL"
        query = (
            f"SELECT CAST(message_id AS BLOB), count(*), sum(octet_length(data)), {newest} FROM part"  # noqa: S608
            f" WHERE {column} IN (SELECT value FROM json_each(?1)) GROUP BY message_id"
        )
        return {as_text(row[0]) or "": row[1:] for row in self._each(query, ids, "table part")}

    def _entries(self, ids: Sequence[str], most: int) -> dict[str, list[OpenCodeUnit]]:
        have = self.schema.session_message
        if not self.schema.has_entries:
            return {}
        values = select_list(have, ("seq", "time_created", "time_updated"))
        order = ("seq",) if "seq" in have else ("time_created", "id")
        query = (
            f"SELECT CAST(session_id AS BLOB), CAST(id AS BLOB), octet_length(data), {values}"  # noqa: S608
            " FROM session_message WHERE session_id IN (SELECT value FROM json_each(?1))"
            f" {backwards(have, *order, most=most)}"
        )
        found: dict[str, list[OpenCodeUnit]] = {}
        rows = self._last(query, ids, "session_message")
        while rows:
            session_id, id_, size, seq, created, updated = rows.pop()
            stamp = (as_int(seq), size, as_float(updated))
            unit = OpenCodeUnit(as_text(id_) or "", ENTRY_ROW, as_float(created), stamp)
            found.setdefault(as_text(session_id) or "", []).append(unit)
        return found

    def _document(self, ids: Sequence[str], most: int) -> Iterator[tuple[str, OpenCodeUnit]]:
        have = self.schema.messages
        if not self.schema.has_document:
            self.note("", "table messages", "it is missing or has no columns for session and role")
            return
        calls: dict[str, tuple[Any, ...]] = {}
        if {"message_id", "session_id"} <= self.schema.tool_calls:
            size = "sum(octet_length(output))" if "output" in self.schema.tool_calls else "0"
            query = (
                f"SELECT CAST(message_id AS BLOB), count(*), {size} FROM tool_calls"  # noqa: S608
                " WHERE session_id IN (SELECT value FROM json_each(?1)) GROUP BY message_id"
            )
            calls = {as_text(row[0]) or "": row[1:] for row in self._each(query, ids, "table tool_calls")}
        size = "octet_length(content)" if "content" in have else "0"
        created = "created_at" if "created_at" in have else "NULL"
        order = backwards({*have, "rowid"}, "created_at", "rowid", most=most)
        query = (
            f"SELECT CAST(session_id AS BLOB), CAST(id AS BLOB), {created}, {size} FROM messages"  # noqa: S608
            f" WHERE session_id IN (SELECT value FROM json_each(?1)) {order}"
        )
        rows = self._last(query, ids, "messages")
        while rows:
            session_id, id_, when, length = rows.pop()
            key = as_text(id_) or ""
            stamp = (None, length, *calls.get(key, ()))
            yield as_text(session_id) or "", OpenCodeUnit(key, DOCUMENT_ROW, as_float(when), stamp)

    def _boundaries(self, sessions: Sequence[OpenCodeFacts]) -> dict[str, int]:
        """The place in the conversation up to which a 2.x fork was copied: copies keep it."""
        wanted = {facts.boundary: facts.id for facts in sessions if facts.boundary and facts.forked_from}
        if not wanted or not self.schema.has_entries or "seq" not in self.schema.session_message:
            return {}
        query = "SELECT CAST(id AS BLOB), seq FROM session_message WHERE id IN (SELECT value FROM json_each(?1))"
        rows = {as_text(id_): as_int(seq) for id_, seq in self._each(query, list(wanted), "table session_message")}
        return {
            facts.id: limit
            for facts in sessions
            if facts.forked_from and (limit := rows.get(facts.boundary)) is not None
        }

    # What is in them ---------------------------------------------------------------------------------------

    def contents(
        self, units: Sequence[OpenCodeUnit], owner: str = "", *, parts: bool = True, limit: int = CONTENT_LIMIT
    ) -> dict[str, list[Message]]:
        """The messages of these units. A row over `limit` bytes is left out, and noted if that is the most that is
        ever read. `owner` is the session, for what is noted."""
        found: dict[str, list[Message]] = {}
        if self.ration.spent:
            self.left[owner] += len(units)
            return found
        for at in range(0, len(units), _CHUNK):
            by_kind: dict[str, list[OpenCodeUnit]] = {}
            for unit in units[at : at + _CHUNK]:
                by_kind.setdefault(unit.kind, []).append(unit)
            for kind, some in by_kind.items():
                if kind == MESSAGE_ROW:
                    self._fill_messages(found, some, owner, parts, limit)
                elif kind == ENTRY_ROW:
                    self._fill_entries(found, some, owner, limit)
                else:
                    self._fill_document(found, some, owner)
            if self.ration.spent:
                self.left[owner] += sum(unit.id not in found for unit in units)
                break
        return found

    def _fill_messages(
        self, found: dict[str, list[Message]], units: Sequence[OpenCodeUnit], owner: str, parts: bool, limit: int
    ) -> None:
        query = f"SELECT {bounded('id', 'data', limit)} FROM {_WANTED} message ON id = wanted"  # noqa: S608
        ids = [unit.id for unit in units]
        belonging = self._parts(ids, owner) if parts else {}
        ration = self.ration
        if ration.spent:  # in the midst of the parts of a message
            ids = ids[: max((ids.index(of) for of in belonging if of in ids), default=0)]
            ration = Ration(stint=self.stint)
        times = {unit.id: unit.created for unit in units}
        for id_, data, size in self._each(query, ids, "message", owner, ration=ration):
            key = as_text(id_) or ""
            record = self._decoded(MESSAGE.one, data, size, f"message {key}", owner, limit)
            if record is None and (size or 0) > limit:
                record = OpenCodeMessage(
                    role="user"
                )  # the changes of a turn, which its prompt carries, make it large
            if record is not None:
                found[key] = messages_of(key, record, belonging.get(key, ()), times.get(key))

    def _parts(self, ids: Sequence[str], owner: str) -> dict[str, list[PartRecord]]:
        found: dict[str, list[tuple[str, PartRecord | None]]] = {}
        if not self.schema.has_parts:
            return {}
        query = (
            f"SELECT CAST(message_id AS BLOB), {bounded('id', 'data', CONTENT_LIMIT)} FROM {_WANTED} part"  # noqa: S608
            " ON message_id = wanted"
        )
        for message_id, id_, data, size in self._each(query, ids, "parts of message", owner):
            key = as_text(id_) or ""
            of = as_text(message_id) or ""
            part = self._decoded(PART.one, data, size, f"message {of}, part {key}", owner, CONTENT_LIMIT)
            found.setdefault(of, []).append((key, part))
        by_id = itemgetter(0)  # the order of a message's parts
        return {of: [part for _, part in sorted(some, key=by_id) if part is not None] for of, some in found.items()}

    def _fill_entries(
        self, found: dict[str, list[Message]], units: Sequence[OpenCodeUnit], owner: str, limit: int
    ) -> None:
        query = (
            f'SELECT CAST("type" AS BLOB), {bounded("id", "data", limit)} FROM {_WANTED} session_message'  # noqa: S608
            " ON id = wanted"
        )
        times = {unit.id: unit.created for unit in units}
        for kind, id_, data, size in self._each(query, list(times), "session_message", owner):
            key = as_text(id_) or ""
            record = self._decoded(ENTRY.one, data, size, f"session_message {key}", owner, limit)
            if record is not None:
                text = data if isinstance(data, bytes) else b""
                found[key] = messages_of_entry(key, as_text(kind) or "", times.get(key), record, text)

    def _fill_document(self, found: dict[str, list[Message]], units: Sequence[OpenCodeUnit], owner: str) -> None:
        ids = [unit.id for unit in units]
        calls: dict[str, list[DocumentCall]] = {}
        have = self.schema.tool_calls
        if {"id", "message_id"} <= have:
            created = "created_at, " if "created_at" in have else ""
            query = (
                f"SELECT {DOCUMENT_CALLS.select(have)} FROM tool_calls"  # noqa: S608
                f" WHERE message_id IN (SELECT value FROM json_each(?1)) ORDER BY {created}rowid"
            )
            for call in DOCUMENT_CALLS.read_all(self._each(query, ids, "tool calls of message", owner)):
                calls.setdefault(call.message_id, []).append(call)
        query = (
            f"SELECT {DOCUMENT_MESSAGES.select(self.schema.messages)} FROM {_WANTED} messages"  # noqa: S608
            " ON id = wanted"
        )
        for row in DOCUMENT_MESSAGES.read_all(self._each(query, ids, "message", owner)):
            found[row.id] = [message_of_row(row, calls.get(row.id, ()))]

    def _last(self, query: str, ids: Sequence[str], table: str) -> list[Any]:
        """The rows of these sessions as the query gives them, backwards. Of too many the last: of each session as
        many as fall to its share."""
        ration = Ration(stint=self.stint)
        rows = self._each(query, ids, f"table {table}", ration=ration)
        if not ration.spent:
            return rows
        rows = []
        for id_ in ids:
            ration = Ration(SESSION_LIMIT // len(ids), stint=self.stint)
            of_one = self._each(query, [id_], f"table {table}", ration=ration)
            rows += of_one
            if ration.spent:
                ((number,),) = self.connection.execute(f"SELECT count(*) FROM {table} WHERE session_id = ?1", (id_,))  # noqa: S608
                self.left[id_] += number - len(of_one)
        return rows

    def _each(
        self, query: str, ids: Sequence[str], place: str, owner: str = "", *, ration: Ration | None = None
    ) -> list[Any]:
        """The rows for these ids. On a damaged page each id is asked for alone, so that only its own are lost."""
        take = (ration or self.ration).take
        whole = place.startswith("table ")

        def lost(id_: str, error: Exception) -> None:
            where = place if whole else f"{place} {id_}"
            self.note(id_ if whole else owner, where, f"a part of it is damaged ({error})")

        return each_or_alone(ids, lambda some: take(self.connection.execute(query, (json.dumps(some),))), lost)

    def _decoded(
        self, decode: Callable[[bytes], T], data: Any, size: Any, place: str, owner: str, limit: int
    ) -> T | None:
        if data is None and (size or 0) > limit:
            if limit == CONTENT_LIMIT:
                self.note(owner, place, f"it is too large to be read ({size} bytes)")
            return None
        if not isinstance(data, bytes):
            self.note(owner, place, "it has no content")
            return None
        try:
            return decode(data)
        except ValueError:
            self.note(owner, place, "its content is not valid JSON")
            return None

    def note(self, owner: str, place: str, reason: str) -> None:
        """Keep what could not be read."""
        self.lost.setdefault(owner, Damage()).add(place, reason)

    def problems(self) -> list[tuple[str, Lost]]:
        """(session id or empty, what) of everything that is not there."""
        for owner, number in (+self.left).items():
            self.note(owner, f"session {owner}" if owner else "table message", excess(number))
        return [(owner, Lost(*one)) for owner, damage in self.lost.items() for one in damage.places()]
