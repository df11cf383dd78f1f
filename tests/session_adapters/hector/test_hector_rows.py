"""What Hector's rows mean, on databases made for the purpose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hector_store import V2_SCHEMA, Store, get, listed
from session_adapters.hector import layout, summary
from session_adapters.hector.messages import HectorConversation
from session_adapters.model import Message
from session_adapters.reading.bounds import CROWDED, VALUES_LIMIT
from session_adapters.reading.lines import Line

KEY = {"app_name": "app", "user_id": "me"}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "own")
    with closing(made.connection):
        yield made


@pytest.fixture
def second(tmp_path: Path) -> Iterator[Store]:
    """A database of v2 with one session."""
    made = Store(tmp_path / "second", ".hector/hector.db", V2_SCHEMA)
    with closing(made.connection):
        times = {"created_at": "2025-12-13 11:00:00+01:00", "updated_at": "2025-12-13 11:00:00+01:00"}
        made.insert("sessions", {**KEY, "id": "s", "state_json": "{}", **times})
        yield made


def event(made: Store, **columns: object) -> None:
    """A row of `session_events`, its JSON columns given as values."""
    count = made.connection.execute("SELECT count(*) FROM session_events").fetchone()[0] + 1
    values: dict[str, object] = {
        "id": f"e{count}",
        "session_id": "s",
        "sequence_num": count,
        "created_at": "2025-12-13 11:00:01+01:00",
    }
    values |= {name: json.dumps(value) if name.endswith("_json") else value for name, value in columns.items()}
    made.insert("session_events", {**KEY, **values})


def said(made: Store) -> list[Message]:
    return list(get(made.adapter, "app/me/s").messages)


# Rows of v1 --------------------------------------------------------------------------------------------------


def test_what_waits_without_naming_a_tool_waits_all_the_same(own: Store) -> None:
    pending = {"t1": {"query": "x"}, "t2": {"pending_tool_call": {"name": "rm"}}, "t3": 7}
    own.session("s", metadata=json.dumps({"pending_executions": pending}))
    found = own.get("s")
    assert found.raw["waitsForApproval"] == {"t1": "", "t2": "rm", "t3": ""}
    assert found.notes == ("waits for approval of rm",)
    own.session("bare", metadata=json.dumps({"pending_executions": {"t1": {}}}))
    assert own.get("bare").notes == ("waits for approval",)


@pytest.mark.parametrize(
    ("role", "message", "expected"),
    [
        ("ROLE_USER", {"role": "ROLE_AGENT"}, "user"),
        ("ROLE_SYSTEM", {}, "system"),
        ("", {"role": "ROLE_USER"}, "user"),
        ("", {"role": "AGENT"}, "assistant"),
        ("", {"role": 1}, "user"),
        ("", {"role": 2}, "assistant"),
        ("", {"role": 99}, "system"),
        ("", {"role": {"deep": []}}, "system"),
        ("", {}, "system"),
        ("something new", {"role": "ROLE_USER"}, "system"),
    ],
)
def test_the_column_decides_the_role_and_the_message_where_it_is_empty(
    role: str, message: dict[str, object], expected: str, own: Store
) -> None:
    own.session("s")
    own.say("s", "", role=role, message_json=json.dumps({**message, "parts": [{"text": "x"}]}))
    (only,) = own.get("s").messages
    assert (only.role, only.content) == (expected, "x")


@pytest.mark.parametrize(
    ("role", "text", "kind"),
    [
        ("UNSPECIFIED", "Previous conversation summary: a", "compaction"),
        ("UNSPECIFIED", "So far. Conversation summary: a", "compaction"),
        ("UNSPECIFIED", "Previous conversation summary:\n\na", "compaction"),
        ("UNSPECIFIED", "Summary: as the guide has it", "compaction"),
        ("UNSPECIFIED", "In summary: nothing", "notice"),
        ("SYSTEM", "Previous conversation summary: a", "notice"),
        ("USER", "Previous conversation summary: a", "message"),
        ("AGENT", "Summary: a", "message"),
    ],
)
def test_what_is_a_checkpoint_and_what_only_looks_like_one(role: str, text: str, kind: str, own: Store) -> None:
    own.session("s")
    own.say("s", role, text)
    session = own.get("s")
    assert [message.kind for message in session.messages] == [kind]
    assert session.raw.get("checkpoints", 0) == (kind == "compaction")


def test_a_row_may_hold_much_at_once(own: Store) -> None:
    own.session("s")
    own.say("s", "USER", "go")
    call = {
        "data": {"data": {"id": "c", "name": "ls", "arguments": {"n": 3}}},
        "metadata": {"part_type": "tool_call"},
    }
    result = {"data": {"data": {"tool_call_id": "c", "content": "half", "error": "broke"}}}
    own.say(
        "s",
        "AGENT",
        [
            {"text": "thinking ", "metadata": {"event_type": "thinking", "block_id": "1"}},
            {"text": "aloud", "metadata": {"event_type": "thinking", "block_id": "1"}},
            {
                "data": {"data": {"text": "a plan", "step": 1}},
                "metadata": {"event_type": "thinking", "block_id": "2"},
            },
            {"data": {"data": {"thinking_id": "1"}}, "metadata": {"event_type": "thinking_complete"}},
            {"text": "I ", "metadata": {"event_type": "content_block", "block_id": "3"}},
            {"text": "look", "metadata": {"event_type": "content_block", "block_id": "3"}},
            {"text": "then"},
            {**call, "metadata": {"part_type": "tool_call"}},
            {**result, "metadata": {"part_type": "tool_result"}},
            {"text": "no more money", "metadata": {"event_type": "error"}},
            {"file": {"fileWithBytes": "AAAA", "mediaType": "image/gif"}},
            "bare",
            7,
        ],
    )
    first, spoken, answer, error = own.get("s").messages
    assert (spoken.thinking, spoken.content) == ("thinking aloud\na plan", "I look\nthen\nbare")
    assert [message.id for message in (first, spoken, answer, error)] == ["1", "2", "2.1", "2.2"]
    (made,) = spoken.tool_calls
    assert (made.input, made.output, made.is_error) == ({"n": 3}, "half\nbroke", True)
    assert answer.tool_result is not None and (answer.role, answer.tool_result.tool_name) == ("tool", "ls")
    assert (error.kind, error.content) == ("error", "no more money")
    assert [(one.media_type, one.size) for one in spoken.attachments] == [("image/gif", 3), ("application/json", 7)]
    session = own.get("s")
    assert (session.tool_call_count, session.turn_count, session.error) == (1, 1, True)


def test_only_the_key_of_an_error_tells_a_later_result_from_its_call(own: Store) -> None:
    own.session("s")

    def part(data: dict[str, object], **about: object) -> list[object]:
        return [{"data": {"data": data}, "metadata": {"event_type": "tool_call", "tool_call_id": "t", **about}}]

    own.say("s", "AGENT", part({"arguments": {}}, tool_name="read"))
    own.say("s", "AGENT", part({"content": {"lines": 3}}, is_error=False, is_final=True))
    call, result = own.get("s").messages
    assert [(one.tool_call_id, one.tool_name, one.output) for one in call.tool_calls] == [("t", "read", {"lines": 3})]
    assert result.tool_result is not None and result.tool_result.linked and not result.tool_result.is_error


def test_one_id_used_again_links_to_the_latest_call(own: Store) -> None:
    """Some models number their calls anew in every turn."""
    own.session("s")
    for number in range(3):
        own.say("s", "AGENT", [{"data": {"data": {"id": "call_1", "name": f"tool{number}"}}}])
        own.say("s", "AGENT", [{"data": {"data": {"tool_call_id": "call_1", "content": f"out{number}"}}}])
    messages = own.get("s").messages
    assert [call.output for message in messages for call in message.tool_calls] == ["out0", "out1", "out2"]
    transcript = own.open("s", page=1)
    while transcript.earlier():
        pass
    assert [call.output for message in transcript.messages for call in message.tool_calls] == ["out0", "out1", "out2"]


def test_rows_that_make_no_sense_are_named_and_counted(own: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "CONTENT_LIMIT", 2000)
    own.session("s", metadata=b"\xff")
    for value in ('{"parts": [', "", "null", "[]", "3", b"\xff\xfe", "{} {}", "x" * 2001, "[" * 1900):
        own.say("s", "AGENT", message_json=value)
    odd = [
        {"parts": None},
        {"parts": 7},
        {"content": {"text": "alone"}},
        {"parts": [None, [], {"data": {"data": 3}}]},
    ]
    for more in odd:
        own.say("s", "AGENT", message_json=json.dumps(more))
    own.say("s", "AGENT", message_json='{"parts": [{"text": "lone \\ud800 half"}], "x": NaN}')
    own.say("s", "AGENT", message_json=b'{"parts": [{"text": "not \xff text"}]}')
    session = own.get("s")
    assert [message.content for message in session.messages] == [
        "",
        "",
        "alone",
        "",
        "lone \ufffd half",
        "not \ufffd text",
    ]
    assert session.warnings == 9 + 1
    transcript = own.open("s")
    assert transcript.messages == list(session.messages)
    assert [problem.reason for problem in transcript.problems] == [
        "the session's metadata is no JSON",
        "the message is no JSON",
        "the message is empty",
        "the message is no JSON object",
        "the message is no JSON object",
        "the message is no JSON object",
        "the message is no JSON",
        "the message is no JSON",
        "its text is too large to be read (2001 bytes)",
        "the message is no JSON",
    ]
    assert {problem.path for problem in transcript.problems} == {str(own.path)}


def test_a_row_of_millions_of_values_is_not_decoded(own: Store) -> None:
    """It would take a hundred times its length in memory, and seconds in each command, for each such row."""
    own.session("s")
    own.say("s", "USER", "before")
    own.say("s", "AGENT", message_json='{"parts": [' + "{}," * (VALUES_LIMIT // 2) + "{}]}")
    own.say("s", "USER", "after")
    transcript = own.open("s")
    assert [message.content for message in transcript.messages] == ["before", "after"]
    assert [problem.reason for problem in transcript.problems] == [CROWDED]


def test_a_line_of_the_protocol_can_be_fed_alone() -> None:
    conversation = HectorConversation()
    conversation.feed(Line(0, b'{"role":"ROLE_USER","parts":[{"text":"hi"}]}'))
    conversation.feed(Line(50, b"{torn"))
    assert [message.content for message in conversation.messages] == ["hi"]
    assert list(conversation.damaged) == [(50, "the message is no JSON")]


def test_what_was_never_created_has_the_times_of_its_messages(own: Store) -> None:
    own.session("s", created_at="0001-01-01 00:00:00+00:00", updated_at="never")
    own.say("s", "USER", "x", created_at="2025-11-05 10:00:00.123456789+02:00")
    own.say("s", "AGENT", "y", created_at="0001-01-01 00:00:00+00:00")
    session = own.get("s")
    assert session.created_at == session.updated_at == session.messages[0].timestamp
    assert session.created_at.isoformat() == "2025-11-05T08:00:00.123456+00:00"
    assert session.messages[1].timestamp is None


def test_the_guides_rows_are_in_the_order_of_their_instants(tmp_path: Path) -> None:
    """As text, the hour that summer time repeats would be out of order, and a bare second behind its fractions."""
    schema = (
        "CREATE TABLE sessions (id TEXT, agent_id TEXT, metadata TEXT, created_at TIMESTAMP, updated_at TIMESTAMP,"
        " PRIMARY KEY (id, agent_id));"
        "CREATE TABLE session_messages (message_id TEXT PRIMARY KEY, session_id TEXT, message_json TEXT,"
        " created_at TIMESTAMP);"
    )
    made = Store(tmp_path, schema=schema)
    with closing(made.connection):
        made.session("s")
        times = ["02:59:59+02:00", "02:00:00+01:00", "02:00:00.5+01:00", "02:00:00.500000001+01:00"]
        for number, clock in enumerate(times):
            text = json.dumps({"role": "USER", "parts": [{"text": clock}]})
            made.insert(
                "session_messages",
                {"message_id": f"m{9 - number}", "session_id": "s", "message_json": text}
                | {"created_at": f"2025-10-26 {clock}"},
            )
        session = made.get("s")
        assert [message.content for message in session.messages] == times
        assert session.raw["layout"] == "doc"


# Events of v2 ------------------------------------------------------------------------------------------------


def test_calls_and_results_stand_in_two_columns_and_count_once(second: Store) -> None:
    use = {"kind": "data", "data": {"type": "tool_use", "id": "a", "name": "ls", "arguments": {"n": 1}}}
    event(
        second,
        author="bot",
        role="agent",
        content_json=[use],
        tool_calls_json=[{"id": "a", "name": "ls", "args": {"n": 1}}, {"id": "b", "name": "rm", "args": {}}],
        thinking_json={"content": "let me see", "status": "completed"},
    )
    result = {"type": "tool_result", "tool_call_id": "a", "tool_name": "ls", "content": "x", "is_error": False}
    event(
        second,
        author="bot",
        role="user",
        content_json=[{"kind": "data", "data": result}],
        tool_results_json=[
            {"tool_call_id": "a", "content": "x", "status": "success"},
            {"tool_call_id": "b", "content": "no", "status": "failed"},
        ],
    )
    call, one, other = said(second)
    assert [(c.tool_call_id, c.output, c.is_error) for c in call.tool_calls] == [("a", "x", False), ("b", "no", True)]
    assert call.thinking == "let me see"
    assert (one.role, other.role) == ("tool", "tool")
    session = get(second.adapter, "app/me/s")
    assert session.tool_call_count == 2
    assert not any(message.is_prompt for message in session.messages), "results have the role of a user"


@pytest.mark.parametrize(
    ("author", "role", "text", "expected"),
    [
        ("user", "user", "hi", ("user", "message")),
        ("", "user", "hi", ("user", "message")),
        ("bot", "agent", "hi", ("assistant", "message")),
        ("bot", "", "hi", ("assistant", "message")),
        ("bot", "user", "slipped in", ("system", "notice")),
        ("system", "user", "Previous conversation summary: a", ("system", "compaction")),
        ("system", "user", "Conversation summary: a", ("system", "compaction")),
        ("bot", "agent", "Previous conversation summary: a", ("system", "compaction")),
        ("user", "user", "Conversation summary: mine", ("user", "compaction")),
        ("user", "user", "My Conversation summary: a", ("user", "message")),
        ("system", "agent", "note", ("system", "notice")),
    ],
)
def test_who_speaks_in_an_event(author: str, role: str, text: str, expected: tuple[str, str], second: Store) -> None:
    event(second, author=author, role=role, content_json=[{"kind": "text", "text": text}])
    (message,) = said(second)
    assert (message.role, message.kind) == expected
    assert message.content == text


@pytest.mark.parametrize("full_size", [summary.FULL_SIZE, 1000])
def test_a_question_waits_until_something_follows(
    second: Store, full_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large database the list reads the last row, too."""
    monkeypatch.setattr(summary, "FULL_SIZE", full_size)
    event(second, author="user", role="user", content_json=[{"kind": "text", "text": "go"}])
    event(second, author="bot", role="agent", require_input=True, input_prompt="Sure?")
    assert listed(second.adapter)["app/me/s"].raw["waitsForInput"]
    event(second, author="user", role="user", content_json=[{"kind": "text", "text": "yes"}])
    assert "waitsForInput" not in listed(second.adapter)["app/me/s"].raw
    event(second, author="bot", error_code="boom", error_message="")
    event(second, author="bot", error_code="", error_message="just words")
    session = get(second.adapter, "app/me/s")
    assert [message.content for message in session.messages[-2:]] == ["boom", "just words"]
    assert session.error and session.raw["errors"] == 2


def test_events_without_a_session_are_orphans(second: Store) -> None:
    second.connection.execute("DELETE FROM sessions")
    event(second, author="user", role="user", content_json=[{"kind": "text", "text": "left"}])
    found = listed(second.adapter)
    assert found.keys() == {"app/me/s"}
    assert found["app/me/s"].raw["orphaned"]
    assert get(second.adapter, "app/me/s").title == "left"


def test_damaged_columns_of_an_event_are_named(second: Store) -> None:
    for name in ("content_json", "tool_calls_json", "tool_results_json", "thinking_json"):
        event(second, author="bot", role="agent")
        second.connection.execute(
            f"UPDATE session_events SET {name} = '[{{' WHERE rowid = (SELECT max(rowid) FROM session_events)"
        )
    event(second, author="bot", role="agent", content_json=[{"kind": "text", "text": "whole"}])
    second.connection.execute("UPDATE sessions SET state_json = '{'")
    session = get(second.adapter, "app/me/s")
    assert [message.content for message in session.messages] == ["whole"]
    assert session.warnings == 5
    source = second.adapter.find("app/me/s")
    assert source is not None
    reasons = [problem.reason for problem in second.adapter.open(source, "app/me/s").problems]
    assert reasons[0] == "the session's state is no JSON"
    assert all("of the event are no JSON" in reason for reason in reasons[1:])
