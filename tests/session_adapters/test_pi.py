"""Pi: every session of the sample stores against figures from the raw files, growth, branches, commands."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plain_trees import active_path, plain_text, records, usage_of
from session_adapters.base import Environment, SessionMissing, Source
from session_adapters.files import METER
from session_adapters.model import Problem, Session, SessionSummary
from session_adapters.pi import PiAdapter
from session_adapters.registry import BUILT_IN, adapter_class
from session_adapters.transcript import JsonlTranscript
from session_adapters.tree.ends import HEAD, TAIL
from session_adapters.tree.transcript import TreeBuilder, TreeTranscript
from support import STORES

_EXPECTED: dict[str, Any] = json.loads((STORES / "pi" / "expected.json").read_text())
_REAL = [(home, entry["id"]) for home in ("home", "home-hard") for entry in _EXPECTED[home]]
_BRANCHED = "01a1fd3c-75fc-754d-bae2-a43c338a7401"


def _adapter(home: str) -> PiAdapter:
    root = STORES / "pi" / home
    return PiAdapter(
        Environment(home=root, variables={"PI_CODING_AGENT_SESSION_DIR": str(root / "custom-session-dir")})
    )


def _entry(home: str, session_id: str) -> dict[str, Any]:
    found = next(entry for entry in _EXPECTED[home] if entry["id"] == session_id)
    assert isinstance(found, dict)
    return found


def _summaries(adapter: PiAdapter, problems: list[Problem] | None = None) -> list[tuple[Source, SessionSummary]]:
    report = (problems if problems is not None else []).append
    return [(source, summary) for source in adapter.sources(report) for summary in adapter.summaries(source, report)]


def _one(adapter: PiAdapter, session_id: str) -> tuple[SessionSummary, Session]:
    source = adapter.find(session_id)
    assert source is not None
    (summary,) = adapter.summaries(source, lambda problem: None)
    return summary, adapter.session(source, session_id)


def test_it_is_registered() -> None:
    assert adapter_class("pi") is PiAdapter
    assert list(BUILT_IN) == sorted(BUILT_IN)


@pytest.mark.parametrize("home", ["home", "home-hard", "home-spec"])
def test_the_right_sessions_once_each(home: str) -> None:
    expected = _EXPECTED[home]
    ids = [entry["id"] for entry in expected] if isinstance(expected, list) else list(expected)
    adapter = _adapter(home)
    found = adapter.relate([summary for _, summary in _summaries(adapter)])
    assert sorted(summary.session_id for summary in found) == sorted(ids)


@pytest.mark.parametrize(("home", "session_id"), _REAL)
def test_messages_of_the_active_branch(home: str, session_id: str) -> None:
    entry = _entry(home, session_id)
    path = active_path(records(STORES / "pi" / home / entry["file"]))
    said = [node for node in path if node["type"] == "message"]
    _, session = _one(_adapter(home), session_id)
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


@pytest.mark.parametrize(("home", "session_id"), _REAL)
def test_results_stand_in_their_calls(home: str, session_id: str) -> None:
    path = active_path(records(STORES / "pi" / home / _entry(home, session_id)["file"]))
    answers = {
        node["message"]["toolCallId"]: node["message"]
        for node in path
        if node["type"] == "message" and node["message"]["role"] == "toolResult"
    }
    _, session = _one(_adapter(home), session_id)
    calls = {call.tool_call_id: call for message in session.messages for call in message.tool_calls}
    results = [message.tool_result for message in session.messages if message.tool_result]
    assert {result.tool_call_id for result in results} == set(answers)
    for result in results:
        raw, call = answers[result.tool_call_id], calls[result.tool_call_id]
        assert result.linked
        assert call.output == result.output == plain_text(raw["content"])
        assert call.is_error == result.is_error == raw["isError"]
        assert result.tool_name == raw["toolName"]


@pytest.mark.parametrize(("home", "session_id"), _REAL)
def test_tokens_cost_models_and_counts(home: str, session_id: str) -> None:
    entry = _entry(home, session_id)
    found = records(STORES / "pi" / home / entry["file"])
    summary, session = _one(_adapter(home), session_id)
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
    adapter = _adapter("home")
    summaries = adapter.relate([summary for _, summary in _summaries(adapter)])
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
                       for entry in _EXPECTED["home"])  # fmt: skip


def test_a_line_that_stands_twice_is_counted_once(store: Callable[..., Path]) -> None:
    home = store("pi", "home")
    path = next(home.rglob("*custom-id-7.jsonl"))
    before, _ = _one(PiAdapter(Environment(home=home)), "custom-id-7")
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[-1])
    after, session = _one(PiAdapter(Environment(home=home)), "custom-id-7")
    assert (after.tokens, after.cost, after.raw) == (before.tokens, before.cost, before.raw)
    assert len(session.messages) == before.message_count


def test_usage_keys_agree_between_a_fork_and_its_parent() -> None:
    adapter = _adapter("home")
    _, parent = _one(adapter, _BRANCHED)
    _, fork = _one(adapter, "01a1fd3c-9b8c-754d-bae2-a442339f12a8")
    of_parent = {message.id: message.usage_key for message in parent.messages if message.token_usage}
    copied = [message for message in fork.messages if message.token_usage and message.inherited]
    assert copied
    assert {message.usage_key for message in copied} <= set(of_parent.values())
    assert [message.content for message in fork.messages if not message.inherited] == [
        "forked session: different idea",
        "Done (189): forked session: different idea",
    ]


def test_forks_know_their_parents() -> None:
    found = {one.session_id: one for one in _adapter("home").relate([one for _, one in _summaries(_adapter("home"))])}
    by_file = {Path(entry["file"]).name: entry["id"] for entry in _EXPECTED["home"]}
    for entry in _EXPECTED["home"]:
        parent = by_file[Path(entry["parentSession"]).name] if entry["parentSession"] else None
        summary = found[entry["id"]]
        assert (summary.parent_id, summary.forked_from) == (parent, parent)
        assert summary.kind == ("fork" if parent else "session")


def test_compaction_stands_where_the_agent_s_view_begins() -> None:
    _, session = _one(_adapter("home"), _BRANCHED)
    raw = next(node for node in records(Path(session.path)) if node["type"] == "compaction")
    kinds = [message.kind for message in session.messages]
    mark = kinds.index("compaction")
    assert kinds[mark + 1] == "summary"
    assert session.messages[mark + 1].content == raw["summary"]
    assert session.messages[mark + 2].id == raw["firstKeptEntryId"]
    used = session.messages[mark + 1].token_usage
    assert used is not None
    assert used.total == raw["usage"]["totalTokens"]
    _, old = _one(_adapter("home-hard"), "0585a01c-4c7d-4df0-a21a-ef57e4cc4132")
    # firstKeptEntryIndex 1: everything after the header was kept.
    assert [message.kind for message in old.messages][:3] == ["compaction", "summary", "message"]


def test_times_are_those_of_the_messages() -> None:
    for home, session_id in _REAL:
        found = records(STORES / "pi" / home / _entry(home, session_id)["file"])
        summary, _ = _one(_adapter(home), session_id)
        said = [
            node["message"]["timestamp"]
            for node in found
            if node.get("type") == "message" and node["message"]["role"] in ("user", "assistant")
        ]
        assert round(summary.updated_at.timestamp() * 1000) == max(said)
        assert summary.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z") == found[0]["timestamp"]


@pytest.mark.parametrize("session_id", list(_EXPECTED["home-spec"]))
def test_the_document_s_layout(session_id: str) -> None:
    expected = _EXPECTED["home-spec"][session_id]
    summary, session = _one(_adapter("home-spec"), session_id)
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


# Branches ----------------------------------------------------------------------------------------------------


def _open(adapter: PiAdapter, session_id: str) -> TreeTranscript:
    source = adapter.find(session_id)
    assert source is not None
    return adapter.open(source, session_id)


def test_branches_and_switching() -> None:
    transcript = _open(_adapter("home"), _BRANCHED)
    found = records(STORES / "pi" / "home" / _entry("home", _BRANCHED)["file"])
    said = [node for node in found if node["type"] == "message"]
    parents = {node["parentId"] for node in found[1:]}
    leaves = [node["id"] for node in said if node["id"] not in parents]
    assert [branch.leaf_id for branch in transcript.branches] == leaves
    assert [branch.active for branch in transcript.branches] == [False, False, True]
    assert [branch.preview for branch in transcript.branches] == [
        "what about pears? list again",
        "alternative branch: list with care",
        "third branch from pears: short answer",
    ]
    assert transcript.branches[0].label == "checkpoint-1"
    nodes = {node["id"]: node for node in found[1:]}
    for branch in transcript.branches:
        before = list(transcript.messages)
        change = transcript.switch(branch.leaf_id)
        ids = []
        at: str | None = branch.leaf_id
        while at is not None:
            if nodes[at]["type"] in ("message", "branch_summary", "custom_message"):
                ids.append(at)
            at = nodes[at]["parentId"]
        ours = [message.id for message in transcript.messages if message.id in nodes and message.kind != "compaction"]
        assert ours == ids[::-1]
        if change.first is not None and not change.rewritten:
            assert transcript.messages[: change.first] == before[: change.first]
            assert transcript.messages[change.first : change.first + 1] != before[change.first : change.first + 1]
        assert [one.shown for one in transcript.branches] == [one == branch.leaf_id for one in leaves]
    with pytest.raises(LookupError):
        transcript.switch("../../etc/passwd")


def test_a_conversation_of_one_line_has_no_branches(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"{}\n")
    transcript = JsonlTranscript("any", "x", str(path), TreeBuilder)
    assert transcript.branches == ()
    with pytest.raises(LookupError):
        transcript.switch("x")


@pytest.mark.parametrize(("home", "session_id"), _REAL)
def test_branch_counts(home: str, session_id: str) -> None:
    entry = _entry(home, session_id)
    summary, session = _one(_adapter(home), session_id)
    transcript = _open(_adapter(home), session_id)
    # `branchPoints` counts places with several children; a place with n children makes n - 1 further branches.
    # The orphan in home-hard hangs on nothing, so it is no child of any place and one branch more.
    orphans = 1 if session_id.startswith("960d5a8f") else 0
    assert summary.raw["branches"] == entry["branchPoints"] + 1 + orphans == len(session.raw["leaves"])
    assert len(transcript.branches) == (summary.raw["branches"] if summary.raw["branches"] > 1 else 0)
    assert transcript.file.tree.fork_points() == entry["branchPoints"]
    assert len(session.raw["tree"]) == entry["entries"]


# Following ---------------------------------------------------------------------------------------------------


def _growing(tmp_path: Path, lines: list[bytes], page: int = 1 << 20) -> Iterator[tuple[TreeTranscript, int | None]]:
    """Write a session line by line; after each, what `refresh` said."""
    path = tmp_path / "2026-11-21T08-32-40-445Z_grow.jsonl"
    path.write_bytes(lines[0] + b"\n")
    transcript = TreeTranscript("pi", "grow", str(path), lambda: [str(path)], page=page)
    for line in lines[1:]:
        before = list(transcript.messages)
        with path.open("ab") as file:
            file.write(line[: len(line) // 2])
        assert transcript.refresh() == (None, False, False), "half a line is no change"
        with path.open("ab") as file:
            file.write(line[len(line) // 2 :] + b"\n")
        change = transcript.refresh()
        if change.first is None:
            assert transcript.messages == before
        elif not change.rewritten:
            assert transcript.messages[: change.first] == before[: change.first]
        yield transcript, change.first
        fresh = TreeTranscript("pi", "grow", str(path), lambda: [str(path)])
        if transcript.complete:
            assert transcript.messages == fresh.messages
        else:
            assert transcript.messages == fresh.messages[len(fresh.messages) - len(transcript.messages) :]


@pytest.mark.parametrize("entry", [*_EXPECTED["home"], *_EXPECTED["home-hard"]], ids=lambda entry: str(entry["id"]))
def test_following_line_by_line(entry: dict[str, Any], tmp_path: Path) -> None:
    root = next(home for home in ("home", "home-hard") if (STORES / "pi" / home / entry["file"]).is_file())
    lines = [line for line in (STORES / "pi" / root / entry["file"]).read_bytes().split(b"\n") if line.endswith(b"}")]
    jumps = 0
    for transcript, first in _growing(tmp_path, lines):
        jumps += first is not None and first < len(transcript.messages) - 2
    assert jumps > 0 or entry["branchPoints"] < 2


def test_following_and_paging_with_small_pages(tmp_path: Path) -> None:
    lines = (STORES / "pi" / "home" / _entry("home", _BRANCHED)["file"]).read_bytes().splitlines()
    *_, (transcript, _) = _growing(tmp_path, lines, page=2500)
    path = transcript.path
    paged = TreeTranscript("pi", "grow", path, lambda: [path], page=2500)
    assert not paged.complete
    assert paged.messages
    steps = 0
    while not paged.complete:
        known = list(paged.messages)
        added = paged.earlier()
        assert [message.id for message in paged.messages[added:]] == [message.id for message in known]
        steps += 1
    assert steps > 1
    whole = TreeTranscript("pi", "grow", path, lambda: [path])
    assert paged.messages == whole.messages
    assert [branch.first for branch in paged.branches] == [branch.first for branch in whole.branches]


def test_a_result_finds_its_call_across_pages(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "x" * 3000}}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "content": [call]},
        {"role": "toolResult", "toolCallId": "c", "toolName": "read", "content": "y" * 3000, "isError": False},
    ]
    with path.open("w") as file:
        file.write('{"type":"session","version":3,"id":"x","cwd":"/"}\n')
        for number, message in enumerate(said):
            parent = str(number - 1) if number else None
            record = {"type": "message", "id": str(number), "parentId": parent, "message": message}
            file.write(json.dumps(record) + "\n")
    transcript = TreeTranscript("pi", "x", str(path), lambda: [str(path)], page=1000)
    (result,) = [message.tool_result for message in transcript.messages]
    assert result is not None
    assert not result.linked
    while not transcript.complete:
        assert transcript.earlier()
    result = transcript.messages[2].tool_result
    assert result is not None
    assert result.linked
    assert transcript.messages[1].tool_calls[0].output == "y" * 3000


def test_a_file_that_pi_rewrites_in_place_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    old: list[dict[str, Any]] = [
        {"type": "session", "id": "x", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"},
        {"type": "message", "timestamp": "2026-01-01T00:00:01Z", "message": {"role": "user", "content": "one"}},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in old))
    transcript = TreeTranscript("pi", "x", str(path), lambda: [str(path)])
    new = [{**old[0], "version": 3}, {**old[1], "id": "abcd1234", "parentId": None}]
    path.write_text("".join(json.dumps(line) + "\n" for line in new))
    assert transcript.refresh().rewritten
    assert [message.id for message in transcript.messages] == ["abcd1234"]
    path.unlink()
    assert transcript.refresh().gone
    assert [message.content for message in transcript.messages] == ["one"]


def test_a_pinned_branch_stays_while_the_agent_goes_on_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    def say(node: str, parent: str | None, role: str = "user") -> None:
        record = {"type": "message", "id": node, "parentId": parent, "message": {"role": role, "content": node}}
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    path.write_text('{"type":"session","version":3,"id":"x","cwd":"/"}\n')
    for node, parent in (("ask", None), ("left", "ask"), ("right", "ask")):
        say(node, parent)
    transcript = TreeTranscript("pi", "x", str(path), lambda: [str(path)])
    assert [message.content for message in transcript.messages] == ["ask", "right"]
    assert transcript.switch("left") == (1, False, False)
    say("right2", "right")
    assert transcript.refresh() == (None, False, False)
    assert [message.content for message in transcript.messages] == ["ask", "left"]
    say("left2", "left")
    assert transcript.refresh().first == 2
    assert [message.content for message in transcript.messages] == ["ask", "left", "left2"]
    assert [(one.leaf_id, one.first, one.active, one.shown) for one in transcript.branches] == [
        ("right2", 1, False, False),
        ("left2", 1, True, True),
    ]


def test_a_branch_in_a_second_file_of_the_document_s_layout(tmp_path: Path) -> None:
    folder = tmp_path / ".pi" / "agent" / "sessions" / "doc"
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text(
        '{"id":"1","parentId":null,"role":"user","content":"q","timestamp":"2026-01-01"}\n'
    )
    transcript = _open(PiAdapter(Environment(home=tmp_path)), "doc")
    (folder / "b.jsonl").write_text(
        '{"id":"2","parentId":"1","role":"assistant","content":"a","timestamp":"2026-01-02"}\n'
    )
    assert transcript.refresh().rewritten
    assert [message.content for message in transcript.messages] == ["q", "a"]


# Laziness and reading only -----------------------------------------------------------------------------------


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A store with one session of 4 MB."""
    path = tmp_path / ".pi" / "agent" / "sessions" / "--srv--" / "2026-01-01T00-00-00-000Z_big.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("w") as file:
        file.write('{"type":"session","version":3,"id":"big","timestamp":"2026-01-01T00:00:00Z","cwd":"/srv"}\n')
        for number in range(2000):
            record = {
                "type": "message", "id": str(number), "parentId": str(number - 1) if number else None,
                "timestamp": "2026-01-01T00:00:00Z",
                "message": {"role": "assistant" if number % 2 else "user", "content": f"{number} " + "x" * 2000,
                            "model": "m", "usage": {"input": number % 2, "output": 0}},
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")
    return tmp_path


def test_a_large_file_is_summed_up_from_its_ends(large: Path) -> None:
    adapter = PiAdapter(Environment(home=large))
    METER.reset()
    (source,) = adapter.sources(lambda problem: None)
    assert METER.bytes == 0
    (summary,) = adapter.summaries(source, lambda problem: None)
    assert METER.bytes <= HEAD + TAIL
    assert summary.partial
    assert summary.title.startswith("0 xxx")
    assert 0 < summary.message_count < 2000
    assert "branches" not in summary.raw
    (exact,) = adapter.summaries(source, lambda problem: None, exact=True)
    assert not exact.partial
    assert (exact.message_count, exact.turn_count, exact.raw["branches"]) == (2000, 1000, 1)
    assert exact.tokens is not None
    assert exact.tokens.total == 1000
    assert summary.tokens is not None
    assert summary.tokens.total < 1000


def test_a_large_file_opens_at_its_end(large: Path) -> None:
    transcript = _open(PiAdapter(Environment(home=large)), "big")
    assert transcript.messages[-1].content.startswith("1999 ")
    assert len(transcript.messages) < 1100
    while not transcript.complete:
        assert transcript.earlier()
    assert [message.content.split()[0] for message in transcript.messages] == [str(number) for number in range(2000)]


def test_one_session_is_read_without_the_others(store: Callable[..., Path]) -> None:
    home = store("pi", "home")
    adapter = PiAdapter(Environment(home=home))
    kept = next(home.rglob("*custom-id-7.jsonl"))
    for path in home.rglob("*.jsonl"):
        if path != kept:
            path.write_bytes(b'{"poison": ' * 10_000)
    METER.reset()
    source = adapter.find("custom-id-7")
    assert source is not None
    session = adapter.session(source, "custom-id-7")
    assert len(session.messages) == 3
    assert METER.bytes < 6 * kept.stat().st_size


# Places ------------------------------------------------------------------------------------------------------


def test_where_it_looks(tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "settings.json").write_text('{"sessionDir": "~/mine"}')
    variables = {"PI_CODING_AGENT_DIR": str(moved), "PI_CODING_AGENT_SESSION_DIR": "~/flat"}
    roots = PiAdapter(Environment(home=tmp_path, variables=variables)).roots()
    assert [root.path for root in roots] == [
        tmp_path / "flat",
        moved / "sessions",
        tmp_path / "mine",
        tmp_path / ".pi" / "agent" / "sessions",
    ]
    assert [root.exists for root in roots] == [False] * 4


def test_a_relative_session_dir_is_said_to_be_unlisted(tmp_path: Path, problems: list[Problem]) -> None:
    (tmp_path / ".pi" / "agent").mkdir(parents=True)
    (tmp_path / ".pi" / "agent" / "settings.json").write_text('{"sessionDir": ".sessions"}')
    assert not list(PiAdapter(Environment(home=tmp_path)).sources(problems.append))
    assert [problem.path for problem in problems] == [str(tmp_path / ".pi" / "agent" / "settings.json")]


def test_symlinked_folders_count_once(store: Callable[..., Path]) -> None:
    home = store("pi", "home")
    sessions = home / ".pi" / "agent" / "sessions"
    (sessions / "--also-shop--").symlink_to(sessions / "--home-dev-shop--")
    (sessions / "--loop--").symlink_to(sessions)
    adapter = PiAdapter(Environment(home=home))
    assert len(_summaries(adapter)) == len(_EXPECTED["home"])


def test_the_same_id_in_two_directories_is_two_sessions_and_a_copy_is_one(store: Callable[..., Path]) -> None:
    home = store("pi", "home")
    original = next(home.rglob("*custom-id-7.jsonl"))
    (original.parent / "2026-11-21T08-33-27-480Z_custom-id-7-1.jsonl").write_bytes(original.read_bytes())
    other = original.parent.parent / "--srv--" / "2026-12-01T00-00-00-000Z_custom-id-7.jsonl"
    other.parent.mkdir()
    other.write_bytes(
        original.read_bytes().replace(b"/home/dev/api", b"/srv", 1).replace(b"08:33:27.480", b"09:00:00.000")
    )
    adapter = PiAdapter(Environment(home=home))
    found = adapter.relate([summary for _, summary in _summaries(adapter)])
    ids = [summary.session_id for summary in found if "custom-id-7" in summary.session_id]
    assert ids == ["custom-id-7", "2026-12-01T00-00-00-000Z_custom-id-7"]
    source = adapter.find(ids[1])
    assert source is not None
    assert source.path == str(other)
    assert adapter.session(source, ids[1]).cwd == "/srv"


def test_a_session_that_is_gone(tmp_path: Path) -> None:
    adapter = PiAdapter(Environment(home=tmp_path))
    assert adapter.find("../../../etc/passwd") is None
    source = Source(agent="pi", path=str(tmp_path / "x.jsonl"), stamp=(0, 0, 0, 0))
    with pytest.raises(SessionMissing):
        adapter.open(source, "x")
    with pytest.raises(SessionMissing):
        adapter.session(source, "x")


# Running -----------------------------------------------------------------------------------------------------


def test_commands() -> None:
    adapter = PiAdapter(Environment(home=Path("/h"), variables={"PI_CODING_AGENT_DIR": "/store"}))
    summary = SessionSummary(
        agent="pi", session_id="--help; rm -rf /", cwd="/home/dev/shop", path="/store/sessions/--x--/s.jsonl",
        raw={"version": 3},
    )  # fmt: skip
    resume = adapter.resume_command(summary)
    fork = adapter.fork_command(summary)
    assert resume is not None
    assert fork is not None
    assert resume.argv == ("pi", "--session", "/store/sessions/--x--/s.jsonl")
    assert fork.argv == ("pi", "--fork", "/store/sessions/--x--/s.jsonl")
    assert resume.cwd == fork.cwd == "/home/dev/shop"
    assert resume.env == fork.env == {"PI_CODING_AGENT_DIR": "/store"}
    assert "does not lock" in (resume.warning or "")
    assert fork.warning is None
    document = SessionSummary(agent="pi", session_id="x", path="/p", raw={"layout": "document"})
    assert adapter.resume_command(document) is None
    old = SessionSummary(agent="pi", session_id="x", path="/p", raw={"version": 1})
    command = adapter.resume_command(old)
    assert command is not None
    assert "rewrites" in (command.warning or "")
    assert PiAdapter.capabilities.can_resume
    assert PiAdapter.capabilities.can_fork


def test_live_by_a_real_process(store: Callable[..., Path], tmp_path: Path) -> None:
    home, cwd = store("pi", "home"), tmp_path / "project"
    cwd.mkdir()
    path = next(home.rglob("*custom-id-7.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"/home/dev/api", os.fsencode(cwd), 1))
    adapter = PiAdapter(Environment(home=home))
    with subprocess.Popen(["pi"], executable="/bin/cat", stdin=subprocess.PIPE, cwd=cwd) as running:
        os.utime(path)
        os.utime(next(home.rglob(f"*{_BRANCHED}.jsonl")))  # newer, but of another directory
        live = adapter.live()
        assert {name: one.pid for name, one in live.items()} == {"custom-id-7": running.pid}
        os.utime(path, (1, 1))  # not touched since that process started
        assert not adapter.live()
        os.utime(path)
        assert running.stdin is not None
        running.stdin.close()
        running.wait()
    assert not adapter.live()
