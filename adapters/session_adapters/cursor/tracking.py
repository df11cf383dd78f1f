"""Titles, models and times from the editor's `ai-code-tracking.db`.

It is all optional: a large database that could only be copied, as after a crash, is named and left. Format:
FACTS.md «Four separate stores» 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import apsw
import msgspec

from session_adapters.cursor.facts import CursorFacts
from session_adapters.cursor.pieces import real_model
from session_adapters.reading.sqlite import DatabaseMissing, DatabaseUnreadable, database_stamp, read_database
from session_adapters.reading.sqlite_rows import LISTED_LIMIT, RowReader, as_text, columns
from session_adapters.reading.units import Lost

__all__ = ["COPY_LIMIT", "with_tracking"]

_TIMEOUT = 2.0
COPY_LIMIT = 64 << 20
"""Bytes that are copied at most; the database grows to hundreds of megabytes."""


class Tracked(msgspec.Struct, rename="camel"):
    """A row of `conversation_summaries`."""

    title: str | None
    model: str | None
    updated_at: float | None


TRACKED = RowReader(Tracked, limit=LISTED_LIMIT)


def with_tracking(facts: CursorFacts, root: str, note: Callable[[Lost], None]) -> CursorFacts:
    """The facts of a transcript, with what is known beside it."""
    try:
        row = _row(Path(root) / "ai-tracking" / "ai-code-tracking.db", facts.id)
    except (DatabaseUnreadable, OSError) as error:
        note(Lost("ai-code-tracking.db", f"its title and model there cannot be read: {error}"))
        return facts
    if row is None:
        return facts
    return facts._replace(
        title=facts.title or row.title or "",
        model=facts.model or real_model(row.model),
        updated=row.updated_at or facts.updated,
    )


def _row(path: Path, session_id: str) -> Tracked | None:
    def read(connection: apsw.Connection) -> Tracked | None:
        have = columns(connection, "conversation_summaries")
        if "conversationId" not in have:
            return None
        query = f"SELECT {TRACKED.select(have)} FROM conversation_summaries WHERE conversationId = ?1"  # noqa: S608
        row = connection.execute(query, (session_id,)).fetchone()
        return TRACKED.read(row) if row else None

    log, shared = (path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))
    try:
        if log.exists() and log.stat().st_size and not shared.exists():
            rows = _after_a_crash(str(path), database_stamp(path))
            if isinstance(rows, DatabaseUnreadable):
                raise rows
            return rows.get(session_id)
        return read_database(path, read, timeout=_TIMEOUT)
    except (DatabaseMissing, FileNotFoundError):  # a Cursor that keeps no such database
        return None


@lru_cache(maxsize=2)
def _after_a_crash(path: str, stamp: tuple[int, ...]) -> Mapping[str, Tracked] | DatabaseUnreadable:
    """All rows by conversation, or why there are none: a copy for each of a thousand transcripts would take minutes.
    `stamp` is what the files were when it was made."""

    def read(connection: apsw.Connection) -> Mapping[str, Tracked]:
        have = columns(connection, "conversation_summaries")
        if "conversationId" not in have:
            return {}
        query = f"SELECT conversationId, {TRACKED.select(have)} FROM conversation_summaries"  # noqa: S608
        return {as_text(id_) or "": TRACKED.read(row) for id_, *row in connection.execute(query)}

    size = sum(stamp[2::4])
    if size > COPY_LIMIT:
        return DatabaseUnreadable(
            f"after a crash only a copy of it could be read safely, and at {size >> 20} MB that would take long; open"
            " Cursor once and close it again"
        )
    try:
        return read_database(path, read)
    except DatabaseUnreadable as error:
        return error
