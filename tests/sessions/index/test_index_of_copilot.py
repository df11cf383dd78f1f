"""Sessions of Copilot's that are written to, as the index takes them in."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.schema import open_writer
from hermes_tui.sessions.index.writing.indexer import Indexer
from indexing import build, contents
from plain_copilot import FORK_ID, HELPED_ID, HELPER_ID, PARENT_ID, Scribe, events_path
from session_adapters.base import Environment
from session_adapters.reading.files import METER

STEP = 5
"""Lines that are written between two looks."""


@pytest.mark.parametrize("session_id", [PARENT_ID, FORK_ID, HELPED_ID])
def test_what_grows_is_indexed_as_it_is_made_anew(session_id: str, tmp_path: Path) -> None:
    environment = Environment(home=tmp_path / "home")
    path = events_path(session_id, environment.home)
    path.parent.mkdir(parents=True)
    lines = events_path(session_id).read_bytes().splitlines(keepends=True)
    connection = open_writer(tmp_path / "i.db")
    indexer = Indexer(connection, Adapters(lambda: environment))
    for number, end in enumerate([*range(1, len(lines), STEP), len(lines)]):
        content = b"".join(lines[:end])
        path.write_bytes(content + lines[end][: len(lines[end]) // 2] if end < len(lines) else content)
        assert indexer.run()
        fresh = tmp_path / f"fresh{number}.db"
        build(environment, fresh)
        assert contents(tmp_path / "i.db") == contents(fresh)
    connection.close()
    sessions = {native for _, _, native, *_ in contents(tmp_path / "i.db")["messages"]}
    assert sessions == ({HELPED_ID, HELPER_ID} if session_id == HELPED_ID else {session_id})


def test_one_line_more_is_all_that_is_read(tmp_path: Path) -> None:
    environment = Environment(home=tmp_path / "home")
    scribe = Scribe(environment.home)
    connection = open_writer(tmp_path / "i.db")
    indexer = Indexer(connection, Adapters(lambda: environment, ("copilot",)))
    for number in range(300):
        scribe.turn(f"prompt {number}", f"answer {number}")
    assert indexer.run()
    read: list[int] = []
    for step in range(4):
        scribe.turn(f"more {step}", "answer")
        METER.reset()
        assert indexer.run()
        read.append(METER.bytes)
    assert read[0] > scribe.path.stat().st_size / 2, "the first time it is begun anew"
    assert max(read[1:]) < 20_000
    scribe.add("session.snapshot_rewind", upToEventId="0001-0002")
    assert indexer.run()
    connection.close()
    build(environment, tmp_path / "fresh.db")
    assert contents(tmp_path / "i.db") == contents(tmp_path / "fresh.db")
