"""Hermes' stores as the real programs wrote them, against plain SQL on a second copy."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from databases import tree
from hermes_store import adapter_for, everything, get, listed
from session_adapters.hermes.adapter import HermesAdapter
from session_adapters.hermes.transcript import HermesTranscript
from session_adapters.model import Message, SessionSummary, TokenUsage
from session_adapters.transcript import Change, Transcript
from support import attached_bytes

VERSIONS = ("v1", "v2", "v3", "v4", "v5", "v6", "0.13.0", "0.15.0", "0.16.0", "0.17.0", "0.18.0", "0.18.2")
HOMES = (("home",), *(("old_versions", version) for version in VERSIONS))

ROOT, SECOND, TIP, STALE = (
    "20260614_034027_d52695",
    "20260614_034703_66465e",
    "20260614_035132_cb7694",
    "20260614_035254_7e5ce2",
)
REWOUND, COMPACTED, ODD = "20260614_041927_75ba28", "20260614_044436_5573e3", "20260614_051112_618e7b"

Stored = Callable[..., Path]


def rows(path: Path, query: str, *parameters: object) -> list[dict[str, Any]]:
    """Plain SQL, every column by name."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query, parameters)]


def databases(home: Path) -> list[Path]:
    return sorted(home.rglob("state.db"))


@pytest.fixture(params=HOMES, ids="/".join)
def home(request: pytest.FixtureRequest, store: Stored) -> Path:
    """A copy for us to read."""
    return store("hermes", *request.param)


@pytest.fixture
def truth(home: Path, tmp_path: Path) -> list[Path]:
    """The databases of the same home, copied for SQL."""
    copies = []
    for number, path in enumerate(databases(home)):
        copy = tmp_path / f"truth-{number}.db"
        copy.write_bytes(path.read_bytes())
        copies.append(copy)
    return copies


# Against SQL -------------------------------------------------------------------------------------------------


def test_every_session_with_its_counts_tokens_and_times(home: Path, truth: list[Path]) -> None:
    found = listed(adapter_for(home))
    expected = {row["id"]: (path, row) for path in truth for row in rows(path, "SELECT * FROM sessions")}
    assert found.keys() == expected.keys()
    assert len(found) == {"home": 52, "old_versions-v1": 4}.get(home.name.removeprefix("hermes-"), len(found))
    for session_id, (path, row) in expected.items():
        summary = found[session_id]
        said = rows(path, "SELECT * FROM messages WHERE session_id = ? ORDER BY id", session_id)
        calls = [json.loads(line["tool_calls"]) for line in said if line["tool_calls"]]
        usage = row | {"aux": []}
        if rows(path, "SELECT 1 FROM sqlite_master WHERE name = 'session_model_usage'"):
            usage["aux"] = rows(
                path, "SELECT * FROM session_model_usage WHERE session_id = ? AND task <> ''", session_id
            )
        totals = [
            sum(line.get(name) or 0 for line in (row, *usage["aux"]))
            for name in (
                "input_tokens",
                "output_tokens",
                "cache_read_tokens",
                "cache_write_tokens",
                "reasoning_tokens",
            )
        ]
        tokens = summary.tokens or TokenUsage()
        assert [
            tokens.input_tokens,
            tokens.output_tokens,
            tokens.cached_tokens,
            tokens.cache_write_tokens,
            tokens.thinking_tokens,
        ] == totals
        assert (summary.tokens is None) == (not any(totals))
        assert summary.message_count == len(said)
        assert summary.tool_call_count == sum(map(len, calls))
        assert summary.turn_count == turns(said)
        assert summary.created_at == datetime.fromtimestamp(row["started_at"], UTC)
        newest = max([line["timestamp"] for line in said], default=row["started_at"])
        assert summary.updated_at == datetime.fromtimestamp(newest, UTC)
        if row.get("title"):
            assert summary.title == " ".join(row["title"].split())[:100]
        assert summary.source == row["source"]
        assert summary.end_reason == row["end_reason"]
        assert summary.cwd == row.get("cwd")
        assert summary.git_branch == row.get("git_branch")
        assert summary.archived == bool(row.get("archived"))
        assert summary.parent_id == row["parent_session_id"]
        assert (summary.model or None) == row["model"]
        assert not summary.partial and not summary.warnings
        money = (row.get("estimated_cost_usd") or 0) + sum(line["estimated_cost_usd"] for line in usage["aux"])
        assert (summary.cost.total_usd if summary.cost else 0) == pytest.approx(money)
        assert summary.cost is None or summary.cost.estimated


def turns(said: list[dict[str, Any]]) -> int:
    """Prompts that were answered before the next prompt, rewound rows aside (checklist L-15)."""
    answered, waiting = 0, False
    for row in said:
        if (row.get("active") == 0 and not row["compacted"]) or (row["content"] or "").startswith("[CONTEXT"):
            continue
        if row["role"] == "user" and not row.get("observed"):
            waiting = True
        elif row["role"] == "assistant" and waiting:
            answered, waiting = answered + 1, False
    return answered


def test_every_message_and_tool_call_in_the_order_of_ids(home: Path, truth: list[Path]) -> None:
    adapter = adapter_for(home)
    total = 0
    for path in truth:
        for (session_id,) in [tuple(row.values()) for row in rows(path, "SELECT id FROM sessions")]:
            said = rows(path, "SELECT * FROM messages WHERE session_id = ? ORDER BY id", session_id)
            session = get(adapter, session_id)
            total += len(said)
            assert [message.id for message in session.messages] == [str(row["id"]) for row in said]
            for message, row in zip(session.messages, said, strict=True):
                assert message.role == row["role"]
                assert message.timestamp == datetime.fromtimestamp(row["timestamp"], UTC)
                if not (row["content"] or "").startswith("\x00json:"):
                    assert message.content == ("" if row["role"] == "tool" else row["content"] or "")
                calls = json.loads(row["tool_calls"]) if row["tool_calls"] else []
                assert [call.tool_call_id for call in message.tool_calls] == [call["id"] for call in calls]
                assert [call.tool_name for call in message.tool_calls] == [call["function"]["name"] for call in calls]
                for column in ("reasoning", "reasoning_content"):
                    assert (row.get(column) or "") in (message.thinking or "")
                if row["role"] == "tool":
                    assert message.tool_result is not None
                    assert message.tool_result.tool_call_id == row["tool_call_id"]
                    assert message.tool_result.output == row["content"]
    assert total == sum(row["n"] for path in truth for row in rows(path, "SELECT count(*) AS n FROM messages"))


def test_get_says_the_same_as_the_list(home: Path) -> None:
    adapter = adapter_for(home)
    for source, summary in everything(adapter):
        session = adapter.session(source, summary.session_id)
        for name in SessionSummary.__struct_fields__:
            assert getattr(session, name) == getattr(summary, name), name


def test_results_are_filled_into_their_calls(home: Path, truth: list[Path]) -> None:
    adapter = adapter_for(home)
    for path in truth:
        for row in rows(path, "SELECT session_id, tool_call_id, content FROM messages WHERE role = 'tool'"):
            session = get(adapter, row["session_id"])
            calls = [call for message in session.messages for call in message.tool_calls]
            same = [call.output for call in calls if call.tool_call_id == row["tool_call_id"]]
            assert row["content"] in same or not same
            (result,) = [
                message.tool_result
                for message in session.messages
                if message.tool_result and message.tool_result.tool_call_id == row["tool_call_id"]
            ]
            assert result.linked == bool(same)


@pytest.mark.parametrize("page", [1, 3, 7, 200])
def test_pages_put_together_are_the_whole(home: Path, page: int) -> None:
    adapter = adapter_for(home)
    for source, summary in everything(adapter):
        transcript: Transcript = adapter.open(source, summary.session_id)
        if isinstance(transcript, HermesTranscript):
            transcript = HermesTranscript(source.path, summary.session_id, page=page)
            assert len(transcript.messages) <= page
            if not transcript.complete and any(message.role == "user" for message in transcript.messages):
                assert transcript.messages[0].role == "user"
        loaded = len(transcript.messages)
        while not transcript.complete:
            added = transcript.earlier()
            assert 0 < added <= page
            loaded += added
        assert transcript.earlier() == 0
        assert loaded == summary.message_count
        assert transcript.messages == list(adapter.session(source, summary.session_id).messages)
        assert transcript.refresh() == Change()
        assert not transcript.problems


def test_nothing_in_the_store_is_touched(home: Path) -> None:
    before = tree(home)
    adapter = adapter_for(home)
    for source, summary in everything(adapter):
        adapter.find(summary.session_id)
        adapter.session(source, summary.session_id)
        adapter.open(source, summary.session_id).refresh()
    adapter.live()
    assert tree(home) == before


# What the rows mean ------------------------------------------------------------------------------------------


@pytest.fixture
def sample(store: Stored) -> HermesAdapter:
    """The home that the real 0.19 wrote."""
    return adapter_for(store("hermes", "home"))


def test_rewound_and_compacted_messages_are_kept_apart(sample: HermesAdapter) -> None:
    rewound = get(sample, REWOUND)
    assert [message.visibility for message in rewound.messages].count("rewound") == 9
    assert rewound.raw["rewound_messages"] == 9
    assert rewound.raw["rewind_count"] == 2
    compacted = get(sample, COMPACTED)
    seen = [message.visibility for message in compacted.messages]
    assert seen == ["compacted"] * 16 + ["live"] * 8
    assert compacted.messages[16].kind == "summary"
    assert not compacted.messages[16].is_prompt


def test_the_summary_at_the_head_of_a_continuation(sample: HermesAdapter) -> None:
    for session_id in (SECOND, TIP):
        session = get(sample, session_id)
        assert session.messages[0].kind == "summary"
        assert not session.title.startswith("[CONTEXT")
        assert session.turn_count == 2


def test_pictures_odd_rows_and_garbled_arguments(sample: HermesAdapter) -> None:
    session = get(sample, ODD)
    picture, call, result, surrogate, harness, overheard = session.messages[:6]
    assert picture.content == "what is on this picture? zebra crossing"
    (attachment,) = picture.attachments
    assert (attachment.media_type, attachment.size) == ("image/png", 8)
    assert attached_bytes(lambda: get(sample, ODD).messages[:1]) == [b"\x89PNG\r\n\x1a\n"]
    assert call.tool_calls[0].input == "{not json"
    assert result.tool_result is not None
    assert call.tool_calls[0].output == result.tool_result.output
    assert len(result.tool_result.output) > 20_000
    assert "\ufffd" in surrogate.content and "<memory-context>" in surrogate.content
    assert (harness.role, harness.kind) == ("system", "notice")
    assert (overheard.role, overheard.kind) == ("user", "notice")
    assert session.preview == picture.content
    assert session.messages[-1].content == ""


def test_failed_tools_are_marked(sample: HermesAdapter) -> None:
    results = [message.tool_result for message in get(sample, COMPACTED).messages if message.tool_result]
    failed = {result.output[:20]: result.is_error for result in results}
    assert failed["Error: command not f"]
    assert {is_error for output, is_error in failed.items() if output.startswith('{"exit_code": 0')} == {False}
    assert {is_error for output, is_error in failed.items() if output.startswith('{"exit_code": 2')} == {True}


def test_relations_are_told_apart(sample: HermesAdapter) -> None:
    found = listed(sample)
    kinds = {key: summary.kind for key, summary in found.items() if summary.kind != "session"}
    assert kinds == {
        SECOND: "continuation",
        TIP: "continuation",
        STALE: "continuation",
        "20260615_193817_b746e8": "continuation",
        "20260614_035504_faba4c": "fork",
        "20260614_035939_297a48": "subagent",
        "20260614_040122_734e4f": "subagent",
    }
    assert {found[key].lineage_id for key in (SECOND, TIP, STALE)} == {ROOT}
    assert found[ROOT].lineage_id is None
    assert {key: found[key].raw.get("tip") for key in (ROOT, SECOND, TIP, STALE)} == {
        ROOT: TIP, SECOND: TIP, TIP: None, STALE: None,
    }  # fmt: skip
    assert found["20260614_035504_faba4c"].forked_from == "20260610_161218_fa01b0"
    assert found["20260614_040122_734e4f"].parent_id == "20260614_035939_297a48"


def test_resume_goes_to_the_tip_with_profile_and_face(sample: HermesAdapter) -> None:
    found = listed(sample)

    def argv(session_id: str) -> tuple[str, ...]:
        command = sample.resume_command(found[session_id])
        assert command is not None
        assert command.cwd == found[session_id].cwd
        return command.argv

    assert argv(ROOT) == ("hermes", "--resume", TIP)
    assert argv("20260610_015508_f85d82") == ("hermes", "--tui", "--resume", "20260610_015508_f85d82")
    assert argv("20260615_194803_be5b8c") == ("hermes", "-p", "coder", "--resume", "20260615_194803_be5b8c")
    hostile = SessionSummary(agent="hermes", session_id="--yolo")
    command = sample.resume_command(hostile)
    assert command is not None and command.argv == ("hermes", "--resume=--yolo")
    assert sample.fork_command(hostile) is None
    assert (sample.capabilities.can_resume, sample.capabilities.can_fork) == (True, False)


def test_a_home_elsewhere_is_handed_on(home: Path) -> None:
    """A command that is copied, or started in another window, would look into `~/.hermes`."""
    (home / ".hermes").rename(home / "elsewhere")
    for named in ("~/elsewhere", str(home / "elsewhere")):
        adapter = adapter_for(home, HERMES_HOME=named)
        command = adapter.resume_command(next(iter(listed(adapter).values())))
        assert command is not None and command.env == {"HERMES_HOME": str(home / "elsewhere")}
    (home / "elsewhere").rename(home / ".hermes")
    plain = adapter_for(home)
    command = plain.resume_command(next(iter(listed(plain).values())))
    assert command is not None and command.env == {}


def test_models_are_the_conversations_own_first(sample: HermesAdapter) -> None:
    summary = listed(sample)["20260610_015508_f85d82"]
    assert summary.models == ("deepseek/deepseek-v4-flash", "small-model")


def test_messages_are_what_the_model_says(sample: HermesAdapter) -> None:
    """Roles and results stand where checklist G-3 and G-4 want them."""
    for _, summary in everything(sample):
        for message in get(sample, summary.session_id).messages:
            assert isinstance(message, Message)
            assert not message.tool_calls or message.role == "assistant"
            assert (message.tool_result is not None) == (message.role == "tool")
            assert message.model is None or message.role == "assistant"
            assert message.token_usage is None
