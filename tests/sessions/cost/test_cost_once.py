"""One rule for all agents: what the sessions of a list used is what the report says, each model call once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.demo.home import environment_of, prepare, write_home
from hermes_tui.sessions.manager import SessionManager
from long_stores import long_store
from pi_lines import answered, asked, entry, write_pi
from plain_spent import FIGURES, READERS
from session_adapters.base import Environment
from session_adapters.model import SessionSummary
from support import STORES

HOMES = sorted(
    path.relative_to(STORES)
    for agent in sorted(READERS)
    for path in (STORES / agent).rglob("home*")
    if path.is_dir() and not any(parent.name.startswith("home") for parent in path.relative_to(STORES).parents)
)


def used(one: Any) -> tuple[int, ...]:
    return tuple(getattr(one, name) for name in FIGURES)


def tokens(session: SessionSummary) -> tuple[int, ...]:
    return used(session.tokens) if session.tokens is not None else (0, 0, 0, 0)


def dollars(session: SessionSummary) -> float:
    return session.cost.total_usd if session.cost is not None else 0.0


def listed(manager: SessionManager) -> list[SessionSummary]:
    """Every session, read in full."""
    manager.catalogue.complete(lambda: False)
    return manager.list(limit=None)


def check(manager: SessionManager) -> None:
    """List, `show` and report say the same of every session, and the report is the sum of the list."""
    report = manager.total_cost(group_by="session")
    groups = report.breakdowns or {}
    rows = listed(manager)
    for row in rows:
        whole = manager.get(row.agent, row.session_id)
        group = groups[row.unified_id]
        assert tokens(row) == tokens(whole) == used(group), row.unified_id
        assert dollars(row) == pytest.approx(dollars(whole), abs=1e-9), row.unified_id
        assert dollars(row) == pytest.approx(group.total_usd, abs=1e-9), row.unified_id
    assert groups.keys() == {row.unified_id for row in rows}
    assert used(report) == tuple(map(sum, zip(*map(tokens, rows), strict=True)))
    assert report.total_usd == pytest.approx(sum(map(dollars, rows)), abs=1e-9)


@pytest.mark.parametrize("relative", HOMES, ids=str)
def test_the_report_has_every_call_of_a_store_once(relative: Path, tmp_path: Path) -> None:
    home = STORES / relative
    report = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", prices={}).total_cost()
    assert used(report) == READERS[relative.parts[0]](home, tmp_path / "copy")


@pytest.mark.parametrize("relative", HOMES, ids=str)
def test_a_list_adds_up_to_the_report(relative: Path, tmp_path: Path) -> None:
    check(SessionManager(Environment(home=STORES / relative), cache_dir=tmp_path / "cache", prices={}))


@pytest.mark.parametrize("relative", HOMES, ids=str)
def test_long_stores_are_counted_in_full(relative: Path, tmp_path: Path) -> None:
    """The ends of a long file are not all of it."""
    agent = relative.parts[0]
    home = long_store(agent, str(relative.relative_to(agent)), tmp_path / "long").home
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", prices={})
    check(manager)
    # What was added to Codex' rollouts spent nothing, and who read those read the short ones.
    read = STORES / relative if agent == "codex" else home
    assert used(manager.total_cost()) == READERS[agent](read, tmp_path / "copy")


def test_the_list_of_the_demo_adds_up_to_its_report(tmp_path: Path) -> None:
    home = tmp_path / "home"
    prepare(home)
    write_home(home, datetime(2026, 11, 21, 10, 34, tzinfo=UTC))
    check(SessionManager(environment_of(home), cache_dir=tmp_path / "cache", prices={}))


# Keys -----------------------------------------------------------------------------------------------------------

SAID = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi", "model": "gpt-4o"}]
SPENT = {"inputTokens": 10, "outputTokens": 2}


def copilot_document(home: Path, name: str) -> None:
    path = home / ".config/github-copilot/sessions" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([SAID[0], {**SAID[1], "usage": SPENT}]))


def gemini_document(home: Path, name: str) -> None:
    path = home / ".gemini/sessions" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    reply = {**SAID[1], "role": "model", "usage": {"promptTokenCount": 10, "candidatesTokenCount": 2}}
    path.write_text("".join(json.dumps(one) + "\n" for one in (SAID[0], reply)))


def openclaw_document(home: Path, name: str) -> None:
    path = home / ".openclaw/sessions/cli" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"id": name, "messages": [SAID[0], {**SAID[1], "usage": SPENT}]}))


def pi_document(home: Path, name: str) -> None:
    path = home / ".pi/agent/sessions" / name / "session.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    reply = {**SAID[1], "id": "2", "parentId": "1", "usage": SPENT, "timestamp": "2026-01-01T00:00:00Z"}
    path.write_text("".join(json.dumps(one) + "\n" for one in ({**SAID[0], "id": "1"}, reply)))


@pytest.mark.parametrize("write", [copilot_document, gemini_document, openclaw_document, pi_document])
def test_calls_that_look_alike_are_two(write: Callable[[Path, str], None], tmp_path: Path) -> None:
    """The documents' layouts have no ids: the same place in two files is not the same call."""
    home = tmp_path / "home"
    write(home, "one")
    write(home, "two")
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", prices={})
    assert used(manager.total_cost()) == (20, 4, 0, 0)
    check(manager)


# Trees ----------------------------------------------------------------------------------------------------------


def manager_of(home: Path) -> SessionManager:
    return SessionManager(Environment(home=home), cache_dir=home.parent / "cache", prices={})


BRANCHED = (
    asked(1, None),
    answered(2, 1, "gpt-5"),
    asked(3, 2),
    answered(4, 3, "gpt-5"),
    entry(5, 4, type="usage", kind="cache_warm", model="gpt-5", usage={"input": 1000, "output": 0}),
    asked(6, 2),
    answered(7, 6, "gpt-5"),
)
"""Two branches, and a call that is no message; no dollars are recorded, so that they are estimated."""


def test_branches_that_were_left_were_paid_for(tmp_path: Path) -> None:
    write_pi(tmp_path / "home", "one", *BRANCHED)
    manager = manager_of(tmp_path / "home")
    assert used(manager.total_cost()) == (1013, 3, 0, 0)
    (row,) = listed(manager)
    assert dollars(row) == pytest.approx((1013 * 1.25 + 3 * 10) / 1e6)
    check(manager)


def test_a_fork_is_charged_with_its_own_calls_alone(tmp_path: Path) -> None:
    """What it copied stands in the report for the session that spent it, also when that is gone."""
    home = tmp_path / "home"
    origin = write_pi(home, "origin", *BRANCHED)
    own = (asked(31, 7), answered(32, 31, "gpt-5"))
    later = "2026-01-01T10:00:30.000Z"
    write_pi(home, "fork", *BRANCHED, *own, timestamp=later, parentSession=str(origin))
    manager = manager_of(home)
    check(manager)
    assert {row.session_id: tokens(row)[0] for row in listed(manager)} == {"origin": 1013, "fork": 32}
    origin.unlink()
    report = manager.total_cost(group_by="session")
    assert {key: one.input_tokens for key, one in (report.breakdowns or {}).items()} == {
        "pi:origin": 1013,
        "pi:fork": 32,
    }
    assert report.session_count == 1
    assert [tokens(row)[0] for row in listed(manager) if not row.gone] == [32]


def test_two_sessions_that_were_given_one_id(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_pi(home, "same", asked(1, None), answered(2, 1))
    later = {"timestamp": "2026-01-01T10:00:01.000Z", "cwd": "/opt"}
    other = write_pi(home, "same", asked(3, None), answered(4, 3), folder="--opt--", **later)
    other.rename(other.with_name("2026-01-01T10-00-01-000Z_same.jsonl"))
    manager = manager_of(home)
    assert used(manager.total_cost())[0] == 6
    assert tokens(manager.get("pi", "same"))[0] == 2
    check(manager)


def test_a_copy_of_a_file_counts_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    path = write_pi(home, "one", *BRANCHED)
    shutil.copy(path, path.parent.parent / "copy.jsonl")
    manager = manager_of(home)
    assert used(manager.total_cost())[0] == 1013
    check(manager)


# Claude's document layout ---------------------------------------------------------------------------------------


def test_what_cost_events_tell_is_in_every_total(tmp_path: Path) -> None:
    """Also one that comes before the first reply."""
    path = tmp_path / "home/.claude/projects/-srv/one.jsonl"
    path.parent.mkdir(parents=True)
    cost = {"type": "cost", "totalUsd": 0.5, "inputTokens": 7, "outputTokens": 3, "cachedTokens": 2}
    records = (
        {"type": "session", "sessionId": "one", "cwd": "/srv", "timestamp": "2025-03-01T10:00:00Z"},
        {"type": "user", "role": "user", "content": "hello", "timestamp": "2025-03-01T10:00:01Z"},
        cost,
        {"type": "assistant", "role": "assistant", "content": "hi", "timestamp": "2025-03-01T10:00:02Z"},
        cost,
    )
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    manager = manager_of(tmp_path / "home")
    report = manager.total_cost()
    assert used(report) == (14, 6, 4, 0)
    assert report.total_usd == pytest.approx(1.0)
    check(manager)
