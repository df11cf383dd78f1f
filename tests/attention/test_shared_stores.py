"""Sessions that share a database: what is written for one says nothing of another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hermes_store import Store
from hermes_tui.attention.monitor import Monitor
from hermes_tui.attention.report import AttentionReport
from hermes_tui.lifecycle.lanes import Board
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.mark_store import MarkStore
from session_adapters.base import Environment

BEGAN = 1_780_000_000.0


class Watched(NamedTuple):
    store: Store
    at: Callable[[float], AttentionReport]
    """What a look finds so many seconds after the beginning."""
    opened: list[str]
    """Ids of the sessions that were opened, in order."""


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Watched:
    """Two sessions in one database, each with a prompt; both came since a person looked."""
    store, now, opened = Store(tmp_path / "home"), [BEGAN], []
    for name in ("quiet", "busy"):
        store.session(name, started_at=BEGAN)
        store.say(name, "user", f"look after {name}", timestamp=BEGAN)
    manager = SessionManager(
        Environment(home=tmp_path / "home", proc=tmp_path),
        cache_dir=tmp_path / "cache",
        agents=("hermes",),
        indexed=False,
    )
    marks = MarkStore(tmp_path / "marks.db", now=lambda: 1.0)
    monitor = Monitor(manager, marks, panes=lambda: (), board=Board, now=lambda: now[0])
    really = manager.read
    monkeypatch.setattr(manager, "read", lambda agent, one, *rest: opened.append(one) or really(agent, one, *rest))  # type: ignore[func-returns-value]

    def at(seconds: float) -> AttentionReport:
        now[0] = BEGAN + seconds
        return monitor.look(manager.catalogue.refresh())

    return Watched(store, at, opened)


def test_only_what_has_a_new_row_is_read_again(watched: Watched) -> None:
    watched.at(10)
    assert sorted(watched.opened) == ["busy", "quiet"]
    for second in range(20, 60, 10):
        watched.opened.clear()
        watched.store.say("busy", "assistant", "still at it", timestamp=BEGAN + second)
        watched.at(second + 5.5)
        assert watched.opened == ["busy"], second
    watched.opened.clear()
    watched.at(90)
    assert watched.opened == []
    watched.store.connection.execute("DELETE FROM messages WHERE id = (SELECT max(id) FROM messages)")
    watched.at(91)
    assert watched.opened == ["busy"]


def test_one_is_silent_while_others_talk(watched: Watched) -> None:
    watched.at(1)
    for second in range(60, 420, 60):
        watched.store.say("busy", "user", "and then?", timestamp=BEGAN + second)
        found = watched.at(second + 1)
    assert {name: one.state.state for name, one in found.by_session.items()} == {
        "hermes:quiet": "gone",  # no process is known that could still answer
        "hermes:busy": "working",
    }
