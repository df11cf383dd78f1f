"""Gemini CLI's sessions read by plain lines: its files are logs, of which every message counts once by its id."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from plain_session import Call, Plain, Said, Tokens, joined, json_lines, summed

__all__ = ["plain_gemini"]

Record = dict[str, Any]


def plain_gemini(home: Path) -> list[Plain]:
    """Every session and sub-agent; of the copies of one session the last."""
    found = {}
    for path in sorted((home / ".gemini").glob("tmp/*/chats/**/session-*.json")):
        value = json.loads(path.read_bytes())
        rows = [{key: value[key] for key in value if key != "messages"}, *value["messages"]]
        found[value["sessionId"]] = _session(home, path, rows)
    for path in sorted((home / ".gemini").glob("tmp/*/chats/**/*.jsonl")):
        rows = json_lines(path)
        found[rows[0]["sessionId"]] = _session(home, path, rows)
    documents = [_document(path) for path in sorted((home / ".gemini/sessions").glob("*.jsonl"))]
    return [*found.values(), *documents]


def _session(home: Path, path: Path, rows: list[Record]) -> Plain:
    slug = path.relative_to(home / ".gemini/tmp").parts[0]
    helper = rows[0].get("kind") == "subagent"
    logged: dict[str, Record] = {}
    for row in rows[1:]:
        if "type" in row:
            logged[row["id"]] = row
        elif "messages" in row.get("$set", {}):
            logged = _restored(logged, row["$set"]["messages"])
    summaries = [row["$set"]["summary"] for row in rows if "summary" in row.get("$set", {})]
    prompts = [
        text for row in logged.values() if row["type"] == "user" and (text := _text(row)) and text[0] not in "</?"
    ]
    return Plain(
        session_id=rows[0]["sessionId"],
        said=tuple(one for row in logged.values() for one in _said(row)),
        title=(summaries or prompts[:1] or [""])[-1],
        created=rows[0]["startTime"],
        cwd=_cwd(home / ".gemini", slug),
        kind="subagent" if helper else "session",
        parent=path.parent.name if helper else None,
        tokens=summed([_tokens(row["tokens"]) for row in logged.values() if row.get("tokens")]),
    )


def _cwd(root: Path, slug: str) -> str | None:
    """As written beside the sessions; of older versions the known path with that hash."""
    noted = root / "tmp" / slug / ".project_root"
    if noted.exists():
        return noted.read_text().strip()
    projects = json.loads((root / "projects.json").read_bytes())["projects"]
    return next((path for path in projects if hashlib.sha256(path.encode()).hexdigest() == slug), None)


def _restored(logged: dict[str, Record], listed: list[Record]) -> dict[str, Record]:
    """With those of a restored list that were not logged. What was logged comes back stripped, some of it with new
    ids, and each tool result twice."""
    texts = {(row["type"], _text(row)): own for own, row in logged.items()}
    known: dict[str, Record] = dict(logged)
    fresh: list[Record] = []
    for row in listed:
        if row["id"] in logged or not _text(row):
            continue
        twin = texts.get((row["type"], _text(row)))
        if twin is None:
            fresh.append(row)
        elif fresh:  # they stand before what they are listed before
            at = list(known).index(twin)
            before = list(known.items())
            known = dict([*before[:at], *((one["id"], one) for one in fresh), *before[at:]])
            fresh = []
    return known | {row["id"]: row for row in fresh}


def _parts(row: Record) -> list[Record]:
    content = row.get("content")
    return [{"text": content}] if isinstance(content, str) else content or []


def _text(row: Record) -> str:
    return joined([part["text"] for part in _parts(row) if "text" in part and not part.get("thought")])


def _said(row: Record) -> list[Said]:
    when = row["timestamp"]
    if row["type"] == "gemini":
        calls = tuple(_call(call) for call in row.get("toolCalls", ()))
        return [Said("assistant", _text(row), when, calls, row.get("model"))]
    if row["type"] != "user":
        return [Said("system", _text(row) or None, when)]
    responses = [part for part in _parts(row) if "functionResponse" in part]
    return [Said("tool", "", when) for _ in responses] or [Said("user", _text(row), when)]


def _call(call: Record) -> Call:
    response = call["result"][0]["functionResponse"]["response"] if call.get("result") else {}
    text = response.get("output", response.get("error"))
    return Call(call["name"], call["args"], text, True if call["status"] == "error" else None)


def _tokens(tokens: dict[str, int]) -> Tokens:
    """The input includes what was cached; the output is without the thoughts."""
    cached, thoughts = tokens["cached"], tokens["thoughts"]
    return tokens["input"] - cached, tokens["output"] + thoughts, cached, 0, thoughts


def _document(path: Path) -> Plain:
    """The layout of the specification."""
    rows = json_lines(path)
    said = []
    usage: list[Tokens] = []
    for row in rows:
        role = {"model": "assistant"}.get(row["role"], row["role"])
        said.append(Said(role, row["content"], row["timestamp"], (), row.get("model")))
        if "usage" in row:
            counts = row["usage"]
            cached = counts["cachedContentTokenCount"]
            usage.append((counts["promptTokenCount"] - cached, counts["candidatesTokenCount"], cached, 0, 0))
    first = next(one for one in said if one.role == "user")
    return Plain(path.stem, tuple(said), first.text or "", rows[0]["timestamp"], tokens=summed(usage))
