"""Which sessions came from which: what comparing them says, and that it takes no longer than their number does."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from session_adapters.base import Environment
from session_adapters.claude.relate import relate as claude
from session_adapters.copilot.summary import relate as copilot
from session_adapters.model import SessionSummary
from session_adapters.opencode.adapter import OpenCodeAdapter
from session_adapters.reading.lineage import first_of_line, firsts_of_lines

BEGAN = datetime.fromisoformat("2026-11-21T09:00:00+00:00")
Relate = Callable[[Sequence[SessionSummary]], Sequence[SessionSummary]]


def opencode(summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
    return OpenCodeAdapter(Environment(home=Path("/nowhere"))).relate(summaries)


AGENTS: Mapping[str, Relate] = {"claude": claude, "copilot": copilot, "opencode": opencode}


def sessions(agent: str, number: int, *, chained: bool = False, **raw: Any) -> list[SessionSummary]:
    """All with the same beginning, a second after each other; `chained`: each names the one before it."""
    return [
        SessionSummary(
            agent=agent,
            session_id=f"s{at:06}",
            path=f"/s{at}",
            size=1,
            kind="fork" if at else "session",
            forked_from=f"s{at - 1:06}" if chained and at else None,
            created_at=BEGAN + timedelta(seconds=at),
            updated_at=BEGAN + timedelta(seconds=at),
            raw={"layout": "json", "firstUuid": "u", "firstMessageId": "m", "firstEvent": "e", "firstMessage": "f"}
            | {name: value(at) for name, value in raw.items()},
        )
        for at in range(number)
    ]


def climbed(session_id: str, parents: Mapping[str, str]) -> str:
    seen = {session_id}
    while (parent := parents.get(session_id)) is not None and parent not in seen:
        seen.add(parent)
        session_id = parent
    return session_id


def test_the_first_of_a_line_is_found_in_circles_too() -> None:
    chance = random.Random(15)
    for _ in range(300):
        names = [f"n{number}" for number in range(chance.randrange(1, 12))]
        parents = {name: chance.choice([*names, "gone"]) for name in names if chance.random() < 0.8}
        wanted = {name: climbed(name, parents) for name in names}
        assert {name: first_of_line(name, parents) for name in names} == wanted
        assert {name: firsts_of_lines(parents, names)[name] for name in names} == wanted


def test_the_nearest_of_many_copies_is_the_parent() -> None:
    """By a search through all of them, for each."""
    chance = random.Random(16)
    for _ in range(100):
        number = chance.randrange(2, 9)
        moments = [chance.randrange(4) for _ in range(number)]
        copied = [chance.randrange(4) for _ in range(number)]
        given = [
            SessionSummary(
                agent="opencode",
                session_id=f"s{at}",
                kind="fork",
                created_at=BEGAN + timedelta(seconds=moments[at]),
                raw={"layout": "json", "firstMessage": "f", "copiedMessages": copied[at]},
            )
            for at in range(number)
        ]
        for one in opencode(given):
            before = [
                (other.created_at, other.session_id)
                for other in given
                if other.created_at < one.created_at and other.raw["copiedMessages"] < one.raw["copiedMessages"]
            ]
            assert one.forked_from == (max(before)[1] if before else None)
        given = [
            SessionSummary(
                agent="claude",
                session_id=f"s{at}",
                created_at=BEGAN + timedelta(seconds=moments[at]),
                raw={
                    "firstUuid": "u",
                    "ownReply": f"r{copied[at]}",
                    "copiedReplies": [f"r{reply}" for reply in range(4) if chance.random() < 0.4],
                },
            )
            for at in range(number)
        ]
        origin = min(given, key=lambda one: (one.created_at, one.session_id))
        for one in claude(given):
            older = [
                other
                for other in sorted(given, key=lambda each: each.session_id)
                if other is not origin
                and other.created_at < one.created_at
                and other.raw["ownReply"] in one.raw["copiedReplies"]
            ]
            nearest = max(older, key=lambda other: other.created_at, default=origin)
            assert one.forked_from == (None if one.session_id == origin.session_id else nearest.session_id)


CROWDS: Mapping[str, Callable[[str, int], list[SessionSummary]]] = {
    "copies": lambda agent, number: sessions(
        agent, number, copiedMessages=lambda at: 3, copiedReplies=lambda at: ["r"]
    ),
    "copies that go on": lambda agent, number: sessions(
        agent,
        number,
        copiedMessages=lambda at: number - at,
        copiedReplies=lambda at: [f"r{at - 1}"],
        ownReply=lambda at: f"r{at}",
    ),
    "each names the one before": lambda agent, number: sessions(agent, number, chained=True),
}


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.parametrize("agent", AGENTS)
def test_many_copies_of_one_session_take_no_longer_than_their_number(agent: str, crowd: str) -> None:
    taken: dict[int, float] = {}
    for number in (2_000, 16_000):
        given = CROWDS[crowd](agent, number)
        taken[number] = float("inf")
        for _ in range(3):
            began = time.thread_time()
            assert len(AGENTS[agent](given)) == number
            taken[number] = min(taken[number], time.thread_time() - began)
    assert taken[16_000] < 8 * 4 * taken[2_000]  # 64 times as much where each is compared with each
