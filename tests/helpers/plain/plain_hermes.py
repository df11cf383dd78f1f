"""Hermes' sessions read by plain SQL."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from plain_session import Call, Plain, Said, Tokens, summed
from plain_tables import rows

__all__ = ["plain_hermes"]

Row = dict[str, Any]

_SUMMARY = "[CONTEXT COMPACTION]"


def plain_hermes(home: Path) -> list[Plain]:
    """Every session of every profile."""
    root = home / ".hermes"
    found = []
    for path in (root / "state.db", *sorted(root.glob("profiles/*/state.db"))):
        sessions = {row["id"]: row for row in rows(path, "SELECT * FROM sessions")}
        messages = rows(path, "SELECT * FROM messages ORDER BY id")
        usage = rows(path, "SELECT * FROM session_model_usage")
        found += [_session(row, sessions, messages, usage) for row in sessions.values()]
    return found


def _session(row: Row, sessions: dict[str, Row], messages: list[Row], usage: list[Row]) -> Plain:
    own = [one for one in messages if one["session_id"] == row["id"]]
    spent = [one for one in usage if one["session_id"] == row["id"]] or [row]
    kind = _kind(row, sessions)
    results = {one["tool_call_id"]: one["content"] for one in own if one["role"] == "tool"}
    prompts = [
        text
        for one in own
        if one["role"] == "user" and (text := _text(one["content"])) and not text.startswith(_SUMMARY)
    ]
    costs = [one["actual_cost_usd"] or one["estimated_cost_usd"] for one in spent]
    models = tuple(one["model"] for one in spent if one["model"])
    return Plain(
        session_id=row["id"],
        said=tuple(_said(one, results) for one in own),
        title=row["title"] or (prompts or [""])[0],
        created=row["started_at"] * 1000,
        updated=None if own else row["started_at"] * 1000,
        cwd=row["cwd"],
        branch=row["git_branch"],
        kind=kind,
        parent=row["parent_session_id"],
        tokens=summed([_tokens(one) for one in spent]),
        cost=sum(cost for cost in costs if cost) if any(costs) else None,
        models=models,
        archived=bool(row["archived"]),
    )


def _kind(row: Row, sessions: dict[str, Row]) -> str:
    marks = json.loads(row["model_config"] or "{}")
    above = sessions.get(row["parent_session_id"])
    if "_delegate_from" in marks or row["source"] == "subagent":
        return "subagent"
    if "_branched_from" in marks or (above and above["end_reason"] == "branched"):
        return "fork"
    return "continuation" if above and above["end_reason"] == "compression" else "session"


def _text(content: Any) -> str:
    if not content:
        return ""
    if content.startswith("\x00json:"):
        parts = json.loads(content.removeprefix("\x00json:"))
        return "\n".join(part["text"] for part in parts if part.get("type") == "text")
    return str(content)


def _said(row: Row, results: dict[str, Any]) -> Said:
    calls = []
    for call in json.loads(row["tool_calls"] or "[]"):
        arguments = call["function"]["arguments"]
        with suppress(ValueError):
            arguments = json.loads(arguments)
        calls.append(Call(call["function"]["name"], arguments, results.get(call["id"]), None))
    text = "" if row["role"] == "tool" else _text(row["content"])
    return Said(row["role"], text, row["timestamp"] * 1000, tuple(calls))


def _tokens(row: Row) -> Tokens:
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    first, output, read, written, reasoning = (row[name] or 0 for name in names)
    return first, output, read, written, reasoning
