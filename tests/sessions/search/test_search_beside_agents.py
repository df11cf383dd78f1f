"""Searching what agents are writing to: the index takes in what is new first, and nothing else is read."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

import pytest

from claude_lines import ClaudeHome
from hermes_store import Store
from hermes_tui.sessions.index import service as service_module
from hermes_tui.sessions.index.reading import reader
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.search.incremental.search import LiveSnapshot
from hermes_tui.sessions.search.model import SearchOptions
from session_adapters.base import Environment

_LONG = 180.0
"""Seconds: on a busy machine a database whose first look was slow is left alone for twenty times that."""


class Machine:
    """A file of one agent and a database of another, both written to, beside an indexer that stays."""

    def __init__(self, tmp_path: Path) -> None:
        self.claude = ClaudeHome(tmp_path / "home")
        self.file = self.claude.session("findable")
        self.claude.session("another, left alone")
        self.hermes = Store(tmp_path / "home")
        for session in ("a", "b"):
            self.hermes.session(session)
            self.hermes.say(session, "user", f"findable in {session}")
        self.manager = SessionManager(Environment(home=tmp_path / "home"), cache_dir=tmp_path / "cache")
        self.live = self.manager.searches.live()

    def start(self) -> None:
        """Have an indexer that has seen both grow once, so that it stays."""
        service = self.manager.index
        self.manager.catalogue.refresh()
        service.poke(follow=False)
        assert service.wait(_LONG)
        self.say("warming")
        _until(lambda: service.poke() is not None and service.pid is not None)
        queries = cycle(("warming", "findable"))  # the same one again has the same answer, however old
        _until(lambda: self.found(next(queries)).coverage.scanned == 0)

    def say(self, word: str) -> None:
        self.claude.say(self.file, "assistant", f"it is {word}")
        self.hermes.say("a", "assistant", f"it is {word} too")
        self.manager.catalogue.refresh()

    def found(self, query: str) -> LiveSnapshot:
        self.live.ask(query)
        answer = self.live.wait(_LONG)
        assert answer.done
        assert not answer.problems
        return answer

    def close(self) -> None:
        self.live.close()
        self.manager.index.close()
        self.hermes.connection.close()


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setattr(service_module, "REST", 0.0)
    made = Machine(tmp_path)
    yield made
    made.close()


def _until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + _LONG
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


def _ids(snapshot: LiveSnapshot) -> list[str]:
    return sorted(one.summary.unified_id for one in snapshot.results)


def _by_reading(machine: Machine, query: str) -> list[str]:
    found = machine.manager.searches.discover(query, SearchOptions(use_index=False, limit=None))
    assert found.complete
    return sorted(one.unified_id for one in found.results)


def test_nothing_is_read_that_the_index_can_take_in(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PATIENCE", _LONG)
    machine.start()
    both = sorted([f"claude:{machine.file.stem}", "hermes:a"])
    for number in range(4):
        new = f"novelty{number}"
        machine.say(new)
        for query in (new, "findable", f"findable -{new}", "novelty0 OR findable", "nowhere"):
            machine.say("unasked")
            answer = machine.found(query)
            assert answer.coverage.scanned == 0, query
            assert answer.coverage.indexed == answer.coverage.sources == 3
            assert _ids(answer) == _by_reading(machine, query), query
        assert _ids(machine.found(new)) == both


def test_what_was_taken_back_is_not_found(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that is no more, a message that is none, a file that was written anew."""
    monkeypatch.setattr(reader, "PATIENCE", _LONG)
    machine.start()
    machine.hermes.connection.execute("UPDATE messages SET active = 0 WHERE content LIKE '%warming%'")
    machine.manager.catalogue.refresh()
    assert _ids(machine.found("warming")) == [f"claude:{machine.file.stem}"]
    machine.file.write_bytes(b"".join(machine.file.read_bytes().splitlines(keepends=True)[:2]))
    machine.hermes.connection.execute("DELETE FROM messages WHERE session_id = 'b'")
    machine.hermes.connection.execute("DELETE FROM sessions WHERE id = 'b'")
    machine.manager.catalogue.refresh()
    assert _ids(machine.found("warming")) == []
    assert _ids(machine.found("findable")) == sorted([f"claude:{machine.file.stem}", "hermes:a"])
    assert _ids(machine.found("findable")) == _by_reading(machine, "findable")


def test_an_indexer_that_takes_long_is_not_waited_for(machine: Machine) -> None:
    machine.start()
    pid = machine.manager.index.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        machine.say("meanwhile")
        began = time.monotonic()
        answer = machine.found("meanwhile")
        assert time.monotonic() - began < _LONG / 2
        assert answer.coverage.scanned == 2
        assert _ids(answer) == sorted([f"claude:{machine.file.stem}", "hermes:a"])
    finally:
        os.kill(pid, signal.SIGCONT)
