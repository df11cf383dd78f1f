"""Writing the index: what is looked up among what waits, what fails, what is left of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from hermes_tui.sessions.index.schema import TABLES, open_writer
from hermes_tui.sessions.index.source_state import Level
from hermes_tui.sessions.index.writing import writer
from hermes_tui.sessions.index.writing.text_writer import Sink
from hermes_tui.sessions.index.writing.writer import IndexWriter
from session_adapters.base import Source
from session_adapters.reading.searchable import Text
from session_adapters.tool_names import ToolNames


def _source(name: str) -> Source:
    return Source(agent="claude", path=f"/nowhere/{name}", stamp=(1,), session_id=name, modified=1000.0)


def _texts(name: str, number: int, word: str = "word") -> list[Text]:
    return [
        Text(
            name,
            f"m{at}",
            "user",
            1000.0 + at,
            f"{word} {name} {at}",
            f"tool{at}",
            names=ToolNames(("bash",), (f"/f{at}",)),
        )
        for at in range(number)
    ]


def _asked(path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return list(connection.execute(sql))
    finally:
        connection.close()


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every few words are committed."""
    monkeypatch.setattr(writer, "FIRST_BATCH", 40)
    monkeypatch.setattr(writer, "BATCH", 40)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    connection = open_writer(tmp_path / "i.db")
    yield connection
    connection.close()


def test_the_writer_waits_for_no_disk_at_each_commit(connection: apsw.Connection) -> None:
    """The settings that are asked for are those it has: `synchronous` NORMAL, in memory what is for a while."""
    settings = ("journal_mode", "synchronous", "temp_store", "page_size", "cache_size")
    assert [connection.pragma(name) for name in settings] == ["wal", 1, 2, 8192, -4096]


@pytest.mark.usefixtures("often")
def test_each_message_is_there_once_however_batches_overlap(tmp_path: Path, connection: apsw.Connection) -> None:
    """Both passes over ten sources, and the second one again."""
    made = IndexWriter(connection)
    for prose_only in (True, False, False):
        for number in range(10):
            source = _source(f"s{number}")
            sink = Sink(made, source, prose_only=prose_only)
            sink.take(_texts(f"s{number}", 5))
            sink.finish(Level.PROSE if prose_only else Level.ALL, source)
    made.commit()
    path = tmp_path / "i.db"
    assert _asked(path, "SELECT count(*), count(DISTINCT session), count(DISTINCT key) FROM message") == [(50, 10, 5)]
    assert _asked(path, "SELECT count(*), min(level) FROM source") == [(10, 2)]
    assert _asked(path, "SELECT count(*) FROM session") == [(10,)]
    for table, word in (("prose", "word"), ("tool", '"tool3"')):
        found = _asked(path, f"SELECT count(*) FROM {table} WHERE {table} MATCH '{word}'")
        assert found == [(10,)] if table == "tool" else [(50,)], table
    # bash, user, and a file for each of five places
    assert _asked(path, "SELECT count(*) FROM name") == [(7,)]
    assert _asked(path, "SELECT count(*) FROM called") == [(150,)]


@pytest.mark.usefixtures("often")
def test_what_a_message_is_called_with_follows_it(tmp_path: Path, connection: apsw.Connection) -> None:
    """Names that it has no more are taken out, and one without any text keeps its own."""
    made = IndexWriter(connection)
    source = _source("one")
    for tools, tool in ((("bash", "read"), "something"), (("read",), "")):
        sink = Sink(made, source)
        sink.take([Text("one", "m", "user", 1.0, "", tool, names=ToolNames(tools, ()))])
        sink.finish(Level.ALL, source)
        made.commit()
        named = "SELECT text FROM called JOIN name ON name.id = name WHERE kind = 1 ORDER BY text"
        assert _asked(tmp_path / "i.db", named) == [(one,) for one in tools]


@pytest.mark.usefixtures("often")
def test_a_batch_that_cannot_be_put_in_is_told_and_leaves_nothing(
    tmp_path: Path, connection: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Afterwards the index is as it was, and goes on."""
    made = IndexWriter(connection)
    sink = Sink(made, _source("good"))
    sink.take(_texts("good", 5))
    made.commit()
    before = _asked(tmp_path / "i.db", "SELECT * FROM message")
    # SQLite refuses to put anything into a full-text table.
    connection.authorizer = lambda what, table, *_: (
        apsw.SQLITE_DENY if what == apsw.SQLITE_INSERT and table in TABLES else apsw.SQLITE_OK
    )
    with pytest.raises(apsw.AuthError):
        Sink(made, _source("bad")).take(_texts("bad", 20))
        made.commit()
    connection.authorizer = None
    made.abandon()
    assert _asked(tmp_path / "i.db", "SELECT * FROM message") == before
    sink = Sink(made, _source("bad"))
    sink.take(_texts("bad", 20))
    sink.finish(Level.ALL, _source("bad"))
    made.commit()
    assert _asked(tmp_path / "i.db", "SELECT count(*) FROM message") == [(25,)]
    assert _asked(tmp_path / "i.db", "SELECT count(*) FROM source WHERE level = 2") == [(1,)]


@pytest.mark.usefixtures("often")
def test_abandoning_leaves_what_was_committed(tmp_path: Path, connection: apsw.Connection) -> None:
    """What was only collected is not there."""
    made = IndexWriter(connection)
    Sink(made, _source("there")).take(_texts("there", 4))
    made.commit()
    Sink(made, _source("not")).take(_texts("not", 1))
    made.abandon()
    assert _asked(tmp_path / "i.db", "SELECT native FROM source") == [("there",)]
    assert not connection.in_transaction
    number, fresh = made.source(_source("not"))
    assert fresh and made.source(_source("there")) == (number - 1, False)
