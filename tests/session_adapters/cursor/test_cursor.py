"""Cursor's stores as public facts have them, and the document's, against plain SQL and JSON on a copy."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cursor_store import (
    BROKEN,
    CHAT,
    DRAFT,
    EDITOR,
    EDITOR_HELPER,
    EMPTIED,
    EMPTY,
    HELPER,
    IN_WAL,
    OLD,
    SPOKEN,
    TEXT,
    adapter_for,
    everything,
    get,
    listed,
)
from plain_cursor import Plain, plain_home, rows
from session_adapters.base import Source
from session_adapters.cursor.adapter import CursorAdapter
from session_adapters.cursor.chat_store.reader import ChatShelf
from session_adapters.cursor.document import CursorDocumentStore
from session_adapters.cursor.editor_store.database import EditorShelf
from session_adapters.cursor.facts import CursorTranscript
from session_adapters.cursor.lines import LineBuilder
from session_adapters.growing.jsonl_adapter import JsonlTranscript
from session_adapters.model import Problem, TokenUsage
from session_adapters.transcript import Change, Transcript
from support import STORES

Stored = Callable[..., Path]


@pytest.fixture(params=["home", "home-spec"])
def home(request: pytest.FixtureRequest, store: Stored) -> Path:
    """A copy for us to read."""
    return store("cursor", request.param)


@pytest.fixture
def truth(home: Path, tmp_path: Path) -> dict[str, Plain]:
    """What plain lines say of the same home; the file in plain text has a test of its own."""
    return plain_home(home, tmp_path / "truth")


@pytest.fixture
def sample(store: Stored) -> CursorAdapter:
    return adapter_for(store("cursor", "home"))


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


# Against the raw stores --------------------------------------------------------------------------------------


def test_every_session_once_with_its_counts_tokens_title_and_directory(home: Path, truth: dict[str, Plain]) -> None:
    found = listed(adapter_for(home))
    assert found.keys() - {TEXT} == truth.keys()
    for session_id, plain in truth.items():
        summary = found[session_id]
        said = plain.said
        assert summary.raw["layout"] == plain.kind
        assert summary.message_count == len(said)
        assert summary.tool_call_count == sum(len(one.calls) for one in said)
        tokens = summary.tokens or TokenUsage()
        assert (tokens.input_tokens, tokens.output_tokens) == (
            sum(one.tokens[0] for one in said),
            sum(one.tokens[1] for one in said),
        )
        assert (summary.tokens is None) == (not any(any(one.tokens) for one in said)), "unknown is not 0"
        assert summary.cost is None
        prompts = [one.text for one in said if one.role == "user" and not one.text.startswith("<user_info>")]
        assert summary.preview == prompts[0]
        assert summary.title == (plain.title or ("Apples count" if session_id == SPOKEN else prompts[0]))
        assert (summary.cwd, summary.archived, summary.parent_id) == (
            plain.cwd or ("/home/dev/shop" if session_id == OLD else None),
            plain.archived,
            plain.parent,
        )
        assert summary.kind == ("subagent" if plain.parent else "session")
        assert set(summary.models) >= {one.model for one in said if one.model}
        assert (summary.partial, summary.warnings, summary.git_branch) == (False, 0, None)


def test_every_message_in_order_with_text_thinking_calls_and_results(home: Path, truth: dict[str, Plain]) -> None:
    adapter = adapter_for(home)
    for session_id, plain in truth.items():
        messages = get(adapter, session_id).messages
        assert len(messages) == len(plain.said)
        assert len({message.id for message in messages}) == len(messages)
        answers = {}
        for message, one in zip(messages, plain.said, strict=True):
            assert (message.role, message.content, message.thinking or "") == (
                one.role,
                one.text if not one.results or one.calls else "",
                one.thinking,
            )
            assert tuple((call.tool_name, call.input) for call in message.tool_calls) == one.calls
            assert message.model == one.model
            usage = message.token_usage or TokenUsage()
            assert (usage.input_tokens, usage.output_tokens) == one.tokens
            if message.tool_result is not None:
                result = message.tool_result
                assert ((result.tool_name, result.output),) == one.results
                assert result.linked
                answers[result.tool_call_id] = result.output
            elif one.results:
                assert (message.tool_calls[0].tool_name, message.tool_calls[0].output) == one.results[0]
        calls = [call for message in messages for call in message.tool_calls]
        if answers:
            assert {call.tool_call_id: call.output for call in calls} == answers


def test_the_figures_of_the_reference_reader(sample: CursorAdapter) -> None:
    """Where ours are others: it names everything that lies there, so also the chat without a conversation, the draft,
    the emptied row and the transcript of a chat; its model of a chat is the one chosen last, ours the one that
    answered most; it counts the record that ends a turn."""
    figures: dict[str, Any] = json.loads((STORES / "cursor" / "expected.json").read_text())["home"]
    found = listed(sample)
    left_out = set()
    for key, figure in figures.items():
        layout, _, name = key.partition(":")
        session_id = name if layout != "transcript" else name.rpartition("/")[2].partition(".")[0]
        if session_id not in found:
            left_out.add(session_id)
            continue
        summary = found[session_id]
        messages = get(sample, session_id).messages
        if layout == "chat":
            assert summary.title == (figure["metaTitle"] or figure["name"])
            assert summary.raw["workspaceHash"] == figure["wsHash"]
            if "protobuf" in figure["roles"]:
                assert len(messages) == figure["roles"]["protobuf"]
            else:
                roles = [message.role for message in messages]
                assert {role: roles.count(role) for role in set(roles)} == figure["roles"]
            assert figure["model"] in summary.models
        elif layout == "transcript" and summary.raw["layout"] == "transcript":
            ended = {SPOKEN: 1, HELPER: 1}.get(session_id, 0)
            assert len(messages) == figure["records"] - ended
            assert (summary.kind == "subagent") == figure["subagent"]
        elif layout == "composerData":
            assert (summary.title, summary.archived) == (figure["name"], bool(figure["archived"]))
            assert len(messages) == figure["bubbles"] + figure["inline"]
            assert summary.raw.get("missingMessages", 0) == max(0, figure["headers"] - figure["bubbles"])
            assert summary.raw.get("subComposerIds", []) == (figure["subs"] or [])
    assert left_out == {EMPTY, DRAFT, BROKEN, EMPTIED}


def test_the_documents_figures(store: Stored) -> None:
    figures = json.loads((STORES / "cursor" / "expected.json").read_text())["home-spec"]
    found = listed(adapter_for(store("cursor", "home-spec")))
    for key, (title, cwd, messages, fresh, written) in figures.items():
        summary = found[key.removeprefix("seed:")]
        tokens = summary.tokens
        assert (summary.cwd, summary.message_count) == (cwd, messages)
        assert summary.title == (title or summary.preview)
        assert (tokens and tokens.input_tokens, tokens and tokens.output_tokens) == (fresh, written)
    assert (found["1"].tokens or TokenUsage()).thinking_tokens == 10
    assert (found["1"].created_at, found["1"].updated_at) == (at(2026, 7, 25, 17, 20), at(2026, 7, 25, 17, 20, 4))


# The same, whichever way it is read --------------------------------------------------------------------------


def test_get_says_the_same_as_the_list(home: Path) -> None:
    adapter = adapter_for(home)
    for session_id, summary in listed(adapter).items():
        session = get(adapter, session_id)
        assert session.message_count == len(session.messages)
        for name in type(summary).__struct_fields__:
            assert getattr(session, name) == getattr(summary, name), name


def paged(source: Source, session_id: str, page: int) -> Transcript | None:
    if source.layout == "chat":
        return CursorTranscript("cursor", ChatShelf(source.path), session_id, page=page)
    if source.layout == "editor":
        return CursorTranscript("cursor", EditorShelf(source.path, source.root), session_id, page=page)
    if source.layout == "document":
        return CursorTranscript("cursor", CursorDocumentStore(source.path), session_id, page=page)
    if source.layout == "transcript":
        return JsonlTranscript("cursor", session_id, source.path, LineBuilder, page=page * 40)
    return None


@pytest.mark.parametrize("page", [1, 2, 3, 7])
def test_pages_put_together_are_the_whole(home: Path, page: int) -> None:
    adapter = adapter_for(home)
    cut = 0
    for session_id in listed(adapter):
        source = adapter.find(session_id)
        assert source is not None
        whole = list(adapter.session(source, session_id).messages)
        transcript = paged(source, session_id, page)
        if transcript is None:
            continue
        cut += not transcript.complete
        while not transcript.complete:
            before = len(transcript.messages)
            assert transcript.earlier() == len(transcript.messages) - before > 0
        assert transcript.messages == whole
        assert transcript.earlier() == 0
        assert transcript.refresh() == Change()
        assert transcript.problems == []
    assert cut or page == 7


# What the samples are there for ------------------------------------------------------------------------------


def test_prompts_are_what_was_typed_and_what_was_put_in_is_a_notice(sample: CursorAdapter) -> None:
    messages = get(sample, CHAT).messages
    assert [message.kind for message in messages[:4]] == ["notice", "notice", "message", "message"]
    prompts = [message for message in messages if message.is_prompt]
    assert [message.content for message in prompts] == [
        "list the files and write NOTES.md about pears",
        "now run a command that fails",
    ]
    assert [message.timestamp for message in prompts] == [at(2026, 9, 21, 14, 13), at(2026, 9, 21, 14, 14)]
    summary = listed(sample)[CHAT]
    assert (summary.turn_count, summary.models, summary.source) == (2, ("composer-2.5", "gpt-5.4-high"), "cli")
    assert (summary.created_at, summary.updated_at) == (at(2026, 9, 21, 14, 13, 20), at(2026, 9, 21, 14, 15, 20))


def test_a_failed_call_is_marked_in_each_store(sample: CursorAdapter) -> None:
    for session_id in (CHAT, EDITOR):
        calls = [call for message in get(sample, session_id).messages for call in message.tool_calls]
        assert [call.is_error for call in calls] == [False, False, True]
        results = [message.tool_result for message in get(sample, session_id).messages if message.tool_result]
        assert [result.is_error for result in results] == ([False, False, True] if session_id == CHAT else [])


def test_the_meter_of_the_context_is_no_usage(sample: CursorAdapter) -> None:
    """`totalUsedTokens` and `contextTokensUsed` say 19000: what fills the context, again with every turn. Only what
    the last bubble of a turn has was spent."""
    tokens = listed(sample)[EDITOR].tokens
    assert tokens == TokenUsage(input_tokens=18432, output_tokens=512)
    spent = [message for message in get(sample, EDITOR).messages if message.token_usage]
    assert [message.usage_key for message in spent] == ["5e617f8e-99ed-4ce7-83f8-670d3e361858"]


def test_a_broken_row_is_named_and_a_deleted_one_is_not(store: Stored) -> None:
    problems: list[Problem] = []
    everything(adapter_for(store("cursor", "home")), problems=problems)
    assert [(Path(one.path).name, one.place, one.reason) for one in problems] == [
        ("state.vscdb", f"composerData:{BROKEN}", "it is not valid JSON")
    ]


def test_what_is_only_in_the_log_is_read(sample: CursorAdapter, store: Stored) -> None:
    messages = get(sample, IN_WAL).messages
    assert messages[-1].content == "Five pears."
    assert "WAL" in messages[-2].content
    assert get(adapter_for(store("cursor", "home-spec")), "42").message_count == 1


def test_superseded_blobs_are_no_messages(store: Stored, tmp_path: Path) -> None:
    home = store("cursor", "home")
    (path,) = home.glob(f".cursor/chats/*/{CHAT}/store.db")
    assert rows(path, "SELECT count(*) FROM blobs", tmp_path) == [(16,)]
    assert len(get(adapter_for(home), CHAT).messages) == 12


def test_a_transcript_in_plain_text(sample: CursorAdapter) -> None:
    session = get(sample, TEXT)
    assert [(message.role, message.content, message.thinking) for message in session.messages] == [
        ("user", "legacy text transcript about pears", None),
        ("assistant", "I will list files.", "counting"),
        ("tool", "", None),
        ("assistant", "There is one file.", None),
    ]
    (call,) = session.messages[1].tool_calls
    assert (call.tool_name, call.input, call.output) == ("Shell", {"command": "ls -a"}, "README.md")
    assert (session.title, session.cwd, session.turn_count) == (
        "legacy text transcript about pears",
        "/home/dev/shop",
        1,
    )
    changed = Path(session.path).stat().st_mtime
    assert session.created_at == session.updated_at == datetime.fromtimestamp(changed, UTC), "nothing else has a time"


def test_how_a_turn_ended_is_said_where_it_ended_badly(sample: CursorAdapter) -> None:
    session = get(sample, SPOKEN)
    assert [(one.kind, one.content) for one in session.messages if one.role == "system"] == [
        ("notice", "User aborted request")
    ]
    assert not session.error
    assert (session.title, session.models) == ("Apples count", ("composer-2.5",)), "as the editor keeps beside it"


def test_helpers_stand_under_the_session_that_started_them(sample: CursorAdapter) -> None:
    found = listed(sample)
    assert (found[HELPER].kind, found[HELPER].parent_id) == ("subagent", CHAT)
    assert (found[EDITOR_HELPER].kind, found[EDITOR_HELPER].parent_id) == ("subagent", EDITOR)
    assert found[EDITOR_HELPER].raw["subagentType"] == "explore"


def test_no_secret_is_anywhere_in_what_is_read(home: Path) -> None:
    """The editor keeps its tokens, and the CLI a key, beside the conversations."""
    adapter = adapter_for(home)
    problems: list[Problem] = []
    said = [repr(summary) for _, summary in everything(adapter, problems=problems)]
    said += [repr(get(adapter, session_id)) for session_id in listed(adapter)]
    assert not [text for text in (*said, repr(problems)) if "REDACTED-TOKEN" in text or "xxxx" in text]
