"""What a list says of long files: as right as of short ones, wherever in a file it stands. Compared with the files,
read by plain `json`, and with the session read as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.sessions.manager import SessionManager
from long_stores import HOMES, SHAPES, long_store
from session_adapters.base import Environment
from session_adapters.copilot.adapter import CopilotAdapter
from session_adapters.model import Problem, SessionSummary

EXACT = (
    *("title", "preview", "created_at", "updated_at", "cwd", "git_branch"),
    *("source", "kind", "parent_id", "forked_from", "archived", "end_reason", "error"),
)
"""Fields that a list has from the ends and the marked lines of a long file; counts, models and tokens are partial."""
IN_FILES = [one for one in HOMES if one[0] not in ("hector", "hermes", "opencode")]
Row = dict[str, Any]


def manager(home: Path, scratch: Path, agent: str) -> SessionManager:
    environment = Environment(home=home, proc=scratch / "proc")
    return SessionManager(environment, cache_dir=scratch / "cache", agents=(agent,), prices={}, indexed=False)


def listed(home: Path, scratch: Path, agent: str) -> dict[str, SessionSummary]:
    return {one.session_id: one for one in manager(home, scratch, agent).list(agent, limit=None)}


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def newest(texts: Iterator[str]) -> datetime:
    return max(moment(text) for text in texts)


def no_problem(problem: Problem) -> None:
    raise AssertionError(problem)


def write(path: Path, records: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("agent", "home"), IN_FILES, ids=lambda part: part.replace("/", "-"))
def test_a_list_of_long_files_says_what_reading_them_says(agent: str, home: str, shape: str, tmp_path: Path) -> None:
    long = long_store(agent, home, tmp_path / "long", SHAPES[shape]).home
    reader = manager(long, tmp_path, agent)
    found = {one.session_id: one for one in reader.list(agent, limit=None)}
    assert found
    for session_id, summary in found.items():
        whole = reader.get(agent, session_id)
        # Which prompt is the first on the branch where a session goes on, only the whole tree tells.
        told = [name for name in EXACT if name != "preview" or agent not in ("omp", "openclaw", "pi")]
        assert {name: getattr(summary, name) for name in told} == {name: getattr(whole, name) for name in told}
        if not summary.partial:
            assert (summary.message_count, summary.tokens) == (whole.message_count, whole.tokens)


# Codex: the first line --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_the_header_of_a_rollout_is_read_however_long(shape: str, tmp_path: Path) -> None:
    home = long_store("codex", "home", tmp_path / "long", SHAPES[shape]).home
    found = listed(home, tmp_path, "codex")
    paths = sorted(home.rglob("rollout-*.jsonl"))
    assert len(paths) == len(found) == 8
    for path in paths:
        all_rows = rows(path)
        meta = all_rows[0]["payload"]
        summary = found[meta["id"]]
        parent = meta.get("parent_thread_id")
        source = meta["source"]
        assert len(path.read_bytes().split(b"\n")[0]) > SHAPES[shape].first_line
        assert summary.created_at == moment(meta["timestamp"])
        items = (row["timestamp"] for row in all_rows if row["type"] == "response_item")
        assert summary.updated_at >= newest(items)
        assert summary.git_branch == meta["git"]["branch"]
        assert summary.source == (source if isinstance(source, str) else next(iter(source)))
        assert summary.forked_from == meta.get("forked_from_id")
        assert summary.kind == ("subagent" if parent else "fork" if summary.forked_from else "session")
        assert summary.parent_id == (parent or summary.forked_from)
        assert summary.cwd == [row for row in all_rows if row["type"] == "turn_context"][-1]["payload"]["cwd"]
        assert summary.title and summary.turn_count


def test_a_rollout_that_copies_its_parent_is_its_fork_however_long_both_headers_are(tmp_path: Path) -> None:
    home = long_store("codex", "older/home", tmp_path / "long", SHAPES["early"]).home
    found = listed(home, tmp_path, "codex")
    copies = {}
    for path in home.rglob("rollout-*.jsonl"):
        metas = [row["payload"] for row in rows(path) if row.get("type") == "session_meta"]
        if len(metas) == 2:
            copies[metas[0]["id"]] = metas[1]["id"]
    assert len(copies) == 1
    assert {one: found[one].forked_from for one in copies} == copies


@pytest.mark.parametrize("lines", [3, 3000])
@pytest.mark.parametrize("name", ["01a1fd32-f807-7832-9408-a0a8c681ff0f", "9f0d2f52-59a5-4a3e-8f0d-0f6f6f3e5c11"])
def test_a_rollout_without_header_was_created_first_of_all(lines: int, name: str, tmp_path: Path) -> None:
    """By the time in its id, else the one in its name, else its first line; never by its newest message."""
    began = datetime(2026, 11, 21, 8, 22, 18, tzinfo=UTC)
    path = tmp_path / f"home/.codex/sessions/2026/11/21/rollout-2026-11-21T08-22-18-{name}.jsonl"
    records = [
        {
            "timestamp": f"{began + timedelta(minutes=number + 1):%Y-%m-%dT%H:%M:%S.000Z}",
            "type": "response_item",
            "payload": {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "x" * 40}],
            },
        }
        for number in range(lines)
    ]
    write(path, records)
    (summary,) = listed(tmp_path / "home", tmp_path, "codex").values()
    assert began <= summary.created_at < began + timedelta(seconds=1)
    assert summary.updated_at == began + timedelta(minutes=lines)
    assert manager(tmp_path / "home", tmp_path, "codex").get("codex", name).created_at == summary.created_at
    unnamed = path.with_name("rollout-of-somebody.jsonl")
    path.rename(unnamed)
    (summary,) = listed(tmp_path / "home", tmp_path / "again", "codex").values()
    assert summary.created_at == began + timedelta(minutes=1)


def test_since_follows_the_times_of_long_rollouts(tmp_path: Path) -> None:
    home = long_store("codex", "home", tmp_path / "long").home
    metas = [rows(path)[0]["payload"] for path in home.rglob("rollout-*.jsonl")]
    created = {meta["id"]: moment(meta["timestamp"]) for meta in metas}
    for cut in created.values():
        found = manager(home, tmp_path, "codex").list("codex", limit=None, since=cut)
        assert {one.session_id for one in found} == {one for one, time in created.items() if time >= cut}


# Copilot: helpers -------------------------------------------------------------------------------------------------


def copilot_events(helpers: int, told: int) -> list[Row]:
    """Helpers that each say something `told` times, between 40 KB at either end."""
    start = datetime(2026, 3, 1, tzinfo=UTC)
    found: list[Row] = []

    def put(kind: str, data: Row, agent: str | None = None) -> None:
        stamp = f"{start + timedelta(seconds=len(found)):%Y-%m-%dT%H:%M:%S.000Z}"
        record = {"type": kind, "data": data, "id": f"e{len(found)}", "timestamp": stamp, "parentId": None}
        found.append(record | ({"agentId": agent} if agent else {}))

    def talk() -> None:
        for _ in range(40):
            put("user.message", {"content": "go on"})
            put("assistant.message", {"content": "x" * 1000, "model": "gpt-5"})

    put("session.start", {"sessionId": "s", "startTime": "2026-03-01T00:00:00.000Z", "context": {"cwd": "/srv"}})
    put("user.message", {"content": "the first prompt"})
    talk()
    for number in range(helpers):
        agent = f"helper-{number}"
        named = {"toolCallId": f"c{number}", "agentName": f"agent-{number}", "agentDisplayName": f"Helper {number}"}
        put("subagent.started", named, agent)
        put("user.message", {"content": f"task {number}"}, agent)
        for turn in range(told):
            key = f"{number}-{turn}"
            put("assistant.message", {"content": f"answer {key}", "model": "gpt-5", "apiCallId": key}, agent)
            usage = {"inputTokens": 10, "outputTokens": 1, "accounting": {"sourceSessionId": "s", "usageId": key}}
            put("session.usage_record", {"usage": usage, "apiCallId": key}, agent)
        talk()
    put("session.title_changed", {"title": "The new title"})
    talk()
    return found


def test_helpers_in_the_middle_of_a_file_are_listed_with_their_times_and_titles(tmp_path: Path) -> None:
    events = copilot_events(9, 12)
    write(tmp_path / "home/.copilot/session-state/s/events.jsonl", events)
    reader = manager(tmp_path / "home", tmp_path, "copilot")
    found = {one.session_id: one for one in reader.list("copilot", limit=None)}
    assert len(found) == 10
    for number in range(9):
        agent = f"helper-{number}"
        times = [
            moment(one["timestamp"])
            for one in events
            if one.get("agentId") == agent and one["type"] in ("user.message", "assistant.message")
        ]
        one = found[f"s:{agent}"]
        assert (one.title, one.kind, one.parent_id) == (f"Helper {number}", "subagent", "s")
        assert (one.created_at, one.updated_at) == (min(times), max(times))
        assert one.message_count == 13
        assert reader.get("copilot", one.session_id).message_count == 13
    assert (found["s"].title, found["s"].partial) == ("The new title", True)
    adapter = CopilotAdapter(Environment(home=tmp_path / "home"))
    (source,) = adapter.sources(no_problem)
    calls = [one for one in adapter.usage(source, no_problem) if one.input_tokens]
    assert len({one.key for one in calls}) == sum(one["type"] == "session.usage_record" for one in events) == 9 * 12
    said = {text.prose for text in adapter.texts(source, no_problem)}
    assert {f"answer {number}-{turn}" for number in range(9) for turn in range(12)} <= said
    assert found["s"].updated_at == newest(one["timestamp"] for one in events if one["type"] == "assistant.message")


# Names in the middle ----------------------------------------------------------------------------------------------


def pi_session(naming: list[Row], first: str = "session") -> list[Row]:
    header = {"type": first, "version": 3, "id": "named", "timestamp": "2026-03-01T00:00:00Z", "cwd": "/srv"}
    found: list[Row] = [header]
    parent = None
    for number in range(200):
        extra = naming if number == 100 else []
        said = {"type": "message", "message": {"role": ("user", "assistant")[number % 2], "content": "y" * 600}}
        for record in (*extra, said):
            own = f"e{len(found)}"
            found.append(
                {**record, "id": own, "parentId": parent, "timestamp": f"2026-03-01T01:{number // 4:02}:00Z"}
            )
            parent = own
    return found


NAMES = {
    "pi": (".pi/agent/sessions/--srv--/2026-03-01T00-00-00-000Z_named.jsonl", {"type": "session_info", "name": "N"}),
    "omp": (".omp/agent/sessions/-srv/2026-03-01T00-00-00-000Z_named.jsonl", {"type": "title_change", "title": "N"}),
}


@pytest.mark.parametrize("agent", NAMES)
def test_names_in_the_middle_of_a_tree_are_listed(agent: str, tmp_path: Path) -> None:
    where, naming = NAMES[agent]
    write(tmp_path / "home" / where, pi_session([{**naming, "name": "old", "title": "old"}, naming]))
    (found,) = listed(tmp_path / "home", tmp_path, agent).values()
    assert (found.title, found.partial) == ("N", True)


@pytest.mark.parametrize("agent", NAMES)
def test_a_fork_of_a_long_session_is_previewed_by_its_own_first_prompt(agent: str, tmp_path: Path) -> None:
    home = long_store(agent, "home", tmp_path / "long", SHAPES["early"]).home
    reader = manager(home, tmp_path, agent)
    forks = [one for one in reader.list(agent, limit=None) if one.kind == "fork"]
    assert forks
    for fork in forks:
        own = [row for row in rows(Path(fork.path)) if row.get("type") == "message"]
        began = next(row["timestamp"] for row in rows(Path(fork.path)) if row["type"] == "session")
        prompts = [row["message"] for row in own if row["timestamp"] >= began and row["message"]["role"] == "user"]
        content = prompts[0]["content"]
        text = content if isinstance(content, str) else content[0]["text"]
        assert fork.preview[:30] == " ".join(text.split())[:30]


def test_an_empty_name_in_the_middle_takes_a_name_away(tmp_path: Path) -> None:
    named = [{"type": "session_info", "name": "N"}, {"type": "session_info", "name": ""}]
    write(tmp_path / "home" / NAMES["pi"][0], pi_session(named))
    (found,) = listed(tmp_path / "home", tmp_path, "pi").values()
    assert found.title.startswith("yyy")


def test_names_in_the_middle_of_a_log_of_gemini_are_listed(tmp_path: Path) -> None:
    header = {"sessionId": "named", "projectHash": "h", "startTime": "2026-03-01T00:00:00Z"}
    talk = [
        {
            "id": f"m{number}",
            "timestamp": "2026-03-01T01:00:00Z",
            "type": ("user", "gemini")[number % 2],
            "content": text,
        }
        for number, text in enumerate(["z" * 600] * 200)
    ]
    naming = [{"$set": {"summary": "old"}}, {"$set": {"summary": "N", "lastUpdated": "2026-03-02T00:00:00Z"}}]
    write(
        tmp_path / "home/.gemini/tmp/srv/chats/session-2026-03-01T00-00-named.jsonl",
        [header, *talk[:100], *naming, *talk[100:]],
    )
    (found,) = listed(tmp_path / "home", tmp_path, "gemini").values()
    assert (found.title, found.partial) == ("N", True)
    assert found.updated_at == moment("2026-03-01T01:00:00Z")


def test_titles_in_the_middle_of_a_transcript_of_claude_are_listed(tmp_path: Path) -> None:
    def said(number: int) -> Row:
        role = ("user", "assistant")[number % 2]
        base = {"uuid": f"u{number}", "sessionId": "named", "cwd": "/srv", "version": "2.1.0"}
        body = {"role": role, "content": "w" * 600, "id": f"msg{number}", "model": "claude-opus-4-6"}
        return {**base, "type": role, "message": body, "timestamp": f"2026-03-01T01:{number // 4:02}:00.000Z"}

    talk = [said(number) for number in range(200)]
    path = tmp_path / "home/.claude/projects/-srv/named.jsonl"
    for records, title in (
        ([{"type": "ai-title", "aiTitle": "A", "sessionId": "named"}], "A"),
        (
            [
                {"type": "custom-title", "customTitle": "C", "sessionId": "named"},
                {"type": "ai-title", "aiTitle": "A"},
            ],
            "C",
        ),
    ):
        write(path, [*talk[:100], *records, *talk[100:]])
        (found,) = listed(tmp_path / "home", tmp_path / title, "claude").values()
        assert (found.title, found.partial) == (title, True)


def test_a_prompt_in_the_middle_of_a_transcript_of_cursor_tells_its_time(tmp_path: Path) -> None:
    def said(role: str, text: str) -> Row:
        return {"role": role, "message": {"content": [{"type": "text", "text": text}]}}

    def prompt(time: str) -> Row:
        return said("user", f"<timestamp>{time}</timestamp>\n<user_query>\nq\n</user_query>")

    answers = [said("assistant", "v" * 600)] * 100
    early, late = "Sunday, Mar 1, 2026, 1:00 AM (UTC)", "Sunday, Mar 1, 2026, 2:00 AM (UTC)"
    path = tmp_path / "home/.cursor/projects/srv/agent-transcripts/named/named.jsonl"
    write(path, [prompt(early), *answers, prompt(late), *answers])
    reader = manager(tmp_path / "home", tmp_path, "cursor")
    (found,) = reader.list("cursor", limit=None)
    assert found.partial
    assert found.updated_at == reader.get("cursor", found.session_id).updated_at == moment("2026-03-01T02:00:00Z")
