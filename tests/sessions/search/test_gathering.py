"""What is found, as conversations, whichever way it is found; and what a list alone decides."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_tui.sessions.catalogue.snapshot import newest_first
from hermes_tui.sessions.query.query import parse
from hermes_tui.sessions.search import gathering as module
from hermes_tui.sessions.search.gathering import Gathering, Kin
from hermes_tui.sessions.search.grouping import FoundConversation, root_of
from hermes_tui.sessions.search.model import Match, SourceMatch
from hermes_tui.sessions.search.planner import decide
from session_adapters.model import SessionSummary

_START = datetime(2026, 5, 1, tzinfo=UTC)


def _sessions(dice: random.Random, count: int) -> list[SessionSummary]:
    """The list: some of one conversation, many active at the same moment."""
    made = [
        SessionSummary(
            agent=dice.choice(("claude", "codex")),
            session_id=f"s{number}",
            lineage_id=f"s{dice.randrange(count)}" if dice.random() < 0.4 else None,
            updated_at=_START + timedelta(minutes=dice.randrange(4)),
            title=dice.choice(("docker", "a net", "")),
        )
        for number in range(count)
    ]
    return sorted(made, key=newest_first)


def _kin(sessions: list[SessionSummary]) -> Kin:
    return Kin(sessions, {one.unified_id: place for place, one in enumerate(sessions)}, root_of)


def _plain(found: dict[str, int], sessions: list[SessionSummary], most: int | None) -> list[dict[str, int]]:
    """The conversations of what was found (unified id → places in it), each as what was found of it."""
    groups: dict[Any, list[SessionSummary]] = {}
    for one in sessions:
        if one.unified_id in found:
            groups.setdefault(root_of(one), []).append(one)
    every = sorted(groups.values(), key=lambda parts: min(one.unified_id for one in parts))
    every.sort(key=lambda parts: max(one.updated_at for one in parts), reverse=True)
    return [{one.unified_id: found[one.unified_id] for one in parts} for parts in every[:most]]


def _shown(conversations: list[FoundConversation]) -> list[dict[str, int]]:
    return [{part.summary.unified_id: part.total for part in one.parts.values()} for one in conversations]


@given(seed=st.integers(0, 2**32), count=st.integers(1, 14), most=st.one_of(st.none(), st.integers(1, 5)))
def test_it_is_the_same_by_whatever_way_it_is_found(seed: int, count: int, most: int | None) -> None:
    """Some by their texts, again and again, some by the list alone, some both ways; and looked at in between."""
    dice = random.Random(seed)
    sessions = _sessions(dice, count)
    hidden = {one.unified_id for one in sessions if dice.random() < 0.1}
    gathering = Gathering(_kin(sessions), (lambda one: one.unified_id in hidden) if hidden else None)
    found: dict[str, int] = {}
    for number in range(dice.randrange(6)):
        if dice.random() < 0.5:
            places = sorted(dice.sample(range(count), dice.randrange(count + 1)))
            gathering.add_listed(places)
            new = [(sessions[place], 0) for place in places]
        else:
            chosen = dice.choice(sessions)
            gathering.add(SourceMatch(chosen, (Match(f"m{number}", "prose"),), number + 1))
            new = [(chosen, number + 1)]
        for one, total in new:
            if one.unified_id not in hidden:
                found[one.unified_id] = max(total, found.get(one.unified_id, 0))
        if dice.random() < 0.5:
            assert _shown(gathering.newest_first(most)) == _plain(found, sessions, most)
    assert _shown(gathering.newest_first(most)) == _plain(found, sessions, most)
    assert len(gathering) == len(_plain(found, sessions, None))
    assert [sessions[place].unified_id for place in gathering.places()] == [
        one.unified_id for one in sessions if one.unified_id in found
    ]
    assert _shown(gathering.newest_first()) == _plain(found, sessions, None)


def test_of_very_many_hardly_any_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of a search waits for each that is looked at."""
    made: list[object] = []

    class Counted(FoundConversation):
        def __init__(self) -> None:
            made.append(self)
            super().__init__()

    monkeypatch.setattr(module, "FoundConversation", Counted)
    sessions = [SessionSummary(agent="claude", session_id=f"{n:05}", updated_at=_START) for n in range(150)]
    sessions += [
        SessionSummary(agent="claude", session_id=f"o{n:05}", updated_at=_START - timedelta(seconds=n + 1))
        for n in range(9850)
    ]
    gathering = Gathering(_kin(sessions))
    gathering.add_listed(range(len(sessions)))
    assert (len(gathering), len(gathering.newest_first(100))) == (10_000, 100)
    assert len(made) == 150  # as new as the last that is shown


@given(
    seed=st.integers(0, 2**32),
    query=st.sampled_from(
        (
            "",
            "docker",
            "-docker",
            "agent:claude",
            "agent:claude docker",
            "agent:claude OR docker",
            "-agent:claude -docker",
            "agent:claude -docker OR agent:codex net",
            "agent:claude since:2026-05-01T00:02 x",
            "agent:none docker",
            "since:2030-01-01",
        )
    ),
    some=st.booleans(),
)
def test_what_the_list_decides_is_what_each_session_says(seed: int, query: str, some: bool) -> None:
    dice = random.Random(seed)
    asked = parse(query)
    sessions = _sessions(dice, dice.randrange(9))
    among = sorted(dice.sample(range(len(sessions)), dice.randrange(len(sessions) + 1))) if some else None
    stores = SimpleNamespace(
        sessions=sessions,
        verdicts=lambda leaf: [leaf.passes(one) for one in sessions],
        place=lambda one: sessions.index(one),
        shelves=lambda places: [sessions[place] for place in places],
    )
    decided = decide(cast(Any, stores), asked, among)
    searched = [(place, asked.for_session(sessions[place])) for place in among or range(len(sessions) * (not some))]
    assert list(decided.found) == [place for place, search in searched if search.decided]
    left = [(place, search) for place, search in searched if search.decided is None]
    assert [sessions.index(cast(Any, one)) for one in decided.todo] == [place for place, _ in left]
    assert list(decided.excluded) == [place for place, search in left if search.forbids]
    assert sorted(map(repr, decided.every)) == sorted({repr(search) for _, search in left})
    for place, one in enumerate(sessions):
        assert not decided.every or decided.search(one) == dict(left).get(place)
