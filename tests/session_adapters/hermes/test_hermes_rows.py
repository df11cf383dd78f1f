"""What Hermes' rows mean, on databases made for the purpose: lineage, tips, turns, cost, text that is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from calls import calls_in
from hermes_store import Store, listed
from session_adapters.hermes import lineage
from session_adapters.model import Problem


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "own")
    with closing(made.connection):
        yield made


def test_lineage_ends_at_cycles_and_missing_parents(own: Store) -> None:
    ended: dict[str, object] = {"end_reason": "compression", "ended_at": 1.0}
    own.session("a", parent_session_id="c", **ended)
    own.session("b", parent_session_id="a", **ended)
    own.session("c", parent_session_id="b", **ended)
    own.session("self", parent_session_id="self", **ended)
    own.session("orphan", parent_session_id="gone")
    own.session("tail", parent_session_id="c")
    own.session("lost helper", model_config='{"_delegate_from": "__orphaned__"}')
    own.session("new", parent_session_id="old")
    own.session("old", end_reason="session_reset", ended_at=1.0)
    own.session("branch", parent_session_id="left", started_at=20.0)
    own.session("early", parent_session_id="left", started_at=5.0)
    own.session("left", end_reason="branched", ended_at=10.0)
    own.session("tool", source="tool", parent_session_id="c")
    found = listed(own.adapter)
    assert {key: (found[key].kind, found[key].lineage_id) for key in found} == {
        "a": ("continuation", None),
        "b": ("continuation", None),
        "c": ("continuation", None),
        "tail": ("continuation", None),
        "self": ("session", None),
        "orphan": ("session", None),
        "lost helper": ("subagent", None),
        "new": ("session", None),
        "old": ("session", None),
        "branch": ("fork", None),
        "early": ("session", None),
        "left": ("session", None),
        "tool": ("subagent", None),
    }
    assert (found["orphan"].parent_id, found["new"].parent_id, found["branch"].forked_from) == ("gone", "old", "left")
    assert found["lost helper"].parent_id is None
    for session_id in found:
        assert own.get(session_id).raw == found[session_id].raw


def test_the_tip_is_picked_as_hermes_picks_it(own: Store) -> None:
    own.session("root", end_reason="compression", ended_at=2.0)
    children: tuple[dict[str, object], ...] = (
        {"end_reason": "agent_close", "ended_at": 9.0},
        {},
        {"model_config": '{"_branched_from": "root"}'},
        {"source": "tool"},
    )
    for number, columns in enumerate(children):
        own.session(f"child {number}", parent_session_id="root", **columns)
        own.say(f"child {number}", "user", "x", timestamp=1_780_000_000 + 1000 * (9 - number))
    assert listed(own.adapter)["root"].raw["tip"] == "child 1"
    own.session("child 4", parent_session_id="root")
    own.say("child 4", "user", "later", timestamp=1_790_000_000)
    assert listed(own.adapter)["root"].raw["tip"] == "child 4"
    own.session("child 5", parent_session_id="root", end_reason="compression", ended_at=3.0)
    own.session("grandchild", parent_session_id="child 5")
    assert listed(own.adapter)["root"].raw["tip"] == "grandchild"
    assert own.get("root").raw["tip"] == "grandchild"
    assert own.get("grandchild").lineage_id == "root"


def test_prompts_written_again_by_compaction_are_counted_once(own: Store) -> None:
    own.session("s")
    for text in ("one", "two", "three"):
        own.say("s", "user", text, active=0, compacted=1)
        own.say("s", "assistant", "answer", active=0, compacted=1)
    own.say("s", "user", "[CONTEXT COMPACTION — REFERENCE ONLY] …")
    own.say("s", "user", "three")
    own.say("s", "assistant", "answer")
    own.say("s", "user", "four")
    own.say("s", "assistant", "answer")
    own.say("s", "user", "five, unanswered")
    assert own.get("s").turn_count == 4
    assert own.get("s").message_count == 12


def test_text_that_is_none_does_not_lose_its_row(own: Store) -> None:
    own.session("s", model=b"\xff\xfe", title=7, input_tokens="many", ended_at="never")
    own.say("s", "user", b"\xc3( blob \x00 nul")
    own.connection.execute("UPDATE messages SET content = CAST(x'ff41004280' AS TEXT)")
    own.say("s", "assistant", "before\x00after", tool_calls="[{broken")
    own.say("s", "robot", 12)
    own.say("s", "tool", None, tool_call_id=None, timestamp="noon")
    session = own.get("s")
    assert [message.content for message in session.messages] == ["\ufffdA\x00B\ufffd", "before\x00after", "12", ""]
    assert [message.role for message in session.messages] == ["user", "assistant", "system", "tool"]
    (call,) = session.messages[1].tool_calls
    assert (call.input, call.tool_name) == ("[{broken", "")
    assert session.warnings == listed(own.adapter)["s"].warnings == 1
    assert session.tool_call_count == 1
    assert session.title == "7"
    assert session.tokens is None
    (problem,) = own.open("s").problems
    assert (problem.place, problem.session_id) == ("message 2", "s")


def test_a_huge_message_is_named_and_not_held(own: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session_adapters.hermes.message_queries.CONTENT_LIMIT", 1000)
    own.session("s")
    own.say("s", "user", "a" * 1001)
    own.say("s", "assistant", "b" * 1000)
    session = own.get("s")
    assert [len(message.content) for message in session.messages] == [0, 1000]
    assert session.warnings == 1
    assert "too large" in own.open("s").problems[0].reason


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"estimated_cost_usd": 0.0, "cost_status": "unknown"}, None),
        ({"estimated_cost_usd": None, "cost_status": None}, None),
        ({"estimated_cost_usd": 0.5, "actual_cost_usd": 0.0, "cost_status": "estimated"}, (0.5, True)),
        ({"estimated_cost_usd": 0.5, "actual_cost_usd": 0.7, "cost_status": "actual"}, (0.7, False)),
        ({"estimated_cost_usd": 0.0, "cost_status": "included"}, (0.0, False)),
        ({"estimated_cost_usd": 0.2, "cost_status": None}, (0.2, True)),
    ],
)
def test_cost_is_what_hermes_knows(
    own: Store, columns: dict[str, object], expected: tuple[float, bool] | None
) -> None:
    own.session("s", **columns)
    cost = own.get("s").cost
    assert (cost and (cost.total_usd, cost.estimated)) == expected


@pytest.mark.parametrize(("paid", "expected"), [(0.0, (0.75, True)), (0.2, (0.9, False))])
def test_what_helpers_cost_is_added(own: Store, paid: float, expected: tuple[float, bool]) -> None:
    """Their calls stand in `session_model_usage` alone; the conversation's own stand there once more."""
    own.connection.execute(
        "CREATE TABLE session_model_usage (session_id TEXT, model TEXT, task TEXT, estimated_cost_usd REAL,"
        " actual_cost_usd REAL)"
    )
    own.session("s", actual_cost_usd=0.7, cost_status="actual")
    rows = [("s", "m", "", 0.6, 0.7), ("s", "small", "vision", 0.05, paid)]
    own.connection.executemany("INSERT INTO session_model_usage VALUES (?, ?, ?, ?, ?)", rows)
    for cost in (own.get("s").cost, listed(own.adapter)["s"].cost):
        assert cost is not None
        assert (round(cost.total_usd, 6), cost.estimated) == expected


def test_what_was_overheard_is_no_prompt(own: Store) -> None:
    own.connection.execute("ALTER TABLE messages ADD COLUMN observed INTEGER")
    own.session("s")
    own.say("s", "user", "said among others", observed=1)
    own.say("s", "assistant", "not for them")
    own.say("s", "user", "said to the agent")
    own.say("s", "assistant", "answer")
    found = listed(own.adapter)["s"]
    assert (found.turn_count, found.preview) == (1, "said to the agent")
    assert [message.kind for message in own.get("s").messages] == ["notice", "message", "message", "message"]


@pytest.mark.parametrize(
    ("column", "item"),
    [
        ("reasoning_details", {"type": "reasoning.text", "text": "why"}),
        ("reasoning_details", {"type": "reasoning.summary", "summary": "why"}),
        ("reasoning_details", {"thinking": "why", "signature": "c2ln"}),
        ("codex_reasoning_items", {"summary": [{"type": "summary_text", "text": "why"}], "encrypted_content": "x"}),
        ("codex_reasoning_items", {"content": [{"type": "reasoning_text", "text": "why"}]}),
    ],
)
def test_thinking_in_every_providers_form(own: Store, column: str, item: dict[str, object]) -> None:
    own.connection.execute(f"ALTER TABLE messages ADD COLUMN {column} TEXT")
    own.session("s")
    own.say("s", "assistant", "answer", **{column: json.dumps([item])})
    assert own.get("s").messages[0].thinking == "why"


def test_messages_without_a_session_are_reported(own: Store, problems: list[Problem]) -> None:
    own.say("deleted", "user", "x")
    (source,) = own.adapter.sources(problems.append)
    assert own.adapter.summaries(source, problems.append) == []
    assert [problem.reason for problem in problems] == ["1 messages belong to no session that there is"]


def test_a_long_chain_is_walked_once(own: Store) -> None:
    """A conversation that was compressed 500 times: asked a few times per part, not once per pair."""
    parts = [f"part {number:03}" for number in range(500)]
    for before, part in zip([None, *parts], parts, strict=False):
        own.session(part, parent_session_id=before, end_reason="compression", ended_at=1.0)
    with calls_in(lineage) as calls:
        found = listed(own.adapter)
    assert {found[part].lineage_id for part in parts[1:]} == {parts[0]}
    assert {found[part].raw["tip"] for part in parts[:-1]} == {parts[-1]}
    assert 0 < len(calls) <= 20 * len(parts)
