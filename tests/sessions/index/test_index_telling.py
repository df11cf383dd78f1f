"""Telling the indexer what was written to, and what it makes of that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from claude_lines import ClaudeHome
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.schema import open_writer
from hermes_tui.sessions.index.writing import indexer as indexing
from hermes_tui.sessions.index.writing.indexer import Indexer
from hermes_tui.sessions.index.writing.ipc import Ear, tell
from hermes_tui.sessions.query.tree import Word
from indexing import build, contents, homes_sources
from session_adapters.base import Environment, Report, Source


def _source(number: int = 0, path: str = "/nowhere/é") -> Source:
    stamp = (2**64 - 1, number, 2**62)
    return Source(agent="claude", path=path, session_id=str(number), stamp=stamp, root="/", size=7, modified=1.5)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    yield reader, writer
    for one in (reader, writer):
        try:
            os.close(one)
        except OSError:
            assert one == writer  # closed by the test


def test_what_is_told_is_heard(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    ear = Ear(reader)
    assert ear.wait(0) is None
    assert not ear.called()
    tell(writer, [_source(1), _source(2)])
    assert ear.called()
    newer = replace(_source(2), stamp=(5,))
    tell(writer, [newer])
    assert not ear.gone()
    heard = ear.wait(0)
    assert heard is not None
    assert list(heard) == [_source(1), newer]
    assert ear.wait(0) is None
    tell(writer, [])
    tell(writer, [_source(1)])
    assert ear.wait(0) == ()
    tell(writer, [_source(3)])
    assert ear.wait(60) == (_source(3),)
    assert not ear.gone()


def test_a_handful_is_told_one_by_one(pipe: tuple[int, int]) -> None:
    """However long their paths are."""
    reader, writer = pipe
    sources = [_source(number, f"/nowhere/{'deep/' * 100}{number}") for number in range(20)]
    tell(writer, sources)
    assert Ear(reader).wait(0) == tuple(sources)


@pytest.mark.parametrize(
    "sources",
    [[_source(number) for number in range(100)], [_source(path="/nowhere/\udcff")]],
    ids=["more than are named", "a path that is no text"],
)
def test_what_cannot_be_named_may_be_anything(sources: list[Source], pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    tell(writer, sources)
    assert Ear(reader).wait(0) == ()


def test_a_line_that_is_not_understood_may_be_anything(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.write(writer, b'[{"agent": 7}]\n')
    assert Ear(reader).wait(0) == ()


def test_the_other_end_is_closed(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    tell(writer, [_source()])
    os.close(writer)
    ear = Ear(reader)
    assert ear.gone() or ear.gone()
    assert ear.wait(60) is None


def test_who_does_not_listen_is_not_waited_for(pipe: tuple[int, int]) -> None:
    """A pipe that is full takes no line, and no part of one."""
    reader, writer = pipe
    told = [_source(number) for number in range(20)]
    with pytest.raises(BlockingIOError):
        while True:
            tell(writer, told)
    assert Ear(reader).wait(0) == tuple(told)


def test_nobody_tells_anything() -> None:
    ear = Ear(None)
    assert not ear.gone()
    assert ear.wait(60) is None


def _found(path: Path, environment: Environment, word: str) -> set[str]:
    index = SearchIndex(path)
    try:
        hits = index.search(Word((word,)), index.coverage(homes_sources(environment)))
        assert hits is not None
        return {hit.path for hit in hits}
    finally:
        index.close()


def test_only_what_is_told_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that grew and one that is new are taken in without a look at the stores; now and then there is one,
    which also finds what is gone. Afterwards the index is as if it had been made at once."""
    made = ClaudeHome(tmp_path / "home")
    environment = Environment(home=tmp_path / "home")
    grown, gone = made.session("grown"), made.session("gone")
    adapters = Adapters(lambda: environment)
    path = tmp_path / "i.db"
    connection = open_writer(path)
    indexer = Indexer(connection, adapters)
    assert indexer.run()
    looks: list[Report] = []
    whole = adapters.get("claude").sources

    def counted(report: Report) -> Iterator[Source]:
        looks.append(report)
        return whole(report)

    monkeypatch.setattr(adapters.get("claude"), "sources", counted)
    made.say(grown, "user", "somethingnew")
    added = made.session("another")
    gone.unlink()
    foreign = replace(_source(), agent="nobody")
    told = [one for one in homes_sources(environment) if one.path in (str(grown), str(added))]
    assert indexer.run([*told, foreign])
    assert not looks
    assert _found(path, environment, "somethingnew") == {str(grown)}
    assert _found(path, environment, "another") == {str(added)}
    index = SearchIndex(path)
    figures = index.figures()
    assert figures is not None
    assert (figures.sources, figures.everything) == (3, 3)
    monkeypatch.setattr(indexing, "FULL_LOOK_AFTER", 0.0)
    made.say(grown, "user", "oncemore")
    told = [one for one in homes_sources(environment) if one.path == str(grown)]
    assert indexer.run(told)
    assert len(looks) == 1
    figures = index.figures()
    assert figures is not None
    assert (figures.sources, figures.everything) == (2, 2)
    index.close()
    connection.close()
    build(environment, tmp_path / "other.db")
    assert contents(path) == contents(tmp_path / "other.db")
