"""Copilot's older versions, and events that its samples have none of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plain_copilot import Scribe, adapter, figures, got, listed, no_report, shutdown, uuid
from session_adapters.model import Problem, TokenUsage
from support import attached_bytes


def total(home: Path, session_id: str = uuid(1)) -> tuple[int, int, int, int, int]:
    summary, session = listed(adapter(home))[session_id], got(adapter(home), session_id)
    added = TokenUsage()
    for message in session.messages:
        if not message.inherited:
            added += message.token_usage or TokenUsage()
    assert added == (summary.tokens or TokenUsage())
    return figures(added)


# Tokens --------------------------------------------------------------------------------------------------------


def test_each_runs_own_totals_are_added(tmp_path: Path) -> None:
    """Before `accountingSnapshot` each run starts at zero."""
    scribe = Scribe(tmp_path)
    scribe.add("user.message", content="a")
    scribe.reply("A", outputTokens=30)
    scribe.add("session.shutdown", **shutdown(100, 50, 40))
    scribe.add("session.resume")
    scribe.reply("B", outputTokens=5)
    scribe.add("session.shutdown", **shutdown(20, 5))
    scribe.reply("killed before the end of its run", outputTokens=7)
    assert total(tmp_path) == (120, 62, 40, 0, 0)


def test_totals_that_go_on_are_not_added(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.reply("A", outputTokens=30)
    scribe.add("session.shutdown", **shutdown(100, 50, 40, cumulative=True))
    scribe.reply("B", outputTokens=5)
    scribe.add("session.shutdown", **shutdown(120, 60, 45, cumulative=True))
    scribe.add("session.shutdown", **shutdown(120, 60, 45, cumulative=True))
    assert total(tmp_path) == (120, 60, 45, 0, 0)


def test_an_old_session_that_a_new_version_goes_on_with(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.reply("A", outputTokens=30)
    scribe.add("session.shutdown", **shutdown(100, 50))
    scribe.turn("b", "B", "call")
    scribe.add("session.shutdown", **shutdown(10, 2, cumulative=True), usageAccountingWatermarks={uuid(1): 1})
    assert total(tmp_path) == (110, 52, 0, 0, 0)


def test_a_call_counts_once_and_a_copied_one_not_at_all(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.add("user.message", content="a")
    scribe.usage("c1", 100, 10)
    scribe.usage("c1", 100, 10)
    scribe.reply("A", "c1", outputTokens=10)
    foreign = {"sourceSessionId": uuid(9), "usageId": "c2"}
    scribe.usage("c2", 500, 50, accounting=foreign)
    scribe.reply("copied", "c2")
    scribe.usage("c3", 7, 1)  # the process was killed before the reply
    scribe.add("session.resume")
    assert total(tmp_path) == (107, 11, 0, 0, 0)
    copied = [one for one in got(adapter(tmp_path), uuid(1)).messages if one.inherited]
    assert [(one.content, one.usage_key) for one in copied] == [("copied", "c2")]


def test_cache_is_taken_out_of_the_input(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.usage("c1", 5776, 3, cacheWriteTokens=5769, cacheReadTokens=0, reasoningTokens=2)
    scribe.reply("A", "c1")
    tokens = listed(adapter(tmp_path))[uuid(1)].tokens
    assert tokens == TokenUsage(input_tokens=7, output_tokens=3, cache_write_tokens=5769, thinking_tokens=2)


def test_older_compactions_have_short_names(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    spent = {"input": 100, "output": 9, "cachedInput": 60}
    done: dict[str, Any] = {
        "success": True,
        "compactionTokensUsed": spent,
        "summaryContent": "so far",
        "behaviorModelId": "small",
    }
    scribe.add("session.compaction_complete", **done)
    scribe.add("session.compaction_complete", success=False, error="too long")
    assert [one.model for one in got(adapter(tmp_path), uuid(1)).messages] == ["small", None, None]
    assert total(tmp_path) == (100, 9, 60, 0, 0)
    assert [(one.kind, one.content) for one in got(adapter(tmp_path), uuid(1)).messages] == [
        ("compaction", "Conversation compacted"),
        ("summary", "so far"),
        ("notice", "Compaction failed: too long"),
    ]


# Events --------------------------------------------------------------------------------------------------------


def test_what_each_event_is(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    image = {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}
    scribe.add("user.message", content="look", attachments=[{"type": "file", "path": "/w/a.py"}, image])
    scribe.add("user.message", content="<system_notification>agent done</system_notification>")
    scribe.add("user.message", content="from a skill", source="skill-pdf")
    scribe.add("tool.user_requested", toolCallId="u1", toolName="bash", arguments={"command": "ls"})
    scribe.add(
        "tool.execution_complete", toolCallId="u1", success=True, result={"content": "a.py", "contents": [image]}
    )
    scribe.add("abort", reason="user initiated")
    scribe.add("session.info", infoType="mcp", message="connected")
    scribe.add("session.warning", message="careful")
    scribe.add("session.context_cleared")
    scribe.add("session.truncation", tokenLimit=1)
    scribe.add("session.error", errorType="query", message="failed")
    scribe.add("some.new_event", content="unknown")
    scribe.add("hook.start", content="not shown")
    session = got(adapter(tmp_path), uuid(1))
    assert [(one.role, one.kind, one.content) for one in session.messages] == [
        ("user", "message", "look"),
        ("user", "notice", "<system_notification>agent done</system_notification>"),
        ("user", "notice", "from a skill"),
        ("user", "command", "! ls"),
        ("tool", "message", ""),
        ("system", "notice", "Interrupted (user initiated)"),
        ("system", "notice", "connected"),
        ("system", "notice", "careful"),
        ("system", "compaction", "Context cleared"),
        ("system", "notice", "Older messages were left out of what the model sees"),
        ("system", "error", "failed"),
    ]
    first, *_ = session.messages
    assert [(one.media_type, one.name, one.size) for one in first.attachments] == [
        ("file", "a.py", 0),
        ("image/png", "", 5),
    ]
    assert session.messages[3].tool_calls[0].output == "a.py"
    assert [one.media_type for one in session.messages[4].attachments] == ["image/png"]
    assert attached_bytes(lambda: got(adapter(tmp_path), uuid(1)).messages) == [None, b"hello", b"hello"]
    assert session.error and not session.warnings


def test_titles(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.turn("the prompt", "A")
    assert listed(adapter(tmp_path))[uuid(1)].title == "the prompt"
    scribe.add("session.title_changed", title="first title")
    scribe.add("session.title_changed", title="second title")
    assert listed(adapter(tmp_path))[uuid(1)].title == "second title"
    (scribe.path.parent / "workspace.yaml").write_text("id: x\nname: the name\n")
    assert listed(adapter(tmp_path))[uuid(1)].title == "the name"


def test_helpers_of_versions_without_agent_ids(tmp_path: Path) -> None:
    """There `parentToolCallId` alone marks their events."""
    scribe = Scribe(tmp_path)
    scribe.add("user.message", content="ask")
    scribe.reply("delegating")
    scribe.add("subagent.started", toolCallId="t1", agentName="explore", agentDisplayName="Explore")
    scribe.reply("inside", parentToolCallId="t1", outputTokens=4)
    scribe.reply("outside")
    found = listed(adapter(tmp_path))
    assert set(found) == {uuid(1), f"{uuid(1)}:t1"}
    assert found[f"{uuid(1)}:t1"].title == "Explore"
    assert [one.content for one in got(adapter(tmp_path), uuid(1)).messages] == ["ask", "delegating", "outside"]
    assert [one.content for one in got(adapter(tmp_path), f"{uuid(1)}:t1").messages] == ["inside"]


def test_helpers_of_helpers(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    request = {"toolCallId": "t2", "name": "task", "arguments": {}}
    scribe.add("subagent.started", "h1", toolCallId="t1", agentName="one")
    scribe.add("assistant.message", "h1", content="", toolRequests=[request])
    scribe.add("subagent.started", "h2", toolCallId="t2", agentName="two")
    scribe.reply("deep", agent="h2")
    found = listed(adapter(tmp_path))
    assert found[f"{uuid(1)}:h2"].parent_id == f"{uuid(1)}:h1"
    (call,) = got(adapter(tmp_path), f"{uuid(1)}:h1").messages[0].tool_calls
    assert call.subagent_id == f"{uuid(1)}:h2"


def test_a_fork_does_not_list_its_parents_helpers(tmp_path: Path) -> None:
    parent = Scribe(tmp_path)
    parent.add("subagent.started", "h1", toolCallId="t1", agentName="one")
    parent.reply("helped", agent="h1")
    fork = Scribe(tmp_path, uuid(2), minute=30)
    fork.write(parent.path.read_bytes().split(b"\n", 1)[1])
    text = f'Forked from "odd "name" (x)" ({uuid(1)}) as "y" ({uuid(2)}).'
    fork.add("session.info", infoType="fork", message=text)
    fork.turn("own", "O")
    found = listed(adapter(tmp_path))
    assert set(found) == {uuid(1), f"{uuid(1)}:h1", uuid(2)}
    assert found[uuid(2)].forked_from == uuid(1)
    assert [one.inherited for one in got(adapter(tmp_path), f"{uuid(2)}:h1").messages] == [True]


def test_forks_of_forks_and_circles(tmp_path: Path) -> None:
    for number, parent in ((1, 3), (2, 1), (3, 2)):
        scribe = Scribe(tmp_path, uuid(number), minute=number)
        note = f'Forked from "a" ({uuid(parent)}) as "b" ({uuid(number)}).'
        scribe.add("session.info", infoType="fork", message=note)
    found = listed(adapter(tmp_path))
    assert {one.forked_from for one in found.values()} == {uuid(1), uuid(2), uuid(3)}
    own = Scribe(tmp_path, uuid(4))
    own.add("session.info", infoType="fork", message=f'Forked from "a" ({uuid(4)}) as "b" ({uuid(4)}).')
    assert listed(adapter(tmp_path))[uuid(4)].forked_from is None


def test_the_parent_of_a_fork_is_gone(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path, uuid(2))
    scribe.add("session.info", infoType="fork", message=f'Forked from "a" ({uuid(1)}) as "b" ({uuid(2)}).')
    one = listed(adapter(tmp_path))[uuid(2)]
    assert (one.kind, one.forked_from, one.lineage_id) == ("fork", uuid(1), uuid(1))


# Older layouts -------------------------------------------------------------------------------------------------


def test_flat_files(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.turn("old", "O")
    flat = tmp_path / f".copilot/session-state/{uuid(2)}.jsonl"
    scribe.path.rename(flat)
    scribe.path.parent.rmdir()
    (one,) = listed(adapter(tmp_path)).values()
    assert (one.session_id, one.path, one.title, one.cwd) == (uuid(2), str(flat), "old", "/w")
    # Migrated: both are there, and the newer layout counts.
    moved = Scribe(tmp_path, uuid(2))
    moved.turn("old", "O")
    moved.turn("new", "N")
    (one,) = listed(adapter(tmp_path)).values()
    assert (one.path, one.turn_count) == (str(moved.path), 2)
    assert got(adapter(tmp_path), uuid(2)).turn_count == 2


def history(home: Path, document: Any, session_id: str = uuid(1)) -> Path:
    path = home / f".copilot/history-session-state/session_{session_id}_1759957816398.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_the_first_layout(tmp_path: Path) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "view", "arguments": '{"path": "/x"}'}}
    path = history(
        tmp_path,
        {
            "sessionId": uuid(1),
            "startTime": "2025-10-08T21:10:16.398Z",
            "chatMessages": [
                {"role": "system", "content": "You are …"},
                {"role": "user", "content": "<current_datetime>2025-10-08</current_datetime>\n\nplease look"},
                {"role": "assistant", "content": "sure", "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "t1", "content": "in the file"},
                {"role": "assistant", "content": [{"type": "text", "text": "done"}, {"type": "image_url"}]},
            ],
            "timeline": [
                {"type": "info", "text": "hi"},
                {"type": "user", "text": "please look", "timestamp": 1759957820000},
            ],
        },
    )
    session = got(adapter(tmp_path), uuid(1))
    assert [(one.role, one.content) for one in session.messages] == [
        ("user", "please look"),
        ("assistant", "sure"),
        ("tool", ""),
        ("assistant", "done"),
    ]
    (made,) = session.messages[1].tool_calls
    assert (made.tool_name, made.input, made.output) == ("view", {"path": "/x"}, "in the file")
    assert session.messages[2].tool_result is not None and session.messages[2].tool_result.linked
    assert [one.media_type for one in session.messages[3].attachments] == ["image"]
    assert session.created_at.isoformat() == "2025-10-08T21:10:16.398000+00:00"
    assert session.messages[0].timestamp is not None and session.path == str(path)


@pytest.mark.parametrize("document", [{"a": 1}, 7, "text", [1, 2], {"messages": 5}, {"chatMessages": [None]}])
def test_documents_that_are_none(tmp_path: Path, document: Any, problems: list[Problem]) -> None:
    path = history(tmp_path, document)
    history(tmp_path, {"messages": [{"role": "user", "content": "neighbour"}]}, uuid(2))
    reader = adapter(tmp_path)
    found = [one for source in reader.sources(no_report) for one in reader.summaries(source, problems.append)]
    assert "neighbour" in [one.title for one in found]
    assert {one.path for one in problems} == {str(path)} and all(one.reason for one in problems)


def test_calls_in_a_document(tmp_path: Path) -> None:
    call = {"toolCallId": "t1", "toolName": "bash", "input": {"command": "ls"}}
    folder = tmp_path / "config/github-copilot/sessions"
    folder.mkdir(parents=True)
    rows = [
        {"role": "assistant", "content": "", "toolCalls": [call], "thinking": "hm", "usage": {"inputTokens": 5}},
        {"role": "tool", "toolCallId": "t1", "content": "a.py"},
        {"role": "system", "content": "note"},
    ]
    (folder / "gh-1.json").write_text(json.dumps({"title": "Given", "messages": rows}))
    session = got(adapter(tmp_path, XDG_CONFIG_HOME=str(tmp_path / "config")), "gh-1")
    assert session.title == "Given" and session.messages[0].thinking == "hm"
    assert session.messages[0].tool_calls[0].output == "a.py"
    assert session.tokens == TokenUsage(input_tokens=5)
    assert [one.role for one in session.messages] == ["assistant", "tool", "system"]
