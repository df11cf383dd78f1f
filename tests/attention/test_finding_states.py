"""A search finds sessions by how they are now: in the library, on the command line, in whatever words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest
from pytest import CaptureFixture

from claude_lines import ClaudeHome
from hermes_tui.attention.report import AttentionReport
from hermes_tui.attention.states import StateName
from hermes_tui.cli.execute import execute
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.sessions.query.filters import ATTENDED
from hermes_tui.sessions.query.query import parse
from session_adapters.base import Environment
from session_adapters.model import SessionSummary


def found(text: str, **now: set[str]) -> list[str]:
    query = parse(text, now_in=lambda state: frozenset(f"claude:{one}" for one in now.get(state, ())))
    every = [SessionSummary(agent="claude", session_id=name, live=name == "c") for name in "abc"]
    return [one.session_id for one in every if query.finds(one, [])]


def test_states_can_be_combined_like_any_filter() -> None:
    assert found("is:waiting", waiting={"a"}) == ["a"]
    assert found("-is:waiting", waiting={"a"}) == ["b", "c"]
    assert found("is:waiting,stuck", waiting={"a"}, stuck={"b"}) == ["a", "b"]
    assert found("is:waiting,live", waiting={"a"}) == ["a", "c"]
    assert found("is:unread is:live", unread={"a", "c"}) == ["c"]
    assert found("is:w", waiting={"a"}, working={"b"}) == ["a", "b"], "a word that is begun"
    assert found("is:needs") == []


def test_it_is_asked_only_for_states_that_a_query_names() -> None:
    asked: list[str] = []
    parse("is:live docker", now_in=lambda state: asked.append(state) or frozenset())  # type: ignore[func-returns-value]
    assert asked == []
    assert not parse("is:live").asks_for_states
    assert parse("-(is:stuck agent:claude)").asks_for_states


def test_every_state_can_be_searched_for() -> None:
    assert set(get_args(StateName)) == set(ATTENDED) - {"needs", "waiting", "unread"}
    assert AttentionReport(unread={"claude:a": 0.0}).among("unread") == {"claude:a"}


@pytest.fixture
def waiting_home(tmp_path: Path) -> ClaudeHome:
    made = ClaudeHome(tmp_path / "home")
    made.process(made.session("remove it").stem, "waiting", waitingFor="permission prompt")
    made.session("draw totals")
    return made


def test_the_library_looks_for_itself(waiting_home: ClaudeHome) -> None:
    manager = SessionManager(Environment(home=waiting_home.home))
    assert [one.title for one in manager.search("is:waiting")] == ["remove it"]
    assert [one.title for one in manager.search("is:waiting totals")] == []
    manager.catalogue.close()


def test_the_command_line_finds_who_waits(waiting_home: ClaudeHome, capsysbinary: CaptureFixture[bytes]) -> None:
    assert execute(["--home", str(waiting_home.home), "sessions", "search", "is:waiting", "--json"]) == 0
    assert [one["title"] for one in json.loads(capsysbinary.readouterr().out)] == ["remove it"]
