"""The history of a lane beside plain SQL, and on rows that the real Hermes wrote."""

from __future__ import annotations

import shlex
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.lane_history.history import lane_history
from hermes_tui.lifecycle.lane_history.model import LaneHistory
from hermes_tui.lifecycle.lane_history.words import session_facts, sums
from hermes_tui.lifecycle.lanes import board
from hermes_tui.lifecycle.operations.audit import Audit
from lifecycle.sample_home import LIVE, Home
from oracle.hermes import Oracle
from session_adapters.base import Environment
from tiny_home import tree_hash

ANA = {"platform": "telegram", "chat_id": "1", "user_id": "u1", "user_name": "Ana"}
KEY = "agent:main:telegram:dm:1"
START = datetime(2026, 7, 21, 12)
EVENING = datetime(2026, 6, 15, 20, tzinfo=UTC).timestamp()


def history(environment: Environment, key: str, audit: Path, now: datetime | None = None) -> LaneHistory:
    moment = now or datetime.now(UTC)
    lane = next(one for one in board(environment, moment).lanes if one.key == key)
    return lane_history(environment, lane, moment, audit=Audit(audit))


def test_every_session_of_every_lane_is_there(home: Home) -> None:
    before = tree_hash(home.path)
    lanes = board(home.environment).lanes
    histories = [history(home.environment, lane.key, home.audit) for lane in lanes]
    assert tree_hash(home.path) == before
    for lane, found in zip(lanes, histories, strict=True):
        rows = {
            id_: (reason, model)
            for id_, reason, model in home.sql(
                "SELECT id, end_reason, model FROM sessions WHERE session_key = ?", lane.key
            )
        }
        theirs = {one.session_id: (one.end_reason, one.model or None) for one in found.sessions}
        assert rows.items() <= theirs.items(), lane.key
        assert set(theirs) - set(rows) <= {lane.session_id, lane.continues_in}
        for one in found.sessions:
            ((number, last),) = home.sql(
                "SELECT count(*), max(timestamp) FROM messages WHERE session_id = ?",
                one.session_id,
            )
            assert one.messages == number
            assert one.last_message_at == (datetime.fromtimestamp(last, UTC) if last else None)
            ((cost,),) = home.sql(
                "SELECT coalesce(actual_cost_usd, estimated_cost_usd) FROM sessions WHERE id = ?", one.session_id
            )
            assert one.cost_usd == cost
        assert found.total.sessions == len(found.sessions) == sum(one.sessions for one in found.people)
        assert found.total.messages == sum(one.messages for one in found.sessions)
        assert found.answer and not found.notes


def test_the_command_that_leads_back_is_one_for_a_shell(hermes: Oracle, tmp_path: Path) -> None:
    """A chat's own id is part of the key: pasted, iMessage's `;` began other commands, and so did anybody's."""
    hermes.home_is(tmp_path / "home" / ".hermes")
    hermes.open(policy={"mode": "none"}, now=START)
    source = ANA | {"platform": "bluebubbles", "chat_id": "iMessage;-;$(id)"}

    def say() -> tuple[str, str]:
        entry = hermes.get(source)
        hermes.db("append_message", entry["session_id"], role="user", content="hello")
        return entry["session_key"], entry["session_id"]

    key, old = say()
    hermes.store("reset_session", key)
    say()
    hermes.close_store()
    answer = history(Environment(home=tmp_path / "home"), key, tmp_path / "lanes.jsonl").answer
    assert key.endswith("iMessage;-;$(id)")
    assert f"`hermes-tui lanes resume {shlex.quote(key)} {old}` leads back to it." in answer


class Gateway:
    """The real Hermes' store, and the history that we read of it."""

    def __init__(self, hermes: Oracle, tmp_path: Path) -> None:
        self.hermes = hermes
        self.home = tmp_path / "home"
        hermes.home_is(self.home / ".hermes")
        self.audit = tmp_path / "lanes.jsonl"
        self.environment = Environment(home=self.home)

    def say(self, text: str = "hello") -> str:
        entry = self.hermes.get(ANA)
        self.hermes.db("append_message", entry["session_id"], role="user", content=text)
        self.hermes.db("append_message", entry["session_id"], role="assistant", content="yes")
        return str(entry["session_id"])

    def history(self) -> LaneHistory:
        self.hermes.close_store()
        return history(self.environment, KEY, self.audit)


@pytest.fixture
def gateway(hermes: Oracle, tmp_path: Path) -> Gateway:
    return Gateway(hermes, tmp_path)


def test_a_lane_with_one_session_has_forgotten_nothing(gateway: Gateway) -> None:
    gateway.hermes.open(policy={"mode": "none"}, now=START)
    only = gateway.say()
    found = gateway.history()
    assert [one.session_id for one in found.sessions] == [only]
    assert found.answer == f"It has forgotten nothing: {only} is the only session that it has had."
    assert not list(sums(found))


def test_what_was_forgotten_is_where_something_was_said(gateway: Gateway) -> None:
    """Of a lane that was reset twice the empty session between was named, and a resume that is refused."""
    gateway.hermes.open(policy={"mode": "none"}, now=START)
    old = gateway.say()
    gateway.hermes.store("reset_session", KEY)
    empty = gateway.hermes.get(ANA)["session_id"]
    gateway.hermes.store("reset_session", KEY)
    new = gateway.say()
    found = gateway.history()
    assert {one.session_id: one.messages for one in found.sessions} == {new: 2, empty: 0, old: 2}
    assert f"knows nothing of {old} (2 messages)" in found.answer and empty not in found.answer
    gateway.hermes.open(policy={"mode": "none"}, now=START)
    gateway.hermes.db("delete_session", old)
    assert gateway.history().answer == "It has forgotten nothing: nothing was said in its sessions before."


@pytest.mark.parametrize(
    ("policy", "later", "words"),
    [
        ({"mode": "daily", "at_hour": 4}, datetime(2026, 7, 22, 9), "the hour of the daily reset had come"),
        ({"mode": "idle", "idle_minutes": 60}, datetime(2026, 7, 21, 14), "it was idle for longer than"),
    ],
)
def test_what_the_policy_ended(gateway: Gateway, policy: dict[str, Any], later: datetime, words: str) -> None:
    gateway.hermes.open(policy=policy, now=START)
    old = gateway.say()
    gateway.hermes.now(later)
    new = gateway.say()
    found = gateway.history()
    assert [one.session_id for one in found.sessions] == [new, old]
    assert found.sessions[0].present and words in found.sessions[1].ending
    assert found.sessions[1].carried == "the next session began empty"
    assert f"Its session knows nothing of {old} (2 messages), which ended on " in found.answer
    assert words in found.answer and f"`hermes-tui lanes resume {KEY} {old}` leads back to it." in found.answer
    assert next(name for name, _ in sums(found)) == "in all"


def test_what_was_said_in_the_chat_and_by_hand(gateway: Gateway) -> None:
    gateway.hermes.open(policy={"mode": "none"}, now=START)
    first = gateway.say()
    second = str(gateway.hermes.store("reset_session", KEY)["session_id"])
    gateway.say()
    found = gateway.history()
    assert [one.ending for one in found.sessions] == ["it is the present one", "/new or /reset was said in the chat"]
    gateway.hermes.open(policy={"mode": "none"}, now=START)
    gateway.hermes.store("suspend_session", KEY)
    third = gateway.say()
    found = gateway.history()
    assert [one.session_id for one in found.sessions] == [third, second, first]
    assert found.sessions[1].ending == "the lane had been suspended"
    gateway.hermes.open(policy={"mode": "none"}, now=START)
    gateway.hermes.store("switch_session", KEY, first)
    found = gateway.history()
    assert found.sessions[0].session_id == first and found.sessions[0].restored
    assert found.sessions[1].session_id == third
    assert "the chat went over to another session" in found.sessions[1].ending
    assert found.answer.startswith(f"It was brought back to this session, and knows nothing of {third} (2 messages)")


def test_a_compressed_conversation_is_summarised_and_not_forgotten(gateway: Gateway) -> None:
    gateway.hermes.open(policy={"mode": "none"}, now=START)
    old = gateway.say()
    gateway.hermes.db("end_session", old, "compression")
    gateway.hermes.db("create_session", "20260721_130000_child001", "telegram", parent_session_id=old)
    gateway.hermes.db("append_message", "20260721_130000_child001", role="user", content="a summary")
    found = gateway.history()
    assert [one.session_id for one in found.sessions] == ["20260721_130000_child001", old]
    assert found.answer.startswith("It knows a summary of 2 messages: the conversation had grown too long on ")
    assert found.answer.endswith(f"Every word is still in {old}.")
    assert "20260721_130000_child001 goes on with" in found.sessions[1].carried


def test_what_we_did_is_told_by_its_operation_until_it_is_taken_back(home: Home) -> None:
    done = home.apply("reset")
    found = history(home.environment, LIVE, home.audit)
    ours = [one for one in found.sessions if one.operation]
    assert [(one.operation, one.ending) for one in ours] == [(done.operation, "the lane was reset with hermes-tui")]
    assert "the lane was reset with hermes-tui" in found.answer
    facts = dict(session_facts(ours[0], datetime.astimezone))
    assert facts["ending"] == f"the lane was reset with hermes-tui ({done.operation})"
    home.operations.apply(home.operations.undo(done.operation))
    assert not [one for one in history(home.environment, LIVE, home.audit).sessions if one.operation]


def test_messages_that_had_to_wait(home: Home) -> None:
    ((session,),) = home.sql("SELECT id FROM sessions WHERE session_key = ? AND end_reason IS NULL", LIVE)
    said = [
        ("user", 1000.0),
        ("assistant", 1301.0),
        ("user", 2000.0),
        ("assistant", 2299.0),
        ("user", 3000.0),
        ("user", 3400.0),
        ("assistant", 3500.0),
        ("user", 9000.0),
    ]
    home.sql("DELETE FROM messages WHERE session_id = ?", session)
    for role, at in said:
        home.sql(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, 'x', ?)",
            session,
            role,
            EVENING + at,
        )

    def waited(now: float) -> list[tuple[float, float | None]]:
        found = history(home.environment, LIVE, home.audit, datetime.fromtimestamp(EVENING + now, UTC))
        return [(one.at.timestamp() - EVENING, one.seconds) for one in found.sessions[0].waited]

    assert waited(9100.0) == [(1000.0, 301.0)]
    assert waited(9301.0) == [(1000.0, 301.0), (9000.0, None)]
    found = history(home.environment, LIVE, home.audit, datetime.fromtimestamp(EVENING + 9301, UTC))
    assert dict(session_facts(found.sessions[0], lambda at: at.astimezone(UTC)))["waited"] == (
        "2026-06-15 20:16 for 5m 1s; 2026-06-15 22:30 never answered"
    )


def test_a_store_that_lacks_columns_or_is_damaged(home: Home, old: Home) -> None:
    for lane in board(old.environment).lanes:
        assert history(old.environment, lane.key, old.audit).answer
    lanes = board(home.environment).lanes
    with closing(sqlite3.connect(home.path / "state.db")) as connection, connection:
        connection.execute("UPDATE messages SET timestamp = 'yesterday'")
        connection.execute(
            "UPDATE sessions SET estimated_cost_usd = 'much', actual_cost_usd = NULL, origin_json = '['"
        )
    for lane in lanes:
        found = history(home.environment, lane.key, home.audit)
        assert all(one.last_message_at is None and one.cost_usd is None for one in found.sessions)
    home.audit.parent.mkdir(parents=True, exist_ok=True)
    home.audit.write_text('{"operation": 1}\n')
    assert "no operation of ours" in history(home.environment, LIVE, home.audit).notes[0]
    (home.path / "state.db").write_bytes(b"no database at all " * 500)
    lane = next(one for one in lanes if one.key == LIVE)
    with pytest.raises(StoreError, match=r"The session store .* cannot be read: "):
        lane_history(home.environment, lane, datetime.now(UTC), audit=Audit(home.audit))
    (home.path / "state.db").unlink()  # of a lane with a long history it said that nothing was said yet
    with pytest.raises(StoreError, match=r"There is no session store "):
        lane_history(home.environment, lane, datetime.now(UTC), audit=Audit(home.audit))
