"""Without a gateway: what is written is what Hermes itself would have written; hostile stores are refused whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import HermesTuiError, LaneNotFound, OperationRefused, StoreError, ValidationError
from hermes_tui.lifecycle.lanes import board
from hermes_tui.lifecycle.operations import Audit, Operations, Request
from lifecycle.oracle import Oracle
from lifecycle.sample_home import LIVE, Home
from lifecycle.worlds import ANA, BOB, KEY, World, gateway
from tiny_home import tree_hash

CLEAR = "agent:main:telegram:group:-100700001:12"


@pytest.fixture
def world(hermes: Oracle, tmp_path: Path) -> Iterator[World]:
    """A home whose gateway has stopped; `world.start()` starts it again."""
    world = World(hermes, tmp_path / "user")
    world.start()
    yield world


@pytest.fixture
def home(store: Callable[..., Path], tmp_path: Path) -> Home:
    """Seventeen lanes of a stopped 0.19.0."""
    return Home(store("hermes", "home"), tmp_path)


@pytest.fixture
def old(store: Callable[..., Path], tmp_path: Path) -> Home:
    """Two lanes of a stopped 0.17.0, in sessions.json alone."""
    return Home(store("hermes", "old_versions", "0.17.0"), tmp_path)


# Beside the real one, stopped and started ----------------------------------------------------------------------


def test_a_reset_is_what_the_next_gateway_finds(world: World) -> None:
    world.talk()
    older = world.talk(force_new=True)
    world.say(older)
    world.hermes.close_store()
    outcome = world.apply("reset")
    assert outcome.state == "done"
    assert world.table()[KEY] == world.mirror()[KEY]
    world.start()
    assert world.get() == outcome.session_id
    assert world.row(outcome.session_id)["session_key"] == KEY


def test_the_row_and_entry_of_a_reset_are_those_of_hermes(world: World) -> None:
    """Two lanes, one reset by Hermes and one by us: the same but for names and times."""
    world.talk(ANA)
    world.talk(BOB)
    theirs = world.hermes.store("reset_session", "agent:main:telegram:dm:800")
    world.hermes.close_store()
    ours = world.apply("reset").session_id
    rows = [world.row(theirs["session_id"]), world.row(ours)]
    entries = [world.table()["agent:main:telegram:dm:800"], world.table()[KEY]]
    for row in rows:
        for name in ("id", "started_at"):
            row.pop(name)
    for entry in entries:
        for name in ("session_id", "created_at", "updated_at"):
            entry.pop(name)

    def named(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("800", "700").replace("Bob", "Ana"))

    assert named(rows[0]) == named(rows[1])
    assert named(entries[0]) == named(entries[1])


def test_a_suspended_lane_begins_anew(world: World) -> None:
    world.talk()
    old = world.talk(force_new=True)
    world.hermes.close_store()
    assert world.apply("suspend").state == "done"
    world.start()
    new = world.hermes.get(ANA)
    assert new["session_id"] != old
    assert new["auto_reset_reason"] == "suspended"


@pytest.mark.parametrize("end", ["agent_close", "session_reset"])
def test_a_suspended_lane_whose_session_is_ended_brings_nothing_back(world: World, end: str) -> None:
    older = world.talk()
    old = world.talk(force_new=True)
    world.hermes.close_store()
    world.sql("UPDATE sessions SET ended_at = 1, end_reason = ? WHERE id = ?", end, old)
    outcome = world.apply("suspend")
    assert outcome.state == "done"
    world.start()
    assert world.get() not in (old, older)


def test_a_marked_lane_goes_on(world: World) -> None:
    old = world.talk()
    world.hermes.close_store()
    assert world.apply("mark", reason="shutdown_timeout").state == "done"
    world.start()
    entry = world.hermes.get(ANA)
    assert (entry["session_id"], entry["resume_pending"], entry["resume_reason"]) == (old, True, "shutdown_timeout")
    world.hermes.close_store()
    assert world.apply("clear").state == "done"
    world.start()
    assert world.hermes.get(ANA)["resume_pending"] is False


def test_a_lane_resumed_into_an_earlier_session(world: World) -> None:
    earlier = world.talk()
    world.hermes.store("reset_session", KEY)
    world.talk()
    world.hermes.close_store()
    outcome = world.apply("resume", target=earlier)
    assert (outcome.state, outcome.session_id) == ("done", earlier)
    world.start()
    assert world.get() == earlier


def test_pruned_lanes_do_as_the_plan_said(world: World) -> None:
    old = world.talk(ANA)
    world.talk(BOB)
    world.hermes.close_store()
    world.sql("UPDATE sessions SET ended_at = 1, end_reason = 'idle' WHERE session_key LIKE '%800'")
    world.sql("UPDATE gateway_routing SET entry_json = replace(entry_json, '2026-07-21T', '2025-07-21T')")
    plan = world.plan("prune", "", days=30)
    assert plan.notes == (f"{KEY}: Hermes would take up {old} again",)
    assert "1 of 2 take up" in plan.next_message
    assert world.operations.apply(plan).state == "done"
    assert world.table() == world.mirror() == {}
    world.start()
    assert world.get(ANA) == old


def test_a_gateway_that_starts_in_between_stops_it(world: World) -> None:
    world.talk()
    world.hermes.close_store()
    plan = world.plan("reset")
    before = (world.table(), world.mirror())
    with gateway(world.home), pytest.raises(OperationRefused, match="has changed since"):
        world.operations.apply(plan)

    started: list[Any] = []

    def step(name: str) -> None:
        if name == "rows":
            started.append(gateway(world.home))
            started[0].__enter__()

    operations = Operations(world.environment, audit=Audit(world.user_home / "second.jsonl"), step=step)
    try:
        with pytest.raises(OperationRefused, match="has started meanwhile"):
            operations.apply(plan)
    finally:
        started[0].__exit__(None, None, None)
    assert (world.table(), world.mirror()) == before
    assert [one.state for one in operations.log()] == ["failed"]


def test_a_gateway_that_starts_right_after_is_watched(world: World) -> None:
    """It may have read the index before: until it saves, nobody knows; what it saves tells."""
    world.talk()
    world.start()  # this one has the old entry in its memory
    world.hermes.store("list_sessions")
    started: list[Any] = []

    def step(name: str) -> None:
        if name == "applied":
            started.append(gateway(world.home))
            started[0].__enter__()

    operations = Operations(world.environment, audit=world.audit, step=step)
    try:
        outcome = operations.apply(operations.plan(Request(kind="suspend", key=KEY)))
        assert outcome.state == "pending"
        world.hermes.store("update_session", KEY)  # it saves its own, without the mark
        assert operations.outcome(outcome.operation).state == "lost"
    finally:
        started[0].__exit__(None, None, None)


# What is kept --------------------------------------------------------------------------------------------------


def test_members_that_nobody_knows_and_the_mode_stay(home: Home) -> None:
    members = home.members()
    members["_NOTE"] = "ours"
    members[LIVE]["future"] = {"a": [1, None]}
    members["agent:main:x:dm:broken"] = ["not", "an", "entry"]
    home.index.write_text(json.dumps(members, indent=2))
    home.index.chmod(0o640)
    home.sql(
        "UPDATE gateway_routing SET entry_json = json_set(entry_json, '$.future', 7) WHERE session_key = ?", LIVE
    )
    home.apply("suspend")
    after = home.members()
    assert list(after) == list(members)
    assert after["_README"] == members["_README"]
    assert after["_NOTE"] == "ours"
    assert after["agent:main:x:dm:broken"] == ["not", "an", "entry"]
    assert (after[LIVE]["suspended"], after[LIVE]["future"]) == (True, 7)
    assert home.index.stat().st_mode & 0o777 == 0o640
    assert {key: after[key] for key in members if key != LIVE} == {
        key: members[key] for key in members if key != LIVE
    }
    assert home.index.read_bytes() == json.dumps(after, indent=2).encode()


def test_only_the_lane_and_its_sessions_change(home: Home) -> None:
    def rows() -> dict[str, Any]:
        return {row[0]: row for row in home.sql("SELECT * FROM sessions")}

    before, messages = rows(), home.sql("SELECT count(*), sum(length(content)) FROM messages")
    current = home.plan("reset").session_id
    new = home.apply("reset").session_id
    after = rows()
    assert {id_ for id_ in after if after[id_] != before.get(id_)} == {current, new}
    assert home.sql("SELECT count(*), sum(length(content)) FROM messages") == messages
    assert home.sql("PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize(
    ("kind", "key", "more"),
    [
        ("reset", LIVE, {}),
        ("suspend", LIVE, {}),
        ("mark", LIVE, {}),
        ("clear", CLEAR, {}),
        ("resume", "agent:main:telegram:dm:700001", {"target": "20260614_162517_8648cd1d"}),
        ("prune", "", {"days": 3}),
    ],
)
def test_undo_puts_everything_back(home: Home, kind: str, key: str, more: dict[str, Any]) -> None:
    def everything() -> Any:
        table = dict(home.sql("SELECT session_key, entry_json FROM gateway_routing"))
        return home.sql("SELECT * FROM sessions ORDER BY id"), table, home.members()

    before = everything()
    outcome = home.apply(kind, key, **more)
    assert everything() != before
    undone = home.operations.apply(home.operations.undo(outcome.operation))
    assert undone.state == "done"
    assert everything() == before
    assert [one.state for one in home.operations.log()] == ["done", "undone"]
    assert "undone already" in home.operations.undo(outcome.operation).refusal
    with pytest.raises(ValidationError, match="itself an undo"):
        home.operations.undo(undone.operation)


def test_a_session_that_was_used_is_not_removed(home: Home) -> None:
    outcome = home.apply("reset")
    planned = home.operations.undo(outcome.operation)
    assert not planned.refusal
    home.sql(
        "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'x', 1)", outcome.session_id
    )
    assert (
        f"the session {outcome.session_id} that it made has been used"
        in home.operations.undo(outcome.operation).refusal
    )
    with pytest.raises(OperationRefused, match="has been used"):
        home.operations.apply(planned)
    assert home.sql("SELECT count(*) FROM messages WHERE session_id = ?", outcome.session_id) == [(1,)]


@pytest.mark.parametrize("kind", ["reset", "suspend", "mark"])
def test_what_was_changed_since_is_not_undone(home: Home, kind: str) -> None:
    """The plan says so, before anybody agrees to it."""
    outcome = home.apply(kind)
    home.sql(
        "UPDATE gateway_routing SET entry_json = json_set(entry_json, '$.last_prompt_tokens', 77)"
        " WHERE session_key = ?",
        LIVE,
    )
    tree = tree_hash(home.path)
    plan = home.operations.undo(outcome.operation)
    assert "the store is no longer as the operation left it" in plan.refusal
    with pytest.raises(OperationRefused, match="no longer as the operation left it"):
        home.operations.apply(plan)
    assert tree_hash(home.path) == tree


@pytest.mark.parametrize("kind", ["reset", "suspend", "resume"])
def test_another_lanes_session_is_left_open(world: World, kind: str) -> None:
    """Two lanes of one peer, told apart by another name of the person: Hermes might take up either's session."""
    mine = {"platform": "signal", "chat_id": "", "chat_type": "dm", "user_id": "+49", "user_id_alt": "uuid-1"}
    other = {**mine, "user_id_alt": "uuid-2"}
    wanted = world.talk(mine)
    current = world.talk(mine, force_new=True)
    theirs = world.talk(other, force_new=True)
    world.hermes.close_store()
    if kind == "suspend":  # of a lane whose session is over: only then are any rows closed
        world.sql("UPDATE sessions SET ended_at = 1, end_reason = 'agent_close' WHERE id = ?", current)
    before = world.row(theirs)
    target = {"target": wanted} if kind == "resume" else {}
    outcome = world.apply(kind, "agent:main:signal:dm:uuid-1", **target)
    assert outcome.state == "done"
    assert theirs not in {row.session_id for row in world.audited().changes.rows}
    assert world.row(theirs) == before
    world.start()
    assert world.get(other) == theirs


def test_a_session_of_two_lanes_is_said_to_be_one(world: World) -> None:
    """Hermes took it up for the second lane, whose sender and chat are the same; a reset of its own ends it too."""
    mine = {"platform": "signal", "chat_id": "", "chat_type": "dm", "user_id": "+49", "user_id_alt": "uuid-1"}
    other = {**mine, "user_id_alt": "uuid-2"}
    both = world.talk(mine)
    assert world.talk(other) == both
    world.hermes.close_store()
    plan = world.plan("reset", "agent:main:signal:dm:uuid-1")
    assert "lane agent:main:signal:dm:uuid-2 is in the same session, and begins a fresh one as well" in plan.notes
    world.operations.apply(plan)
    world.start()
    assert world.get(other) not in (both, plan.becomes)


# The documents' store ------------------------------------------------------------------------------------------


def test_a_store_of_before_the_table(old: Home) -> None:
    key = "agent:main:telegram:dm:700001"
    before = old.members()[key]
    outcome = old.apply("reset", key)
    after = old.members()[key]
    assert after["session_id"] == outcome.session_id != before["session_id"]
    rows = dict(old.sql("SELECT id, end_reason FROM sessions"))
    assert rows[before["session_id"]] == "session_reset"
    assert rows[outcome.session_id] is None
    assert old.apply("suspend", key).state == "done"
    assert old.members()[key]["suspended"] is True
    assert old.apply("reset", key).state == "done"
    assert old.apply("mark", key).state == "done"
    assert old.apply("clear", key).state == "done"


@pytest.mark.parametrize("label", ["0.13.0", "0.15.0", "0.16.0", "0.17.0", "0.18.0", "0.18.2"])
def test_every_old_version(label: str, store: Callable[..., Path], tmp_path: Path) -> None:
    home = Home(store("hermes", "old_versions", label), tmp_path)
    found = board(home.environment)
    assert found.problems == ()
    key = next(lane.key for lane in found.lanes if lane.state == "live")
    columns = home.sql("PRAGMA table_info(sessions)")
    outcome = home.apply("reset", key)
    assert outcome.state == "done"
    assert next(lane.session_id for lane in board(home.environment).lanes if lane.key == key) == outcome.session_id
    assert home.sql("PRAGMA table_info(sessions)") == columns


@pytest.mark.parametrize("label", ["v1", "v2", "v3", "v4", "v5", "v6"])
def test_documented_stores_have_no_lanes(label: str, store: Callable[..., Path], tmp_path: Path) -> None:
    home = Home(store("hermes", "old_versions", label), tmp_path)
    assert board(home.environment).lanes == ()
    with pytest.raises(LaneNotFound):
        home.plan("reset")


# Hostile stores ------------------------------------------------------------------------------------------------


def test_a_torn_index_is_refused(home: Home) -> None:
    whole = home.index.read_text()
    for torn in (whole[: len(whole) // 2], "", "[]", "\x00\xff", "null"):
        home.index.write_text(torn)
        home.refuses("suspend", LIVE, "sessions.json may not be rewritten")


def test_a_key_that_is_there_twice_is_refused(home: Home) -> None:
    whole = home.index.read_text()
    home.index.write_text(whole.replace("{", '{"agent:main:x:dm:1": {}, "agent:main:x:dm:1": {},', 1))
    home.refuses("suspend", LIVE, "is there twice")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("'$.session_id', '../../etc/passwd'", "holds parts of a path"),
        ("'$.session_id', 5.5", "session_id"),
        ("'$.updated_at', '2026-06-14T10:47:08+00:00'", "without a zone"),
        ("'$.created_at', 'yesterday'", "created_at"),
        ("'$.suspended', 'yes'", "suspended"),
        ("'$.last_prompt_tokens', json('[]')", "last_prompt_tokens"),
        ("'$.origin', 'nowhere'", "origin"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(home: Home, change: str, reason: str) -> None:
    home.sql(f"UPDATE gateway_routing SET entry_json = json_set(entry_json, {change}) WHERE session_key = ?", LIVE)
    home.refuses("suspend", LIVE, reason)
    lane = next(one for one in board(home.environment).lanes if one.key == LIVE)
    assert (lane.state, reason in lane.fault) == ("unreadable", True)
    assert len(board(home.environment).lanes) == 17


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"session_id": "a", "session_id": "b"}', "[1]", "{", '{"a": 1e999}'])
def test_an_entry_that_is_no_json_is_refused(home: Home, text: str) -> None:
    home.sql("UPDATE gateway_routing SET entry_json = ? WHERE session_key = ?", text, LIVE)
    home.refuses("reset", LIVE, "cannot be understood")
    assert home.apply("suspend", "agent:main:signal:dm:uuid-1").state == "done"  # its neighbours are not in its way


def test_both_places_in_disagreement(home: Home) -> None:
    members = home.members()
    members[LIVE]["session_id"] = "20260614_041927_75ba28"
    home.index.write_text(json.dumps(members, indent=2))
    lane = next(one for one in board(home.environment).lanes if one.key == LIVE)
    assert lane.disagreement == "sessions.json says session 20260614_041927_75ba28"
    assert lane.session_id == "20260614_104550_73114e68"
    plan = home.plan("suspend")
    assert any("disagree" in words for words in plan.read)
    home.operations.apply(plan)
    assert home.members()[LIVE]["session_id"] == "20260614_104550_73114e68"


def test_a_lane_of_several_directories_is_refused(home: Home) -> None:
    home.sql("INSERT INTO gateway_routing SELECT '/elsewhere', session_key, entry_json, 1 FROM gateway_routing")
    home.refuses("suspend", LIVE, "several other directories")


def test_the_row_of_this_directory_is_the_one(home: Home) -> None:
    here = str(home.index.parent.resolve())
    home.sql("INSERT INTO gateway_routing SELECT ?, session_key, entry_json, 1 FROM gateway_routing", here)
    home.apply("suspend")
    found = dict(
        home.sql(
            "SELECT scope, json_extract(entry_json, '$.suspended') FROM gateway_routing WHERE session_key = ?", LIVE
        )
    )
    assert found == {here: 1, "/home/hermes/.hermes/sessions": 0}


def test_a_read_only_store_is_refused(home: Home) -> None:
    for path, mode in ((home.path / "state.db", 0o444), (home.path, 0o555)):
        before = path.stat().st_mode
        path.chmod(mode)
        home.refuses("suspend", LIVE, "read-only")
        path.chmod(before)


def test_somebody_elses_store_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    home.refuses("suspend", LIVE, "belongs to another user")


def test_a_full_disk_changes_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (home.members(), home.sql("SELECT * FROM sessions"), home.sql("SELECT * FROM gateway_routing"))
    plan = home.plan("suspend")

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):  # our own log comes first
        home.operations.apply(plan)
    monkeypatch.undo()
    assert (home.members(), home.sql("SELECT * FROM sessions"), home.sql("SELECT * FROM gateway_routing")) == before
    assert [one.state for one in home.operations.log()] == ["failed"]


def test_a_log_that_is_full_afterwards_hides_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operation was begun in the log and done in the store: that is what is said, with the trouble."""
    plan = home.plan("suspend")
    write, calls = os.write, []

    def full(number: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(number, data)

    monkeypatch.setattr(os, "write", full)
    outcome = home.operations.apply(plan)
    monkeypatch.undo()
    assert outcome.state == "done"
    assert "No space left" in outcome.text
    assert home.members()[LIVE]["suspended"] is True
    assert [one.state for one in home.operations.log()] == ["done"]


def test_a_full_database_changes_nothing(home: Home) -> None:
    """SQLite's own limit of pages, as a full disk would do."""
    code = """
import sys, apsw
from pathlib import Path
from hermes_tui.lifecycle.operations import Audit, Operations, Request
from session_adapters.base import Environment
apsw.connection_hooks.append(lambda connection: connection.execute("PRAGMA max_page_count = 1"))
operations = Operations(Environment(home=Path(sys.argv[1])), audit=Audit(Path(sys.argv[2])))
try:
    operations.apply(operations.plan(Request(kind="reset", key=sys.argv[3])))
except Exception as error:
    print(type(error).__name__, error)
print([one.state for one in operations.log()])
"""
    padding = "x" * 200_000  # an entry that needs new pages
    home.sql(
        "UPDATE gateway_routing SET entry_json = json_set(entry_json, '$.pad', ?) WHERE session_key = ?",
        padding,
        LIVE,
    )
    before = (home.members(), home.sql("SELECT * FROM sessions"), home.sql("SELECT * FROM gateway_routing"))
    ran = subprocess.run(
        [sys.executable, "-c", code, str(home.path.parent), str(home.audit), LIVE],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "full" in ran.stdout, ran.stdout + ran.stderr
    assert "['failed']" in ran.stdout
    assert (home.members(), home.sql("SELECT * FROM sessions"), home.sql("SELECT * FROM gateway_routing")) == before


def test_a_mirror_that_cannot_be_written_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    plan = home.plan("suspend")
    monkeypatch.setattr("hermes_tui.replacing.os.replace", full)
    outcome = home.operations.apply(plan)
    assert outcome.state == "done"
    assert "mirror sessions.json was not written" in outcome.text
    assert not [path for path in home.index.parent.iterdir() if path.suffix == ".tmp"]


def test_no_database_and_no_profile(home: Home) -> None:
    (home.path / "state.db").unlink()
    with pytest.raises(StoreError, match="has no database"):
        home.plan("suspend")
    with pytest.raises(ValidationError, match="no Hermes profile 'nobody'"):
        home.plan("suspend", profile="nobody")
    assert not (home.path / "state.db").exists()


def test_a_damaged_database(home: Home) -> None:
    raw = bytearray((home.path / "state.db").read_bytes())
    raw[4096:] = b"\xff" * (len(raw) - 4096)
    (home.path / "state.db").write_bytes(raw)
    before = tree_hash(home.path)
    with pytest.raises(HermesTuiError):
        home.operations.apply(home.plan("suspend"))
    assert tree_hash(home.path) == before
    assert board(home.environment).problems


def test_a_topic_that_is_bound_for_good(home: Home) -> None:
    home.sql("CREATE TABLE telegram_dm_topic_bindings (chat_id, thread_id, user_id, session_key, session_id UNIQUE)")
    home.sql("INSERT INTO telegram_dm_topic_bindings VALUES ('1', '2', '3', ?, 'x')", LIVE)
    home.refuses("reset", LIVE, "a topic of Telegram's is bound")


def test_targets_that_make_no_sense(home: Home) -> None:
    for target, reason in (
        ("nothing", "has no session 'nothing'"),
        ("../../etc/passwd", "has no session"),
        ("20260613_231025_11f898", "has no messages"),
        ("20260614_034027_d52695", "goes on in"),
        ("20260614_104550_73114e68", "is in that session already"),
        ("20260614_151019_48ab13ff", "another lane is in it"),
        ("20260614_041927_75ba28", "belongs to another chat"),
    ):
        home.refuses("resume", LIVE, reason, target=target)


def test_a_session_that_is_open_in_a_terminal(home: Home) -> None:
    started = int(Path(f"/proc/{os.getpid()}/stat").read_bytes().rpartition(b")")[2].split()[19])
    entry = {"session_id": "20260614_104550_73114e68", "pid": os.getpid(), "process_start_time": started}
    (home.path / "runtime").mkdir()
    (home.path / "runtime" / "active_sessions.json").write_text(json.dumps({"entries": [entry]}))
    home.refuses("reset", LIVE, f"is open in process {os.getpid()}")
    home.refuses("resume", "agent:main:signal:dm:uuid-1", "another lane", target="20260614_104550_73114e68")
    assert home.apply("mark").state == "done"


def test_marks_that_make_no_sense(home: Home) -> None:
    home.refuses("mark", "agent:main:slack:channel:C0700001:1781000.0001", "it is suspended")
    home.refuses("suspend", "agent:main:slack:channel:C0700001:1781000.0001", "suspended already")
    home.refuses("clear", LIVE, "no resume mark")
    home.refuses("mark", "agent:main:discord:thread:70000198:70000198", "drops the lane when it starts")
    with pytest.raises(ValidationError, match="reason is one of"):
        home.plan("mark", reason="because")
    with pytest.raises(ValidationError, match="days above 0"):
        home.plan("prune", "", days=0)
    with pytest.raises(LaneNotFound):
        home.plan("reset", "agent:main:nobody")


def test_a_plan_writes_nothing(home: Home) -> None:
    before = tree_hash(home.path)
    for kind, more in (("reset", {}), ("suspend", {}), ("mark", {}), ("prune", {"days": 1})):
        home.plan(kind, "" if kind == "prune" else LIVE, **more)
    board(home.environment)
    assert tree_hash(home.path) == before
    assert not home.audit.exists()


def test_read_only_refuses(home: Home) -> None:
    before = tree_hash(home.path)
    operations = Operations(home.environment, audit=Audit(home.audit), read_only=True)
    with pytest.raises(OperationRefused, match="read-only"):
        operations.apply(operations.plan(Request(kind="suspend", key=LIVE)))
    assert tree_hash(home.path) == before


def test_the_log_is_the_owners_alone_and_survives_a_torn_line(home: Home) -> None:
    home.apply("suspend")
    assert home.audit.stat().st_mode & 0o777 == 0o600
    assert home.audit.parent.stat().st_mode & 0o777 == 0o700
    with home.audit.open("ab") as file:
        file.write(b'{"operation": "torn", "ev')
    home.apply("reset")
    assert [one.request.kind for one in home.operations.log()] == ["reset", "suspend"]


def test_the_log_of_another_home_is_none_of_ours(home: Home, old: Home) -> None:
    """One log for a user, several homes that the program may be shown."""
    outcome = home.apply("suspend")
    other = Operations(old.environment, audit=Audit(home.audit))
    assert other.log() == []
    assert other.pending() == []
    with pytest.raises(ValidationError, match="no operation"):
        other.outcome(outcome.operation)
    with pytest.raises(ValidationError, match="no operation"):
        other.undo(outcome.operation)


def test_two_at_once(home: Home) -> None:
    """Both planned on the same lane: the second finds it changed."""
    first, second = home.plan("suspend"), home.plan("reset")
    home.operations.apply(first)
    with pytest.raises(OperationRefused, match="has changed since"):
        home.operations.apply(second)
