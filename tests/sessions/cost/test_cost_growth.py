"""Costs in a program that stays: sessions grow, go and share calls, and only what changed is worked out again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.sessions.cost.aggregate import Accounts
from session_adapters.model import Cost, SessionSummary
from session_adapters.usage import Usage
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
    priced: list[str] = []

    add = Accounts.add

    def noted(self: Accounts, session: SessionSummary, calls: Sequence[Usage]) -> Cost | None:
        priced.append(session.session_id)
        return add(self, session, calls)

    monkeypatch.setattr(Accounts, "add", noted)
    spender.session("s3", {"input": 10}, {"input": 5})
    assert manager.total_cost().input_tokens == 75
    assert sorted(priced) == ["copied", "copy", "s3"]
