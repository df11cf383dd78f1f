"""The reading thread: the latest request wins, growth is noticed, errors are told."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from claude_lines import ClaudeHome
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.workers.session_reader import OpenedSession, SessionReader
from session_adapters.base import Environment
from session_adapters.model import SessionSummary
from session_adapters.transcript import Transcript


def wait(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Until it is so; fails when it never is."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def manager_of(home: ClaudeHome, tmp_path: Path) -> SessionManager:
    return SessionManager(Environment(home=home.home), cache_dir=tmp_path / "cache", agents=["claude"])


def test_opens_notices_growth_and_tells_errors(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    path = home.session("One")
    manager = manager_of(home, tmp_path)
    opened: list[OpenedSession] = []
    grown: list[Transcript] = []
    reader = SessionReader(manager.open, opened.append, grown.append)
    reader.start()
    (summary,) = manager.list()
    reader.request(summary)
    wait(lambda: opened)
    assert opened[0].summary is summary and opened[0].transcript is not None
    home.say(path, "user", "more")
    wait(lambda: grown)
    assert grown[0] is opened[0].transcript
    reader.request(SessionSummary(agent="claude", session_id="not there"))
    wait(lambda: len(opened) == 2)
    assert opened[1].transcript is None and "not there" in opened[1].reason
    reader.request(SessionSummary(agent="no such agent", session_id="x"))
    wait(lambda: len(opened) == 3)
    assert "no such agent" in opened[2].reason
    reader.stop()


def test_a_session_at_rest_is_looked_at_when_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("RESTS", 0.0), ("RESTING_PAUSE", 3600.0)):
        monkeypatch.setattr(f"hermes_tui.tui.workers.session_reader.{name}", seconds)
    home = ClaudeHome(tmp_path / "home")
    path = home.session("One")
    manager = manager_of(home, tmp_path)
    opened: list[OpenedSession] = []
    grown: list[Transcript] = []
    reader = SessionReader(manager.open, opened.append, grown.append)
    reader.start()
    reader.request(manager.list()[0])
    wait(lambda: opened)
    home.say(path, "user", "more")
    reader.look_now()
    wait(lambda: len(grown) == 1)
    home.say(path, "user", "and more")
    reader.look_now()
    wait(lambda: len(grown) == 2)
    reader.look_now()
    # What is asked for then is not what a look was asked for.
    reader.request(SessionSummary(agent="claude", session_id="not there"))
    wait(lambda: len(opened) == 2)
    assert len(grown) == 2
    reader.stop()


def test_a_bug_in_an_adapter_is_told() -> None:
    def broken(agent: str, session_id: str) -> Transcript:
        raise ZeroDivisionError("oops")

    opened: list[OpenedSession] = []
    reader = SessionReader(broken, opened.append, lambda transcript: None)
    reader.start()
    reader.request(SessionSummary(agent="a", session_id="b"))
    wait(lambda: opened)
    assert "ZeroDivisionError: oops" in opened[0].reason
    reader.stop()


def test_requests_that_were_overtaken_are_not_served(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    for number in range(20):
        home.session(f"Session {number}")
    manager = manager_of(home, tmp_path)
    summaries = manager.list()
    opened: list[OpenedSession] = []
    reader = SessionReader(manager.open, opened.append, lambda transcript: None)
    for summary in summaries:
        reader.request(summary)
    reader.start()
    wait(lambda: opened)
    assert [one.summary for one in opened] == [summaries[-1]]
    reader.stop()


def test_where_a_server_has_the_session_it_is_asked_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.tui.workers.session_reader.REMOTE_PAUSE", 0.01)
    home = ClaudeHome(tmp_path / "home")
    home.session("One")
    manager = manager_of(home, tmp_path)

    def remote(agent: str, session_id: str) -> Transcript:
        transcript = manager.open(agent, session_id)
        transcript.is_remote = True
        return transcript

    grown: list[Transcript] = []
    opened: list[OpenedSession] = []
    reader = SessionReader(remote, opened.append, grown.append)
    reader.start()
    reader.request(manager.list()[0])
    wait(lambda: len(grown) > 2)  # though nobody writes to the file
    assert {id(one) for one in grown} == {id(opened[0].transcript)}
    reader.forget()
    reader.stop()


def test_what_is_prepared_is_prepared_before_anything_is_opened(tmp_path: Path) -> None:
    home = ClaudeHome(tmp_path / "home")
    home.session("One")
    manager = manager_of(home, tmp_path)
    happened: list[str] = []
    reader = SessionReader(
        manager.open,
        lambda opened: happened.append("opened"),
        lambda transcript: None,
        lambda: happened.append("prepared"),
    )
    reader.request(manager.list()[0])
    reader.start()
    wait(lambda: len(happened) == 2)
    assert happened == ["prepared", "opened"]
    reader.stop()
