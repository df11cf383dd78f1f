"""What is read of Copilot's sessions, compared with the raw events, its own database and its maker's notes."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from plain_copilot import (
    DOCUMENTS,
    FORK_ID,
    HELPED_ID,
    HELPER_ID,
    HOME,
    IDS,
    NOTED,
    PARENT_ID,
    adapter,
    figures,
    got,
    listed,
    rows,
)
from sample_homes import quiet
from session_adapters.copilot.summary import CopilotSurvey, survey_events
from session_adapters.model import Session, TokenUsage
from session_adapters.reading.searchable import texts_of


def own_rows(session_id: str) -> list[dict[str, Any]]:
    """Without the helpers'."""
    return [row for row in rows(session_id) if "agentId" not in row]


def of_type(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row["data"] for row in found if row["type"] == kind]


# The store -----------------------------------------------------------------------------------------------------


def test_the_right_sessions_once_each() -> None:
    found = listed(adapter(HOME))
    assert set(found) == {*IDS, HELPER_ID}
    assert {one.agent for one in found.values()} == {"copilot"}
    assert {path.parent.name for path in (HOME / ".copilot/session-state").glob("*/events.jsonl")} == set(IDS)


@pytest.mark.parametrize("row", NOTED, ids=lambda row: row["id"])
def test_as_noted_by_the_maker(row: dict[str, Any]) -> None:
    reader = adapter(HOME)
    summary, session = listed(reader)[row["id"]], got(reader, row["id"])
    assert summary.path == str(HOME / row["file"])
    assert (summary.title, summary.raw.get("userNamed", False)) == (row["name"], row["user_named"] == "true")
    assert (summary.cwd, summary.git_branch, summary.source) == (row["cwd"], row["branch"], "github/cli")
    assert summary.forked_from == summary.parent_id == row["forked_from"]
    assert summary.kind == ("fork" if row["forked_from"] else "session")
    # The maker counted what is in the file; what a fork copied is shown there but not counted again.
    assert [one.content for one in session.messages if one.is_prompt] == row["user_prompts"]
    replies = [one for one in session.messages if one.role == "assistant"]
    assert len(replies) == row["assistant_messages"]
    own = [one for one in replies if not one.inherited]
    assert (set(summary.models) == set(row["models"])) or len(own) < len(replies)
    # He counted a helper's calls with its parent's; ours are in the helper's own session.
    helper_calls = sum("agentId" in one for one in rows(row["id"]) if one["type"] == "tool.execution_start")
    assert sum(len(one.tool_calls) for one in replies) == row["tool_calls"] - helper_calls
    assert sum(one.kind == "error" for one in session.messages) == row["errors"]
    assert sum(one.kind == "compaction" for one in session.messages) == row["compactions"]


@pytest.mark.parametrize("row", NOTED, ids=lambda row: row["id"])
def test_tokens_are_the_makers_and_those_of_compaction(row: dict[str, Any]) -> None:
    """His `tokens_owned` are the usage records of the session and its helpers. The call that compacts stands in none
    of them but was made, as the program's own database says too."""
    found = listed(adapter(HOME))
    helpers = [one for one in found.values() if one.kind == "subagent" and one.parent_id == row["id"]]
    assert len(helpers) == len(row["subagent_ids"])
    total = found[row["id"]].tokens or TokenUsage()
    for one in helpers:
        total += one.tokens or TokenUsage()
    noted = row["tokens_owned"]
    extra = [one["compactionTokensUsed"] for one in of_type(rows(row["id"]), "session.compaction_complete")]
    if row["forked_from"]:
        extra = []  # the parent compacted
    assert figures(total) == (
        noted["input"] + sum(one["inputTokens"] for one in extra),
        noted["output"] + sum(one["outputTokens"] for one in extra),
        noted["cache_read"],
        noted["cache_write"],
        noted["reasoning"],
    )


def test_tokens_are_those_of_the_programs_own_database(tmp_path: Path) -> None:
    copy = tmp_path / "store.db"
    shutil.copyfile(HOME / ".copilot/session-store.db", copy)
    query = """select session_id, coalesce(agent_id, ''), sum(input_tokens), sum(output_tokens),
        sum(coalesce(cache_read_tokens, 0)), sum(coalesce(cache_write_tokens, 0)), sum(coalesce(reasoning_tokens, 0))
        from assistant_usage_events group by 1, 2"""
    with closing(sqlite3.connect(copy)) as connection:
        stored = {f"{row[0]}:{row[1]}".rstrip(":"): tuple(row[2:]) for row in connection.execute(query)}
    found = listed(adapter(HOME))
    assert {key: figures(one.tokens) for key, one in found.items()} == stored


def test_the_double_counting_traps() -> None:
    """Shutdowns go on from run to run, and from a parent to its fork: added up they are far more than was spent."""
    found = listed(adapter(HOME))
    parent, fork = found[PARENT_ID].tokens, found[FORK_ID].tokens
    assert parent is not None and fork is not None
    ends = of_type(rows(FORK_ID), "session.shutdown")
    inputs = [sum(one["usage"]["inputTokens"] for one in end["modelMetrics"].values()) for end in ends]
    compaction = 7977
    assert inputs[-1] == figures(parent)[0] + figures(fork)[0] - compaction
    assert sum(inputs) > 2 * inputs[-1]
    records = of_type(rows(FORK_ID), "session.usage_record") + of_type(rows(PARENT_ID), "session.usage_record")
    assert sum(one["usage"]["inputTokens"] for one in records) > inputs[-1]
    keys = {one.usage_key for one in got(adapter(HOME), PARENT_ID).messages if one.usage_key}
    copied = {one.usage_key for one in got(adapter(HOME), FORK_ID).messages if one.usage_key and one.inherited}
    assert copied == keys and len(keys) == 9


# Messages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("session_id", IDS)
def test_as_in_the_raw_file(session_id: str) -> None:
    session = got(adapter(HOME), session_id)
    found = own_rows(session_id)
    assert [one.content for one in session.messages if one.is_prompt] == [
        one["content"] for one in of_type(found, "user.message")
    ]
    replies = [one for one in session.messages if one.role == "assistant"]
    raw = of_type(found, "assistant.message")
    assert [(one.content, one.thinking, one.model) for one in replies] == [
        (one["content"], one.get("reasoningText"), one["model"]) for one in raw
    ]
    calls = [call for one in replies for call in one.tool_calls]
    asked = [request for one in raw for request in one["toolRequests"]]
    assert [(one.tool_call_id, one.tool_name, one.input) for one in calls] == [
        (one["toolCallId"], one["name"], one["arguments"]) for one in asked
    ]
    done = of_type(found, "tool.execution_complete")
    results = [one.tool_result for one in session.messages if one.tool_result is not None]
    assert [one.tool_call_id for one in results] == [one["toolCallId"] for one in done]
    assert all(one.linked for one in results)
    for result, plain in zip(results, done, strict=True):
        output = plain["result"]["content"] if plain["success"] else plain["error"]["message"]
        failed = not plain["success"] or plain.get("shellExecution", {}).get("exitCode", 0) != 0
        (call,) = [one for one in calls if one.tool_call_id == result.tool_call_id]
        assert (result.output, result.is_error) == (call.output, call.is_error) == (output, failed)
        assert result.tool_name == call.tool_name
    usage = {one["usage"]["accounting"]["usageId"]: one["usage"] for one in of_type(found, "session.usage_record")}
    assert [figures(one.token_usage)[:2] for one in replies] == [
        (usage[one["apiCallId"]]["inputTokens"], usage[one["apiCallId"]]["outputTokens"]) for one in raw
    ]
    order = [row["id"] for row in rows(session_id)]
    places = [order.index(one.id.partition("#")[0]) for one in session.messages]
    assert places == sorted(places)
    assert not session.warnings


@pytest.mark.parametrize("session_id", [*IDS, HELPER_ID])
def test_list_and_get_agree(session_id: str) -> None:
    reader = adapter(HOME)
    source = reader.find(session_id)
    assert source is not None
    (summary,) = [one for one in reader.summaries(source, print, exact=True) if one.session_id == session_id]
    session = reader.session(source, session_id)
    for name in summary.__struct_fields__:
        assert getattr(session, name) == getattr(summary, name), name
    own = [one for one in session.messages if not one.inherited]
    assert summary.message_count == len(session.messages)
    assert summary.tool_call_count == sum(len(one.tool_calls) for one in session.messages)
    total = TokenUsage()
    for one in own:
        total += one.token_usage or TokenUsage()
    assert summary.tokens == total
    assert summary.updated_at == max(one.timestamp for one in own if one.timestamp)


def test_times() -> None:
    found = listed(adapter(HOME))
    for session_id in IDS:
        start = rows(session_id)[0]["data"]["startTime"]
        assert found[session_id].created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z") == start
    # The last thing said, not the shutdown after it.
    assert found[HELPED_ID].updated_at.isoformat() == "2026-11-21T08:30:27.299000+00:00"


def test_request_logs_are_left_out() -> None:
    for session_id in IDS:
        text = str(got(adapter(HOME), session_id).messages)
        assert "prompt or tool text removed" not in text and "current_datetime" not in text
        assert text.count("Primary request: tidy the shop project") == text.count("kind='compaction'")


def test_a_fork_begins_with_its_parent() -> None:
    reader = adapter(HOME)
    parent, fork = got(reader, PARENT_ID), got(reader, FORK_ID)
    copied = [one for one in fork.messages if one.inherited]
    shared = {row["id"] for row in rows(PARENT_ID)} & {row["id"] for row in rows(FORK_ID)[1:]}
    assert [one.id for one in copied] == [one.id for one in parent.messages if one.id.partition("#")[0] in shared]
    assert fork.messages[: len(copied)] == tuple(copied)
    assert [(one.content, one.token_usage, one.tool_calls) for one in copied] == [
        (one.content, one.token_usage, one.tool_calls) for one in parent.messages[: len(copied)]
    ]
    summary = listed(reader)[FORK_ID]
    assert (summary.message_count, summary.turn_count, summary.tool_call_count) == (len(copied) + 4, 4, 6)
    assert (summary.model, summary.lineage_id, summary.error) == ("gpt-5.4", PARENT_ID, False)
    assert summary.preview == "Make a todo list"


def test_a_file_with_helpers_is_read_once_for_its_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each of them."""
    reader, whole = adapter(HOME), list[str]()
    source = reader.find(HELPED_ID)
    assert source is not None
    wanted = [
        text
        for one in reader.session_ids(source, quiet)
        for text in texts_of(one, reader.session(source, one).messages)
    ]
    assert len({text.session_id for text in wanted}) > 1

    def noted(path: str, session_id: str, **given: Any) -> CopilotSurvey:
        whole.extend([path] if given.get("keep") else [])
        return survey_events(path, session_id, **given)

    monkeypatch.setattr("session_adapters.copilot.adapter.survey_events", noted)
    assert list(reader.texts(source, quiet)) == wanted
    assert whole == [source.path]
    assert list(reader.texts(source, quiet)) == wanted and len(whole) == 2  # nothing is kept of it


def test_a_helper_is_a_session_under_its_parent() -> None:
    reader = adapter(HOME)
    helper = got(reader, HELPER_ID)
    assert (helper.kind, helper.parent_id, helper.title) == ("subagent", HELPED_ID, "find-todo-comments")
    raw = [row for row in rows(HELPED_ID) if row.get("agentId") == HELPER_ID.partition(":")[2]]
    said = [(row["type"], row["data"]["content"]) for row in raw if row["type"].endswith("r.message")]
    assert [one.content for one in helper.messages if one.is_prompt] == [
        text for kind, text in said if "user" in kind
    ]
    assert helper.messages[-1].content == "One TODO: checkout.py line 3; two test functions; three modules."
    main = next(row for row in reversed(rows(HELPED_ID)) if row["type"] == "session.shutdown")["data"]["agentMetrics"]
    spent = main[HELPER_ID.partition(":")[2]]["modelMetrics"]["gpt-5.4"]["usage"]
    assert figures(helper.tokens)[:3] == (spent["inputTokens"], spent["outputTokens"], spent["cacheReadTokens"])
    (call,) = [call for one in got(reader, HELPED_ID).messages for call in one.tool_calls]
    assert (call.tool_name, call.subagent_id) == ("task", HELPER_ID)
    assert reader.resume_command(helper) is None


def test_failures_are_marked() -> None:
    session = got(adapter(HOME), "bc58b0f1-4c6a-4811-b919-fd9211c17d2a")
    assert session.error and session.messages[-1].content == "400 prompt is malformed (mock)"
    (call,) = [call for one in session.messages for call in one.tool_calls]
    assert call.is_error and call.duration_ms == 47
    assert session.turn_count == 1


# The document's layout -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("session_id", ["gh-7781", "gh-7782"])
def test_documents(session_id: str) -> None:
    reader = adapter(DOCUMENTS)
    summary, session = listed(reader)[session_id], got(reader, session_id)
    path = DOCUMENTS / ".config/github-copilot/sessions" / f"{session_id}.json"
    raw = json.loads(path.read_text())
    plain = raw if isinstance(raw, list) else raw["messages"]
    assert [(one.role, one.content, _stamp(one.timestamp)) for one in session.messages] == [
        (one["role"], one["content"], one["timestamp"]) for one in plain
    ]
    assert (summary.title, summary.path) == (plain[0]["content"], str(path))
    assert (_stamp(summary.created_at), _stamp(summary.updated_at)) == (plain[0]["timestamp"], plain[-1]["timestamp"])
    assert (summary.turn_count, summary.message_count, summary.cost, summary.tokens) == (1, 2, None, None)
    assert summary.model == (raw["model"] if isinstance(raw, dict) else None)
    source = reader.find(session_id)
    assert source is not None
    transcript = reader.open(source, session_id)
    assert transcript.complete and transcript.messages == list(session.messages)


def _stamp(time: Any) -> str:
    return str(time.isoformat().replace("+00:00", "Z"))


def test_both_places_are_looked_at(tmp_path: Path) -> None:
    shutil.copytree(HOME / ".copilot", tmp_path / ".copilot")
    shutil.copytree(DOCUMENTS / ".config", tmp_path / ".config")
    assert set(listed(adapter(tmp_path))) == {*IDS, HELPER_ID, "gh-7781", "gh-7782"}


def test_sessions_are_not_mixed_up() -> None:
    reader = adapter(HOME)
    sessions: dict[str, Session] = {one: got(reader, one) for one in IDS}
    assert {key: one.session_id for key, one in sessions.items()} == {one: one for one in IDS}
    assert reader.find("nobody") is None and reader.find(f"{HELPED_ID}x") is None and reader.find("") is None
