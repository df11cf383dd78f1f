"""The pieces that Cursor's formats are made of: protobuf, tags around prompts, parts of messages."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cursor_store import Chat, Editor, adapter_for, field, get, listed, prompt, transcript, varint
from session_adapters.cursor.chat_store.messages import messages_of_blob
from session_adapters.cursor.chat_store.wire import read_root, read_wire
from session_adapters.cursor.pieces import asked, tag_time
from session_adapters.cursor.plain import plain_messages
from session_adapters.model import Message, TokenUsage
from support import attached_bytes

Stored = Callable[..., Path]

# Protobuf ----------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.integers(1, 1 << 20), st.one_of(st.integers(0, (1 << 64) - 1), st.binary(max_size=300))))
)
def test_fields_come_back_as_they_were_written(fields: list[tuple[int, int | bytes]]) -> None:
    wire = read_wire(b"".join(field(number, value) for number, value in fields))
    assert (wire.fields, wire.whole) == (fields, True)


@given(st.binary(max_size=400))
def test_any_bytes_at_all_end(data: bytes) -> None:
    wire = read_wire(data)
    assert sum(len(value) for _, value in wire.fields if isinstance(value, bytes)) <= len(data)
    read_root(data)
    try:
        assert all(isinstance(one, Message) for one in messages_of_blob("x", data))
    except ValueError as error:
        assert str(error)


@given(st.data())
def test_what_is_before_the_damage_is_kept(data: st.DataObject) -> None:
    ids = [bytes([number]) * 32 for number in range(8)]
    whole = b"".join(field(1, name) for name in ids) + field(9, b"file:///x")
    cut = data.draw(st.integers(0, len(whole) - 1))
    root = read_root(whole[:cut])
    assert root.ids == [name.hex() for name in ids[: cut // 34]]
    assert root.whole == (cut % 34 == 0 and cut <= 34 * 8)


def test_numbers_of_a_fixed_size_are_passed_over() -> None:
    data = varint(7 << 3 | 5) + b"\x01\0\0\0" + varint(8 << 3 | 1) + b"\x02" + bytes(7) + field(1, b"x" * 32)
    assert read_wire(data).fields == [(7, 1), (8, 2), (1, b"x" * 32)]
    assert not read_wire(varint(1 << 3 | 3)).whole, "groups have long been gone"
    assert not read_root(field(1, b"short")).whole


# Prompts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hour", "minute"),
    [
        ("Monday, Sep 21, 2026, 2:13 PM (UTC)", 14, 13),
        ("Monday, Sep 21, 2026, 12:13 AM (UTC)", 0, 13),
        ("Monday, Sep 21, 2026, 12:13 PM (GMT)", 12, 13),
        ("Monday, September 21, 2026 at 2:13 PM (UTC+2)", 12, 13),
        ("Monday, Sep 21, 2026, 2:13\u202fPM (UTC-7)", 21, 13),
        ("Monday, Sep 21, 2026, 7:13 PM (GMT+5:30)", 13, 43),
        ("Monday, Sep 21, 2026, 2:13 PM (PDT)", 21, 13),
        ("Monday, Sep 21, 2026, 2:13 PM (EST)", 19, 13),
        ("Monday, Sep 21, 2026, 2:13 PM (Europe/Berlin)", 12, 13),
        ("Sep 21, 2026, 14:13 (UTC)", 14, 13),
        ("Monday, Sep 21, 2026, 2:13 PM", 12, 13),
        ("Monday, Sep 21, 2026, 2:13 PM (Hammer Time)", 12, 13),
    ],
)
def test_the_time_of_a_prompt_in_its_named_zone(text: str, hour: int, minute: int) -> None:
    assert tag_time(text, "Europe/Berlin") == datetime(2026, 9, 21, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "Sep 99, 2026, 2:13 PM (UTC)", "Sep 21, 2026, 29:13 (UTC)", "Foo 21, 2026, 2:13 PM (UTC)",
     "Sep 21, 2026, 2:13 PM (../../etc/passwd)", "Sep 21, 2026, 2:13 PM", "Sep 21, 2026, 2:13 PM (UTC+99)",
     "Jan 1, 0000, 2:13 PM (UTC)", "Jan 1, 0001, 0:00 (UTC+14)"],
)  # fmt: skip
def test_no_time_and_no_zone_is_none(text: str) -> None:
    assert tag_time(text) is None


def test_prompts_are_taken_out_of_what_was_sent() -> None:
    assert asked("plain")[:2] == ("plain", "")
    assert asked("<user_query>\na\n\nb\n</user_query>")[:2] == ("a\n\nb", "")
    assert asked("<user_query>a <user_query> b </user_query> c</user_query>")[0] == "a <user_query> b </user_query> c"
    assert asked("<user_query>\ncut off")[:2] == ("cut off", "")
    assert asked("<user_info>\nx\n</user_info>")[:2] == ("", "<user_info>\nx\n</user_info>")
    assert asked("<div>markup of the user's</div>")[:2] == ("<div>markup of the user's</div>", "")
    time = "<timestamp>Sep 21, 2026, 2:13 PM (UTC)</timestamp>"
    both = asked(f"{time}\n<open_files>a.py</open_files>\n<user_query>q</user_query>")
    assert both == ("q", "<open_files>a.py</open_files>", datetime(2026, 9, 21, 14, 13, tzinfo=UTC))
    long = "<timestamp>" + "x" * 300 + "</timestamp>said"
    assert asked(long).text == long, "no time is as long as that"


# Messages of the CLI -----------------------------------------------------------------------------------------


def blob(**values: Any) -> list[Message]:
    return messages_of_blob("u", json.dumps(values).encode())


def test_pictures_and_files_are_marked_and_their_bytes_left_out() -> None:
    content = [
        {"type": "text", "text": "<user_query>look</user_query>"},
        {"type": "image", "image": "data:image/png;base64,QUJDRA=="},
        {"type": "file", "data": "QUJD", "mediaType": "application/pdf", "filename": "a.pdf"},
        {"type": "image", "image": "https://example.org/a.png"},
    ]
    (message,) = blob(role="user", content=content)
    assert message.content == "look"
    assert [(one.media_type, one.name, one.size) for one in message.attachments] == [
        ("image/png", "", 4),
        ("application/pdf", "a.pdf", 3),
        ("image/*", "https://example.org/a.png", 0),
    ]
    assert attached_bytes(lambda: blob(role="user", content=content)) == [b"ABCD", b"ABC", None]


def test_several_results_in_one_message_are_one_each() -> None:
    content = [
        {"type": "tool-result", "toolCallId": "a\nb", "toolName": "Shell", "result": "one"},
        {"type": "tool-result", "toolCallId": "c", "toolName": "Read", "result": {"lines": 2}, "isError": True},
    ]
    first, second = blob(role="tool", content=content)
    assert first.tool_result is not None and second.tool_result is not None
    assert (first.id, second.id) == ("u", "u/1")
    assert (first.tool_result.output, first.tool_result.is_error) == ("one", False)
    assert (second.tool_result.output, second.tool_result.is_error) == ({"lines": 2}, True)


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool", "oracle", "", None, 7])
@pytest.mark.parametrize(
    "content",
    [None, 7, "text", [], ["text"], [{}], [{"type": "hologram", "text": "x"}], [{"type": "text"}],
     [{"type": "reasoning", "text": 5}], [{"type": "tool-call"}], [{"type": "tool-result"}], {"type": "text"}],
)  # fmt: skip
def test_any_message_is_shown_somehow(role: Any, content: Any) -> None:
    found = blob(role=role, content=content, providerOptions=[1])
    assert all(isinstance(one, Message) for one in found)
    assert len({one.id for one in found}) == len(found)
    if content == [{"type": "hologram", "text": "x"}] and role in ("user", "assistant", "tool"):
        assert ("notice", "x") in [(one.kind, one.content) for one in found]


def test_messages_from_before_json() -> None:
    (asked_,) = messages_of_blob("u", field(1, b"how many?") + field(2, b"0a1b") + field(3, b""))
    (answered,) = messages_of_blob("u", field(1, field(1, b"two")))
    (whole,) = messages_of_blob("u", field(1, field(1, b"x")) + field(4, b'{"role":"assistant","content":"three"}'))
    (unknown,) = messages_of_blob("u", field(77, b"?"))
    assert [(one.role, one.kind, one.content) for one in (asked_, answered, whole, unknown)] == [
        ("user", "message", "how many?"),
        ("assistant", "message", "two"),
        ("assistant", "message", "three"),
        ("system", "notice", "A message of an unknown kind (4 bytes)"),
    ]
    for data in (b"", b"\xff\xff", b'{"role": "user"', field(1, b"cut off")[:-2]):
        with pytest.raises(ValueError):
            messages_of_blob("u", data)


def test_an_old_prompt_has_the_time_in_its_tag() -> None:
    tag = "<timestamp>Monday, Sep 21, 2026, 2:13 PM (UTC)</timestamp>"
    text = f"{tag}\n<user_query>\nhi\n</user_query>"
    (message,) = messages_of_blob("u", field(1, text.encode()) + field(2, b"2f6c8f0e-0000-4000-8000-000000000001"))
    assert (message.role, message.content) == ("user", "hi")
    assert message.timestamp == datetime(2026, 9, 21, 14, 13, tzinfo=UTC)


def test_what_a_model_drew_is_an_attachment() -> None:
    parts = [{"type": "text", "text": "here"}, {"type": "image", "image": "data:image/png;base64,QUJDRA=="}]
    (message,) = messages_of_blob("u", json.dumps({"role": "assistant", "content": parts}).encode())
    assert [(one.media_type, one.size) for one in message.attachments] == [("image/png", 4)]
    assert message.content == "here"


def test_the_zone_of_a_chat_is_that_of_its_root(tmp_path: Path) -> None:
    made = Chat(tmp_path)
    tag = "<timestamp>Monday, Sep 21, 2026, 2:13 PM (Summer Time)</timestamp>"
    made.add({"role": "user", "content": f"{tag}\n<user_query>\nhi\n</user_query>"})
    made.close()
    assert get(made.adapter, "chat-1").messages[0].timestamp == datetime(2026, 9, 21, 12, 13, tzinfo=UTC)


def test_facts_may_stand_as_plain_json(tmp_path: Path) -> None:
    made = Chat(tmp_path, name="A name", lastUsedModel="default")
    made.add(prompt("hi"))
    (facts,) = made.connection.execute("SELECT value FROM meta").fetchone()
    made.connection.execute("UPDATE meta SET value = ?", (bytes.fromhex(facts).decode(),))
    made.close()
    summary = listed(made.adapter)["chat-1"]
    assert (summary.title, summary.message_count, summary.models) == ("A name", 1, ())


# Transcripts -------------------------------------------------------------------------------------------------


def test_a_removed_thought_is_marked_and_no_part_of_the_text(tmp_path: Path) -> None:
    said = [
        {"type": "text", "text": "Let me look.\n\n[REDACTED]"},
        {"type": "tool_use", "name": "Shell", "input": {}},
    ]
    made = transcript(
        tmp_path,
        "t",
        {"role": "assistant", "content": said},
        {"role": "assistant", "content": "say [REDACTED] aloud"},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "x"}, {"type": "scent"}]},
        {"type": "turn_ended", "status": "error", "error": "overloaded"},
        {"type": "turn_ended", "status": "success"},
        {"type": "weather", "status": "fine"},
    )
    session = get(Chat(tmp_path, "other").close().adapter, "t")
    assert [(one.kind, one.content, one.thinking) for one in session.messages] == [
        ("message", "Let me look.", "[REDACTED]"),
        ("message", "say [REDACTED] aloud", None),
        ("message", "x", None),
        ("notice", '{"type": "scent"}', None),
        ("error", "overloaded", None),
        ("notice", '{"type": "weather", "status": "fine"}', None),
    ]
    assert len(session.messages[2].attachments) == 1
    assert session.error and made.exists()


def test_results_in_plain_text_answer_the_oldest_call_of_their_tool() -> None:
    text = """user:
two things

assistant:
[Tool call] Shell
  command=ls
  -la
[Tool call] Shell
  command=pwd
[Tool call] Read
  just words

[Tool result] Shell
  a
  b
[Tool result] Shell
  /home
[Tool result] Web
  nobody asked
assistant: is a word here

user:
thanks
"""
    found = plain_messages(text)
    calls = found[1].tool_calls
    assert [(call.input, call.output) for call in calls] == [
        ({"command": "ls\n-la"}, "a\nb"),
        ({"command": "pwd"}, "/home"),
        ("just words", None),
    ]
    assert [one.tool_result.linked for one in found if one.tool_result] == [True, True, False]
    assert [(one.role, one.content) for one in found if one.content] == [
        ("user", "two things"),
        ("assistant", "assistant: is a word here"),
        ("user", "thanks"),
    ]
    assert plain_messages("") == plain_messages("no one speaks") == []


# The editor --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        {"type": 9}, {"type": [1]}, {"type": None}, {"text": 5}, {"createdAt": "soon"},
        {"createdAt": 1e300}, {"thinking": "plain"}, {"toolFormerData": {"name": "x"}}, {"toolFormerData": []},
        {"toolFormerData": {"name": "x", "result": "{", "params": "["}}, {"tokenCount": {"inputTokens": "many"}},
        {"tokenCount": {"inputTokens": 1e400, "outputTokens": -5}}, {"images": [1, {"path": "/a.png"}]},
        {"workspaceUris": "file:///x"}, {"modelInfo": "m"},
    ],
)  # fmt: skip
def test_any_bubble_is_read(values: dict[str, Any], tmp_path: Path) -> None:
    made = Editor(tmp_path)
    made.bubble("c", 1, "before")
    made.bubble("c", 2, **{"text": "odd", **values})
    made.connection.close()
    session = get(made.adapter, "c")
    assert session.messages[0].content == "before"
    assert session.tokens is None
    assert listed(made.adapter)["c"].message_count == len(session.messages)


def test_pictures_thoughts_and_tokens_of_a_bubble(tmp_path: Path) -> None:
    made = Editor(tmp_path)
    made.bubble("c", 1, "look", images=[{"path": "/a.png", "mimeType": "image/png"}])
    made.bubble("c", 2, thinking={"text": "hm"}, tokenCount={"inputTokens": 10, "outputTokens": 2})
    made.bubble("c", 2, "", tokenCount={"inputTokens": 0, "outputTokens": 0})
    made.composer("c", status="error", promptTokenBreakdown={"totalUsedTokens": 9999}, contextTokensUsed=9999)
    made.connection.close()
    session = get(made.adapter, "c")
    assert [(one.content, one.thinking) for one in session.messages] == [("look", None), ("", "hm")]
    assert [(one.media_type, one.name) for one in session.messages[0].attachments] == [("image/png", "/a.png")]
    assert session.tokens == TokenUsage(input_tokens=10, output_tokens=2)
    assert session.error and session.raw["status"] == "error"


@pytest.mark.parametrize(
    ("values", "output", "failed"),
    [
        ({"status": "completed", "userDecision": "accepted", "result": "{}"}, {}, False),
        ({"status": "completed", "userDecision": "rejected"}, "", True),
        ({"status": "cancelled", "userDecision": "rejected"}, None, True),
        ({"status": "completed"}, "", False),
        ({"status": "loading"}, None, False),
    ],
)
def test_a_call_that_was_refused_has_failed(
    values: dict[str, Any], output: Any, failed: bool, tmp_path: Path
) -> None:
    made = Editor(tmp_path)
    made.bubble("c", 2, toolFormerData={"name": "edit_file", "toolCallId": "t", "rawArgs": "{}", **values})
    made.connection.close()
    ((call,),) = (one.tool_calls for one in get(made.adapter, "c").messages)
    assert (call.output, call.is_error) == (output, failed)


def test_older_conversations_hold_their_bubbles_themselves(tmp_path: Path) -> None:
    made = Editor(tmp_path)
    made.headers["map"] = [{"bubbleId": "b", "type": 1}, {"bubbleId": "a", "type": 2}, 5]  # type: ignore[list-item]
    made.composer("map", conversationMap={"a": {"type": 2, "text": "there"}, "b": {"text": "hello"}})
    same = {"bubbleId": "x", "type": 1, "text": "again"}
    made.composer("list", conversation=[same, same, {"type": 2, "text": "no id"}], status="aborted")
    made.connection.close()
    assert [(one.role, one.content) for one in get(made.adapter, "map").messages] == [
        ("user", "hello"),
        ("assistant", "there"),
    ]
    messages = get(made.adapter, "list").messages
    assert [(one.id, one.content) for one in messages] == [("x", "again"), ("x#2", "again"), ("@2", "no id")]
    assert not listed(made.adapter)["list"].error, "«aborted» stands there while a turn runs"


# The document ------------------------------------------------------------------------------------------------


def test_ids_and_times_of_any_type(tmp_path: Path) -> None:
    path = tmp_path / ".cursor" / "sessions" / "sessions.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE sessions (title, id TEXT, created_at TEXT)")
        connection.execute("CREATE TABLE messages (content, session_id TEXT, role, tool_calls, created_at)")
        connection.execute("INSERT INTO sessions VALUES (NULL, 'a-uuid', '2026-09-21T17:00:00Z')")
        connection.execute("INSERT INTO sessions VALUES ('seconds', '7', '1790010000')")
        for session_id in ("a-uuid", "7"):
            calls = '[{"function": {"name": "ls", "arguments": "{\\"a\\": 1}"}}, 3]'
            row = ("hello", session_id, "user", calls, "2026-09-21T17:00:05Z")
            connection.execute("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", row)
        connection.commit()
    found = listed(adapter_for(tmp_path))
    assert {key: (one.title, one.created_at, one.updated_at.second) for key, one in found.items()} == {
        "a-uuid": ("hello", datetime(2026, 9, 21, 17, tzinfo=UTC), 5),
        "7": ("seconds", datetime(2026, 9, 21, 17, tzinfo=UTC), 5),
    }
    calls_ = get(adapter_for(tmp_path), "7").messages[0].tool_calls
    assert [(call.tool_name, call.input) for call in calls_] == [("ls", {"a": 1}), ("", None)]
