"""The rows of `state.db` that decide about lanes: routing table and sessions.

Everything here takes a connection and reads; what is not there in an older schema is None (law 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from typing import Any, NamedTuple

import apsw
import msgspec

from hermes_tui.lifecycle.lane_index.cells import as_bytes, json_of, text_of
from hermes_tui.lifecycle.lane_index.peer import Peer
from hermes_tui.lifecycle.state_db.connection.rows import clean
from hermes_tui.lifecycle.state_db.connection.store import Store
from hermes_tui.lifecycle.state_db.recoverable import (
    BOUNDARIES,
    SAME_PEER,
    RecoveryRule,
    belongs_to,
    recoverable,
    rule_of,
)

__all__ = ["KEPT", "LaneSessionRow", "MessagePlace", "RoutingRow", "StoredLanes", "insert"]

_MANY = 400
"""Ids in one statement."""
_TIMES = ("started_at", "ended_at", "last_activity_at")
_COUNTS = ("message_count", "input_tokens", "output_tokens", "expiry_finalized")
_NUMBERS = (*_TIMES, *_COUNTS)
_LONGEST = 100
"""Continuations that are followed at most, as Hermes does."""


class RoutingRow(msgspec.Struct, frozen=True):
    """One row of `gateway_routing`."""

    scope: str
    key: str
    entry_json: str
    updated_at: float | None = None
    """When the gateway (or we) last wrote it; seconds since the epoch."""


class LaneSessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """What of a session's row is looked at here. Times are seconds since the epoch."""

    id: str
    source: str | None = None
    user_id: str | None = None
    session_key: str | None = None
    chat_id: str | None = None
    chat_type: str | None = None
    thread_id: str | None = None
    display_name: str | None = None
    origin_json: str | None = None
    title: str | None = None
    model: str | None = None
    parent_session_id: str | None = None
    started_at: float | None = None
    ended_at: float | None = None
    end_reason: str | None = None
    message_count: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    expiry_finalized: int | None = None
    last_activity_at: float | None = None
    """In databases of schema 30; None in others."""

    @property
    def open(self) -> bool:
        """Hermes would go on with it as it is."""
        return self.end_reason is None

    def recoverable(self, rule: RecoveryRule) -> bool:
        """It was not ended on purpose."""
        return self.ended_at is None or self.end_reason in rule.accidents


class MessagePlace(NamedTuple):
    """Where a message was written."""

    id: int
    session_id: str
    timestamp: Any
    """Seconds since the epoch, or whatever stands there."""


KEPT = LaneSessionRow.__struct_fields__
"""Columns that a copy has, as far as the store has them."""


class StoredLanes:
    """What one connection sees. Raises what that raises."""

    def __init__(self, query: Callable[[str, Sequence[Any]], list[tuple[Any, ...]]]) -> None:
        """`query` runs a SELECT with its values."""
        self._query = query

    @classmethod
    def of(cls, connection: apsw.Connection) -> StoredLanes:
        """Through a connection of its own. Raises `apsw.Error`; `UnicodeDecodeError` for text that is no UTF-8."""
        return cls(lambda sql, values: list(connection.execute(sql, clean(values))))

    @classmethod
    def within(cls, store: Store) -> StoredLanes:
        """Through an open store, and within its transaction as that has left it. Raises `StoreError`."""
        return cls(lambda sql, values: [tuple(row.values()) for row in store.rows(sql, values)])

    @cached_property
    def columns(self) -> frozenset[str]:
        """Of `sessions`."""
        return self.columns_of("sessions")

    @property
    def rule(self) -> RecoveryRule:
        """By which the store's Hermes takes sessions up again."""
        return rule_of(self.columns)

    def columns_of(self, table: str) -> frozenset[str]:
        """Of a table whose name is ours; empty if there is none."""
        return frozenset(name for _, name, *_ in self.select(f"PRAGMA table_info({table})"))

    @property
    def schema(self) -> int | None:
        """The version that the database gives itself. For telling programs apart, never columns."""
        if not self.columns_of("schema_version"):
            return None
        found = self.select("SELECT version FROM schema_version LIMIT 1")
        return int(found[0][0]) if found and isinstance(found[0][0], int) else None

    @property
    def has_routing(self) -> bool:
        """Whether the table that replaced `sessions.json` is there."""
        return {"scope", "session_key", "entry_json"} <= self.columns_of("gateway_routing")

    def routing(self) -> list[RoutingRow]:
        """Every row of the routing table, of whatever scope, in its order."""
        if not self.has_routing:
            return []
        texts = ", ".join(map(as_bytes, ("scope", "session_key", "entry_json")))
        found = self.select(f"SELECT {texts}, updated_at FROM gateway_routing")  # noqa: S608 - ours
        return [
            RoutingRow(
                text_of(scope), text_of(key), json_of(entry), updated if isinstance(updated, int | float) else None
            )
            for scope, key, entry, updated in found
        ]

    def session(self, session_id: str) -> LaneSessionRow | None:
        """One session's row."""
        return next(iter(self.sessions_where("id = ?", (session_id,))), None)

    def sessions(self, ids: Iterable[str]) -> dict[str, LaneSessionRow]:
        """Those of them that there are."""
        wanted = list(dict.fromkeys(ids))
        found: dict[str, LaneSessionRow] = {}
        for start in range(0, len(wanted), _MANY):
            part = wanted[start : start + _MANY]
            for row in self.sessions_where(f"id IN ({', '.join('?' * len(part))})", part):
                found[row.id] = row
        return found

    def of_lane(self, key: str, limit: int = 1000) -> list[LaneSessionRow]:
        """The sessions that were last recorded as the lane's, newest first."""
        if "session_key" not in self.columns:
            return []
        return self.sessions_where("session_key = ? ORDER BY started_at DESC, id DESC LIMIT ?", (key, limit))

    def recoverable(self, key: str, peer: Peer | None, anybody: bool = False) -> list[LaneSessionRow]:
        """Every session that Hermes may take up when the lane has none: not ended, or by accident, and recorded
        with the lane's key or with the very same peer (`anybody`: with its chat and thread, whoever wrote, as in a
        lane that several people share). Newest first: with messages in it the first of the lane's own is the one."""
        if "session_key" not in self.columns or peer is None:
            return []
        first = 1 if anybody else 0
        same = " AND ".join(SAME_PEER[first:])
        values = [peer.user_id, peer.chat_id, peer.chat_type, peer.thread_id][first:]
        return self.sessions_where(
            f"{self.rule.not_over} AND ((session_key = ? AND source = ?) OR (source = ? AND {same}))"
            " ORDER BY (session_key IS NOT ?), started_at DESC, id DESC",
            [key, peer.source, peer.source, *values, key],
        )

    def boundaries(self, peer: Peer) -> list[LaneSessionRow]:
        """The peer's sessions that were ended on purpose, where what was said before is not taken up behind them."""
        if not self.rule.fenced:
            return []
        return self.sessions_where(
            f"source = ? AND {' AND '.join(SAME_PEER)} AND end_reason IN {BOUNDARIES}",
            (peer.source, peer.user_id, peer.chat_id, peer.chat_type, peer.thread_id),
        )

    def recovered(self, key: str, peer: Peer, profile: str | None) -> str:
        """The one of them that Hermes takes up for a message of that peer, empty if none; `profile` as in
        `belongs_to`."""
        if not {"session_key", "chat_id", "chat_type", "thread_id", "user_id"} <= self.columns:
            return ""
        found = recoverable(
            self._query,
            source=peer.source,
            key=key,
            user_id=peer.user_id,
            chat_id=peer.chat_id,
            chat_type=peer.chat_type,
            thread_id=peer.thread_id,
            rule=self.rule,
        )
        row = self.session(found) if found else None
        return row.id if row is not None and belongs_to(row.session_key, key, profile) else ""

    def has_messages(self, row: LaneSessionRow) -> bool:
        """An empty session is not brought back."""
        if row.message_count:
            return True
        return bool(self.select("SELECT 1 FROM messages WHERE session_id = ? LIMIT 1", (row.id,)))

    def last_message(self) -> int:
        """The number of the message that was written last; numbers only grow."""
        found = self.select("SELECT MAX(id) FROM messages")
        return int(found[0][0] or 0)

    def next_message(self, key: str, after: int, without: str = "") -> MessagePlace | None:
        """What was said first in a session of the lane after message `after`, but not in session `without`."""
        if "session_key" not in self.columns:
            return None
        found = self.select(
            "SELECT m.id, CAST(m.session_id AS BLOB), m.timestamp FROM sessions s CROSS JOIN messages m"
            " ON m.session_id = s.id WHERE s.session_key = ? AND s.id <> ? AND m.id > ? AND m.role = 'user'"
            " ORDER BY m.id LIMIT 1",
            (key, without, after),
        )
        return MessagePlace(int(found[0][0]), text_of(found[0][1]), found[0][2]) if found else None

    def has_message_until(self, session_id: str, last: int) -> bool:
        """Whether anything was said in it by the time of message `last`."""
        return bool(
            self.select("SELECT 1 FROM messages WHERE session_id = ? AND id <= ? LIMIT 1", (session_id, last))
        )

    @contextmanager
    def copy(self, sessions: Iterable[LaneSessionRow]) -> Iterator[apsw.Connection]:
        """A database with these sessions alone, for decisions about them; of their messages it has whether there are
        any."""
        names = [name for name in KEPT if name in self.columns]
        with closing(apsw.Connection(":memory:")) as connection:
            connection.execute(f"CREATE TABLE sessions ({', '.join(names)})")
            connection.execute("CREATE TABLE messages (session_id, timestamp)")
            for row in sessions:
                insert(connection, {name: getattr(row, name) for name in names})
                if self.has_messages(row):
                    connection.execute("INSERT INTO messages VALUES (?, 0)", (row.id,))
            yield connection

    def topic_bindings(self, session_id: str, key: str) -> int:
        """How many topics of Telegram's private chats are bound to the session or the lane for good."""
        if not {"session_id", "session_key"} <= self.columns_of("telegram_dm_topic_bindings"):
            return 0
        found = self.select(
            "SELECT COUNT(*) FROM telegram_dm_topic_bindings WHERE session_id = ? OR session_key = ?",
            (session_id, key),
        )
        return int(found[0][0])

    def compression_tip(self, session_id: str) -> str:
        """The session in which a compressed one goes on now, empty if it does not: the same choice as Hermes'
        (facts on Hermes, section 2.4)."""
        walked = self.continuations(session_id)
        return walked[-1] if walked else ""

    def continuations(self, session_id: str) -> list[str]:
        """The sessions in which it goes on, one after the other, the tip last."""
        if not {"parent_session_id", "end_reason"} <= self.columns:
            return []
        config = "COALESCE(c.model_config, '{}')" if "model_config" in self.columns else "'{}'"
        # Whether the child began after its parent ended is not asked: Hermes may insert it first.
        query = (
            "SELECT c.id FROM sessions p JOIN sessions c ON c.parent_session_id = p.id"  # noqa: S608 - ours
            " WHERE p.id = ? AND p.end_reason = 'compression' AND COALESCE(c.source, '') != 'tool'"
            f" AND json_extract({config}, '$._branched_from') IS NULL"
            f" AND json_extract({config}, '$._delegate_from') IS NULL"
            " ORDER BY CASE WHEN c.end_reason = 'compression' THEN 0 WHEN c.ended_at IS NULL THEN 1 ELSE 2 END,"
            " COALESCE((SELECT MAX(m.timestamp) FROM messages m WHERE m.session_id = c.id), c.started_at) DESC,"
            " c.started_at DESC, c.id DESC LIMIT 1"
        )
        walked = [session_id]
        while len(walked) <= _LONGEST:
            found = self.select(query, (walked[-1],))
            child = str(found[0][0]) if found else ""
            if not child or child in walked:
                break
            walked.append(child)
        return walked[1:]

    def sessions_where(self, condition: str, values: Sequence[Any]) -> list[LaneSessionRow]:
        """Rows by a condition that is ours."""
        names = LaneSessionRow.__struct_fields__
        if "id" not in self.columns:
            return []
        texts = {name for name in names if name not in _NUMBERS}
        chosen = ", ".join(
            f"NULL AS {name}" if name not in self.columns else as_bytes(name) if name in texts else name
            for name in names
        )
        found = self.select(f"SELECT {chosen} FROM sessions WHERE {condition}", values)  # noqa: S608 - ours
        rows: list[LaneSessionRow] = []
        for cells in found:
            row = dict(zip(names, cells, strict=True))
            # SQLite keeps any type in any column: what is of another than it should be counts as text or as nothing.
            for name in _TIMES:
                row[name] = float(row[name]) if isinstance(row[name], int | float) else None
            for name in _COUNTS:
                row[name] = row[name] if isinstance(row[name], int) else None
            for name, value in row.items():
                if isinstance(value, bytes):
                    row[name] = text_of(value)
            rows.append(LaneSessionRow(**row))
        return rows

    def select(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """What a statement of ours finds."""
        return self._query(sql, values)


def insert(connection: apsw.Connection, values: Mapping[str, Any]) -> None:
    """A session's row, by columns that are ours."""
    marks = ", ".join("?" * len(values))
    statement = f"INSERT INTO sessions ({', '.join(values)}) VALUES ({marks})"  # noqa: S608
    connection.execute(statement, tuple(values.values()))
