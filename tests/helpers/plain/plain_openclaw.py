"""OpenClaw's sample stores, read in the plainest way there is, to compare the adapter with."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from support import STORES

__all__ = ["HOMES", "PlainSession", "database_of", "expected", "plain_database", "plain_file", "plain_index"]

HOMES = STORES / "openclaw"
ROLES = {"user": "user", "assistant": "assistant", "toolResult": "tool", "tool": "tool"}


def expected(home: str) -> dict[str, Any]:
    """What a reference reader found in a sample home."""
    found: dict[str, Any] = json.loads((HOMES / "expected.json").read_text())[home]
    return found


def database_of(home: Path) -> Path:
    return home / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"


def plain_index(home: Path, state: str = ".openclaw") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / state / "agents" / "main" / "sessions" / "sessions.json").read_text())
    return found


class PlainSession:
    """The events of one transcript, and which of them are on the branch that is shown."""

    def __init__(self, events: list[dict[str, Any]], active: list[dict[str, Any]], before: str = "") -> None:
        self.events = events
        self.active = active
        self.before = before
        """ISO time; what is older was copied from another session."""

    @property
    def spoken(self) -> list[dict[str, Any]]:
        """What was said on the shown branch, without marks of compactions and resets."""
        return [event for event in self.active if event["type"] in ("message", "custom_message")]

    def replies(self, *, inherited: bool = False) -> list[dict[str, Any]]:
        """The answers on all branches, the session's own or those that it was forked with."""
        own = [event for event in self.events if (event["timestamp"] < self.before) == inherited]
        return [event["message"] for event in own if event.get("message", {}).get("role") == "assistant"]

    def usage(self, *, inherited: bool = False) -> dict[str, int]:
        total: Counter[str] = Counter()
        for reply in self.replies(inherited=inherited):
            for name in ("input", "output", "cacheRead", "cacheWrite", "reasoningTokens"):
                total[name] += reply.get("usage", {}).get(name) or 0
        return dict(total)

    def cost(self) -> float:
        return sum(float(reply.get("usage", {}).get("cost", {}).get("total", 0)) for reply in self.replies())


def texts(event: dict[str, Any]) -> list[str]:
    """The pieces of text in an event."""
    content = event.get("message", event).get("content")
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content if block["type"] == "text"]


def calls(event: dict[str, Any]) -> list[dict[str, Any]]:
    """The tool calls in an event."""
    content = event.get("message", {}).get("content")
    return [block for block in content if block["type"] == "toolCall"] if isinstance(content, list) else []


def plain_database(home: Path) -> dict[str, PlainSession]:
    """By key; which branch is active as OpenClaw's own table has it."""
    found = {}
    with closing(sqlite3.connect(f"file:{database_of(home)}?immutable=1", uri=True)) as connection:
        nodes = connection.execute(
            "SELECT session_key, current_session_id, created_at, fork_source_session_id FROM session_nodes"
        ).fetchall()
        for key, session_id, created, fork in nodes:
            rows = connection.execute(
                "SELECT e.event_json, a.active_position FROM transcript_events AS e"
                " LEFT JOIN session_transcript_active_events AS a"
                " ON a.session_id = e.session_id AND a.event_seq = e.seq WHERE e.session_id = ? ORDER BY e.seq",
                (session_id,),
            ).fetchall()
            events = [json.loads(row[0]) for row in rows]
            places = {row[1]: event for row, event in zip(rows, events, strict=True) if row[1] is not None}
            before = events[0]["timestamp"] if fork and created else ""
            found[key] = PlainSession(events, [places[at] for at in sorted(places)], before)
    return found


def plain_file(path: Path) -> PlainSession:
    """The samples in files have one branch each: everything is on it."""
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    return PlainSession(events, events)
