"""OpenCode's stores read with a few plain lines of SQL and JSON, to compare with."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Line", "Plain", "data_folder", "plain_home", "rows"]


class Line(NamedTuple):
    """One native message."""

    id: str
    role: str
    """Of 2.x rows the type."""
    created: int
    text: str
    thinking: str
    calls: list[tuple[str, Any, Any, bool]]
    """name, arguments, result, failed"""
    tokens: tuple[int, int, int, int, int]
    """input, output with reasoning, cache read, cache write, reasoning"""
    cost: float
    model: str | None
    error: bool


class Plain(NamedTuple):
    """One session."""

    title: str
    cwd: str | None
    parent: str | None
    archived: bool
    created: int
    lines: list[Line]
    fork: str | None = None
    """What 2.x notes of the session that this one was forked from."""
    model: str | None = None
    """The one that was chosen."""


def data_folder(home: Path) -> Path:
    """Where OpenCode keeps its data."""
    return home / ".local" / "share" / "opencode"


def rows(path: Path, query: str, *parameters: object) -> list[dict[str, Any]]:
    """Plain SQL, every column by name."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query, parameters)]


def plain_home(home: Path, scratch: Path) -> dict[str, Plain]:
    """Every session of a home, once, from a copy of it in `scratch`."""
    shutil.copytree(home, scratch)
    folder = data_folder(scratch)
    found: dict[str, Plain] = {}
    for info in [*folder.glob("project/*/storage/session/info/*.json"), *folder.glob("storage/session/*/*.json")]:
        found[info.stem] = _from_files(folder, info)
    for path in sorted(folder.glob("opencode*.db")):
        names = {row["name"] for row in rows(path, "SELECT name FROM sqlite_master")}
        for table in ("sessions", "session", "session_v2"):
            for row in rows(path, f"SELECT * FROM {table}") if table in names else ():
                found[row["id"]] = _from_rows(path, table, row)
    return found


def _from_rows(path: Path, table: str, row: dict[str, Any]) -> Plain:
    if table == "sessions":
        said = rows(path, "SELECT * FROM messages WHERE session_id = ? ORDER BY created_at", row["id"])
        lines = [_document_line(path, message) for message in said]
        return Plain(row["title"], row["cwd"], row["parent_id"], False, row["created_at"], lines)
    entries = []
    if rows(path, "SELECT 1 FROM sqlite_master WHERE name = 'session_message'"):
        entries = rows(path, "SELECT * FROM session_message WHERE session_id = ? ORDER BY seq", row["id"])
    lines = [_entry_line(entry) for entry in entries]
    if table == "session" or not entries:
        for message in rows(path, "SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id", row["id"]):
            parts = rows(path, "SELECT data FROM part WHERE message_id = ? ORDER BY id", message["id"])
            lines.append(
                _line(message["id"], json.loads(message["data"]), [json.loads(part["data"]) for part in parts])
            )
    return Plain(
        row["title"] or "",
        row["directory"],
        row["parent_id"],
        row["time_archived"] is not None,
        row["time_created"],
        lines,
        row.get("fork_session_id"),
        json.loads(row["model"])["id"] if row.get("model") else None,
    )


def _from_files(folder: Path, info: Path) -> Plain:
    value = json.loads(info.read_text())
    old = info.parent.name == "info"
    messages = info.parents[1] / "message" / info.stem if old else folder / "storage" / "message" / info.stem
    lines = []
    for path in sorted(messages.glob("*.json")):
        parts = info.parents[1] / "part" / info.stem / path.stem if old else folder / "storage" / "part" / path.stem
        lines.append(
            _line(
                path.stem,
                json.loads(path.read_text()),
                [json.loads(part.read_text()) for part in sorted(parts.glob("*.json"))],
            )
        )
    return Plain(
        value["title"], value.get("directory"), value.get("parentID"), False, value["time"]["created"], lines
    )


def _line(message_id: str, data: dict[str, Any], parts: list[dict[str, Any]]) -> Line:
    calls = []
    for part in parts:
        if part["type"] == "tool":
            state = part["state"]
            failed = state["status"] == "error"
            exit_code = (state.get("metadata") or {}).get("exit") or 0
            result = state.get("error") if failed else state.get("output")
            calls.append((part["tool"], state["input"], result, failed or exit_code != 0))
    used = data.get("tokens")
    tokens = (0, 0, 0, 0, 0)
    if used and "total" in used:  # whatever is neither input nor cache was written by the model
        cache = used["cache"]
        written = used["total"] - used["input"] - cache["read"] - cache["write"]
        tokens = (used["input"], written, cache["read"], cache["write"], used["reasoning"])
    return Line(
        id=message_id,
        role=data["role"],
        created=data["time"]["created"],
        text="\n".join(part["text"] for part in parts if part["type"] == "text"),
        thinking="\n\n".join(part["text"] for part in parts if part["type"] == "reasoning"),
        calls=calls,
        tokens=tokens,
        cost=data.get("cost") or 0,
        model=data.get("modelID"),
        error="error" in data,
    )


def _entry_line(entry: dict[str, Any]) -> Line:
    data = json.loads(entry["data"])
    content = data.get("content", [])
    calls = []
    for part in content:
        if part["type"] == "tool":
            state = part["state"]
            failed = state["status"] == "error"
            result = state["error"]["message"] if failed else "\n".join(one["text"] for one in state["content"])
            calls.append((part["name"], state["input"], result, failed))
    if entry["type"] == "shell":
        calls.append(("shell", {"command": data["command"]}, data["output"], False))
    used = data.get("tokens")
    tokens = (0, 0, 0, 0, 0)
    if used:
        cache = used["cache"]
        written = used["output"] + used["reasoning"]
        tokens = (used["input"], written, cache["read"], cache["write"], used["reasoning"])
    return Line(
        id=entry["id"],
        role=entry["type"],
        created=entry["time_created"],
        text=data.get("text", "") or "\n".join(part["text"] for part in content if part["type"] == "text"),
        thinking="\n\n".join(part["text"] for part in content if part["type"] == "reasoning"),
        calls=calls,
        tokens=tokens,
        cost=data.get("cost") or 0,
        model=data["model"]["id"] if entry["type"] == "assistant" else None,
        error="error" in data,
    )


def _document_line(path: Path, row: dict[str, Any]) -> Line:
    calls = rows(path, "SELECT * FROM tool_calls WHERE message_id = ? ORDER BY created_at", row["id"])
    number = {name: row[name] or 0 for name in row if name.endswith("_tokens")}
    return Line(
        id=row["id"],
        role=row["role"],
        created=row["created_at"],
        text=row["content"],
        thinking=row["thinking"] or "",
        calls=[
            (call["name"], json.loads(call["input"]), call["output"], call["status"] == "error") for call in calls
        ],
        tokens=(
            number["input_tokens"],
            number["output_tokens"],
            number["cached_tokens"],
            0,
            number["thinking_tokens"],
        ),
        cost=row["cost_usd"] or 0,
        model=row["model"],
        error=False,
    )
