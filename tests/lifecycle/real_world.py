"""A home whose lanes a whole, running gateway keeps, and our operations beside it."""

from __future__ import annotations

import itertools
import sqlite3
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from hermes_tui.lifecycle.operations.plan import Plan
from hermes_tui.lifecycle.operations.verify import Outcome
from lifecycle.worlds import OperatedHome
from oracle.gateway import RealGateway, direct_lane, group_lane

__all__ = ["RealLane", "RealWorld"]

_CHATS = itertools.count()


class RealWorld(OperatedHome):
    """One home, `gateway` on it, and lanes of the test's own: each has a chat that nobody else writes to."""

    def __init__(self, gateway: RealGateway) -> None:
        super().__init__(gateway.home)
        self.gateway = gateway

    def direct(self) -> RealLane:
        """A new lane that is one person's."""
        return RealLane(self, f"+1555{next(_CHATS):06}")

    def group(self, user: str = "+1666") -> RealLane:
        """A new group with that person's lane."""
        return RealLane(self, f"+1555{next(_CHATS):06}", user)

    def halt(self) -> None:
        """SIGSTOP for the gateway, at a moment when it writes nothing: else nobody can."""
        while True:
            self.gateway.halt()
            with closing(sqlite3.connect(self.home / "state.db", timeout=0, isolation_level=None)) as store:
                try:
                    store.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError:
                    self.gateway.proceed()
                else:
                    return

    def whole(self, folder: Path) -> None:
        """Assert that the store is undamaged, on a copy of it in `folder`."""
        copy = folder / "copy.db"
        with closing(sqlite3.connect(self.home / "state.db")) as store, closing(sqlite3.connect(copy)) as other:
            store.backup(other)
            assert other.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert other.execute("PRAGMA foreign_key_check").fetchall() == []
            for table in ("messages_fts", "messages_fts_trigram"):
                other.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")  # raises where it is not
        copy.unlink()
        self.gateway.until(lambda: self.mirror() == self.table(), "writes sessions.json as the table has it")


class RealLane:
    """One chat, and the lane that the gateway has for it."""

    def __init__(self, world: RealWorld, chat: str, user: str = "") -> None:
        """With `user` the chat is a group, and that person writes."""
        self.world, self.chat, self.user = world, chat, user
        self.key = group_lane(chat, user) if user else direct_lane(chat)

    def say(self, text: str) -> list[str]:
        """A message of one word: the words of the context that the model answered it in."""
        return self.world.gateway.say(self.chat, text, user=self.user, expect=text).words

    def command(self, text: str, expect: str) -> str:
        """A command of Hermes', and its answer."""
        return self.world.gateway.say(self.chat, text, user=self.user, expect=expect).texts[-1]

    @property
    def entry(self) -> dict[str, Any]:
        """What the routing table has of it; nothing where it is not there."""
        return dict(self.world.table().get(self.key, {}))

    @property
    def session_id(self) -> str:
        """Of the session that it is in, as the routing table has it; empty where it is in none."""
        return str(self.entry.get("session_id", ""))

    def words_in(self, session_id: str) -> list[str]:
        """The words of the user in that session, as the store has them."""
        statement = "SELECT content FROM messages WHERE session_id = ? AND role = 'user' AND active ORDER BY id"
        return [text.split()[0] for (text,) in self.world.sql(statement, session_id)]

    def plan(self, kind: str, **more: Any) -> Plan:
        """A plan of ours for it."""
        return self.world.plan(kind, self.key, **more)

    def apply(self, kind: str, **more: Any) -> Outcome:
        """Planned and applied; of no plan of these tests it is refused."""
        return self.world.apply(kind, self.key, **more)

    def became(self, outcome: Outcome, state: str, session_id: str = "") -> Outcome:
        """Assert what became of an operation, asked for alone and in the log; of what is done and of what is lost,
        that it names the session that the lane's next message went into: the lane's own now, if not `session_id`."""
        found = self.world.operations.outcome(outcome.operation)
        assert found.state == state, found
        if state in ("done", "lost") and outcome.request.kind != "prune":
            assert found.session_id == (session_id or self.session_id), found
        if found.evidence is not None:
            shown = self.world.sql("SELECT session_id FROM messages WHERE id = ?", found.evidence.message)
            assert shown == [(found.session_id,)], found
        assert (found.evidence is not None) == (outcome.state == "pending" and found.final and state != "undone")
        assert found in self.world.operations.log(1000)
        return found

    def end_by_hand(self, reason: str, *, reopen: str = "") -> None:
        """What a live operation writes, without its plan: ends every session of the lane but that one."""
        self.world.sql(
            "UPDATE sessions SET ended_at = ?, end_reason = ? WHERE session_key = ? AND id != ?"
            " AND (ended_at IS NULL OR end_reason IN ('agent_close', 'ws_orphan_reap'))",
            *(time.time(), reason, self.key, reopen),
        )
        self.world.sql("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?", reopen)

    def touched(self, moment: datetime) -> None:
        """The last message came at that local time, as a gateway that starts finds it."""
        changed = "json_set(entry_json, '$.updated_at', ?)"
        statement = f"UPDATE gateway_routing SET entry_json = {changed} WHERE session_key = ?"
        self.world.sql(statement, moment.isoformat(), self.key)

    def idle(self, minutes: float) -> None:
        """Wait until no message has come for that long, by the lane's own record."""
        last = datetime.fromisoformat(self.entry["updated_at"])
        time.sleep(max(0.0, last.timestamp() + 60 * minutes + 0.05 - time.time()))
