"""What an operation needs to know about a lane.

Read once for the plan and once more within the transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hermes_tui.errors import LaneNotFound
from hermes_tui.lifecycle.gateway.configuration import GatewayConfig, config_of_store
from hermes_tui.lifecycle.gateway.homes import DEFAULT_PROFILE, HermesHome
from hermes_tui.lifecycle.gateway.process import Gateway, gateway_for
from hermes_tui.lifecycle.gateway.rules import Rules, rules_of
from hermes_tui.lifecycle.keys import is_shared_multi_user_session
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.index_file import IndexFile, read_index
from hermes_tui.lifecycle.lane_index.loaded import IndexedLane, indexed_lanes
from hermes_tui.lifecycle.lane_index.peer import Peer
from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow, StoredLanes

__all__ = ["LaneFacts", "Surroundings", "look_around", "read_facts"]


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What is the same for every lane of a home."""

    home: HermesHome
    gateway: Gateway
    rules: Rules | None
    config: GatewayConfig
    file: IndexFile
    lanes: tuple[IndexedLane, ...]
    has_table: bool
    schema: int | None
    """Version of the database."""
    columns: frozenset[str]
    """Of `sessions`."""

    @property
    def live(self) -> bool:
        """A gateway runs."""
        return self.gateway.state == "running"

    @property
    def stop_first(self) -> str:
        """What to do where it is in the way: a clause with the command."""
        own = self.gateway.home == str(self.home.path) and self.home.profile != DEFAULT_PROFILE
        profile = f" -p {self.home.profile}" if own else ""
        return f"stop it first (`hermes{profile} gateway stop`)"

    def lane(self, key: str) -> IndexedLane:
        """Raises `LaneNotFound`."""
        for lane in self.lanes:
            if lane.key == key:
                return lane
        raise LaneNotFound(
            f"profile {self.home.profile!r} has no lane {key!r}; `hermes-tui lanes list` shows what it has"
        )


class LaneFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One lane and the sessions that may become its own."""

    around: Surroundings
    lane: IndexedLane
    entry: SessionEntry | None
    """None where it is not understood: see the lane's `fault`."""
    row: LaneSessionRow | None = None
    """Of the session that the lane is in."""
    recoverable: tuple[LaneSessionRow, ...] = ()
    """Sessions that Hermes may bring back, the lane's own one among them, as Hermes would take them up."""
    with_messages: frozenset[str] = frozenset()
    """Ids of those that have any, and of the target."""
    occupied: Mapping[str, str] = {}
    """Id → key of another lane that is in that session."""
    tip: str = ""
    """Where the lane's session goes on after it was compressed; empty if it does not."""
    bindings: int = 0
    """Topics of Telegram's that are bound to the session or the lane."""
    target: LaneSessionRow | None = None
    target_tip: str = ""

    @property
    def basis(self) -> tuple[object, ...]:
        """What must be the same when the plan is carried out. Beside a gateway the entry's own times move with
        every message; which session it is does not."""
        entry, lane = self.entry, self.lane
        counts = lane.file if lane.primary == "file" else lane.table
        return (
            self.around.live,
            self.around.gateway.pid,
            (entry.session_id if entry else "") if self.around.live else counts,
            self.lane.fault,
            self.lane.scope,
            _state(self.row),
            [_state(row) for row in self.recoverable],
            sorted(self.with_messages) if self.around.live else (),
            sorted(self.occupied.items()),
            self.tip,
            self.bindings,
            _state(self.target),
            self.target_tip,
        )


def _state(row: LaneSessionRow | None) -> object:
    """A row without what changes with every message, and what Hermes adds by and by."""
    fleeting = dict.fromkeys(("title", "model", "message_count", "input_tokens", "output_tokens", "last_activity_at"))
    return None if row is None else msgspec.structs.replace(row, **fleeting)


def look_around(rows: StoredLanes, home: HermesHome, proc: Path) -> Surroundings:
    """Read what is the same for every lane. Raises what `rows` raises."""
    has_table = rows.has_routing
    config = config_of_store(home.path, rows.schema, has_table)
    home = msgspec.structs.replace(home, sessions=config.sessions_dir)
    gateway = gateway_for(home.path, home.profile, home.root, proc)
    file = read_index(home.index_file)
    running = gateway.state == "running"
    return Surroundings(
        home=home,
        gateway=gateway,
        rules=rules_of(gateway, rows.schema, proc) if running else None,
        config=config,
        file=file,
        lanes=tuple(indexed_lanes(rows.routing(), file, home.scope)),
        has_table=has_table,
        schema=rows.schema,
        columns=rows.columns,
    )


def read_facts(rows: StoredLanes, around: Surroundings, key: str, target: str = "") -> LaneFacts:
    """Read one lane. Raises `LaneNotFound`, and what `rows` raises."""
    lane = around.lane(key)
    entry = lane.entry
    if entry is None:
        return LaneFacts(around=around, lane=lane, entry=None)
    row = rows.session(entry.session_id)
    found: Sequence[LaneSessionRow] = ()
    if entry.origin is not None:  # else it is not recorded where its messages come from
        shared = is_shared_multi_user_session(
            entry.origin,
            group_sessions_per_user=around.config.group_sessions_per_user,
            thread_sessions_per_user=around.config.thread_sessions_per_user,
        )
        found = rows.recoverable(key, Peer.of(entry.origin), anybody=shared)
    wanted = rows.session(target) if target else None
    ids = {entry.session_id, *(one.id for one in found), target}
    return LaneFacts(
        around=around,
        lane=lane,
        entry=entry,
        row=row,
        recoverable=tuple(found),
        with_messages=frozenset(one.id for one in (*found, *([wanted] if wanted else ())) if rows.has_messages(one)),
        occupied={
            one.entry.session_id: one.key
            for one in around.lanes
            if one.entry is not None and one.key != key and one.entry.session_id in ids
        },
        tip=rows.compression_tip(entry.session_id),
        bindings=rows.topic_bindings(entry.session_id, key),
        target=wanted,
        target_tip=rows.compression_tip(target) if wanted else "",
    )
