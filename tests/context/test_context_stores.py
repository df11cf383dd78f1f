"""What each agent still sees of the sessions in its own store, beside the raw records."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import compress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from hermes_tui.config import ContextWindow
from hermes_tui.errors import ValidationError
from hermes_tui.sessions.context.view import ContextView, context_view, gauged
from hermes_tui.sessions.context.window_choice import WindowChoice, parse_window, window_for
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment, Memory
from session_adapters.model import Message, Session, TokenUsage
from support import STORES

Store = Callable[..., Path]
FACTS: dict[str, Any] = json.loads((STORES / "hector" / "facts.json").read_text())


@pytest.fixture
def manager_of(store: Store, tmp_path: Path) -> Callable[..., SessionManager]:
    def make(agent: str, *parts: str) -> SessionManager:
        environment = Environment(home=store(agent, *(parts or ("home",))))
        return SessionManager(environment, cache_dir=tmp_path / "cache", indexed=False)

    return make


ManagerOf = Callable[..., SessionManager]


def seen(manager: SessionManager, agent: str, session_id: str) -> tuple[Session, ContextView, list[Message]]:
    """The session, the view, and the messages that are seen."""
    session = manager.get(agent, session_id)
    view = manager.context(agent, session_id)
    assert len(view.seen) == len(session.messages)
    return session, view, list(compress(session.messages, view.seen))


def records(path: str) -> list[dict[str, Any]]:
    found = []
    for line in Path(path).read_text(errors="replace").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


# Hector ------------------------------------------------------------------------------------------------------


def _v1_id(one: dict[str, Any]) -> str:
    return f"{quote(one['agent_id'], safe='')}/{quote(one['id'], safe='')}"


@pytest.mark.parametrize("one", FACTS["v1"]["sessions"], ids=lambda one: one["key"])
def test_hector_v1_as_its_facts_say(one: dict[str, Any], manager_of: ManagerOf) -> None:
    """With the strategy in config.yaml, and by hand."""
    manager = manager_of("hector")
    session = manager.get("hector", _v1_id(one))
    broken = one["rows"] - len({message.id.partition(".")[0] for message in session.messages})
    for name, window in (
        ("load_summary_buffer", ContextWindow(strategy="summary_buffer")),
        ("load_buffer_window_10", ContextWindow(strategy="buffer_window", size=10)),
        ("load_buffer_window_20", ContextWindow(strategy="buffer_window", size=20)),
    ):
        view = manager.context("hector", session.session_id, window=window)
        rows = [message.id.partition(".")[0] for message in compress(session.messages, view.seen)]
        rows = list(dict.fromkeys(rows))
        wanted = one[name]
        assert len(rows) == wanted["count"] - broken, name
        assert not rows or int(rows[0]) == wanted["first_row_id"], name
        assert ("no valid SQL" in view.note) is (name != "load_summary_buffer")
    assert view.checkpoints == len(one["checkpoints_at"])


@pytest.mark.parametrize("one", FACTS["v2"]["sessions"], ids=lambda one: one["key"])
def test_hector_v2_as_its_facts_say(one: dict[str, Any], manager_of: ManagerOf) -> None:
    manager = manager_of("hector")
    name = "/".join(quote(one[key], safe="") for key in ("app_name", "user_id", "id"))
    session = manager.get("hector", name)

    def count(window: ContextWindow | None) -> int:
        view = manager.context("hector", name, window=window)
        assert view.checkpoints == len(one["checkpoints_at"])
        return len({message.id.partition(".")[0] for message in compress(session.messages, view.seen)})

    assert count(None) == one["load_none"], "no strategy takes everything"
    assert count(ContextWindow(strategy="buffer_window", size=20)) == one["load_buffer_window_20"]
    token_window = count(ContextWindow(strategy="token_window", tokens=200))
    assert token_window == one["load_token_window_200_preserve_5_estimated"]
    if one["checkpoint_start"] is not None:
        assert count(ContextWindow(strategy="summary_buffer")) == one["events_from_checkpoint"]


def test_hector_as_the_document_prints_it(manager_of: ManagerOf, store: Store, tmp_path: Path) -> None:
    home = store("hector", "home")
    variables = {"HERMES_TUI_HECTOR_PATH": str(home / "data" / "sessions_doc.db")}
    manager = SessionManager(Environment(home=home, variables=variables), cache_dir=tmp_path / "c", indexed=False)
    facts = FACTS["other"]["doc"]
    one = next(one for one in manager.list("hector") if one.session_id == "assistant/doc-1")
    view = manager.context("hector", one.session_id)
    start = facts["documented_checkpoint_index"]
    assert view.seen == tuple(index >= start for index in range(4))
    assert (view.checkpoint, view.checkpoints) == (1, 1)


def test_hector_reads_its_sizes_from_its_configuration(manager_of: ManagerOf) -> None:
    manager = manager_of("hector")
    found = {}
    for agent, name in (("coder", "windowed"), ("researcher", "long-haul"), ("math_bot", "no-checkpoint")):
        found[agent] = manager.context_window(manager.summary("hector", f"{agent}/{name}"))
    assert (found["coder"].strategy, found["coder"].size) == ("buffer_window", 10)
    assert (found["researcher"].strategy, found["researcher"].tokens) == ("summary_buffer", 3000)
    assert found["coder"].source.endswith("config.yaml")
    assert (found["math_bot"].strategy, found["math_bot"].source) == ("summary_buffer", "default")


def test_the_guides_own_configuration_is_understood_too(store: Store, tmp_path: Path) -> None:
    home = store("hector", "home")
    text = "agents:\n  coder:\n    memory:\n      working:\n        strategy: buffer_window\n        window_size: 7\n"
    (home / "config.yaml").write_text(text)
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "c", indexed=False)
    choice = manager.context_window(manager.summary("hector", "coder/windowed"))
    assert (choice.strategy, choice.size) == ("buffer_window", 7)


def test_a_configuration_that_cannot_be_read_is_told(store: Store, tmp_path: Path) -> None:
    home = store("hector", "home")
    (home / "config.yaml").write_text("agents: [unclosed\n")
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "c", indexed=False)
    view = manager.context("hector", "math_bot/no-checkpoint")
    assert f"{home}/config.yaml cannot be read" in view.note
    assert view.count == 100


# The others --------------------------------------------------------------------------------------------------


def test_claude_sees_what_follows_the_boundary_and_what_that_preserved(manager_of: ManagerOf) -> None:
    manager = manager_of("claude")
    found = [one for one in manager.list("claude") if manager.context("claude", one.session_id).checkpoints]
    assert found
    for one in found:
        raw = records(one.path)
        at = max(index for index, line in enumerate(raw) if line.get("subtype") == "compact_boundary")
        head = raw[at]["compactMetadata"]["preservedSegment"]["headUuid"]
        kept = next(line for line in raw if line.get("uuid") == head)
        after = {line["uuid"] for line in raw[at:] if line.get("uuid")}
        after |= {line["message"]["id"] for line in raw[at:] if line["type"] == "assistant"}
        session, view, visible = seen(manager, "claude", one.session_id)
        early = [message for message in visible if message.id.partition("#")[0] not in after]
        assert [message.content for message in early] == [
            block["text"] for block in kept["message"]["content"] if block["type"] == "text"
        ]
        assert all(message.id.partition("#")[0] not in after for message in set_minus(session.messages, visible))
        assert view.sentence.startswith(f"sees {len(visible)} of {len(session.messages)} messages, ≈ ")
        assert view.sentence.endswith("checkpoint 1 of 1")


def set_minus(all_of_them: Any, some: list[Message]) -> list[Message]:
    gone = {id(one) for one in some}
    return [one for one in all_of_them if id(one) not in gone]


def test_codex_keeps_the_users_own_words(manager_of: ManagerOf) -> None:
    """Exactly those user messages that `replacement_history` repeats."""
    manager = manager_of("codex")
    compared = 0
    for one in manager.list("codex"):
        raw = [line["payload"] for line in records(one.path) if line.get("type") == "compacted"]
        if not raw or not raw[-1].get("replacement_history"):
            continue
        kept = [
            item["content"][0]["text"]
            for item in raw[-1]["replacement_history"]
            if item.get("role") == "user" and not item["content"][0]["text"].startswith("<environment_context>")
        ]
        _, _, visible = seen(manager, "codex", one.session_id)
        before = visible[: next(index for index, message in enumerate(visible) if message.kind == "compaction")]
        assert [message.content for message in before] == kept[:-1], "the last is the summary itself"
        assert kept[-1].endswith(raw[-1]["message"][-50:])
        compared += 1
    assert compared


def test_codex_keeps_no_more_of_them_than_twenty_thousand_tokens() -> None:
    prompts = [Message(role="user", content=f"{number} " + "x" * 23_996, id=f"u{number}") for number in range(6)]
    messages = [*prompts, Message(role="system", kind="compaction", id="c"), Message(role="assistant", id="a")]
    view = context_view("codex", messages)
    assert view.seen == (False, False, True, True, True, True, True, True)
    assert context_view("other", messages).seen == (False,) * 6 + (True, True)


@pytest.mark.parametrize("agent", ["pi", "omp"])
def test_trees_begin_with_the_first_kept_entry(agent: str, manager_of: ManagerOf) -> None:
    manager = manager_of(agent)
    compared = 0
    for one in manager.list(agent):
        by_id = {line.get("id"): line for line in records(one.path)}
        session, _, visible = seen(manager, agent, one.session_id)
        marks = [message for message in session.messages if message.kind == "compaction"]
        if not marks:
            continue
        entry = by_id[marks[-1].id]
        # The path from the compaction up to the first entry that it kept, by plain steps.
        path = []
        at: dict[str, Any] | None = entry
        while at is not None and at.get("id") != entry["firstKeptEntryId"]:
            at = by_id.get(at.get("parentId"))
            path.append(at["id"] if at else None)
        shown = {message.id.partition("/")[0] for message in session.messages}
        assert path and set(path) & shown <= {message.id.partition("/")[0] for message in visible}
        above = by_id.get(at.get("parentId")) if at else None
        assert above is not None
        assert above["id"] not in {message.id.partition("/")[0] for message in visible}
        compared += 1
    assert compared


def test_copilot_and_opencode_see_what_follows(manager_of: ManagerOf) -> None:
    copilot = manager_of("copilot")
    one = next(one for one in copilot.list("copilot") if copilot.context("copilot", one.session_id).checkpoints)
    events = [line["type"] for line in records(one.path)]
    session, _, visible = seen(copilot, "copilot", one.session_id)
    spoken = ("user.message", "assistant.message")
    after = events[len(events) - 1 - events[::-1].index("session.compaction_complete") :]
    talked = [message for message in visible if message.role == "user" or message.role == "assistant"]
    assert len(talked) <= sum(event in spoken for event in after)
    assert {m.content for m in talked if m.role == "user"} <= {m.content for m in session.messages}
    opencode = manager_of("opencode")
    found = [one for one in opencode.list("opencode") if opencode.context("opencode", one.session_id).checkpoints]
    for one in found:
        _, _, visible = seen(opencode, "opencode", one.session_id)
        assert [message.kind for message in visible[:2]] == ["compaction", "summary"]
    assert found


def test_gemini_and_hermes_mark_what_they_dropped(manager_of: ManagerOf) -> None:
    for agent in ("gemini", "hermes"):
        manager = manager_of(agent)
        dropped = 0
        for one in manager.list(agent):
            session, _, visible = seen(manager, agent, one.session_id)
            assert all(message.visibility == "live" for message in visible)
            hidden = set_minus(session.messages, visible)
            dropped += len(hidden)
            if agent == "hermes":
                assert all(message.visibility != "live" for message in hidden)
        assert dropped


def test_every_agents_every_session_can_be_viewed(manager_of: ManagerOf) -> None:
    for agent in ("cursor", "openclaw"):
        manager = manager_of(agent)
        for one in manager.list(agent):
            _, view, visible = seen(manager, agent, one.session_id)
            assert view.count == len(visible)
            assert not visible or view.tokens > 0


# Windows and sentences ---------------------------------------------------------------------------------------


def test_what_is_chosen_counts_before_the_agents_own_and_that_before_the_settings() -> None:
    own = Memory(strategy="buffer_window", size=10, generation="v1", source="/c.yaml")
    hand, mine = ContextWindow(strategy="token_window", tokens=5), ContextWindow(strategy="summary_buffer")
    assert window_for(own, mine, hand).strategy == "token_window"
    assert window_for(own, mine).size == 10
    assert window_for(Memory(generation="v1"), mine).source == "settings"
    assert window_for(Memory(generation="v1")).strategy == "summary_buffer"
    assert window_for(Memory(generation="v2")).strategy is None
    assert window_for(None) == WindowChoice()
    assert window_for(Memory(strategy="novel", generation="v2")).strategy is None


@pytest.mark.parametrize(
    "bad", ["", "novel", "buffer_window:", "buffer_window:x", "buffer_window:0", "token_window:-3"]
)
def test_windows_that_make_no_sense(bad: str) -> None:
    with pytest.raises(ValidationError):
        parse_window(bad)


def test_windows_by_hand() -> None:
    assert parse_window("buffer_window:20") == ContextWindow(strategy="buffer_window", size=20)
    assert parse_window("token_window:8000") == ContextWindow(strategy="token_window", tokens=8000)
    assert parse_window("summary_buffer") == ContextWindow(strategy="summary_buffer")


def talk(count: int) -> list[Message]:
    return [
        Message(role="user" if number % 2 == 0 else "assistant", content="x" * 400, id=str(number))
        for number in range(count)
    ]


def test_a_window_by_hand_on_an_agent_that_has_none() -> None:
    messages = talk(30)
    assert context_view("x", messages, WindowChoice(strategy="buffer_window", size=4)).count == 4
    assert context_view("x", messages, WindowChoice(strategy="token_window", tokens=103 * 9)).count == 9
    assert context_view("x", messages, WindowChoice(strategy="token_window", tokens=1)).count == 5
    assert context_view("x", messages, WindowChoice(strategy="summary_buffer", tokens=1)).count == 10
    messages[20] = Message(role="system", kind="compaction", id="c")
    assert context_view("x", messages, WindowChoice(strategy="buffer_window", size=20)).count == 10


def test_the_sentences() -> None:
    assert context_view("x", []).sentence == "there are no messages"
    assert context_view("x", talk(1)).sentence == "sees the only message, ≈ 103 tokens"
    assert context_view("x", talk(12)).sentence == "sees all 12 messages, ≈ 1.2 k tokens"
    assert context_view("x", talk(12), complete=False).sentence == "sees 12 of the last 12 messages, ≈ 1.2 k tokens"
    messages = talk(1000)
    for place in (300, 800):
        messages[place] = Message(role="system", kind="compaction", content="y" * 400, id=f"c{place}")
    view = context_view("claude", messages)
    assert view.sentence == "sees 200 of 1,000 messages, ≈ 21 k tokens, checkpoint 2 of 2"
    big = [Message(role="user", content="z" * 5_200_000, id="1")]
    assert context_view("x", big).sentence == "sees the only message, ≈ 1.3 M tokens"


def test_the_last_call_is_told_with_the_window_of_its_model() -> None:
    usage = TokenUsage(input_tokens=2_000, cached_tokens=89_000, output_tokens=1_000)
    messages = talk(4)
    messages[3] = replace(messages[3], token_usage=usage, model="claude-sonnet-4-5")
    messages.append(Message(role="user", content="x" * 400, id="5"))
    view = context_view("x", messages)
    assert (view.last_call, view.model, view.model_window) == (92_000, "claude-sonnet-4-5", 0)
    assert view.sentence == "sees all 5 messages, ≈ 515 tokens, last call 92 k"
    assert gauged(view).sentence == "sees all 5 messages, ≈ 515 tokens, last call 92 k of 200 k (46 %)"
    assert gauged(replace(view, last_call=900)).sentence.endswith("last call 900 of 200 k (<1 %)")
    unknown = replace(view, model="a model that nobody knows")
    assert gauged(unknown) == unknown
    summed = replace(view, last_call=900_000, model_window=200_000)
    assert summed.sentence.endswith("last call 900 k")
    messages[4] = Message(role="system", kind="compaction", id="c")
    assert context_view("x", messages).last_call == 0, "what was summarised is no longer taken"
    messages[4] = Message(role="system", kind="notice", content="sum", token_usage=usage, id="n")
    messages[3] = replace(messages[3], token_usage=None)
    assert context_view("x", messages).last_call == 0, "a sum is no call"


def test_what_was_undone_is_not_seen_and_its_compactions_do_not_count() -> None:
    messages = [
        Message(role="user", id="1"),
        Message(role="system", kind="compaction", id="2", visibility="rewound"),
        Message(role="user", id="3", visibility="rewound"),
        Message(role="user", id="4"),
    ]
    view = context_view("pi", messages)
    assert view.seen == (True, False, False, True)
    assert (view.checkpoint, view.checkpoints) == (0, 0)


def test_codex_records_the_window_itself(manager_of: ManagerOf) -> None:
    """Of every call that a window was recorded of, whichever record came first."""
    manager = manager_of("codex")
    told = 0
    for one in manager.list("codex", limit=None):
        raw = Path(one.path).read_text()
        session = manager.get("codex", one.session_id)
        counted = [
            message for message in session.messages if message.token_usage is not None and not message.inherited
        ]
        if '"model_context_window":258400' in raw.replace(" ", "") and counted:
            assert counted[-1].context_window == 258_400
            view = context_view("codex", session.messages)
            told += view.model_window == 258_400 and gauged(view) == view
    assert told > 5
