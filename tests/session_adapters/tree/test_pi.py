"""Pi: every session of the sample stores against figures from the raw files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pi_lines import answered, asked, write_pi
from plain_trees import active_path, plain_text, records, usage_of
from session_adapters.base import Environment
from session_adapters.model import SessionSummary
from session_adapters.pi import PiAdapter
from session_adapters.registry import BUILT_IN, adapter_class
from support import STORES
from tree_store import PI_BRANCHED, Samples, both, everything, sample_pi

SAMPLES = Samples("pi")


def test_it_is_registered() -> None:
    assert adapter_class("pi") is PiAdapter
    assert list(BUILT_IN) == sorted(BUILT_IN)


@pytest.mark.parametrize("home", ["home", "home-hard", "home-spec"])
def test_the_right_sessions_once_each(home: str) -> None:
    expected = SAMPLES.expected[home]
    ids = [entry["id"] for entry in expected] if isinstance(expected, list) else list(expected)
    adapter = sample_pi(home)
    found = adapter.relate([summary for _, summary in everything(adapter)])
    assert sorted(summary.session_id for summary in found) == sorted(ids)


@pytest.mark.parametrize(("home", "session_id"), SAMPLES.real)
def test_messages_of_the_active_branch(home: str, session_id: str) -> None:
    entry = SAMPLES.entry(home, session_id)
    path = active_path(records(STORES / "pi" / home / entry["file"]))
    said = [node for node in path if node["type"] == "message"]
    _, session = both(sample_pi(home), session_id)
    by_id = {message.id: message for message in session.messages}
    ours = [message for message in session.messages if message.id in {node["id"] for node in said}]
    assert [message.id for message in ours] == [node["id"] for node in said]
    assert Counter(node["message"]["role"] for node in said) == entry["activePathRoles"]
    roles = {"toolResult": "tool", "bashExecution": "user", "hookMessage": "system"}
    for node in said:
        message, raw = by_id[node["id"]], node["message"]
        assert message.role == roles.get(raw["role"], raw["role"])
        if raw["role"] == "bashExecution":
            assert (message.kind, message.content) == ("command", f"$ {raw['command']}\n{raw['output']}".rstrip("\n"))
            continue
        assert message.kind == {"system": "notice", "hookMessage": "notice"}.get(
            raw["role"], "error" if raw.get("stopReason") == "error" else "message"
        )
        if message.kind == "error":
            assert message.content == raw["errorMessage"]
        elif "sections" in raw:
            assert message.content == "\n\n".join(raw["sections"].values())
        else:
            assert message.content == plain_text(raw["content"])
        blocks = raw["content"] if isinstance(raw["content"], list) else []
        thought = [block["thinking"] for block in blocks if block["type"] == "thinking"]
        assert message.thinking == ("\n\n".join(thought) or None)
        calls = [(block["id"], block["name"], block["arguments"]) for block in blocks if block["type"] == "toolCall"]
        assert [(call.tool_call_id, call.tool_name, call.input) for call in message.tool_calls] == calls
        assert message.model == raw.get("model")


@pytest.mark.parametrize(("home", "session_id"), SAMPLES.real)
def test_results_stand_in_their_calls(home: str, session_id: str) -> None:
    path = active_path(records(STORES / "pi" / home / SAMPLES.entry(home, session_id)["file"]))
    answers = {
        node["message"]["toolCallId"]: node["message"]
        for node in path
        if node["type"] == "message" and node["message"]["role"] == "toolResult"
    }
    _, session = both(sample_pi(home), session_id)
    calls = {call.tool_call_id: call for message in session.messages for call in message.tool_calls}
    results = [message.tool_result for message in session.messages if message.tool_result]
    assert {result.tool_call_id for result in results} == set(answers)
    for result in results:
        raw, call = answers[result.tool_call_id], calls[result.tool_call_id]
        assert result.linked
        assert call.output == result.output == plain_text(raw["content"])
        assert call.is_error == result.is_error == raw["isError"]
        assert result.tool_name == raw["toolName"]


@pytest.mark.parametrize(("home", "session_id"), SAMPLES.real)
def test_tokens_cost_models_and_counts(home: str, session_id: str) -> None:
    entry = SAMPLES.entry(home, session_id)
    found = records(STORES / "pi" / home / entry["file"])
    summary, session = both(sample_pi(home), session_id)
    # Copies keep their time, so that what a fork used itself is what came after its header.
    head = found[0]
    own = [node for node in found[1:] if not head.get("parentSession") or node["timestamp"] >= head["timestamp"]]
    sums = {
        key: sum(usage_of(node).get(key, 0) for node in own)
        for key in ("input", "output", "cacheRead", "cacheWrite", "reasoning")
    }
    used = summary.tokens
    assert sums == {
        "input": used.input_tokens if used else 0,
        "output": used.output_tokens if used else 0,
        "cacheRead": used.cached_tokens if used else 0,
        "cacheWrite": used.cache_write_tokens if used else 0,
        "reasoning": used.thinking_tokens if used else 0,
    }
    alone = entry["usageNotSeenInEarlierFile"]
    assert {key: sums[key] for key in ("input", "output", "cacheRead", "cacheWrite")} == {
        key: alone[key] for key in ("input", "output", "cacheRead", "cacheWrite")
    }
    assert (summary.cost.total_usd if summary.cost else 0) == pytest.approx(alone["cost"])
    whole = entry["usageWholeFile"]
    inherited = sum(whole[key] - alone[key] for key in ("input", "output", "cacheRead", "cacheWrite"))
    assert summary.raw.get("inheritedTokens", 0) == inherited
    assert set(summary.models) == set(entry["models"])
    assert summary.model in (summary.models or (None,))
    assert summary.message_count == len(session.messages)
    assert summary.tool_call_count == sum(len(message.tool_calls) for message in session.messages)
    assert summary.cwd == entry["cwd"]
    assert summary.title == " ".join((entry["name"] or entry["firstUser"]).replace("\x1b", " ").split())
    assert summary.raw["version"] == entry["version"]
    assert session.raw["leaf"] == entry["leaf"]
    shared = [name for name in SessionSummary.__struct_fields__ if name != "raw"]
    assert {name: getattr(session, name) for name in shared} == {name: getattr(summary, name) for name in shared}


def test_forks_count_each_call_once() -> None:
    adapter = sample_pi("home")
    summaries = adapter.relate([summary for _, summary in everything(adapter)])
    calls = {}
    for path in sorted((STORES / "pi" / "home").rglob("*.jsonl")):
        for node in records(path):
            if usage_of(node):
                calls[node["id"], node["timestamp"]] = usage_of(node)
    total = sum(summary.tokens.total for summary in summaries if summary.tokens)
    assert total == sum(usage["totalTokens"] for usage in calls.values())
    cost = sum(summary.cost.total_usd for summary in summaries if summary.cost)
    assert cost == pytest.approx(sum(usage["cost"]["total"] for usage in calls.values()))
    # Adding up whole files is the trap: it counts copies again.
    assert total < sum(sum(entry["usageWholeFile"][key] for key in ("input", "output", "cacheRead", "cacheWrite"))
                       for entry in SAMPLES.expected["home"])  # fmt: skip


def test_a_line_that_stands_twice_is_counted_once(store: Callable[..., Path]) -> None:
    home = store("pi", "home")
    path = next(home.rglob("*custom-id-7.jsonl"))
    before, _ = both(PiAdapter(Environment(home=home)), "custom-id-7")
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[-1])
    after, session = both(PiAdapter(Environment(home=home)), "custom-id-7")
    assert (after.tokens, after.cost, after.raw) == (before.tokens, before.cost, before.raw)
    assert len(session.messages) == before.message_count


def test_usage_keys_agree_between_a_fork_and_its_parent() -> None:
    adapter = sample_pi("home")
    _, parent = both(adapter, PI_BRANCHED)
    _, fork = both(adapter, "01a1fd3c-9b8c-754d-bae2-a442339f12a8")
    of_parent = {message.id: message.usage_key for message in parent.messages if message.token_usage}
    copied = [message for message in fork.messages if message.token_usage and message.inherited]
    assert copied
    assert {message.usage_key for message in copied} <= set(of_parent.values())
    assert [message.content for message in fork.messages if not message.inherited] == [
        "forked session: different idea",
        "Done (189): forked session: different idea",
    ]


def test_forks_know_their_parents() -> None:
    found = {
        one.session_id: one for one in sample_pi("home").relate([one for _, one in everything(sample_pi("home"))])
    }
    by_file = {Path(entry["file"]).name: entry["id"] for entry in SAMPLES.expected["home"]}
    for entry in SAMPLES.expected["home"]:
        parent = by_file[Path(entry["parentSession"]).name] if entry["parentSession"] else None
        summary = found[entry["id"]]
        assert (summary.parent_id, summary.forked_from) == (parent, parent)
        assert summary.kind == ("fork" if parent else "session")


def test_compaction_stands_where_the_agent_s_view_begins() -> None:
    _, session = both(sample_pi("home"), PI_BRANCHED)
    raw = next(node for node in records(Path(session.path)) if node["type"] == "compaction")
    kinds = [message.kind for message in session.messages]
    mark = kinds.index("compaction")
    assert kinds[mark + 1] == "summary"
    assert session.messages[mark + 1].content == raw["summary"]
    assert session.messages[mark + 2].id == raw["firstKeptEntryId"]
    used = session.messages[mark + 1].token_usage
    assert used is not None
    assert used.total == raw["usage"]["totalTokens"]
    _, old = both(sample_pi("home-hard"), "0585a01c-4c7d-4df0-a21a-ef57e4cc4132")
    # firstKeptEntryIndex 1: everything after the header was kept.
    assert [message.kind for message in old.messages][:3] == ["compaction", "summary", "message"]


def test_times_are_those_of_the_messages() -> None:
    for home, session_id in SAMPLES.real:
        found = records(STORES / "pi" / home / SAMPLES.entry(home, session_id)["file"])
        summary, _ = both(sample_pi(home), session_id)
        said = [
            node["message"]["timestamp"]
            for node in found
            if node.get("type") == "message" and node["message"]["role"] in ("user", "assistant")
        ]
        assert round(summary.updated_at.timestamp() * 1000) == max(said)
        assert summary.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z") == found[0]["timestamp"]


@pytest.mark.parametrize("session_id", list(SAMPLES.expected["home-spec"]))
def test_the_document_s_layout(session_id: str) -> None:
    expected = SAMPLES.expected["home-spec"][session_id]
    summary, session = both(sample_pi("home-spec"), session_id)
    assert summary.title == session.title == expected["title"]
    assert [message.content for message in session.messages] == expected["newestBranch"]
    folder = STORES / "pi" / "home-spec" / ".pi" / "agent" / "sessions" / session_id
    lines = [node for path in sorted(folder.iterdir()) for node in records(path)]
    assert len(lines) == expected["entries"] == len(session.raw["tree"])
    used = summary.tokens
    assert (used.input_tokens if used else 0) == sum(usage_of(node).get("inputTokens", 0) for node in lines)
    assert (used.output_tokens if used else 0) == sum(usage_of(node).get("outputTokens", 0) for node in lines)
    assert (used.cached_tokens if used else 0) == sum(usage_of(node).get("cachedTokens", 0) for node in lines)
    raw = {node["id"]: node for node in lines}
    for message in session.messages:
        assert message.role == raw[message.id]["role"]
        assert message.thinking == raw[message.id].get("thinking")
        assert [call.input for call in message.tool_calls] == [
            call["input"] for call in raw[message.id].get("toolCalls", [])
        ]
    results = [call.output for message in session.messages for call in message.tool_calls]
    assert results == (["README.md"] if len(lines) > 1 else [])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            '<file name="/srv/a.py">\nprint("x")\n</file>\n<file name="/srv/b.png"></file>\nFix the clock',
            "Fix the clock",
        ),
        ('<file name="/srv/a.py">\n' + "x = 1\n" * 2000 + "</file>\nFix the clock", "Fix the clock"),
        ('<file name="/srv/a.py">\nx\n</file>\n<file name="/srv/b.png"></file>\n', "a.py, b.png"),
        ('<file name="/srv/a.py">\nnever closed', "a.py"),
        ("What is <file name=x> for?", "What is <file name=x> for?"),
        ('<file names="x">', '<file names="x">'),
    ],
)
def test_a_title_has_no_markup_of_files(tmp_path: Path, text: str, title: str) -> None:
    write_pi(tmp_path, "one", asked(1, None, text), answered(2, 1))
    adapter = PiAdapter(Environment(home=tmp_path, variables={}))
    ((_, summary),) = everything(adapter)
    assert (summary.title, summary.preview) == (title, title)
    _, session = both(adapter, "one")
    assert session.title == title and session.messages[0].content == text
