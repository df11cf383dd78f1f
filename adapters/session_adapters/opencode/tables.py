"""The SQL that reads messages from OpenCode's databases.

Only rows of the wanted sessions, by their indices, and never a word of the event tables, which grow to tens of
gigabytes (FACTS.md «Traps»).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
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
    OpenCodeStamp,
    OpenCodeUnit,
    OpenCodeUnits,
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
    ) -> dict[str, OpenCodeUnits]:
        """The units of each of these sessions, of one alone `most` of them, the last. Without `parts` the stamps say
        nothing of them."""
        known = {facts.id: facts for facts in sessions}
        found = {facts.id: OpenCodeUnits() for facts in sessions}
        document = [facts.id for facts in sessions if facts.generation == "document"]
        real = [facts.id for facts in sessions if facts.generation != "document"]
        entries = self._entries(real, most) if real else {}
        # A migrated session has its old rows still; one that 1.18's v2 interface went on with has both kinds.
        older = [key for key in real if known[key].generation != "2.x" or not entries.get(key)]
        found |= self._messages(older, parts, most) if older else {}
        for key, units in entries.items():
            if found.get(key):
                both = sorted([*found[key], *units], key=lambda unit: unit.created or 0)
                # Of both kinds the last are known.
                units = OpenCodeUnits(reversed(both[-most:] if most < SESSION_ROWS else both))
            found[key] = units
        found |= self._document(document, most) if document else {}
        boundaries = self._boundaries(sessions)
        for key, facts in known.items():
            found[key].revise(facts, boundaries.get(key))
        return found

    def _messages(self, ids: Sequence[str], parts: bool, most: int) -> dict[str, OpenCodeUnits]:
        have = self.schema.message
        if not self.schema.has_messages:
            self.note("", "table message", "it is missing or has no columns for session and content")
            return {}
        values = select_list(have, ("time_created", "seq", "time_updated"))
        order = backwards(have, "time_created", "id", most=most)
        found = self._last("message", MESSAGE_ROW, values, "octet_length(data)", order, ids)
        if parts and self.schema.has_parts and "session_id" in self.schema.part:
            for key, units in found.items():
                units.tell_parts(partial(self._parts_of, key))
        return found

    def _parts_of(self, owner: str, ids: Sequence[str]) -> dict[str, tuple[float | None, ...]]:
        """For each message of these that has parts what they look like from outside; no text is read."""
        newest = "max(time_updated)" if "time_updated" in self.schema.part else "NULL"
        query = (
            f"SELECT CAST(message_id AS BLOB), count(*), sum(octet_length(data)), {newest} FROM part"  # noqa: S608
            " WHERE message_id IN (SELECT value FROM json_each(?1)) GROUP BY message_id"
        )
        rows = self._each(query, ids, "parts of message", owner)
        return {as_text(row[0]) or "": tuple(map(as_float, row[1:])) for row in rows}

    def _entries(self, ids: Sequence[str], most: int) -> dict[str, OpenCodeUnits]:
        have = self.schema.session_message
        if not self.schema.has_entries:
            return {}
        values = select_list(have, ("time_created", "seq", "time_updated"))
        order = backwards(have, *(("seq",) if "seq" in have else ("time_created", "id")), most=most)
        return self._last("session_message", ENTRY_ROW, values, "octet_length(data)", order, ids)

    def _document(self, ids: Sequence[str], most: int) -> dict[str, OpenCodeUnits]:
        have = self.schema.messages
        if not self.schema.has_document:
            self.note("", "table messages", "it is missing or has no columns for session and role")
            return {}
        size = "octet_length(content)" if "content" in have else "0"
        created = "created_at" if "created_at" in have else "NULL"
        order = backwards({*have, "rowid"}, "created_at", "rowid", most=most)
        found = self._last("messages", DOCUMENT_ROW, f"{created}, NULL, NULL", size, order, ids)
        if {"message_id", "session_id"} <= self.schema.tool_calls:
            output = "sum(octet_length(output))" if "output" in self.schema.tool_calls else "0"
            query = (
                f"SELECT CAST(message_id AS BLOB), count(*), {output} FROM tool_calls"  # noqa: S608
                " WHERE session_id IN (SELECT value FROM json_each(?1)) GROUP BY message_id"
            )
            rows = self._each(query, ids, "table tool_calls")
            calls = {as_text(row[0]) or "": (*map(as_float, row[1:]), None) for row in rows}
            for units in found.values():
                units.tell_parts(lambda some: {one: calls[one] for one in some if one in calls})
        return found

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

    def _last(
        self, table: str, kind: str, values: str, size: str, order: str, ids: Sequence[str]
    ) -> dict[str, OpenCodeUnits]:
        """The units of these sessions in a table: `values` are when one was created, its place and when it was
        written last. Of too many the last: of each session as many as fall to its share."""
        query = (
            f"SELECT CAST(session_id AS BLOB), CAST(id AS BLOB), {values}, {size} FROM {table}"  # noqa: S608
            f" WHERE session_id IN (SELECT value FROM json_each(?1)) {order}"
        )

        def lost(id_: str, error: Exception) -> None:
            self.note(id_, f"table {table}", f"a part of it is damaged ({error})")

        def listed(ids: Sequence[str], ration: Ration) -> dict[str, OpenCodeUnits]:
            def ask(some: Sequence[str]) -> Iterable[tuple[str, OpenCodeUnits]]:
                found: defaultdict[str, OpenCodeUnits] = defaultdict(OpenCodeUnits)
                rows = self.connection.execute(query, (json.dumps(some),))
                for session_id, id_, created, seq, updated, length in ration.take(rows):
                    stamp = OpenCodeStamp(as_float(seq), as_float(length), as_float(updated))
                    units = found[as_text(session_id) or ""]
                    units.put_before(as_text(id_) or "", kind, as_float(created), stamp)
                return found.items()

            return dict(each_or_alone(ids, ask, lost))

        ration = Ration(stint=self.stint)
        found = listed(ids, ration)
        if not ration.spent:
            return found
        found = {}
        for id_ in ids:
            ration = Ration(SESSION_LIMIT // len(ids), stint=self.stint)
            found |= listed([id_], ration)
            if ration.spent:
                ((number,),) = self.connection.execute(f"SELECT count(*) FROM {table} WHERE session_id = ?1", (id_,))  # noqa: S608
                self.left[id_] += number - len(found.get(id_, ()))
        return found

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
