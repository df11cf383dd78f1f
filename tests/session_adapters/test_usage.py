"""`Adapter.usage`: what calls used, of all sessions in a source or of one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from chances import TIMES, chance
from session_adapters.base import Environment
from session_adapters.model import Problem, TokenUsage
from session_adapters.registry import adapter_class
from session_adapters.usage import Calls, Usage


def test_a_session_alone(store: Callable[..., Path], problems: list[Problem]) -> None:
    for agent in ("claude", "codex", "hermes"):
        adapter = adapter_class(agent)(Environment(home=store(agent, "home")))
        for source in adapter.sources(problems.append):
            every = Counter(one.session_id for one in adapter.usage(source, problems.append))
            for session_id, number in every.items():
                found = list(adapter.usage(source, problems.append, [session_id]))
                assert [one.session_id for one in found] == [session_id] * number
            assert list(adapter.usage(source, problems.append, ["not there"])) == []
    assert problems == []


def test_hermes_tokens_and_dollars_are_those_of_its_tables(
    store: Callable[..., Path], problems: list[Problem]
) -> None:
    home = store("hermes", "home")
    adapter = adapter_class("hermes")(Environment(home=home))
    tokens, usd = 0, 0.0
    for source in adapter.sources(problems.append):
        if not source.path.endswith(".db"):
            continue
        found = list(adapter.usage(source, problems.append))
        summaries = {one.session_id: one for one in adapter.summaries(source, problems.append)}
        for session_id, summary in summaries.items():
            mine = [one for one in found if one.session_id == session_id]
            assert sum(one.tokens.total for one in mine) == (summary.tokens.total if summary.tokens else 0)
            recorded = [one.usd for one in mine if one.usd is not None]
            assert sum(recorded) == pytest.approx(summary.cost.total_usd if summary.cost else 0.0, abs=0.011)
        tokens += sum(one.tokens.total for one in found)
        usd += sum(one.usd or 0.0 for one in found)
    copy = home / ".hermes" / "state.db"
    connection = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    query = "SELECT sum(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens) FROM sessions"
    ((in_table,),) = connection.execute(query).fetchall()
    assert isinstance(in_table, int) and tokens >= in_table > 0
    connection.close()
    assert usd > 1


def test_what_cannot_be_read_is_reported(tmp_path: Path, store: Callable[..., Path], problems: list[Problem]) -> None:
    for agent in ("claude", "codex", "hermes"):
        adapter = adapter_class(agent)(Environment(home=store(agent, "home")))
        source = next(iter(adapter.sources(problems.append)))
        path = Path(source.path)
        path.unlink()
        assert list(adapter.usage(source, problems.append)) == []  # gone, as the list will say
        assert problems == []
        path.mkdir()
        assert list(adapter.usage(source, problems.append)) == []
        (problem,) = problems
        assert problem.path == source.path
        problems.clear()


def test_the_last_usage_of_a_reply_counts_and_damage_hides_no_neighbour(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "projects" / "-srv" / "one.jsonl"
    path.parent.mkdir(parents=True)

    def line(uuid: str, message: str, output: int) -> str:
        usage = {"input_tokens": 3, "output_tokens": output}
        body = {"id": message, "model": "m", "usage": usage, "content": []}
        return json.dumps({"type": "assistant", "uuid": uuid, "timestamp": "2026-03-01T12:00:00Z", "message": body})

    path.write_text("\n".join([line("a", "m1", 1), '{"usage": torn', line("b", "m1", 9), line("c", "m2", 5)]) + "\n")
    adapter = adapter_class("claude")(Environment(home=tmp_path))
    (source,) = adapter.sources(lambda problem: None)
    found = {one.key: one.output_tokens for one in adapter.usage(source, lambda problem: None)}
    assert found == {"m1": 9, "m2": 5}


@pytest.mark.parametrize("odd", [0, 2**70], ids=["usual numbers", "one that cannot be packed"])
def test_calls_are_as_in_a_dictionary(odd: int) -> None:
    """However long ago a call came that is said again, and whatever a copy is given."""
    dice, calls, plain = chance(7), Calls(), dict[str, Usage]()
    copies: list[tuple[Calls, list[Usage]]] = []
    for number in range(5000 * TIMES):
        key = f"call {number}" if dice.random() < 0.99 else f"call {dice.randrange(number + 1)}"
        assert (key in calls) == (key in plain)
        assert calls.get(key) == plain.get(key)
        call = Usage("one", key, float(number), "model", odd if number == 700 else number)
        calls.put(key, call)
        plain[key] = call
        if number % 1250 == 0:
            copies.append((calls.copy(), list(plain.values())))
    assert list(calls) == list(plain.values())
    assert len(calls) == len(plain)
    for copy, before in copies:
        assert list(copy) == before
        copy.put("another", Usage("one", "another"))
    assert "another" not in calls


@pytest.mark.parametrize("number", [-1, 10**16, 2**63, 10**400])
def test_a_figure_that_cannot_be_is_none(number: int) -> None:
    """No sum could be told with it: one ended every command that adds up."""
    call = Usage("one", "k", None, "m", number, 2, number, 4, 5, number)
    assert call.tokens == TokenUsage(input_tokens=0, output_tokens=2, cache_write_tokens=4, thinking_tokens=5)
    assert TokenUsage(input_tokens=1, output_tokens=number) == TokenUsage(input_tokens=1)
