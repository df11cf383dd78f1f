"""The system prompt that a session of Hermes began with, read on demand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.hermes.queries import HermesSchema
from session_adapters.hermes.rows import exists
from session_adapters.reading.sqlite import DatabaseMissing, DatabaseUnreadable, read_database
from session_adapters.reading.sqlite_rows import as_text

__all__ = ["LONGEST", "system_prompt"]

LONGEST = 1 << 20
"""Characters that are read; those of Hermes have some ten thousand."""


def system_prompt(path: str, session_id: str) -> str:
    """At most `LONGEST` characters; empty where none is kept. Raises `SessionMissing`, `SessionUnreadable`."""

    def read(connection: apsw.Connection) -> str | None:
        if "system_prompt" not in HermesSchema.of(connection).sessions:
            return "" if exists(connection, session_id) else None
        rows: Iterable[tuple[Any]] = connection.execute(
            "SELECT CAST(substr(system_prompt, 1, ?2) AS BLOB) FROM sessions WHERE id = ?1", (session_id, LONGEST)
        )
        return next((as_text(text) or "" for (text,) in rows), None)

    try:
        found = read_database(path, read)
    except DatabaseMissing as error:
        raise SessionMissing(f"hermes session {session_id}: {path} is not there any more") from error
    except (DatabaseUnreadable, OSError) as error:
        raise SessionUnreadable(f"cannot read hermes session {session_id} in {path}: {error}") from error
    if found is None:
        raise SessionMissing(f"hermes session {session_id} is not in {path}")
    return found
