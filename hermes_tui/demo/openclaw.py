"""An OpenClaw home (`~/.openclaw`) for the demo, as 2026.9.6 keeps it: one agent's database, a fork, a channel."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from hermes_tui.demo.ledger import Ledger
from hermes_tui.demo.older import older_tales
from hermes_tui.demo.openclaw_schema import DDL
from hermes_tui.demo.service_tales import LATE_ORDER, MORNING, RESTOCK, RESTOCK_FORK
from hermes_tui.demo.story import Call, Compaction, Helper, Tale, stamp, uuid
from hermes_tui.demo.telling import Result, Step, Usage, steps
from hermes_tui.demo.tree_scribe import Entry, TreeScribe, milliseconds

__all__ = ["write"]

OLDER = 3
_SCHEMA = 23
_MAIN = "agent:main:main"


class _Scribe(TreeScribe):
    """OpenClaw's dialect: ids are UUIDs, commands are run by `exec`."""

    shell = "exec"

    def entry_id(self, seed: str) -> str:
        return uuid("openclaw", self.session_id, seed)

    def usage(self, usage: Usage) -> Entry:
        return {**super().usage(usage), "reasoningTokens": usage.reasoning}

    def user(self, step: Step, text: str) -> Entry:
        return {"role": "user", "content": text, "timestamp": milliseconds(step.at)}

    def details(self, result: Result) -> Entry:
        call = result.called.call
        if isinstance(call, Helper) or call.kind != "shell":
            return {}
        ended = {"status": "completed", "exitCode": int(call.failed), "durationMs": round(result.seconds * 1000)}
        return {"details": {**ended, "aggregated": call.output, "cwd": self.cwd}}

    def output(self, call: Call | Helper) -> str:
        if isinstance(call, Call) and call.kind == "write":
            return f"Successfully wrote {len(call.after.encode())} bytes to {call.target}"
        return super().output(call)

    def compaction(self, step: Step, compaction: Compaction) -> Entry:
        return {**super().compaction(step, compaction), "tokensAfter": 120, "fromHook": False}


class _Window(NamedTuple):
    """A session key and the session that it has now."""

    key: str
    scribe: _Scribe
    started: datetime
    ended: datetime


def write(home: Path, now: datetime) -> None:
    """Write `home/.openclaw` as it would be at `now`."""
    root = home / ".openclaw"
    with Ledger(root / "agents" / "main" / "agent" / "openclaw-agent.sqlite", DDL, version=_SCHEMA) as ledger:
        made = milliseconds(now.replace(month=1, day=2))
        about = {"meta_key": "primary", "role": "agent", "schema_version": _SCHEMA, "agent_id": "main"}
        ledger.insert("schema_meta", {**about, "app_version": "2026.9.6", "created_at": made, "updated_at": made})
        for tale in reversed(list(older_tales("openclaw", OLDER))):
            _save(ledger, _told(_dashboard(tale), tale, now), label=tale.title)
        restock = _told(_dashboard(RESTOCK), RESTOCK, now)
        _save(ledger, restock, label=RESTOCK.title)
        _save(ledger, _forked(restock, now), label=RESTOCK_FORK.title, fork=restock)
        _save(ledger, _told(_MAIN, MORNING, now), chat_type="direct", session_scope="shared-main")
        order = _told("agent:main:telegram:direct:700001", LATE_ORDER, now)
        _save(
            ledger,
            order,
            label="Where is order 88120?",
            display_name="telegram:direct:700001",
            chat_type="direct",
            channel="telegram",
        )
    (root / "openclaw.json").write_text(json.dumps({"agents": {"defaults": {"model": {"primary": MORNING.model}}}}))


def _dashboard(tale: Tale) -> str:
    return f"agent:main:dashboard:{uuid('openclaw key', tale.slug)}"


def _scribe(tale: Tale, at: datetime) -> _Scribe:
    name = uuid("openclaw", tale.slug)
    scribe = _Scribe(name, cwd=f"/home/dev/{tale.project}", model=tale.model, provider="anthropic")
    scribe.entries.append(
        {"type": "session", "version": 4, "id": name, "timestamp": stamp(at), "cwd": scribe.cwd},
    )
    return scribe


def _told(key: str, tale: Tale, now: datetime) -> _Window:
    told = steps(tale, now)
    scribe = _scribe(tale, told[0].at)
    scribe.entry("model_change", told[0].at, "begin", provider=scribe.provider, modelId=scribe.model)
    scribe.entry("thinking_level_change", told[0].at, "begin", thinkingLevel="medium")
    scribe.tell(told)
    return _Window(key, scribe, told[0].at, told[-1].at)


def _forked(source: _Window, now: datetime) -> _Window:
    """A fork copies the events, with their ids and times."""
    told = steps(RESTOCK_FORK, now)
    scribe = _scribe(RESTOCK_FORK, told[0].at)
    scribe.entries += source.scribe.entries[1:]
    scribe.parent, scribe.kept = source.scribe.parent, source.scribe.kept
    scribe.tell(told)
    return _Window(_dashboard(RESTOCK_FORK), scribe, told[0].at, told[-1].at)


def _save(
    ledger: Ledger,
    window: _Window,
    *,
    label: str | None = None,
    display_name: str | None = None,
    fork: _Window | None = None,
    **about: Any,
) -> None:
    """The key, its window, the events, and the index of the active branch."""
    scribe, started, ended = window.scribe, milliseconds(window.started), milliseconds(window.ended)
    failed = scribe.entries[-1].get("message", {}).get("stopReason") == "error"
    status = "failed" if failed else "done"
    entry = _entry(window, label, display_name, status, fork)
    node: dict[str, Any] = {"session_key": window.key, "current_session_id": scribe.session_id}
    node |= {"entry_json": json.dumps(entry, ensure_ascii=False), "updated_at": ended, "status": status}
    node |= {
        "created_at": started,
        "created_via": "channel" if "channel" in about else "operator" if label else "run",
        "label": label,
    }
    node |= {"display_name": display_name, "last_interaction_at": ended, "last_activity_at": ended}
    if fork:
        node |= {"fork_source_session_key": fork.key, "fork_source_session_id": fork.scribe.session_id}
        node |= {"fork_source_entry_id": fork.scribe.parent, "parent_session_key": fork.key}
    ledger.insert("session_nodes", node)
    row: dict[str, Any] = {"session_id": scribe.session_id, "session_key": window.key, "created_at": started}
    row |= {"updated_at": ended, "transcript_updated_at": ended, "transcript_observed_at": ended}
    row |= {"started_at": started, "ended_at": ended, "status": status, "display_name": label or display_name}
    row |= {"model_provider": scribe.provider, "model": scribe.model, "agent_harness_id": "openclaw"}
    ledger.insert("session_windows", {**row, **about})
    _events(ledger, scribe, ended)


def _entry(
    window: _Window, label: str | None, display_name: str | None, status: str, fork: _Window | None
) -> dict[str, Any]:
    """What the program keeps of a session as JSON. Its counters are those of the last run."""
    scribe, ended = window.scribe, milliseconds(window.ended)
    entry: dict[str, Any] = {"sessionId": scribe.session_id, "updatedAt": ended, "sessionRoot": scribe.cwd}
    names = {"label": label, "displayName": display_name}
    entry |= {name: value for name, value in names.items() if value}
    entry |= {"sessionStartedAt": milliseconds(window.started), "lastInteractionAt": ended, "status": status}
    entry |= {"model": scribe.model, "modelProvider": scribe.provider, "agentHarnessId": "openclaw"}
    if fork:
        source = {"sessionKey": fork.key, "sessionId": fork.scribe.session_id, "entryId": fork.scribe.parent}
        entry |= {"forkSource": source, "parentSessionKey": fork.key}
    return entry


def _events(ledger: Ledger, scribe: _Scribe, updated: int) -> None:
    """Every event in its order; all of them are on the active branch."""
    messages = 0
    name = scribe.session_id
    for seq, event in enumerate(scribe.entries):
        at = milliseconds(datetime.fromisoformat(event["timestamp"]))
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        ledger.insert("transcript_events", {"session_id": name, "seq": seq, "event_json": text, "created_at": at})
        identity = {"event_id": event["id"], "event_type": event["type"], "parent_id": event.get("parentId")}
        ledger.insert("transcript_event_identities", {"session_id": name, "seq": seq, **identity, "created_at": at})
        if seq:
            position = messages if event["type"] == "message" else None
            messages += event["type"] == "message"
            place = {"active_position": seq - 1, "event_seq": seq, "message_position": position}
            row = {"session_id": name, **place, "context_eligible": 1}
            ledger.insert("session_transcript_active_events", row)
    count = len(scribe.entries) - 1
    state = {"session_id": name, "indexed_seq": count, "leaf_event_id": scribe.parent, "updated_at": updated}
    counts = {"active_event_count": count, "active_message_count": messages}
    ledger.insert("session_transcript_index_state", {**state, **counts})
