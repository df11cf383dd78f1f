"""OpenClaw's sessions read by plain lines: a key has a current transcript, in a database, a file or a document."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from plain_branches import beside, models_of, said_of, spent, tokens_of
from plain_openclaw import database_of
from plain_session import Call, Plain, Said, instant, json_lines, summed
from plain_tables import rows
from plain_trees import active_path, plain_text

__all__ = ["plain_openclaw"]

Event = dict[str, Any]

_ENVELOPE = re.compile(r"^\[[^\]\n]*\d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]*\] ")
"""Who wrote and when, before a prompt that came through a channel."""


def plain_openclaw(home: Path) -> list[Plain]:
    """Every key, and what is left of others."""
    found: list[Plain] = []
    if database_of(home).exists():
        found += _of_database(database_of(home))
    for folder in sorted(home.glob(".*/agents/*/sessions")):
        found += _of_files(folder)
    return found + _documents(home / ".openclaw/sessions")


def _of_database(path: Path) -> list[Plain]:
    found, seen = [], set[str]()
    nodes = rows(path, "SELECT * FROM session_nodes")
    windows = rows(path, "SELECT session_id, session_key FROM session_windows ORDER BY created_at")
    texts = rows(path, "SELECT session_id, seq, event_json FROM transcript_events ORDER BY session_id, seq")
    events = {(row["session_id"], row["seq"]): json.loads(row["event_json"]) for row in texts}
    active = rows(path, "SELECT * FROM session_transcript_active_events ORDER BY session_id, active_position")
    for node in sorted(nodes, key=lambda node: node["created_at"] or 0):
        key, current = node["session_key"], node["current_session_id"]
        held = [row["session_id"] for row in windows if row["session_key"] == key]
        everything = [event for window in held for (owner, _), event in events.items() if owner == window]
        shown = [events[current, row["event_seq"]] for row in active if row["session_id"] == current]
        fork = node["fork_source_session_key"]
        plain = _session(key, shown, everything, seen, node["label"] or node["display_name"])
        kind = "fork" if fork else "subagent" if node["spawned_by"] else "session"
        parent = fork or node["spawned_by"]
        found.append(plain._replace(kind=kind, parent=parent, archived=node["archived_at"] is not None))
    return found


def _of_files(folder: Path) -> list[Plain]:
    index = folder / "sessions.json"
    entries = json.loads(index.read_bytes()) if index.exists() else {}
    keys = {entry["sessionId"]: key for key, entry in entries.items()}
    found, seen = [], set[str]()
    for path in sorted(folder.glob("*.jsonl*"), key=lambda path: path.name.count(".")):
        events = json_lines(path)
        if not events or events[0].get("type") != "session":
            continue
        key = keys.get(events[0]["id"]) if path.suffix == ".jsonl" else None
        entry = entries.get(key, {})
        named = entry.get("label") or entry.get("displayName")
        plain = _session(key or events[0]["id"], _branch(events), events, seen, named)
        if not plain.models and entry.get("model"):
            plain = plain._replace(models=(entry["model"],))
        parent = entry.get("spawnedBy")
        found.append(
            plain._replace(kind="subagent" if parent else "session", parent=parent, archived=".deleted." in path.name)
        )
    return found


def _branch(events: list[Event]) -> list[Event]:
    """From the last entry to its root; all, where nothing was said on the way."""
    entries = [event for event in events if event["type"] != "session"]
    shown = active_path(entries)
    return shown if any("message" in event for event in shown) else entries


def _session(key: str, shown: list[Event], everything: list[Event], seen: set[str], named: str | None) -> Plain:
    own = [event for event in everything if event.get("id") not in seen or event["type"] == "session"]
    own = list({event["id"]: event for event in own if event["type"] != "session"}.values())
    seen |= {event["id"] for event in own}
    said = [one for event in shown for one in _said(event, shown)]
    messages = [event["message"] for event in everything if "message" in event]
    spoken = [instant(one["timestamp"]) for one in messages if one["role"] in ("user", "assistant")]
    headers = [event for event in everything if event["type"] == "session"]
    began = [instant(event["timestamp"]) for event in headers if event.get("id") not in seen]
    began += [instant(event["message"]["timestamp"]) for event in own if "message" in event]
    prompts = [plain_text(one["content"]) for one in messages if one["role"] == "user"]
    return Plain(
        session_id=key,
        said=tuple(said),
        title=named or _prompt(prompts),
        created=min(when for when in began if when).isoformat(),
        updated=max(when for when in spoken if when).isoformat() if spoken else headers[-1]["timestamp"],
        cwd=headers[-1]["cwd"],
        tokens=summed([tokens_of(event) for event in own]),
        cost=spent(own),
        models=models_of(everything),
        beside=beside(everything, shown),
    )


def _prompt(prompts: list[str]) -> str:
    """The first one, without who wrote it when, and without what a sub-agent is told about being one."""
    return _ENVELOPE.sub("", prompts[0]).split("[Subagent Task]: ")[-1] if prompts else ""


def _said(event: Event, shown: list[Event]) -> list[Said]:
    if event["type"] == "reset":
        return [Said("system", None, event["timestamp"])]
    found = []
    for one in said_of(event, shown):
        # A program that ends with a code is no error to OpenClaw, and its result says so in words.
        calls = [call._replace(failed=None) if "exited with code" in str(call.result) else call for call in one.calls]
        found.append(one._replace(calls=tuple(calls)))
    return found


def _documents(folder: Path) -> list[Plain]:
    """The layout of the specification; the same id in two channels is two sessions."""
    found = []
    paths = sorted(folder.glob("*/*.json"))
    for path in paths:
        try:
            value = json.loads(path.read_bytes())
        except ValueError:
            continue
        messages = value["messages"]
        results = {one["toolCallId"]: one["content"] for one in messages if one["role"] == "tool"}
        said = []
        for one in messages:
            calls = tuple(
                Call(call["name"], call["input"], results.get(call["id"])) for call in one.get("toolCalls", ())
            )
            text = "" if one["role"] == "tool" else one["content"]
            model = value["model"] if one["role"] == "assistant" else None
            said.append(Said(one["role"], text, one["timestamp"], calls, one.get("model", model)))
        usage = [one["usage"] for one in messages if "usage" in one]
        twice = sum(other.name == path.name for other in paths) > 1
        found.append(
            Plain(
                session_id=f"{value['channel']}/{value['id']}" if twice else value["id"],
                said=tuple(said),
                title=value.get("title") or next(one.text or "" for one in said if one.role == "user"),
                created=value["createdAt"],
                cwd=value["cwd"],
                tokens=summed(
                    [(one["inputTokens"], one["outputTokens"], one.get("cachedTokens", 0), 0, 0) for one in usage]
                ),
                cost=sum(one["cost"]["usd"] for one in messages if "cost" in one),
            )
        )
    return found
