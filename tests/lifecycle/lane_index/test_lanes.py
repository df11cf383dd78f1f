"""The lanes as they are shown: compared with the raw files, and with a real Hermes' idea of when they reset."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from databases import run_python, shared_folder, unprivileged
from hermes_tui.lifecycle.lanes import Lane, board, lanes
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from oracle.hermes import Oracle
from session_adapters.base import Environment
from tiny_home import tree_hash

IMPORTS = "yaml, hermes_tui.lifecycle.lanes, hermes_tui.lifecycle.gateway.home_state"
"""What a user who may not read this checkout needs beforehand."""
NOW = datetime(2026, 6, 16, 0, 10, tzinfo=UTC)


@pytest.fixture
def home(store: Callable[..., Path]) -> Path:
    return store("hermes", "home")


def found(home: Path, now: datetime = NOW) -> dict[str, Lane]:
    return {lane.key: lane for lane in lanes(Environment(home=home), now)}


def raw(home: Path) -> dict[str, Any]:
    members = json.loads((home / ".hermes" / "sessions" / "sessions.json").read_text())
    return {key: value for key, value in members.items() if key != "_README"}


def rows(home: Path) -> dict[str, dict[str, Any]]:
    connection = sqlite3.connect(home / ".hermes" / "state.db")
    connection.row_factory = sqlite3.Row
    result = {row["id"]: dict(row) for row in connection.execute("SELECT * FROM sessions")}
    connection.close()
    return result


def test_every_lane_says_what_stands_in_the_store(home: Path) -> None:
    shown, entries, sessions = found(home), raw(home), rows(home)
    assert set(shown) == set(entries)
    for key, entry in entries.items():
        lane, row = shown[key], sessions[entry["session_id"]]
        assert (lane.session_id, lane.platform) == (entry["session_id"], entry["platform"])
        assert lane.last_active == datetime.fromisoformat(entry["updated_at"]).replace(tzinfo=UTC)
        assert lane.context_tokens == entry["last_prompt_tokens"]
        assert (lane.input_tokens, lane.output_tokens) == (row["input_tokens"], row["output_tokens"])
        assert lane.messages == row["message_count"]
        assert ("suspended" in lane.flags, "resume_pending" in lane.flags) == (
            entry["suspended"],
            entry["resume_pending"],
        )
        assert {one.session_id for one in lane.earlier} == {
            id_ for id_, one in sessions.items() if one["session_key"] == key and id_ != entry["session_id"]
        }
        assert not lane.disagreement and not lane.fault
    times = [lane.last_active for lane in lanes(Environment(home=home), NOW)]
    assert times == sorted(times, reverse=True)  # type: ignore[type-var]


def test_states_of_the_sample(home: Path) -> None:
    states = {key: lane.state for key, lane in found(home).items()}
    assert states["agent:main:slack:channel:C0700001:1781000.0001"] == "suspended"
    assert states["agent:main:telegram:group:-100700001:12"] == "resume pending"
    assert states["agent:main:discord:thread:70000198:70000198"] == "ended"
    carla = found(home)["agent:main:whatsapp:dm:15551234567"]
    assert (carla.state, carla.continues_in, carla.end_reason) == ("ended", "20260615_193817_b746e8", "compression")


@pytest.mark.parametrize("mode", ["none", "both"])
def test_where_the_next_message_goes_is_what_the_real_one_does(home: Path, hermes: Oracle, mode: str) -> None:
    """Of every lane of the sample; also of one that was compressed, which a gateway that starts drops."""
    root = home / ".hermes"
    (root / "config.yaml").write_text(f"session_reset: {{mode: {mode}, idle_minutes: 720, at_hour: 4}}\n")
    connection = sqlite3.connect(root / "state.db")
    with connection:
        connection.execute("UPDATE gateway_routing SET scope = ?", (str((root / "sessions").resolve()),))
    connection.close()
    shown, entries, known = found(home), raw(home), set(rows(home))
    assert {lane.state for lane in shown.values()} >= {"ended", "suspended"}
    assert any(lane.state == "expired" for lane in shown.values()) is (mode == "both")
    hermes.close_store()
    hermes.home_is(root)
    hermes.open(now=NOW.replace(tzinfo=None), policy=hermes.config(root)["default_reset_policy"])
    for key, lane in shown.items():
        origin = {name: value for name, value in entries[key]["origin"].items() if name != "guild_id"}
        went = hermes.get(origin)["session_id"]
        if lane.state in ("expired", "ended", "suspended") or lane.reset_due:
            assert went not in known, key
        else:
            assert went == lane.session_id, key
    hermes.close_store()


def test_people_see_whom_a_lane_is_with(home: Path) -> None:
    shown = found(home)
    assert shown["agent:main:telegram:dm:700001:17"].chat == "Ana › 17"
    assert shown["agent:main:telegram:group:-100700001:12"].who == "Ana"
    assert shown["agent:main:slack:channel:C0700001:1781000.0001"].who == "shared"
    assert dict(shown["agent:main:discord:channel:70000199:77"].parts) == {
        "namespace": "main",
        "platform": "discord",
        "chat type": "channel",
        "chat": "70000199",
        "participant": "77",
    }


def test_where_a_compressed_session_goes_on_is_nothing_earlier(home: Path) -> None:
    """A lane at the head of its chain, and one whose gateway has not moved it there yet."""
    key = "agent:main:whatsapp:dm:15551234567"
    tip = found(home)[key].continues_in
    connection = sqlite3.connect(home / ".hermes" / "state.db")
    with connection:
        connection.execute("UPDATE sessions SET session_key = ? WHERE id = ?", (key, tip))
    connection.close()
    lane = found(home)[key]
    assert (lane.continues_in, tip in [one.session_id for one in lane.earlier]) == (tip, False)
    assert lane.last_reset != "compression"


def test_a_lane_that_was_reset_every_day_for_a_year_has_all_of_them(home: Path) -> None:
    key = "agent:main:discord:dm:70000197"
    before = len(found(home)[key].earlier)
    connection = sqlite3.connect(home / ".hermes" / "state.db")
    with connection:
        connection.executemany(
            "INSERT INTO sessions (id, source, session_key, started_at, ended_at, end_reason)"
            " VALUES (?, 'discord', ?, ?, 2, 'daily')",
            [(f"day-{day}", key, day) for day in range(365)],
        )
    connection.close()
    assert len(found(home)[key].earlier) == before + 365


def test_why_the_last_reset_happened(home: Path) -> None:
    shown = found(home)
    assert shown["agent:main:discord:channel:70000199:77"].last_reset == "idle"
    assert shown["agent:main:slack:channel:C0700001:U1"].last_reset == "daily"
    assert shown["agent:main:telegram:group:-100700001:11"].last_reset == "suspended"
    assert shown["agent:main:telegram:dm:700001"].last_reset == "session_switch"


def test_the_last_reset_is_the_one_that_ended_last(home: Path) -> None:
    """Not that of the session that began last: one may have gone on in an older one since."""
    key = "agent:main:telegram:dm:700001"
    connection = sqlite3.connect(home / ".hermes" / "state.db")
    with connection:
        connection.executemany(
            "INSERT INTO sessions (id, source, session_key, started_at, ended_at, end_reason)"
            " VALUES (?, 'telegram', ?, ?, ?, ?)",
            [
                ("late-start", key, 9e9, 9.1e9, "idle"),
                ("late-end", key, 8e9, 9.2e9, "daily"),
                ("open", key, 9.5e9, None, None),
            ],
        )
    connection.close()
    assert found(home)[key].last_reset == "daily"


def test_when_a_lane_will_reset(home: Path) -> None:
    config = home / ".hermes" / "config.yaml"
    key = "agent:main:slack:channel:C0700001:U1"  # active 2026-06-15 19:35:51, its resume mark is of 19:39:42
    config.write_text("session_reset:\n  mode: daily\n  at_hour: 4\n")
    lane = found(home, datetime(2026, 6, 15, 20, tzinfo=UTC))[key]
    assert (lane.policy, lane.resets) == ("daily at 04:00", "resume mark expires, in 40 min")
    plain = "agent:main:discord:channel:70000199:77"  # active 2026-06-14 17:32:51
    lane = found(home, datetime(2026, 6, 15, 0, 48, tzinfo=UTC))[plain]
    assert (lane.resets, lane.reset_due) == ("daily at 04:00, in 3 h 12 min", False)
    assert lane.next_reset == datetime(2026, 6, 15, 4, tzinfo=UTC)
    lane = found(home, datetime(2026, 6, 15, 5, tzinfo=UTC))[plain]
    assert (lane.resets, lane.reset_due) == ("daily at 04:00, at the next message", True)
    config.write_text("session_reset:\n  mode: idle\n  idle_minutes: 60\n")
    lane = found(home, datetime(2026, 6, 14, 17, 52, tzinfo=UTC))[plain]
    assert lane.resets == "idle, in 41 min"
    config.write_text("session_reset:\n  mode: none\n")
    assert found(home)[plain].resets == "never"


def test_restarts_in_a_row_are_counted(home: Path) -> None:
    key = "agent:main:signal:dm:uuid-1"
    for name in (".restart_failure_counts", "restart_counts.json"):  # the program's name, the document's
        path = home / ".hermes" / name
        path.write_text(json.dumps({key: 2}))
        assert found(home)[key].restarts == 2
        path.unlink()
    (home / ".hermes" / ".restart_failure_counts").write_text("[3]")
    assert "restart_failure_counts" in board(Environment(home=home), NOW).problems[0]


def test_every_profile_has_its_own(home: Path) -> None:
    coder = home / ".hermes" / "profiles" / "coder"
    (coder / "sessions").mkdir()
    index = json.loads((home / ".hermes" / "sessions" / "sessions.json").read_text())
    (coder / "sessions" / "sessions.json").write_text(json.dumps(index))
    shown = board(Environment(home=home), NOW)
    assert [(one.name, one.lanes, one.gateway.state) for one in shown.profiles] == [
        ("default", 17, "stopped"),
        ("coder", 17, "stopped"),
    ]
    assert {lane.profile for lane in shown.lanes} == {"default", "coder"}
    assert all(
        lane.state in ("no session", "suspended", "resume pending") for lane in shown.lanes if lane.profile == "coder"
    )


def test_lanes_of_another_directory_are_said_to_be(home: Path) -> None:
    (note,) = board(Environment(home=home), NOW).profiles[0].notes
    assert "/home/hermes/.hermes/sessions" in note


def test_a_lane_in_one_place_only(home: Path) -> None:
    path = home / ".hermes" / "sessions" / "sessions.json"
    members = json.loads(path.read_text())
    moved = members.pop("agent:main:signal:dm:uuid-1")
    members["agent:main:signal:dm:uuid-9"] = {**moved, "session_key": "agent:main:signal:dm:uuid-9"}
    path.write_text(json.dumps(members))
    shown = found(home)
    assert shown["agent:main:signal:dm:uuid-1"].disagreement == "not in sessions.json"
    assert shown["agent:main:signal:dm:uuid-9"].disagreement == "only in sessions.json"
    path.unlink()  # switched off: nothing to disagree with
    assert {lane.disagreement for lane in found(home).values()} == {""}


def test_a_database_that_cannot_be_read_makes_no_lane_sessionless(home: Path) -> None:
    """What the mirror says is shown, as such; that there is no session is not known."""
    database = home / ".hermes" / "state.db"
    before = found(home)
    database.write_bytes(b"no database at all\n" * 500)
    shown = board(Environment(home=home), NOW)
    mine = [lane for lane in shown.lanes if lane.profile == "default"]
    assert {lane.key for lane in mine} == set(before)
    assert {lane.state for lane in mine} == {"unknown", "suspended", "resume pending"}
    (problem,) = shown.profiles[0].problems
    assert str(database) in problem
    assert "as sessions.json has them" in problem
    assert "hermes sessions repair" in problem
    database.unlink()
    shown = board(Environment(home=home), NOW)
    assert "unknown" not in {lane.state for lane in shown.lanes}
    assert str(database) in shown.profiles[0].notes[0]


def test_a_database_of_something_else(home: Path) -> None:
    database = home / ".hermes" / "state.db"
    database.unlink()
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    shown = board(Environment(home=home), NOW)
    assert "a database, but not Hermes' session store" in shown.profiles[0].problems[0]
    assert "unknown" in {lane.state for lane in shown.lanes}


def test_what_this_user_may_not_read_is_said_to_be_so() -> None:
    """A database, and a whole home, of somebody else."""
    code = """
import sys
from pathlib import Path
from hermes_tui.lifecycle.lanes import board
from session_adapters.base import Environment
for name in ("shut", "secret/home"):
    found = board(Environment(home=Path("/"), variables={"HERMES_HOME": f"{sys.argv[1]}/{name}"}))
    print(*found.problems, found.no_home, sep="|")
"""
    with shared_folder() as folder:
        (folder / "shut").mkdir()
        connection = sqlite3.connect(folder / "shut" / "state.db")
        connection.execute("CREATE TABLE sessions (id)")
        connection.close()
        (folder / "shut" / "state.db").chmod(0o000)
        (folder / "secret" / "home").mkdir(parents=True)
        (folder / "secret").chmod(0o000)
        shut, secret = run_python(code, folder, user=unprivileged(), imports=IMPORTS).stdout.splitlines()
    assert f"{folder}/shut/state.db: it cannot be opened; this user may not read it" in shut
    assert f"{folder}/secret/home cannot be looked at (Permission denied), and HERMES_HOME names it" in secret


def test_a_torn_mirror_leaves_the_lanes_of_the_database(home: Path) -> None:
    path = home / ".hermes" / "sessions" / "sessions.json"
    path.write_text(path.read_text()[:700])
    shown = board(Environment(home=home), NOW)
    assert len([lane for lane in shown.lanes if lane.profile == "default"]) == 17
    (problem,) = shown.profiles[0].problems
    assert str(path) in problem
    assert "as the database has them, repair it or move it away" in problem


def test_nobody_is_told_to_move_an_index_that_is_another_users(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / ".hermes" / "sessions" / "sessions.json"
    path.write_text(path.read_text()[:700])
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    shown = board(Environment(home=home), NOW)
    problem = next(one for one in shown.profiles[0].problems if str(path) in one)
    plan = Operations(Environment(home=home)).plan(Request(kind="reset", key=shown.lanes[0].key))
    for said in (problem, plan.refusal):
        assert said.endswith("this user may not read it, so run this as the one whose it is")


def test_no_home_no_lanes(tmp_path: Path) -> None:
    found = board(Environment(home=tmp_path))
    assert (found.profiles, found.lanes) == ((), ())
    assert f"{tmp_path / '.hermes'} is not there; set HERMES_HOME" in found.no_home
    file = tmp_path / "file"
    file.touch()
    named = board(Environment(home=tmp_path, variables={"HERMES_HOME": str(file)}))
    assert f"{file} is no directory, and HERMES_HOME names it" in named.no_home


def test_looking_changes_nothing_and_encodes(home: Path) -> None:
    before = tree_hash(home)
    encoded = msgspec.json.decode(msgspec.json.encode(board(Environment(home=home), NOW)))
    assert len(encoded["lanes"]) == 17
    assert {"profile", "key", "state", "sessionId", "resets"} <= set(encoded["lanes"][0])
    assert tree_hash(home) == before


def test_a_thousand_lanes_are_quick(home: Path) -> None:
    path = home / ".hermes" / "sessions" / "sessions.json"
    members = json.loads(path.read_text())
    one = members["agent:main:signal:dm:uuid-1"]
    for number in range(1000):
        members[f"agent:main:signal:dm:x{number}"] = {**one, "session_key": f"agent:main:signal:dm:x{number}"}
    path.write_text(json.dumps(members))
    assert len(found(home, NOW + timedelta(days=1))) == 1017
