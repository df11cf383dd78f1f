"""Hector's sample databases, all four generations, against plain SQL and facts.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hector_store import FACTS, V1, V2, everything, get, listed, parted, rows, sample_adapter
from session_adapters.base import SessionMissing
from session_adapters.hector.adapter import HectorAdapter
from session_adapters.hector.reader import File
from session_adapters.hector.transcript import HectorTranscript
from session_adapters.model import Message, SessionSummary
from session_adapters.transcript import Change
from support import attached_bytes

Stored = Callable[..., Path]
SHARED = ("assistant/s1", "math_bot/s1")


@pytest.fixture
def home(store: Stored) -> Path:
    return store("hector", "home")


@pytest.fixture
def truth(store: Stored, tmp_path: Path, home: Path) -> Callable[..., list[dict[str, Any]]]:
    """Plain SQL on copies, so that what is read stays untouched."""
    copies = tmp_path / "truth"
    copies.mkdir()
    for name in ("data/sessions.db", "data/sessions_v0.db", "data/sessions_doc.db", ".hector/hector.db"):
        (copies / Path(name).name).write_bytes((home / name).read_bytes())
    return lambda name, query, *parameters: rows(copies / name, query, *parameters)


@pytest.fixture
def sample(home: Path) -> HectorAdapter:
    return sample_adapter(home)


def when(text: str) -> datetime | None:
    """A time of the sample as its writer's driver wrote it: nanoseconds, trailing zeros trimmed, an offset."""
    if text.startswith("0001-"):
        return None
    day, rest = text.split(" ")
    clock, offset = rest.split("+")
    seconds, _, fraction = clock.partition(".")
    return datetime.fromisoformat(f"{day}T{seconds}.{fraction[:6]:0<6}+{offset}").astimezone(UTC)


# What there is -----------------------------------------------------------------------------------------------


def test_every_session_is_listed_once_under_a_composite_id(sample: HectorAdapter) -> None:
    expected = {parted(one["key"]) for one in (*V1["sessions"], *V2["sessions"])}
    expected |= {f"@deleted/{name}" for name in V1["orphans"]}
    expected |= {"assistant/legacy-1", "@none/legacy-2", "assistant/doc-1"}
    found = listed(sample)
    assert found.keys() == expected
    assert len(found) == V1["session_rows"] + len(V1["orphans"]) + V2["session_rows"] + 3
    layouts = [summary.raw["layout"] for summary in found.values()]
    assert {name: layouts.count(name) for name in layouts} == {"v1": 16, "v2": 8, "v0": 2, "doc": 1}


def test_counts_and_times_of_v1(sample: HectorAdapter, truth: Callable[..., list[dict[str, Any]]]) -> None:
    found = listed(sample)
    for one in V1["sessions"]:
        summary = found[parted(one["key"])]
        said = truth(
            "sessions.db",
            "SELECT * FROM session_messages WHERE session_id = ? ORDER BY sequence_num, id",
            one["id"],
        )
        (row,) = truth(
            "sessions.db", "SELECT * FROM sessions WHERE id = ? AND agent_id = ?", one["id"], one["agent_id"]
        )
        broken = sum(line["id"] in V1["unparseable_rows"] for line in said)
        assert len(said) == one["rows"]
        # The rows of a shared id are in both sessions.
        assert summary.message_count == len(said) - broken
        # A row that is no JSON object is counted here, and metadata that is none.
        assert summary.warnings == broken + (one["id"] == "badmeta")
        assert summary.turn_count == turns(said)
        assert summary.raw.get("checkpoints", 0) == len(one["checkpoints_at"])
        assert summary.raw.get("sharedWith", []) == one["shared_with"]
        assert summary.created_at == when(row["created_at"])
        # By its newest message; what was never used, by its row, whose two times the sample's writer drew at random.
        times = [moment for line in said if (moment := when(line["created_at"]))]
        assert summary.updated_at == max(summary.created_at, *times or [summary.created_at])
        for name, moment in (("created_utc", summary.created_at), ("updated_utc", summary.updated_at)):
            assert one[name] == moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        assert not summary.partial
    mine = [one for one in found.values() if one.raw["layout"] == "v1"]
    messages = sum(one.message_count - one.raw.get("sharedMessages", 0) for one in mine)
    lost = len(V1["unparseable_rows"])
    assert (
        messages + lost
        == V1["message_rows"]
        == truth("sessions.db", "SELECT count(*) n FROM session_messages")[0]["n"]
    )


def turns(said: list[dict[str, Any]]) -> int:
    """Prompts that were answered before the next one (checklist L-15). An error is no answer."""
    answered, waiting = 0, False
    for row in said:
        if row["role"] == "ROLE_USER":
            waiting = True
        elif row["role"] == "ROLE_AGENT" and waiting:
            answered, waiting = answered + 1, False
    return answered


def test_counts_and_times_of_v2(sample: HectorAdapter, truth: Callable[..., list[dict[str, Any]]]) -> None:
    found = listed(sample)
    for one in V2["sessions"]:
        summary = found[parted(one["key"])]
        session = get(sample, summary.session_id)
        events = truth(
            "hector.db",
            "SELECT * FROM session_events WHERE app_name = ? AND user_id = ? AND session_id = ?"
            " ORDER BY sequence_num",
            *(one[name] for name in ("app_name", "user_id", "id")),
        )
        assert [message.id for message in session.messages if "." not in message.id] == [row["id"] for row in events]
        assert summary.raw.get("rows", 0) == len(events) == one["events"]
        # What an event says beside its message is a notice of its own: interrupted, handed over, waiting.
        beside = sum(
            bool(row["content_json"]) and bool(row["interrupted"] or row["transfer_to_agent"] or row["require_input"])
            for row in events
        )
        assert summary.message_count == len(session.messages) == len(events) + beside
        assert summary.raw.get("errors", 0) == one["errors"]
        assert summary.raw.get("interrupted", 0) == one["interrupted"]
        assert summary.raw.get("waitsForInput", False) == one["pending_input"]
        assert summary.raw.get("state", {}) == one["state"]
        assert [at for at, message in enumerate(session.messages) if message.kind == "compaction"] == one[
            "checkpoints_at"
        ]
        assert sum(message.timestamp is None for message in session.messages) == one["zero_time_events"]
        assert summary.updated_at.strftime("%Y-%m-%dT%H:%M:%SZ") == one["updated_utc"]
        assert summary.source == one["app_name"]
        assert {row["author"] for row in events} == set(one["authors"])


def test_v0_and_the_guide(sample: HectorAdapter, truth: Callable[..., list[dict[str, Any]]]) -> None:
    found = listed(sample)
    for name, agent, count in FACTS["other"]["v0"]["sessions"]:
        summary = found[f"{agent or '@none'}/{name}"]
        assert (summary.message_count, summary.raw.get("agentId")) == (count, agent)
    for name, agent, count in FACTS["other"]["doc"]["sessions"]:
        session = get(sample, f"{agent}/{name}")
        written = truth("sessions_doc.db", "SELECT * FROM session_messages WHERE session_id = ? ORDER BY rowid", name)
        assert [message.id for message in session.messages] == [row["message_id"] for row in written]
        assert len(written) == count
        at = FACTS["other"]["doc"]["documented_checkpoint_index"]
        assert [message.kind == "compaction" for message in session.messages] == [n == at for n in range(count)]
        assert [message.role for message in session.messages] == ["user", "assistant", "system", "user"]


# What is said ------------------------------------------------------------------------------------------------


def test_every_text_of_v1_in_the_order_of_its_number(
    sample: HectorAdapter, truth: Callable[..., list[dict[str, Any]]]
) -> None:
    roles = {"ROLE_USER": "user", "ROLE_AGENT": "assistant", "ROLE_UNSPECIFIED": "system", "ROLE_TOOL": "tool"}
    total = 0
    for summary in listed(sample).values():
        if summary.raw["layout"] != "v1":
            continue
        said = truth(
            "sessions.db",
            "SELECT * FROM session_messages WHERE session_id = ? ORDER BY sequence_num, id",
            summary.raw["sessionId"],
        )
        said = [row for row in said if row["id"] not in V1["unparseable_rows"]]
        session = get(sample, summary.session_id)
        assert [message.id for message in session.messages] == [str(row["id"]) for row in said]
        for message, row in zip(session.messages, said, strict=True):
            value = json.loads(row["message_json"])
            parts = value.get("parts", value.get("content", []))
            is_result = any("tool_call_id" in part.get("data", {}).get("data", {}) for part in parts)
            assert message.role == ("tool" if is_result else roles[row["role"]])
            assert message.timestamp == when(row["created_at"])
            thought = [one["text"] for one in parts if one.get("metadata", {}).get("event_type") == "thinking"]
            text = [one["text"] for one in parts if "text" in one and one["text"] not in thought]
            if message.kind == "error":
                text = ["rate_limit: " + text[0]]
            if message.role == "tool" and not is_result:
                assert message.tool_result is not None and message.tool_result.output == "\n".join(text)
                text = []
            assert message.content == "\n".join(text)
            assert message.thinking == ("\n".join(thought) or None)
            assert message.inherited == (summary.session_id == SHARED[1])
            total += not message.inherited
    assert total == V1["message_rows"] - len(V1["unparseable_rows"])


def test_rows_of_a_shared_id_are_in_both_sessions_and_nobodys(sample: HectorAdapter) -> None:
    first, second = (get(sample, key) for key in SHARED)
    assert [message.content for message in first.messages] == [message.content for message in second.messages]
    assert (first.message_count, first.raw.get("sharedMessages")) == (6, None)
    assert (second.message_count, second.raw["sharedMessages"]) == (6, 6)
    assert (first.raw["sharedWith"], second.raw["sharedWith"]) == (["math_bot"], ["assistant"])
    assert (first.notes, second.notes) == (("shared with math_bot",), ("shared with assistant, found there",))
    assert first.title == second.title
    for session in (first, second):
        for message in session.messages:
            assert "assistant" not in repr((message.id, message.model, message.content, message.usage_key))


def test_a_shared_row_is_found_once(sample: HectorAdapter) -> None:
    first, second = (get(sample, key) for key in SHARED)
    source = sample.find(second.session_id)
    assert source is not None
    for session_id in (None, *SHARED):
        texts = list(sample.texts(source, lambda problem: None, session_id))
        rows = [text.session_id for text in texts if text.prose == first.messages[0].content]
        assert rows == ([] if session_id == second.session_id else [first.session_id])


def test_orphans_are_sessions_and_say_so(sample: HectorAdapter) -> None:
    for name, count in V1["orphans"].items():
        session = get(sample, f"@deleted/{name}")
        assert (len(session.messages), session.message_count) == (count, count)
        assert (session.raw["orphaned"], session.source) == (True, "(deleted)")
        assert session.notes == ("deleted, its messages remain",)
    with pytest.raises(SessionMissing):
        sample.session(next(sample.sources(lambda problem: None)), "@deleted/s1")


def test_checkpoints_are_where_hector_finds_them(sample: HectorAdapter) -> None:
    """A user or an agent who writes the same words makes none."""
    for one in V1["sessions"]:
        session = get(sample, parted(one["key"]))
        marked = [at for at, message in enumerate(session.messages) if message.kind == "compaction"]
        assert marked == one["checkpoints_at"]
        for at in marked:
            assert session.messages[at].role == "system"
            assert session.messages[at].content.startswith("Previous conversation summary: ")
        if marked:
            # From here on Hector loads.
            assert len(session.messages) - marked[-1] == one["load_summary_buffer"]["count"]
            assert session.messages[marked[-1]].id == str(one["checkpoint_row_id"])


def test_calls_have_their_results(sample: HectorAdapter) -> None:
    for session_id, pairs in V1["tool_pairs"].items():
        agent = next(one["agent_id"] for one in V1["sessions"] if one["id"] == session_id)
        session = get(sample, f"{agent}/{session_id}")
        calls = [call for message in session.messages for call in message.tool_calls]
        assert [[call.tool_call_id, call.tool_name, "error" if call.is_error else "ok"] for call in calls] == pairs
        results = [message.tool_result for message in session.messages if message.tool_result]
        assert [result.tool_call_id for result in results] == [name for name, _, _ in pairs]
        assert all(result.linked for result in results)
        assert session.tool_call_count == len(pairs)
    v2 = get(sample, "Zero%20Config%20Mode/default/chat-1")
    done, pending = (call for message in v2.messages for call in message.tool_calls)
    assert (done.input, done.output, done.is_error) == ({"city": "Oslo"}, "-3 C, snow", False)
    assert (pending.tool_name, pending.output) == ("delete_account", None)
    assert v2.tool_call_count == 2, "calls stand in two columns and are counted once"
    assert sum(message.role == "tool" for message in v2.messages) == 1
    assert v2.messages[1].thinking == "I need the weather tool."
    assert v2.messages[-1].content == "Waits for input: Approve delete_account?"


def test_odd_rows_do_not_lose_their_neighbours(sample: HectorAdapter) -> None:
    source = sample.find("assistant/broken")
    assert source is not None
    session, transcript = sample.session(source, "assistant/broken"), sample.open(source, "assistant/broken")
    assert [problem.place for problem in transcript.problems] == [f"message {n}" for n in V1["unparseable_rows"]]
    assert session.messages[0].content == "a good message before"
    assert session.messages[-1].content == "a good message after"
    picture, table = session.messages[4].attachments
    assert (picture.media_type, picture.name, picture.size) == ("image/png", "plot.png", len(b"\x89PNG fake"))
    assert (table.media_type, table.name, table.size) == ("text/csv", "https://example.invalid/a.csv", 0)
    kept = attached_bytes(lambda: sample.session(source, "assistant/broken").messages[4:5])
    assert kept == [b"\x89PNG fake", None]
    assert session.messages[3].attachments[0].name == "hologram"
    bad = sample.open(source, "assistant/badmeta")
    assert [problem.reason for problem in bad.problems] == ["the session's metadata is no JSON"]


def test_what_waits_for_a_human_is_said(sample: HectorAdapter) -> None:
    found = listed(sample)
    for name, pending in V1["pending_approval"].items():
        assert found[f"assistant/{name}"].raw["waitsForApproval"] == {pending["task"]: pending["tool"]}
        assert found[f"assistant/{name}"].notes == (f"waits for approval of {pending['tool']}",)
    assert found["Zero%20Config%20Mode/default/chat-1"].notes == ("waits for input",)
    assert sum("waitsForApproval" in one.raw or "waitsForInput" in one.raw for one in found.values()) == 2


def test_rows_with_one_number_keep_the_order_in_which_they_came(sample: HectorAdapter) -> None:
    session = get(sample, "assistant/race")
    assert [message.content for message in session.messages] == V1["race_order_texts"]


def test_events_that_are_more_than_text(sample: HectorAdapter) -> None:
    handed = get(sample, "Zero%20Config%20Mode/alice/multi")
    assert [(message.role, message.content) for message in handed.messages] == [
        ("user", "alice speaking"),
        ("assistant", "handing over"),
        ("system", "Handed over to billing"),
        ("assistant", "billing here"),
        ("system", "billing gave the conversation back"),
    ]
    failed = get(sample, "Zero%20Config%20Mode/default/errors")
    assert [(message.kind, message.content) for message in failed.messages[1:4]] == [
        ("error", "rate_limit: 429 from provider"),
        ("message", "half an ans"),
        ("notice", "Interrupted"),
    ]
    assert failed.messages[-1].attachments[0].size == len(b"PDF")
    typed = get(sample, "Zero%20Config%20Mode/default/false-cp")
    assert (typed.messages[1].role, typed.messages[1].kind) == ("user", "compaction")
    summed = get(sample, "Zero%20Config%20Mode/default/summed")
    (at,) = [place for place, message in enumerate(summed.messages) if message.kind == "compaction"]
    assert (summed.messages[at].role, summed.messages[at].timestamp) == ("system", None)


def test_hostile_text_stays_as_it_was_said(sample: HectorAdapter) -> None:
    session = get(sample, "assistant/unicode")
    assert max(len(message.content) for message in session.messages) == V1["big_message_chars"]
    assert "\x1b]52;c;aGk=\x07" in session.messages[2].content
    assert "\x00" in session.messages[3].content
    assert session.messages[7].content == "first\nsecond\nthird"
    assert "\n" not in session.title and len(session.title) <= 100


# What holds for all ------------------------------------------------------------------------------------------


def test_get_says_the_same_as_the_list(sample: HectorAdapter) -> None:
    for source, summary in everything(sample):
        session = sample.session(source, summary.session_id)
        for name in SessionSummary.__struct_fields__:
            assert getattr(session, name) == getattr(summary, name), name


@pytest.mark.parametrize("page", [1, 2, 7, 50])
def test_pages_put_together_are_the_whole(sample: HectorAdapter, page: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("session_adapters.hector.adapter.HectorTranscript", partial(HectorTranscript, page=page))
    for source, summary in everything(sample):
        transcript = sample.open(source, summary.session_id)
        assert len(transcript.messages) <= 2 * page  # a row may be two messages
        loaded = len(transcript.messages)
        while not transcript.complete:
            added = transcript.earlier()
            assert added > 0 or transcript.complete
            loaded += added
        session = sample.session(source, summary.session_id)
        assert loaded == len(session.messages)
        assert transcript.messages == list(session.messages)
        assert len(transcript.problems) == session.warnings
        assert transcript.earlier() == 0
        assert transcript.refresh() == Change()


def test_a_page_begins_with_a_prompt(sample: HectorAdapter) -> None:
    source = sample.find("researcher/long-haul")
    assert source is not None
    parts = ("researcher", "long-haul")
    transcript = HectorTranscript(File(source.path), "researcher/long-haul", parts, page=20)
    assert 10 < len(transcript.messages) <= 20
    assert transcript.messages[0].is_prompt


def test_messages_are_what_the_model_says(sample: HectorAdapter) -> None:
    """Roles and results stand where checklist G-3 and G-4 want them."""
    for source, summary in everything(sample):
        session = sample.session(source, summary.session_id)
        assert len({message.id for message in session.messages}) == len(session.messages)
        for message in session.messages:
            assert isinstance(message, Message)
            assert not message.tool_calls or message.role == "assistant"
            assert (message.tool_result is not None) == (message.role == "tool")
            assert message.model is None and message.token_usage is None
        assert session.tokens is None and session.cost is None


def test_hector_1_can_be_told_to_go_on(sample: HectorAdapter) -> None:
    """Its commands take agent and session; version 2 has none for it, and none forks."""
    capabilities = sample.capabilities
    assert (capabilities.session_persistence, capabilities.can_resume, capabilities.can_fork) == (
        "sqlite",
        True,
        False,
    )
    resumed = 0
    for summary in listed(sample).values():
        command = sample.resume_command(summary)
        owner = summary.raw.get("agentId")
        assert (command is None) == (not owner or bool(summary.raw.get("orphaned")))
        if command is not None:
            resumed += 1
            assert command.argv[:2] == ("hector", "chat")
            assert command.argv[-2:] == (f"--agent={owner}", f"--session={summary.raw['sessionId']}")
        assert sample.fork_command(summary) is None
    assert resumed
    assert sample.live() == {}
