"""A Hector store (`~/.hector`) for the demo, in the tables of version 1: an id that two agents share, checkpoints.

Rows say the session's id and not its agent. All rows of a turn have one time; calls and results are both the agent's
messages; a summary has no role and stands where the conversation goes on from (FACTS.md of the hector store).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hermes_tui.demo.ledger import Ledger
from hermes_tui.demo.service_tales import INCIDENT, INVOICES, LEDGER, STANDUP
from hermes_tui.demo.story import Call, Compaction, Failure, Helper, Tale, digest, uuid
from hermes_tui.demo.telling import Answer, Called, Prompt, Result, Step, steps

__all__ = ["write"]

_DDL = """
CREATE TABLE sessions (
    id VARCHAR(255) NOT NULL, agent_id VARCHAR(255) NOT NULL, metadata TEXT,
    created_at TIMESTAMP NOT NULL, updated_at TIMESTAMP NOT NULL, PRIMARY KEY (id, agent_id));
CREATE INDEX idx_sessions_agent_id ON sessions(agent_id);
CREATE INDEX idx_sessions_updated_at ON sessions(updated_at);
CREATE TABLE session_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, session_id VARCHAR(255) NOT NULL, message_id VARCHAR(255) NOT NULL,
    context_id VARCHAR(255), task_id VARCHAR(255),
    role VARCHAR(50) NOT NULL, message_json TEXT NOT NULL, sequence_num INTEGER NOT NULL,
    created_at TIMESTAMP NOT NULL, FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE);
CREATE INDEX idx_messages_session_id ON session_messages(session_id);
CREATE INDEX idx_messages_message_id ON session_messages(message_id);
CREATE INDEX idx_messages_sequence ON session_messages(session_id, sequence_num);
"""
_CONFIGURATION = """llms:
  gpt: {type: openai, model: gpt-5.4, api_key: "${OPENAI_API_KEY}"}
session_stores:
  default-session-store:
    backend: sql
    sql: {driver: sqlite, database: ./.hector/sessions.db, max_conns: 10, max_idle: 2}
agents:
  accountant: {llm: gpt, session_store: default-session-store, memory: {strategy: summary_buffer, budget: 8000}}
  assistant: {llm: gpt, session_store: default-session-store}
  researcher: {llm: gpt, session_store: default-session-store}
"""
_SESSIONS: tuple[tuple[str, tuple[str, ...], Tale], ...] = (
    ("why-slow", ("researcher",), INCIDENT),
    ("credit-notes", ("accountant",), INVOICES),
    ("standup", ("assistant", "researcher"), STANDUP),
    ("reconcile-2026", ("accountant",), LEDGER),
)
"""Id, agents that have a session of it, what is said."""


def write(home: Path, now: datetime) -> None:
    """Write `home/.hector` as it would be at `now`."""
    root = home / ".hector"
    with Ledger(root / "sessions.db", _DDL) as ledger:
        for session_id, agents, tale in _SESSIONS:
            told = steps(tale, now)
            for agent in agents:
                times = {"created_at": _time(told[0].at), "updated_at": _time(told[-1].at)}
                ledger.insert("sessions", {"id": session_id, "agent_id": agent, "metadata": "{}", **times})
            _messages(ledger, session_id, told)
    (root / "config.yaml").write_text(_CONFIGURATION)


def _time(moment: datetime) -> str:
    """Wall time with the offset (this machine keeps UTC); zeros at the end of the fraction are left out."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".") + "+00:00"


def _messages(ledger: Ledger, session_id: str, told: list[Step]) -> None:
    at = told[0].at
    for number, step in enumerate(told, 1):
        if isinstance(step.event, Prompt | Compaction):
            at = step.at
        role, message = _message(session_id, step)
        row: dict[str, Any] = {"session_id": session_id, "role": role, "sequence_num": number}
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        row |= {"message_id": message.get("messageId", ""), "message_json": text, "created_at": _time(at)}
        ledger.insert("session_messages", row)


def _message(session_id: str, step: Step) -> tuple[str, dict[str, Any]]:
    """The role column and the message. A role of zero is left out of the message."""
    event = step.event
    if isinstance(event, Compaction):
        ids = {"messageId": f"{session_id}-{digest(step.seed, length=8)}", "contextId": session_id}
        return "ROLE_UNSPECIFIED", {**ids, "parts": [{"text": f"Previous conversation summary: {event.summary}"}]}
    if isinstance(event, Prompt):
        return "ROLE_USER", {"role": "ROLE_USER", "parts": [{"text": event.text}]}
    if isinstance(event, Answer):
        parts = _answer(step, event)
    elif isinstance(event, Result):
        parts = [_result(event)]
    else:
        parts = [_failure(event)]
    return "ROLE_AGENT", {"role": "ROLE_AGENT", "parts": parts}


def _answer(step: Step, answer: Answer) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if answer.thinking:
        kind = {"event_type": "thinking", "block_type": "thinking", "block_id": uuid(step.seed, "block")}
        parts.append({"text": answer.thinking, "metadata": {**kind, "block_index": 0}})
    if answer.text:
        parts.append({"text": answer.text})
    for called in answer.calls:
        tool, arguments = _arguments(called.call)
        data = {"id": _call_id(called), "name": tool, "arguments": arguments}
        kind = {"event_type": "tool_call", "tool_call_id": _call_id(called), "tool_name": tool}
        parts.append({"data": {"data": data}, "metadata": kind})
    return parts


def _call_id(called: Called) -> str:
    return f"call_{digest('hector', called.seed, length=24)}"


def _result(result: Result) -> dict[str, Any]:
    call, name = result.called.call, _call_id(result.called)
    failed = isinstance(call, Call) and call.failed
    output = call.answer if isinstance(call, Helper) else call.output or f"wrote {call.target}"
    data = {"tool_call_id": name, "content": "" if failed else output, "error": output if failed else ""}
    kind = {"event_type": "tool_call", "tool_call_id": name, "is_error": failed, "is_final": True}
    return {"data": {"data": data}, "metadata": kind}


def _failure(failure: Failure) -> dict[str, Any]:
    return {"text": failure.reason, "metadata": {"event_type": "error", "error_code": str(failure.status)}}


def _arguments(call: Call | Helper) -> tuple[str, dict[str, Any]]:
    if isinstance(call, Helper):
        return "agent_call", {"agent": "researcher", "task": call.prompt}
    if call.kind == "shell":
        return "execute_command", {"command": call.target}
    if call.kind == "read":
        return "read_file", {"path": call.target}
    return "write_file", {"path": call.target, "content": call.after}
