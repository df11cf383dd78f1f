"""What the editor's `ai-code-tracking.db` says of a conversation: title, model, last change (FACTS.md «Four separate
stores» 4). All of it is optional, so that a database which could only be copied is left alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec

from session_adapters.cursor.facts import Facts
from session_adapters.cursor.pieces import real_model
from session_adapters.sqlite import DatabaseMissing, DatabaseUnreadable, read_database
from session_adapters.sqlite_rows import Record, columns
from session_adapters.units import Lost

__all__ = ["with_tracking"]

_TIMEOUT = 2.0


class Tracked(msgspec.Struct, rename="camel"):
    """A row of `conversation_summaries`."""

    title: str | None
    model: str | None
    updated_at: float | None


TRACKED = Record(Tracked)


def with_tracking(facts: Facts, root: str, note: Callable[[Lost], None]) -> Facts:
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
    if log.exists() and log.stat().st_size and not shared.exists():
        return None  # after a crash: only a copy could be read
    try:
        return read_database(path, read, timeout=_TIMEOUT)
    except DatabaseMissing:
        return None
