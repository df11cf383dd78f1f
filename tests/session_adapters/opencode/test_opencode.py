"""OpenCode's stores as the real programs wrote them, and the document's, against plain SQL and JSON on a copy."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from databases import tree
from opencode_store import LAYOUTS, adapter_for, everything, get, listed
from plain_opencode import Plain, data_folder, plain_home
from session_adapters.model import Message, TokenUsage
from session_adapters.opencode.database import OpenCodeDatabase
from session_adapters.opencode.transcript import OpenCodeTranscript
from session_adapters.opencode.trees import TreeShelf
from session_adapters.transcript import Change
from support import STORES

Stored = Callable[..., Path]

ROOT, FORK, FAILED = (
    "ses_e02e0c598ffeIZdJ06jQFZGW2g",
    "ses_e02dff75cffeymOf2tT4o2Cc7C",
    "ses_e02dfeb91ffegC2qHdEyOj71zU",
)
ASKING, HELPER = "ses_e02debde7ffedRW7ZKQyFoTrtE", "ses_e02deb7f9ffeVtKWy0UJMpexQ7"
SECOND_INTERFACE, IN_WAL = "ses_e02ddd4b2ffeVMFjhlJO0wWAz5", "ses_e02c9033cffeNe6jHnW6DuReQN"
V2, V2_FORK, V2_HELPER = (
    "ses_01767d5274c68deb5d403a960a",
    "ses_0cc7eec61bbf9703c096fabb7b",
    "ses_004bbdbb01dc14ed575e0730b3",
)
DOCUMENT, DOCUMENT_FORK = "5bc8fbbc-bde5-4099-8164-d8399f767c45", "d76d4330-f144-4bea-b0c1-1fdecb91ce37"
COPIED = {FORK: 10, V2_FORK: 4}
"""How many of a fork's first messages are its parent's."""


@pytest.fixture(params=LAYOUTS)
def home(request: pytest.FixtureRequest, store: Stored) -> Path:
    """A copy for us to read."""
    return store("opencode", request.param)


@pytest.fixture
def truth(home: Path, tmp_path: Path) -> dict[str, Plain]:
    """What plain lines say of the same home."""
    return plain_home(home, tmp_path / "truth")


@pytest.fixture
def expected(home: Path) -> dict[str, Any]:
    """The reference reader's figures for this home."""
    figures: dict[str, Any] = json.loads((STORES / "opencode" / "expected.json").read_text())
    return dict(figures[home.name.removeprefix("opencode-")])


def moment(millis: float) -> datetime:
    return datetime.fromtimestamp(millis / 1000, UTC)


def heads(messages: tuple[Message, ...] | list[Message]) -> list[Message]:
    """One for each native message: what more is shown of one has its id with a number behind."""
    return [message for message in messages if "/" not in message.id]


# Against the raw stores --------------------------------------------------------------------------------------


def test_every_session_with_its_counts_tokens_cost_and_times(home: Path, truth: dict[str, Plain]) -> None:
    found = listed(adapter_for(home))
    assert found.keys() == truth.keys()
    for session_id, plain in truth.items():
        summary = found[session_id]
        own = plain.lines[COPIED.get(session_id, 0) :]
        tokens = summary.tokens or TokenUsage()
        assert [
            tokens.input_tokens,
            tokens.output_tokens,
            tokens.cached_tokens,
            tokens.cache_write_tokens,
            tokens.thinking_tokens,
        ] == [sum(line.tokens[place] for line in own) for place in range(5)]
        assert (summary.tokens is None) == (not any(any(line.tokens) for line in own))
        assert (summary.cost.total_usd if summary.cost else 0) == pytest.approx(sum(line.cost for line in own))
        assert summary.tool_call_count == sum(len(line.calls) for line in plain.lines)
        prompts = [line.text for line in plain.lines if line.role == "user"]
        first = prompts[0].strip().strip('"')
        # What was asked in one fork was taken back.
        own_prompts = [line.text for line in own if line.role == "user" and session_id != FORK]
        assert summary.preview == (own_prompts or prompts)[0].strip().strip('"')
        placeholder = plain.title.startswith("New session - ") or not plain.title
        assert summary.title == (first if placeholder else plain.title)
        assert summary.cwd == plain.cwd
        assert summary.archived == plain.archived
        assert summary.created_at == moment(plain.created)
        assert summary.updated_at == moment(max(plain.created, *(line.created for line in plain.lines)))
        assert set(summary.models) >= {line.model for line in plain.lines if line.model and any(line.tokens)}
        assert not summary.partial and not summary.warnings
        assert summary.git_branch is None, "OpenCode does not record it"


def test_every_message_in_order_with_text_thinking_calls_and_results(home: Path, truth: dict[str, Plain]) -> None:
    adapter = adapter_for(home)
    for session_id, plain in truth.items():
        session = get(adapter, session_id)
        messages = heads(session.messages)
        assert [message.id for message in messages] == [line.id for line in plain.lines]
        for message, line in zip(messages, plain.lines, strict=True):
            assert message.timestamp == moment(line.created)
            if line.role in ("user", "assistant"):
                assert message.role == line.role
            if line.error:
                assert message.kind == "error" and message.content
            elif message.kind != "compaction" and line.role in ("user", "assistant", "system", "synthetic"):
                assert message.content == line.text
            assert (message.thinking or "") == line.thinking
            calls = [(call.tool_name, call.input, call.output, call.is_error) for call in message.tool_calls]
            assert calls == line.calls
            usage = message.token_usage or TokenUsage()
            assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == line.tokens[:3]
            assert (message.cost.total_usd if message.cost else 0) == line.cost
            if message.kind != "command" and line.role == "assistant":
                assert message.model == line.model
            assert (message.usage_key != "") == (message.token_usage is not None)


def test_the_figures_of_the_reference_reader(home: Path, expected: dict[str, Any]) -> None:
    """Where ours are others: its output leaves reasoning out of what 1.18 and 2.x wrote, since those rows do, and
    its sums count what a fork copied; ours say every written token and count each call in one session."""
    adapter = adapter_for(home)
    found = listed(adapter)
    assert found.keys() == expected.keys()
    for session_id, figures in expected.items():
        summary = found[session_id]
        session = get(adapter, session_id)
        if figures["title"] and not figures["title"].startswith("New session"):
            assert summary.title == figures["title"]
        if "cwd" in figures:
            assert summary.cwd == figures["cwd"]
        assert (summary.parent_id if summary.kind == "subagent" or "seed" in figures["gen"] else None) == (
            figures["parent"]
        )
        if figures["gen"] == "v2":
            assert summary.forked_from == figures["forkOf"]
            assert len(heads(session.messages)) == sum(figures["types"].values())
        elif roles := figures.get("roles"):
            counted = {role: sum(one.role == role for one in heads(session.messages)) for role in roles}
            assert counted == roles
        elif "messages" in figures:
            assert len(session.messages) == figures["messages"]
        if tokens := figures.get("tokens"):
            usages = [message.token_usage or TokenUsage() for message in session.messages]
            assert sum(usage.input_tokens for usage in usages) == tokens["input"]
            assert sum(usage.cached_tokens for usage in usages) == tokens["cacheRead"]
            assert sum(usage.cache_write_tokens for usage in usages) == tokens["cacheWrite"]
            assert sum(usage.thinking_tokens for usage in usages) == tokens["reasoning"]
            beside = 0 if figures.get("version") == "1.2.27" else tokens["reasoning"]
            assert sum(usage.output_tokens for usage in usages) == tokens["output"] + beside
        if "cost" in figures:
            paid = sum(message.cost.total_usd for message in session.messages if message.cost)
            assert paid == pytest.approx(figures["cost"], abs=1e-6)
        if models := figures.get("models"):
            assert set(summary.models) == set(models)


# The same, whichever way it is read --------------------------------------------------------------------------


def test_get_says_the_same_as_the_list(home: Path) -> None:
    adapter = adapter_for(home)
    for session_id, summary in listed(adapter).items():
        session = get(adapter, session_id)
        assert session.message_count == len(session.messages)
        for name in ("title", "preview", "message_count", "turn_count", "tool_call_count", "tokens", "cost", "models",
                     "created_at", "updated_at", "cwd", "archived", "error", "kind", "path"):  # fmt: skip
            assert getattr(session, name) == getattr(summary, name), name


@pytest.mark.parametrize("page", [1, 2, 3, 7])
def test_pages_put_together_are_the_whole(home: Path, page: int) -> None:
    adapter = adapter_for(home)
    for session_id in listed(adapter):
        source = adapter.find(session_id)
        assert source is not None
        whole = list(adapter.session(source, session_id).messages)
        shelf = OpenCodeDatabase(source.path) if source.path.endswith(".db") else TreeShelf(source.path)
        transcript = OpenCodeTranscript(shelf, session_id, page=page)
        assert len(heads(transcript.messages)) == min(page, len(heads(whole)))
        while not transcript.complete:
            before = len(transcript.messages)
            added = transcript.earlier()
            assert added == len(transcript.messages) - before > 0
            assert transcript.messages == whole[len(whole) - len(transcript.messages) :]
        assert transcript.messages == whole
        assert transcript.earlier() == 0
        assert transcript.refresh() == Change()
        assert transcript.problems == []


def test_nothing_in_the_store_is_touched(home: Path) -> None:
    before = tree(home)
    adapter = adapter_for(home)
    for exact in (True, False):
        for source, summary in everything(adapter, exact=exact):
            adapter.session(source, summary.session_id)
            transcript = adapter.open(source, summary.session_id)
            transcript.refresh()
            transcript.earlier()
            adapter.find(summary.session_id)
    adapter.live()
    assert tree(home) == before


# What the samples are there for ------------------------------------------------------------------------------


def test_a_fork_is_known_by_its_copied_messages_and_does_not_count_them_again(store: Stored) -> None:
    adapter = adapter_for(store("opencode", "home"))
    found = listed(adapter)
    fork = found[FORK]
    assert [one for one, summary in found.items() if summary.kind == "fork"] == [FORK]
    assert (fork.kind, fork.forked_from, fork.parent_id, fork.lineage_id) == ("fork", ROOT, ROOT, ROOT)
    messages = get(adapter, FORK).messages
    assert [message.inherited for message in messages] == [True] * 10 + [False] * 2
    parents = get(adapter, ROOT).messages
    assert [one.usage_key for one in messages[:10]] == [one.usage_key for one in parents[:10]]
    assert [one.content for one in messages[:10]] == [one.content for one in parents[:10]]
    assert fork.raw["inheritedCostUsd"] == pytest.approx(sum(one.cost.total_usd for one in parents[:10] if one.cost))
    counted = {m.usage_key: m.cost.total_usd for m in (*messages, *parents) if m.cost}
    total = sum(cost.total_usd for key in (ROOT, FORK) if (cost := found[key].cost))
    assert total == pytest.approx(sum(counted.values())), "each call once, whether by key or by session"


def test_undone_messages_are_kept_apart(store: Stored) -> None:
    messages = get(adapter_for(store("opencode", "home")), FORK).messages
    assert [message.visibility for message in messages] == ["live"] * 10 + ["rewound"] * 2
    assert messages[10].content == '"explore apples instead on this fork"'


def test_helpers_stand_under_the_session_that_asked_for_them(store: Stored) -> None:
    for name, asking, helper in (
        ("home", ASKING, HELPER),
        ("home-sqlite-1.2", "ses_e02c775a9ffeyFd4oBDGzcAlGe", "ses_e02c77431ffeUtwgAVHkvRROzk"),
        ("home-json-1.1", "ses_e02c7aae7ffez4YJDBQJT7jmaa", "ses_e02c7a94effeZg3gyhNnC5Dbz9"),
    ):
        adapter = adapter_for(store("opencode", name))
        found = listed(adapter)
        assert (found[helper].kind, found[helper].parent_id, found[helper].forked_from) == ("subagent", asking, None)
        calls = [call for message in get(adapter, asking).messages for call in message.tool_calls]
        assert [call.subagent_id for call in calls] == [helper]


def test_failures_compaction_commands_and_notices(store: Stored) -> None:
    adapter = adapter_for(store("opencode", "home"))
    failed = listed(adapter)[FAILED]
    assert (failed.error, failed.archived, failed.tokens, failed.cost) == (True, True, None, None)
    assert get(adapter, FAILED).messages[1].content == "mock: model overloaded on purpose"
    kinds = [message.kind for message in get(adapter, ROOT).messages]
    assert kinds[10:] == ["compaction", "summary", "notice", "command", "message", "message"]
    assert kinds[:10] == ["message"] * 10
    command = get(adapter, ROOT).messages[13]
    assert command.tool_calls[0].input == {"command": "wc -l NOTES.md"}
    assert (command.model, command.token_usage) == (None, None), "no model was asked"


def test_a_session_of_the_second_interface_has_no_rows_of_the_first(store: Stored) -> None:
    adapter = adapter_for(store("opencode", "home"))
    session = get(adapter, SECOND_INTERFACE)
    assert session.title == "list files via v2 please"
    assert session.updated_at == moment(1795248315046), "its row says an earlier time"
    assert session.cost is None, "0 is written where no price is known"
    assert session.messages[8].kind == "error"


def test_what_is_only_in_the_log_is_read(store: Stored) -> None:
    home = store("opencode", "home")
    assert not (data_folder(home) / "opencode.db-shm").exists()
    assert get(adapter_for(home), IN_WAL).message_count == 3


def test_the_second_generation(store: Stored) -> None:
    adapter = adapter_for(store("opencode", "home-v2"))
    found = listed(adapter)
    assert found[ROOT].title == "Migrated: v2 row wins over the stale v1 row"
    assert found[FORK].raw["layout"] == "1.x", "a row that was not migrated is still there"
    assert (found[V2_FORK].kind, found[V2_FORK].parent_id) == ("fork", V2)
    assert [message.inherited for message in get(adapter, V2_FORK).messages] == [True] * 4 + [False] * 2
    assert (found[V2_HELPER].kind, found[V2_HELPER].parent_id, found[V2_HELPER].title) == (
        "subagent", V2, "subagent prompt",
    )  # fmt: skip
    kinds = [message.kind for message in get(adapter, V2).messages]
    assert kinds == [
        "notice", "message", "message", "notice", "command", "message", "compaction", "summary", "notice", "error",
        "notice", "notice",
    ]  # fmt: skip
    assert "from-the-future" in get(adapter, V2).messages[-1].content


def test_the_documents_layout(store: Stored) -> None:
    adapter = adapter_for(store("opencode", "home-spec"))
    found = listed(adapter)
    fork = found[DOCUMENT_FORK]
    assert (fork.kind, fork.forked_from, fork.parent_id) == ("fork", DOCUMENT, DOCUMENT)
    calls = get(adapter, DOCUMENT).messages[1].tool_calls
    assert [(call.is_error, call.duration_ms) for call in calls] == [(False, 31), (True, 12)]


def test_the_model_used_most_comes_first(store: Stored) -> None:
    adapter = adapter_for(store("opencode", "home"))
    assert listed(adapter)[ROOT].models == ("mock-large", "ant-large")
    assert listed(adapter)[SECOND_INTERFACE].models == ("ant-large", "mock-large"), (
        "the chosen one, also when it failed"
    )
