"""Our `SessionStore` beside the real one: the same calls on both, the same clock, everything compared after each.

`python tests/lifecycle/differential.py 2000` (or `make differential`) runs so many sequences and says how many steps
there were without a difference, every half a minute on the way too. What differs on purpose, and is evened out before
comparing:

* ids end in random digits: a session of one store stands for the session of the other that the same call returned;
* rows bear the real time, so `created_at` of a lane that was found again by its row is the real time too.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1])]

from hermes_tui.errors import SessionNotFound
from hermes_tui.lifecycle.gateway.configuration import GatewayConfig
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.peer import Peer
from hermes_tui.lifecycle.lane_index.rows import StoredLanes
from hermes_tui.lifecycle.local_times import from_wall
from hermes_tui.lifecycle.policy import SessionResetPolicy
from hermes_tui.lifecycle.routing import next_message
from hermes_tui.lifecycle.source import SessionSource
from hermes_tui.lifecycle.state_db.database import SessionDB
from hermes_tui.lifecycle.store import SessionStore
from oracle.hermes import Oracle, OracleError

__all__ = ["Lanes", "run"]

SOURCES: tuple[Mapping[str, Any], ...] = (
    {"platform": "telegram", "chat_id": "1", "chat_type": "dm", "user_id": "1", "chat_name": "Ana"},
    {"platform": "telegram", "chat_id": "-5", "chat_type": "group", "user_id": "1", "chat_name": "Ops"},
    {"platform": "telegram", "chat_id": "-5", "chat_type": "group", "user_id": "2", "chat_name": "Ops"},
    {"platform": "signal", "chat_id": "", "chat_type": "dm", "user_id": "+49", "user_id_alt": "u-1"},
    {"platform": "signal", "chat_id": "", "chat_type": "dm", "user_id": "+49", "user_id_alt": "u-2"},
)
NOON = datetime(2026, 7, 21, 12)
ENDS = ("agent_close", "ws_orphan_reap", "user_exit", "session_reset", "compression")
POLICIES: tuple[Mapping[str, Any], ...] = (
    {"mode": "none"},
    {"mode": "idle", "idle_minutes": 30},
    {"mode": "daily", "at_hour": 4},
    {"mode": "both", "idle_minutes": 90, "at_hour": 0},
    {"mode": "weekly"},
)
TIMES = st.sampled_from((1, 119, 120, 121, 1800, 1801, 3600, 3601, 5400, 5401, 43200, 57600, 86400, 93600, 172800))
"""Seconds: at and beside the boundaries of the policies, of the crash window and of the resume mark."""
ROWS = (
    "id, source, user_id, session_key, chat_id, chat_type, thread_id, end_reason, ended_at IS NOT NULL AS over,"
    " message_count, parent_session_id, display_name, origin_json, expiry_finalized, profile_name, title"
)

sources = st.sampled_from(SOURCES)
lanes = st.integers(0, len(SOURCES) - 1)


class Lanes(RuleBasedStateMachine):
    """One sequence of calls on both stores."""

    oracle: ClassVar[Oracle]
    steps: ClassVar[int] = 0
    told: ClassVar[int] = 0
    """Messages of which it was said before where they would go."""
    sequences: ClassVar[int] = 0
    ended: ClassVar[Callable[[int, int], None]]
    """Told after each sequence how many there were, and how many steps in all of them."""

    @initialize(
        policy=st.sampled_from(POLICIES),
        per_user=st.booleans(),
        busy=st.sets(lanes, max_size=1),
        mirror=st.booleans(),
    )
    def begin(self, policy: Mapping[str, Any], per_user: bool, busy: set[int], mirror: bool) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="lanes-"))
        self.moment = NOON
        self.policy, self.per_user, self.mirror = policy, per_user, mirror
        self.real_to_ours: dict[str, str] = {}
        self.numbers = count(1)
        self.oracle.close_store()
        self.oracle.home_is(self.folder / "real")
        self.keys = [self.oracle.key(one, group_sessions_per_user=per_user) for one in SOURCES]
        self.busy = {self.keys[at] for at in busy}
        self.db: SessionDB | None = None
        self._open()

    def _open(self) -> None:
        self.oracle.open(
            policy=self.policy,
            now=self.moment,
            busy=tuple(self.busy),
            group_sessions_per_user=self.per_user,
            write_sessions_json=self.mirror,
        )
        ours = self.folder / "ours"
        if not ours.exists():  # both begin with the real one's empty database
            ours.mkdir()
            with (
                sqlite3.connect(self.folder / "real" / "state.db") as real,
                sqlite3.connect(ours / "state.db") as copy,
            ):
                real.backup(copy)
            real.close()
            copy.close()
        self.db = SessionDB(ours / "state.db")
        known = dict(self.policy)
        config = self.config = GatewayConfig(
            default_reset_policy=SessionResetPolicy(**known),
            group_sessions_per_user=self.per_user,
            write_sessions_json=self.mirror,
        )
        self.store = SessionStore(
            ours / "sessions",
            config,
            lambda key: key in self.busy,
            db=self.db,
            clock=lambda: self.moment,
            name=lambda now: f"{now:%Y%m%d_%H%M%S}_{0xA0000000 + next(self.numbers):08x}",
        )

    # What both are told --------------------------------------------------------------------------------------

    @rule(at=lanes, force_new=st.sampled_from((False, False, True)), speaks=st.sampled_from((True, True, False)))
    def message(self, at: int, force_new: bool = False, speaks: bool = True) -> None:
        before = {str(id_) for (id_,) in self._select(self.folder / "real", "SELECT id FROM sessions")}
        told = None if force_new or self.keys[at] in self.busy else self._told(at)
        real = self.oracle.get(SOURCES[at], force_new=force_new)
        if told is not None:
            assert real["session_id"] == told if told else real["session_id"] not in before, told
            type(self).told += 1
        ours = self.store.get_or_create_session(SessionSource(**SOURCES[at]), force_new)
        self._same(real, ours)
        if speaks:
            self._speak(real["session_id"], ours.session_id)

    def _told(self, at: int, *, starts: bool = False) -> str:
        """Where the lane's next message goes, as our plans say it: read off the real one's store alone."""
        key, source = self.keys[at], SessionSource(**SOURCES[at])
        if not starts:  # both have loaded their index
            self.oracle.store("list_sessions")
            self.store.list_sessions()
        connection = sqlite3.connect(self.folder / "real" / "state.db", timeout=10)
        try:
            rows = StoredLanes(lambda sql, values: connection.execute(sql, values).fetchall())
            entry = {one.key: SessionEntry.from_json(one.entry_json) for one in rows.routing()}.get(key)
            return next_message(
                rows, key, entry, self.config, "default", from_wall(self.moment), peer=Peer.of(source), starts=starts
            ).session_id
        finally:
            connection.close()

    def _speak(self, real: str, ours: str) -> None:
        """A message is written into the session, or refused by both because its row is gone."""
        taken = True
        try:
            self.oracle.db("append_message", real, role="user", content="hello")
        except OracleError:
            taken = False
        assert self.db is not None
        try:
            self.db.append_message(ours, "user", "hello")
        except SessionNotFound:
            assert not taken
        else:
            assert taken

    @rule(at=lanes, tokens=st.sampled_from((None, 0, 900)))
    def turn(self, at: int, tokens: int | None) -> None:
        self.oracle.store("update_session", self.keys[at], last_prompt_tokens=tokens)
        self.store.update_session(self.keys[at], tokens)

    @rule(at=lanes, name=st.sampled_from((None, "Renamed")))
    def reset(self, at: int, name: str | None) -> None:
        self._same(
            self.oracle.store("reset_session", self.keys[at], name), self.store.reset_session(self.keys[at], name)
        )

    @rule(at=lanes, data=st.data())
    def switch(self, at: int, data: st.DataObject) -> None:
        known = sorted(self.real_to_ours)
        target = data.draw(st.sampled_from([*known, "20260101_000000_ffffffff"]))
        self.real_to_ours.setdefault("20260101_000000_ffffffff", "20260101_000000_ffffffff")
        self._same(
            self.oracle.store("switch_session", self.keys[at], target),
            self.store.switch_session(self.keys[at], self.real_to_ours[target]),
        )

    @rule(at=lanes)
    def suspend(self, at: int) -> None:
        assert self.oracle.store("suspend_session", self.keys[at]) == self.store.suspend_session(self.keys[at])

    @rule(at=lanes, reason=st.sampled_from(("restart_timeout", "shutdown_timeout")))
    def mark(self, at: int, reason: str) -> None:
        real = self.oracle.store("mark_resume_pending", self.keys[at], reason)
        assert real == self.store.mark_resume_pending(self.keys[at], reason)

    @rule(at=lanes)
    def clear(self, at: int) -> None:
        real = self.oracle.store("clear_resume_pending", self.keys[at])
        assert real == self.store.clear_resume_pending(self.keys[at])

    @rule(seconds=st.sampled_from((0, 120, 3600)))
    def crash(self, seconds: int) -> None:
        real = self.oracle.store("suspend_recently_active", seconds)
        assert real == self.store.suspend_recently_active(seconds)

    @rule(days=st.sampled_from((0, 1, 2)))
    def prune(self, days: int) -> None:
        assert self.oracle.store("prune_old_entries", days) == self.store.prune_old_entries(days)

    # What happens around them --------------------------------------------------------------------------------

    @rule(at=lanes, seconds=TIMES, turn=st.booleans(), then=st.booleans())
    def later(self, at: int, seconds: int, turn: bool, then: bool) -> None:
        """Time goes by, from a lane's last activity to its next message, perhaps."""
        if turn:
            self.turn(at, 700)
        self.moment += timedelta(seconds=seconds)
        self.oracle.now(self.moment)
        if then:
            self.message(at)

    @rule(days=st.sampled_from((1, 2)), at=lanes)
    def prune_at_the_very_day(self, days: int, at: int) -> None:
        """A lane that is as old as is allowed to the second is not dropped."""
        self.turn(at, None)
        self.moment += timedelta(days=days)
        self.oracle.now(self.moment)
        self.prune(days)

    @rule(at=lanes, reason=st.sampled_from(ENDS), then=st.sampled_from(("", "message", "restart")))
    def row_ends(self, at: int, reason: str, then: str) -> None:
        real = self._current(at)
        if real:
            self._on_both("UPDATE sessions SET ended_at = 1, end_reason = ? WHERE id = ?", reason, real=real)
        if then == "restart":
            self.restart()
        if then:
            self.message(at)

    @rule(at=lanes)
    def row_vanishes(self, at: int) -> None:
        real = self._current(at)
        if real:
            self._on_both("DELETE FROM messages WHERE session_id = ?", real=real)
            self._on_both("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", real=real)
            self._on_both("DELETE FROM sessions WHERE id = ?", real=real)

    @rule(at=lanes, then=st.booleans())
    def compressed(self, at: int, then: bool) -> None:
        """A turn is compressed, and the process dies before it tells the store."""
        real = self._current(at)
        if not real:
            return
        child = f"20260101_000000_{next(self.numbers):08x}"
        self.real_to_ours[child] = child
        self._on_both("UPDATE sessions SET ended_at = 1, end_reason = 'compression' WHERE id = ?", real=real)
        self._on_both(
            "INSERT INTO sessions (id, source, parent_session_id, started_at, message_count)"
            f" SELECT '{child}', source, id, started_at + 1, 0 FROM sessions WHERE id = ?",
            real=real,
        )
        if then:
            self.message(at)

    @rule()
    def restart(self) -> None:
        self.oracle.close_store()
        assert self.db is not None
        self.db.close()
        told = [self._told(at, starts=True) for at in range(len(SOURCES))]
        self._open()
        for at, key in enumerate(self.keys):
            assert key in self.busy or self._told(at) == told[at], key

    def _current(self, at: int) -> str | None:
        """The real one's session of that lane. Both are asked: who is asked first loads its index then."""
        real, ours = self.oracle.store("peek_session_id", self.keys[at]), self.store.peek_session_id(self.keys[at])
        assert (real is None and ours is None) or self.real_to_ours[real] == ours
        return None if real is None else str(real)

    # Comparing -----------------------------------------------------------------------------------------------

    @invariant()
    def everything_is_equal(self) -> None:
        if not hasattr(self, "store"):
            return
        type(self).steps += 1
        real, ours = self.folder / "real", self.folder / "ours"
        for look in (self._table, self._file, self._sessions):
            theirs, mine = look(real), look(ours)
            assert theirs == mine, f"{look.__name__}\n{theirs}\n{mine}"

    def _same(self, real: Any, ours: SessionEntry | None) -> None:
        if real is None or ours is None:
            assert real is None and ours is None
            return
        known = self.real_to_ours.setdefault(real["session_id"], ours.session_id)
        assert known == ours.session_id
        assert self._even(json.dumps(real)) == self._even(json.dumps(ours.to_dict()))

    def _even(self, text: str) -> Any:
        """Ids of the real one as ours; times of rows without their value."""
        for real, ours in self.real_to_ours.items():
            text = text.replace(real, ours)
        found = json.loads(text)
        entries = found.values() if found and all(isinstance(one, dict) for one in found.values()) else [found]
        for entry in entries:
            created = entry.get("created_at") if isinstance(entry, dict) else None
            if created and datetime.fromisoformat(created) > NOON + timedelta(days=100):
                entry["created_at"] = "its row's"
        return found

    def _table(self, home: Path) -> Any:
        rows = self._select(home, "SELECT session_key, entry_json FROM gateway_routing ORDER BY session_key")
        return self._even(json.dumps({key: json.loads(entry) for key, entry in rows}))

    def _file(self, home: Path) -> Any:
        path = home / "sessions" / "sessions.json"
        if not path.exists():
            return None
        members = json.loads(path.read_text())
        readme = members.pop("_README")
        return readme, list(members), self._even(json.dumps(members)), path.stat().st_mode

    def _sessions(self, home: Path) -> Any:
        text = json.dumps(self._select(home, f"SELECT {ROWS} FROM sessions"))
        for real, ours in self.real_to_ours.items():
            text = text.replace(real, ours)
        return sorted(map(str, json.loads(text)))

    def _on_both(self, statement: str, *values: str, real: str) -> None:
        connection = sqlite3.connect(self.folder / "real" / "state.db", timeout=10)
        with connection:
            connection.execute(statement, (*values, real))
        connection.close()
        assert self.db is not None
        with self.db.transaction():
            self.db.execute(statement, (*values, self.real_to_ours[real]))

    def _select(self, home: Path, query: str) -> list[tuple[Any, ...]]:
        """Ours through its own connection: a second SQLite in one process would take its locks away."""
        if home.name == "ours":
            assert self.db is not None
            return [tuple(row.values()) for row in self.db.rows(query)]
        connection = sqlite3.connect(home / "state.db", timeout=10)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def teardown(self) -> None:
        if hasattr(self, "db") and self.db is not None:
            self.oracle.close_store()
            self.db.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            Lanes.sequences += 1
            Lanes.ended(Lanes.sequences, Lanes.steps)


def run(
    oracle: Oracle,
    examples: int,
    steps: int = 30,
    ended: Callable[[int, int], None] = lambda sequences, steps: None,
    **options: Any,
) -> int:
    """So many sequences of at most so many steps; how many comparisons there were. Raises at a difference. `ended` is
    told after each sequence how many there were, and how many comparisons in all of them."""
    Lanes.oracle = oracle
    Lanes.steps = Lanes.sequences = Lanes.told = 0
    Lanes.ended = staticmethod(ended)
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        Lanes,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=checks,
            report_multiple_bugs=False,
            **options,
        ),
    )
    return Lanes.steps


class Progress:
    """Says every half a minute how far it is, and whether that was without a difference."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._said = time.monotonic()

    def __call__(self, sequences: int, steps: int) -> None:
        if time.monotonic() - self._said >= 30:
            self._said = time.monotonic()
            print(f"{sequences} of {self._wanted} sequences, {steps} steps, no difference so far", flush=True)


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as place, Oracle(Path(place) / "hermes") as hermes:
        compared = run(hermes, wanted, ended=Progress(wanted), database=None)
    print(f"{Lanes.told} messages went where our plans say")
    print(f"{compared} steps on our SessionStore and on the real one of hermes-agent 0.19.0, no difference")
