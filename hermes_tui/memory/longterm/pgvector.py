"""Points in PostgreSQL, by its extension pgvector."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hermes_tui.errors import StoreError
from hermes_tui.memory.longterm.protocols import MemoryPoint, RecalledMemory, Vector, VectorStoreUnavailable
from hermes_tui.memory.longterm.qdrant_points import COLLECTION
from hermes_tui.memory.sql.database import SqlDatabase, Statements

# ruff: noqa: S608 - the table's name is checked; every value is a parameter

__all__ = ["PgVectorStore"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,50}", re.ASCII)
_COLUMNS = "id::text, agent_id, session_id, role, content, made_at, message_index"
_LOCK = 0x4845_4356  # «HECV»: nobody else is likely to lock that number


class PgVectorStore:
    """A table for each collection. What is searched is first narrowed to one session of one agent, so that the
    nearest are found exactly, without an index over vectors."""

    def __init__(self, db: SqlDatabase, collection: str = COLLECTION) -> None:
        """`db` is closed with the store. Raises `ValueError` for a collection that is no name of a table."""
        if db.dialect != "postgres":
            raise ValueError("vectors in SQL need PostgreSQL with pgvector")
        if not _NAME.fullmatch(collection):
            raise ValueError("a collection in PostgreSQL is named by letters, digits and _")
        self._db = db
        self._table = f'"{collection}"'
        self._lock = threading.Lock()
        self._is_there = False
        self.label = f"{db.label}, table {collection}"
        """See `VectorStore.label`."""

    def upsert(self, points: Sequence[tuple[MemoryPoint, Vector]]) -> None:
        """See `VectorStore.upsert`."""
        if not points:
            return
        with self._told("kept"):
            with self._lock:
                if not self._is_there:
                    self._db.write(lambda statements: self._create(statements, len(points[0][1])))
                    self._is_there = True
            rows = [
                (
                    one.id,
                    one.agent_id,
                    one.session_id,
                    one.role,
                    # PostgreSQL keeps no NUL in a text. An id that has one is refused: it must not become another's.
                    one.content.replace("\0", "\u2400"),
                    one.timestamp,
                    one.message_index,
                    _literal(vector),
                )
                for one, vector in points
            ]
            self._db.write(
                lambda statements: statements.run_many(
                    f"INSERT INTO {self._table} (id, agent_id, session_id, role, content, made_at,"
                    " message_index, embedding) VALUES (?::uuid, ?, ?, ?, ?, ?, ?, ?::vector)"
                    " ON CONFLICT (id) DO UPDATE SET"
                    " role = excluded.role, content = excluded.content, made_at = excluded.made_at,"
                    " message_index = excluded.message_index,"
                    " embedding = excluded.embedding",
                    rows,
                )
            )

    def search(self, agent_id: str, session_id: str, vector: Vector, k: int) -> list[RecalledMemory]:
        """See `VectorStore.search`."""
        literal = _literal(vector)
        found = self._read(
            "searched",
            f"SELECT {_COLUMNS}, 1 - (embedding <=> ?::vector) FROM {self._table}"
            " WHERE agent_id = ? AND session_id = ? ORDER BY embedding <=> ?::vector LIMIT ?",
            literal, agent_id, session_id, literal, k,
        )  # fmt: skip
        return [RecalledMemory(_point(row), float(str(row[7]))) for row in found]

    def points(self, agent_id: str, session_id: str, limit: int = 100) -> list[MemoryPoint]:
        """See `VectorStore.points`."""
        found = self._read(
            "read",
            f"SELECT {_COLUMNS} FROM {self._table} WHERE agent_id = ? AND session_id = ?"
            " ORDER BY made_at DESC, message_index DESC LIMIT ?",
            agent_id, session_id, limit,
        )  # fmt: skip
        return [_point(row) for row in found]

    def count(self, agent_id: str, session_id: str | None = None) -> int:
        """See `VectorStore.count`."""
        one = "" if session_id is None else " AND session_id = ?"
        values = [agent_id] if session_id is None else [agent_id, session_id]
        query = f"SELECT count(*) FROM {self._table} WHERE agent_id = ?{one}"
        found = self._read("counted", query, *values)
        return int(str(found[0][0])) if found else 0

    def delete(self, agent_id: str, session_id: str) -> None:
        """See `VectorStore.delete`."""
        query = f"DELETE FROM {self._table} WHERE agent_id = ? AND session_id = ?"

        def work(statements: Statements) -> None:
            if statements.columns(self._table):
                statements.run(query, agent_id, session_id)

        with self._told("removed"):
            self._db.write(work)

    def close(self) -> None:
        """See `VectorStore.close`."""
        self._db.close()

    def _read(self, done: str, query: str, *values: object) -> list[tuple[object, ...]]:
        """The rows; none where the table was never made."""

        def work(statements: Statements) -> list[tuple[object, ...]]:
            return statements.run(query, *values) if statements.columns(self._table) else []

        with self._told(done):
            return self._db.read(work)

    def _create(self, statements: Statements, size: int) -> None:
        # One at a time: of two that make the same thing at once PostgreSQL refuses one, whatever IF NOT EXISTS says.
        statements.run("SELECT pg_advisory_xact_lock(?)", _LOCK)
        statements.run("CREATE EXTENSION IF NOT EXISTS vector")
        statements.run(
            f"CREATE TABLE IF NOT EXISTS {self._table} (id UUID PRIMARY KEY, agent_id TEXT NOT NULL,"
            " session_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL, made_at BIGINT NOT NULL,"
            f" message_index BIGINT NOT NULL, embedding vector({size}) NOT NULL)"
        )
        name = self._table.strip('"')
        statements.run(f'CREATE INDEX IF NOT EXISTS "idx_{name}_own" ON {self._table} (agent_id, session_id)')

    @contextmanager
    def _told(self, done: str) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            raise VectorStoreUnavailable(f"The points in {self.label} were not {done}. {error}") from None


def _literal(vector: Vector) -> str:
    return "[" + ",".join(repr(float(one)) for one in vector) + "]"


def _point(row: Sequence[object]) -> MemoryPoint:
    identity, agent_id, session_id, role, content = map(str, row[:5])
    return MemoryPoint(
        id=identity,
        agent_id=agent_id,
        session_id=session_id,
        role=role,
        content=content,
        timestamp=int(str(row[5])),
        message_index=int(str(row[6])),
    )
