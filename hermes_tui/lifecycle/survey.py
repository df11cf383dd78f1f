"""One look at a Hermes home: its gateway, its index of lanes and the sessions that they lead to. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw
import msgspec

from hermes_tui.lifecycle.configuration import GatewayConfig, config_of_store, read_gateway_config
from hermes_tui.lifecycle.gateway import Gateway, gateway_for
from hermes_tui.lifecycle.gateway_rules import Rules, rules_of
from hermes_tui.lifecycle.homes import HermesHome
from hermes_tui.lifecycle.index import IndexedLane, indexed_lanes
from hermes_tui.lifecycle.index_file import IndexFile, read_index
from hermes_tui.lifecycle.recovery import restart_counts
from hermes_tui.lifecycle.rows import RoutingRow, Rows, SessionRow
from session_adapters.sqlite import DatabaseMissing, DatabaseUnreadable, read_database
from session_adapters.times import from_epoch

__all__ = ["Survey", "survey"]


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    home: HermesHome
    config: GatewayConfig
    gateway: Gateway
    rules: Rules | None = None
    """Of a running gateway; None where none runs."""
    lanes: tuple[IndexedLane, ...] = ()
    sessions: Mapping[str, SessionRow] = {}
    """Id → row, of the sessions that lanes lead to."""
    chains: Mapping[str, Sequence[SessionRow]] = {}
    """Session key → the sessions that were its own, newest first."""
    restarts: Mapping[str, int] = {}
    """Session key → restarts in a row during which it was busy; at three it is suspended."""
    tips: Mapping[str, str] = {}
    """Id of a compressed session → the one in which it goes on; Hermes moves the lane there by itself."""
    has_table: bool = False
    """Whether the index is in the database (Hermes 0.18.1 and later)."""
    notes: tuple[str, ...] = ()
    """What is unusual and no fault: sentences without a full stop."""
    problems: tuple[str, ...] = ()
    """What could not be read: sentences without a full stop."""


class _Read(msgspec.Struct):
    """What one read of the database gave."""

    routing: list[RoutingRow] = []
    has_table: bool = False
    sessions: dict[str, SessionRow] = {}
    chains: dict[str, list[SessionRow]] = {}
    tips: dict[str, str] = {}
    schema: int | None = None
    usage: float | None = None


def survey(home: HermesHome, proc: Path = Path("/proc")) -> Survey:
    """Look at `home`. Raises nothing: what cannot be read is one of the `problems`."""
    config = read_gateway_config(home.path)
    home = msgspec.structs.replace(home, sessions=config.sessions_dir)
    problems: list[str] = []
    file = read_index(home.index_file)
    if file.fault:
        problems.append(f"{home.index_file}: {file.fault}")
    try:
        read = read_database(home.database, lambda connection: _read(Rows.of(connection), file, home.scope))
    except DatabaseMissing:
        read = _Read()
    except (DatabaseUnreadable, apsw.Error, UnicodeDecodeError) as error:
        problems.append(f"{home.database}: {error}")
        read = _Read()
    lanes = indexed_lanes(read.routing, file, home.scope)
    problems += [f"{home.path}: lane {lane.key}: {lane.fault}" for lane in lanes if lane.fault]
    restarts, fault = restart_counts(home.path)
    if fault:
        problems.append(fault)
    config = config_of_store(home.path, read.schema, read.has_table)
    gateway = gateway_for(home.path, home.profile, home.root, proc)
    running = gateway.state == "running"
    return Survey(
        home=home,
        config=config,
        gateway=gateway,
        rules=rules_of(gateway, read.schema, from_epoch(read.usage), proc) if running else None,
        lanes=tuple(lanes),
        sessions=read.sessions,
        chains=read.chains,
        tips=read.tips,
        notes=_notes(lanes, home),
        restarts=restarts,
        has_table=read.has_table,
        problems=(*problems, *config.problems),
    )


def _read(rows: Rows, file: IndexFile, scope: str) -> _Read:
    routing = rows.routing()
    lanes = indexed_lanes(routing, file, scope)
    ids = [lane.entry.session_id for lane in lanes if lane.entry is not None]
    sessions = rows.sessions(ids)
    compressed = [id_ for id_, row in sessions.items() if row.end_reason == "compression"]
    return _Read(
        routing=routing,
        has_table=rows.has_routing,
        sessions=sessions,
        tips={id_: tip for id_ in compressed if (tip := rows.compression_tip(id_))},
        chains={lane.key: rows.of_lane(lane.key) for lane in lanes},
        schema=rows.schema,
        usage=rows.last_usage(),
    )


def _notes(lanes: Sequence[IndexedLane], home: HermesHome) -> tuple[str, ...]:
    others = sorted({lane.scope for lane in lanes if lane.scope not in (None, home.scope)} - {None})
    return tuple(
        f"lanes are recorded for the directory {one}, as in a container or a copy, and not for {home.scope}"
        for one in others
    )
