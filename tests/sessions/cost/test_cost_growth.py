"""Costs in a program that stays: sessions grow, go and share calls, and only what changed is worked out again."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from chances import examples
from hermes_tui.config import Price
from hermes_tui.sessions.cost.aggregate import SessionAccount
from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.session_book import SessionBook, book_of
from hermes_tui.sessions.cost.summary import SpendRow, SpendSummary
from session_adapters.model import SessionSummary
from session_adapters.usage import CallPack, Calls, Usage, packed
from spending import START, Spender

CALLS = st.lists(st.integers(0, 9), max_size=5)
"""What a session holds: call number n used 2 ** n tokens, whichever session has a copy of it."""

OWN = 2**20


def write(spender: Spender, number: int, calls: list[int], step: int) -> None:
    """Session `number`, which began so many hours after the others; gone if it holds nothing."""
    own = {"id": f"own{number}", "input": OWN}  # what begins otherwise is no fork
    told = [own, *({"id": f"m{call}", "input": 2**call} for call in calls)]
    path = spender.session(f"s{number}", *told, at=START + timedelta(hours=number))
    os.utime(path, ns=(step, step))
    if not calls:
        path.unlink()


def spent(holds: dict[int, list[int]]) -> dict[str, int]:
    """Tokens of each session: a call counts for the first that has it."""
    seen: set[int] = set()
    found = {}
    for number, calls in sorted(holds.items()):
        if calls:
            found[f"claude:s{number}"] = OWN + sum(2**call for call in set(calls) - seen)
            seen.update(calls)
    return found


@given(steps=st.lists(st.tuples(st.integers(0, 3), CALLS), min_size=1, max_size=6))
@examples(25)
def test_what_is_added_up_again_is_what_it_would_be_at_first(
    steps: list[tuple[int, list[int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    spender = Spender(tmp_path_factory.mktemp("grows") / "home")
    holds: dict[int, list[int]] = {}
    manager = spender.manager()
    for step, (number, calls) in enumerate(steps):
        holds[number] = calls
        write(spender, number, calls, (step + 1) * 10**9)
        groups = manager.total_cost(group_by="session").breakdowns or {}
        assert {name: group.input_tokens for name, group in groups.items()} == spent(holds)
        costs = {one.unified_id: one.cost for one in manager.list()}
        alone = {f"claude:s{at}": OWN + sum(2**call for call in set(some)) for at, some in holds.items() if some}
        assert {name: cost and cost.input_tokens for name, cost in costs.items()} == alone


def test_a_line_prices_the_calls_of_its_session_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line took as long as all calls of all sessions."""
    spender = Spender(tmp_path / "home")
    for number in range(6):
        spender.session(f"s{number}", {"input": 10})
    spender.session("copy", {"input": 10, "id": "both"}, at=START + timedelta(hours=1))
    spender.session("copied", {"input": 10, "id": "both"})
    manager = spender.manager()
    assert manager.total_cost().input_tokens == 70
    priced: set[str] = set()
    take = SessionAccount.take

    def noted(self: SessionAccount, calls: Sequence[CallPack]) -> None:
        priced.update(one.session_id for one in calls)
        take(self, calls)

    monkeypatch.setattr(SessionAccount, "take", noted)
    spender.session("s3", {"input": 10}, {"input": 5})
    assert manager.total_cost().input_tokens == 75
    assert priced == {"s3"}


STEPS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.lists(
            st.tuples(st.integers(0, 9), st.sampled_from(("claude-haiku-4-5", "claude-opus-4-6", "nobody-knows-it"))),
            max_size=4,
        ),
        st.sampled_from(("grows", "grows", "grows", "anew", "forked", "run", "torn", "gone")),
    ),
    min_size=1,
    max_size=10,
)
"""Number of a session, calls (number n is the same in whichever session it is), and what becomes of it."""


@given(steps=STEPS)
@examples(30)
def test_a_sheet_that_is_gone_on_with_is_that_of_a_new_program(
    steps: list[tuple[int, list[tuple[int, str]], str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("sheet")
    spender, held = Spender(folder / "home"), defaultdict[int, list[dict[str, Any]]](list)
    for number in range(4):
        held[number] = [{"id": f"own{number}", "uuid": f"o{number}", "input": OWN}]
        write_calls(spender, number, held[number], 1)
    staying = spender.manager(folder / "cache")
    staying.catalogue.refresh()
    staying.costs.sheet()
    for step, (number, calls, what) in enumerate(steps, 2):
        told = [{"id": f"m{call}", "uuid": f"u{call}", "input": 2**call, "model": model} for call, model in calls]
        if what == "forked":
            told = [{**one, "forked": "s0"} for one in told]
        held[number] = told if what == "anew" else [*held[number], *told]
        path = write_calls(spender, number, held[number], step)
        if what == "run":
            spender.run(sessionId=f"s{number}", cost={"totalUsd": 0.25})
        elif what == "torn":
            path.write_bytes(path.read_bytes()[:-20])
        elif what == "gone" or not held[number]:
            path.unlink()
            held[number] = []
        staying.catalogue.refresh()
        fresh = spender.manager(folder / f"cache{step}")
        fresh.catalogue.refresh()
        assert said(staying.costs.sheet()) == said(fresh.costs.sheet())


def write_calls(spender: Spender, number: int, calls: list[dict[str, Any]], step: int) -> Path:
    path = spender.session(f"s{number}", *calls, at=START + timedelta(hours=number))
    os.utime(path, ns=(step * 10**9, step * 10**9))
    return path


def said(sheet: SpendSummary) -> dict[str, Any]:
    """All of it but its key; what is added in another order is not the same to the last digit."""
    told = {name: getattr(sheet, name) for name in SpendSummary.__struct_fields__ if name not in ("key", "tariffs")}
    rows = [replace(row, usd=round(row.usd, 9), estimated_usd=round(row.estimated_usd, 9)) for row in sheet.rows]
    return {**told, "rows": rows}


PACKS = st.lists(
    st.builds(
        lambda calls, inherited: CallPack("s", tuple(calls), "m", inherited),
        st.lists(
            st.builds(
                Usage,
                st.just(""),
                st.sampled_from(("", "", "a", "b", "c", "d", "@1")),
                st.sampled_from((None, 1.76e9, 1.77e9)),
                st.sampled_from((None, "claude-haiku-4-5", "own", "nobody-knows-it")),
                st.integers(0, 9),
                usd=st.sampled_from((None, None, None, None, 0.5)),
            ),
            min_size=1,
            max_size=3,
        ),
        st.sampled_from((False, False, False, True)),
    ),
    max_size=5,
)


def pack(*tokens: tuple[int, float | None]) -> CallPack:
    return CallPack("s", tuple(Usage("", "", None, None, count, 0, usd=usd) for count, usd in tokens), "m")


@example(  # the one call that the agent priced is gone again
    before=[],
    steps=[
        (0, [pack((0, None))]),
        (0, [pack((1, None)), pack((0, None), (0, 0.5))]),
        (1, []),
    ],
)
@given(before=PACKS, steps=st.lists(st.tuples(st.integers(0, 2), PACKS), min_size=1, max_size=5))
@examples(150)
def test_a_book_that_is_gone_on_with_says_what_a_new_one_says(
    before: list[CallPack], steps: list[tuple[int, list[CallPack]]]
) -> None:
    """Packs come behind the others, in the place of the last, and between them."""
    prices = Prices({"own": Price(input=2.0, output=7.0)})
    session = SessionSummary(agent="claude", session_id="s", created_at=START)
    packs, book = before, None
    for dropped, more in steps:
        packs = [*packs[: len(packs) - dropped], *more]
        book = book_of(session, packed(packs), (), prices, book)
        new = book_of(session, packed(packs), (), prices, None)
        assert book.cost == new.cost
        assert rounded(book) == rounded(new)
        assert sorted(book.marks) == sorted(new.marks)


def rounded(book: SessionBook) -> list[SpendRow]:
    """What is added in another order is not the same to the last digit."""
    return sorted(
        (replace(row, usd=round(row.usd, 9), estimated_usd=round(row.estimated_usd, 9)) for row in book.rows),
        key=str,
    )


def test_of_a_long_session_that_grows_only_the_last_calls_are_gone_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """With each line all calls of its session were decoded a dozen times, for as long as it was written to."""
    session = SessionSummary(agent="claude", session_id="s", created_at=START)
    calls, book, gone_through = Calls(), None, 0
    decoded = CallPack.__iter__

    def counted(self: CallPack) -> Iterator[Usage]:
        nonlocal gone_through
        for call in decoded(self):
            gone_through += 1
            yield call

    monkeypatch.setattr(CallPack, "__iter__", counted)
    for number in range(3_000):
        calls.put(f"m{number}", Usage("", f"m{number}", 1.76e9, "claude-haiku-4-5", 1))
        if number % 10 == 9:
            gone_through = 0
            book = book_of(session, packed(calls.packs(session)), (), Prices({}), book)
    assert book is not None
    assert sum(row.input_tokens for row in book.rows) == 3_000
    assert gone_through < 1_200
