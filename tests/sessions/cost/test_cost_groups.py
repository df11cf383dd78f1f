"""What was spent by git branch and by lane."""

from __future__ import annotations

from datetime import date

import pytest

from hermes_tui.sessions.cost.overview import overview
from hermes_tui.sessions.cost.report import NO_LANE, CostOptions, total_cost
from hermes_tui.sessions.cost.summary import SpendRow, SpendSummary
from session_adapters.model import SessionSummary

LANE = "agent:main:telegram:group:-100:alice"


def spent(unified_id: str, usd: float, day: str = "2026-03-01") -> SpendRow:
    return SpendRow(unified_id, "some-model", day, day, 1, 10, 1, 0, 0, 0, usd)


SESSIONS = [
    SessionSummary(agent="claude", session_id="a", cwd="/x/shop", git_branch="main"),
    SessionSummary(agent="claude", session_id="b", cwd="/x/blog", git_branch="main"),
    SessionSummary(agent="codex", session_id="c", cwd="/x/shop", git_branch="main"),
    SessionSummary(agent="hermes", session_id="d", raw={"session_key": LANE}),
    SessionSummary(agent="hermes", session_id="e", raw={"session_key": LANE}),
]
SHEET = SpendSummary(
    rows=(
        spent("claude:a", 1.0),
        spent("claude:b", 2.0),
        spent("codex:c", 4.0),
        spent("hermes:d", 8.0),
        spent("hermes:e", 16.0, "2026-01-01"),
    )
)


def by(group: str) -> dict[str, float]:
    found = total_cost(SHEET, SESSIONS, CostOptions(group_by=group)).breakdowns or {}  # type: ignore[arg-type]
    return {key: one.total_usd for key, one in found.items()}


def test_a_branch_is_one_of_a_project_and_a_lane_has_all_its_sessions() -> None:
    assert by("branch") == {"no branch": 24.0, "/x/shop main": 5.0, "/x/blog main": 2.0}
    assert by("lane") == {LANE: 24.0, NO_LANE: 7.0}


def test_a_conversation_has_its_parts_and_their_sub_agents() -> None:
    sessions = [
        SessionSummary(agent="claude", session_id="a"),
        SessionSummary(agent="claude", session_id="a2", kind="continuation", parent_id="a"),
        SessionSummary(agent="claude", session_id="h", kind="subagent", parent_id="a2"),
        SessionSummary(agent="claude", session_id="h2", kind="subagent", parent_id="h"),
        SessionSummary(agent="claude", session_id="f", kind="fork", parent_id="a"),
        SessionSummary(agent="claude", session_id="lost", kind="subagent", parent_id="nowhere"),
        SessionSummary(agent="claude", session_id="x", kind="subagent", parent_id="y"),
        SessionSummary(agent="claude", session_id="y", kind="subagent", parent_id="x"),
    ]
    amounts = {one.unified_id: 2.0**at for at, one in enumerate(sessions)}
    sheet = SpendSummary(rows=tuple(spent(name, usd) for name, usd in amounts.items()))
    found = total_cost(sheet, sessions, CostOptions(group_by="conversation")).breakdowns or {}
    assert found["claude:a"].total_usd == 1 + 2 + 4 + 8 and found["claude:a"].session_count == 4
    assert found["claude:f"].total_usd == 16 and found["claude:lost"].total_usd == 32
    assert sum(one.total_usd for one in found.values()) == 255  # those that name each other too
    ranked = overview(sheet, sessions, date(2026, 3, 1), "all time").ranks["session"]
    assert {rank.key: rank.figure.usd for rank in ranked} == {key: one.total_usd for key, one in found.items()}


def test_they_are_ranked_for_the_days_that_are_asked_for() -> None:
    found = overview(SHEET, SESSIONS, date(2026, 3, 1), "30 days")
    assert [(rank.label, rank.figure.usd) for rank in found.ranks["branch"]] == [
        ("shop · main", 5.0),
        ("blog · main", 2.0),
    ]
    assert [(rank.key, rank.figure.usd, rank.sessions[:1]) for rank in found.ranks["lane"]] == [
        (LANE, 8.0, ("hermes:d",))
    ]
    whole = overview(SHEET, SESSIONS, date(2026, 3, 1), "all time")
    assert whole.ranks["lane"][0].figure.usd == pytest.approx(24.0)
    assert whole.days[0][0] == date(2026, 1, 1) and whole.spent.usd == pytest.approx(31.0)
