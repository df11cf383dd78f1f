"""Claude Code's sessions read by plain lines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from plain_session import NONE, Call, Plain, Said, Tokens, joined, json_lines, summed

__all__ = ["plain_claude"]

Record = dict[str, Any]

_SHOWN = ("compact_boundary", "local_command", "api_error")
_EMPTY = re.compile("<local-command-stdout></local-command-stdout>")
_PUT_IN = ("<command-name>", "<local-command-", "<task-notification>", "Caveat:", "[Request interrupted", "<system-")
"""Beginnings of what the program itself says in the user's name."""


def plain_claude(home: Path) -> list[Plain]:
    """Every session and sub-agent."""
    files = sorted((home / ".claude/projects").rglob("*.jsonl"))
    records = {path: json_lines(path) for path in files}
    records = {path: rows for path, rows in records.items() if rows}
    mains = {path: rows for path, rows in records.items() if not path.stem.startswith("agent-")}
    parents = _parents(mains)
    found = []
    for path, rows in records.items():
        parent = parents.get(path)
        above = _ids(mains[parent]) if parent else set()
        found.append(_session(path, rows, parent.stem if parent else None, above))
    return found


def _ids(rows: list[Record]) -> set[str]:
    """Of records and of the model's replies: 1.0.x gives copies new ids, but keeps those of replies."""
    found = {row["uuid"] for row in rows if "uuid" in row}
    return found | {
        row["message"]["id"] for row in rows if row.get("type") == "assistant" and "id" in row.get("message", {})
    }


def _parents(mains: dict[Path, list[Record]]) -> dict[Path, Path]:
    """Of each fork the session it shares most records with, of those that began before it."""
    began = {path: min((row["timestamp"] for row in _own_start(rows)), default="") for path, rows in mains.items()}
    found = {}
    for path, rows in mains.items():
        named = next((row["forkedFrom"] for row in rows if "forkedFrom" in row), None)
        if named is not None:
            name = named["sessionId"] if isinstance(named, dict) else named
            found[path] = path.with_name(f"{name}.jsonl")
            continue
        shared = [
            (len(_ids(rows) & _ids(others)), other) for other, others in mains.items() if began[other] < began[path]
        ]
        most = max(shared, default=(0, path))
        if most[0]:
            found[path] = most[1]
    return found


def _own_start(rows: list[Record]) -> list[Record]:
    """What tells when a session was begun: its first queued prompt, not what it copied."""
    queued = [row for row in rows if row.get("type") == "queue-operation"]
    return queued or [row for row in rows if "timestamp" in row and "forkedFrom" not in row]


def _session(path: Path, rows: list[Record], parent: str | None, above: set[str]) -> Plain:
    if not any("uuid" in row for row in rows):
        return _document(path, rows)
    helper = path.stem.startswith("agent-")
    results = {
        block["tool_use_id"]: (block.get("content"), bool(block.get("is_error")))
        for row in rows
        if row.get("type") == "user"
        for block in _blocks(row["message"]["content"])
        if block["type"] == "tool_result"
    }
    said: list[Said] = []
    replies: dict[str, int] = {}
    usage: dict[str, Tokens] = {}
    models: dict[str, str] = {}
    prompts = []
    for row in rows:
        kind = row.get("type")
        when = row.get("timestamp")
        if kind == "user":
            blocks = _blocks(row["message"]["content"])
            said += [Said("tool", "", when) for block in blocks if block["type"] == "tool_result"]
            text = joined([block["text"] for block in blocks if block["type"] == "text"])
            if text:
                worded = text.startswith(("<command-name>", "<local-command-stdout>"))
                said.append(Said("user", None if worded else text, when))
                if not row.get("isMeta") and not row.get("isCompactSummary") and not text.startswith(_PUT_IN):
                    prompts.append(text)
        elif kind == "assistant":
            message = row["message"]
            own = message["id"]
            if own not in replies:
                replies[own] = len(said)
                said.append(Said("assistant", "", when, (), message["model"]))
            said[replies[own]] = _more(said[replies[own]], message["content"], when, results)
            if own not in above:
                usage[own] = _usage(message["usage"])
                models[own] = message["model"]
        elif kind == "system" and row.get("subtype") in _SHOWN and not _EMPTY.fullmatch(row.get("content", "")):
            said.append(Said("system", None, when))
    own_rows = [
        row for row in rows if "timestamp" in row and row.get("uuid") not in above and "forkedFrom" not in row
    ]
    if parent and any(row.get("type") == "queue-operation" for row in rows):
        own_rows = [row for row in rows if row.get("type") == "queue-operation"]
    said = [one._replace(model=None if one.model == "<synthetic>" else one.model) for one in said]
    return Plain(
        session_id=path.stem,
        said=tuple(said),
        title=_title(path, rows, prompts),
        created=own_rows[0]["timestamp"],
        cwd=next((row["cwd"] for row in rows[::-1] if row.get("cwd")), None),
        branch=next((row["gitBranch"] for row in rows[::-1] if row.get("gitBranch")), None),
        kind="subagent" if helper else "fork" if parent else "session",
        parent=next(row["sessionId"] for row in rows if "sessionId" in row) if helper else parent,
        tokens=summed(list(usage.values())),
        models=tuple(one for one in models.values() if one != "<synthetic>") or None,
        models_beside=tuple(one.model for one in said if one.model),
    )


def _title(path: Path, rows: list[Record], prompts: list[str]) -> str:
    meta = path.with_suffix(".meta.json")
    if meta.exists():
        return str(json.loads(meta.read_text())["description"])
    for kind, name in (("custom-title", "customTitle"), ("ai-title", "aiTitle")):
        named = [row[name] for row in rows if row.get("type") == kind]
        if named:
            return str(named[-1])
    return prompts[0] if prompts else ""


def _blocks(content: Any) -> list[Record]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _more(one: Said, content: Any, when: Any, results: dict[str, tuple[Any, bool]]) -> Said:
    text, calls = one.text or "", list(one.calls)
    for block in _blocks(content):
        if block["type"] == "text":
            text = joined([text, block["text"]])
        elif block["type"] == "tool_use":
            result, failed = results.get(block["id"], (None, False))
            calls.append(Call(block["name"], block["input"], result, failed))
    return one._replace(text=text, calls=tuple(calls), when=when)


def _usage(usage: Record) -> Tokens:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    first, output, read, written = (usage.get(name) or 0 for name in names)
    return first, output, read, written, 0


def _document(path: Path, rows: list[Record]) -> Plain:
    """The layout of the specification: the first line describes the session, `cost` events say what it cost."""
    said = []
    for row in rows:
        if "role" in row:
            said.append(Said(row["role"], row["content"], row["timestamp"], (), row.get("model")))
        elif row["type"] == "tool_use":
            call = Call(row["toolName"], row["input"], row["output"])
            said.append(Said("assistant", "", row["timestamp"], (call,)))
    costs = [row for row in rows if row["type"] == "cost"]
    usage = [(row["inputTokens"], row["outputTokens"], row["cachedTokens"], 0, 0) for row in costs]
    parent = rows[0].get("forkedFrom")
    return Plain(
        session_id=path.stem,
        said=tuple(said),
        title=next(row["content"] for row in rows if row.get("role") == "user"),
        created=rows[0]["timestamp"],
        cwd=rows[0]["cwd"],
        kind="fork" if parent else "session",
        parent=parent,
        tokens=summed(list(usage)) or NONE,
        cost=sum(row["totalUsd"] for row in costs),
    )
