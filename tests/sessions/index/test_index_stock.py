"""What is covered by an index, told step by step, beside what a look at everything tells."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chances import examples
from hermes_tui.sessions.index.reading.coverage import IndexCoverage
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.schema import open_writer, remove
from hermes_tui.sessions.index.source_state import Level, key_of
from hermes_tui.sessions.index.writing.writer import IndexWriter
from session_adapters.base import Source

SOURCES = [
    Source(agent="claude", path=f"/nowhere/{number // 2}", session_id=str(number), stamp=(number, 0))
    for number in range(4)
]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "mark", "forget", "leave out", "put back", "move", "anew", "rest", "ask"]),
        st.integers(0, len(SOURCES) - 1),
        st.sampled_from(list(Level)),
    ),
    max_size=40,
)


def _naive(path: Path, sources: list[Source]) -> tuple[IndexCoverage, list[Source]]:
    """By reading every row, and comparing it with every source."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    generation = str(connection.execute("SELECT value FROM meta WHERE key='generation'").get)
    rows = {tuple(row[:3]): row[3:] for row in connection.execute("SELECT agent, path, native, * FROM source")}
    connection.close()
    levels: dict[tuple[str, str, str], Level] = {}
    numbers: dict[int, Level] = {}
    lacking: list[Source] = []
    all_lost: dict[tuple[str, str, str], str] = {}
    for source in sources:
        row = rows.get(key_of(source))
        if row is None:
            lacking.append(source)
            continue
        number, _, _, _, stamp, level, again, lost, _ = row
        same = stamp == " ".join(map(str, source.stamp))
        if same and level:
            levels[key_of(source)] = numbers[number] = Level(level)
            if lost:
                all_lost[key_of(source)] = lost
        rests = again >= time.time()
        if (not (same and rests)) if level == Level.NOTHING else (not ((same and level == Level.ALL) or rests)):
            lacking.append(source)
    complete = all(levels.get(key_of(source)) == Level.ALL for source in sources)
    return IndexCoverage(generation, levels, numbers, all_lost, complete), lacking


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[SimpleNamespace]:
    made = SimpleNamespace(path=tmp_path / "i.db", index=SearchIndex(tmp_path / "i.db"))
    made.connection = open_writer(made.path)
    made.writer = IndexWriter(made.connection)
    yield made
    made.index.close()
    made.connection.close()


@examples(400)
@given(steps=STEPS)
def test_step_by_step_is_as_at_once(
    steps: list[tuple[str, int, Level]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is written into the index or the stores between two questions."""
    path = tmp_path_factory.mktemp("stock") / "i.db"
    index = SearchIndex(path)
    connection = open_writer(path)
    writer = IndexWriter(connection)
    there = list(SOURCES)
    for step, number, level in [*steps, ("ask", 0, Level.ALL)]:
        one = there[number % len(there)] if there else SOURCES[number]
        if step == "write" and there:
            there[number % len(there)] = replace(one, stamp=(*one.stamp[:1], one.stamp[1] + 1))
        elif step == "mark":
            writer.mark(one, level, "lost" if number % 2 else "")
            writer.commit()
        elif step == "rest":
            writer.rest(one, int(time.time()) + 1000)
            writer.commit()
        elif step == "forget" and key_of(one) in writer.sources():
            writer.forget(key_of(one))
            writer.commit()
        elif step == "leave out" and there:
            there.remove(one)
        elif step == "put back" and all(key_of(SOURCES[number]) != key_of(other) for other in there):
            there.append(SOURCES[number])
        elif step == "move" and there:
            there.remove(one)
            there.insert(0, one)
        elif step == "anew":
            connection.close()
            remove(path)
            connection = open_writer(path)
            writer = IndexWriter(connection)
        elif step == "ask":
            covered, lacking = _naive(path, there)
            assert index.coverage(tuple(there)) == covered
            found = index.lacking(list(there), time.time())
            assert found is not None
            assert sorted(map(key_of, found)) == sorted(map(key_of, lacking))
    index.close()
    connection.close()


def test_an_answer_that_was_given_stays_as_it_was(opened: SimpleNamespace) -> None:
    for source in SOURCES:
        opened.writer.mark(source, Level.ALL)
    opened.writer.commit()
    before = opened.index.coverage(SOURCES)
    assert set(before.levels.values()) == {Level.ALL}
    assert len(before.levels) == len(before.numbers) == len(SOURCES)
    opened.writer.mark(SOURCES[3], Level.PROSE)
    opened.writer.forget(key_of(SOURCES[0]))
    opened.writer.commit()
    after = opened.index.coverage(SOURCES)
    assert len(after.levels) == len(SOURCES) - 1
    assert len(before.levels) == len(SOURCES)
    assert before.level(SOURCES[3]) == Level.ALL


def test_what_is_written_to_on_both_sides(opened: SimpleNamespace) -> None:
    """The index took in what was there, and by now there is more."""
    opened.writer.mark(SOURCES[0], Level.ALL)
    opened.writer.commit()
    assert opened.index.coverage(SOURCES[:1]).level(SOURCES[0]) == Level.ALL
    newer = replace(SOURCES[0], stamp=(0, 1))
    opened.writer.mark(newer, Level.ALL)
    opened.writer.commit()
    newest = replace(SOURCES[0], stamp=(0, 2))
    assert opened.index.coverage([newest]).level(newest) == Level.NOTHING
    assert opened.index.lacking([newest], time.time()) == [newest]


def test_only_what_was_written_since_is_read(opened: SimpleNamespace) -> None:
    """Rows of the other sources are not taken from the index again, and the same answer is the same object."""
    for source in SOURCES:
        opened.writer.mark(source, Level.ALL)
    opened.writer.commit()
    asked = tuple(SOURCES)
    first = opened.index.coverage(asked)
    assert opened.index.coverage(asked) is first
    assert opened.index.coverage(list(asked)) is first
    opened.connection.execute("UPDATE source SET level=0 WHERE native='2'")  # behind the writer's back
    opened.writer.mark(SOURCES[1], Level.PROSE)
    opened.writer.commit()
    now = opened.index.coverage(asked)
    assert now.level(SOURCES[2]) == Level.ALL
    assert now.level(SOURCES[1]) == Level.PROSE


def test_what_there_is_no_index_of_is_not_known_to_lack(tmp_path: Path) -> None:
    index = SearchIndex(tmp_path / "none.db")
    assert index.lacking(SOURCES, time.time()) is None
    assert index.coverage(SOURCES) == IndexCoverage("", {}, {})
