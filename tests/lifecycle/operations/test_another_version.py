"""Lanes of Hermes 0.21, whose database has schema 30: what its own search finds on the planned result is offered.

That version cannot be run here. Its rule is written down once more, in plain Python, after its source
(`find_latest_gateway_session_for_peer` in `hermes_state.py`), and the store is one of 0.19 with the columns of 30.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import apsw
import pytest

from chances import TIMES, chance
from hermes_tui.errors import OperationRefused
from hermes_tui.lifecycle.lane_index.peer import Peer
from hermes_tui.lifecycle.lane_index.rows import StoredLanes
from hermes_tui.lifecycle.state_db.database import SessionDB
from lifecycle.worlds import KEY, World, gateway
from oracle.hermes import Oracle

ADDED = (
    *(
        "created_source",
        "system_prompt_hash",
        "title_source",
        "last_activity_description",
        "last_activity_provenance",
    ),
    *("transport_profile", "tool_names", "last_activity_at REAL", "last_read_at REAL"),
    *("compression_recovery_deadline REAL", "git_metadata_generation INTEGER NOT NULL DEFAULT 0"),
    *("compression_ineffective_count INTEGER NOT NULL DEFAULT 0", "pinned INTEGER NOT NULL DEFAULT 0"),
    *("compression_overload_streak INTEGER NOT NULL DEFAULT 0", "hidden INTEGER NOT NULL DEFAULT 0"),
)
"""Columns of `sessions` that 0.19 does not have."""
TABLES = (
    "system_prompts (hash TEXT PRIMARY KEY, prompt TEXT NOT NULL)",
    "gateway_hygiene_state (session_key TEXT PRIMARY KEY, failure_streak INTEGER NOT NULL DEFAULT 0)",
    "conversation_generations (source TEXT NOT NULL, session_key TEXT NOT NULL, generation INTEGER NOT NULL,"
    " PRIMARY KEY (source, session_key))",
    "gateway_heartbeats (backend_id TEXT PRIMARY KEY, pid INTEGER, started_at REAL, last_heartbeat REAL)",
)
ACCIDENTS = ("agent_close", "ws_orphan_reap", "superseded_by_resume", "startup_orphan_reap")
RESETS = ("session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired")
PEER = ("user_id", "chat_id", "chat_type", "thread_id")
ANA = {"source": "telegram", "user_id": "700", "chat_id": "700", "chat_type": "dm", "thread_id": None}

Rows = Sequence[Mapping[str, Any]]


def taken_up(rows: Rows, spoken: set[str], key: str, peer: Mapping[str, Any] = ANA) -> str:
    """The session that 0.21 goes on in for a lane whose own is over; empty: a fresh one."""

    def last(row: Mapping[str, Any]) -> float:
        return float(row["started_at"] if row["last_activity_at"] is None else row["last_activity_at"])

    def found(same: Sequence[str], wanted: Mapping[str, Any], empty: bool) -> list[Mapping[str, Any]]:
        def alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
            return all((one[name] or "") == (other[name] or "") for name in ("source", *same))

        fence = [row for row in rows if row["ended_at"] is not None and row["end_reason"] in RESETS]
        return [
            row
            for row in rows
            if alike(row, wanted)
            and (row["ended_at"] is None or row["end_reason"] in ACCIDENTS)
            and (empty or row["id"] in spoken)
            and not any(alike(one, row) and one["ended_at"] > last(row) for one in fence)
        ]

    candidates = found(("session_key",), {**peer, "session_key": key}, True) or found(PEER, peer, False)
    best = max(candidates, key=lambda row: (row["id"] in spoken, last(row)), default=None)
    return str(best["id"]) if best is not None else ""


def to_schema_30(world: World) -> None:
    """Bring the store to that layout, as its program does when it opens an older one."""
    for column in ADDED:
        world.sql(f"ALTER TABLE sessions ADD COLUMN {column}")
    for table in TABLES:
        world.sql(f"CREATE TABLE {table}")
    spoken = "(SELECT MAX(timestamp) FROM messages WHERE session_id = sessions.id)"
    world.sql(f"UPDATE sessions SET last_activity_at = {spoken}")
    world.sql("UPDATE schema_version SET version = 30")


def as_it_is(world: World) -> tuple[Rows, set[str]]:
    """All sessions, and which of them have messages."""
    ids = [id_ for (id_,) in world.sql("SELECT id FROM sessions")]
    return [world.row(id_) for id_ in ids], {id_ for (id_,) in world.sql("SELECT session_id FROM messages")}


def installed(folder: Path, version: str) -> Path:
    """An interpreter beside which lies that Hermes."""
    (folder / f"lib/python3.11/site-packages/hermes_agent-{version}.dist-info").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    return folder / "bin" / "python"


@pytest.fixture
def world(hermes: Oracle, tmp_path: Path) -> Iterator[World]:
    world = World(hermes, tmp_path / "user")
    world.keep_time()
    world.start()
    yield world


def two(world: World) -> tuple[str, str]:
    """Two conversations of the lane, which is in the second; then 0.21 has opened the store."""
    found = world.talk(), world.talk(force_new=True)
    world.hermes.close_store()
    to_schema_30(world)
    return found


@pytest.mark.parametrize("live", [True, False])
@pytest.mark.parametrize("kind", ["reset", "suspend"])
def test_a_reset_is_offered_and_its_own_search_finds_nothing_behind_it(
    world: World, tmp_path: Path, kind: str, live: bool
) -> None:
    older, current = two(world)
    with gateway(world.home, installed(tmp_path / "0.21", "0.21.3")) if live else nullcontext():
        plan = world.plan(kind)
        assert not plan.refusal and any("Hermes 0.21's, of which only the source" in note for note in plan.notes)
        outcome = world.operations.apply(plan)
        assert outcome.state == ("pending" if live else "done")
        if live:
            assert taken_up(*as_it_is(world), KEY) == ""
        elif kind == "reset":
            assert world.table()[KEY]["session_id"] not in (older, current)
            assert world.row(world.table()[KEY]["session_id"])["ended_at"] is None
        else:
            assert world.table()[KEY]["suspended"] is True
        assert world.operations.apply(world.operations.undo(outcome.operation)).state == "done"
        assert world.row(current)["ended_at"] is None


def test_a_resume_beside_it_is_refused_for_its_own_search_does_not_find_it(world: World, tmp_path: Path) -> None:
    older, current = two(world)
    with gateway(world.home, installed(tmp_path / "0.21", "0.21.3")):
        plan = world.plan("resume", target=older)
        assert plan.refusal.startswith("Hermes' own search would not find it")
        with pytest.raises(OperationRefused):
            world.operations.apply(plan)
    # Written all the same, it would be lost.
    world.sql("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", older)
    world.sql("UPDATE sessions SET ended_at = ?, end_reason = 'session_switch' WHERE id = ?", 4e9, current)
    assert taken_up(*as_it_is(world), KEY) == ""


def test_without_a_gateway_a_resume_is_offered(world: World) -> None:
    """The lane is led there by its entry, and nothing is searched."""
    older, _ = two(world)
    assert world.apply("resume", target=older).state == "done"
    assert world.table()[KEY]["session_id"] == older
    assert world.row(older)["ended_at"] is None


@pytest.mark.parametrize(
    ("kind", "live"), [("reset", True), ("reset", False), ("suspend", True), ("suspend", False), ("resume", False)]
)
def test_conversations_are_counted(world: World, tmp_path: Path, kind: str, live: bool) -> None:
    """As 0.21 does: one more for each end on purpose that is written, and never fewer."""
    older, current = two(world)
    world.sql("INSERT INTO conversation_generations VALUES ('telegram', ?, 7), ('telegram', 'another', 7)", KEY)

    def ended() -> set[str]:
        query = f"SELECT id FROM sessions WHERE session_key = ? AND end_reason IN {RESETS}"
        return {one for (one,) in world.sql(query, KEY)}

    before = ended()
    with gateway(world.home, installed(tmp_path / "0.21", "0.21.3")) if live else nullcontext():
        outcome = world.apply(kind, **({"target": older} if kind == "resume" else {}))
        written = len(ended() - before)
        assert bool(written) is (live or kind != "suspend")
        query = "SELECT session_key, generation FROM conversation_generations"
        assert dict(world.sql(query)) == {KEY: 7 + written, "another": 7}
        assert world.operations.apply(world.operations.undo(outcome.operation)).state == "done"
        assert world.row(current)["ended_at"] is None and ended() == before
        assert dict(world.sql(query)) == {KEY: 7 + written, "another": 7}


def test_a_first_conversation_is_counted_by_the_library_too(world: World) -> None:
    older, current = two(world)
    world.sql("UPDATE sessions SET session_key = NULL WHERE id = ?", older)
    query = "SELECT * FROM conversation_generations"
    with SessionDB(world.home / "state.db") as db:
        for session, reason in ((older, "session_reset"), (current, "compression")):
            db.reopen_session(session)
            db.end_session(session, reason)
        assert db.rows(query) == []
        db.reopen_session(current)
        db.end_session(current, "daily")
        db.end_session(current, "idle")  # the first reason stays
        [once] = db.rows(query)
        db.reopen_session(current)
        db.end_session(current, "agent_close")
        assert db.promote_to_session_reset(current) and not db.promote_to_session_reset(current)
    assert once == {"source": "telegram", "session_key": KEY, "generation": 1}
    assert world.sql(query) == [("telegram", KEY, 2)]


def test_all_else_is_refused_with_the_version(world: World, tmp_path: Path) -> None:
    older, _ = two(world)
    said = "its database has schema 30, later than Hermes 0.19's (22)"
    for kind in ("mark", "clear"):
        assert said in world.plan(kind).refusal
    assert said in world.plan("prune", "", days=1).refusal
    assert said in world.plan("delete", "", session=older).refusal
    with gateway(world.home, installed(tmp_path / "old", "0.19.0")):
        assert "it runs Hermes 0.19, and its database has schema 30" in world.plan("reset").refusal
    with gateway(world.home, installed(tmp_path / "late", "0.22.0")):
        assert "it runs Hermes 0.22, and its database has schema 30" in world.plan("reset").refusal
    for schema in (29, 31):
        world.sql("UPDATE schema_version SET version = ?", schema)
        assert f"schema {schema}, later" in world.plan("reset").refusal
        with gateway(world.home, installed(tmp_path / str(schema), "0.21.0")):
            assert f"schema {schema}, later" in world.plan("reset").refusal


def a_store(dice: random.Random) -> tuple[list[dict[str, Any]], set[str]]:
    """A few sessions of some lanes, and which of them have messages."""
    times = dice.sample(range(1000), 40)
    rows: list[dict[str, Any]] = []
    for at in range(dice.randint(1, 7)):
        ended = dice.random() < 0.7
        rows.append(
            {
                **ANA,
                "id": f"s{at}",
                "session_key": dice.choice((KEY, "agent:main:telegram:dm:800", None)),
                "started_at": times.pop(),
                "last_activity_at": times.pop() if dice.random() < 0.7 else None,
                "ended_at": times.pop() if ended else None,
                "end_reason": dice.choice((*ACCIDENTS, *RESETS, "user_exit")) if ended else None,
                "message_count": 0,
                "user_id": dice.choice(("700", "700", "800")),
            }
        )
    return rows, {row["id"] for row in rows if dice.random() < 0.6}


def test_its_own_search() -> None:
    found: Counter[bool] = Counter()
    for number in range(500 * TIMES):
        rows, spoken = a_store(chance(number))
        with closing(apsw.Connection(":memory:")) as raw:
            raw.execute(
                f"CREATE TABLE sessions ({', '.join(rows[0])}); CREATE TABLE messages (session_id, timestamp)"
            )
            marks = ", ".join("?" * len(rows[0]))
            raw.executemany(f"INSERT INTO sessions VALUES ({marks})", [tuple(row.values()) for row in rows])
            raw.executemany("INSERT INTO messages VALUES (?, 0)", [(one,) for one in sorted(spoken)])
            peer = Peer(*(ANA[name] for name in ("source", *PEER)))  # type: ignore[arg-type]
            taken = StoredLanes.of(raw).recovered(KEY, peer, None)
        assert taken == taken_up(rows, spoken, KEY), number
        found[bool(taken)] += 1
    assert min(found[True], found[False]) > 50
