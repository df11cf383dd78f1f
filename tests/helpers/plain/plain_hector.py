"""Hector's sessions read by plain SQL: rows of messages (1.x) and of events (2.x)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from plain_session import Call, Plain, Said
from plain_tables import rows

__all__ = ["plain_hector"]

Row = dict[str, Any]


def plain_hector(home: Path) -> list[Plain]:
    """Those of the stores that Hector's configuration and its own place name."""
    return [*_first(home / "data/sessions.db", home), *_second(home / ".hector/hector.db", home)]


def _time(text: str) -> str:
    """Go writes nine digits of a second; six are enough here."""
    return re.sub(r"(\.\d{1,6})\d*", r"\1", text).replace(" ", "T", 1)


def _session(session_id: str, said: list[Said], row: Row, home: Path) -> Plain:
    prompts = [one.text for one in said if one.role == "user" and one.text]
    times = [_time(row["created_at"])] if "created_at" in row else []
    times += [str(one.when) for one in said if one.when]
    return Plain(
        session_id=session_id,
        said=tuple(said),
        title=prompts[0] if prompts else "",
        created=times[0],
        updated=max(times),
        cwd=str(home),
    )


def _value(text: str | None) -> Any:
    try:
        return json.loads(text or "null")
    except ValueError:
        return None


def _first(path: Path, home: Path) -> list[Plain]:
    messages = rows(path, "SELECT * FROM session_messages ORDER BY sequence_num, id")
    sessions = rows(path, "SELECT * FROM sessions ORDER BY created_at")
    orphans = {row["session_id"] for row in messages} - {row["id"] for row in sessions}
    found = []
    seen: set[str] = set()
    for row in [*sessions, *({"id": name, "agent_id": "@deleted"} for name in sorted(orphans))]:
        own = [one for one in messages if one["session_id"] == row["id"]]
        said = _said_first(own)
        name = quote(row["agent_id"], safe="@") + "/" + quote(row["id"], safe="")
        plain = _session(name, said, row, home)
        # Two agents may share a session: its rows are counted with the first.
        found.append(plain._replace(copied=len(said) if row["id"] in seen else 0))
        seen.add(row["id"])
    return found


def _said_first(own: list[Row]) -> list[Said]:
    said: list[Said] = []
    results: dict[str, Row] = {}
    for row in own:
        value = _value(row["message_json"])
        if not isinstance(value, dict):
            continue
        when = _time(row["created_at"])
        parts = value.get("content") or value.get("parts") or []
        data = [part["data"]["data"] for part in parts if "data" in part]
        events = [(part.get("metadata") or {}).get("event_type") for part in parts]
        texts = [
            part["text"] for part, kind in zip(parts, events, strict=True) if "text" in part and kind != "thinking"
        ]
        done = [one for one in data if "tool_call_id" in one]
        results |= {one["tool_call_id"]: one for one in done}
        if done or row["role"] == "ROLE_TOOL":
            said.append(Said("tool", "", when))
            continue
        calls = tuple(Call(one["name"], one["arguments"], one["id"], None) for one in data if "name" in one)
        role = {"ROLE_USER": "user", "ROLE_AGENT": "assistant"}.get(str(value.get("role")), "system")
        said.append(Said(role, None if "error" in events or role == "system" else "\n".join(texts), when, calls))
    return [one._replace(calls=tuple(_with_result(call, results) for call in one.calls)) for one in said]


def _with_result(call: Call, results: dict[str, Row]) -> Call:
    """The call carried its id in place of a result."""
    done = results.get(call.result)
    if done is None:
        return call._replace(result=None)
    return call._replace(result=done.get("error") or done["content"], failed=bool(done.get("error")))


def _second(path: Path, home: Path) -> list[Plain]:
    events = rows(path, "SELECT * FROM session_events ORDER BY sequence_num")
    found = []
    for row in rows(path, "SELECT * FROM sessions"):
        own = [
            one
            for one in events
            if (one["app_name"], one["user_id"], one["session_id"]) == (row["app_name"], row["user_id"], row["id"])
        ]
        name = "/".join(quote(row[part], safe="") for part in ("app_name", "user_id", "id"))
        found.append(_session(name, [said for one in own for said in _said_second(one, own)], row, home))
    return found


def _said_second(event: Row, own: list[Row]) -> list[Said]:
    when = None if event["created_at"].startswith("0001") else _time(event["created_at"])
    parts = _value(event["content_json"]) or []
    data = [part["data"] for part in parts if part["kind"] == "data"]
    text = "\n".join(part["text"] for part in parts if part["kind"] == "text")
    said = []
    if event["error_code"]:
        said.append(Said("assistant", None, when))
    elif any(one["type"] == "tool_result" for one in data):
        said.append(Said("tool", "", when))
    elif parts:
        results = {
            part["data"]["tool_call_id"]: part["data"]
            for one in own
            for part in _value(one["content_json"]) or []
            if part["kind"] == "data" and part["data"]["type"] == "tool_result"
        }
        calls = tuple(_call(one, results.get(one["id"])) for one in data)
        role = {"user": "user", "system": "system"}.get(event["author"], "assistant")
        said.append(Said(role, text if role != "system" else None, when, calls))
    marks = ("require_input", "transfer_to_agent", "escalate", "interrupted")
    return said + [Said("system", None, when) for mark in marks if event[mark]]


def _call(asked: Row, done: Row | None) -> Call:
    if done is None:
        return Call(asked["name"], asked["arguments"], None)
    return Call(asked["name"], asked["arguments"], done["content"], done["is_error"])
