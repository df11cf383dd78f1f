"""When a lane resets: Hermes' decisions, the moments that follow from them, and the words for both."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.errors import EntryError
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.local_times import wall
from hermes_tui.lifecycle.policy import (
    NextReset,
    SessionResetPolicy,
    duration_words,
    next_reset,
    policy_words,
    reset_reason,
    reset_words,
    should_reset,
)
from lifecycle.samples import NOON, policies, record
from lifecycle.zones import RULES, jumps, zone_of
from oracle.hermes import Oracle

TICK = timedelta(microseconds=1)

zoned = examples(25)
spans = st.sampled_from((0, 1, 59, 60, 1800, 3599, 3600, 5400, 86399, 86400)).flatmap(
    lambda seconds: st.sampled_from((seconds, seconds + 1e-6, seconds * 3))
) | st.floats(0, 300_000)


@pytest.fixture(scope="module", params=list(RULES))
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Oracle]]:
    """A rule for the clocks, and the real Hermes where it holds."""
    rule = RULES[request.param]
    with Oracle(tmp_path_factory.mktemp("zone"), zone=rule) as hermes:
        yield rule, hermes


def around(rule: str) -> st.SearchStrategy[datetime]:
    """Instants within two days of a change of clocks, on the hour more often than not."""
    minutes = st.integers(-48, 48).map(lambda hours: hours * 60) | st.integers(-2880, 2880)
    return st.builds(
        lambda jump, away: jump + timedelta(minutes=away), st.sampled_from(jumps(zone_of(rule))), minutes
    )


@zoned
@given(data=st.data(), policy=policies(), span=spans, busy=st.booleans())
def test_decisions_are_those_of_hermes(
    place: tuple[str, Oracle], data: st.DataObject, policy: dict[str, Any], span: float, busy: bool
) -> None:
    rule, hermes = place
    updated = data.draw(around(rule))
    now = updated + timedelta(seconds=span)
    shown = wall(updated, zone_of(rule))
    ours = should_reset(shown, SessionResetPolicy(**policy), wall(now, zone_of(rule)), busy)
    assert hermes.policy(record(shown), policy, now, busy) == (ours, ours is not None)


@zoned
@given(data=st.data(), policy=policies(), span=spans)
def test_the_next_reset_is_the_first_moment_at_which_hermes_resets(
    place: tuple[str, Oracle], data: st.DataObject, policy: dict[str, Any], span: float
) -> None:
    rule, hermes = place
    zone = zone_of(rule)
    updated = data.draw(around(rule))
    now = updated + timedelta(seconds=span)
    entry = record(wall(updated, zone))
    coming = next_reset(SessionEntry.from_dict(entry), SessionResetPolicy(**policy), now, zone)

    def hermes_says(moment: datetime) -> str | None:
        return hermes.policy(entry, policy, moment)[0]

    assert coming.due == (hermes_says(now) is not None)
    if coming.at is None:
        assert [hermes_says(now + timedelta(hours=hours)) for hours in (1, 24, 48, 1000)] == [None] * 4
        return
    assert hermes_says(coming.at) == coming.reason
    if not coming.due:
        assert coming.at > now
        steps = [now + (coming.at - TICK - now) * part / 12 for part in range(13)]
        assert [hermes_says(step) for step in steps] == [None] * 13


@pytest.mark.parametrize("mode", ["none", "idle", "daily", "both", "weekly"])
def test_what_a_message_meets(tmp_path: Path, mode: str) -> None:
    """Messages to a real store at every boundary: the reason it gives for a new conversation is the one foretold."""
    policy: dict[str, Any] = {"mode": mode, "at_hour": 14, "idle_minutes": 90}
    flags = ("", "suspended", "pending at once", "pending later")
    minutes = (0, 30, 60, 60 + 1e-7, 80, 81, 90, 90 + 1e-7, 120, 121, 1500)
    with Oracle(tmp_path / "home") as hermes:
        hermes.open(policy=policy, now=NOON)
        for number, (flag, after) in enumerate(product(flags, minutes)):
            source = {"platform": "telegram", "chat_id": str(number)}
            hermes.now(NOON)
            first = hermes.get(source)
            if flag == "suspended":
                hermes.store("suspend_session", first["session_key"])
            elif flag:
                hermes.now(NOON + timedelta(minutes=20 if flag == "pending later" else 0))
                hermes.store("mark_resume_pending", first["session_key"], "restart_timeout")
            kept = SessionEntry.from_dict(hermes.dump()["routing"][first["session_key"]])
            later = NOON + timedelta(minutes=after)
            foretold = reset_reason(kept, SessionResetPolicy(**policy), later)
            hermes.now(later)
            met = hermes.get(source)
            assert met["auto_reset_reason"] == foretold
            assert (met["session_id"] != first["session_id"]) == (foretold is not None)


@given(
    policy=policies(),
    age=st.integers(0, 6000),
    marked=st.none() | st.integers(0, 6000),
    suspended=st.booleans(),
    freshness=st.sampled_from((-1.0, 0.0, 60.0, 3600.0)),
)
def test_the_moment_agrees_with_the_decision(
    policy: dict[str, Any], age: int, marked: int | None, suspended: bool, freshness: float
) -> None:
    """Marks and suspension too: at the moment the decision is that reason, a tick earlier it is none."""
    updated = NOON - timedelta(minutes=age)
    members: dict[str, Any] = {"suspended": suspended, "resume_pending": marked is not None}
    if marked is not None:
        members["last_resume_marked_at"] = (NOON - timedelta(minutes=marked)).isoformat()
    entry, rules = SessionEntry.from_dict(record(updated, **members)), SessionResetPolicy(**policy)
    coming = next_reset(entry, rules, NOON.replace(tzinfo=UTC), UTC, freshness=freshness)
    decided = reset_reason(entry, rules, NOON, freshness=freshness)
    assert coming.due == (decided is not None)
    if coming.at is None:
        assert reset_reason(entry, rules, NOON + timedelta(days=9999), freshness=freshness) is None
        return
    assert reset_reason(entry, rules, wall(coming.at, UTC), freshness=freshness) == coming.reason
    assume(not coming.due)
    assert reset_reason(entry, rules, wall(coming.at - TICK, UTC), freshness=freshness) is None


def coming(**policy: Any) -> str:
    """The words at noon for a lane that was active at 11:00 UTC."""
    members = policy.pop("members", {})
    busy, brief = policy.pop("busy", False), policy.pop("brief", False)
    now = NOON.replace(tzinfo=UTC)
    entry = SessionEntry.from_dict(record(NOON - timedelta(hours=1), **members))
    return reset_words(next_reset(entry, SessionResetPolicy(**policy), now, UTC, busy), now, brief=brief)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"mode": "none"}, "never"),
        ({"mode": "weekly"}, "never"),
        ({"mode": "daily", "at_hour": 4}, "daily at 04:00, in 16 h"),
        ({"mode": "daily", "at_hour": 15}, "daily at 15:00, in 3 h"),
        ({"mode": "idle", "idle_minutes": 101}, "idle, in 41 min"),
        ({"mode": "idle", "idle_minutes": 252}, "idle, in 3 h 12 min"),
        ({"mode": "idle", "idle_minutes": 10080}, "idle, in 6 d 23 h"),
        ({"mode": "idle", "idle_minutes": 60}, "idle, in 1 min"),
        ({"mode": "both", "at_hour": 13, "idle_minutes": 90}, "idle, in 30 min"),
        ({"mode": "both", "at_hour": 13, "idle_minutes": 120}, "daily at 13:00, in 1 h"),
        ({"mode": "idle", "idle_minutes": 30}, "idle, at the next message"),
        ({"mode": "daily", "at_hour": 12}, "daily at 12:00, at the next message"),
        ({"mode": "idle", "idle_minutes": 30, "busy": True}, "idle, once its processes have ended"),
        ({"mode": "none", "members": {"suspended": True}}, "suspended, at the next message"),
        ({"mode": "daily", "members": {"resume_pending": True}}, "resume mark expires, in 1 min"),
        ({"mode": "none", "members": {"resume_pending": True}}, "never"),
        ({"mode": "idle", "idle_minutes": 10**14}, "never"),
    ],
)
def test_words(policy: dict[str, Any], words: str) -> None:
    assert coming(**policy) == words


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"mode": "none"}, "never"),
        ({"mode": "daily", "at_hour": 4}, "daily 04:00, in 16 h"),
        ({"mode": "idle", "idle_minutes": 252}, "idle, in 3 h 12 min"),
        ({"mode": "idle", "idle_minutes": 30}, "at the next message"),
        ({"mode": "idle", "idle_minutes": 30, "busy": True}, "once its processes end"),
        ({"mode": "none", "members": {"suspended": True}}, "at the next message"),
        ({"mode": "daily", "members": {"resume_pending": True}}, "mark expires, in 1 min"),
    ],
)
def test_words_for_a_column(policy: dict[str, Any], words: str) -> None:
    assert coming(**policy, brief=True) == words


@given(policy=policies(), minutes=st.integers(-5000, 5000), pending=st.booleans())
def test_words_for_a_column_fit_and_say_the_same(policy: dict[str, Any], minutes: int, pending: bool) -> None:
    now = NOON.replace(tzinfo=UTC)
    entry = SessionEntry.from_dict(record(NOON - timedelta(minutes=minutes), resume_pending=pending))
    found = next_reset(entry, SessionResetPolicy(**policy), now, UTC)
    brief, long = (reset_words(found, now, brief=one) for one in (True, False))
    assert len(brief) <= 28
    assert brief.rpartition(", ")[2] == long.rpartition(", ")[2]


def test_a_clock_that_passes_two_boundaries_at_once() -> None:
    """In Cairo midnight is left out in April: at one o'clock both are due, and idleness is then the reason."""
    cairo, hour = zone_of(RULES["Cairo, from and to midnight"]), timedelta(hours=1)
    now = datetime(2026, 4, 23, 21, tzinfo=UTC)
    entry = SessionEntry.from_dict(record(wall(now, cairo)))
    found = next_reset(entry, SessionResetPolicy(mode="both", at_hour=0, idle_minutes=60), now, cairo)
    assert (found.reason, found.at, wall(now + hour, cairo).hour) == ("idle", now + hour, 1)


def test_words_for_a_screen_that_looks_later_than_it_asked() -> None:
    now = NOON.replace(tzinfo=UTC)
    assert reset_words(NextReset(reason="idle", at=now), now + TICK) == "idle, at the next message"
    assert reset_words(NextReset(), now) == "never"


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({}, "never"),
        ({"mode": "daily"}, "daily at 04:00"),
        ({"mode": "idle", "idle_minutes": 720}, "after 12 h idle"),
        ({"mode": "both"}, "daily at 04:00 or after 1 d idle"),
    ],
)
def test_words_of_a_policy(policy: dict[str, Any], words: str) -> None:
    assert policy_words(SessionResetPolicy(**policy)) == words


def test_durations() -> None:
    spans = {0: "1 min", 59: "1 min", 61: "2 min", 3600: "1 h", 3660: "1 h 1 min", 86399: "1 d", 90000: "1 d 1 h"}
    assert {seconds: duration_words(timedelta(seconds=seconds)) for seconds in spans} == spans


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mode": "weekly"}, "session_reset.mode is 'weekly', not one of none, idle, daily, both"),
        ({"mode": ["idle"]}, "session_reset.mode is"),
        ({"at_hour": 24}, "session_reset.at_hour is 24, not a whole hour from 0 to 23"),
        ({"at_hour": "4"}, "session_reset.at_hour is '4'"),
        ({"at_hour": True}, "session_reset.at_hour is True"),
        ({"idle_minutes": 0}, "session_reset.idle_minutes is 0, not a number of minutes above 0"),
        ({"idle_minutes": float("nan")}, "session_reset.idle_minutes is nan"),
        ({"notify": "loud"}, 'session_reset.notify is "loud", not true or false'),
        ({"notify_exclude_platforms": "sms"}, "session_reset.notify_exclude_platforms is not a list of platforms"),
        ({"bg_process_max_age_hours": -1}, "session_reset.bg_process_max_age_hours is -1"),
        ("both", "session_reset is a text, not an object"),
    ],
)
def test_a_wrong_policy_is_told(settings: Any, said: str) -> None:
    with pytest.raises(EntryError) as told:
        SessionResetPolicy.from_dict(settings, "session_reset.")
    assert str(told.value).startswith(said)
