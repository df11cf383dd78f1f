"""Makes search indexes for tests, and says what is in one."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.schema import STORES, TABLES, open_writer
from hermes_tui.sessions.index.writing.indexer import Indexer
from session_adapters.base import Environment, Source

__all__ = ["build", "contents", "homes_sources", "indexer_variables"]


def build(environment: Environment, path: Path, *, commits: int | None = None) -> bool:
    """Bring the index in `path` up to date in this process, and stop after so many commits: the first says what
    there is to do, the next that all prose is there, unless there is much of it. Whether it got to the end."""
    left = [commits if commits is not None else -1]

    def stop() -> bool:
        left[0] -= 1
        return left[0] == 0

    connection = open_writer(path)
    try:
        return Indexer(connection, Adapters(lambda: environment), pid=os.getpid(), stop=stop).run()
    finally:
        connection.close()


def homes_sources(environment: Environment) -> list[Source]:
    """Every source of every agent."""
    adapters = Adapters(lambda: environment)
    return [source for name in adapters.names for source in adapters.get(name).sources(lambda problem: None)]


def contents(path: Path) -> dict[str, Counter[Any]]:
    """Everything that can be found in an index, told by messages instead of by row numbers: two indexes of the same
    stores are equal in it, whatever way they came about."""
    connection = apsw.Connection(os.fspath(path))
    try:
        found: dict[str, Counter[Any]] = {}
        run: Callable[..., Any] = connection.execute
        named = dict[int, tuple[Any, ...]]()
        for row, *facts in run(
            "SELECT message.id, source.path, source.native, session.native, key, at, role, visibility "
            "FROM message JOIN session ON session.id = session JOIN source ON source.id = source"
        ):
            named[row] = (*facts, row >> 8)
        assert len(named) == run("SELECT count(*) FROM message").get
        found["messages"] = Counter(named.values())
        about = run("SELECT message, kind, text FROM called JOIN name ON name.id = name")
        found["names"] = Counter((named[row], kind, text) for row, kind, text in about)
        for row, names in run("SELECT id, names FROM message WHERE names IS NOT NULL"):
            asked = "SELECT name FROM called WHERE message = ? ORDER BY name"
            assert names == " ".join(str(name) for (name,) in run(asked, (row,)))
        found["sources"] = Counter(run("SELECT path, native, stamp, level FROM source"))
        for table in TABLES:
            run(f"CREATE VIRTUAL TABLE temp.words_{table} USING fts5vocab(main, {table}, instance)")
            words = run(f"SELECT doc, term, offset FROM temp.words_{table}")
            # Words of a row that there is no message for would be found and never shown.
            found[table] = Counter((named[row], term, place) for row, term, place in words)
        return found
    finally:
        connection.close()


def indexer_variables(environment: Environment) -> dict[str, str]:
    """What tells an indexer where the stores are."""
    given = {"home": str(environment.home), "variables": dict(environment.variables), "proc": str(environment.proc)}
    return {STORES: json.dumps(given)}
