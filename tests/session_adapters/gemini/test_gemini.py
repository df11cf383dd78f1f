"""Every session of the sample stores, compared with what plain lines read from the same files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gemini_samples import (
    EVERY,
    SAMPLES,
    Plain,
    adapter,
    calls_of,
    got,
    listed,
    plain,
    raw_id,
    responses,
    session_files,
    text_of,
)
from session_adapters.base import Capabilities
from session_adapters.model import Session, TokenUsage
from session_adapters.times import parse_time
from support import STORES

EXPECTED: list[tuple[str, dict[str, Any]]] = [
    (sample, entry)
    for sample, name in (("home", "expected.json"), ("older", "expected.older.json"))
    for entry in json.loads((STORES / "gemini" / name).read_text())
]
REAL = [(sample, session_id) for sample, session_id in EVERY if sample != "spec-layout"]


def raw(sample: str, session_id: str) -> Plain:
    return plain(next(path for path in session_files(SAMPLES[sample]) if raw_id(path) == session_id))


def read(sample: str, session_id: str) -> Session:
    return got(adapter(SAMPLES[sample]), session_id)


@pytest.mark.parametrize("sample", SAMPLES)
def test_each_session_once(sample: str) -> None:
    assert sorted(listed(adapter(SAMPLES[sample]))) == [session_id for name, session_id in EVERY if name == sample]


@pytest.mark.parametrize(("sample", "want"), EXPECTED, ids=[entry["file"][-30:] for _, entry in EXPECTED])
def test_the_recorded_expectations(sample: str, want: dict[str, Any]) -> None:
    session = read(sample, want["id"])
    assert session.kind == ("subagent" if want["kind"] == "subagent" else "session")
    assert session.parent_id == want["subagent_of"]
    # The copy in the folder named by a hash has no root of its own; hashing the known directories tells it.
    assert session.cwd == (want["project_root"] or "/home/dev/shop")
    assert session.created_at == parse_time(want["start"])
    assert session.raw.get("resumed", 0) == max(0, want["headers"] - 1)
    prompts = [message.content for message in session.messages if message.is_prompt]
    assert [text[:80] for text in prompts] == want["user_prompts_logged"]
    assert session.tool_call_count == want["tool_calls_logged"]
    assert sorted(session.models) == want["models"]
    replies = [message for message in session.messages if message.usage_key]
    assert len(replies) == want["tokens"]["messages"] == want["gemini_messages_logged"]
    tokens = session.tokens
    assert tokens is not None
    assert tokens.input_tokens + tokens.cached_tokens == want["tokens"]["input"]
    assert tokens.cached_tokens == want["tokens"]["cached"]
    assert tokens.output_tokens == want["tokens"]["output"] + want["tokens"]["thoughts"]
    assert tokens.thinking_tokens == want["tokens"]["thoughts"]
    assert len(raw(sample, want["id"]).view) == want["final_view_messages"]


def told(record: dict[str, Any], answered: set[str]) -> list[tuple[Any, ...]]:
    """What a record of the final view is to show as: results once (a restored list has each twice), nothing for an
    info without text."""
    if record["type"] == "user":
        shown: list[tuple[Any, ...]] = []
        for result in responses(record):
            if result["id"] not in answered:
                answered.add(result["id"])
                shown.append(("tool", result["id"]))
        return shown or ([("user", text_of(record))] if not responses(record) else [])
    if record["type"] == "gemini":
        return [("assistant", text_of(record), tuple(calls_of(record)))]
    return [("system", text_of(record))] if text_of(record) else []


@pytest.mark.parametrize(("sample", "session_id"), REAL)
def test_the_final_view_is_what_stands(sample: str, session_id: str) -> None:
    answered: set[str] = set()
    want = [one for record in raw(sample, session_id).view for one in told(record, answered)]
    have: list[tuple[Any, ...]] = []
    for message in read(sample, session_id).messages:
        if message.visibility != "live" or message.kind == "compaction":
            continue
        if message.tool_result is not None:
            have.append(("tool", message.tool_result.tool_call_id))
        elif message.role == "assistant":
            have.append(("assistant", message.content, tuple(call.tool_call_id for call in message.tool_calls)))
        else:
            have.append((message.role, message.content))
    assert have == want


@pytest.mark.parametrize(("sample", "session_id"), REAL)
def test_everything_that_was_logged_is_there_with_its_details(sample: str, session_id: str) -> None:
    session = read(sample, session_id)
    found = {message.id: message for message in session.messages}
    for message_id, record in raw(sample, session_id).last().items():
        if record["type"] == "info" and not text_of(record):
            continue
        message = found[message_id]
        assert message.content == ("" if responses(record) else text_of(record))
        assert message.timestamp == parse_time(record["timestamp"])
        assert message.model == record.get("model")
        thoughts = "\n\n".join(thought["description"] for thought in record.get("thoughts") or ())
        assert (message.thinking or "") == thoughts
        for call, one in zip(message.tool_calls, record.get("toolCalls") or (), strict=True):
            answer = one["result"][0]["functionResponse"]["response"]
            assert (call.tool_name, call.input) == (one["name"], one["args"])
            assert call.output == answer.get("output", answer.get("error"))
            assert call.subagent_id == one.get("agentId")
        if tokens := record.get("tokens"):
            assert message.token_usage == TokenUsage(
                input_tokens=tokens["input"] - tokens["cached"],
                output_tokens=tokens["output"] + tokens["thoughts"],
                cached_tokens=tokens["cached"],
                thinking_tokens=tokens["thoughts"],
            )
            assert message.token_usage.total == tokens["total"]


@pytest.mark.parametrize(("sample", "session_id"), REAL)
def test_the_list_agrees_with_the_session(sample: str, session_id: str) -> None:
    session = read(sample, session_id)
    summary = listed(adapter(SAMPLES[sample]))[session_id]
    for name in type(summary).__struct_fields__:
        assert getattr(session, name) == getattr(summary, name), name
    records = raw(sample, session_id)
    times = [parse_time(record["timestamp"]) for record in records.records]
    assert summary.updated_at == max(time for time in times if time is not None)
    models = Counter(record["model"] for record in records.last().values() if record.get("model"))
    assert summary.model == models.most_common(1)[0][0]
    first = next(text_of(r) for r in records.records if r["type"] == "user" and not responses(r))
    assert summary.title == first[:100]
    assert summary.git_branch is None
    assert summary.cost is None


def test_results_are_linked_with_their_calls() -> None:
    session = read("home", "dbd07463-9f3b-4525-8edb-6a43bfbcfdcd")
    results = [message.tool_result for message in session.messages if message.tool_result]
    calls = {call.tool_call_id: call for message in session.messages for call in message.tool_calls}
    assert len(results) == len(calls) == 6
    for result in results:
        assert result.linked
        assert result.tool_name == calls[result.tool_call_id].tool_name
        assert result.output == calls[result.tool_call_id].output


def test_failed_calls_are_marked() -> None:
    # 0.61 says `success` of a shell command that ended with exit code 3.
    (failed,) = (c for m in read("home", "1b4fccf3-329c-4826-a1f9-aac6352e4932").messages for c in m.tool_calls)
    assert failed.is_error
    assert "Exit Code: 3" in failed.output
    older = read("older", "eba432a9-ce39-4b32-bdd6-f1b9b1aa7782")
    status = {
        call["id"]: call["status"] == "error"
        for record in raw("older", older.session_id).records
        for call in record.get("toolCalls", ())
    }
    assert {c.tool_call_id: c.is_error for m in older.messages for c in m.tool_calls} == status
    assert sum(status.values()) == 3


def test_a_helper_is_under_its_parent() -> None:
    parent = read("home", "6e351249-9fd4-4432-986d-bed2ba2a932c")
    (called,) = (call for message in parent.messages for call in message.tool_calls)
    helper = read("home", "81535ab9-f2cf-4b09-b017-84781b2aa6b7")
    assert called.subagent_id == helper.session_id
    assert (helper.kind, helper.parent_id) == ("subagent", parent.session_id)


def test_a_compressed_conversation_keeps_its_earlier_part() -> None:
    messages = read("home", "814f6311-497c-4ad1-a040-a639a4862caa").messages
    kinds = [message.kind for message in messages]
    at = kinds.index("compaction")
    assert kinds[at + 1] == "summary"
    assert messages[at + 1].content.startswith("<state_snapshot>")
    assert {m.visibility for m in messages[1:at]} == {"compacted"}
    # What was kept got new ids, and lost its tokens, in the log; it is still shown once, with both.
    prompts = [message.content for message in messages if message.is_prompt]
    assert prompts == ["List the files in this project", "Make a todo list", "Tell me something short"]
    assert all(
        message.token_usage for message in messages if message.role == "assistant" and message.kind == "message"
    )


def test_a_prompt_whose_turn_failed_is_shown_as_taken_back() -> None:
    session = read("home", "1b4fccf3-329c-4826-a1f9-aac6352e4932")
    assert (session.messages[-1].content, session.messages[-1].visibility) == ("fail hard please", "rewound")
    assert session.turn_count == 1


def test_what_describes_the_workspace_is_no_prompt() -> None:
    session = read("home", "219c5e65-c96c-431d-ad55-2e1c5fa5872b")
    assert session.messages[0].content.startswith("<session_context>")
    assert session.messages[0].kind == "notice"
    assert session.title == "unicode and emoji test"


def test_the_layout_of_the_document() -> None:
    path = STORES / "gemini/spec-layout/home/.gemini/sessions/5c0ffee0.jsonl"
    asked, said = (json.loads(row) for row in path.read_text().splitlines())
    session = read("spec-layout", "5c0ffee0")
    assert [(m.role, m.content) for m in session.messages] == [
        ("user", asked["content"]),
        ("assistant", said["content"]),
    ]
    assert session.messages[1].timestamp == parse_time(said["timestamp"])
    assert (session.created_at, session.updated_at) == (parse_time(asked["timestamp"]), parse_time(said["timestamp"]))
    assert session.tokens == TokenUsage(
        input_tokens=said["usage"]["promptTokenCount"], output_tokens=said["usage"]["candidatesTokenCount"]
    )
    assert (session.model, session.title, session.turn_count) == (said["model"], asked["content"], 1)
    (safety,) = session.raw["safety"]
    assert safety["messageId"] == session.messages[1].id
    assert (safety["safetyRatings"], safety["finishReason"]) == (said["safetyRatings"], said["finishReason"])


def test_what_gemini_can_do() -> None:
    reader = adapter(Path("/nowhere"))
    assert reader.capabilities == Capabilities(session_persistence="file", can_resume=True, can_fork=False)
    assert (reader.name, reader.label, reader.badge) == ("gemini", "Gemini CLI", "gm")
    assert reader.live() == {}
