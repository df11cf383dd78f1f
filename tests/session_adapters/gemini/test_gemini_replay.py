"""Gemini's log is replayed: what still stands, what was taken back, and what was spent all the same."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chances import examples
from gemini_samples import (
    CONTEXT,
    adapter,
    asked,
    bare,
    call,
    gemini,
    got,
    header,
    line,
    listed,
    never,
    place,
    plain,
    put,
    response,
    text_of,
    user,
)
from session_adapters.model import Session, TokenUsage
from support import attached_bytes

ID = "11111111-aaaa"


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(*lines: bytes) -> Session:
        place(tmp_path, header(), *lines)
        return got(adapter(tmp_path), ID)

    return write


def shown(session: Session) -> list[tuple[str, str]]:
    return [(message.content, message.visibility) for message in session.messages if message.content]


def spent(replies: int) -> TokenUsage:
    """What that many of `gemini` cost."""
    return TokenUsage(
        input_tokens=6 * replies, output_tokens=5 * replies, cached_tokens=4 * replies, thinking_tokens=2 * replies
    )


def test_a_record_that_is_written_again_counts_once(written: Any) -> None:
    session = written(
        line(**user("u", "Q")),
        line(**gemini("g", "A")),
        line(**gemini("g", "A", toolCalls=[call("c", None, "executing")])),
        line(**gemini("g", "A", toolCalls=[call("c")])),
        line(**user("r", [response("c")])),
    )
    assert session.tokens == spent(1)
    assert (session.message_count, session.tool_call_count, session.turn_count) == (3, 1, 1)
    (made,) = session.messages[1].tool_calls
    assert (made.output, made.is_error) == ("done", False)
    assert [m.usage_key for m in session.messages if m.token_usage] == ["g"]


def test_a_rewind_takes_back_a_message_and_all_after_it(written: Any) -> None:
    session = written(
        *(line(**one) for one in (user("a", "one"), gemini("b", "1"), user("c", "two"), gemini("d", "2"))),
        line(**{"$rewindTo": "c"}),
        line(**user("e", "three")),
    )
    assert shown(session) == [
        ("one", "live"), ("1", "live"), ("two", "rewound"), ("2", "rewound"), ("three", "live"),
    ]  # fmt: skip
    assert session.tokens == spent(2)
    assert session.turn_count == 1
    assert session.raw["rewoundMessages"] == 2


def test_a_rewind_to_what_is_not_there_takes_back_everything(written: Any) -> None:
    session = written(line(**user("a", "one")), line(**gemini("b", "1")), line(**{"$rewindTo": "x"}))
    assert {message.visibility for message in session.messages} == {"rewound"}
    assert session.tokens == spent(1)


def test_a_log_that_takes_back_something_at_every_step_is_read_in_time(written: Any) -> None:
    """Making all messages anew at each would take minutes."""
    steps = range(5000)
    before = time.process_time()
    session = written(
        *(one for n in steps for one in (line(**user(f"u{n}", f"Q{n}")), line(**{"$rewindTo": f"u{n}"})))
    )
    assert time.process_time() - before < 10
    assert shown(session) == [(f"Q{n}", "rewound") for n in steps]


def test_what_was_taken_back_and_said_again_stands(written: Any) -> None:
    session = written(
        line(**user("a", "one")), line(**user("b", "two")), line(**{"$rewindTo": "a"}), line(**user("a", "one"))
    )
    assert shown(session) == [("two", "rewound"), ("one", "live")]


RESUME = (header(startTime="2026-11-22T08:00:00.000Z"), put(CONTEXT), line(**{"$set": {"sessionId": ID}}))
FIRST = (
    put(CONTEXT),
    line(**user("u", "Q")),
    line(**gemini("g", "A", toolCalls=[call("c")], thoughts=[{"subject": "S", "description": "D"}])),
    line(**user("r", [response("c")])),
    line(**gemini("h", "B")),
)
RESTORED = (
    CONTEXT,
    user("u", "Q"),
    bare("g", {"text": "D", "thought": True}, {"text": "A"}, asked("c")),
    user("g_response", [response("c")]),
    user("r", [response("c")]),
    bare("h", {"text": "B"}),
)


def test_a_resume_restores_stripped_messages_that_lose_nothing(written: Any) -> None:
    before = written(*FIRST)
    after = written(*FIRST, *RESUME, put(*RESTORED))
    assert after.messages == before.messages
    assert after.tokens == before.tokens == spent(2)
    assert (after.created_at, after.updated_at) == (before.created_at, before.updated_at)
    assert after.raw["resumed"] == 1


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_in_the_middle_of_a_resume_the_conversation_is_not_gone(written: Any, steps: int) -> None:
    before = written(*FIRST)
    between = written(*FIRST, *RESUME[:steps])
    assert between.messages == before.messages
    assert between.turn_count == 1


def test_a_resume_whose_history_cannot_be_read_keeps_what_was_there(written: Any) -> None:
    session = written(*FIRST, *RESUME, put(*RESTORED)[:200] + b"\n", line(**user("v", "more")))
    assert {message.visibility for message in session.messages} == {"live"}
    assert session.warnings == 1


def test_a_context_alone_that_is_followed_by_a_message_replaces_the_rest(written: Any) -> None:
    session = written(*FIRST, *RESUME, line(**user("v", "more")))
    assert [m.visibility for m in session.messages] == ["live", *["rewound"] * 4, "live"]


def test_results_of_restored_calls_are_linked_where_the_log_lost_them(written: Any) -> None:
    session = written(*RESUME, put(*RESTORED))
    (reply,) = (message for message in session.messages if message.tool_calls)
    assert (reply.content, reply.thinking, reply.tool_calls[0].output) == ("A", "D", "done")
    (result,) = (message.tool_result for message in session.messages if message.tool_result)
    assert result.linked
    assert session.tokens is None


SNAPSHOT = user("s", "<state_snapshot>all so far</state_snapshot>")


def test_a_compression_marks_what_it_replaced(written: Any) -> None:
    tail = (user("u2", "Q2"), bare("g2", {"text": "A2"}))
    thanks = bare("t", {"text": "Got it. Thanks for the additional context!"})
    session = written(
        *FIRST, line(**user("x", "Q2")), line(**gemini("y", "A2")), put(CONTEXT, SNAPSHOT, thanks, *tail),
        line(id="i", timestamp="", type="info", content=""), line(**user("z", "next")),
    )  # fmt: skip
    kinds = [(message.kind, message.visibility) for message in session.messages]
    assert kinds[1:5] == [("message", "compacted")] * 4
    assert kinds[5:8] == [("compaction", "live"), ("summary", "live"), ("notice", "live")]
    assert [message.id for message in session.messages[8:]] == ["x", "y", "z"]
    assert session.messages[9].token_usage is not None
    assert (session.turn_count, session.tokens) == (2, spent(3))
    # What the agent now calls u2 can be taken back by that name.
    again = written(
        *FIRST, line(**user("x", "Q2")), line(**gemini("y", "A2")), put(CONTEXT, SNAPSHOT, thanks, *tail),
        line(**{"$rewindTo": "u2"}),
    )  # fmt: skip
    assert [message.visibility for message in again.messages[8:]] == ["rewound", "rewound"]


def test_a_kept_prompt_that_was_said_twice_is_the_later_one(written: Any) -> None:
    session = written(
        *(line(**one) for one in (user("a", "go on"), gemini("b", "1"), user("c", "go on"), gemini("d", "2"))),
        put(SNAPSHOT, user("n", "go on"), bare("m", {"text": "2"})),
    )
    states = {message.id: message.visibility for message in session.messages}
    assert {name: states[name] for name in "abcd"} == {"a": "compacted", "b": "compacted", "c": "live", "d": "live"}
    assert "n" not in states


def test_tokens_of_tools_are_counted_where_the_total_says_so(written: Any) -> None:
    tokens = {"input": 10, "output": 3, "cached": 4, "thoughts": 2, "tool": 7}
    inside = written(line(**user("u", "Q")), line(**gemini("g", tokens=tokens | {"total": 15})))
    assert inside.tokens == spent(1)
    beside = written(line(**user("u", "Q")), line(**gemini("g", tokens=tokens | {"total": 22})))
    assert beside.tokens is not None
    assert beside.tokens.total == 22
    odd = written(line(**gemini("g", tokens={"input": -5, "cached": 9, "output": None})))
    assert odd.tokens == TokenUsage(cached_tokens=9)


def test_the_same_message_in_two_files_is_one_call(tmp_path: Path) -> None:
    """0.40 goes on with a document of 0.20 in a log beside it, which begins with a copy of its messages."""
    messages = [user("u", "Q"), gemini("g", "A")]
    document = {"sessionId": ID, "projectHash": "h", "startTime": "2026-11-21T08:00:00.000Z", "messages": messages}
    name = "session-2026-11-21T08-00-11111111.json"
    place(tmp_path, line(**document), name=name)
    later = gemini("h", "B", timestamp="2026-11-21T09:00:00.000Z")
    place(tmp_path, header(), *(line(**one) for one in (*messages, later)), name=f"{name}l")
    reader = adapter(tmp_path)
    (summary,) = listed(reader).values()
    assert summary.path.endswith(".jsonl")
    assert summary.tokens == spent(2)
    source = reader.find(ID)
    assert source is not None
    assert source.path == summary.path


def test_what_the_program_says(written: Any) -> None:
    session = written(
        line(**user("u", "Q")),
        line(id="i", type="info", content="Saved."),
        line(id="w", type="warning", content="Careful."),
        line(id="e", type="error", content="[API Error: quota]"),
    )
    assert [(m.role, m.kind) for m in session.messages[1:]] == [
        ("system", "notice"), ("system", "notice"), ("system", "error"),
    ]  # fmt: skip
    assert session.error


def test_what_was_typed_and_what_was_sent(written: Any) -> None:
    typed = user("u", [{"text": "see @a.py"}, {"text": "\n--- a.py ---\nx = 1"}], displayContent="see @a.py")
    session = written(line(**typed), line(**gemini("g", "A")))
    assert [(m.kind, m.content) for m in session.messages[:2]] == [
        ("message", "see @a.py"),
        ("notice", "see @a.py\n--- a.py ---\nx = 1"),
    ]
    assert session.title == "see @a.py"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("/chat save one", "command"),
        ("/help", "command"),
        ("?", "command"),
        ("/home/dev/x.py fails", "message"),
        ("<hook_context>x</hook_context>", "notice"),
    ],
)
def test_kinds_of_prompts(written: Any, text: str, kind: str) -> None:
    session = written(line(**user("u", text)), line(**user("v", "Real")), line(**gemini("g", "A")))
    assert session.messages[0].kind == kind
    assert session.title == "Real"  # as the agent: nothing that begins with / or ? names a session


def test_a_summary_is_the_title(written: Any) -> None:
    assert written(*FIRST, line(**{"$set": {"summary": "Fix the\ncoupon"}})).title == "Fix the coupon"


def test_images_are_named_and_not_kept(written: Any) -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAAAAA="}}
    file = {"fileData": {"mimeType": "text/plain", "fileUri": "https://x/files/notes.txt"}}
    session = written(line(**user("u", [{"text": "Look"}, image, file])))
    assert [(a.media_type, a.name, a.size) for a in session.messages[0].attachments] == [
        ("image/png", "", 5),
        ("text/plain", "notes.txt", 0),
    ]
    pictured = line(**user("u", [{"text": "Look"}, image, file]))
    assert attached_bytes(lambda: written(pictured).messages) == [bytes(5), None]
    read = written(line(**gemini("g", toolCalls=[call("c")])), line(**user("r", [response("c"), image])))
    assert [(m.role, m.kind) for m in read.messages] == [
        ("assistant", "message"),
        ("tool", "message"),
        ("user", "notice"),
    ]


def test_failed_and_unfinished_calls(written: Any) -> None:
    error = {"functionResponse": {"id": "b", "name": "x", "response": {"error": "no"}}}
    calls = [
        call("a", None, "cancelled"),
        call("b", None, "success") | {"result": [error]},
        call("c", None, "executing", resultDisplay="half"),
        call("d", None, "success", resultDisplay="shown"),
    ]
    found = written(line(**user("u", "Q")), line(**gemini("g", toolCalls=calls))).messages[1].tool_calls
    assert [(one.output, one.is_error) for one in found] == [
        (None, True), ("no", True), (None, False), ("shown", False),
    ]  # fmt: skip


def test_both_roles_of_the_model_are_the_assistant(tmp_path: Path) -> None:
    rows = (
        {"role": "user", "parts": [{"text": "Q"}]},
        {"role": "model", "parts": [{"text": "A"}, asked("c")]},
        {"role": "function", "parts": [response("c")]},
        {"type": "model", "id": "m", "content": "B"},
        {"type": "gemini", "id": "g", "content": "C"},
    )
    place(tmp_path, *(line(**row) for row in rows), name="s.jsonl", folder=".gemini/sessions")
    messages = got(adapter(tmp_path), "s").messages
    assert [m.role for m in messages] == ["user", "assistant", "tool", "assistant", "assistant"]
    assert messages[1].tool_calls[0].output == "done"


def restored(ids: list[str]) -> bytes:
    return put(*(bare(one, {"text": f"say {one}"}) if one.isupper() else user(one, f"ask {one}") for one in ids))


def compressed(ids: list[str]) -> bytes:
    """What is kept of the conversation has new ids."""
    return put(SNAPSHOT, *(bare(f"n{one}", {"text": f"say {one}"}) for one in ids))


def steps(letters: str) -> st.SearchStrategy[list[bytes]]:
    """Any records about prompts and replies with these ids (small and capital letters)."""
    asked, said = st.sampled_from(letters), st.sampled_from(letters.upper())
    one = st.one_of(
        st.builds(lambda one: line(**user(one, f"ask {one}")), asked),
        st.builds(lambda one: line(**gemini(one, f"say {one}", toolCalls=[call(f"c{one}")])), said),
        st.builds(lambda one: line(**{"$rewindTo": one}), asked | said),
        st.builds(restored, st.lists(asked | said, max_size=6)),
        st.sampled_from([header(), put(CONTEXT)]),
    )
    return st.lists(one, max_size=20)


@examples(200)
@given(before=steps("abcde"), kept=st.lists(st.sampled_from("ABCDE")), after=steps("fgh"), squeeze=st.booleans())
def test_any_log_ends_in_the_view_that_plain_replaying_gives(
    tmp_path: Path, before: list[bytes], kept: list[str], after: list[bytes], squeeze: bool
) -> None:
    """By content, since what is restored under a new id is shown under its old one."""
    middle = [compressed(kept)] if squeeze else []
    path = place(tmp_path, *before, *middle, *after, line(**user("last", "the end")))
    transcript = adapter(tmp_path).open(next(adapter(tmp_path).sources(never)), ID)
    live = [m for m in transcript.messages if m.visibility == "live" and m.kind != "compaction"]
    assert [message.content for message in live] == [text_of(record) for record in plain(path).view]
    # Whatever was said is there once, and so is what it cost.
    logged = plain(path).last()
    found = [message.id for message in transcript.messages]
    assert len(set(found)) == len(found)
    assert set(logged) <= set(found)
    assert {m.usage_key for m in transcript.messages if m.token_usage} == {one for one in logged if one.isupper()}
