"""omp: every session of the sample stores against figures from the raw files, titles, sub-agents, commands."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from plain_trees import active_path, plain_text, records, usage_of
from session_adapters.base import Environment
from session_adapters.model import Problem, SessionSummary
from session_adapters.omp import OmpAdapter
from session_adapters.reading.files import METER
from session_adapters.registry import adapter_class
from support import STORES
from tree_store import Samples, both, everything, running, sample_omp

SAMPLES = Samples("omp")
_BRANCHED = "01a1fd41-37ae-76fb-adc8-3c74fa0cbc12"
_FORK = "01a1fd41-5fd6-7652-b54b-cbc51d0d900c"
_HELPER = "01a1fd42-37ef-77e6-8e66-810194d4f52b"
_HIRING = "01a1fd42-3642-732f-a657-58c3999828f0"
_HASHED = "f9a01fe8-4195-41fe-8e97-9cf32d1634b4"


def test_it_is_registered() -> None:
    assert adapter_class("omp") is OmpAdapter


@pytest.mark.parametrize("home", ["home", "home-hard", "home-spec"])
def test_the_right_sessions_once_each(home: str) -> None:
    expected = SAMPLES.expected[home]
    ids = [entry["id"] for entry in expected] if isinstance(expected, list) else list(expected)
    adapter = sample_omp(home)
    problems: list[Problem] = []
    found = adapter.relate([summary for _, summary in everything(adapter, problems)])
    assert sorted(summary.session_id for summary in found) == sorted(ids)
    assert not problems


@pytest.mark.parametrize(("home", "session_id"), SAMPLES.real)
def test_messages_of_the_active_branch(home: str, session_id: str) -> None:
    entry = SAMPLES.entry(home, session_id)
    path = active_path(records(STORES / "omp" / home / entry["file"]))
    said = [node for node in path if node["type"] == "message"]
    _, session = both(sample_omp(home), session_id)
    named = {node["id"]: node["message"] for node in said}
    ours = [message for message in session.messages if message.id in named]
    assert [message.id for message in ours] == list(named)
    assert Counter(raw["role"] for raw in named.values()) == entry["activePathRoles"]
    results = {raw["toolCallId"]: raw for raw in named.values() if raw["role"] == "toolResult"}
    for message in ours:
        raw = named[message.id]
        roles = {"toolResult": "tool", "bashExecution": "user", "developer": "system"}
        assert message.role == roles.get(raw["role"], raw["role"])
        if message.kind == "error":
            assert (raw["stopReason"], message.content) == ("error", raw["errorMessage"])
        elif message.kind == "command":
            assert message.content == f"$ {raw['command']}\n{raw['output']}".rstrip("\n")
        else:
            assert message.kind == ("notice" if raw["role"] == "developer" else "message")
            assert message.content == plain_text(raw["content"])
        blocks = raw.get("content") if isinstance(raw.get("content"), list) else []
        thought = [block["thinking"] for block in blocks if block["type"] == "thinking"]
        assert message.thinking == ("\n\n".join(thought) or None)
        calls = [block for block in blocks if block["type"] == "toolCall"]
        assert [(call.tool_call_id, call.tool_name, call.input) for call in message.tool_calls] == [
            (block["id"], block["name"], block["arguments"]) for block in calls
        ]
        for call in message.tool_calls:
            answer = results[call.tool_call_id]
            assert (call.output, call.is_error) == (plain_text(answer["content"]), answer["isError"])
        assert [(one.media_type, one.name) for one in message.attachments] == [
            (block["mimeType"], block["data"]) for block in blocks if block["type"] == "image"
        ]


@pytest.mark.parametrize(("home", "session_id"), SAMPLES.real)
def test_tokens_cost_models_and_counts(home: str, session_id: str) -> None:
    entry = SAMPLES.entry(home, session_id)
    found = records(STORES / "omp" / home / entry["file"])
    summary, session = both(sample_omp(home), session_id)
    head = next(node for node in found if node["type"] == "session")
    own = [node for node in found if not head.get("parentSession") or node.get("timestamp", "") >= head["timestamp"]]
    keys = ("input", "output", "cacheRead", "cacheWrite", "reasoningTokens")
    used = summary.tokens
    ours = (
        (used.input_tokens, used.output_tokens, used.cached_tokens, used.cache_write_tokens, used.thinking_tokens)
        if used
        else (0,) * 5
    )
    assert ours == tuple(sum(usage_of(node).get(key, 0) for node in own) for key in keys)
    alone = entry["usageNotSeenInEarlierFile"]
    assert ours[:4] == tuple(alone[key] for key in keys[:4])
    assert (summary.cost.total_usd if summary.cost else 0) == pytest.approx(alone["cost"])
    # expected.json names models of replies only; before the first reply we show the chosen one.
    chosen = [node["model"].partition("/")[2] for node in found if node["type"] == "model_change"]
    beside = [node["model"] for node in found if node["type"] == "model_usage"]
    assert set(summary.models) == set([*entry["models"], *beside] or chosen)
    assert summary.message_count == len(session.messages)
    assert summary.cwd == entry["cwd"]
    assert summary.raw["branches"] == (entry["branchPoints"] + 1 if summary.message_count else 0)
    assert session.raw["leaf"] == entry["leaf"]
    assert len(session.raw["tree"]) == entry["entries"]
    title = entry["slotTitle"] or entry["headerTitle"] or entry["firstUser"] or Path(entry["file"]).stem
    assert summary.title == title
    shared = [name for name in SessionSummary.__struct_fields__ if name != "raw"]
    assert {name: getattr(session, name) for name in shared} == {name: getattr(summary, name) for name in shared}


def test_forks_count_each_call_once() -> None:
    calls = {}
    for path in sorted((STORES / "omp" / "home").rglob("*.jsonl")):
        for node in records(path):
            if usage_of(node):
                calls[node["id"], node["timestamp"]] = usage_of(node)["totalTokens"]
    total = sum(summary.tokens.total for _, summary in everything(sample_omp("home")) if summary.tokens)
    assert total == sum(calls.values())


def test_forks_and_sub_agents_know_where_they_came_from() -> None:
    adapter = sample_omp("home")
    found = {one.session_id: one for one in adapter.relate([one for _, one in everything(adapter)])}
    assert (found[_FORK].kind, found[_FORK].forked_from, found[_FORK].parent_id) == ("fork", _BRANCHED, _BRANCHED)
    helper = found[_HELPER]
    assert (helper.kind, helper.forked_from, helper.parent_id) == ("subagent", None, _HIRING)
    assert helper.title == "JuniorBison"
    assert adapter.resume_command(helper) is None
    assert sum(one.kind == "session" for one in found.values()) == 4


def test_a_fork_that_names_its_parent_by_id(store: Callable[..., Path]) -> None:
    home = store("omp", "home")
    path = next(home.rglob(f"*{_FORK}.jsonl"))
    parent = next(home.rglob(f"*{_BRANCHED}.jsonl"))
    text = path.read_text()
    path.write_text(text.replace(f"/home/dev/.omp/agent/sessions/-shop/{parent.name}", _BRANCHED, 1))
    adapter = OmpAdapter(Environment(home=home))
    found = {one.session_id: one for one in adapter.relate([one for _, one in everything(adapter)])}
    assert found[_FORK].forked_from == _BRANCHED


def test_nested_sub_agents_belong_to_the_one_above(store: Callable[..., Path]) -> None:
    home = store("omp", "home")
    helper = next(home.rglob("JuniorBison.jsonl"))
    nested = helper.with_suffix("") / "Deep.jsonl"
    nested.parent.mkdir()
    nested.write_text(
        '{"type":"title","v":1,"title":"","pad":""}\n'
        f'{{"type":"session","version":3,"id":"deep","parentSession":"{helper}","cwd":"/x"}}\n'
        '{"type":"session_init","id":"a","parentId":null,"systemPrompt":"You count.","task":"count pears"}\n'
    )
    adapter = OmpAdapter(Environment(home=home))
    found = {one.session_id: one for one in adapter.relate([one for _, one in everything(adapter)])}
    assert (found["deep"].kind, found["deep"].parent_id, found["deep"].title) == ("subagent", _HELPER, "count pears")
    _, session = both(adapter, "deep")
    assert [(message.kind, message.content) for message in session.messages] == [("notice", "You count.")]


def test_renaming_in_place_is_seen(store: Callable[..., Path]) -> None:
    home = store("omp", "home")
    path = next(home.rglob("*_01a1fd42-f777*.jsonl"))
    adapter = OmpAdapter(Environment(home=home))
    before = adapter.find("01a1fd42-f777-7577-bdd6-cc13833fe432")
    assert before is not None
    transcript = adapter.open(before, before.session_id)
    slot = {"type": "title", "v": 1, "title": "a new name", "source": "user", "updatedAt": "", "pad": ""}
    slot["pad"] = " " * (255 - len(json.dumps(slot)))
    with path.open("r+b") as file:
        file.write(json.dumps(slot).encode())
    after = adapter.find(before.session_id)
    assert after is not None
    assert after.size == before.size
    assert after.stamp != before.stamp
    (summary,) = adapter.summaries(after, lambda problem: None)
    assert summary.title == "a new name"
    assert transcript.refresh() == (None, False, False)


def test_a_title_cut_to_its_slot_is_shown_in_full(tmp_path: Path) -> None:
    path = tmp_path / ".omp" / "agent" / "sessions" / "-x" / "2026-01-01T00-00-00-000Z_x.jsonl"
    path.parent.mkdir(parents=True)
    lines = [
        {"type": "title", "v": 1, "title": "梨と林檎の…"},
        {"type": "session", "version": 3, "id": "x", "cwd": "/", "title": "stale"},
        {"type": "title_change", "id": "a", "parentId": None, "title": "梨と林檎の棚卸し"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ((_, summary),) = everything(OmpAdapter(Environment(home=tmp_path)))
    assert summary.title == "梨と林檎の棚卸し"


def test_clearing_is_a_point_above_which_nothing_is_seen() -> None:
    _, session = both(sample_omp("home-hard"), _HASHED)
    assert [(message.role, message.kind) for message in session.messages] == [
        ("user", "message"),
        ("system", "notice"),
        ("system", "compaction"),
        ("user", "message"),
    ]


def test_branches() -> None:
    adapter = sample_omp("home")
    source = adapter.find(_BRANCHED)
    assert source is not None
    transcript = adapter.open(source, _BRANCHED)
    found = [node for node in records(Path(source.path)) if "parentId" in node]
    parents = {node["parentId"] for node in found}
    assert [branch.leaf_id for branch in transcript.branches] == [
        node["id"] for node in found if node["type"] == "message" and node["id"] not in parents
    ]
    for branch in transcript.branches:
        transcript.switch(branch.leaf_id)
        # The last summary of a compaction aside, the branch ends in its leaf.
        assert [message.id for message in transcript.messages if message.kind != "summary"][-1] == branch.leaf_id


@pytest.mark.parametrize("session_id", list(SAMPLES.expected["home-spec"]))
def test_the_document_s_layout(session_id: str) -> None:
    expected = SAMPLES.expected["home-spec"][session_id]
    summary, session = both(sample_omp("home-spec"), session_id)
    assert summary.title == expected["title"]
    assert [message.content for message in session.messages] == expected["newestBranch"]
    assert len(session.raw["tree"]) == expected["entries"]
    assert sample_omp("home-spec").resume_command(summary) is None


# Places ------------------------------------------------------------------------------------------------------


def test_where_it_looks(tmp_path: Path) -> None:
    (tmp_path / ".omp" / "profiles" / "work").mkdir(parents=True)
    variables = {"PI_CODING_AGENT_DIR": "~/moved", "XDG_DATA_HOME": str(tmp_path / "data")}
    roots = OmpAdapter(Environment(home=tmp_path, variables=variables)).roots()
    assert [(root.path.relative_to(tmp_path).as_posix(), root.profile) for root in roots] == [
        ("moved/sessions", None),
        ("data/omp/sessions", None),
        (".omp/agent/sessions", None),
        (".omp/profiles/work/agent/sessions", "work"),
    ]
    renamed = OmpAdapter(Environment(home=tmp_path, variables={"PI_CONFIG_DIR": ".other"})).roots()
    assert [root.path for root in renamed] == [tmp_path / ".other" / "agent" / "sessions"]


def test_registered_files_elsewhere_are_listed(store: Callable[..., Path], tmp_path: Path) -> None:
    home = store("omp", "home")
    path = tmp_path / "elsewhere" / "mine.jsonl"
    path.parent.mkdir()
    path.write_text('{"type":"session","version":3,"id":"mine","cwd":"/x"}\n')
    registry = home / ".omp" / "agent" / "custom-session-files"
    registry.mkdir()
    (registry / "one").write_text(f"{path}\n")
    (registry / "two").write_text("/etc/passwd\n")
    (registry / "three").write_text(f"{tmp_path}/gone.jsonl\n")
    adapter = OmpAdapter(Environment(home=home))
    assert len(everything(adapter)) == len(SAMPLES.expected["home"]) + 1
    summary, _ = both(adapter, "mine")
    fork = adapter.fork_command(summary)
    assert fork is not None
    assert fork.argv == ("omp", "--session-dir", str(path.parent), "--fork", "mine")


def test_credentials_and_left_over_files_are_never_opened(store: Callable[..., Path]) -> None:
    home = store("omp", "home")
    (home / ".omp" / "agent" / "agent.db").write_bytes(b"secret")
    adapter = OmpAdapter(Environment(home=home))
    METER.reset()
    sources = list(adapter.sources(lambda problem: None))
    assert METER.opened == 0
    assert {Path(source.path).suffix for source in sources} == {".jsonl"}
    hard = list(sample_omp("home-hard").sources(lambda problem: None))
    assert not [source for source in hard if source.path.endswith(".tmp")]


# Running -----------------------------------------------------------------------------------------------------


def test_commands() -> None:
    home = STORES / "omp" / "home-hard"
    adapter = OmpAdapter(Environment(home=home, variables={"PI_CONFIG_DIR": ".omp"}))
    found = {one.profile: one for _, one in everything(adapter) if one.profile}
    summary = found["work"]
    resume, fork = adapter.resume_command(summary), adapter.fork_command(summary)
    assert resume is not None
    assert fork is not None
    assert resume.argv == ("omp", "--profile", "work", "--resume", summary.path)
    assert fork.argv == ("omp", "--profile", "work", "--fork", "9419cf4d-6059-4bdc-9dbe-44096b384309")
    assert resume.cwd == fork.cwd == "/home/dev/shop"
    assert resume.env == fork.env == {"PI_CONFIG_DIR": ".omp"}
    assert "does not lock" in (resume.warning or "")
    dashed = SessionSummary(agent="omp", session_id="--version", path="/s.jsonl")
    assert adapter.fork_command(dashed) is None
    assert OmpAdapter.capabilities.can_resume
    assert OmpAdapter.capabilities.can_fork


@pytest.mark.parametrize("name", ["PI_CODING_AGENT_DIR", "XDG_DATA_HOME"])
def test_a_store_elsewhere_is_handed_on(name: str, store: Callable[..., Path], tmp_path: Path) -> None:
    """Or the program would look for the session where it is not."""
    home = store("omp", "home")
    moved = tmp_path / "moved"
    target = moved if name == "PI_CODING_AGENT_DIR" else moved / "omp"
    target.parent.mkdir(exist_ok=True)
    (home / ".omp" / "agent").rename(target)
    adapter = OmpAdapter(Environment(home=home, variables={name: str(moved)}))
    summary = next(one for _, one in everything(adapter) if one.session_id == _BRANCHED)
    for command in (adapter.resume_command(summary), adapter.fork_command(summary)):
        assert command is not None
        assert command.env == {name: str(moved)}
        assert "--session-dir" not in command.argv


def test_live_by_a_real_process(store: Callable[..., Path]) -> None:
    home = store("omp", "home")
    clients = home / ".omp" / "run" / "daemons" / "0f" / "clients"
    clients.mkdir(parents=True)
    adapter = OmpAdapter(Environment(home=home))
    newest = next(home.rglob(f"*{_BRANCHED}.jsonl"))
    for path in home.rglob("*.jsonl"):
        os.utime(path, (1, 1))
    with running("omp") as pid:
        record = {"pid": pid, "id": "a", "projectDir": "/home/dev/shop"}
        (clients / f"{pid}-a.json").write_text(json.dumps(record))
        (clients / "half.json").write_text('{"pid": ')
        assert not adapter.live()  # nothing was written since it started
        os.utime(newest)
        assert {name: one.pid for name, one in adapter.live().items()} == {_BRANCHED: pid}
        # The file of a process that was killed, its id now taken by a younger one.
        os.utime(clients / f"{pid}-a.json", (1, 1))
        assert not adapter.live()
        (clients / "own.json").write_text(json.dumps({**record, "pid": os.getpid()}))  # alive, but no omp
        assert not adapter.live()


def test_models_called_beside_the_conversation_are_named() -> None:
    """Those that only made a title come last."""
    adapter = sample_omp("home-hard")
    (summary,) = (one for _, one in everything(adapter, []) if one.session_id == _HASHED)
    entries = records(Path(summary.path))
    beside = {entry["model"] for entry in entries if entry.get("type") == "model_usage"}
    said = {entry["message"]["model"] for entry in entries if entry.get("message", {}).get("model")}
    assert beside - said
    assert set(summary.models) == beside | said
    assert set(summary.models[: len(said)]) == said
