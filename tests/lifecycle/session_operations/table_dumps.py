"""Everything that a store of Hermes holds, to compare with; and that it is whole."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

__all__ = ["dump"]

_SHADOWS = ("messages_fts", "messages_fts_trigram")


def dump(database: Path) -> dict[str, Any]:
    """Every row of every table, and what the full-text indexes hold: their texts, how often each word is in how many.
    That each word is found where it stands is what their own check says, which compares both."""
    with closing(sqlite3.connect(database)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
        tables = [
            name
            for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if not name.startswith(("sqlite_", *_SHADOWS)) and name != "state_meta"
        ]
        found: dict[str, Any] = {
            name: sorted(raw.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in tables
        }
        indexes = {name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'")}
        assert _SHADOWS[0] in indexes
        for index in (name for name in _SHADOWS if name in indexes):  # early versions had one alone
            raw.execute(f"INSERT INTO {index}({index}) VALUES ('integrity-check')")
            raw.execute(f"CREATE VIRTUAL TABLE temp.{index}_words USING fts5vocab(main, {index}, 'row')")
            found[index] = raw.execute(f"SELECT rowid, * FROM {index} ORDER BY rowid").fetchall()
            found[f"{index}_words"] = raw.execute(f"SELECT * FROM temp.{index}_words").fetchall()
        raw.rollback()
    return found
