"""Every agent's store in the demo home: read by its adapter, and held against what the real programs wrote."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from hermes_tui.demo.home import environment_of, prepare, write_home
from session_adapters.base import Adapter, Source
from session_adapters.model import Problem, Session, SessionSummary
from session_adapters.registry import LABELS, adapter_class, agent_names
from support import STORES

NOW = datetime(2026, 11, 21, 10, 34, tzinfo=UTC)

WRITTEN = {
    "claude": 138,
    "codex": 13,
    "copilot": 8,
    "cursor": 6,
    "gemini": 8,
    "hector": 5,
    "hermes": 152,
    "omp": 6,
    "openclaw": 7,
    "opencode": 10,
    "pi": 8,
}
"""Sessions, helpers and forks with them; counted in the data."""
WITH_TOKENS = set(WRITTEN) - {"cursor", "hector"}
WITH_COST = {"hermes", "omp", "openclaw", "opencode", "pi"}
NEW = sorted(set(WRITTEN) - {"claude", "hermes"})
"""The agents that this file is about; the other two have files of their own."""
DATABASES = {
    "opencode": ".local/share/opencode/opencode.db",
    "openclaw": ".openclaw/agents/main/agent/openclaw-agent.sqlite",
    "hector": ".hector/sessions.db",
}


class Reading:
    """All sessions of an agent in a home."""

    def __init__(self, agent: str, home: Path) -> None:
        self.problems: list[Problem] = []
        self.adapter: Adapter = adapter_class(agent)(environment_of(home))
        self._sources: dict[str, Source] = {}
        found: list[SessionSummary] = []
        for source in self.adapter.sources(self.problems.append):
            for summary in self.adapter.summaries(source, self.problems.append, exact=True):
                self._sources[summary.session_id] = source
                found.append(summary)
        self.summaries = list(self.adapter.relate(found))

    def sessions(self) -> Iterator[Session]:
        for summary in self.summaries:
            yield self.adapter.session(self._sources[summary.session_id], summary.session_id)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("demo")
    write_home(home, NOW)
    return home


@pytest.fixture
def reading(home: Path) -> Callable[[str], Reading]:
    return lambda agent: Reading(agent, home)


WAITS = {"codex": {"request_user_input"}, "copilot": {"bash"}}
"""Tools that wait for a person."""


def test_all_eleven_agents_have_sessions() -> None:
    assert set(WRITTEN) == set(LABELS)
    assert set(agent_names()) <= set(WRITTEN)


@pytest.mark.parametrize("agent", agent_names())
def test_its_sessions_are_listed_and_open(agent: str, reading: Callable[[str], Reading]) -> None:
    found = reading(agent)
    sessions = list(found.sessions())
    assert found.problems == []
    assert len({session.session_id for session in sessions}) == WRITTEN[agent]
    for session in sessions:
        assert session.messages and session.title, session.session_id
        assert session.warnings == 0
        assert session.created_at <= session.updated_at <= NOW
        assert any(message.is_prompt for message in session.messages)
    calls = [call for session in sessions for message in session.messages for call in message.tool_calls]
    assert calls and {call.tool_name for call in calls if call.output is None} == WAITS.get(agent, set())
    assert any(session.tokens is not None and session.tokens.total for session in sessions) is (agent in WITH_TOKENS)
    assert any(session.cost is not None for session in sessions) is (agent in WITH_COST)


@pytest.mark.parametrize("agent", [name for name in agent_names() if name in NEW])
def test_the_newest_are_of_today_and_of_this_world(agent: str, reading: Callable[[str], Reading]) -> None:
    summaries = reading(agent).summaries
    newest = max(summaries, key=lambda summary: summary.updated_at)
    assert newest.updated_at.date() == NOW.date()
    places = {summary.cwd for summary in summaries if summary.cwd}
    assert places <= {f"/home/dev/{name}" for name in ("shop", "blog", "pipeline", ".openclaw/workspace")}
    assert bool(places) is (agent != "hector")


@pytest.mark.parametrize("agent", ["claude", "codex", "copilot", "pi"])
def test_one_of_them_is_open(agent: str, home: Path, reading: Callable[[str], Reading]) -> None:
    found = reading(agent)
    (live,) = found.adapter.live()
    newest = max(found.summaries, key=lambda summary: summary.updated_at)
    assert newest.session_id == live
    assert (home / "proc" / str(found.adapter.live()[live].pid) / "stat").is_file()


def test_there_is_one_of_every_relation(reading: Callable[[str], Reading]) -> None:
    kinds = {agent: [summary.kind for summary in reading(agent).summaries] for agent in agent_names()}
    for agent in ("codex", "copilot", "gemini", "omp", "opencode"):
        assert kinds[agent].count("subagent") == 1, agent
    for agent in ("codex", "pi"):
        assert kinds[agent].count("fork") == 1, agent
    for agent in ("codex", "copilot", "opencode", "pi", "hector"):
        assert any(summary.error for summary in reading(agent).summaries), agent


def test_conversations_part_and_are_compacted(reading: Callable[[str], Reading]) -> None:
    def compactions(agent: str) -> int:
        kinds = [message.kind for session in reading(agent).sessions() for message in session.messages]
        return kinds.count("compaction")

    assert compactions("hector") == 2
    for agent in ("codex", "omp", "opencode", "pi"):
        assert compactions(agent) == 1, agent
    for path, lost in ((".pi", "Try lines instead of bars."), (".omp", "And AVIF?")):
        agent = path[1:]
        texts = {message.content for session in reading(agent).sessions() for message in session.messages}
        assert lost not in texts, "the branch that was left is not shown"


def test_messages_of_hectors_shared_id_are_one_sessions_own(home: Path, reading: Callable[[str], Reading]) -> None:
    shared = [summary for summary in reading("hector").summaries if summary.raw.get("sharedWith")]
    assert {summary.session_id for summary in shared} == {"assistant/standup", "researcher/standup"}
    with_rows = _rows(home / DATABASES["hector"], "SELECT count(*) FROM session_messages WHERE session_id='standup'")
    own = [summary.message_count - summary.raw.get("sharedMessages", 0) for summary in shared]
    assert sum(own) == with_rows[0][0]


# Against the real programs' files ------------------------------------------------------------------------------


def _rows(path: Path, query: str) -> list[Any]:
    connection = apsw.Connection(f"file:{path}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        return list(connection.execute(query))
    finally:
        connection.close()


def _schema(path: Path) -> dict[str, str]:
    rows = _rows(path, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {name: "".join(sql.split()) for name, sql in rows}


@pytest.mark.parametrize("agent", ["opencode", "openclaw", "hector", "cursor"])
def test_its_tables_are_the_real_ones(agent: str, home: Path, store: Callable[..., Path]) -> None:
    real = store(agent, "home")
    if agent == "cursor":
        made, theirs = (next(iter(sorted(place.rglob("store.db")))) for place in (home, real))
    else:
        made = home / DATABASES[agent]
        theirs = real / "data" / "sessions.db" if agent == "hector" else real / DATABASES[agent]
    known, schema = _schema(theirs), _schema(made)
    assert schema
    for name, sql in schema.items():
        assert known[name] == sql, name
    assert _rows(made, "PRAGMA user_version") == _rows(theirs, "PRAGMA user_version")
    assert _rows(made, "PRAGMA integrity_check") == [("ok",)]
    if agent != "hector":  # Hector's own reference is to a column that is not unique: it cannot be checked
        assert _rows(made, "PRAGMA foreign_key_check") == []
    assert not list(home.rglob(f"{made.name}-*"))


def _codex(record: dict[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    payload = record["payload"]
    kind = f"{record['type']}/{payload.get('type')}"
    yield record["type"], record
    yield kind, payload
    if isinstance(payload.get("item"), dict):
        yield f"{kind}/{payload['item']['type']}", payload["item"]


def _gemini(record: dict[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield str(record.get("type")), record
    for call in record.get("toolCalls", ()):
        yield "call", call


def _copilot(record: dict[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "event", record
    yield record["type"], record["data"]
    for call in record["data"].get("toolRequests", ()):
        yield "call", call


def _tree(record: dict[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield record["type"], record
    message = record.get("message", {})
    if message:
        yield f"message/{message['role']}/{message.get('stopReason') == 'error'}", message
    for block in message.get("content") or ():
        if isinstance(block, dict):
            yield f"block/{block['type']}", block


SHAPES: dict[str, tuple[str, Callable[[dict[str, Any]], Iterator[tuple[str, Mapping[str, Any]]]]]] = {
    "codex": (".codex/sessions/**/*.jsonl", _codex),
    "copilot": (".copilot/session-state/*/events.jsonl", _copilot),
    "gemini": (".gemini/tmp/*/chats/**/*.jsonl", _gemini),
    "omp": (".omp/agent/sessions/**/*.jsonl", _tree),
    "pi": (".pi/agent/sessions/**/*.jsonl", _tree),
}


def _keys(home: Path, agent: str) -> dict[str, set[str]]:
    """Every key that records of a kind have, over all files."""
    pattern, parts = SHAPES[agent]
    found: dict[str, set[str]] = defaultdict(set)
    for path in home.glob(pattern):
        for line in path.read_text(encoding="utf-8").split("\n"):
            for kind, part in parts(json.loads(line)) if line else ():
                found[kind] |= set(part)
    return found


@pytest.mark.parametrize("agent", sorted(SHAPES))
def test_its_records_have_the_keys_of_the_real_ones(agent: str, home: Path) -> None:
    real, made = _keys(STORES / agent / "home", agent), _keys(home, agent)
    if agent == "gemini":
        real["None"].add("$set")
    if agent == "copilot":  # one that waits for leave is not among the samples
        real["permission.requested"] = {"requestId", "permissionRequest", "agentMode", "permissionMode"}
    assert made
    for kind, keys in made.items():
        assert keys <= real[kind], (kind, keys - real[kind])


def test_cursors_blobs_are_named_by_their_content(home: Path) -> None:
    databases = sorted(home.glob(".cursor/chats/*/*/store.db"))
    assert len(databases) == WRITTEN["cursor"]
    for path in databases:
        blobs = dict(_rows(path, "SELECT id, data FROM blobs"))
        assert all(hashlib.sha256(data).hexdigest() == name for name, data in blobs.items())
        about = json.loads(bytes.fromhex(_rows(path, "SELECT value FROM meta WHERE key = '0'")[0][0]))
        root = blobs[about["latestRootBlobId"]]
        named = []
        while root[:2] == b"\x0a\x20":  # field 1, 32 bytes
            named.append(blobs[root[2:34].hex()])
            root = root[34:]
        roles = [json.loads(data)["role"] for data in named]
        assert roles[:3] == ["system", "user", "user"] and roles[-1] == "assistant"
        assert (
            path.parent.parent.name
            == hashlib.md5(json.loads((path.parent / "meta.json").read_text())["cwd"].encode()).hexdigest()
        )
        transcript = list(home.glob(f".cursor/projects/*/agent-transcripts/*/{path.parent.name}.jsonl"))
        assert len(transcript) == 1


def test_openclaws_index_is_of_all_events(home: Path) -> None:
    path = home / DATABASES["openclaw"]
    assert _rows(path, "SELECT count(*) FROM session_nodes") == [(WRITTEN["openclaw"],)]
    query = """
        SELECT s.session_id FROM session_transcript_index_state s JOIN transcript_events e USING (session_id)
        GROUP BY s.session_id
        HAVING max(e.seq) != s.indexed_seq OR sum(json_extract(e.event_json, '$.type') = 'message')
            != s.active_message_count
    """
    assert _rows(path, query) == []
    leaf = """
        SELECT s.session_id FROM session_transcript_index_state s JOIN transcript_events e
        ON e.session_id = s.session_id AND e.seq = s.indexed_seq
        WHERE json_extract(e.event_json, '$.id') != s.leaf_event_id
    """
    assert _rows(path, leaf) == []
    shared = "SELECT event_id FROM transcript_event_identities GROUP BY event_id HAVING count(*) > 1"
    assert _rows(path, shared), "a fork copies the events"


# Twice -----------------------------------------------------------------------------------------------------------


def _content(home: Path) -> dict[str, bytes]:
    """Every file; of a database its rows, because the file has a counter of its changes. Locks are by inode, and
    some records hold the path of the home itself."""
    found: dict[str, bytes] = {}
    for path in sorted(home.rglob("*")):
        name = str(path.relative_to(home))
        if path.is_symlink() or not path.is_file() or name == "proc/locks":
            continue
        data = path.read_bytes()
        if data.startswith(b"SQLite format 3\0"):
            tables = [row[0] for row in _rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
            plain = [table for table in tables if not table.startswith(("messages_fts", "sqlite_"))]
            data = repr([_rows(path, f"SELECT * FROM {table}") for table in plain]).encode()
        found[name] = data.replace(str(home).encode(), b"HOME")
    return found


def test_the_same_moment_gives_the_same_bytes(home: Path, tmp_path: Path) -> None:
    prepare(tmp_path / "again")
    write_home(tmp_path / "again", NOW)
    first, second = _content(home), _content(tmp_path / "again")
    marker = second.pop(".hermes-tui-demo")
    assert marker
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    again = tmp_path / "again"
    before = _modified(again)
    prepare(again)
    assert before and not _modified(again), "a former demo home is emptied"
    write_home(again, NOW)
    assert _modified(again) == before, "sessions are as old as what is said in them"


def _modified(home: Path) -> dict[str, int]:
    """When session files of one line per record were written last."""
    files = (path for path in home.rglob("*.jsonl") if path.parent != home / ".codex")
    return {str(path): path.stat().st_mtime_ns for path in files}
