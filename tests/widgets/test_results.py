"""The list of a search, without a screen."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from hermes_tui.clock import Clock
from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.search.incremental.search import LiveResult, LiveSnapshot
from hermes_tui.tui.widgets.session_list.order import Order
from hermes_tui.tui.widgets.session_list.result_rows import ConversationNames, answer_of, listed, nothing_rows
from hermes_tui.tui.widgets.session_list.rows import Forest
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from made import NOW, session

CLOCK = Clock(NOW)
EVERY = [
    replace(session(f"s-{number:04}", number), title=f"a heronry, {number}", cwd=f"/home/dev/{number % 7}")
    for number in range(700)
]


def test_no_more_rows_are_made_than_anybody_looks_at() -> None:
    """Names that fit, the newest first; how many there are is said all the same, and that not all are there."""
    forest = Forest(reversed(EVERY)).prepare()
    query = parse("eronr", NOW, typing=True)
    names = ConversationNames(forest).fitting(query)
    assert [one.tip.session_id for one in names] == [one.session_id for one in EVERY]
    shown = listed(LiveSnapshot(query=query, done=True), forest, names)
    assert shown.total == 700 and shown.more
    assert [one.tip.session_id for one, _ in shown.conversations] == [one.session_id for one in EVERY[:200]]
    rows = answer_of(shown, query, CLOCK, {}, Order(), ShownStates(), two_lines=True).rows
    assert rows[-1].heading == "there are more: another word tells them apart" and rows[-2].snippet is not None
    assert sum(row.conversation is not None for row in rows) == 200


def test_what_was_found_and_what_fits_by_name_are_in_one_order() -> None:
    forest = Forest(EVERY).prepare()
    query = parse("heronry, 13", NOW, typing=True)
    names = ConversationNames(forest).fitting(query)
    named = {one.session_id for one in EVERY if "13" in f"{one.title} {one.cwd} {one.session_id}"}
    assert {one.tip.session_id for one in names} == named
    found = tuple(LiveResult(one, None, 1, 0.0) for one in EVERY[100:140])
    shown = listed(LiveSnapshot(query=query, results=found, total=40, done=True), forest, names)
    wanted = {one.unified_id for one in EVERY[100:140]} | {one.key for one in names}
    assert {one.key for one, _ in shown.conversations} == wanted and not shown.more
    assert shown.total == len(wanted)
    times = [one.tip.updated_at for one, _ in shown.conversations]
    assert times == sorted(times, reverse=True) and max(times) - min(times) > timedelta(hours=1)


def test_beside_a_filter_whole_words_of_a_name_count() -> None:
    forest = Forest(EVERY).prepare()
    for text, wanted in (("heronry 13 agent:cl", ["s-0013"]), ("eronry agent:cl", []), ("heronry 13 agent:zzz", [])):
        names = ConversationNames(forest).fitting(parse(text, NOW))
        assert [one.tip.session_id for one in names] == wanted, text
    many = ConversationNames(forest).fitting(parse("heronry agent:cl", NOW))
    assert [one.tip.session_id for one in many] == [one.session_id for one in EVERY[:201]]


def test_a_title_that_another_session_has_from_the_same_rows_is_found_once() -> None:
    own = replace(session("own/s1", 1), title="a heronry", known_as="own/s1")
    other = replace(session("other/s1", 2), title="a heronry", known_as="other/s1", repeated=True)
    named = replace(other, session_id="named/s1", known_as="named/s1", title="a heronry", agent_title="a heronry")
    forest = Forest([own, other, named]).prepare()
    for text, wanted in (("heronry", ["own/s1", "named/s1"]), ("other/s1", ["other/s1"])):
        names = ConversationNames(forest).fitting(parse(text, NOW, typing=True))
        assert [one.tip.session_id for one in names] == wanted, text


def test_where_nothing_is_found_a_mistyped_filter_is_named() -> None:
    shown = nothing_rows(parse("agnt:claude heron", NOW), "all", 80).rows
    assert "Try agent: in the place of agnt:, which is no filter" in [row.heading for row in shown]
    assert not any("no filter" in row.heading for row in nothing_rows(parse("agent:claude x", NOW), "all", 80).rows)
