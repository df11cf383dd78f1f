"""Stores and requests that make no sense, or that cannot be written: refused whole, with the reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import HermesTuiError, LaneNotFound, OperationRefused, StoreError, ValidationError
from hermes_tui.lifecycle.lanes import board
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from lifecycle.sample_home import LIVE, Home
from tiny_home import tree_hash

CLEAR = "agent:main:telegram:group:-100700001:12"


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
    with pytest.raises(StoreError, match="No space left on device; without it nothing is changed"):  # our own log
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
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from session_adapters.base import Environment
apsw.connection_hooks.append(lambda one: one.filename and one.execute("PRAGMA max_page_count = 1"))
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
        timeout=180,
        check=False,
    )
    assert "full" in ran.stdout, ran.stdout + ran.stderr
    assert "['failed']" in ran.stdout
    assert (home.members(), home.sql("SELECT * FROM sessions"), home.sql("SELECT * FROM gateway_routing")) == before


def test_a_mirror_that_cannot_be_written_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    plan = home.plan("suspend")
    monkeypatch.setattr("hermes_tui.platform.atomic_write.os.replace", full)
    outcome = home.operations.apply(plan)
    assert outcome.state == "done"
    assert "mirror sessions.json was not written" in outcome.text
    assert not [path for path in home.index.parent.iterdir() if path.suffix == ".tmp"]


def test_an_index_that_cannot_be_written_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prune writes it before the rows: nothing is to be put back then, and later operations are not in its way."""
    before = (home.members(), home.sql("SELECT * FROM gateway_routing"))
    plan = home.plan("prune", "", days=3)

    def refused(*_: Any, **__: Any) -> tuple[int, str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("hermes_tui.platform.atomic_write.tempfile.mkstemp", refused)
    with pytest.raises(StoreError, match=r"sessions\.json cannot be written: Permission denied\."):
        home.operations.apply(plan)
    assert (home.members(), home.sql("SELECT * FROM gateway_routing")) == before
    assert [(one.state, "Permission denied" in one.text) for one in home.operations.log()] == [("failed", True)]
    assert home.apply("suspend").state == "done"


def test_an_index_that_cannot_be_put_back_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full once the index is written: the next operation puts it back."""
    full = {"now": False}
    mkstemp = tempfile.mkstemp

    def draft(*given: Any, **named: Any) -> tuple[int, str]:
        if full["now"]:
            raise OSError(28, "No space left on device")
        return mkstemp(*given, **named)

    def step(name: str) -> None:
        if name == "commit":
            full["now"] = True
            raise StoreError("The disk is full.")

    monkeypatch.setattr("hermes_tui.platform.atomic_write.tempfile.mkstemp", draft)
    operations = Operations(home.environment, audit=Audit(home.audit), step=step)
    before = home.members()
    plan = home.plan("prune", "", days=3)
    with pytest.raises(StoreError, match=r"The disk is full; but the file was written before, .*: No space left"):
        operations.apply(plan)
    assert home.members() != before
    with pytest.raises(StoreError, match=r"sessions\.json cannot be written: No space left"):
        home.apply("suspend")
    full["now"] = False
    assert home.apply("suspend").state == "done"
    suspended = home.operations.log()[0].operation
    assert home.operations.apply(home.operations.undo(suspended)).state == "done"
    assert home.members() == before


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
