"""Why a lane cannot be changed now: beside a live gateway, or with what is kept."""

from __future__ import annotations

from hermes_tui.lifecycle.gateway.rules import newer_schema
from hermes_tui.lifecycle.operations.facts import LaneFacts, Surroundings

__all__ = ["obstacle", "surroundings_obstacle"]


def surroundings_obstacle(around: Surroundings) -> str:
    """Why no lane of that home can be changed now, whatever it is; empty if it can."""
    gateway = around.gateway
    if gateway.state == "unknown":
        return f"whether a gateway runs cannot be told ({gateway.reason}), and beside one the change could be lost"
    if not around.live and around.file.fault:
        return f"{around.home.index_file} may not be rewritten: {around.file.fault}; repair it or move it away first"
    rules = around.rules
    if not around.live and (newer := newer_schema(around.schema)):
        return f"{newer}: what a gateway of that version would make of it is not known"
    if around.live and (rules is None or rules.verdict != "proven"):
        why = rules.reason if rules else "its version is not known"
        return f"a gateway is running and {why}: what is changed beside it would be lost; {around.stop_first}"
    return ""


def obstacle(facts: LaneFacts) -> str:
    """Why this lane cannot be changed now; empty if it can."""
    general = surroundings_obstacle(facts.around)
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
