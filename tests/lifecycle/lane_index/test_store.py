"""`SessionStore` with the document's store, which it makes, and where it keeps more than Hermes does."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.gateway.configuration import GatewayConfig
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.policy import SessionResetPolicy, next_reset
from hermes_tui.lifecycle.recovery import auto_resumable, count_busy, mark_clean_shutdown, recover, restart_counts
from hermes_tui.lifecycle.source import SessionSource
from hermes_tui.lifecycle.state_db.database import SessionDB
from hermes_tui.lifecycle.store import SessionStore
from hermes_tui.platform import paths
from oracle.hermes import Oracle

ANA = SessionSource(platform="telegram", chat_id="1", user_id="1", chat_name="Ana")
BOB = SessionSource(platform="telegram", chat_id="2", user_id="2")
KEY = "agent:main:telegram:dm:1"


class Clock:
    """A wall clock that only moves when told."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 7, 21, 12)

    def __call__(self) -> datetime:
        return self.moment

    def later(self, **span: float) -> None:
        self.moment += timedelta(**span)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_store(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., SessionStore]]:
    """`open_store()`: on a database of the document's."""

    opened: list[SessionDB] = []

    def make(mode: str = "none") -> SessionStore:
        config = GatewayConfig(default_reset_policy=SessionResetPolicy(mode=mode, idle_minutes=30))
        db = SessionDB(tmp_path / "state.db")
        opened.append(db)
        return SessionStore(tmp_path / "sessions", config, db=db, clock=clock)

    yield make
    for db in opened:
        db.close()


def index(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "sessions" / "sessions.json").read_text())
    return found


def test_the_documents_store(open_store: Callable[..., SessionStore], tmp_path: Path, clock: Clock) -> None:
    """A database of version 6 has no routing table: the lanes are in sessions.json (spec 002 section 3)."""
    store = open_store("idle")
    first = store.get_or_create_session(ANA)
    assert store.get_or_create_session(ANA).session_id == first.session_id
    store.append_to_transcript(first.session_id, {"role": "user", "content": "hello"})
    assert [one["content"] for one in store.load_transcript(first.session_id)] == ["hello"]
    clock.later(minutes=31)
    second = store.get_or_create_session(ANA)
    assert (second.was_auto_reset, second.auto_reset_reason) == (True, "idle")
    assert second.session_id != first.session_id
    again = open_store("idle")
    assert again.peek_session_id(KEY) == second.session_id
    assert (tmp_path / "sessions" / "sessions.json").stat().st_mode & 0o777 == 0o600
    assert list(index(tmp_path)) == [KEY], "no note about a table that is not there"


def test_the_real_one_reads_what_we_wrote(
    open_store: Callable[..., SessionStore], tmp_path: Path, hermes: Oracle, clock: Clock
) -> None:
    """It brings our database to its own version and imports our lanes."""
    store = open_store()
    entry = store.get_or_create_session(ANA)
    store.append_to_transcript(entry.session_id, {"role": "user", "content": "hello"})
    store.mark_resume_pending(KEY, "shutdown_timeout")
    hermes.close_store()
    hermes.home_is(tmp_path)
    hermes.open(now=clock.moment)
    found = hermes.get({"platform": "telegram", "chat_id": "1", "chat_type": "dm", "user_id": "1"})
    hermes.close_store()
    assert (found["session_id"], found["resume_reason"]) == (entry.session_id, "shutdown_timeout")


def test_as_the_document_calls_it(tmp_path: Path, clock: Clock) -> None:
    """`SessionStore(sessions_dir, config)` keeps transcripts: its database is beside the directory."""
    with SessionStore(tmp_path / "sessions", GatewayConfig(), clock=clock) as store:
        entry = store.get_or_create_session(ANA)
        assert not store.has_any_sessions()
        store.get_or_create_session(BOB)
        assert store.has_any_sessions()
        for number in (1, 2, 3):
            store.append_to_transcript(entry.session_id, {"role": "user", "content": f"question {number}"})
            store.append_to_transcript(entry.session_id, {"role": "assistant", "content": f"answer {number}"})
        assert store.rewind_session(entry.session_id, 2) == {
            "rewound_count": 4,
            "turns_undone": 2,
            "target_text": "question 2",
        }
        said = [one["content"] for one in store.load_transcript(entry.session_id)]
        assert said == ["question 1", "answer 1"]
    with sqlite3.connect(tmp_path / "state.db") as raw:
        kept = raw.execute("SELECT content, active FROM messages ORDER BY id").fetchall()
    raw.close()
    assert kept == [(f"{word} {number}", int(number == 1)) for number in (1, 2, 3) for word in ("question", "answer")]
    with SessionStore(tmp_path / "sessions", GatewayConfig(), clock=clock) as again:
        assert again.peek_session_id(KEY) == entry.session_id
        assert again.rewrite_transcript(entry.session_id, []) is True
        assert again.load_transcript(entry.session_id) == []
        assert again.reset_session(KEY) is not None


def test_the_real_one_uses_what_lanes_need(tmp_path: Path, hermes: Oracle, clock: Clock) -> None:
    """The columns that we add to a store of the document's are those that it would add."""
    with SessionStore(tmp_path / "sessions", GatewayConfig(), clock=clock) as store:
        entry = store.get_or_create_session(ANA)
        for role, content in (("user", "one"), ("assistant", "two"), ("user", "three")):
            store.append_to_transcript(entry.session_id, {"role": role, "content": content, "message_id": content})
        store.rewind_session(entry.session_id)
    hermes.close_store()
    hermes.home_is(tmp_path)
    hermes.open(now=clock.moment)
    said = [one["content"] for one in hermes.store("load_transcript", entry.session_id)]
    known = [hermes.store("has_platform_message_id", entry.session_id, word) for word in ("two", "four")]
    hermes.close_store()
    assert (said, known) == (["one", "two"], [True, False])


def test_only_rows_that_changed_are_written(hermes: Oracle, tmp_path: Path, clock: Clock) -> None:
    """What somebody else wrote into the row of another lane stays; the mirror is whole all the same."""
    hermes.home_is(tmp_path)
    hermes.open(now=clock.moment)
    hermes.close_store()
    with SessionStore(tmp_path / "sessions", GatewayConfig(), clock=clock) as store:
        for source in (ANA, BOB):
            store.get_or_create_session(source)
        with sqlite3.connect(tmp_path / "state.db") as raw:
            raw.execute("UPDATE gateway_routing SET updated_at = 1")
        clock.later(seconds=1)
        store.update_session(KEY)
        rows = dict(raw.execute("SELECT session_key, updated_at > 1 FROM gateway_routing"))
        assert rows == {KEY: 1, "agent:main:telegram:dm:2": 0}
        store.prune_old_entries(1)
        clock.later(days=2)
        store.update_session(KEY)
        assert store.prune_old_entries(1) == 1
        rows = dict(raw.execute("SELECT session_key, entry_json FROM gateway_routing"))
        raw.close()
    assert {key: json.loads(text) for key, text in rows.items()} == {KEY: index(tmp_path)[KEY]}


def test_what_is_not_understood_is_kept(open_store: Callable[..., SessionStore], tmp_path: Path) -> None:
    open_store().get_or_create_session(ANA)
    members = index(tmp_path)
    members["_NOTE"] = ["ours"]
    members[KEY]["future"] = 7
    members["agent:main:x:dm:broken"] = "nonsense"
    (tmp_path / "sessions" / "sessions.json").write_text(json.dumps(members))
    (tmp_path / "sessions" / "sessions.json").chmod(0o640)
    store = open_store()
    store.get_or_create_session(BOB)
    after = index(tmp_path)
    assert after["_NOTE"] == ["ours"]
    assert after[KEY]["future"] == 7
    assert after["agent:main:x:dm:broken"] == "nonsense"
    assert (tmp_path / "sessions" / "sessions.json").stat().st_mode & 0o777 == 0o640
    assert [text.split(":")[0] for text in store.index.problems] == ["lane agent"]


def test_a_torn_index_is_not_overwritten(open_store: Callable[..., SessionStore], tmp_path: Path) -> None:
    open_store().get_or_create_session(ANA)
    path = tmp_path / "sessions" / "sessions.json"
    path.write_text(path.read_text()[:100])
    with pytest.raises(StoreError, match="cannot be used"):
        open_store().get_or_create_session(ANA)
    assert len(path.read_text()) == 100


def test_overlapping_messages_share_one_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight deliveries at once in one lane: one session and one row. The first is held up until seven wait for it."""
    waiting = threading.Semaphore(0)
    numbers = count()

    class Watched(Future[SessionEntry]):
        def result(self, timeout: float | None = None) -> SessionEntry:
            waiting.release()
            return super().result(timeout)

    def name(now: datetime) -> str:
        for _ in range(7):
            assert waiting.acquire(timeout=180)
        return f"session-{next(numbers)}"

    monkeypatch.setattr("hermes_tui.lifecycle.store.Future", Watched)
    with SessionDB(tmp_path / "state.db") as db:
        store = SessionStore(tmp_path / "sessions", GatewayConfig(), db=db, name=name)
        found: list[str] = []

        def message() -> None:
            found.append(store.get_or_create_session(ANA, force_new=True).session_id)

        threads = [threading.Thread(target=message) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert found == ["session-0"] * 8
        assert db.session_count() == 1


def test_a_callback_that_fails_counts_as_busy(tmp_path: Path, clock: Clock) -> None:
    def raises(key: str) -> bool:
        raise RuntimeError(key)

    config = GatewayConfig(default_reset_policy=SessionResetPolicy(mode="idle", idle_minutes=1))
    with SessionDB(tmp_path / "state.db") as db:
        store = SessionStore(tmp_path / "sessions", config, raises, db=db, clock=clock)
        first = store.get_or_create_session(ANA)
        clock.later(days=2)
        assert not store.is_session_expired(first)
        assert store.prune_old_entries(1) == 0
        assert store.get_or_create_session(ANA).session_id == first.session_id
    assert "builtins.RuntimeError" in paths.log_file().read_text()


def test_messages_wait_for_the_database(tmp_path: Path) -> None:
    with SessionDB(tmp_path / "state.db") as db:
        store = SessionStore(tmp_path / "sessions", GatewayConfig(), db=db)
        store.append_to_transcript("later", {"role": "user", "content": "one"})  # its session is not there yet
        assert db.message_count() == 0
        db.create_session("later", "telegram")
        store.append_to_transcript("later", {"role": "assistant", "content": "two", "reasoning": "why"})
        assert [one["content"] for one in store.load_transcript("later")] == ["one", "two"]
        store.append_to_transcript("later", {"role": "user", "content": "three"}, skip_db=True)
        assert db.message_count() == 2
        assert store.rewrite_transcript("later", [{"role": "user", "content": "all"}]) is True
        assert [one["content"] for one in store.load_transcript("later")] == ["all"]
        assert store.rewrite_transcript("nobody", [{"role": "user", "content": "x"}]) is False


def test_rewinding_as_the_real_one_does(hermes: Oracle, tmp_path: Path) -> None:
    hermes.close_store()
    hermes.home_is(tmp_path / "real")
    hermes.open(now=datetime(2026, 7, 21, 12))
    real = hermes.get({"platform": "telegram", "chat_id": "1", "user_id": "1"})["session_id"]
    for number in range(3):
        hermes.db("append_message", real, role="user", content=f"question {number}")
        hermes.db("append_message", real, role="assistant", content="answer")
    hermes.close_store()
    ours = tmp_path / "ours"
    ours.mkdir()
    (ours / "state.db").write_bytes((tmp_path / "real" / "state.db").read_bytes())
    hermes.open(now=datetime(2026, 7, 21, 12))
    with SessionDB(ours / "state.db") as db:
        store = SessionStore(ours / "sessions", GatewayConfig(), db=db)
        for turns in (1, 0, 9, 1):
            assert store.rewind_session(real, turns) == hermes.store("rewind_session", real, turns)
    hermes.close_store()


def test_a_crash_marks_what_was_active(open_store: Callable[..., SessionStore], tmp_path: Path, clock: Clock) -> None:
    store = open_store()
    store.get_or_create_session(BOB)
    clock.later(seconds=100)
    store.get_or_create_session(ANA)
    clock.later(seconds=30)
    started = recover(tmp_path, open_store())
    assert (started.clean, started.marked) == (False, 1)
    marked = {entry.session_key: entry for entry in open_store().list_sessions()}
    assert (marked[KEY].resume_pending, marked[KEY].resume_reason) == (True, "restart_interrupted")
    assert not marked["agent:main:telegram:dm:2"].resume_pending
    assert auto_resumable(marked[KEY], clock.moment + timedelta(minutes=59))
    assert not auto_resumable(marked[KEY], clock.moment + timedelta(minutes=61))
    assert auto_resumable(marked[KEY], clock.moment + timedelta(days=9), freshness=0)
    assert not auto_resumable(marked[KEY].changed(suspended=True), clock.moment)
    assert not auto_resumable(marked[KEY].changed(resume_reason="curiosity"), clock.moment)


def test_a_clean_shutdown_marks_nothing(open_store: Callable[..., SessionStore], tmp_path: Path) -> None:
    open_store().get_or_create_session(ANA)
    mark_clean_shutdown(tmp_path)
    started = recover(tmp_path, open_store())
    assert (started.clean, started.marked) == (True, 0)
    assert not (tmp_path / ".clean_shutdown").exists()


def test_three_restarts_in_a_row_suspend_a_lane(open_store: Callable[..., SessionStore], tmp_path: Path) -> None:
    open_store().get_or_create_session(ANA)
    for number in (1, 2, 3):
        assert recover(tmp_path, open_store()).suspended == ()  # which looks at the counts, and keeps them
        assert count_busy(tmp_path, [KEY, "agent:main:gone"])[KEY] == number
    count_busy(tmp_path, [KEY])  # the other one was not busy: it has broken the loop
    assert restart_counts(tmp_path)[0] == {KEY: 4}
    assert recover(tmp_path, open_store()).suspended == (KEY,)
    assert restart_counts(tmp_path) == ({}, "")
    assert open_store().list_sessions()[0].suspended
    (tmp_path / "restart_counts.json").write_text("nonsense")
    assert "restart_counts.json" in recover(tmp_path, open_store()).problem
    assert (tmp_path / "restart_counts.json").exists()


@pytest.mark.parametrize("documented", [False, True])
def test_a_mark_and_the_policy(tmp_path: Path, clock: Clock, documented: bool) -> None:
    """The document lets the mark win, for ever; Hermes 0.19 the policy. Who asks ahead is told the same."""
    policy = SessionResetPolicy(mode="idle", idle_minutes=30)
    config = GatewayConfig(default_reset_policy=policy, documented=documented)
    with SessionStore(tmp_path / "sessions", config, clock=clock) as store:
        first = store.get_or_create_session(ANA)
        store.mark_resume_pending(KEY)
        clock.later(days=3)
        (entry,) = store.list_sessions()
        told = next_reset(entry, policy, clock.moment.astimezone(), marks_win=documented)
        assert told.due is not documented
        assert (store.get_or_create_session(ANA).session_id == first.session_id) is documented
        store.mark_resume_pending(KEY)
        store.suspend_session(KEY)
        assert store.get_or_create_session(ANA).auto_reset_reason == "suspended"


def test_a_suspended_lane_wins_over_a_mark(open_store: Callable[..., SessionStore]) -> None:
    store = open_store()
    first = store.get_or_create_session(ANA)
    assert store.suspend_session(KEY)
    assert not store.mark_resume_pending(KEY)
    assert not store.suspend_session("nobody")
    store.update_session(KEY, 900)
    second = store.get_or_create_session(ANA)
    assert (second.session_id != first.session_id, second.auto_reset_reason) == (True, "suspended")
    assert second.reset_had_activity
    store.suspend_session(KEY)
    assert not store.get_or_create_session(ANA).reset_had_activity  # nothing was said in that one


def test_an_expired_lane_is_finalized(open_store: Callable[..., SessionStore], tmp_path: Path, clock: Clock) -> None:
    store = open_store("idle")
    entry = store.get_or_create_session(ANA)
    clock.later(minutes=31)
    assert store.is_session_expired(entry)
    assert store.set_expiry_finalized(KEY)
    assert not store.set_expiry_finalized("nobody")
    with SessionDB(tmp_path / "state.db") as db:
        row = db.get_session(entry.session_id)
    assert row is not None
    assert row["end_reason"] == "session_reset"
    assert store.lookup_by_session_id(entry.session_id) is not None
    assert store.list_sessions(active_minutes=10) == []


def test_a_restart_drops_a_lane_whose_own_session_was_ended_by_accident(hermes: Oracle, tmp_path: Path) -> None:
    """Nothing else is to be brought back, so the lane leaves the index, as in Hermes; its next message finds the
    very same session again."""
    asked = {"platform": "telegram", "chat_id": "1", "user_id": "1", "chat_name": "Ana"}
    end = "UPDATE sessions SET ended_at = 1, end_reason = 'agent_close'"
    real, ours = tmp_path / "real", tmp_path / "ours"
    hermes.home_is(real)
    hermes.open(now=datetime(2026, 7, 21, 12))
    hermes.close_store()
    shutil.copytree(real, ours)

    hermes.open(now=datetime(2026, 7, 21, 12))
    theirs = hermes.get(asked)["session_id"]
    hermes.db("append_message", theirs, role="user", content="hello")
    hermes.close_store()
    connection = sqlite3.connect(real / "state.db")
    with connection:
        connection.execute(end)
    connection.close()
    hermes.open(now=datetime(2026, 7, 21, 13))
    assert hermes.store("list_sessions") == []
    assert hermes.get(asked)["session_id"] == theirs
    hermes.close_store()

    config = GatewayConfig()
    with SessionDB(ours / "state.db") as db:
        entry = SessionStore(ours / "sessions", config, db=db).get_or_create_session(ANA)
        db.append_message(entry.session_id, "user", "hello")
        with db.transaction():
            db.execute(end, ())
        again = SessionStore(ours / "sessions", config, db=db)
        assert again.list_sessions() == []
        assert json.loads((ours / "sessions" / "sessions.json").read_text()).keys() == {"_README"}
        assert again.get_or_create_session(ANA).session_id == entry.session_id
