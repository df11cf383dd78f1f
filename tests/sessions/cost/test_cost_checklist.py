"""`SessionManager.total_cost` (spec 004 §3.5, §3.6, §6.4): the lines C-* of the checklist, and what goes with them.

Prices that tests count with are those on the vendor's page: claude-haiku-4-5 costs 1 dollar per million tokens of
input, 5 of output, 0.10 of input from the cache, 1.25 into it, 2 into it for an hour.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_tui.config import Price
from hermes_tui.errors import ValidationError
from hermes_tui.sessions.cost.report import CostSummary
from session_adapters.reading.files import METER
from spending import START, Spender
from tiny_home import TinyHome, tree_hash

MILLION = 1_000_000


@pytest.fixture
def spender(tmp_path: Path) -> Spender:
    return Spender(tmp_path / "home")


def as_json(summary: CostSummary) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(msgspec.json.encode(summary))
    return decoded


def test_c_1_no_match_is_zero_and_no_error(spender: Spender) -> None:
    spender.session("one", {"input": MILLION})
    for options in ({"agent": "nobody"}, {"tags": ("none",)}, {"since": date(2030, 1, 1)}, {"model": "none"}):
        found = as_json(spender.manager().total_cost(**options))
        assert found["totalUsd"] == 0.0
        assert next(iter(found)) == "totalUsd"  # in the order of the document
        assert found["sessionCount"] == found["runCount"] == found["inputTokens"] == 0


def test_c_2_no_silent_cap_of_100_sessions(spender: Spender) -> None:
    for number in range(130):
        spender.session(f"s{number:03}", {"input": MILLION}, at=START + timedelta(hours=number))
    found = spender.manager().total_cost()
    assert found.session_count == 130
    assert found.total_usd == pytest.approx(130.0)


def test_c_3_groups_only_when_asked_for(spender: Spender) -> None:
    assert "breakdowns" not in as_json(spender.manager().total_cost())
    spender.session("one", {"input": MILLION, "model": "claude-haiku-4-5"})
    spender.run(sessionId="one", tags=["night"])
    spender.session("two", {"input": 1000, "model": None})
    keys = {
        "agent": {"claude"},
        "model": {"claude-haiku-4-5", "unknown"},
        "day": {"2026-03-01"},
        "tag": {"night", "untagged"},
        "project": {"/srv/shop"},
        "session": {"claude:one", "claude:two"},
    }
    for group_by, wanted in keys.items():
        groups = as_json(spender.manager().total_cost(group_by=group_by))["breakdowns"]
        assert groups.keys() == wanted, group_by
        assert all(group["key"] == key for key, group in groups.items())
    with pytest.raises(ValidationError, match="group_by must be one of"):
        spender.manager().total_cost(group_by="weather")


def test_c_3_a_day_is_that_of_the_call_in_utc_and_local_where_asked_for(
    spender: Spender, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    spender.session("one", {"input": MILLION, "at": late}, {"input": 2 * MILLION, "at": late + timedelta(hours=1)})
    spender.run(sessionId="gone", cost={"totalUsd": 4.0}, timestamp=(late - timedelta(hours=1)).isoformat())
    days = {}
    for zone in ("UTC", "Asia/Kathmandu"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        for local in (False, True):
            found = spender.manager().total_cost(group_by="day", local_days=local).breakdowns or {}
            days[zone, local] = {day: round(group.total_usd, 6) for day, group in found.items()}
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    in_utc = {"2026-03-01": 5.0, "2026-03-02": 2.0}
    assert days["UTC", False] == days["UTC", True] == days["Asia/Kathmandu", False] == in_utc
    assert days["Asia/Kathmandu", True] == {"2026-03-02": 7.0}


def test_the_days_and_months_at_a_glance_are_local(spender: Spender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    try:
        spender.session("one", {"input": MILLION, "at": datetime(2026, 2, 28, 23, 30, tzinfo=UTC)})
        manager = spender.manager()
        manager.catalogue.refresh()
        found = manager.costs.overview(date(2026, 3, 1))
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
    assert {day: usd for day, usd in found.days if usd} == {date(2026, 3, 1): pytest.approx(1.0)}
    assert found.this_month.usd == pytest.approx(1.0)
    assert found.last_month.usd == 0.0


def test_c_4_groups_add_up_to_the_whole(spender: Spender) -> None:
    spender.session("one", {"input": 10, "output": 20, "model": "claude-sonnet-4-5"}, {"input": 30, "read": 5})
    spender.session("two", {"input": 7, "at": START + timedelta(days=3)}, {"output": 9, "model": "who-knows"})
    spender.run(sessionId="one", tags=["a", "b"])
    manager = spender.manager()
    whole = manager.total_cost()
    for group_by in ("agent", "model", "day", "project", "session"):
        groups = (manager.total_cost(group_by=group_by).breakdowns or {}).values()
        for field in ("total_usd", "input_tokens", "output_tokens", "cached_tokens", "call_count", "unpriced_tokens"):
            assert sum(getattr(one, field) for one in groups) == pytest.approx(getattr(whole, field)), (
                group_by,
                field,
            )
    tags = manager.total_cost(group_by="tag").breakdowns or {}
    assert tags["a"].input_tokens == tags["b"].input_tokens == 40  # in each of its tags
    assert tags["untagged"].input_tokens == 7


def test_c_5_recorded_before_run_index_before_estimate(tiny_home: TinyHome, spender: Spender, tmp_path: Path) -> None:
    spender.session("both", {"input": MILLION})
    spender.run(sessionId="both", cost={"totalUsd": 7.0, "inputTokens": 5, "outputTokens": 5})
    spender.run(sessionId="both", cost={"totalUsd": 0.5, "inputTokens": 5, "outputTokens": 5})
    spender.session("estimated", {"input": MILLION})
    found = spender.manager().total_cost(group_by="session").breakdowns or {}
    assert found["claude:both"].total_usd == pytest.approx(7.5)
    assert found["claude:both"].estimated_usd == 0.0
    assert found["claude:both"].input_tokens == MILLION  # counted once, as the session has them
    assert found["claude:estimated"].total_usd == pytest.approx(1.0)

    tiny_home.add("native", usd=0.25, turns=2, model="claude-haiku-4-5")
    index = tiny_home.home / ".agent-mux" / "run-index.jsonl"
    index.parent.mkdir()
    index.write_text(json.dumps({"v": 1, "agent": "tiny", "sessionId": "native", "cost": {"totalUsd": 9.0}}) + "\n")
    native = tiny_home.manager(tmp_path / "cache").total_cost()
    assert native.total_usd == pytest.approx(0.5)
    assert native.run_count == 1


def test_c_6_runs_of_unknown_sessions(spender: Spender) -> None:
    spender.session("here", {"input": MILLION})
    cost = {"totalUsd": 2.0, "inputTokens": 11, "outputTokens": 3, "cacheReadTokens": 4}
    spender.run(sessionId="gone", cost=cost, model="gpt-5", tags=["x"])
    spender.run(agent="other", cost={"totalUsd": 1.0})
    spender.run(sessionId="here")
    manager = spender.manager()
    found = manager.total_cost()
    assert (found.session_count, found.run_count) == (1, 3)
    assert found.total_usd == pytest.approx(4.0)
    assert found.input_tokens == MILLION + 11
    assert manager.total_cost(agent="other").total_usd == 1.0
    assert manager.total_cost(model="gpt-5").total_usd == 2.0
    assert manager.total_cost(tags=("x",)).run_count == 1
    assert manager.total_cost(until=date(2026, 2, 1)).run_count == 0


def test_c_6_run_indexes_of_projects_torn_lines_and_other_versions(spender: Spender, tmp_path: Path) -> None:
    project = tmp_path / "work" / "shop"
    project.mkdir(parents=True)
    spender.session("one", {"input": MILLION}, cwd=str(project))
    run: dict[str, Any] = {"sessionId": "one", "runId": "same", "cost": {"totalUsd": 3.0}}
    spender.run(tmp_path / "work", **run)
    spender.run(**run)  # the same run, in the index of the home too
    spender.run(**{**run, "v": 2, "runId": "later"})
    with spender.run(sessionId="one", runId="free").open("a") as file:
        file.write('{"v":1,"agent":"claude","sessionId":"one","runId":"torn","cost":{"totalU')
    found = spender.manager().total_cost()
    assert (found.total_usd, found.run_count) == (3.0, 2)


def test_c_7_one_file_read_by_two_adapters_counts_once(tiny_home: TinyHome, tmp_path: Path) -> None:
    tiny_home.add("one", usd=0.5)
    both = tiny_home.manager(tmp_path / "cache", "tiny", "copy").total_cost(group_by="agent")
    assert len(tiny_home.manager(tmp_path / "cache", "tiny", "copy").list()) == 2  # both are listed
    assert (both.total_usd, both.session_count) == (0.5, 1)


def test_c_7_a_call_that_stands_in_several_files_counts_once(spender: Spender) -> None:
    """Resuming copied the history in old versions, `/branch` does in new ones: with the ids of the replies."""
    parent = [{"input": 100, "id": "m1", "uuid": "a"}, {"input": 200, "id": "m2", "uuid": "b"}]
    spender.session("parent", *parent)
    marked = [{**call, "forked": "parent"} for call in parent]
    spender.session("fork", *marked, {"input": 1000, "id": "m3"}, at=START + timedelta(hours=1))
    spender.session("resumed", *parent, {"input": 5000, "id": "m4"}, at=START + timedelta(hours=2))
    found = spender.manager().total_cost(group_by="session")
    assert found.input_tokens == 6300
    sessions = {key: group.input_tokens for key, group in (found.breakdowns or {}).items()}
    assert sessions == {"claude:parent": 300, "claude:fork": 1000, "claude:resumed": 5000}
    (spender.projects / "-srv-shop" / "parent.jsonl").unlink()
    (spender.projects / "-srv-shop" / "resumed.jsonl").unlink()
    assert spender.manager().total_cost().input_tokens == 1300  # the parent is gone; what it spent is not


def test_c_7_helpers_count_once(spender: Spender) -> None:
    main = spender.session("main", {"input": 100})
    helper = spender.session("agent-abc", {"input": 1000})
    folder = main.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    helper.rename(folder / helper.name)
    manager = spender.manager()
    assert {one.kind for one in manager.list()} == {"session", "subagent"}
    assert manager.total_cost().input_tokens == 1100


def test_c_8_estimates_are_marked(spender: Spender) -> None:
    spender.session("one", {"input": MILLION})
    found = spender.manager().total_cost()
    assert found.estimated_usd == found.total_usd == pytest.approx(1.0)
    (listed,) = spender.manager().list()
    assert listed.cost is not None and listed.cost.estimated
    session = spender.manager().get("claude", "one")
    assert session.cost == listed.cost
    assert [one.cost is not None and one.cost.estimated for one in session.messages] == [False, True]


def test_c_9_unknown_models_are_named_and_never_free(spender: Spender) -> None:
    spender.session("odd", {"input": 400, "output": 100, "model": "composer-of-nobody"})
    spender.session("none", {"input": 5, "model": None})
    manager = spender.manager()
    found = manager.total_cost()
    assert found.unpriced == ("composer-of-nobody", "unknown")
    assert found.unpriced_tokens == 505
    assert (found.total_usd, found.input_tokens) == (0.0, 405)
    assert all(one.cost is None for one in manager.list())
    assert manager.get("claude", "odd").cost is None
    own = spender.manager(None, **{"composer-of-nobody": Price(input=2.0, output=10.0)}).total_cost()
    assert own.total_usd == pytest.approx((400 * 2 + 100 * 10) / MILLION)
    assert own.unpriced == ("unknown",)


def test_c_10_every_kind_of_token_at_its_own_price(spender: Spender) -> None:
    call = {"input": 10_000, "output": 20_000, "read": 300_000, "write": 40_000, "hour": 15_000}
    spender.session("one", call)
    found = spender.manager().total_cost()
    assert (found.cached_tokens, found.cache_write_tokens) == (300_000, 40_000)
    dollars = 10_000 * 1 + 20_000 * 5 + 300_000 * 0.1 + 25_000 * 1.25 + 15_000 * 2
    assert found.total_usd == pytest.approx(dollars / MILLION)


def test_c_10_tiers_hold_for_each_call(spender: Spender) -> None:
    """claude-sonnet-4-5: 3 dollars per million tokens of input, 6 in requests of more than 200,000."""
    small = [{"input": 100_000, "model": "claude-sonnet-4-5"} for _ in range(3)]
    spender.session("small", *small)
    spender.session("large", {"input": 300_000, "model": "claude-sonnet-4-5"})
    found = spender.manager().total_cost(group_by="session").breakdowns or {}
    assert found["claude:small"].total_usd == pytest.approx(0.9)
    assert found["claude:large"].total_usd == pytest.approx(1.8)


def test_c_10_prices_of_the_time(spender: Spender) -> None:
    """o3 became cheaper on 2025-06-10: 10 and 40 dollars per million tokens before, 2 and 8 from then on."""
    then, now = datetime(2025, 6, 1, tzinfo=UTC), datetime(2025, 7, 1, tzinfo=UTC)
    spender.session(
        "one", {"input": MILLION, "model": "o3", "at": then}, {"input": MILLION, "model": "o3", "at": now}
    )
    assert spender.manager().total_cost().total_usd == pytest.approx(12.0)


def test_c_11_filters(spender: Spender) -> None:
    spender.session("old", {"input": 1}, at=START)
    spender.session("new", {"input": 10, "model": "gpt-5"}, {"input": 100}, at=START + timedelta(days=2))
    spender.run(sessionId="new", tags=["b"])
    manager = spender.manager()
    assert manager.total_cost(since=date(2026, 3, 2)).input_tokens == 110
    assert manager.total_cost(until=date(2026, 3, 1)).input_tokens == 1  # all of that day
    assert manager.total_cost(model="gpt-5").input_tokens == 110  # the session, with all that it used
    assert manager.total_cost(tags=("a", "b")).input_tokens == 110
    assert manager.total_cost(agent="claude").input_tokens == 111
    assert [one.session_id for one in manager.list(tags=("b",))] == ["new"]
    with pytest.raises(ValidationError):
        manager.total_cost(since="yesterday")
    with pytest.raises(ValidationError, match="unknown option"):
        manager.total_cost(colour="red")


# Lists --------------------------------------------------------------------------------------------------------


def test_a_list_in_the_order_of_costs(spender: Spender) -> None:
    for name, tokens in (("a", 5), ("b", 5000), ("c", 500)):
        spender.session(name, {"input": tokens})
    spender.session("d", {"input": 9000, "model": "of-nobody"})
    manager = spender.manager()
    assert [one.session_id for one in manager.list(sort="cost")] == ["b", "c", "a", "d"]
    assert [one.session_id for one in manager.list(sort="cost", sort_direction="asc")] == ["d", "a", "c", "b"]


# Keeping --------------------------------------------------------------------------------------------------------


def test_only_what_changed_is_read_again(spender: Spender, tmp_path: Path) -> None:
    for number in range(5):
        spender.session(f"s{number}", {"input": 10 + number})
    before = tree_hash(spender.home)
    assert spender.manager().total_cost().input_tokens == 60
    METER.reset()
    manager = spender.manager()
    assert manager.total_cost().input_tokens == 60
    assert manager.total_cost(group_by="day").input_tokens == 60
    assert METER.opened == 0
    assert tree_hash(spender.home) == before
    spender.session("s3", {"input": 10}, {"input": 13})
    METER.reset()
    assert manager.total_cost().input_tokens == 70
    assert METER.opened <= 3  # that file: for the list, whether it is of the real layout, for its calls


def test_a_damaged_cache_counts_as_absent(spender: Spender) -> None:
    spender.session("one", {"input": 10})
    spender.manager().total_cost()
    (kept,) = (spender.home.parent / "cache").glob("catalogue-*.msgpack")
    whole = kept.read_bytes()
    for damaged in (b"", whole[:40], whole[:-1], whole[:60] + b"\xff" + whole[61:], b"x" * 100):
        kept.write_bytes(damaged)
        assert spender.manager().total_cost().input_tokens == 10
        assert kept.stat().st_mode & 0o777 == 0o600


def test_other_prices_are_noticed(spender: Spender) -> None:
    spender.session("one", {"input": MILLION})
    assert spender.manager().total_cost().total_usd == pytest.approx(1.0)
    own = spender.manager(None, **{"claude-haiku-4-5": Price(input=4.0, output=1.0)})
    assert own.total_cost().total_usd == pytest.approx(4.0)
    (listed,) = own.list()
    assert listed.cost is not None and listed.cost.total_usd == pytest.approx(4.0)


def test_an_adapter_that_fails_is_a_problem_and_asked_again(
    spender: Spender, monkeypatch: pytest.MonkeyPatch
) -> None:
    from session_adapters.claude.adapter import ClaudeAdapter

    path = spender.session("one", {"input": 10})
    spender.session("two", {"input": 5})
    right = ClaudeAdapter.usage

    def wrong(self: ClaudeAdapter, source: Any, *more: Any) -> Any:
        if source.session_id == "one":
            raise RuntimeError("boom")
        return right(self, source, *more)

    monkeypatch.setattr(ClaudeAdapter, "usage", wrong)
    manager = spender.manager()
    assert manager.total_cost().input_tokens == 5
    (problem,) = manager.costs.problems
    assert problem.path == str(path) and "boom" in problem.reason
    monkeypatch.setattr(ClaudeAdapter, "usage", right)
    assert spender.manager().total_cost().input_tokens == 15
