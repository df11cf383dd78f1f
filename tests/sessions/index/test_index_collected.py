"""What an index holds in all: as its writer noted it, and never a note that is older than the index."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import apsw
import pytest

from claude_lines import ClaudeHome
from hermes_tui.sessions.index.reading.counting import Collected
from hermes_tui.sessions.index.reading.reader import SearchIndex
from hermes_tui.sessions.index.schema import break_seal, connect
from hermes_tui.sessions.index.writing.worker import WorkerExit, work
from hermes_tui.sessions.manager import SessionManager
from indexing import build, indexer_variables
from session_adapters.base import Environment

NOTE = "SELECT value FROM meta WHERE key = 'collected'"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A home of two sessions, and its index, as an indexer left it that got to its end."""
    home = ClaudeHome(tmp_path / "home")
    often = home.session("a heron at the weir, heron, heron")
    home.session("a heron among very many other words, which are about something else")
    environment = Environment(home=home.home)
    for name, value in indexer_variables(environment).items():
        monkeypatch.setenv(name, value)
    manager = SessionManager(environment, cache_dir=tmp_path / "cache")
    assert work(manager.index.path) == WorkerExit.DONE
    return SimpleNamespace(home=home, often=often, environment=environment, path=manager.index.path)


def execute(path: Path, statement: str) -> object:
    """As a writer does that is stopped then."""
    break_seal(path)
    with closing(connect(path, apsw.SQLITE_OPEN_READWRITE)) as connection:
        return connection.execute(statement).get


def collected(path: Path) -> Collected:
    with closing(SearchIndex(path)) as index:
        return index.collected()


def answer(made: SimpleNamespace, *, index: bool = True) -> list[tuple[str, float | None]]:
    manager = SessionManager(made.environment, cache_dir=made.path.parent, indexed=index)
    return [(one.session_id, one.relevance_score) for one in manager.discover("heron").results]


def test_a_note_is_as_a_look_at_each_message(made: SimpleNamespace) -> None:
    noted, answered = collected(made.path), answer(made)
    assert noted.messages == 4
    execute(made.path, "DELETE FROM meta WHERE key = 'collected'")  # as in an index of before
    assert (collected(made.path), answer(made)) == (noted, answered)
    commits = execute(made.path, "SELECT value FROM meta WHERE key = 'commits'")
    execute(made.path, f"INSERT INTO meta VALUES('collected', '[{commits}, [9, 90]]')")
    assert collected(made.path) == Collected(9, 10.0)  # the messages are not looked at


def test_a_note_older_than_the_index_is_not_believed(made: SimpleNamespace) -> None:
    """Its writer was killed before it noted anew."""
    before, note = collected(made.path), execute(made.path, NOTE)
    for _ in range(5):
        made.home.say(made.often, "user", "and another heron")
    made.home.session("a third heron")
    assert build(made.environment, made.path)
    assert execute(made.path, NOTE) == note
    now, answered = collected(made.path), answer(made)
    assert now.messages == before.messages + 7
    assert {one for one, _ in answered} == {one for one, _ in answer(made, index=False)}
    execute(made.path, "DELETE FROM meta WHERE key = 'collected'")
    assert (collected(made.path), answer(made)) == (now, answered)
    assert work(made.path) == WorkerExit.DONE
    assert execute(made.path, NOTE) not in (None, note)
    assert (collected(made.path), answer(made)) == (now, answered)


def test_an_index_that_is_made_anew_has_none_of_before(made: SimpleNamespace) -> None:
    note = execute(made.path, NOTE)
    made.often.unlink()
    made.path.write_bytes(b"damaged")
    assert work(made.path) == WorkerExit.DONE
    assert collected(made.path).messages == 2
    assert execute(made.path, NOTE) != note
