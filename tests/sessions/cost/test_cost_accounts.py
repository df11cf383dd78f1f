"""Calls are priced by groups: what comes out is what each call costs by itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import Usage as ListUsage
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from hermes_tui.config import Price
from hermes_tui.sessions.cost.aggregate import Accounts, own_cost
from hermes_tui.sessions.cost.prices import Prices
from session_adapters.model import SessionSummary
from session_adapters.usage import Usage, in_packs
from spending import START, Spender

MODELS = (
    "claude-haiku-4-5",  # one price
    "claude-sonnet-4-5",  # dearer above 200,000 tokens of input
    "perplexity/sonar-deep-research",  # what it thinks is cheaper than what it says
    "deepseek-chat",  # by the time of day
    "o3",  # cheaper since a day
    "own",  # the user's own price
    "nobody-knows-it",
    None,
)
PRICES = Prices({"own": Price(input=2.0, output=7.0)})
COUNT = st.sampled_from((0, 1, 999, 99_999, 100_001, 199_999, 200_001, 1_200_000))
MOMENTS = st.sampled_from((None, 1.7495136e9, 1.7495135e9, 1.76e9, 1.76e9 + 1, 1.760031e9, 1.760031001e9))
"""On both sides of what changes a price, and several so close to each other that they are one group."""
CALLS = st.builds(
    Usage,
    st.just("s"),
    st.sampled_from(("", "", "", "a", "b", "c", "d", "e")),
    MOMENTS,
    st.sampled_from(MODELS),
    *(COUNT,) * 6,
)


def listed(call: Usage) -> float:
    """Dollars that the price list itself says for one call."""
    if call.model == "own":
        fresh = call.input_tokens + call.cached_tokens + call.cache_write_tokens
        return (2.0 * fresh + 7.0 * call.output_tokens) / 1e6
    by, _, name = (call.model or "").rpartition("/")
    provider, model = get_snapshot().find_provider_model(name, None, by or None, None)
    usage = ListUsage(
        input_tokens=call.input_tokens + call.cached_tokens + call.cache_write_tokens,
        cache_read_tokens=call.cached_tokens,
        cache_write_tokens=call.cache_write_tokens,
        cache_write_1h_tokens=min(call.cache_write_hour_tokens, call.cache_write_tokens),
        output_tokens=call.output_tokens,
        output_reasoning_tokens=min(call.thinking_tokens, call.output_tokens),
    )
    moment = datetime.now(UTC) if call.time is None else datetime.fromtimestamp(call.time, UTC)
    return float(model.calc_price(usage, provider, genai_request_timestamp=moment).total_price)


def once(calls: Sequence[Usage]) -> list[Usage]:
    seen: set[str] = set()
    found = []
    for call in calls:
        if not call.key or call.key not in seen:
            seen.add(call.key)
            found.append(call)
    return found


@examples(60)
@given(st.lists(CALLS, max_size=12), st.lists(CALLS, max_size=6))
def test_groups_cost_what_their_calls_cost(first: list[Usage], second: list[Usage]) -> None:
    accounts = Accounts(PRICES, {})
    sessions = [SessionSummary(agent="claude", session_id=name, created_at=START) for name in "st"]
    owned = [
        accounts.add(session, [*in_packs(calls)]) for session, calls in zip(sessions, (first, second), strict=True)
    ]
    rows = accounts.rows()

    counted = once([*once(first), *once(second)])
    known = [call for call in counted if call.model not in (None, "nobody-knows-it")]
    unknown = [call for call in counted if call.model in (None, "nobody-knows-it")]
    assert sum(row.usd for row in rows) == pytest.approx(sum(map(listed, known)), rel=1e-9, abs=1e-9)
    assert sum(row.estimated_usd for row in rows) == sum(row.usd for row in rows)
    assert sum(row.calls for row in rows) == len(counted)
    for field in ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens", "thinking_tokens"):
        assert sum(getattr(row, field) for row in rows) == sum(getattr(call, field) for call in counted)
    four = [(one.input_tokens, one.output_tokens, one.cached_tokens, one.cache_write_tokens) for one in unknown]
    assert sum(row.unpriced_tokens for row in rows) == sum(map(sum, four))
    for row in rows:  # a day and a model have what their own calls cost
        mine = [
            listed(call)
            for call in known
            if call.model == row.model and day_of(START.timestamp() if call.time is None else call.time) == row.day
        ]
        if row.model not in ("", "nobody-knows-it"):
            in_rows = sum(one.usd for one in rows if (one.model, one.day) == (row.model, row.day))
            assert in_rows == pytest.approx(sum(mine), rel=1e-9, abs=1e-9)

    for cost, calls in zip(owned, (first, second), strict=True):
        own = [call for call in once(calls) if call.model not in (None, "nobody-knows-it")]
        assert (cost is None) == (not own)
        assert own_cost(calls, (), PRICES) == cost
        if cost is not None:
            assert cost.total_usd == pytest.approx(sum(map(listed, own)), rel=1e-9, abs=1e-9)


def day_of(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def test_runs_of_a_session_without_calls_bring_their_tokens(tmp_path: Path) -> None:
    spender = Spender(tmp_path / "home")
    spender.session("one")
    path = spender.projects / "-srv-shop" / "one.jsonl"
    path.write_text('{"type":"user","uuid":"u","sessionId":"one","message":{"role":"user","content":"hello"}}\n')
    for number in (1, 2):
        spender.run(sessionId="one", cost={"totalUsd": 0.5, "inputTokens": 10 * number, "outputTokens": number})
    found = spender.manager().total_cost()
    assert (found.input_tokens, found.output_tokens, found.call_count) == (30, 3, 2)
    assert (found.total_usd, found.estimated_usd) == (1.0, 0.0)


def test_calls_of_one_moment_pay_each_its_own_tier() -> None:
    calls = [Usage("s", "", 1.76e9, "claude-sonnet-4-5", size, 1_000) for size in (1_000, 250_000, 199_000, 300_000)]
    for order in (calls, calls[::-1]):
        cost = own_cost(order, (), PRICES)
        assert cost is not None
        assert cost.total_usd == pytest.approx(sum(map(listed, calls)), rel=1e-9)


def test_a_figure_that_cannot_be_is_none_in_the_sum(tmp_path: Path) -> None:
    """Every command ended with an unexpected error, and no other session had a sum."""
    spender = Spender(tmp_path / "home")
    spender.session("one", {"input": 10**30}, {"input": 7})
    for _ in range(2):
        manager = spender.manager()
        manager.catalogue.refresh()
        assert manager.total_cost().input_tokens == 7
        assert manager.costs.overview(date(2026, 3, 1)).whole.usd == pytest.approx(7e-6)


def test_of_very_many_runs_the_newest_are_read_and_the_others_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index of 158 MB took a list 1.2 GB of memory, and every command 8 s."""
    work = tmp_path / "work"
    work.mkdir()
    spender = Spender(tmp_path / "home")
    spender.session("one", {}, cwd=str(work))
    for number in range(5):
        path = spender.run(sessionId=f"gone{number}", cost={"totalUsd": 10.0**number})
    older = spender.run(work, sessionId="gone", cost={"totalUsd": 100_000.0})
    *first, _, last = path.read_bytes().splitlines(keepends=True)
    monkeypatch.setattr("hermes_tui.sessions.cost.runs.INDEX_LIMIT", len(last) + 1)
    manager = spender.manager()
    assert manager.total_cost().total_usd == 11_000.0
    told = {one.path: one.reason for one in manager.costs.problems}
    assert told.keys() == {str(path), str(older)}
    assert f"the first {len(b''.join(first)):,} bytes" in told[str(path)]
    assert f"the first {older.stat().st_size:,} bytes" in told[str(older)]
