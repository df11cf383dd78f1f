"""Reads a Hermes home once: its gateway, its lanes and their sessions.

Changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import apsw
import msgspec

from hermes_tui.lifecycle.gateway.configuration import GatewayConfig, config_of_store, read_gateway_config
from hermes_tui.lifecycle.gateway.homes import HermesHome
from hermes_tui.lifecycle.gateway.process import Gateway, file_faults, gateway_for
from hermes_tui.lifecycle.gateway.rules import Rules, rules_of
from hermes_tui.lifecycle.lane_index.index_file import IndexFile, advice_on_index, read_index
from hermes_tui.lifecycle.lane_index.loaded import IndexedLane, indexed_lanes
from hermes_tui.lifecycle.lane_index.rows import LaneSessionRow, StoredLanes
from hermes_tui.lifecycle.recovery import restart_counts
from hermes_tui.lifecycle.routing import recovered_lanes
from hermes_tui.lifecycle.state_db.connection.access import advice_on
from session_adapters.reading.sqlite import DatabaseMissing, DatabaseUnreadable, read_database

__all__ = ["HomeState", "survey"]


class HomeState(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    home: HermesHome
    config: GatewayConfig
    gateway: Gateway
    rules: Rules | None = None
    """Of a running gateway; None where none runs."""
    lanes: tuple[IndexedLane, ...] = ()
    sessions: Mapping[str, LaneSessionRow] = {}
    """Id → row, of the sessions that lanes lead to."""
    chains: Mapping[str, Sequence[LaneSessionRow]] = {}
    """Session key → the sessions that were its own, newest first."""
    restarts: Mapping[str, int] = {}
    """Session key → restarts in a row during which it was busy; at three it is suspended."""
    tips: Mapping[str, str] = {}
    """Id of a compressed session → the one in which it goes on; Hermes moves the lane there by itself."""
    recovered: Mapping[str, str] = {}
    """Session key → the session that Hermes takes up again, for lanes whose own is over."""
    has_table: bool = False
    """Whether the index is in the database (Hermes 0.18.1 and later)."""
    unread: str = ""
    """Why the database could not be read; the lanes are those of `sessions.json` then."""
    notes: tuple[str, ...] = ()
    """What is unusual and no fault: sentences without a full stop."""
    problems: tuple[str, ...] = ()
    """What could not be read: sentences without a full stop."""


class _Read(msgspec.Struct):
    """What one read of the database gave."""

    lanes: list[IndexedLane] = []
    has_table: bool = False
    sessions: dict[str, LaneSessionRow] = {}
    chains: dict[str, list[LaneSessionRow]] = {}
    tips: dict[str, str] = {}
    recovered: dict[str, str] = {}
    schema: int | None = None
    has_sessions: bool = False
    missing: bool = False
    """There is no database."""
    fault: str = ""
    """Why the database could not be read."""


def survey(home: HermesHome, proc: Path = Path("/proc")) -> HomeState:
    """Look at `home`. Raises nothing: what cannot be read is one of the `problems`."""
    config = read_gateway_config(home.path)
    home = msgspec.structs.replace(home, sessions=config.sessions_dir)
    file = read_index(home.index_file)
    read = _read_database(home, file, None if config.multiplex_profiles else home.profile)
    restarts, fault = restart_counts(home.path)
    # Read once more, now as the version of Hermes does that the database is of.
    config = config_of_store(home.path, read.schema, read.has_table)
    gateway = gateway_for(home.path, home.profile, home.root, proc)
    running = gateway.state == "running"
    notes: list[str] = []
    if read.missing and file.entries:
        notes.append(f"there is no database {home.database}; the lanes are shown as sessions.json has them")
    here = home.scope
    notes += [
        f"lanes are recorded for the directory {one}, as in a container or a copy, and not for {here}"
        for one in sorted({lane.scope for lane in read.lanes if lane.scope is not None} - {here})
    ]
    return HomeState(
        home=home,
        config=config,
        gateway=gateway,
        rules=rules_of(gateway, read.schema, proc) if running else None,
        lanes=tuple(read.lanes),
        sessions=read.sessions,
        chains=read.chains,
        tips=read.tips,
        recovered=read.recovered,
        notes=tuple(notes),
        restarts=restarts,
        has_table=read.has_table,
        unread=read.fault,
        problems=(
            *_problems(home, read, file),
            *([fault] if fault else []),
            *file_faults(home.path),
            *config.problems,
        ),
    )


def _read_database(home: HermesHome, file: IndexFile, profile: str | None) -> _Read:
    """`profile` as in `belongs_to`."""
    try:
        found = read_database(
            home.database, lambda connection: _read(StoredLanes.of(connection), file, home.scope, profile)
        )
    except DatabaseMissing:  # sessions.json may be there without it, from an older Hermes
        return _Read(lanes=indexed_lanes((), file, home.scope), missing=True)
    except (DatabaseUnreadable, apsw.Error, UnicodeDecodeError) as error:
        return _Read(lanes=indexed_lanes((), file, home.scope), fault=str(error))
    if not found.has_sessions:
        found.fault = "it is a database, but not Hermes' session store"
    return found


def _read(rows: StoredLanes, file: IndexFile, scope: str, profile: str | None) -> _Read:
    lanes = indexed_lanes(rows.routing(), file, scope)
    ids = [lane.entry.session_id for lane in lanes if lane.entry is not None]
    sessions = rows.sessions(ids)
    over = {
        one.key: one.entry
        for one in lanes
        if one.entry is not None and (row := sessions.get(one.entry.session_id)) is not None and not row.open
    }
    compressed = [id_ for id_, row in sessions.items() if row.end_reason == "compression"]
    return _Read(
        lanes=lanes,
        has_table=rows.has_routing,
        sessions=sessions,
        tips={id_: tip for id_ in compressed if (tip := rows.compression_tip(id_))},
        recovered=recovered_lanes(rows, over, profile),
        chains={lane.key: rows.of_lane(lane.key) for lane in lanes},
        schema=rows.schema,
        has_sessions=bool(rows.columns),
    )


def _problems(home: HermesHome, read: _Read, file: IndexFile) -> Iterator[str]:
    """Each with what is shown instead, and what can be done."""
    if file.fault:
        shown = "the lanes are shown as the database has them, " if read.has_table else ""
        yield f"{home.index_file}: {file.fault}; {shown}{advice_on_index(home.index_file)}"
    if read.fault:
        shown = "the lanes are shown as sessions.json has them, " if file.entries else ""
        yield f"{home.database}: {read.fault}; {shown}{advice_on(home.database)}"
    for lane in read.lanes:
        if lane.fault:
            yield f"{home.path}: lane {lane.key}: {lane.fault}"
