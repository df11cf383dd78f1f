"""Claude Code's sessions, compared with the stores that three of its versions wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from claude_samples import (
    EVERY,
    SAMPLES,
    adapter,
    got,
    listed,
    never,
    raw_lines,
    turns,
)
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.model import TokenUsage
from session_adapters.registry import adapter_class
from support import STORES


def expected() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, file in (("home", "expected.json"), ("older", "expected.older.json")):
        for entry in json.loads((STORES / "claude" / file).read_text()):
            if not entry.get("empty"):
                yield name, entry


EXPECTED = list(expected())


def test_the_registry_gives_this_adapter() -> None:
    assert adapter_class("claude") is ClaudeAdapter


@pytest.mark.parametrize("name", SAMPLES)
def test_every_file_is_listed_but_the_empty_one(name: str) -> None:
    wanted = {path.stem for path in SAMPLES[name].rglob("projects/**/*.jsonl") if path.stat().st_size}
    assert len(wanted) == {"home": 12, "older": 11, "spec-layout": 2}[name]
    assert set(listed(adapter(SAMPLES[name]))) == wanted


@pytest.mark.parametrize(("name", "want"), EXPECTED, ids=[entry["id"][:8] for _, entry in EXPECTED])
def test_a_session_is_what_the_reference_reader_says(name: str, want: dict[str, Any]) -> None:
    reader = adapter(SAMPLES[name])
    summary, session = listed(reader)[want["id"]], got(reader, want["id"])
    said = [m for m in session.messages if m.role == "assistant" and m.kind == "message"]
    tokens = want["tokens_owned"]
    assert [m.content for m in session.messages if m.is_prompt] == want["user_prompts"]
    (parent,) = {want["forked_from"], *want.get("shares_messages_with", ())} - {None} or {None}
    theirs = [prompt for _, one in EXPECTED if one["id"] == parent for prompt in one["user_prompts"]]
    own = [prompt for prompt in want["user_prompts"] if prompt not in theirs]
    assert summary.preview == own[0]
    assert summary.title == (want["custom_title"] or want["ai_title"] or want["first_prompt"])
    assert len(said) == want["assistant_messages"]
    assert summary.tool_call_count == want["tool_calls"] == sum(len(m.tool_calls) for m in session.messages)
    assert sum(m.kind == "error" for m in session.messages) == want["api_errors"]
    assert set(summary.models) == set(want["models"]) == {m.model for m in said}
    assert summary.raw["cwds"] == want["cwds"]
    assert summary.cwd == want["cwds"][-1]
    assert summary.raw.get("branches", []) == want["branches"]
    assert sum(m.kind == "compaction" for m in session.messages) == want["compactions"]
    assert summary.created_at == datetime.fromisoformat(want["created"])
    assert summary.tokens is not None
    assert (summary.tokens.input_tokens, summary.tokens.output_tokens) == (tokens["input"], tokens["output"])
    assert (summary.tokens.cached_tokens, summary.tokens.cache_write_tokens) == (
        tokens["cache_read"],
        tokens["cache_write"],
    )


FORKS_WITHOUT_A_RECORD = {
    # The reference reader takes `forkedFrom` alone, which `-p --fork-session` (2.1.329 and 2.0.72) and the resume of
    # 1.0.51 do not write. It sees them all the same: they are the `shares_messages_with` of the same file.
    "c9a5af63-90a2-4935-9317-2ffbce3e3b60",
    "b9dc33d7-b3a4-4bce-82c1-514bc057e30c",
    "cecd8512-f780-40e9-8272-85103e5cb76d",
}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("name", "want"), EXPECTED, ids=[entry["id"][:8] for _, entry in EXPECTED])
def test_forks_name_their_parent(name: str, want: dict[str, Any], exact: bool) -> None:
    summary = listed(adapter(SAMPLES[name]), exact=exact)[want["id"]]
    shares = want.get("shares_messages_with", [])
    assert (want["id"] in FORKS_WITHOUT_A_RECORD) == bool(shares)
    parent = want["forked_from"] or (shares[0] if shares else None)
    assert (summary.forked_from, summary.parent_id, summary.lineage_id) == (parent, parent, parent)
    assert summary.kind == ("fork" if parent else "session")


@pytest.mark.parametrize("name", SAMPLES)
def test_tokens_counted_once_over_all_files_are_what_was_spent(name: str) -> None:
    """Every model call of every file, each once by `message.id`, whichever copies hold it. In the document's layout
    `cost` events say what was used."""
    calls: dict[str, dict[str, Any]] = {}
    for path in SAMPLES[name].rglob("projects/**/*.jsonl"):
        costs = [record for record in raw_lines(path) if record.get("type") == "cost"]
        if costs:
            names = ("inputTokens", "outputTokens", "cachedTokens", "")
            used = (sum(record.get(name, 0) for record in costs) for name in names)
            calls[path.stem] = dict(zip(USAGE_FIELDS, used, strict=True))
        for record in raw_lines(path):
            message = record.get("message")
            if record.get("type") == "assistant" and message and message["model"] != "<synthetic>":
                calls[message["id"]] = message["usage"]
    reader = adapter(SAMPLES[name])
    ours: dict[str, TokenUsage] = {}
    for session_id in listed(reader):
        for message in got(reader, session_id).messages:
            if message.token_usage:
                ours[session_id if message.usage_key.startswith("@") else message.usage_key] = message.token_usage
    assert {
        key: (u.input_tokens, u.output_tokens, u.cached_tokens, u.cache_write_tokens) for key, u in ours.items()
    } == {key: tuple(usage[field] for field in USAGE_FIELDS) for key, usage in calls.items()}


USAGE_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@pytest.mark.parametrize(("name", "session_id"), EVERY)
def test_texts_and_tools_are_those_of_the_raw_lines(name: str, session_id: str) -> None:
    """Every text, call and result of the file is there, in order, once."""
    session = got(adapter(SAMPLES[name]), session_id)
    texts: list[str] = []
    calls: list[tuple[Any, ...]] = []
    results: list[str] = []
    for record in raw_lines(session.path):
        kind, message = record.get("type"), record.get("message", record)
        if kind not in ("user", "assistant", "tool_use"):
            continue
        if kind == "tool_use":
            calls.append((record["toolCallId"], record["toolName"], record["input"]))
        content = message.get("content")
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content or ():
            if block["type"] == "text" and kind == "assistant":
                texts.append(block["text"])
            elif block["type"] == "tool_use":
                calls.append((block["id"], block["name"], block["input"]))
            elif block["type"] == "tool_result":
                results.append(block["tool_use_id"])
    messages = session.messages
    assert "\n\n".join(m.content for m in messages if m.role == "assistant" and m.content) == "\n\n".join(texts)
    ours = [(c.tool_call_id, c.tool_name, c.input) for m in messages for c in m.tool_calls]
    assert ours == calls
    assert [m.tool_result.tool_call_id for m in messages if m.tool_result] == results
    assert all(m.tool_result.linked and m.tool_result.tool_name for m in messages if m.tool_result)
    assert all(c.output is not None for m in messages for c in m.tool_calls)
    assert len({m.id for m in messages}) == len(messages)


@pytest.mark.parametrize(("name", "session_id"), EVERY)
def test_list_and_get_agree(name: str, session_id: str) -> None:
    reader = adapter(SAMPLES[name])
    source = reader.find(session_id)
    assert source is not None
    (summary,) = reader.summaries(source, never, exact=True)
    session = reader.session(source, session_id)
    assert {key: getattr(session, key) for key in asdict(summary)} == asdict(summary)
    assert summary.message_count == len(session.messages)
    assert summary.turn_count == turns(session.messages)
    spent = {m.usage_key: m.token_usage for m in session.messages if m.token_usage and not m.inherited}
    total = sum(spent.values(), TokenUsage())
    assert (summary.tokens or TokenUsage()) == total


def test_helpers_belong_to_their_session_and_to_the_call_that_started_them() -> None:
    reader = adapter(SAMPLES["home"])
    summaries = listed(reader)
    parent = "677bcb80-64fb-432d-b58a-3a648e106e84"
    helpers = {s.session_id: s for s in summaries.values() if s.parent_id == parent}
    folder = SAMPLES["home"] / f".claude/projects/-home-dev-shop/{parent}/subagents"
    for path in folder.glob("*.meta.json"):
        meta = json.loads(path.read_text())
        helper = helpers[path.name.removesuffix(".meta.json")]
        assert (helper.kind, helper.title, helper.raw["agentType"]) == (
            "subagent",
            meta["description"],
            meta["agentType"],
        )
        assert helper.forked_from is None
        (call,) = (
            c for m in got(reader, parent).messages for c in m.tool_calls if c.tool_call_id == meta["toolUseId"]
        )
        assert call.subagent_id == helper.session_id
    assert len(helpers) == 3


def test_helpers_beside_the_sessions_belong_to_the_session_they_name() -> None:
    reader = adapter(SAMPLES["older"])
    summaries = listed(reader)
    for _, want in (entry for entry in EXPECTED if entry[0] == "older"):
        wanted = {Path(file).stem for file in want["subagent_files"]}
        assert {
            s.session_id for s in summaries.values() if s.parent_id == want["id"] and s.kind == "subagent"
        } == wanted
    calls = [c for m in got(reader, "b9dc33d7-b3a4-4bce-82c1-514bc057e30c").messages for c in m.tool_calls]
    assert [c.subagent_id for c in calls if c.subagent_id] == ["agent-a63bfba"]
    # Two helpers name a session whose own file has zero bytes.
    assert sum(s.parent_id == "bfade7ba-95d2-425a-ac14-156e086f5dae" for s in summaries.values()) == 2


def test_the_layout_of_the_document() -> None:
    reader = adapter(SAMPLES["spec-layout"])
    session = got(reader, "a1b2c3d4")
    assert [(m.role, m.content) for m in session.messages] == [
        ("user", "Refactor the auth middleware"),
        ("assistant", "Done: the middleware is one function now."),
        ("assistant", ""),
    ]
    (call,) = session.messages[2].tool_calls
    assert (call.tool_name, call.input, call.output, call.duration_ms) == (
        "Bash",
        {"command": "ls"},
        "pricing.py",
        12,
    )
    assert session.cost is not None
    assert session.cost.total_usd == pytest.approx(0.0223)
    assert not session.cost.estimated
    assert session.messages[2].cost == session.cost
    assert (session.cost.input_tokens, session.cost.output_tokens, session.cost.cached_tokens) == (2100, 120, 300)
    assert session.models == ("claude-sonnet-4",)
    assert listed(reader)["a1b2c3d4-fork"].forked_from == "a1b2c3d4"
    assert not any(m.inherited for m in got(reader, "a1b2c3d4-fork").messages)


def test_a_branch_marks_what_it_copied() -> None:
    session = got(adapter(SAMPLES["home"]), "c5913218-cbc9-45db-8802-8f268fa64577")
    own = [m for m in session.messages if not m.inherited]
    (want,) = (entry for _, entry in EXPECTED if entry["id"] == session.session_id)
    assert [m.content for m in own if m.is_prompt] == ["Make a todo list"]
    assert sum(m.role == "assistant" for m in own) == want["tokens_owned"]["messages"]
    assert (
        sum((m.token_usage for m in own if m.token_usage), TokenUsage()).input_tokens == want["tokens_owned"]["input"]
    )
    # `session_id` (snake) is no sign of a copy: the process goes on writing its first session's id there.
    assert any(
        r["type"] == "assistant" and r.get("session_id") != r["sessionId"] and "forkedFrom" not in r
        for r in raw_lines(session.path)
    )


def test_request_logs_and_injected_context_are_no_messages() -> None:
    for name, session_id in EVERY:
        for message in got(adapter(SAMPLES[name]), session_id).messages:
            assert "<total_tokens>" not in message.content
    path = got(adapter(SAMPLES["home"]), "677bcb80-64fb-432d-b58a-3a648e106e84").path
    assert {"api-request-blob", "attachment", "queue-operation"} <= {r["type"] for r in raw_lines(path)}


def test_a_compaction_says_what_it_did() -> None:
    session = got(adapter(SAMPLES["home"]), "e83ad329-19e8-4541-be44-22c2ad4a47cf")
    index = next(i for i, m in enumerate(session.messages) if m.kind == "compaction")
    assert session.messages[index].role == "system"
    assert session.messages[index].content == "Conversation compacted (manual): 11592 → 2844 tokens"
    assert session.messages[index + 1].kind == "summary"
    assert session.messages[index + 1].content.startswith("This session is being continued")
    assert any(m.is_prompt for m in session.messages[:index])  # what was compacted is still there


def test_failed_calls() -> None:
    session = got(adapter(SAMPLES["home"]), "e1d05390-abe4-4794-ac31-6f0601b093f1")
    assert session.error
    last = session.messages[-1]
    assert (last.kind, last.content, last.model) == ("error", "API Error: 400 prompt is malformed (mock)", None)
    assert "529 Overloaded; retry 1 of 10" in [m.content for m in session.messages if m.kind == "notice"]
    failed = [c for m in session.messages for c in m.tool_calls if c.is_error]
    assert len(failed) == 1
    assert session.turn_count == 2  # the third prompt got no answer


def test_slash_commands_read_as_they_were_typed() -> None:
    session = got(adapter(SAMPLES["home"]), "c5913218-cbc9-45db-8802-8f268fa64577")
    commands = [m.content for m in session.messages if m.kind == "command"]
    assert [text.partition(".")[0] for text in commands] == [
        "/rename blog housekeeping",
        "Session renamed to: blog housekeeping",
        "/branch",
        "Branched session",
    ]
    cleared = got(adapter(SAMPLES["home"]), "30ad2f7d-6752-4f3d-b6f0-9eb1b745318e")
    assert [(m.kind, m.content) for m in cleared.messages][1:3] == [
        ("command", "/clear"),
        ("message", "Tell me something short"),
    ]
