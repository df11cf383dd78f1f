"""The demo's Hermes home, held against the database that the real program wrote; read here by SQL."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace

from hermes_tui.demo.gateway import serving
from hermes_tui.demo.home import DATA, environment_of, write_home
from hermes_tui.demo.live import DemoGateway
from hermes_tui.lifecycle.gateway.process import gateway_of
from hermes_tui.lifecycle.keys import build_session_key
from hermes_tui.lifecycle.lanes import board
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from hermes_tui.lifecycle.source import SessionSource

NOW = datetime(2026, 11, 21, 10, 34, tzinfo=UTC)
GATEWAY_PID = 4100
GATEWAY_START = 124242


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("demo")
    write_home(home, NOW)
    return home


@pytest.fixture
def database(home: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(
        f"file:{home}/.hermes/state.db?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    yield connection
    connection.close()


def _rows(database: apsw.Connection, query: str) -> list[Any]:
    return list(database.execute(query))


def _schema(database: apsw.Connection) -> dict[str, str]:
    rows = _rows(database, "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {name: " ".join(sql.split()) for name, sql in rows}


def test_its_schema_is_the_real_one(database: apsw.Connection, store: Callable[..., Path]) -> None:
    real = apsw.Connection(str(store("hermes", "home") / ".hermes" / "state.db"))
    assert _schema(database) == _schema(real)
    assert _rows(database, "SELECT version FROM schema_version") == _rows(real, "SELECT version FROM schema_version")
    real.close()


def test_the_database_is_whole_and_checkpointed(home: Path, database: apsw.Connection) -> None:
    assert _rows(database, "PRAGMA integrity_check") == [("ok",)]
    assert _rows(database, "PRAGMA foreign_key_check") == []
    assert not list(home.rglob("state.db-*"))
    header = (home / ".hermes" / "state.db").read_bytes()[18:20]
    assert header == b"\x02\x02", "in WAL mode, as Hermes leaves it"
    assert _rows(database, "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'partitions'")[0][0] > 0
    assert _rows(database, "SELECT count(*) FROM messages_fts_trigram WHERE messages_fts_trigram MATCH '订单时'") == [
        (1,)
    ]


def test_counts_in_the_rows_are_those_of_the_messages(database: apsw.Connection) -> None:
    query = """
        SELECT s.id FROM sessions s JOIN messages m ON m.session_id = s.id GROUP BY s.id
        HAVING s.message_count != count(*) OR s.tool_call_count != sum(m.role = 'tool')
            OR s.started_at > min(m.timestamp) OR s.ended_at < max(m.timestamp)
    """
    assert _rows(database, query) == []
    totals = "SELECT sum(input_tokens), sum(output_tokens), sum(estimated_cost_usd) FROM "
    assert _rows(database, totals + "sessions") == _rows(database, totals + "session_model_usage")
    assert _rows(database, "SELECT count(*) FROM sessions")[0][0] > 130
    assert _rows(database, "SELECT max(timestamp) FROM messages")[0][0] <= NOW.timestamp()


def test_every_call_has_its_result(database: apsw.Connection) -> None:
    calls = [
        call["id"]
        for (text,) in _rows(database, "SELECT tool_calls FROM messages WHERE tool_calls NOT NULL")
        for call in json.loads(text)
    ]
    results = [row[0] for row in _rows(database, "SELECT tool_call_id FROM messages WHERE role = 'tool'")]
    assert calls and sorted(calls) == sorted(results)
    assert len(set(calls)) == len(calls)


def test_there_is_one_of_every_relation(database: apsw.Connection) -> None:
    chain = """
        WITH RECURSIVE tip(id, depth) AS (
            SELECT id, 1 FROM sessions WHERE parent_session_id IS NULL AND end_reason = 'compression'
            UNION ALL
            SELECT s.id, depth + 1 FROM sessions s JOIN tip ON s.parent_session_id = tip.id
        )
        SELECT max(depth) FROM tip
    """
    assert _rows(database, chain) == [(3,)]
    configured = "SELECT count(*) FROM sessions WHERE json_extract(model_config, '$.{}') = parent_session_id"
    assert _rows(database, configured.format("_branched_from")) == [(1,)]
    assert _rows(database, configured.format("_delegate_from")) == [(2,)]
    assert _rows(database, "SELECT count(*) FROM sessions WHERE archived") == [(1,)]
    assert _rows(database, "SELECT count(*) FROM messages WHERE active = 0 AND compacted = 1")[0][0] > 0
    assert _rows(database, "SELECT count(*) FROM messages WHERE active = 0 AND compacted = 0")[0][0] > 0
    sources = {row[0] for row in _rows(database, "SELECT DISTINCT source FROM sessions")}
    messengers = {"telegram", "discord", "whatsapp", "slack", "signal", "email", "matrix", "mattermost"}
    assert sources == {"cli", "tui", "cron", "subagent", *messengers}
    # As bytes: SQL's own functions end a text at its first NUL.
    multimodal = "SELECT content FROM messages WHERE substr(CAST(content AS BLOB), 1, 6) = x'006a736f6e3a'"
    (photo,) = _rows(database, multimodal)
    assert [part["type"] for part in json.loads(photo[0][6:])] == ["text", "image_url"]


def test_a_message_of_each_lane_comes_to_that_lane(database: apsw.Connection) -> None:
    # Otherwise what waits for the lane's next message waits for ever, and people write to it without end.
    entries = [
        json.loads(entry) for _, entry in _rows(database, "SELECT session_key, entry_json FROM gateway_routing")
    ]
    origins = {entry["session_key"]: entry["origin"] for entry in entries if entry.get("origin")}
    assert len(origins) > 6
    assert {key: build_session_key(SessionSource.from_dict(one)) for key, one in origins.items()} == {
        key: key for key in origins
    }


def test_lanes_point_at_the_newest_session_of_their_place(home: Path, database: apsw.Connection) -> None:
    lanes = {
        key: json.loads(entry)
        for key, entry in _rows(database, "SELECT session_key, entry_json FROM gateway_routing")
    }
    mirror = json.loads((home / ".hermes" / "sessions" / "sessions.json").read_text())
    mirrored = {key: value for key, value in mirror.items() if not key.startswith("_")}
    assert lanes.keys() == mirrored.keys()
    assert {lanes[key]["platform"] for key in lanes if lanes[key] != mirrored[key]} == {"matrix"}
    query = "SELECT session_key, id, max(started_at) FROM sessions WHERE session_key NOT NULL GROUP BY session_key"
    newest = {key: name for key, name, _ in _rows(database, query)}
    other = {entry["platform"] for key, entry in lanes.items() if entry["session_id"] != newest.get(key)}
    assert other == {"mattermost", "homeassistant", "webhook"}, "compressed just now, without a message, unreadable"
    assert len(lanes) == 10


def test_there_is_a_lane_in_every_state(home: Path) -> None:
    found = board(environment_of(home), NOW)
    states = {(lane.profile, lane.platform): lane.state for lane in found.lanes}
    assert set(states.values()) == {
        "live", "suspended", "resume pending", "ended", "expired", "compressed", "no session", "unreadable",
    }  # fmt: skip
    lanes = {lane.platform: lane for lane in found.lanes if lane.profile == "default"}
    assert lanes["discord"].who == "shared"
    assert lanes["email"].reset_due and not lanes["signal"].reset_due
    assert (lanes["signal"].last_reset, len(lanes["signal"].earlier)) == ("daily", 1)
    assert lanes["matrix"].restarts == 2 and lanes["matrix"].disagreement and lanes["matrix"].resets == "never"
    assert lanes["mattermost"].continues_in and lanes["webhook"].fault
    assert lanes["telegram"].earlier[0].end_reason == "compression"
    gateways = {profile.name: profile.gateway.state for profile in found.profiles}
    assert gateways == {"default": "running", "coder": "stopped"}
    assert {lane.platform: lane.state for lane in found.lanes if lane.profile == "coder"} == {
        "telegram": "live",
        "slack": "resume pending",
    }


async def test_the_script_is_played_with_tools_a_queue_and_an_expiry(tmp_path: Path) -> None:
    write_home(tmp_path, NOW)
    local = NOW.astimezone().replace(tzinfo=None)
    states: list[tuple[int, dict[str, int]]] = []
    environment = environment_of(tmp_path)
    before = {lane.platform: lane for lane in board(environment, NOW).lanes if lane.profile == "default"}
    assert before["email"].state == "expired" and before["discord"].queued is None

    def seen() -> None:
        gateway = gateway_of(tmp_path / ".hermes", tmp_path / "proc")
        states.append((gateway.active_agents or 0, dict(gateway.queued or {})))

    async with serving(tmp_path, clock=lambda: local, pace=0.01) as people:
        playing = asyncio.create_task(people.play(rounds=1))
        while not playing.done() or people.runner.running:
            seen()
            await asyncio.sleep(0.005)
        await people.runner.idle()
        seen()
    assert max(turns for turns, _ in states) >= 2, "lanes run side by side"
    assert max(queued.get(before["discord"].key, 0) for _, queued in states) == 2, "two follow-ups wait"
    assert states[-1] == (0, {})
    after = {lane.platform: lane for lane in board(environment, NOW).lanes if lane.profile == "default"}
    assert (after["email"].state, after["email"].last_reset) == ("live", "daily"), "its expiry has come true"
    assert after["telegram"].state == "resume pending" and after["whatsapp"].state == "suspended"
    database = apsw.Connection(str(tmp_path / ".hermes" / "state.db"))
    said = _rows(database, "SELECT role, content, tool_name FROM messages ORDER BY id")
    database.close()
    texts = [content for _, content, _ in said]
    script = [json.loads(line) for line in (DATA / "hermes" / "live.jsonl").read_text().splitlines()]
    for line in script:
        assert texts.count(line["text"]) == texts.count(line["answer"]) == 1, line["text"]
    assert {tool for *_, tool in said if tool} >= {"terminal", "web_search", "session_search"}


async def test_the_gateway_of_the_demo_takes_what_was_done(tmp_path: Path) -> None:
    write_home(tmp_path, NOW)
    environment = environment_of(tmp_path)
    operations = Operations(environment, audit=Audit(tmp_path / "audit.jsonl"), clock=lambda: NOW)
    keys = {lane.platform: lane.key for lane in board(environment, NOW).lanes if lane.profile == "default"}
    before = {lane.key: lane for lane in board(environment, NOW).lanes}
    requests = {
        keys["discord"]: Request(kind="reset", key=keys["discord"]),
        keys["email"]: Request(kind="suspend", key=keys["email"]),
    }
    local = [NOW.astimezone().replace(tzinfo=None)]
    async with serving(tmp_path, clock=lambda: local[0], pace=0) as people:
        outcomes = {key: operations.apply(operations.plan(request)) for key, request in requests.items()}
        assert {one.state for one in outcomes.values()} == {"pending"}
        for seconds, expected in ((3, set[str]()), (30, set(requests)), (30, set())):
            local[0] += timedelta(seconds=seconds)
            assert set(await people.write_where_it_is_due()) == expected
            await people.runner.idle()
    for key, outcome in outcomes.items():
        after = operations.outcome(outcome.operation)
        assert after.state == "done", after
        lane = next(one for one in board(environment, NOW).lanes if one.key == key)
        assert (lane.state, lane.disagreement, lane.session_id) == ("live", "", after.session_id)
    others = {lane.key: lane for lane in board(environment, NOW).lanes if lane.key not in outcomes}
    own = [lane for lane in others.values() if lane.profile == "default"]
    assert {lane.queued for lane in own if not lane.fault} == {0}, "now that is known"
    assert not any(lane.disagreement for lane in own), "a gateway writes the whole mirror"
    assert {key: replace(lane, queued=None) for key, lane in others.items()} == {
        key: replace(lane, disagreement="") for key, lane in before.items() if key not in outcomes
    }


def test_the_gateway_is_seen_running(home: Path) -> None:
    gateway = gateway_of(home / ".hermes", home / "proc")
    assert gateway.state == "running" and gateway.pid == GATEWAY_PID
    assert gateway.since is not None and (NOW - gateway.since).days == 3
    assert json.loads((home / ".hermes" / "gateway.pid").read_text())["start_time"] == GATEWAY_START


def test_the_same_moment_gives_the_same_rows(database: apsw.Connection, tmp_path: Path) -> None:
    write_home(tmp_path, NOW)
    again = apsw.Connection(str(tmp_path / ".hermes" / "state.db"))
    for table in ("sessions", "messages", "session_model_usage"):
        assert _rows(database, f"SELECT * FROM {table}") == _rows(again, f"SELECT * FROM {table}")
    again.close()


def test_the_process_serves_until_its_input_ends(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    write_home(tmp_path, now)
    operations = Operations(environment_of(tmp_path), audit=Audit(tmp_path / "audit.jsonl"))
    key = next(lane.key for lane in board(environment_of(tmp_path), now).lanes if lane.platform == "matrix")
    gateway = DemoGateway(tmp_path, delay=0)
    gateway.start()
    try:
        state = tmp_path / ".hermes" / "gateway_state.json"
        _until(lambda: "queued" in json.loads(state.read_bytes()))  # it has taken its first message
        outcome = operations.apply(operations.plan(Request(kind="reset", key=key)))
        assert outcome.state == "pending"
        _until(lambda: operations.outcome(outcome.operation).state == "done")
    finally:
        gateway.stop()
        gateway.join(10)
    assert not gateway.is_alive()


def _until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
