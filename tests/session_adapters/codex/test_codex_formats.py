"""What the sample stores do not show of Codex' formats, made by hand from stores/codex FACTS.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plain_codex import adapter, both, count, line, meta, no_report, said, turn, uuid, write
from session_adapters.model import Session, TokenUsage
from support import attached_bytes


def contents(session: Session) -> list[str]:
    return [one.content for one in session.messages]


def base(thread: str, ordinal: int | None, offset: int | None = None) -> dict[str, Any]:
    return {
        "forked_from_id": thread,
        "history_base": {"thread_id": thread, "end_ordinal_exclusive": ordinal, "end_byte_offset": offset},
    }


# Forks by reference --------------------------------------------------------------------------------------------


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """A thread, its fork after the first turn, and that one's fork."""
    write(tmp_path, uuid(1), {**meta(uuid(1)), "ordinal": 0}, *turn("a", "A", 1, 1), *turn("b", "B", 3, 4))
    write(tmp_path, uuid(2), {**meta(uuid(2), **base(uuid(1), 4)), "ordinal": 4}, *turn("c", "C", 5, 5))
    write(tmp_path, uuid(3), {**meta(uuid(3), **base(uuid(2), 8)), "ordinal": 8}, *turn("d", "D", 7, 9))
    return tmp_path


def test_a_fork_of_a_fork(family: Path) -> None:
    summary, session = both(family, uuid(3))
    assert contents(session) == ["a", "A", "c", "C", "d", "D"]
    assert [one.inherited for one in session.messages] == [True] * 4 + [False] * 2
    assert (summary.title, summary.preview, summary.message_count, summary.turn_count) == ("d", "d", 6, 3)
    assert (summary.kind, summary.parent_id, summary.lineage_id) == ("fork", uuid(2), None)


def test_a_fork_from_the_inherited_part_of_a_fork(family: Path) -> None:
    write(family, uuid(4), {**meta(uuid(4), **base(uuid(2), 3)), "ordinal": 3}, *turn("e", "E", 9, 4))
    # Ordinal 3 is the reply in the first thread; nothing of the second is below it.
    assert contents(both(family, uuid(4))[1]) == ["a", "e", "E"]


def test_a_byte_offset_that_does_not_agree_with_the_ordinal_is_not_believed(family: Path) -> None:
    for offset in (1, 77, 10**9, -5, 0):
        write(family, uuid(5), {**meta(uuid(5), **base(uuid(1), 4, offset)), "ordinal": 4}, *turn("f", "F", 9, 5))
        assert contents(both(family, uuid(5))[1]) == ["a", "A", "f", "F"]


def test_a_lost_parent_is_said(family: Path) -> None:
    next((family / ".codex").rglob(f"*{uuid(1)}.jsonl")).unlink()
    reader = adapter(family)
    source = reader.find(uuid(3))
    assert source is not None
    session = reader.session(source, uuid(3))
    first, *rest = contents(session)
    assert uuid(1) in first and "not in the store" in first
    assert rest == ["c", "C", "d", "D"]
    transcript = reader.open(source, uuid(3))
    while not transcript.complete:
        transcript.earlier()
    assert [problem.reason for problem in transcript.problems] == [first]


def test_an_archived_parent_is_found(family: Path) -> None:
    path = next((family / ".codex").rglob(f"*{uuid(1)}.jsonl"))
    (family / ".codex/archived_sessions").mkdir()
    path.rename(family / ".codex/archived_sessions" / path.name)
    assert contents(both(family, uuid(3))[1])[:2] == ["a", "A"]


@pytest.mark.parametrize("above", [3, 2])
def test_circles_end(family: Path, above: int) -> None:
    write(family, uuid(1), {**meta(uuid(1), **base(uuid(above), 99)), "ordinal": 0}, *turn("a", "A", 1, 1))
    first, *rest = contents(both(family, uuid(3))[1])
    assert "names itself as its beginning" in first
    assert rest == ["a", "A", "c", "C", "d", "D"]


def test_the_parents_figures_repeated_at_the_start_of_a_fork_are_not_the_forks(family: Path) -> None:
    own = [{**meta(uuid(6), **base(uuid(1), 4)), "ordinal": 4}, count(700, 200, 1, 5), *turn("g", "G", 2, 6)]
    record = {"response_id": "r1", "usage": {"input_tokens": 30}, "thread_token_usage": {"input_tokens": 730}}
    path = write(family, uuid(6), *own, line("token_usage_record", record, 3, 9), count(730, 30, 3, 10))
    summary, session = both(family, uuid(6))
    assert summary.tokens == TokenUsage(input_tokens=30)
    assert session.messages[-1].usage_key == "r1"
    # A repeated line (a writer that was interrupted) is one call.
    with path.open("a") as file:
        file.write(json.dumps(line("token_usage_record", record, 3, 9)) + "\n")
    assert both(family, uuid(6))[0].tokens == TokenUsage(input_tokens=30)


# Forks by copy -------------------------------------------------------------------------------------------------


def test_a_copy_is_told_by_its_turn_ids_where_no_pause_tells(tmp_path: Path) -> None:
    def context(number: int) -> dict[str, Any]:
        return line("turn_context", {"turn_id": uuid(number), "model": "m", "cwd": f"/{number}"}, 1.0)

    copied = [*turn("a", "A"), context(1), count(100, 100, 1)]
    own = [*turn("b", "B"), context(9), count(150, 50, 1)]
    started = {"type": "task_started", "turn_id": uuid(9)}
    write(tmp_path, uuid(8), meta(uuid(8)), meta(uuid(1)), *copied, line("event_msg", started, 1), *own)
    summary, session = both(tmp_path, uuid(8))
    assert [(one.content, one.inherited) for one in session.messages] == [
        ("a", True), ("A", True), ("b", False), ("B", False),
    ]  # fmt: skip
    assert (summary.forked_from, summary.cwd, summary.tokens) == (uuid(1), "/9", TokenUsage(input_tokens=50))


def test_a_copy_that_kept_its_old_times(tmp_path: Path) -> None:
    old = [{**record, "timestamp": "2026-11-20T08:00:00Z"} for record in turn("a", "A")]
    write(tmp_path, uuid(8), meta(uuid(8), forked_from_id=uuid(1)), meta(uuid(1)), *old, *turn("b", "B", 0.1))
    assert [one.inherited for one in both(tmp_path, uuid(8))[1].messages] == [True, True, False, False]


def test_a_copy_whose_own_header_is_damaged_does_not_become_its_parent(tmp_path: Path) -> None:
    path = write(tmp_path, uuid(8), meta(uuid(8)), meta(uuid(1)), *turn("a", "A"))
    data = path.read_bytes()
    path.write_bytes(b"\x00" * 40 + data[40:])
    summary, session = both_with_damage(tmp_path, uuid(8))
    assert summary == uuid(8) and session.session_id == uuid(8)
    assert session.warnings == 1


def test_a_second_bare_header_is_not_the_session(tmp_path: Path) -> None:
    """Of the first generation; as of later ones, the first says whose file it is."""
    bare = [{"id": uuid(n), "timestamp": f"2025-06-0{n}T10:00:00.000Z", "instructions": None} for n in (1, 2)]
    write(tmp_path, uuid(1), *bare, said("user", "hello"))
    summary, session = both(tmp_path, uuid(1))
    assert (summary.session_id, summary.created_at.day, contents(session)) == (uuid(1), 1, ["hello"])


def test_the_name_tells_where_the_header_says_something_else(tmp_path: Path) -> None:
    """`codex resume` looks for the uuid in the file name."""
    write(tmp_path, uuid(8), meta(uuid(1), cli_version="1"), *turn("a", "A"))
    summary, _ = both(tmp_path, uuid(8))
    assert (summary.session_id, summary.cwd, summary.kind) == (uuid(8), "/w", "session")
    assert adapter(tmp_path).find(uuid(1)) is None


def both_with_damage(home: Path, session_id: str) -> tuple[str, Session]:
    reader = adapter(home)
    source = reader.find(session_id)
    assert source is not None
    (summary,) = reader.summaries(source, lambda problem: None)
    return summary.session_id, reader.session(source, session_id)


# Helpers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more, kind, parent",
    [
        ({"parent_thread_id": None, "source": "cli", "thread_source": None}, "session", None),
        ({"thread_source": "guardian_review", "session_id": uuid(1)}, "subagent", uuid(1)),
        ({"source": {"subagent": "review"}, "session_id": uuid(1)}, "subagent", uuid(1)),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": uuid(2)}}}}, "subagent", uuid(2)),
        ({"parent_thread_id": uuid(3), "forked_from_id": uuid(3)}, "subagent", uuid(3)),
        ({"source": {"subagent": None}}, "session", None),
    ],
)
def test_helpers_and_their_parents(tmp_path: Path, more: dict[str, Any], kind: str, parent: str | None) -> None:
    write(tmp_path, uuid(7), meta(uuid(7), **more), *turn("a", "A"))
    summary, _ = both(tmp_path, uuid(7))
    assert (summary.kind, summary.parent_id, summary.session_id) == (kind, parent, uuid(7))


# Items and events ----------------------------------------------------------------------------------------------


def items(tmp_path: Path, *payloads: dict[str, Any]) -> Session:
    write(tmp_path, uuid(7), meta(uuid(7)), *(line("response_item", payload, 1) for payload in payloads))
    return both(tmp_path, uuid(7))[1]


def test_other_kinds_of_calls(tmp_path: Path) -> None:
    session = items(
        tmp_path,
        {"type": "local_shell_call", "call_id": "c1", "status": "completed", "action": {"command": ["ls"]}},
        {"type": "function_call_output", "call_id": "c1", "output": {"content": "no", "success": False}},
        {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"query": "codex"}},
        {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": '{"not": "json"}'},
        {
            "type": "custom_tool_call_output",
            "call_id": "c2",
            "output": "Exit code: 1\nWall time: 2.5 seconds\nOutput:\nx",
        },
        {"type": "function_call", "call_id": "c3", "name": "go", "namespace": "mcp", "arguments": "{broken"},
    )
    calls = [call for one in session.messages for call in one.tool_calls]
    assert [(call.tool_name, call.input, call.output, call.is_error, call.duration_ms) for call in calls] == [
        ("local_shell", {"command": ["ls"]}, "no", True, None),
        ("web_search", {"query": "codex"}, None, False, None),
        ("apply_patch", '{"not": "json"}', "Exit code: 1\nWall time: 2.5 seconds\nOutput:\nx", True, 2500),
        ("mcp.go", "{broken", None, False, None),
    ]


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("apply_patch verification failed: Failed to find expected lines in /home/dev/a.py:\nx", True),
        ("patch rejected by user", True),
        ("exec command rejected by user", True),
        ('exec_command failed for `/bin/sh -c ls`: CreateProcess { message: "Rejected" }', True),
        ("write_stdin failed: stdin is closed for this session", True),
        ("execution error: Io(x)", True),
        ("failed to parse function arguments: Error(x)", True),
        ("aborted by user after 3.1s", True),
        ("unsupported call: x", True),
        ("Plan updated", False),
        ("it says: patch rejected by user", False),
    ],
)
def test_what_codex_refused_to_do_has_failed(tmp_path: Path, output: str, failed: bool) -> None:
    """These are texts of `codex-rs/core/src/tools`; whether a call succeeded is not recorded beside them."""
    session = items(
        tmp_path,
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "x"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": output},
    )
    assert [call.is_error for one in session.messages for call in one.tool_calls] == [failed]


def test_an_output_without_its_call_is_kept(tmp_path: Path) -> None:
    (message,) = items(tmp_path, {"type": "function_call_output", "call_id": "x", "output": "y"}).messages
    assert message.tool_result is not None and not message.tool_result.linked
    assert message.tool_result.output == "y"


def test_images_are_attachments_without_their_bytes(tmp_path: Path) -> None:
    url = "data:image/png;base64," + "QUJD" * 100
    picture = {"type": "input_image", "image_url": url}
    prompt = said("user", "<image name=[Image #1]>")
    prompt["content"] += [picture, {"type": "input_text", "text": "</image>"}, {"type": "input_text", "text": "look"}]
    shown = {
        "type": "function_call_output",
        "call_id": "v",
        "output": [picture, {"type": "input_text", "text": "ok"}],
    }
    event = line("event_msg", {"type": "user_message", "message": "look", "images": []}, 1)
    write(
        tmp_path, uuid(7), meta(uuid(7)), line("response_item", prompt, 1), event, line("response_item", shown, 2)
    )  # fmt: skip
    session = both(tmp_path, uuid(7))[1]
    assert [one.content for one in session.messages if one.is_prompt] == ["look"]
    for message in session.messages:
        (picture_of,) = message.attachments
        assert (picture_of.media_type, picture_of.size) == ("image/png", 300)
    assert "QUJD" not in str(session)
    assert attached_bytes(lambda: both(tmp_path, uuid(7))[1].messages) == [b"ABC" * 100] * 2


def test_events_alone_and_events_before_their_items(tmp_path: Path) -> None:
    prompt, done = {"type": "user_message", "message": "a"}, {"type": "task_complete"}
    reply = {"type": "agent_message", "message": "A"}
    records = [
        line("event_msg", prompt, 1),
        line("response_item", said("user", "a"), 1),
        line("event_msg", reply, 2),
        line("event_msg", done, 2),
        line("event_msg", {**prompt, "message": "b"}, 3),
        line("event_msg", {**reply, "message": "B"}, 4),
        line("response_item", said("assistant", "B"), 4),
        line("event_msg", done, 5),
        line("event_msg", {**prompt, "message": "<environment_context>x"}, 6),
    ]
    write(tmp_path, uuid(7), meta(uuid(7)), *records)
    summary, session = both(tmp_path, uuid(7))
    assert [(one.role, one.kind, one.content) for one in session.messages] == [
        ("user", "message", "a"), ("assistant", "message", "A"),
        ("user", "message", "b"), ("assistant", "message", "B"),
    ]  # fmt: skip
    assert summary.turn_count == 2


@pytest.mark.parametrize("page", [None, 1, 250, 500, 750, 1000])
def test_events_after_their_items(tmp_path: Path, page: int | None) -> None:
    call = {"type": "function_call", "call_id": "c", "name": "n"}
    reply = line("event_msg", {"type": "agent_message", "message": "A"}, 1)
    records = [
        *turn("a", "A"), reply, line("response_item", call, 2),
        line("response_item", {"type": "function_call_output", "call_id": "c", "output": "x"}, 3), count(9, 9, 3),
        line("response_item", said("assistant", "A"), 4), count(11, 2, 4), reply, *turn("b", "B", 5),
    ]  # fmt: skip
    write(tmp_path, uuid(7), meta(uuid(7)), *records)
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    session = reader.session(source, uuid(7))
    assert contents(session) == ["a", "A", "", "A", "b", "B"]
    assert [one.token_usage.total if one.token_usage else 0 for one in session.messages] == [0, 9, 0, 2, 0, 0]
    if page is not None:
        reader.page = page
        transcript = reader.open(source, uuid(7))
        while not transcript.complete:
            transcript.earlier()
        assert transcript.messages == list(session.messages)


def test_errors_and_interruptions_are_shown_once(tmp_path: Path) -> None:
    failed = {"type": "task_complete", "error": {"message": "quota"}}
    aborted = {"type": "turn_aborted", "reason": "interrupted"}
    write(
        tmp_path, uuid(7), meta(uuid(7)), *turn("a", "A"),
        line("event_msg", aborted, 3),
        line("response_item", said("user", "<turn_aborted>\nby you"), 4), line("event_msg", aborted, 4),
        line("event_msg", {"type": "error", "message": "quota"}, 5), line("event_msg", failed, 5),
    )  # fmt: skip
    summary, session = both(tmp_path, uuid(7))
    assert [one.kind for one in session.messages] == ["message", "message", "notice", "notice", "error"]
    assert summary.error


def test_tokens_of_calls_without_a_reply(tmp_path: Path) -> None:
    write(
        tmp_path, uuid(7), meta(uuid(7)), *turn("a", "A"), count(100, 100), count(100, 100, 3), count(130, 30, 4),
        line("compacted", {"message": "sum", "replacement_history": [said("user", "a")]}, 5), count(130, 0, 5),
        *turn("b", "B", 6), count(140, 10, 7), count(145, 5, 8),
    )  # fmt: skip
    summary, session = both(tmp_path, uuid(7))
    assert summary.tokens == TokenUsage(input_tokens=145)
    spent = [(one.kind, one.token_usage.input_tokens) for one in session.messages if one.token_usage]
    assert spent == [("message", 100), ("compaction", 30), ("message", 10), ("notice", 5)]


def test_cached_and_written_tokens_are_taken_out_of_the_input(tmp_path: Path) -> None:
    usage = {
        "input_tokens": 100, "cached_input_tokens": 60, "cache_write_input_tokens": 30,
        "output_tokens": 9, "reasoning_output_tokens": 4, "total_tokens": 109,
    }  # fmt: skip
    record = line("token_usage_record", {"response_id": "r", "usage": usage})
    write(tmp_path, uuid(7), meta(uuid(7)), *turn("a", "A"), record)
    tokens = both(tmp_path, uuid(7))[0].tokens
    assert tokens == TokenUsage(
        input_tokens=10, output_tokens=9, cached_tokens=60, cache_write_tokens=30, thinking_tokens=4
    )
    assert tokens.total == 109


def test_a_first_prompt_far_below_long_instructions(tmp_path: Path) -> None:
    noise = [line("response_item", said("developer", "x" * 1000), 0.1) for _ in range(424)]
    late = [line("response_item", said("developer", "y" * 1000), 2) for _ in range(400)]
    write(tmp_path, uuid(7), meta(uuid(7)), *noise, *turn("find me", "A"), *late)
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    (summary,) = reader.summaries(source, no_report)
    assert summary.title == "find me"


def test_the_oldest_document(tmp_path: Path) -> None:
    folder = tmp_path / ".codex/sessions"
    folder.mkdir(parents=True)
    path = folder / f"rollout-2025-04-20-{uuid(7)}.json"
    calls = [
        {"type": "function_call", "call_id": "c", "name": "shell", "arguments": '{"command": ["ls"]}'},
        {"type": "function_call_output", "call_id": "c", "output": '{"output":"x","metadata":{"exit_code":2}}'},
    ]
    document = {
        "session": {"id": uuid(7), "timestamp": "2025-04-20T10:00:00.000Z", "instructions": ""},
        "items": [said("user", "hello"), *calls, said("assistant", "bye"), "no object", None],
    }
    path.write_text(json.dumps(document, indent=2))
    reader = adapter(tmp_path)
    (source,) = reader.sources(no_report)
    reported: list[str] = []
    (summary,) = reader.summaries(source, lambda problem: reported.append(problem.reason))
    session = reader.session(source, uuid(7))
    assert contents(session) == ["hello", "", "", "bye"]
    assert (summary.title, summary.created_at.year, session.warnings, len(reported)) == ("hello", 2025, 2, 2)
    assert session.messages[1].tool_calls[0].output == "x" and session.messages[1].tool_calls[0].is_error
    transcript = reader.open(source, uuid(7))
    path.write_text(json.dumps({**document, "items": [said("user", "new")]}))
    change = transcript.refresh()
    assert change.rewritten and [one.content for one in transcript.messages] == ["new"]
    path.write_text("{")
    assert transcript.refresh().first is None and transcript.problems
    path.unlink()
    assert transcript.refresh().gone
