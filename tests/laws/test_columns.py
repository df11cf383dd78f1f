"""Law 7: columns by introspection. What a database says of its version changes nothing of what is read."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from hermes_tui.sessions.jsontext import encode
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from support import STORES

_DATABASES = [path.relative_to(STORES) for path in STORES.rglob("*") if path.suffix in (".db", ".sqlite", ".vscdb")]
_HOMES = sorted({Path(*path.parts[: 3 if path.parts[1] == "old_versions" else 2]) for path in _DATABASES}, key=str)
"""The homes in which there are databases: `hermes/home`, `hermes/old_versions/v3`, `opencode/home-v2` …"""


def _said(home: Path, cache: Path) -> list[bytes]:
    """Everything that is read there."""
    manager = SessionManager(Environment(home=home), cache_dir=cache)
    rows = sorted(manager.list(limit=None), key=lambda row: row.unified_id)
    assert rows
    sessions = (manager.get(row.agent, row.session_id) for row in rows)
    return [encode(replace(session, size=0)) for session in sessions]  # the lie itself empties a `-wal`


def _lie(home: Path, version: int) -> int:
    """Set every mark of a version in every database below `home`; how many there were."""
    marks = 0
    for path in home.rglob("*"):
        if not path.is_file() or path.suffix not in (".db", ".sqlite", ".vscdb"):
            continue
        status = path.stat()
        with sqlite3.connect(path) as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0]:
                connection.execute(f"PRAGMA user_version = {version}")
                marks += 1
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").fetchone():
                connection.execute("UPDATE schema_version SET version = ?", (version,))
                marks += 1
        connection.close()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # some agents keep no other time
    return marks


@pytest.mark.parametrize("relative", _HOMES, ids=str)
def test_a_lie_about_the_version_changes_nothing(relative: Path, store: Callable[..., Path], tmp_path: Path) -> None:
    home = store(*relative.parts)
    before = _said(home, tmp_path / "before")
    for version in (1, 999):
        _lie(home, version)
        assert _said(home, tmp_path / str(version)) == before, version


def test_there_are_lies_to_tell(store: Callable[..., Path]) -> None:
    assert len(_HOMES) >= 15
    assert sum(_lie(store(*relative.parts), 2) for relative in _HOMES) >= 15
