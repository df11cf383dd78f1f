"""Databases of agents, with something in them that would keep a reader busy for ever or fill its memory.

Each kind of bomb is laid into a copy of a sample home, into the table that a list reads or the one that holds what
was said, so that everything else of the home is as it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

from support import STORES

__all__ = ["BOMBS", "PLACES", "Place", "lay", "unbound"]


class Place(NamedTuple):
    """A table of an agent's database."""

    home: str
    """The sample home, below the stores."""
    path: str
    """The database in it."""
    table: str
    text: str
    """A column with text."""
    key: str
    """The column that tells rows apart."""


PLACES: Mapping[str, Place] = {
    "hermes": Place("hermes/home", ".hermes/state.db", "sessions", "title", "id"),
    "hermes-messages": Place("hermes/home", ".hermes/state.db", "messages", "content", "id"),
    "opencode": Place("opencode/home", ".local/share/opencode/opencode.db", "session", "title", "id"),
    "opencode-messages": Place("opencode/home", ".local/share/opencode/opencode.db", "message", "data", "id"),
    "opencode-parts": Place("opencode/home", ".local/share/opencode/opencode.db", "part", "data", "id"),
    "cursor-editor": Place(
        "cursor/home", ".config/Cursor/User/globalStorage/state.vscdb", "cursorDiskKV", "value", "key"
    ),
    "cursor-chat": Place(
        "cursor/home",
        ".cursor/chats/11e9fe063b91149eb10c6daf331adfaa/db5b5fab-8f4d-4e27-9da1-494c73cf256d/store.db",
        "blobs",
        "data",
        "id",
    ),
    "cursor-document": Place("cursor/home-spec", ".cursor/sessions/sessions.db", "sessions", "title", "id"),
    "cursor-tracking": Place(
        "cursor/home",
        ".cursor/ai-tracking/ai-code-tracking.db",
        "conversation_summaries",
        "title",
        "conversationId",
    ),
    "codex": Place("codex/home", ".codex/state_5.sqlite", "threads", "name", "id"),
    "openclaw": Place(
        "openclaw/home",
        ".openclaw/agents/main/agent/openclaw-agent.sqlite",
        "session_nodes",
        "entry_json",
        "session_key",
    ),
    "openclaw-events": Place(
        "openclaw/home",
        ".openclaw/agents/main/agent/openclaw-agent.sqlite",
        "transcript_events",
        "event_json",
        "seq",
    ),
    "hector": Place("hector/home", "data/sessions.db", "sessions", "metadata", "id"),
    "hector-messages": Place("hector/home", "data/sessions.db", "session_messages", "message_json", "message_id"),
    "hector-events": Place("hector/home", ".hector/hector.db", "session_events", "content_json", "id"),
}
"""The tables that are attacked, by a name."""

Bomb = Callable[[apsw.Connection, Place, int], None]


def _columns(db: apsw.Connection, place: Place) -> list[str]:
    return [row[1] for row in db.execute(f'PRAGMA table_info("{place.table}")')]


def unbound(db: apsw.Connection, table: str) -> None:
    """Take away what guards the table or follows it."""
    db.execute("PRAGMA foreign_keys = 0")
    found = db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?", (table,)).fetchall()
    for (name,) in found:
        db.execute(f'DROP TRIGGER "{name}"')


def _replaced(db: apsw.Connection, place: Place, source: str) -> None:
    """A view in place of the table, of rows from `source` and else of one row of the table."""
    others = [name for name in _columns(db, place) if name not in (place.key, place.text)]
    db.execute("PRAGMA legacy_alter_table = 1")
    db.execute(f'ALTER TABLE "{place.table}" RENAME TO kept_aside')
    names = "".join(f', kept."{name}"' for name in others)
    db.execute(
        f'CREATE VIEW "{place.table}" AS {source.format(key=place.key, text=place.text, names=names)},'
        " (SELECT * FROM kept_aside LIMIT 1) AS kept"
    )


def endless(db: apsw.Connection, place: Place, size: int) -> None:
    """A view that never ends."""
    _replaced(
        db,
        place,
        "WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up)"
        ' SELECT CAST(n AS TEXT) AS "{key}", n || \'!\' AS "{text}"{names} FROM up',
    )


def expanding(db: apsw.Connection, place: Place, size: int) -> None:
    """A view whose text is made up while it is read."""
    _replaced(db, place, f'SELECT kept."{{key}}", hex(zeroblob({size})) AS "{{text}}"{{names}} FROM (SELECT 1)')


def generated(db: apsw.Connection, place: Place, size: int) -> None:
    """A column whose text is made up while it is read."""
    unbound(db, place.table)
    db.execute("PRAGMA legacy_alter_table = 1")
    names = [name for name in _columns(db, place) if name != place.text]
    listed = ", ".join(f'"{name}"' for name in names)
    db.execute(f'ALTER TABLE "{place.table}" RENAME TO kept_aside')
    made = f'"{place.text}" TEXT GENERATED ALWAYS AS (hex(zeroblob({size}))) VIRTUAL'
    db.execute(f'CREATE TABLE "{place.table}" ({listed}, {made})')
    db.execute(f'INSERT INTO "{place.table}" ({listed}) SELECT {listed} FROM kept_aside')
    db.execute("DROP TABLE kept_aside")


def long_value(db: apsw.Connection, place: Place, size: int) -> None:
    """One text of `size` bytes."""
    unbound(db, place.table)
    chosen = f'"{place.key}" = (SELECT max("{place.key}") FROM "{place.table}")'
    db.execute(f'UPDATE "{place.table}" SET "{place.text}" = ? WHERE {chosen}', ("x" * size,))


def long_everywhere(db: apsw.Connection, place: Place, size: int) -> None:
    """Texts of `size` bytes together, a long one in each row."""
    unbound(db, place.table)
    count = _number(db, f'SELECT count(*) FROM "{place.table}"')
    text = "x" * (size // count)
    db.execute(f'UPDATE "{place.table}" SET "{place.text}" = "{place.key}" || ?', (text,))


def many_rows(db: apsw.Connection, place: Place, size: int) -> None:
    """`size` more rows like one that is there."""
    unbound(db, place.table)
    keys = {row[1]: "9000000 + n" for row in db.execute(f'PRAGMA table_info("{place.table}")') if row[5]}
    for index, unique, origin in db.execute(
        'SELECT name, "unique", origin FROM pragma_index_list(?)', (place.table,)
    ).fetchall():
        if unique and origin == "c":
            db.execute(f'DROP INDEX "{index}"')
        elif unique:
            columns = db.execute("SELECT name FROM pragma_index_info(?)", (index,)).fetchall()
            keys |= {column: "'composerData:n' || n" for (column,) in columns if column not in keys}
    for name, kind in db.execute("SELECT name, type FROM pragma_table_info(?)", (place.table,)).fetchall():
        if name in keys and "INT" not in str(kind).upper():
            keys[name] = "'composerData:n' || n"
    names = _columns(db, place)
    listed = ", ".join(f'"{name}"' for name in names)
    parts = ", ".join(keys.get(name, f'"{name}"') for name in names)
    db.execute(
        f'INSERT INTO "{place.table}" ({listed}) WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up'
        f' LIMIT {size}) SELECT {parts} FROM (SELECT * FROM "{place.table}" LIMIT 1), up'
    )


def _number(db: apsw.Connection, query: str) -> int:
    found = db.execute(query).fetchone()
    assert found is not None
    return int(found[0])


BOMBS: Mapping[str, Bomb] = {
    "endless": endless,
    "expanding": expanding,
    "generated": generated,
    "long": long_value,
    "total": long_everywhere,
    "many": many_rows,
}


def lay(bomb: str, place: str, home: Path, size: int) -> Path:
    """Copy the sample home to `home` and lay the bomb; the database."""
    where = PLACES[place]
    shutil.copytree(STORES / where.home, home, symlinks=True)
    for one in (home, *home.rglob("*")):
        if not one.is_symlink():
            one.chmod(one.stat().st_mode | 0o200)
    path = home / where.path
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA synchronous = 0")
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("BEGIN")
        BOMBS[bomb](db, where, size)
        db.execute("COMMIT")
    return path
