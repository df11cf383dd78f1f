"""What is read of Codex' sessions, compared with the raw files and with what the stores' maker noted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plain_codex import (
    FORK_ID,
    HOMES,
    NOTED,
    OLD_FORK_ID,
    OLD_ROOT_ID,
    ROLLOUTS,
    ROOT_ID,
    STORE,
    UI_FORK_ID,
    adapter,
    both,
    ident,
    items,
    no_report,
    raw_calls,
    raw_prompts,
    raw_replies,
    raw_tokens,
    rows,
    texts,
)
from session_adapters.model import TokenUsage


def as_figures(usage: TokenUsage | None) -> tuple[int, int, int, int] | None:
    if usage is None:
        return None
    assert usage.cache_write_tokens == 0
    return usage.input_tokens + usage.cached_tokens, usage.cached_tokens, usage.output_tokens, usage.thinking_tokens


# The stores ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", HOMES)
def test_every_rollout_is_one_session(home: str) -> None:
    reader = adapter(STORE / home)
    found = [one for source in reader.sources(no_report) for one in reader.summaries(source, no_report)]
    paths = {str(path) for at, path in ROLLOUTS if at == home}
    assert {one.path for one in found} == paths
    assert len({one.session_id for one in found}) == len(paths)
    for one in found:
        assert one.partial == (one.size > reader.head + reader.tail or "historyBase" in one.raw)


@pytest.mark.parametrize(("home", "row"), NOTED, ids=ident)
def test_as_noted_by_the_maker(home: str, row: dict[str, Any]) -> None:
    summary, session = both(STORE / home, row["id"])
    assert summary.path == str(STORE / home / row["file"])
    assert summary.archived == row["archived"]
    assert summary.raw.get("cliVersion") == row["cli_version"]
    assert summary.raw.get("historyMode") == row["history_mode"]
    assert summary.raw.get("historyBase") == row["history_base"]
    # The first generation has no cwd of its own; where the environment is told to the model, it stands there.
    told = any("<cwd>/home/dev/shop</cwd>" in texts(item.get("content") or []) for item in items(Path(summary.path)))
    assert summary.cwd == (row["cwd"] or ("/home/dev/shop" if told else None))
    assert summary.git_branch == row["branch"]
    assert summary.forked_from == row["forked_from"]
    assert summary.parent_id == (row["parent_thread"] or row["forked_from"])
    assert summary.kind == ("subagent" if row["parent_thread"] else "fork" if row["forked_from"] else "session")
    # Null there is an empty list for the first generation, which has no such field.
    source = row["source"][0] if isinstance(row["source"], list) and row["source"] else row["source"]
    assert summary.source == (source or None)
    copied = {one.model for one in session.messages if one.inherited and one.model}
    assert set(summary.models) == set(row["models"]) | copied
    assert summary.error == bool(row["errors"])
    if "thread_name" in row:
        assert summary.title == row["thread_name"]
    assert as_figures(summary.tokens) == (figures_noted(row["tokens_owned"]) if "tokens_owned" in row else None)
    # The maker counted what is in the file: a copied part too, a part by reference not.
    in_file = [one for one in session.messages if not one.inherited or row["second_session_meta"] > 0]
    assert [one.content for one in in_file if one.is_prompt] == row["user_prompts_in_file"]
    said = [one for one in in_file if one.role == "assistant" and one.content]
    assert len(said) == row["assistant_messages_in_file"]
    assert sum(len(one.tool_calls) for one in in_file) == row["tool_calls_in_file"]
    assert sum(one.kind == "error" for one in in_file) == row["errors"]
    assert sum(one.kind == "compaction" for one in in_file) == row["compactions"]


def figures_noted(row: dict[str, int]) -> tuple[int, int, int, int]:
    return row["input"], row["cached_input"], row["output"], row["reasoning"]


@pytest.mark.parametrize(("home", "path"), ROLLOUTS, ids=ident)
def test_as_in_the_raw_file(home: str, path: Path) -> None:
    reader = adapter(STORE / home)
    source = next(one for one in reader.sources(no_report) if one.path == str(path))
    (summary,) = reader.summaries(source, no_report, exact=True)
    session = reader.session(source, summary.session_id)
    copied = sum(row.get("type") == "session_meta" for row in rows(path)) > 1
    shown = [one for one in session.messages if copied or not one.inherited]
    assert [one.content for one in shown if one.is_prompt] == raw_prompts(path)
    assert [one.content for one in shown if one.role == "assistant" and one.content] == raw_replies(path)
    assert [call.tool_call_id for one in shown for call in one.tool_calls] == raw_calls(path)
    outputs = [item["call_id"] for item in items(path) if str(item.get("type")).endswith("_call_output")]
    results = [one.tool_result for one in shown if one.tool_result is not None]
    assert [one.tool_call_id for one in results] == outputs
    assert all(one.linked and one.tool_name for one in results)
    calls = {call.tool_call_id: call for one in shown for call in one.tool_calls}
    assert all(calls[one.tool_call_id].output == one.output for one in results)
    assert as_figures(summary.tokens) == raw_tokens(path)
    assert not session.warnings


@pytest.mark.parametrize(("home", "path"), ROLLOUTS, ids=ident)
def test_list_and_get_agree(home: str, path: Path) -> None:
    reader = adapter(STORE / home)
    source = next(one for one in reader.sources(no_report) if one.path == str(path))
    (summary,) = reader.summaries(source, no_report, exact=True)
    session = reader.session(source, summary.session_id)
    for name in summary.__struct_fields__:
        assert getattr(session, name) == getattr(summary, name), name
    assert summary.message_count == len(session.messages)
    assert summary.tool_call_count == sum(len(one.tool_calls) for one in session.messages)
    total = TokenUsage()
    for one in session.messages:
        total += (not one.inherited and one.token_usage) or TokenUsage()
    assert (summary.tokens or TokenUsage()) == total


def test_times_are_those_of_the_messages() -> None:
    summary, session = both(STORE / "public/home", "019c8bfe-ec25-79e0-97d7-bda6a9c575ff")
    assert summary.created_at.isoformat() == "2026-02-23T19:34:25.573000+00:00"
    assert summary.updated_at.isoformat() == "2026-02-23T19:36:02.615000+00:00"
    assert session.messages[-1].timestamp == summary.updated_at


def test_injected_text_is_a_notice_and_developer_text_is_nothing() -> None:
    _, session = both(STORE / "older/home", OLD_ROOT_ID)
    notices = [one for one in session.messages if one.kind == "notice"]
    assert notices and all(one.role == "user" for one in notices)
    assert any(one.content.startswith("<environment_context>") for one in notices)
    assert not any("<permissions instructions>" in one.content for one in session.messages)


def test_failed_and_timed_calls() -> None:
    _, session = both(STORE / "older/home", OLD_ROOT_ID)
    first, *_, last = [call for one in session.messages for call in one.tool_calls]
    assert (first.tool_name, first.is_error, first.duration_ms) == ("exec_command", False, 51)
    assert first.input == {"cmd": "ls -la && git log --oneline | head -5"}
    assert (last.is_error, last.duration_ms) == (True, 50)
    _, oldest = both(STORE / "older/home", "cedd67ed-623f-4b25-8700-8f9755e2574f")
    calls = [call for one in oldest.messages for call in one.tool_calls]
    assert calls[1].output == "def total(items, discount=0):\n    return sum(items) - discount\n"


def test_a_spawned_agent_is_named_in_the_call() -> None:
    _, session = both(STORE / "home", "01a1fd32-fe54-7dd3-aacd-a94fb1243969")
    (call,) = [call for one in session.messages for call in one.tool_calls]
    assert call.subagent_id == "01a1fd32-fee5-77f3-8bd5-4d98d4371a52"
    helper, _ = both(STORE / "home", call.subagent_id)
    assert (helper.kind, helper.parent_id) == ("subagent", session.session_id)
    assert helper.raw["agentNickname"] == "Ramanujan"


# Forks and compaction -------------------------------------------------------------------------------------------


def test_a_fork_by_reference_begins_with_its_parent() -> None:
    _, parent = both(STORE / "home", ROOT_ID)
    _, fork = both(STORE / "home", FORK_ID)
    inherited = [one for one in fork.messages if one.inherited]
    # The parent's lines below ordinal 71: everything before the compaction.
    cut = next(at for at, one in enumerate(parent.messages) if one.kind == "compaction")
    assert [(one.role, one.content, one.id) for one in inherited] == [
        (one.role, one.content, one.id) for one in parent.messages[:cut]
    ]
    assert fork.messages[: len(inherited)] == tuple(inherited)
    assert fork.title == "Write a README for the shop"
    _, whole = both(STORE / "home", UI_FORK_ID)
    assert [one.content for one in whole.messages if one.inherited] == [one.content for one in parent.messages]


def test_a_fork_by_copy_shows_the_copy_as_inherited() -> None:
    _, parent = both(STORE / "older/home", OLD_ROOT_ID)
    summary, fork = both(STORE / "older/home", OLD_FORK_ID)
    inherited = [one for one in fork.messages if one.inherited]
    assert [one.content for one in inherited][: len(parent.messages)] == [one.content for one in parent.messages]
    assert [one.content for one in fork.messages if one.is_prompt and not one.inherited] == ["Make a todo list"]
    assert (summary.title, summary.turn_count) == ("Make a todo list", 3)
    shared = {one.usage_key for one in parent.messages} & {one.usage_key for one in inherited} - {""}
    assert len(shared) == 5


def test_the_double_counting_traps() -> None:
    """Adding up every `last_token_usage`, or the final totals of a family, gives far more than was spent."""
    home = STORE / "older/home"
    paths = sorted((home / ".codex/sessions").rglob("*01a1fd34*.jsonl"))
    last = [
        row["payload"]["info"]["last_token_usage"]["input_tokens"]
        for path in paths
        for row in rows(path)
        if row["type"] == "event_msg" and row["payload"]["type"] == "token_count" and row["payload"]["info"]
    ]
    spent = [both(home, path.stem[-36:])[0].tokens for path in paths]
    read = sum(one.input_tokens + one.cached_tokens for one in spent if one)
    final = rows(paths[1])[-3]["payload"]["info"]["total_token_usage"]["input_tokens"]
    assert read == final == 70057 < sum(last)


def test_compaction_is_marked_and_its_replacement_history_left_out() -> None:
    _, session = both(STORE / "home", ROOT_ID)
    at = next(at for at, one in enumerate(session.messages) if one.kind == "compaction")
    marker, summary = session.messages[at : at + 2]
    assert summary.kind == "summary" and "Primary request: tidy the shop project" in summary.content
    assert marker.token_usage is not None and marker.token_usage.output_tokens == 43
    prompts = [one.content for one in session.messages if one.is_prompt]
    assert len(prompts) == len(set(prompts)) == 4
