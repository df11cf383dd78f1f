"""The order of the list: every field, both ways, under every kind of heading."""

from __future__ import annotations

import time

import pytest

from hermes_tui.clock import Clock
from hermes_tui.tui.widgets.session_list.conversation import ListRow
from hermes_tui.tui.widgets.session_list.order import FIELDS, GROUPINGS, Field, Grouping, Order
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from made import NOW, many, session
from session_adapters.model import Cost, TokenUsage

CLOCK = Clock(NOW)
DAY = 60 * 24
SESSIONS = [
    session("new", 5, cwd="/x/shop", turn_count=3, cost=Cost(total_usd=0.5), size=10),
    session("dear", DAY, cwd="/x/Blog", turn_count=1, cost=Cost(total_usd=9.0), agent="codex", size=500),
    session("long", DAY + 5, cwd="/y/shop", turn_count=80, tokens=TokenUsage(input_tokens=900), size=20),
    session("bare", DAY * 40, agent="pi", turn_count=2, tokens=TokenUsage(input_tokens=7)),
]


def rows(order: Order, **more: object) -> list[ListRow]:
    return Forest(SESSIONS).rows(CLOCK, order=order, **more)  # type: ignore[arg-type]


def ids(found: list[ListRow]) -> list[str]:
    return [row.conversation.tip.session_id for row in found if row.conversation is not None]


def headings(found: list[ListRow]) -> list[str]:
    return [row.heading for row in found if row.conversation is None]


@pytest.mark.parametrize(
    ("field", "expected", "opposite"),
    [
        ("time", "new dear long bare", "bare long dear new"),
        ("cost", "dear new long bare", "new dear long bare"),
        ("tokens", "long bare new dear", "bare long new dear"),
        ("turns", "long new bare dear", "dear bare new long"),
        ("project", "dear new long bare", "new long dear bare"),
        ("agent", "new long dear bare", "bare dear new long"),
        ("size", "dear long new bare", "new long dear bare"),
    ],
)
def test_sorted_both_ways_with_the_unknown_last_and_equals_newest_first(
    field: Field, expected: str, opposite: str
) -> None:
    order = Order(field, group="none")
    assert ids(rows(order)) == expected.split()
    assert ids(rows(order.by(field))) == opposite.split()
    assert headings(rows(order)) == [order.words] and rows(order)[0].names


def test_groups_come_in_the_order_of_their_first_days_in_their_own() -> None:
    assert headings(rows(Order("cost", group="project"))) == ["Blog", "shop", "no project"]
    assert headings(rows(Order("cost", group="agent"))) == ["codex", "claude", "pi"]
    by_day = rows(Order("cost", group="day"))
    assert headings(by_day) == ["today", "yesterday", "October 2026"]
    assert ids(by_day) == ["new", "dear", "long", "bare"]
    assert headings(rows(Order("time", reverse=True))) == ["October 2026", "yesterday", "today"]
    assert headings(rows(Order(group="state"))) == ["at rest"]


@pytest.mark.parametrize("group", GROUPINGS)
@pytest.mark.parametrize("field", FIELDS)
def test_what_is_pinned_stands_above_in_every_order(field: Field, group: Grouping) -> None:
    pinned = session("kept", DAY * 90, pinned=True)
    found = Forest([*SESSIONS, pinned]).rows(CLOCK, order=Order(field, group=group))
    assert headings(found)[0] == "pinned" and ids(found)[0] == "kept"
    assert sorted(ids(found)) == sorted([one.session_id for one in SESSIONS] + ["kept"])


def test_what_is_unfolded_below_a_session_is_in_the_same_order() -> None:
    kids = [
        session(f"k{cost}", 60 + cost, kind="fork", parent_id="new", cost=Cost(total_usd=cost)) for cost in (1, 3, 2)
    ]
    found = Forest([*SESSIONS, *kids]).rows(CLOCK, {"claude:new"}, order=Order("cost", group="none"))
    assert ids(found)[:5] == ["dear", "new", "k3", "k2", "k1"]


def test_choosing_the_same_field_again_turns_it_and_another_leaves_the_days() -> None:
    order = Order().by("cost")
    assert order == Order("cost", group="none") and order.words == "dearest first"
    assert order.by("cost").words == "cheapest first"
    assert order.by("time") == Order()
    assert order.under("project").by("tokens") == Order("tokens", group="project")


def test_a_project_is_safe_as_a_heading() -> None:
    forest = Forest([session("a", cwd="/x/\x1b[31mred")])
    assert "\x1b" not in headings(forest.rows(CLOCK, order=Order(group="project")))[0]


def test_ten_thousand_sessions_are_sorted_within_a_key() -> None:
    forest = Forest(many(10_000))
    best = 9.0
    for field in ("cost", "project", "tokens", "time"):
        start = time.process_time()
        forest.rows(CLOCK, order=Order(field, reverse=True, group="project"), states=ShownStates())
        best = min(best, time.process_time() - start)
    assert best < 0.5  # some 0.05 s on an idle machine
