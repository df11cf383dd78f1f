"""OpenClaw: every session of the sample stores against their raw files and tables, and what the formats say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openclaw_store import Database, adapter_for, event, everything, folder_of, get, header, listed, place, reply
from plain_openclaw import HOMES, ROLES, PlainSession, calls, expected, plain_database, plain_file, plain_index, texts
from session_adapters.model import Message, Problem, Session, TokenUsage
from session_adapters.registry import adapter_class

Stored = Callable[..., Path]


def samples() -> dict[tuple[str, str], PlainSession]:
    """Every session of the real layouts: (home, our id) → its events."""
    found = {("home", key): plain for key, plain in plain_database(HOMES / "home").items()}
    for home, state in (("home-files-2026.3", ".openclaw"), ("home-clawdbot", ".clawdbot")):
        index = plain_index(HOMES / home, state)
        files = {
            Path(entry.get("sessionFile") or entry["sessionId"] + ".jsonl").name: key for key, entry in index.items()
        }
        for path in (HOMES / home / state / "agents" / "main" / "sessions").iterdir():
            if ".jsonl" in path.name and not path.name.endswith(".lock"):
                found[home, files.get(path.name) or path.name.partition(".jsonl")[0]] = plain_file(path)
    return found


SAMPLES = samples()
DOCUMENTS = sorted((HOMES / "home-spec").rglob("*.json"))


def spoken(session: Session) -> list[Message]:
    """Without the marks of compactions and resets, which stand where the agent's view begins."""
    return [message for message in session.messages if message.kind not in ("compaction", "summary")]


def test_the_registry_has_it() -> None:
    adapter = adapter_class("openclaw")
    assert (adapter.name, adapter.label, adapter.badge) == ("openclaw", "OpenClaw", "ow")


@pytest.mark.parametrize("home", ["home", "home-files-2026.3", "home-clawdbot", "home-spec"])
def test_the_sessions_are_those_of_the_store(home: str, problems: list[Problem]) -> None:
    found = listed(adapter_for(HOMES / home), problems=problems)
    raw = expected(home)
    if home == "home":
        assert found.keys() == raw.keys()
        return
    if home == "home-spec":
        # The one id in two channels is two sessions, so the channel has to be part of it.
        ids = {name.split(":")[1].removesuffix(".json").split("/")[1] for name in raw}
        assert {one.raw["sessionId"] for one in found.values()} == ids - {"broken"}
        assert {"discord/shared-thread-7", "slack/shared-thread-7"} < found.keys() and len(found) == 4
        assert [(Path(problem.path).name, problem.reason) for problem in problems] == [
            ("broken.json", "it cannot be read: it is not valid JSON of the expected kind")
        ]
        return
    missing = raw.pop("entriesWithoutTranscript")
    assert found.keys() == {session["key"] or session["id"] for session in raw.values()}
    assert [problem.place for problem in problems] == missing
    for name, session in raw.items():
        one = found[session["key"] or session["id"]]
        assert Path(one.path).name == name
        assert one.archived == (session["kind"] == "deleted")
        assert one.end_reason == (session["kind"] if session["kind"] in ("reset", "deleted") else None)


@pytest.mark.parametrize(("home", "key"), list(SAMPLES))
def test_messages_are_those_of_the_raw_events(home: str, key: str) -> None:
    plain = SAMPLES[home, key]
    session = get(adapter_for(HOMES / home), key)
    messages = spoken(session)
    assert [message.id for message in messages] == [one["id"] for one in plain.spoken]
    for message, one in zip(messages, plain.spoken, strict=True):
        said = one.get("message", {})
        assert message.role == ROLES[said["role"]] if said else "system"
        for text in texts(one):
            assert text in message.content
        assert [(call.tool_call_id, call.tool_name, call.input) for call in message.tool_calls] == [
            (call["id"], call["name"], call["arguments"]) for call in calls(one)
        ]
        thinking = [
            part["thinking"] for part in said.get("content", "") if isinstance(part, dict) and "thinking" in part
        ]
        assert (message.thinking or "") == "\n\n".join(thinking)
        assert message.model == said.get("model")
    marks = Counter(one["type"] for one in plain.active)
    kinds = Counter(message.kind for message in session.messages)
    assert kinds["compaction"] == marks["compaction"] + marks["reset"]
    assert kinds["summary"] == marks["compaction"]
    assert session.message_count == len(session.messages)


@pytest.mark.parametrize(("home", "key"), list(SAMPLES))
def test_figures_are_the_sums_of_the_raw_events(home: str, key: str) -> None:
    plain = SAMPLES[home, key]
    session = get(adapter_for(HOMES / home), key)
    used = plain.usage()
    assert (session.tokens or TokenUsage()) == TokenUsage(
        input_tokens=used.get("input", 0),
        output_tokens=used.get("output", 0),
        cached_tokens=used.get("cacheRead", 0),
        cache_write_tokens=used.get("cacheWrite", 0),
        thinking_tokens=used.get("reasoningTokens", 0),
    )
    assert (session.cost.total_usd if session.cost else 0) == pytest.approx(plain.cost())
    copied = plain.usage(inherited=True)
    assert session.raw.get("inheritedTokens", 0) == sum(copied.values()) - copied.get("reasoningTokens", 0)
    models = Counter(reply["model"] for reply in [*plain.replies(), *plain.replies(inherited=True)])
    if models:
        assert set(session.models) == set(models)
        assert models[session.model or ""] == max(models.values())
    assert session.tool_call_count == sum(len(calls(one)) for one in plain.active)
    assert session.cwd == plain.events[0]["cwd"]
    times = [one["message"]["timestamp"] for one in plain.events if one.get("message", {}).get("role") == "assistant"]
    if times:
        assert session.updated_at.timestamp() * 1000 == pytest.approx(max(times), abs=1)


def test_the_reference_reader_found_the_same() -> None:
    """It counts a fork's copies with the fork; we count them once, with the session that paid for them."""
    adapter = adapter_for(HOMES / "home")
    for key, raw in expected("home").items():
        session = get(adapter, key)
        assert session.raw["windows"] == raw["windows"]
        assert session.raw["sessionId"] == raw["current"]
        assert session.archived == raw["archived"]
        assert session.forked_from == raw["forkOf"]
        assert raw["label"] in (None, session.title)
        roles: Counter[str] = Counter(message.role for message in spoken(session) if message.role != "system")
        assert roles == Counter({ROLES[role]: count for role, count in raw["activeRoles"].items()})
        own = session.tokens.total if session.tokens else 0
        figures = raw["usageWindow"]
        assert own + session.raw.get("inheritedTokens", 0) == sum(figures.values()) - figures["cost"]
    for home in ("home-files-2026.3", "home-clawdbot"):
        for raw in expected(home).values():
            if isinstance(raw, dict):
                session = get(adapter_for(HOMES / home), raw["key"] or raw["id"])
                roles = Counter(message.role for message in spoken(session))
                assert roles == Counter({ROLES[role]: count for role, count in raw["roles"].items()})
                assert (session.tokens.input_tokens if session.tokens else 0) == raw["usage"]["input"]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_documents_against_their_json(path: Path) -> None:
    adapter = adapter_for(HOMES / "home-spec")
    source = next(source for source in adapter.sources(lambda problem: None) if source.path == str(path))
    if path.stem == "broken":
        assert adapter.summaries(source, lambda problem: None) == []
        return
    document = json.loads(path.read_text())
    session = get(adapter, source.session_id)
    assert session.title == (document.get("title") or document["messages"][0]["content"])
    assert session.source == session.raw["channel"] == document["channel"] == path.parent.name
    assert (session.cwd, session.model) == (document["cwd"], document["model"])
    assert [(m.role, m.content, m.thinking) for m in session.messages] == [
        (one["role"], one["content"], one.get("thinking")) for one in document["messages"]
    ]
    used = [one.get("usage", {}) for one in document["messages"]]
    assert session.tokens is not None and session.cost is not None
    assert session.tokens.input_tokens == sum(one.get("inputTokens", 0) for one in used)
    assert session.tokens.output_tokens == sum(one.get("outputTokens", 0) for one in used)
    assert session.tokens.cached_tokens == sum(one.get("cachedTokens", 0) for one in used)
    spent = sum(one.get("cost", {}).get("usd", 0) for one in document["messages"])
    assert session.cost.total_usd == pytest.approx(spent)
    call = session.messages[1].tool_calls[0]
    result = session.messages[2].tool_result
    assert (call.tool_name, call.input, call.output) == ("exec", {"command": "ls"}, "README.md")
    assert result is not None and (result.tool_call_id, result.linked) == ("c1", True)


def test_results_are_linked_and_failures_marked() -> None:
    session = get(adapter_for(HOMES / "home"), "agent:main:main")
    found = {call.tool_call_id: call for message in session.messages for call in message.tool_calls}
    raw = [one["message"] for one in SAMPLES["home", "agent:main:main"].events if one.get("message")]
    results = [one for one in raw if one["role"] == "toolResult"]
    assert len(results) == len(found) == 4
    for one in results:
        call = found[one["toolCallId"]]
        assert call.output == one["content"][0]["text"]
        # OpenClaw itself says `isError: false` of a command that exits with 3.
        assert call.is_error == bool(one["details"].get("exitCode"))
        assert call.duration_ms == one["details"].get("durationMs")
    assert sum(call.is_error for call in found.values()) == 1


def test_failed_calls_are_errors() -> None:
    session = get(adapter_for(HOMES / "home-files-2026.3"), "agent:main:main")
    failed = [message for message in session.messages if message.kind == "error"]
    assert len(failed) == 4 and all("model overloaded on purpose" in message.content for message in failed)
    assert not session.error, "it went on after that"
    adapter = adapter_for(HOMES / "home")
    transcript = adapter.open(*_found(adapter, "agent:main:dashboard:6c23f974-ceb7-4ec3-9dab-7dd27267ee73"))
    transcript.switch("512a2da7-b2bf-4039-ac74-6026d2be85df")
    assert [message.kind for message in transcript.messages if "ended before a reply" in message.content] == ["error"]


def _found(adapter: Any, session_id: str) -> tuple[Any, str]:
    source = adapter.find(session_id)
    assert source is not None
    return source, session_id


def test_what_the_program_put_there_is_no_prompt() -> None:
    for home, key, prompts, notices in (
        ("home", "agent:main:main", 3, 3),  # three events of the session's state
        ("home-files-2026.3", "agent:main:spawner", 1, 9),  # nine announcements of sub-agents
    ):
        session = get(adapter_for(HOMES / home), key)
        users = [message for message in session.messages if message.role == "user"]
        assert (sum(m.is_prompt for m in users), sum(m.kind == "notice" for m in users)) == (prompts, notices)


def test_rewinding_keeps_the_key_and_shows_the_branches() -> None:
    key = "agent:main:dashboard:6c23f974-ceb7-4ec3-9dab-7dd27267ee73"
    adapter = adapter_for(HOMES / "home")
    session = get(adapter, key)
    transcript = adapter.open(*_found(adapter, key))
    assert transcript.messages == list(session.messages)
    rewound, active = transcript.branches
    assert (rewound.active, active.active, active.shown) == (False, True, True)
    transcript.switch(rewound.leaf_id)
    before = next(message for message in transcript.messages if message.content == "after compaction: list")
    assert before.id not in {message.id for message in session.messages}
    raw = SAMPLES["home", key].events
    assert len(spoken_ids(transcript.messages)) == sum(one["type"] in ("message", "custom_message") for one in raw)
    # The window from before it was rewound has nothing of its own; its id leads to the session as well.
    older, current = session.raw["windows"]
    assert get(adapter, current).session_id == key
    assert older not in listed(adapter)


def spoken_ids(messages: list[Message]) -> list[str]:
    return [message.id for message in messages if message.kind not in ("compaction", "summary")]


def test_forks_count_their_own_calls_alone() -> None:
    """The trap: 35 of 38 events of a fork are copies with their usage (FACTS.md «Semantics»)."""
    found = listed(adapter_for(HOMES / "home"))
    parent = "agent:main:dashboard:6c23f974-ceb7-4ec3-9dab-7dd27267ee73"
    forks = [one for one in found.values() if one.kind == "fork"]
    assert {(one.parent_id, one.forked_from) for one in forks} == {(parent, parent)} and len(forks) == 2
    keys: Counter[str] = Counter()
    for key in found:
        for message in get(adapter_for(HOMES / "home"), key).messages:
            if message.usage_key and not message.inherited:
                keys[message.usage_key] += 1
    assert set(keys.values()) == {1}
    # Dashboard sessions name the main one as their parent and are neither forks nor helpers.
    assert {one.kind for one in found.values() if one not in forks} == {"session"}
    assert all(one.parent_id is None for one in found.values() if one not in forks)


def test_helpers_are_under_the_session_that_started_them() -> None:
    found = listed(adapter_for(HOMES / "home-files-2026.3"))
    helpers = {key: one for key, one in found.items() if ":subagent:" in key}
    assert len(helpers) == 9
    assert {(one.kind, one.parent_id) for one in helpers.values()} == {("subagent", "agent:main:spawner")}
    assert {one.title for one in helpers.values()} == {"list the fruit kinds"}, "without what the model is told first"
    session = get(adapter_for(HOMES / "home-files-2026.3"), "agent:main:spawner")
    started = [call.subagent_id for message in session.messages for call in message.tool_calls]
    assert {key for key in started if key} == set(helpers)


def test_channels_and_names() -> None:
    files = listed(adapter_for(HOMES / "home-files-2026.3"))
    assert {key: one.source for key, one in files.items() if one.source not in (None, "webchat")} == {
        "agent:main:main": "main",
        "agent:main:telegram:direct:4711": "telegram",
        "agent:main:discord:channel:99": "discord",
    }
    assert files["agent:main:discord:channel:99"].raw["chatType"] == "channel"
    assert files["agent:main:discord:channel:99"].title == "Discord shelf talk"
    assert files["agent:main:telegram:direct:4711"].title == "telegram after the reset", "without the time before it"
    old = listed(adapter_for(HOMES / "home-clawdbot"), problems=[])
    assert old["agent:main:telegram:group:-100:topic:7"].source == "telegram"
    assert old["agent:main:telegram:group:-100:topic:7"].title == "topic seven"
    assert old["agent:main:main"].title == "telegram:4711"
    assert old["agent:main:main"].model == "claude-opus-4-5", "nothing was answered: the one chosen in the index"


def test_counters_of_the_index_are_not_believed() -> None:
    """The trap: they describe the last run (FACTS.md «Semantics»: 579 against 3,652)."""
    entry = plain_index(HOMES / "home-files-2026.3")["agent:main:main"]
    session = get(adapter_for(HOMES / "home-files-2026.3"), "agent:main:main")
    assert session.tokens is not None
    assert (entry["inputTokens"], session.tokens.input_tokens) == (579, 3652)


# What the formats say ----------------------------------------------------------------------------------------


def test_the_leaf_that_is_pointed_at(tmp_path: Path) -> None:
    pointer = {"type": "leaf", "id": "p", "parentId": "b2", "timestamp": "2026-11-21T00:00:09Z", "targetId": "a2"}
    events = [header("s"), event("a1", None), reply("a2", "a1"), event("b1", "a2"), reply("b2", "b1"), pointer]
    path = place(folder_of(tmp_path), "s.jsonl", *events)
    adapter = adapter_for(tmp_path)
    assert [message.id for message in get(adapter, "s").messages] == ["a1", "a2"]
    path.write_bytes(path.read_bytes() + json.dumps(event("c1", "p")).encode() + b"\n")
    assert [message.id for message in get(adapter, "s").messages] == ["a1", "a2", "c1"]
    for target, shown in ((None, []), ("lost", ["a1", "a2", "b1", "b2"])):
        place(folder_of(tmp_path), "s.jsonl", *events[:-1], {**pointer, "targetId": target})
        assert [message.id for message in get(adapter, "s").messages] == shown
    session = get(adapter, "s")
    assert session.tokens is not None and session.tokens.output_tokens == 20, "every branch was paid for"


def test_settings_that_hang_on_nothing_hide_nothing(tmp_path: Path) -> None:
    custom = {"type": "custom", "id": "x", "parentId": None, "timestamp": "2026-11-21T00:00:02Z", "customType": "y"}
    place(
        folder_of(tmp_path),
        "s.jsonl",
        header("s"),
        event("a1", None),
        reply("a2", "a1"),
        custom,
        {**custom, "id": "z"},
    )
    assert [message.id for message in get(adapter_for(tmp_path), "s").messages] == ["a1", "a2"]


def test_what_the_gateway_wrote_for_a_channel_is_of_no_model(tmp_path: Path) -> None:
    mirror = event("m", "a2", "sent", "assistant", provider="openclaw", model="delivery-mirror")
    place(folder_of(tmp_path), "s.jsonl", header("s"), event("a1", None), reply("a2", "a1"), mirror)
    session = get(adapter_for(tmp_path), "s")
    assert session.models == ("m-1",)
    assert session.messages[-1].model is None and session.messages[-1].content == "sent"


@pytest.mark.parametrize(
    ("text", "title", "prompt"),
    [
        ("[Sat 2026-11-21 08:59 UTC] hello", "hello", True),
        ("[WhatsApp Ann +49 170 2026-01-10 10:00 UTC] hi there\n[message_id: 3EB0]", "hi there", True),
        ("[WIP] not an envelope", "[WIP] not an envelope", True),
        ("[Sat 2026-11-21 08:59 UTC] Read HEARTBEAT.md if it exists.", "", False),
        ("Read HEARTBEAT.md if it exists.", "", False),
    ],
)
def test_envelopes(text: str, title: str, prompt: bool, tmp_path: Path) -> None:
    place(folder_of(tmp_path), "s.jsonl", header("s"), event("a", None, text))
    session = get(adapter_for(tmp_path), "s")
    assert (session.title, session.messages[0].is_prompt) == (title, prompt)
    assert session.messages[0].content == text, "what was written stays"


def test_a_reset_starts_a_new_window_and_the_older_one_stays(tmp_path: Path) -> None:
    made = Database(tmp_path)
    key = "agent:main:telegram:direct:1"
    made.key(key, "w3", created=3000)
    made.window("w1", key, 1000)
    made.window("w2", key, 2000)
    made.write("w1", header("w1"), event("a", None, "first"), reply("b", "a"))
    made.write("w2", header("w2"), event("c", None, "second"), reply("d", "c"))
    made.write("w3", header("w3"), event("e", None, "third"), reply("f", "e"))
    found = listed(made.adapter)
    assert {one.session_id: (one.kind, one.parent_id, one.lineage_id, one.title) for one in found.values()} == {
        "w1": ("session", None, None, "first"),
        "w2": ("continuation", "w1", "w1", "second"),
        key: ("continuation", "w2", "w1", "third"),
    }
    assert get(made.adapter, "w2").messages[0].content == "second"
    assert made.adapter.resume_command(found["w1"]) is None, "only the current window can be gone on with"
    assert [one.session_id for _, one in everything(made.adapter)] == ["w1", "w2", key]


def test_a_rewound_fork_counts_what_came_after_the_fork(tmp_path: Path) -> None:
    made = Database(tmp_path)
    made.key(
        "k", "w2", created=1_795_219_200_000 + 10_000, fork_source_session_key="parent", fork_source_session_id="p"
    )
    made.window("w1", "k", 1_795_219_200_000 + 10_000)
    made.window("w2", "k", 1_795_219_200_000 + 50_000)
    copied, own = [event("a", None, at=1), reply("b", "a", at=2)], [event("c", "b", at=20), reply("d", "c", at=21)]
    made.write("w1", header("w1"), *copied, *own)
    made.write("w2", {**header("w2"), "timestamp": "2026-11-21T00:00:50.000Z"}, *copied, *own)
    (session,) = listed(made.adapter).values()
    assert (session.kind, session.forked_from) == ("fork", "parent")
    assert session.tokens is not None and session.tokens.output_tokens == 10
    assert [message.inherited for message in get(made.adapter, "k").messages] == [True, True, False, False]
