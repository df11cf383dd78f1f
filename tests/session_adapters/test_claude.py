"""Claude Code's sessions, compared with the stores that three of its versions wrote."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from session_adapters.base import Environment, SessionMissing, SessionUnreadable, Source
from session_adapters.claude import ClaudeAdapter
from session_adapters.files import METER
from session_adapters.model import Message, Problem, Session, SessionSummary, TokenUsage
from session_adapters.registry import adapter_class
from support import STORES

SAMPLES = {
    "home": STORES / "claude" / "home",
    "older": STORES / "claude" / "older" / "home",
    "spec-layout": STORES / "claude" / "spec-layout" / "home",
}
COUNTS = {
    "turn_count",
    "message_count",
    "tool_call_count",
    "tokens",
    "cost",
    "model",
    "models",
    "partial",
    "warnings",
    "raw",
}
"""Fields of a summary that only the whole file can tell."""


def adapter(home: Path, **variables: str) -> ClaudeAdapter:
    return ClaudeAdapter(Environment(home=home, variables=variables))


def never(problem: Problem) -> None:
    raise AssertionError(problem)


def listed(reader: ClaudeAdapter, *, exact: bool = True) -> dict[str, SessionSummary]:
    found = [s for source in reader.sources(never) for s in reader.summaries(source, never, exact=exact)]
    return {summary.session_id: summary for summary in reader.relate(found)}


def got(reader: ClaudeAdapter, session_id: str) -> Session:
    source = reader.find(session_id)
    assert source is not None
    return reader.session(source, session_id)


def raw_lines(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").split("\n") if line.strip()]


def every_sample() -> Iterator[tuple[str, str]]:
    for name, home in SAMPLES.items():
        for path in sorted(home.rglob("projects/**/*.jsonl")):
            if path.stat().st_size:
                yield name, path.stem


EVERY = list(every_sample())


def expected() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, file in (("home", "expected.json"), ("older", "expected.older.json")):
        for entry in json.loads((STORES / "claude" / file).read_text()):
            if not entry.get("empty"):
                yield name, entry


EXPECTED = list(expected())

# The samples -----------------------------------------------------------------------------------------------


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
    tokens = want["tokens_in_file_dedup"]
    assert [m.content for m in session.messages if m.is_prompt] == want["user_prompts"]
    assert summary.preview == want["first_prompt"]
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
    """Every model call of every file, each once by `message.id`, whichever copies hold it."""
    calls: dict[str, dict[str, Any]] = {}
    for path in SAMPLES[name].rglob("projects/**/*.jsonl"):
        for record in raw_lines(path):
            message = record.get("message")
            if record.get("type") == "assistant" and message and message["model"] != "<synthetic>":
                calls[message["id"]] = message["usage"]
    reader = adapter(SAMPLES[name])
    ours: dict[str, TokenUsage] = {}
    for session_id in listed(reader):
        for message in got(reader, session_id).messages:
            if message.token_usage:
                ours[message.usage_key] = message.token_usage
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
    spent = {m.usage_key: m.token_usage for m in session.messages if m.token_usage}
    total = sum(spent.values(), TokenUsage())
    assert (summary.tokens or TokenUsage()) == total


def turns(messages: tuple[Message, ...]) -> int:
    answered, waiting = 0, False
    for message in messages:
        if message.is_prompt:
            waiting = True
        elif message.role == "assistant" and message.kind == "message" and waiting:
            answered, waiting = answered + 1, False
    return answered


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


# Ends only, pages, following -------------------------------------------------------------------------------


@pytest.fixture
def small_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends so small that every sample has a middle that is not read."""
    monkeypatch.setattr(ClaudeAdapter, "head", 1_500)
    monkeypatch.setattr(ClaudeAdapter, "tail", 3_000)


@pytest.mark.usefixtures("small_ends")
@pytest.mark.parametrize("name", SAMPLES)
def test_the_ends_tell_everything_but_the_counts(name: str) -> None:
    reader = adapter(SAMPLES[name])
    whole, ends = listed(reader), listed(reader, exact=False)
    assert set(whole) == set(ends)
    for session_id, summary in whole.items():
        glance = ends[session_id]
        same = {key: value for key, value in asdict(summary).items() if key not in COUNTS}
        assert {key: getattr(glance, key) for key in same} == same
        assert glance.turn_count <= summary.turn_count
        assert glance.message_count <= summary.message_count
        if not glance.partial:
            assert glance == summary
    if name == "home":
        assert sum(summary.partial for summary in ends.values()) >= 8


@pytest.mark.parametrize("page", [1, 500, 1_400, 4_096, 20_000])
@pytest.mark.parametrize(("name", "session_id"), EVERY)
def test_pages_back_to_the_start_give_the_session(
    name: str, session_id: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = adapter(SAMPLES[name])
    source = reader.find(session_id)
    assert source is not None
    monkeypatch.setattr(ClaudeAdapter, "page", page)
    transcript = reader.open(source, session_id)
    while transcript.earlier():
        pass
    assert transcript.complete
    assert transcript.messages == list(reader.session(source, session_id).messages)


@pytest.mark.parametrize(
    "session_id", ["677bcb80-64fb-432d-b58a-3a648e106e84", "e1d05390-abe4-4794-ac31-6f0601b093f1"]
)
def test_following_gives_what_reading_anew_gives(store: Callable[..., Path], session_id: str) -> None:
    reader = adapter(store("claude", "home"))
    source = reader.find(session_id)
    assert source is not None
    path = Path(source.path)
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(rows[0])
    followed = reader.open(source, session_id)
    for row in rows[1:]:
        for part in (row[: len(row) // 2], row[len(row) // 2 : -1], row[-1:]):
            with path.open("ab") as out:
                out.write(part)
            followed.refresh()
            assert followed.messages == reader.open(source, session_id).messages
    assert followed.messages == list(reader.session(source, session_id).messages)


def test_a_large_file_is_not_read_to_be_listed_or_opened(tmp_path: Path) -> None:
    path = tmp_path / ".claude/projects/-p/big.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("wb") as out:
        number = 0
        while out.tell() < 50 << 20:
            out.write(line(uuid=f"u{number}", **prompt(f"Question {number}")))
            out.write(line(uuid=f"a{number}", **reply(f"m{number}", "x" * 20_000)))
            number += 1
    reader = adapter(tmp_path)
    METER.reset()
    (source,) = reader.sources(never)
    assert (METER.bytes, METER.opened) == (0, 0)
    (summary,) = reader.summaries(source, never)
    assert METER.bytes <= 160 << 10
    assert summary.partial
    assert (summary.title, summary.cwd, summary.updated_at.year) == ("Question 0", "/p", 2026)
    METER.reset()
    assert reader.open(source, "big").messages[-1].content == "x" * 20_000
    assert METER.bytes <= 5 << 20
    (exact,) = reader.summaries(source, never, exact=True)
    assert (exact.turn_count, exact.message_count, exact.partial) == (number, 2 * number, False)


def test_a_long_branch_began_when_its_own_records_do(tmp_path: Path) -> None:
    path = tmp_path / ".claude/projects/-p/branch.jsonl"
    path.parent.mkdir(parents=True)
    copied = {"forkedFrom": {"sessionId": "parent", "messageUuid": "x"}, "timestamp": "2026-01-01T00:00:00.000Z"}
    with path.open("wb") as out:
        for number in range(3_000):
            out.write(line(uuid=f"u{number}", **prompt("copied " * 100), **copied))
        out.write(line(type="mode", mode="normal"))
        out.write(line(uuid="own", **prompt("own"), timestamp="2026-03-01T00:00:00.000Z"))
        for number in range(1_000):
            out.write(line(uuid=f"o{number}", **prompt("later " * 100), timestamp="2026-04-01T00:00:00.000Z"))
    reader = adapter(tmp_path)
    (source,) = reader.sources(never)
    METER.reset()
    (glance,) = reader.summaries(source, never)
    assert METER.bytes < 4 << 20
    (exact,) = reader.summaries(source, never, exact=True)
    assert glance.partial
    assert glance.created_at == exact.created_at == datetime.fromisoformat("2026-03-01T00:00:00Z")
    assert (glance.kind, glance.forked_from) == ("fork", "parent")


def test_a_last_record_larger_than_the_tail(tmp_path: Path) -> None:
    path = tmp_path / ".claude/projects/-p/s.jsonl"
    path.parent.mkdir(parents=True)
    old, new = "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"
    body = line(uuid="1", **prompt("first"), timestamp=old) * 1 + line(type="x", pad="p" * 3_000_000)
    for size in (300_000, 3_000_000):
        path.write_bytes(body + line(uuid="2", **reply("m", "x" * size), timestamp=new))
        os.utime(path, (1_769_904_000, 1_769_904_000))  # 2026-02-01
        reader = adapter(tmp_path)
        (source,) = reader.sources(never)
        (glance,) = reader.summaries(source, never)
        assert glance.updated_at == datetime.fromisoformat(new)


# Records one by one ----------------------------------------------------------------------------------------


def line(**fields: Any) -> bytes:
    return (
        json.dumps({"sessionId": "s", "cwd": "/p", "timestamp": "2026-11-21T08:00:00.000Z"} | fields).encode() + b"\n"
    )


def prompt(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def reply(message_id: str, *blocks: Any, out: int = 1, model: str = "m-1", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    usage = {"input_tokens": 1, "output_tokens": out}
    message = {"id": message_id, "role": "assistant", "model": model, "content": content, "usage": usage}
    return {"type": "assistant", "message": message, **fields}


def call(name: str, **values: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": values}


def result(name: str, content: Any = "done", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **fields}


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Session]:
    """Writes records into one session, reads it as a whole and by small pages, and gives the session."""

    def write(*records: dict[str, Any]) -> Session:
        path = tmp_path / ".claude/projects/-p/s.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(line(**{"uuid": f"u{n}"} | record) for n, record in enumerate(records)))
        reader = adapter(tmp_path)
        session = got(reader, "s")
        source = reader.find("s")
        assert source is not None
        for page in (1, 300, 600, 1_200):
            small = type("Small", (ClaudeAdapter,), {"page": page})(reader.environment)
            transcript = small.open(source, "s")
            while transcript.earlier():
                pass
            assert transcript.messages == list(session.messages)
        (summary,) = reader.summaries(source, never, exact=True)
        assert (summary.message_count, summary.turn_count) == (len(session.messages), turns(session.messages))
        assert summary.tool_call_count == sum(len(m.tool_calls) for m in session.messages)
        return session

    return write


Written = Callable[..., Session]


def test_one_reply_over_several_lines_is_one_message(written: Written) -> None:
    session = written(
        prompt("go"),
        reply("m1", {"type": "thinking", "thinking": "hm"}, out=1),
        reply("m1", "first", out=2),
        reply("m1", call("c1"), out=3),
        prompt([result("c1", "one")]),
        reply("m1", call("c2"), out=4),
        reply("m1", "second", out=50),
        prompt([result("c2", "two")]),
        reply("m2", "end", out=7),
    )
    assert [m.role for m in session.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    first = session.messages[1]
    assert (first.content, first.thinking, first.id, first.usage_key) == ("first\n\nsecond", "hm", "m1", "m1")
    assert [(c.tool_call_id, c.output) for c in first.tool_calls] == [("c1", "one"), ("c2", "two")]
    assert first.token_usage == TokenUsage(input_tokens=1, output_tokens=50)
    assert session.tokens == TokenUsage(input_tokens=2, output_tokens=57)


def test_a_gateway_that_gives_every_reply_the_same_id_does_not_melt_the_conversation(written: Written) -> None:
    session = written(prompt("a"), reply("same", "1"), prompt("b"), reply("same", "2", out=5))
    assert [m.content for m in session.messages] == ["a", "1", "b", "2"]
    assert session.turn_count == 2


def test_several_results_in_one_record(written: Written) -> None:
    session = written(
        prompt("go"),
        reply("m", call("c1"), call("c2")),
        prompt(
            [result("c2", "two"), result("c1", [{"type": "text", "text": "one"}, {"type": "image"}]), "and words"]
        ),
    )
    tools = [m for m in session.messages if m.role == "tool"]
    assert [m.tool_result.output for m in tools if m.tool_result] == ["two", "one\n\n[image]"]
    assert [m.id for m in session.messages[2:]] == ["u2", "u2#1", "u2#2"]
    assert (session.messages[-1].kind, session.messages[-1].content) == ("notice", "and words")
    assert session.turn_count == 1


def test_a_result_without_its_call_is_kept(written: Written) -> None:
    session = written(prompt("go"), prompt([result("lost", "words", is_error=True)]))
    kept = session.messages[1].tool_result
    assert kept is not None
    assert (kept.output, kept.is_error, kept.linked) == ("words", True, False)


@pytest.mark.parametrize(
    ("record", "kind", "text"),
    [
        (prompt("hello"), "message", "hello"),
        (prompt([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "message", "a\n\nb"),
        (prompt("<b>hi</b>"), "message", "<b>hi</b>"),
        (prompt("injected", isMeta=True), "notice", "injected"),
        (prompt("injected", promptSource="system"), "notice", "injected"),
        (prompt("[Request interrupted by user]"), "notice", "[Request interrupted by user]"),
        (prompt("Caveat: The messages below"), "notice", "Caveat: The messages below"),
        (prompt("<task-notification>\n<x>"), "notice", "<task-notification>\n<x>"),
        (prompt("so far", isCompactSummary=True), "summary", "so far"),
        (
            prompt("<command-name>/model</command-name>\n<command-message>model</command-message>\n"
                   "<command-args>opus</command-args>"),
            "command",
            "/model opus",
        ),
        (prompt("<command-message>init</command-message>"), "command", "/init"),
        (prompt("<local-command-stdout>Set model</local-command-stdout>"), "command", "Set model"),
        (prompt("<bash-input>ls -l</bash-input>"), "command", "! ls -l"),
        (prompt("<bash-stdout>a\nb</bash-stdout><bash-stderr></bash-stderr>"), "command", "a\nb"),
        ({"type": "system", "subtype": "compact_boundary"}, "compaction", "Conversation compacted"),
        (reply("x", "No response requested.", model="<synthetic>"), "notice", "No response requested."),
        (reply("x", "API Error", model="<synthetic>", isApiErrorMessage=True), "error", "API Error"),
    ],
)  # fmt: skip
def test_what_a_record_is(written: Written, record: dict[str, Any], kind: str, text: str) -> None:
    (message,) = written(record).messages
    assert (message.kind, message.content) == (kind, text)


@pytest.mark.parametrize(
    "record",
    [
        prompt(""),
        prompt([]),
        prompt("<local-command-stdout></local-command-stdout>"),
        prompt("helper's", isSidechain=True),
        {"type": "attachment", "attachment": {"type": "file", "content": "x"}},
        {"type": "api-request-blob", "message": {"role": "user", "content": "again"}},
        {"type": "queue-operation", "operation": "enqueue", "content": "again"},
        {"type": "system", "subtype": "turn_duration", "durationMs": 5},
        {"type": "never-heard-of", "message": {"role": "user", "content": [[["x"]]]}, "cwd": 5, "usage": "much"},
        {"type": "attachment", "error": [1], "model": {"id": 3}},
        {"type": "user", "message": None},
    ],
)
def test_what_is_no_message(written: Written, record: dict[str, Any]) -> None:
    session = written(prompt("only"), record)
    assert [m.content for m in session.messages] == ["only"]
    assert session.warnings == 0


def test_a_tool_may_say_anything_beside_its_result(written: Written) -> None:
    odd: list[Any] = [5, "text", [1], True, None, {"agentId": 7, "durationMs": "12 ms"}, {"durationMs": 12.7}]
    records = [prompt([result(f"c{n}")], toolUseResult=value) for n, value in enumerate(odd)]
    session = written(prompt("go"), reply("m", *(call(f"c{n}") for n in range(len(odd)))), *records)
    assert [c.duration_ms for c in session.messages[1].tool_calls] == [None] * 6 + [12]
    assert session.warnings == 0


def test_images_are_described_not_carried(written: Written) -> None:
    data = "iVBORw0KGgo="  # eight bytes
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    session = written(prompt([{"type": "text", "text": "look"}, image]), prompt([image]))
    assert [(a.media_type, a.size) for m in session.messages for a in m.attachments] == [("image/png", 8)] * 2
    assert [m.kind for m in session.messages] == ["message", "message"]
    assert data not in json.dumps([asdict(m) for m in session.messages], default=repr)


def test_a_record_written_twice_counts_once(written: Written) -> None:
    twice = [prompt("a", uuid="1"), reply("m1", "x", call("c"), uuid="2"), prompt([result("c")], uuid="3")]
    once = written(*twice)
    assert written(*(record for record in twice for _ in range(2))).messages == once.messages
    assert written(*twice, *twice).tokens == once.tokens


def test_inline_helpers_stay_out_of_the_conversation_and_their_tokens_in_the_bill(written: Written) -> None:
    session = written(
        prompt("go"),
        prompt("find it", isSidechain=True),
        reply("h1", "found", out=30, isSidechain=True),
        reply("m1", "done", out=2),
    )
    assert [m.content for m in session.messages] == ["go", "done"]
    assert session.raw["sidechainRecords"] == 2
    assert session.tokens == TokenUsage(input_tokens=2, output_tokens=32)


def test_titles_in_order(written: Written) -> None:
    records: list[dict[str, Any]] = [prompt("<command-name>/init</command-name>")]
    assert written(*records).title == "/init"
    records.append(prompt("  The\nfirst   prompt " + "x" * 200))
    assert written(*records).title == ("The first prompt " + "x" * 200)[:100]
    records.append({"type": "ai-title", "aiTitle": "By the model"})
    assert written(*records).title == "By the model"
    records += [{"type": "custom-title", "customTitle": title} for title in ("Old name", "By the user")]
    assert written(*records).title == "By the user"


def test_the_most_used_model_comes_first_and_ties_go_to_the_latest(written: Written) -> None:
    session = written(
        prompt("go"),
        *(reply(f"a{n}", "x", model="one") for n in range(2)),
        *(reply(f"b{n}", "x", model="two") for n in range(2)),
        reply("c", "x", model="three"),
        reply("d", "x", model="<synthetic>"),
    )
    assert session.models == ("two", "one", "three")
    assert session.model == "two"


def test_a_session_of_nothing_but_state_lines(written: Written) -> None:
    session = written({"type": "mode", "mode": "normal"}, {"type": "summary", "summary": "of another"})
    assert (session.messages, session.title, session.turn_count) == ((), "", 0)


# Places ----------------------------------------------------------------------------------------------------


def test_roots(tmp_path: Path) -> None:
    assert [(str(r.path), r.exists) for r in adapter(tmp_path).roots()] == [(f"{tmp_path}/.claude", False)]
    (tmp_path / ".config/claude").mkdir(parents=True)
    assert [str(r.path) for r in adapter(tmp_path).roots()] == [f"{tmp_path}/.claude", f"{tmp_path}/.config/claude"]
    moved = adapter(tmp_path, CLAUDE_CONFIG_DIR="~/elsewhere").roots()
    assert [str(r.path) for r in moved] == [f"{tmp_path}/elsewhere"]
    assert list(adapter(tmp_path).sources(never)) == []


def place(home: Path, where: str, *records: dict[str, Any]) -> Path:
    path = home / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line(**{"uuid": f"{where}{n}"} | record) for n, record in enumerate(records)))
    return path


def test_helpers_of_every_generation_are_found_also_without_their_session(tmp_path: Path) -> None:
    below = ".claude/projects/-p/lost-session/subagents"
    place(tmp_path, f"{below}/agent-a1.jsonl", prompt("one", isSidechain=True))
    place(tmp_path, f"{below}/workflows/w1/agent-a2.jsonl", prompt("two", isSidechain=True))
    place(tmp_path, f"{below}/workflows/w1/journal.jsonl", prompt("no"))
    place(tmp_path, ".claude/projects/-p/agent-a3.jsonl", prompt("three", isSidechain=True, sessionId="lost-session"))
    summaries = listed(adapter(tmp_path))
    assert {(s.session_id, s.kind, s.parent_id, s.title) for s in summaries.values()} == {
        ("agent-a1", "subagent", "lost-session", "one"),
        ("agent-a2", "subagent", "lost-session", "two"),
        ("agent-a3", "subagent", "lost-session", "three"),
    }
    assert [m.content for m in got(adapter(tmp_path), "agent-a2").messages] == ["two"]


def test_the_same_session_in_two_places_is_one(tmp_path: Path) -> None:
    place(tmp_path, ".claude/projects/-p/s.jsonl", prompt("a"), reply("m", "x"))
    longer = place(tmp_path, ".config/claude/projects/-p/s.jsonl", prompt("a"), reply("m", "x"), prompt("b"))
    (tmp_path / ".claude/projects/-q").symlink_to(tmp_path / ".claude/projects/-p")
    reader = adapter(tmp_path)
    assert len(list(reader.sources(never))) == 2  # each file once, whatever leads to it
    (summary,) = listed(reader).values()
    source = reader.find("s")
    assert source is not None
    assert summary.path == source.path == str(longer)
    assert summary.preview == "a"


def test_forks_of_forks_and_circles(tmp_path: Path) -> None:
    copied = {"forkedFrom": {"sessionId": "a"}}
    place(tmp_path, ".claude/projects/-p/a.jsonl", prompt("x", uuid="1"))
    place(tmp_path, ".claude/projects/-p/b.jsonl", prompt("x", uuid="1", **copied))
    place(tmp_path, ".claude/projects/-p/c.jsonl", prompt("x", uuid="1", forkedFrom={"sessionId": "b"}))
    place(tmp_path, ".claude/projects/-p/d.jsonl", prompt("y", uuid="2", forkedFrom={"sessionId": "gone"}))
    place(tmp_path, ".claude/projects/-p/e.jsonl", prompt("z", uuid="3", forkedFrom={"sessionId": "f"}))
    place(tmp_path, ".claude/projects/-p/f.jsonl", prompt("z", uuid="3", forkedFrom={"sessionId": "e"}))
    place(tmp_path, ".claude/projects/-p/g.jsonl", prompt("g", uuid="4", forkedFrom={"sessionId": "g"}))
    found = listed(adapter(tmp_path))
    assert {s: (found[s].forked_from, found[s].lineage_id) for s in "abcdg"} == {
        "a": (None, None),
        "b": ("a", "a"),
        "c": ("b", "a"),
        "d": ("gone", "gone"),
        "g": (None, None),
    }
    assert (found["e"].forked_from, found["f"].forked_from) == ("f", "e")


def test_the_title_in_the_folder_stands_in_for_one_in_the_unread_middle(tmp_path: Path) -> None:
    path = place(
        tmp_path,
        ".claude/projects/-p/s.jsonl",
        prompt("first"),
        {"type": "filler", "pad": "x" * 200_000},
        {"type": "custom-title", "customTitle": "Named"},
        {"type": "filler", "pad": "x" * 200_000},
        reply("m", "last"),
    )
    path.with_suffix("").mkdir()
    (path.with_suffix("") / "custom-title.json").write_text('{"customTitle": "Named"}')
    for exact in (True, False):
        assert listed(adapter(tmp_path), exact=exact)["s"].title == "Named"


@pytest.mark.parametrize(
    "session_id", ["../../etc/passwd", "/etc/passwd", "..", "", ".", "s/../s", "s.jsonl", "s\x00", "S", "*", "\udcff"]
)
def test_an_id_is_compared_never_made_a_path(tmp_path: Path, session_id: str) -> None:
    place(tmp_path, ".claude/projects/-p/s.jsonl", prompt("a"))
    reader = adapter(tmp_path)
    assert reader.find(session_id) is None
    source = reader.find("s")
    assert source is not None
    with pytest.raises(SessionMissing):
        reader.session(source, session_id)
    with pytest.raises(SessionMissing):
        reader.open(source, session_id)


def test_a_deleted_session_is_missing_and_an_empty_one_unreadable(tmp_path: Path) -> None:
    path = place(tmp_path, ".claude/projects/-p/s.jsonl", prompt("a"))
    reader = adapter(tmp_path)
    source = reader.find("s")
    assert source is not None
    path.write_bytes(b"not\nrecords\n")
    with pytest.raises(SessionUnreadable, match="not a record"):
        reader.session(source, "s")
    path.write_bytes(b"")
    with pytest.raises(SessionUnreadable, match="no record"):
        reader.session(source, "s")
    path.unlink()
    with pytest.raises(SessionMissing):
        reader.session(source, "s")
    with pytest.raises(SessionMissing):
        reader.open(source, "s")
    assert list(reader.summaries(source, never)) == []


def test_get_reads_no_other_session(tmp_path: Path) -> None:
    place(tmp_path, ".claude/projects/-p/s.jsonl", prompt("a"))
    for number in range(20):
        place(tmp_path, f".claude/projects/-p/other{number}.jsonl", prompt("b"))
    METER.reset()
    got(adapter(tmp_path), "s")
    assert METER.opened <= 2  # the file, and the title beside it


# Processes and commands ------------------------------------------------------------------------------------


def process(home: Path, pid: int, session_id: str, start: Any, **fields: Any) -> None:
    folder = home / ".claude/sessions"
    folder.mkdir(parents=True, exist_ok=True)
    data = {"pid": pid, "sessionId": session_id, "procStart": start, "status": "busy", **fields}
    (folder / f"{pid}.json").write_text(json.dumps(data))
    (folder / f"{pid}.0a1b.key").write_text("secret")


def fake_proc(tmp_path: Path, **starts: int) -> Path:
    for pid, start in starts.items():
        folder = tmp_path / "proc" / pid.removeprefix("p")
        folder.mkdir(parents=True)
        # The name of a process may hold blanks and parentheses.
        (folder / "stat").write_text(f"1 (a ) b) S {' '.join('0' for _ in range(18))} {start} 0 0\n")
    return tmp_path / "proc"


def test_a_session_is_live_while_the_process_that_wrote_its_file_runs(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, p10=500, p11=501, p12=502)
    process(tmp_path, 10, "open", "500")
    process(tmp_path, 11, "another-process-now", "77")
    process(tmp_path, 12, "no-start", None)
    process(tmp_path, 13, "dead", "503")
    (tmp_path / ".claude/sessions/14.json").write_text("{torn")
    (tmp_path / ".claude/sessions/-1.json").write_text('{"sessionId": "negative", "procStart": "1"}')
    reader = ClaudeAdapter(Environment(home=tmp_path, proc=proc))
    METER.reset()
    live = reader.live()
    assert {key: (value.pid, value.status) for key, value in live.items()} == {"open": (10, "busy")}
    assert METER.opened == 5  # no key


def test_a_real_process_and_the_dead_one_of_the_sample(store: Callable[..., Path]) -> None:
    home = store("claude", "home")
    if Path("/proc/self/stat").exists():
        start = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        process(home, os.getpid(), "mine", start)
        assert dict(adapter(home).live()) == {"mine": adapter(home).live()["mine"]}
    without = ClaudeAdapter(Environment(home=home, proc=home / "no-proc"))
    process(home, os.getpid(), "mine", None)
    assert without.live()["mine"].pid == os.getpid()


def test_nobody_is_live_where_nothing_is(tmp_path: Path) -> None:
    assert adapter(tmp_path).live() == {}


def test_commands_carry_the_id_and_the_last_directory() -> None:
    reader = adapter(SAMPLES["home"])
    assert (reader.capabilities.can_resume, reader.capabilities.can_fork) == (True, True)
    summary = listed(reader)["e83ad329-19e8-4541-be44-22c2ad4a47cf"]
    resume, fork = reader.resume_command(summary), reader.fork_command(summary)
    assert resume is not None
    assert fork is not None
    assert resume.argv == ("claude", "--resume", "e83ad329-19e8-4541-be44-22c2ad4a47cf")
    assert fork.argv == (*resume.argv, "--fork-session")
    assert resume.cwd == fork.cwd == "/home/dev/shop"
    assert resume.env == {}


def test_helpers_and_ids_that_look_like_options_have_no_command(tmp_path: Path) -> None:
    place(tmp_path, ".claude/projects/-p/agent-1.jsonl", prompt("a", isSidechain=True))
    place(tmp_path, ".claude/projects/-p/--dangerously-skip-permissions.jsonl", prompt("a"))
    place(tmp_path, ".claude/projects/-p/a b.jsonl", prompt("a"))
    reader = adapter(tmp_path)
    for summary in listed(reader).values():
        assert reader.resume_command(summary) is None
        assert reader.fork_command(summary) is None


def test_a_session_of_another_root_is_resumed_there(tmp_path: Path) -> None:
    place(tmp_path, ".config/claude/projects/-p/s.jsonl", prompt("a"))
    place(tmp_path, "elsewhere/projects/-p/t.jsonl", prompt("a"))
    for reader, root in (
        (adapter(tmp_path), ".config/claude"),
        (adapter(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere")), "elsewhere"),
    ):
        (summary,) = listed(reader).values()
        command = reader.resume_command(summary)
        assert command is not None
        assert command.env == {"CLAUDE_CONFIG_DIR": str(tmp_path / root)}


# Nothing is touched ----------------------------------------------------------------------------------------


def fingerprint(home: Path) -> dict[str, tuple[Any, ...]]:
    def content(path: Path) -> str:
        if path.is_symlink() or not path.is_file():
            return ""
        return hashlib.sha256(path.read_bytes()).hexdigest()

    found = {}
    for path in (home, *sorted(home.rglob("*"))):
        digest = content(path)
        status = path.lstat()
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ino, status.st_size, digest)
    return found


@pytest.mark.parametrize("parts", [("home",), ("older", "home"), ("spec-layout", "home")])
def test_reading_touches_nothing(store: Callable[..., Path], parts: tuple[str, ...]) -> None:
    home = store("claude", *parts)
    before = fingerprint(home)
    reader = adapter(home)
    for exact in (False, True):
        listed(reader, exact=exact)
    reader.live()
    for source in reader.sources(never):
        transcript = reader.open(source, source.session_id)
        transcript.earlier()
        transcript.refresh()
        reader.session(source, source.session_id)
    assert fingerprint(home) == before


def test_a_session_copied_elsewhere_reads_the_same(store: Callable[..., Path], tmp_path: Path) -> None:
    home = store("claude", "home")
    shutil.move(home / ".claude", tmp_path / "moved")
    moved = listed(adapter(tmp_path / "nobody", CLAUDE_CONFIG_DIR=str(tmp_path / "moved")))
    original = listed(adapter(SAMPLES["home"]))
    for session_id, summary in original.items():
        same = {k: v for k, v in asdict(summary).items() if k != "path"}
        assert {k: getattr(moved[session_id], k) for k in same} == same


def test_sources_are_stamped_by_stat_alone(store: Callable[..., Path]) -> None:
    reader = adapter(store("claude", "home"))

    def stamps() -> dict[str, Source]:
        return {source.session_id: source for source in reader.sources(never)}

    before = stamps()
    path = Path(before["c9a5af63-90a2-4935-9317-2ffbce3e3b60"].path)
    with path.open("ab") as out:
        out.write(b"{}\n")
    after = stamps()
    assert {key for key in after if after[key].stamp != before[key].stamp} == {path.stem}
