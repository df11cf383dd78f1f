"""What each of Claude Code's records is in a conversation."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from claude_samples import (
    Written,
    adapter,
    call,
    got,
    line,
    never,
    place,
    prompt,
    reply,
    result,
    turns,
)
from images import IMAGE_SIZE, IMAGES, image_bytes
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.model import Problem, Session, TokenUsage
from support import attached_bytes


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


def test_the_cost_that_old_versions_recorded_is_the_replys_and_counted_once(written: Written, tmp_path: Path) -> None:
    session = written(
        prompt("q"),
        reply("m", "a", call("t"), costUSD=0.25),
        reply("m", "b", costUSD=0.25),
        prompt("q"),
        reply("n", "c", costUSD=0.5),
        reply("n", "c, and no more costs"),
        prompt("q"),
        reply("o", "d"),
    )
    costs = [message.cost.total_usd if message.cost else None for message in session.messages if message.model]
    assert costs == [0.25, 0.5, None]
    reader = adapter(tmp_path)
    (source,) = reader.sources(never)
    assert [one.usd for one in reader.usage(source, never)] == costs


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
        {"type": "attachment", "attachment": {"type": "file", "content": "x"}},
        {"type": "api-request-blob", "message": {"role": "user", "content": "again"}},
        {"type": "queue-operation", "operation": "enqueue", "content": "again"},
        {"type": "system", "subtype": "turn_duration", "durationMs": 5},
        {"type": "never-heard-of", "content": "x", "message": None, "cwd": 5, "usage": "much"},
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
    records = [prompt([image])]
    assert attached_bytes(lambda: written(*records).messages) == [b64decode(data)]
    assert [m.kind for m in session.messages] == ["message", "message"]
    assert data not in json.dumps([asdict(m) for m in session.messages], default=repr)


def test_images_in_the_results_of_tools_are_attached_to_them(written: Written) -> None:
    source = {"type": "base64", "media_type": "image/png", "data": IMAGES["png"]}
    shot = result("c") | {"content": [{"type": "text", "text": "done"}, {"type": "image", "source": source}]}
    records = [prompt("go"), reply("m", call("c")), prompt([shot])]
    message = written(*records).messages[-1]
    assert message.tool_result is not None and message.tool_result.linked
    (picture,) = message.attachments
    assert (picture.media_type, picture.width, picture.height) == ("image/png", *IMAGE_SIZE)
    assert attached_bytes(lambda: written(*records).messages) == [image_bytes("png")]


def test_a_record_written_twice_counts_once(written: Written) -> None:
    twice = [prompt("a", uuid="1"), reply("m1", "x", call("c"), uuid="2"), prompt([result("c")], uuid="3")]
    once = written(*twice)
    assert written(*(record for record in twice for _ in range(2))).messages == once.messages
    assert written(*twice, *twice).tokens == once.tokens


@pytest.mark.parametrize(
    "record",
    [
        {"type": "never-heard-of", "message": {"role": "user", "content": "lost"}},
        {"type": "never-heard-of", "message": {"role": "user", "content": [[["lost"]]]}},
        {"type": "never-heard-of", "message": "lost"},
        {"type": "never-heard-of", "role": "user", "content": "lost"},
        {"role": "stranger", "content": "lost"},
        {"message": {"role": "user", "content": "lost"}},
    ],
)
def test_a_message_of_an_unknown_type_is_a_problem(tmp_path: Path, record: dict[str, Any]) -> None:
    place(tmp_path, ".claude/projects/-p/s.jsonl", prompt("only"), record)
    reader = adapter(tmp_path)
    source = reader.find("s")
    assert source is not None
    problems: list[Problem] = []
    (summary,) = reader.summaries(source, problems.append)
    session = reader.session(source, "s")
    assert [m.content for m in session.messages] == ["only"]
    assert (session.warnings, summary.warnings) == (1, 1)
    assert [p.reason for p in problems] == [p.reason for p in reader.open(source, "s").problems]
    assert "holds a message" in problems[0].reason


def test_a_role_stands_in_for_a_missing_type(written: Written) -> None:
    session = written(
        {"role": "user", "content": "question"},
        {"role": "assistant", "content": [{"type": "text", "text": "answer"}], "model": "m-2"},
        {"role": "tool", "toolCallId": "t", "toolName": "Bash", "content": "output"},
        {"role": "system", "content": "note"},
    )
    assert [(m.role, m.content or (m.tool_result and m.tool_result.output)) for m in session.messages] == [
        ("user", "question"), ("assistant", "answer"), ("tool", "output"), ("system", "note"),
    ]  # fmt: skip
    assert (session.title, session.turn_count, session.models, session.warnings) == ("question", 1, ("m-2",), 0)


def test_the_last_tag_counts(written: Written) -> None:
    records = [prompt("go"), {"type": "tag", "tag": "billing"}]
    assert written(*records).tags == ("billing",)
    records.append({"type": "tag", "tag": "infra\n "})
    assert written(*records).tags == ("infra",)
    records.append({"type": "tag", "tag": ""})
    assert written(*records).tags == ()


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
