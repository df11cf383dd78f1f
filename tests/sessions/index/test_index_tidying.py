"""Putting the parts of an index together."""

from __future__ import annotations

import os
from pathlib import Path

import apsw

from claude_lines import ClaudeHome
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.schema import TABLES, open_writer
from hermes_tui.sessions.index.writing.indexer import Indexer
from hermes_tui.sessions.index.writing.writer import tidy
from indexing import contents
from session_adapters.base import Environment

_LINES = 14


def _grown(tmp_path: Path) -> Path:
    """An index that was written to many times."""
    made = ClaudeHome(tmp_path)
    path = made.session("session", turns=3)
    connection = open_writer(tmp_path / "i.db")
    indexer = Indexer(connection, Adapters(lambda: Environment(home=tmp_path), ("claude",)))
    for number in range(_LINES):
        made.say(path, "user", f"line number {number} with word{number} in it")
        indexer.run()
    connection.close()
    return tmp_path / "i.db"


def _parts(path: Path, table: str) -> int:
    connection = apsw.Connection(os.fspath(path))
    try:
        return int(connection.execute(f"SELECT count(DISTINCT segid) FROM {table}_idx").get)
    finally:
        connection.close()


def test_the_same_is_found_in_fewer_parts(tmp_path: Path) -> None:
    path = _grown(tmp_path)
    before = contents(path)
    assert before["prose"]
    assert _parts(path, "prose") >= _LINES
    connection = open_writer(path)
    assert tidy(connection, lambda: False)
    for table in TABLES:
        connection.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
    pages = connection.execute("PRAGMA page_count").get
    assert tidy(connection, lambda: False)  # once more there is nothing to do
    assert connection.execute("PRAGMA page_count").get == pages
    connection.close()
    assert _parts(path, "prose") < 8
    assert contents(path) == before


def test_it_stops_between_two_steps(tmp_path: Path) -> None:
    path = _grown(tmp_path)
    asked: list[bool] = []

    def stop() -> bool:
        asked.append(True)
        return True

    connection = open_writer(path)
    assert not tidy(connection, stop)
    assert not connection.in_transaction
    connection.close()
    assert len(asked) == 1
    assert _parts(path, "prose") >= _LINES
