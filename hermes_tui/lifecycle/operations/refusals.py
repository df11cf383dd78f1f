"""Why a lane cannot be changed now: beside a live gateway, or with what is kept."""

from __future__ import annotations

from hermes_tui.lifecycle.gateway.rules import READ_SCHEMA, newer_schema
from hermes_tui.lifecycle.lane_index.index_file import advice_on_index
from hermes_tui.lifecycle.operations.facts import LaneFacts, Surroundings
from hermes_tui.lifecycle.state_db.recoverable import rule_of

__all__ = ["obstacle", "surroundings_obstacle"]


def surroundings_obstacle(around: Surroundings, *, switches: bool = False) -> str:
    """Why no lane of that home can be changed now, whatever it is; empty if it can. `switches`: the lane gets another
    session, of which the version's own search is tried on the planned result."""
    gateway = around.gateway
    switches = switches and (around.schema != READ_SCHEMA or rule_of(around.columns).fenced)
    if gateway.state == "unknown":
        return f"whether a gateway runs cannot be told ({gateway.reason}), and beside one the change could be lost"
    if not around.live and around.file.fault:
        path = around.home.index_file
        return f"{path} may not be rewritten: {around.file.fault}; {advice_on_index(path)}"
    rules = around.rules
    allowed = rules is not None and rules.allow(switches)
    if not around.live and (newer := newer_schema(around.schema, switches=switches)):
        return f"{newer}: what a gateway of that version would make of it is not known"
    if around.live and not allowed:
        why = rules.reason if rules else "its version is not known"
        return f"a gateway is running and {why}: what is changed beside it would be lost; {around.stop_first}"
    return ""


def obstacle(facts: LaneFacts, *, switches: bool = False) -> str:
    """Why this lane cannot be changed now; empty if it can. `switches`: see `surroundings_obstacle`."""
    general = surroundings_obstacle(facts.around, switches=switches)
    if general:
        return general
    if facts.lane.fault or facts.entry is None:
        return f"what is kept for the lane cannot be understood: {facts.lane.fault}"
    if facts.bindings:
        return "a topic of Telegram's is bound to it for good, and would bring its session back"
    if facts.around.live and facts.lane.primary == "file":
        return "a gateway is running and does not know this lane: it is only in sessions.json"
    if facts.around.live and facts.entry.origin is None:
        unknown = "where the lane's messages come from is not recorded"
        return f"a gateway is running, and {unknown}; {facts.around.stop_first}"
    return ""
