"""The system prompt that a session of Hermes began with, read on demand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from session_adapters.hermes.message_queries import exists
from session_adapters.hermes.session_queries import HermesSchema
from session_adapters.reading.sqlite import SessionGone, read_database, reading_stored
from session_adapters.reading.sqlite_rows import as_text

__all__ = ["LONGEST", "system_prompt"]

LONGEST = 1 << 20
"""Characters that are read; those of Hermes have some ten thousand."""


def system_prompt(path: str, session_id: str) -> str:
    """At most `LONGEST` characters; empty where none is kept. Raises `SessionMissing`, `SessionUnreadable`."""

    def read(connection: apsw.Connection) -> str:
        schema = HermesSchema.of(connection)
        if not exists(connection, session_id):
            raise SessionGone(session_id)
        if "system_prompt" not in schema.sessions:
            return ""
        rows: Iterable[tuple[Any]] = connection.execute(
            "SELECT CAST(substr(system_prompt, 1, ?2) AS BLOB) FROM sessions WHERE id = ?1", (session_id, LONGEST)
        )
        return next((as_text(text) or "" for (text,) in rows), "")

    with reading_stored("hermes", session_id, path):
        return read_database(path, read)
