"""Sessions to rows, without a screen."""

from __future__ import annotations

from datetime import date, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hermes_tui.clock import Clock
from hermes_tui.tui.widgets.session_list.conversation import Conversation, ListRow, project_of
from hermes_tui.tui.widgets.session_list.headings import Headings, day_heading
from hermes_tui.tui.widgets.session_list.rows import Forest
from made import NOW, ago, session
from session_adapters.model import EPOCH, Cost, SessionSummary, TokenUsage

CLOCK = Clock(NOW)


def shown(rows: list[ListRow]) -> list[str]:
    """Headings in brackets, guides and titles."""
    return [
        f"[{row.heading}]" if row.conversation is None else row.guide + row.conversation.tip.session_id
        for row in rows
    ]


def test_newest_first_under_days() -> None:
    sessions = [
        session("a", 5),
        session("b", 60 * 11),
        session("c", 60 * 13),
        session("d", 60 * 24 * 3),
        session("e", 60 * 24 * 5),
        session("f", 60 * 24 * 40),
        session("g", updated_at=EPOCH),
    ]
    expected = [
        "[today]",
        "a",
        "b",
        "[yesterday]",
        "c",
        "[this week]",
        "d",
        "[last week]",
        "e",
        "[October 2026]",
        "f",
    ]
    assert shown(Forest(reversed(sessions)).rows(CLOCK)) == [*expected, "[no date]", "g"]


def test_what_is_pinned_stands_above_the_days_with_what_it_hangs_on() -> None:
    sessions = [
        session("a", 5),
        session("old", 60 * 24 * 40, pinned=True),
        session("b", 60 * 11),
        session("fork", 60 * 12, kind="fork", parent_id="b", pinned=True),
    ]
    forest = Forest(sessions)
    assert shown(forest.rows(CLOCK)) == ["[pinned]", "b", "old", "[today]", "a"]
    assert shown(forest.rows(CLOCK, only={forest.roots[-1].key})) == ["[today]", "a"]
    names = [row.names for row in forest.rows(CLOCK) if row.conversation is None]
    assert names == [True, False]


def test_the_name_of_any_part_is_that_of_the_conversation() -> None:
    first = session("first", 60, title="Named", agent_title="First")
    later = session("later", 5, title="Later", kind="continuation", parent_id="first")
    assert Conversation([later, first]).title == "Named"
    renamed = session("later", 5, title="Named again", agent_title="", kind="continuation", parent_id="first")
    assert Conversation([renamed, first]).title == "Named again"


def test_a_day_begins_at_midnight_of_the_reader() -> None:
    sessions = [session("late", 60 * 13)]  # 23:00 of the day before in UTC
    tokyo = Clock(NOW, timezone(timedelta(hours=9)))
    assert shown(Forest(sessions).rows(CLOCK))[0] == "[yesterday]"
    assert shown(Forest(sessions).rows(tokyo))[0] == "[today]"


@pytest.mark.parametrize(
    ("day", "heading"),
    [
        (date(2026, 11, 20), "today"),  # a clock that runs ahead
        (date(2026, 11, 19), "today"),
        (date(2026, 11, 18), "yesterday"),
        (date(2026, 11, 17), "this week"),
        (date(2026, 11, 16), "this week"),
        (date(2026, 11, 15), "last week"),
        (date(2026, 11, 9), "last week"),
        (date(2026, 11, 8), "November 2026"),
        (date(2025, 12, 31), "December 2025"),
    ],
)
def test_headings(day: date, heading: str) -> None:
    assert day_heading(day, date(2026, 11, 19)) == heading


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Pacific/Auckland"])
def test_headings_of_moments_are_those_of_their_days(zone: str) -> None:
    """They are worked out for a whole month at once, in which clocks may be changed."""
    clock = Clock(NOW, ZoneInfo(zone))
    today = clock.local(NOW).date()
    headings = Headings(clock)
    for hours in range(500 * 24):
        moment = NOW - timedelta(minutes=30, hours=hours)
        assert headings.of(moment) == day_heading(clock.local(moment).date(), today), moment


def test_continuations_are_one_row_that_shows_the_tip() -> None:
    first = session("1", 300, turn_count=3, cost=Cost(total_usd=1.0), tokens=TokenUsage(input_tokens=10))
    second = session("2", 200, kind="continuation", parent_id="1", turn_count=4, cost=Cost(total_usd=0.5))
    third = session("3", 100, kind="continuation", parent_id="2", title="", tokens=TokenUsage(output_tokens=5))
    forest = Forest([third, first, second])
    (heading, row) = forest.rows(CLOCK)
    conversation = row.conversation
    assert conversation is not None
    assert heading.heading == "today"
    assert conversation.tip.session_id == "3"
    assert [part.session_id for part in conversation.parts] == ["1", "2", "3"]
    assert conversation.title == "Title of 2"
    assert conversation.turns == 8
    assert conversation.cost == Cost(total_usd=1.5, estimated=True)  # one part is not known
    assert conversation.tokens == TokenUsage(input_tokens=10, output_tokens=5)
    assert conversation.key == "claude:1"
    assert row.unfolded is None
    assert forest.by_session["claude:2"] is conversation


def test_a_continuation_whose_middle_is_lost_is_joined_by_its_lineage() -> None:
    first = session("1", 300)
    third = session("3", 100, kind="continuation", parent_id="2", lineage_id="1")
    rows = Forest([first, third]).rows(CLOCK)
    assert shown(rows) == ["[today]", "3"]


def test_the_same_id_of_two_agents_is_two_sessions() -> None:
    first = session("1", 300)
    other = session("2", 100, agent="hermes", kind="continuation", parent_id="1")
    assert shown(Forest([first, other]).rows(CLOCK)) == ["[today]", "2", "1"]


def test_forks_and_helpers_are_folded_below_and_count_as_activity() -> None:
    root = session("root", 60 * 24 * 2)
    fork = session("fork", 60, kind="fork", parent_id="root")
    helper = session("helper", 10, kind="subagent", parent_id="fork")
    older = session("older", 60 * 24, kind="subagent", parent_id="root")
    lost = session("lost", 20, kind="fork", parent_id="not there")
    forest = Forest([older, helper, root, fork, lost])
    assert shown(forest.rows(CLOCK)) == ["[today]", "root", "lost"]
    assert shown(forest.rows(CLOCK, {"claude:root"})) == ["[today]", "root", "├ fork", "└ older", "lost"]
    unfolded = forest.rows(CLOCK, {"claude:root", "claude:fork"})
    assert shown(unfolded) == ["[today]", "root", "├ fork", "│ └ helper", "└ older", "lost"]
    assert [row.unfolded for row in unfolded] == [None, True, True, None, None, None]
    assert forest.roots[0].activity == ago(10)


def test_a_fork_of_a_later_part_hangs_under_the_conversation() -> None:
    sessions = [
        session("1", 300),
        session("2", 200, kind="continuation", parent_id="1"),
        session("f", 100, kind="fork", parent_id="2"),
    ]
    assert shown(Forest(sessions).rows(CLOCK, {"claude:1"})) == ["[today]", "2", "└ f"]


def test_filter_shows_matches_and_the_way_to_them() -> None:
    sessions = [
        session("root", 100, title="Flaky login", cwd="/home/dev/shop"),
        session("kid", 50, kind="fork", parent_id="root", title="With a fake CLOCK"),
        session("kid2", 50, kind="fork", parent_id="root", title="Something else"),
        session("other", 10, title="Clockwork", agent="hermes"),
        session("third", 20, title="Nothing"),
    ]
    forest = Forest(sessions)
    way = forest.way_to({"claude:kid", "hermes:other", "claude:absent"})
    assert way == {"claude:root", "claude:kid", "hermes:other"}
    assert shown(forest.rows(CLOCK, {"claude:root"}, way)) == ["[today]", "other", "root", "└ kid"]
    folded = forest.rows(CLOCK, (), way)
    assert shown(folded) == ["[today]", "other", "root"] and folded[2].unfolded is False
    alone = forest.rows(CLOCK, {"claude:root"}, forest.way_to({"claude:root"}))
    assert shown(alone) == ["[today]", "root"] and alone[1].unfolded is None
    assert forest.rows(CLOCK, only=forest.way_to(())) == []


def test_names_are_found_by_accent_as_typed() -> None:
    forest = Forest([session("a", title="ÜBERGRÖSSE"), session("b", title="Ubergrosse")])
    assert [one.key for one in forest.containing(["über"])] == ["claude:a"]


def test_circles_in_a_damaged_store_end() -> None:
    sessions = [
        session("a", kind="continuation", parent_id="b"),
        session("b", kind="continuation", parent_id="a"),
        session("c", kind="fork", parent_id="d"),
        session("d", kind="fork", parent_id="c"),
        session("e", kind="fork", parent_id="e"),
    ]
    forest = Forest(sessions)
    rows = forest.rows(CLOCK, {one.key for one in forest.by_session.values()})
    found = [part.session_id for row in rows if row.conversation for part in row.conversation.parts]
    assert sorted(found) == ["a", "b", "c", "d", "e"]


_IDS = st.sampled_from("abcdefgh")


_SESSIONS = st.lists(
    st.builds(
        lambda name, minutes, kind, parent: session(name, minutes, kind=kind, parent_id=parent),
        _IDS,
        st.integers(0, 100_000),
        st.sampled_from(["session", "fork", "continuation", "subagent"]),
        st.one_of(st.none(), _IDS),
    ),
    max_size=12,
)


@given(_SESSIONS)
def test_every_session_is_in_exactly_one_row(sessions: list[SessionSummary]) -> None:
    forest = Forest(sessions)
    rows = forest.rows(CLOCK, {one.key for one in forest.by_session.values()})
    found = [part.unified_id for row in rows if row.conversation for part in row.conversation.parts]
    assert sorted(found) == sorted({one.unified_id for one in sessions})
    keys = [row.key for row in rows if row.conversation]
    assert len(keys) == len(set(keys))


def told(forest: Forest) -> object:
    """All that a forest says of its conversations."""
    every = {one.key for one in forest.by_session.values()}
    return (
        [(row.heading, row.key, row.guide, row.unfolded) for row in forest.rows(CLOCK, every)],
        [(one.key, one.parts, one.activity, one.pinned, one.haystack) for one in forest.newest],
        {key: one.key for key, one in forest.above.items()},
    )


@given(_SESSIONS, st.lists(_SESSIONS, min_size=1, max_size=4))
def test_a_forest_after_another_is_what_it_is_by_itself(
    first: list[SessionSummary], steps: list[list[SessionSummary]]
) -> None:
    """And the one before stays as it was: the screen may show it still."""
    held = {one.unified_id: one for one in first}
    forest = Forest(held.values())
    for step in steps:
        held.update((one.unified_id, one) for one in step)
        before, said = forest, told(forest)
        forest = Forest(held.values(), before).prepare()
        assert told(forest) == told(Forest(held.values()))
        assert told(before) == said


_GROWN = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 100_000), st.booleans(), st.booleans()), max_size=4)


@given(_SESSIONS, st.lists(_GROWN, min_size=1, max_size=4))
def test_a_forest_of_sessions_that_grew_is_what_it_is_by_itself(
    first: list[SessionSummary], steps: list[list[tuple[int, int, bool, bool]]]
) -> None:
    """In time, in name, pinned, with a process; related as they were."""
    held = {one.unified_id: one for one in first}
    forest = Forest(held.values()).prepare()
    for step in steps:
        for number, minutes, pinned, live in step:
            if number < len(held):
                name = list(held)[number]
                now = {"updated_at": ago(minutes), "title": f"after {minutes}", "pinned": pinned, "live": live}
                held[name] = replace(held[name], **now)
        before, said = forest, told(forest)
        newest_first = sorted(held.values(), key=lambda one: one.updated_at, reverse=True)
        forest = Forest(newest_first, before).prepare()
        if no_circle(held):  # where one is cut depends on the order in which they come
            assert told(forest) == told(Forest(newest_first))
        assert told(before) == said


def no_circle(held: dict[str, SessionSummary]) -> bool:
    for one in held.values():
        seen = {one.session_id}
        at: SessionSummary | None = one
        while at is not None and at.parent_id is not None:
            if at.parent_id in seen:
                return False
            seen.add(at.parent_id)
            at = held.get(f"{at.agent}:{at.parent_id}")
    return True


def test_of_a_thousand_conversations_those_that_did_not_change_are_the_same_still() -> None:
    sessions = [session(f"s{number}", number) for number in range(1000)]
    before = Forest(sessions).prepare()
    forest = Forest([session("s7", 0), session("f", 1, kind="fork", parent_id="s8"), *sessions[8:]], before)
    new = [name for name, one in forest.by_session.items() if one is not before.by_session.get(name)]
    assert sorted(new) == ["claude:f", "claude:s7", "claude:s8"]


def test_a_deep_chain_of_forks_needs_no_recursion() -> None:
    sessions = [session("0")] + [session(str(n), kind="fork", parent_id=str(n - 1)) for n in range(1, 3000)]
    forest = Forest(sessions)
    assert len(forest.rows(CLOCK, {one.key for one in forest.by_session.values()})) == 3001
    assert len(forest.way_to({"claude:2999"})) == 3000


def test_project() -> None:
    assert project_of(session("a", cwd="/home/dev/shop/")) == "shop"
    assert project_of(session("a", cwd="/")) == ""
    assert project_of(session("a")) == ""


def test_one_part_costs_what_it_costs() -> None:
    assert Conversation([session("a", cost=Cost(total_usd=0.2))]).cost == Cost(total_usd=0.2)
    assert Conversation([session("a")]).cost is None
