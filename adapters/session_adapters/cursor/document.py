"""Reads the document's layout: one database with `sessions` and `messages`.

Types of ids and times vary: they are taken as they are. Format: spec 004 §4.2.5.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import apsw
import msgspec

from session_adapters.cursor.facts import (
    CONTENT_LIMIT,
    CursorFacts,
    CursorReader,
    CursorStore,
    CursorUnit,
    unique_ids,
)
from session_adapters.cursor.records import decoded, dig, items, word
from session_adapters.cursor.summary import CursorFold
from session_adapters.model import Message, Role, SessionSummary, TokenUsage, ToolCall, ToolResult
from session_adapters.reading.bounds import TOO_MANY, Stint
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.sqlite import DatabaseUnreadable, SessionGone, read_database
from session_adapters.reading.sqlite_limits import SESSION_ROWS, Ration
from session_adapters.reading.sqlite_rows import (
    DAMAGE,
    LISTED_LIMIT,
    Note,
    RowReader,
    as_float,
    as_int,
    as_text,
    each_or_alone,
    numbered_columns,
)
from session_adapters.times import parse_time

__all__ = ["CursorDocumentStore", "document_summaries"]

T = TypeVar("T")
FULL_SIZE = 4 << 20
"""Bytes. A smaller database is read in full at once."""
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}


class CursorSessionRow(msgspec.Struct):
    """A row of `sessions`."""

    rowid: int
    id: str | None
    title: str | None
    cwd: str | None
    model: str | None
    created_at: str | None
    updated_at: str | None


class CursorMessageRow(msgspec.Struct):
    """A row of `messages`."""

    id: str | None
    role: str
    content: str
    thinking: str | None
    model: str | None
    tool_calls: str | None
    """JSON."""
    tool_call_id: str | None
    tool_name: str | None
    input_tokens: int
    output_tokens: int
    thinking_tokens: int
    cached_tokens: int
    created_at: str | None


SESSION = RowReader(CursorSessionRow, limit=LISTED_LIMIT)
MESSAGE = RowReader(CursorMessageRow)
_LONG = ("content", "thinking", "tool_calls")


class _Tables:
    """The columns that there are."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.sessions = numbered_columns(connection, "sessions")
        self.messages = numbered_columns(connection, "messages")
        if "id" not in self.sessions:
            raise DatabaseUnreadable("it has no table of sessions")

    @property
    def size(self) -> str:
        """Expression for the bytes of text in a message."""
        return " + ".join(f"ifnull(octet_length({name}), 0)" for name in _LONG if name in self.messages) or "0"

    @property
    def backwards(self) -> str:
        """By what the last messages come first."""
        return "created_at DESC, rowid DESC" if "created_at" in self.messages else "rowid DESC"

    def facts(
        self, note: Note, session_id: str | None = None, stint: Stint | None = None
    ) -> list[tuple[int, CursorFacts]]:
        """(row, facts) of every session, or the one asked for."""
        where = ""
        values: tuple[Any, ...] = ()
        if session_id is not None:
            number = as_int(session_id) if session_id.lstrip("-").isdecimal() else None
            where, values = " WHERE id = ?1 OR id = ?2", (session_id, number)
        chosen = SESSION.select(self.sessions | {"rowid"})
        query = f"SELECT {chosen} FROM sessions{where} ORDER BY rowid DESC"  # noqa: S608
        found: list[tuple[int, CursorFacts]] = []
        for row in SESSION.listed(self.connection.execute(query, values), "sessions", note, stint):
            if not row.id or session_id not in (None, row.id):
                continue
            facts = CursorFacts(
                id=row.id,
                kind="document",
                title=row.title or "",
                cwd=row.cwd or None,
                created=_millis(row.created_at),
                updated=_millis(row.updated_at),
                model=row.model or None,
            )
            found.append((row.rowid, facts))
        return found


def _millis(value: str | None) -> float | None:
    """A time in any of the shapes it may have: milliseconds, seconds, ISO."""
    number = as_float(value)
    moment = parse_time(value if number is None else number)
    return None if moment is None else moment.timestamp() * 1000


class DocumentReader(CursorReader):
    """One session."""

    def __init__(self, tables: _Tables, key: int, facts: CursorFacts) -> None:
        super().__init__(facts)
        self._tables = tables
        self._key = key

    def units(self, most: int = SESSION_ROWS) -> list[CursorUnit]:
        """See `CursorReader.units`."""
        have = self._tables.messages
        if "session_id" not in have:
            self.note("table messages", "it is missing or has no column for the session")
            return []
        where = "FROM messages WHERE session_id = (SELECT id FROM sessions WHERE rowid = ?1)"
        order = f"{self._tables.size} {where} ORDER BY {self._tables.backwards}"
        query = f"SELECT rowid, {'id' if 'id' in have else 'rowid'}, {order}"
        ration = Ration(stint=self.ration.stint)
        run = self._tables.connection.execute
        try:
            rows = list(ration.take(run(f"{query} LIMIT {most}", (self._key,))))[::-1]
            if ration.spent:
                self.left += next(run(f"SELECT count(*) {where}", (self._key,)))[0] - len(rows)
        except DAMAGE as error:
            self.note("table messages", f"a part of it is damaged, messages are missing ({error})")
            return []
        names = unique_ids(as_text(id_) or f"@{rowid}" for rowid, id_, _ in rows)
        return [CursorUnit(name, rowid, (size,)) for name, (rowid, _, size) in zip(names, rows, strict=True)]

    def contents(self, units: Sequence[CursorUnit]) -> dict[str, list[Message]]:
        """See `CursorReader.contents`."""
        # A CROSS JOIN, for SQLite keeps its order: each wanted row is looked up, in place of a walk through all rows.
        query = (
            f"SELECT messages.rowid, {MESSAGE.select(self._tables.messages)}"  # noqa: S608
            " FROM (SELECT value AS wanted FROM json_each(?1)) CROSS JOIN messages"
            f" ON messages.rowid = wanted AND {self._tables.size} <= {CONTENT_LIMIT}"
        )
        by_row = {unit.place: unit for unit in units}
        rows = each_or_alone(
            list(by_row),
            lambda some: self.ration.take(self._tables.connection.execute(query, (json.dumps(some),))),
            lambda place, error: self.note(f"row {place} of messages", f"it is damaged ({error})"),
        )
        found: dict[str, list[Message]] = {}
        for rowid, *row in rows:
            unit = by_row[rowid]
            found[unit.id] = [_message(unit.id, MESSAGE.read(row))]
        for unit in units:
            if unit.id not in found and self.ration.spent:
                self.left += 1
            elif unit.id not in found:
                self.note(f"message {unit.id}", "it is too large to be read, or went meanwhile")
        return found


def _message(unit_id: str, row: CursorMessageRow) -> Message:
    role = _ROLES.get(row.role.lower(), "system")
    usage = TokenUsage(
        input_tokens=max(0, row.input_tokens),
        output_tokens=max(0, row.output_tokens),
        cached_tokens=max(0, row.cached_tokens),
        thinking_tokens=max(0, row.thinking_tokens),
    )
    calls: list[ToolCall] = []
    for place, call in enumerate(items(decoded(row.tool_calls))):
        inner = dig(call, "function") or call
        calls.append(
            ToolCall(
                tool_call_id=word(dig(call, "id")) or f"{unit_id}-{place}",
                tool_name=word(dig(inner, "name")),
                input=decoded(dig(inner, "arguments")),
            )
        )
    millis = _millis(row.created_at)
    answer = role == "tool" and row.tool_call_id
    return Message(
        role=role,
        kind="notice" if role == "system" else "message",
        content="" if answer else row.content,
        id=unit_id,
        timestamp=None if millis is None else parse_time(millis),
        thinking=row.thinking or None,
        tool_calls=tuple(calls),
        tool_result=ToolResult(tool_call_id=row.tool_call_id or "", tool_name=row.tool_name or "", output=row.content)
        if answer
        else None,
        token_usage=usage if usage.total else None,
        usage_key=f"@{unit_id}" if usage.total else "",
        model=row.model or None,
    )


class CursorDocumentStore(CursorStore):
    """The database."""

    def visit(self, session_id: str, work: Callable[[CursorReader], T]) -> T:
        """See `CursorStore.visit`."""

        def read(connection: apsw.Connection) -> T:
            tables = _Tables(connection)
            for key, facts in tables.facts(lambda place, reason: None, session_id):
                return work(DocumentReader(tables, key, facts))
            raise SessionGone(session_id)

        return read_database(self.path, read)


def document_summaries(path: str, size: int, damaged: Damage, *, exact: bool) -> list[SessionSummary]:
    """Every session of the database. Raises `DatabaseUnreadable`."""
    full = exact or size <= FULL_SIZE

    def read(connection: apsw.Connection) -> tuple[list[SessionSummary], Damage]:
        tables = _Tables(connection)
        found: list[SessionSummary] = []
        lost = Damage()
        stint, late = Stint(), False
        for key, facts in tables.facts(lost.add, stint=stint):
            reader = DocumentReader(tables, key, facts)
            fold = CursorFold()
            if stint.over and not exact:
                late = fold.partial = True
                found.append(fold.summary(facts, path))
                continue
            units = reader.units()
            seen = units if full else [*units[:2], *units[2:][-4:]]
            reader.count(seen, fold)
            fold.messages += len(units) - len(seen) + reader.left
            fold.partial = len(seen) < len(units) or bool(reader.left)
            fold.warnings = len(reader.damage)
            lost.extend(reader.damage)
            found.append(fold.summary(facts, path))
        if late:
            lost.add("table sessions", f"sessions could not be counted: {TOO_MANY}")
        return found, lost

    found, lost = read_database(path, read)
    damaged.extend(lost)
    return found
