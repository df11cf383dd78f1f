"""Makes the files of sample stores long: one function per format."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from long_base import Added, Lines, Record, Shape, Texts, filler, front, link, turns

__all__ = ["lengthen_documents", "lengthen_lines"]

_KEPT = ("isSidechain", "agentId", "timestamp", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch")
"""What Claude repeats on every record."""


def lengthen_lines(agent: str, home: Path, shape: Shape) -> list[Added]:
    """Every JSON-lines transcript of the agents that have them, except Codex' rollouts."""
    ways: dict[str, tuple[str, Callable[[Lines], None]]] = {
        "claude": (".claude/projects/**/*.jsonl", _claude),
        "copilot": (".copilot/session-state/*/events.jsonl", _copilot),
        "cursor": (".cursor/projects/*/agent-transcripts/**/*.jsonl", _cursor),
        "gemini": (".gemini/**/*.jsonl", _gemini),
        "omp": (".omp/**/sessions/**/*.jsonl", _tree),
        "openclaw": (".*/agents/*/sessions/*.jsonl*", _tree),
        "pi": ("**/*.jsonl", _tree),
    }
    found: list[Added] = []
    if agent in ways:
        pattern, lengthen = ways[agent]
        for path in sorted(home.glob(pattern)):
            lines = Lines(path, shape)
            if path.suffix != ".lock" and lines.rows:
                lengthen(lines)
                found += lines.write()
    return found


def _claude(lines: Lines) -> None:
    chain = [row for row in lines.rows if "uuid" in row]
    if not chain:
        _plain(lines, header=True, replier="assistant")
        return
    _claude_turns(lines, chain)
    root = next((row for row in chain if not row.get("parentUuid")), chain[0])
    prompts = [number for number, row in enumerate(chain[:-1]) if row["type"] == "user" and not row.get("isMeta")]
    first = chain[prompts[0] + 1] if lines.shape.early and prompts else root
    newer = any(row["type"] == "attachment" for row in chain)

    def record(text: str, own: str, parent: str | None) -> Record:
        made = {"parentUuid": parent, **{name: first[name] for name in _KEPT if name in first}, "uuid": own}
        if "forkedFrom" in first:
            made["forkedFrom"] = {**first["forkedFrom"], "messageUuid": own}
        if newer:
            return made | {"type": "attachment", "attachment": {"type": "skill_listing", "content": text}}
        return made | {"type": "user", "isMeta": True, "message": {"role": "user", "content": f"Caveat: {text}"}}

    put = link(first, "parentUuid", record, first["uuid"])
    rows = lines.rows
    # Before names too; but a queued prompt, which tells when a session began, is never behind its records.
    queued = [at for at, row in enumerate(rows[: rows.index(root)]) if row["type"] == "queue-operation"]
    lines.put(put, rows[queued[-1] + 1 if queued else 0] if first is root else first)


def _claude_turns(lines: Lines, chain: list[Record]) -> None:
    main = [row for row in chain if not row.get("isSidechain")] or chain
    models = [row["message"]["model"] for row in main if row["type"] == "assistant"]
    model = next((name for name in models[::-1] if name[0] != "<"), "claude-sonnet-4-6")
    envelope = {name: main[-1][name] for name in _KEPT if name in main[-1]}
    usage = {"input_tokens": 11, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 5, "output_tokens": 3}
    parent = main[-1]["uuid"]
    for prompt, text, own, stamp in turns(lines.shape, max(row["timestamp"] for row in chain), lines.path.stem):
        message: Record = {"role": "user", "content": text}
        if not prompt:
            message = {"id": f"msg_{own[-12:]}", "type": "message", "role": "assistant", "model": model}
            message |= {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
        record = {"parentUuid": parent, **envelope, "type": message["role"], "message": message, "uuid": own}
        lines.put([({**record, "timestamp": stamp}, text)])
        parent = own


def _plain(lines: Lines, *, header: bool, replier: str) -> None:
    """Lines of `role` and `content` alone, as specifications have them."""
    rows = lines.rows
    for prompt, text, _, stamp in turns(lines.shape, max(row["timestamp"] for row in rows), lines.path.name):
        role = "user" if prompt else replier
        kind = {"type": role} if header else {}
        lines.put([(kind | {"role": role, "content": text, "timestamp": stamp}, text)])
    place = header + lines.shape.early
    stamp = rows[0]["timestamp"]
    for text, _ in front(lines.path.name):
        kind = {"type": "system"} if header else {}
        lines.put([(kind | {"role": "system", "content": text, "timestamp": stamp}, text)], rows[place])


def _copilot(lines: Lines) -> None:
    rows = lines.rows
    models = [row["data"]["model"] for row in rows if row["type"] == "assistant.message" and "model" in row["data"]]
    parent = rows[-1]["id"]
    for prompt, text, own, stamp in turns(lines.shape, max(row["timestamp"] for row in rows), lines.path.parent.name):
        data: Record = {"content": text, "transformedContent": text}
        if not prompt:
            data = {"messageId": own, "model": models[-1], "content": text, "toolRequests": []}
        kind = "user.message" if prompt else "assistant.message"
        record = {"type": kind, "data": data, "id": own, "timestamp": stamp, "parentId": parent}
        lines.put([(record, text)])
        parent = own
    prompts = [number for number, row in enumerate(rows) if row["type"] == "user.message"]
    first = rows[prompts[0] + 1 if lines.shape.early else 1]

    def record_of(text: str, own: str, parent: str | None) -> Record:
        made: Record = {"type": "system.message", "data": {"role": "system", "content": text}, "id": own}
        return made | {"timestamp": first["timestamp"], "parentId": parent}

    lines.put(link(first, "parentId", record_of, first["id"]), first)


def _cursor(lines: Lines) -> None:
    """These lines have neither ids nor times."""
    for prompt, text, _, _ in turns(lines.shape, "2026-11-21T09:00:00Z", lines.path.stem):
        said = f"<user_query>\n{text}\n</user_query>" if prompt else text
        role = "user" if prompt else "assistant"
        lines.put([({"role": role, "message": {"content": [{"type": "text", "text": said}]}}, text)])


# Gemini: a log, and the documents before it ----------------------------------------------------------------------


def _gemini(lines: Lines) -> None:
    rows = lines.rows
    if "role" in rows[0]:
        _plain(lines, header=False, replier="model")
        return
    listed = [message for row in rows for message in row.get("$set", {}).get("messages", [])]
    said = [row for row in rows if "type" in row and "id" in row]
    if not said:
        return
    lines.put(_gemini_turns(lines.shape, rows[0]["sessionId"], [*said, *listed]))
    if lines.shape.early:
        later_rows = rows[next(at for at, row in enumerate(rows) if row in said) + 1 :]
        for text, _ in front(lines.path.name):
            lines.put([({"$set": {"memoryScratchpad": text}}, text)], later_rows[0])
    elif found := _lengthen_context(lines.path, [*rows, *listed]):
        lines.added += found
    else:
        lines.put(_gemini_front(rows[0]["sessionId"], rows[0]["startTime"]), rows[1])


def _lengthen_context(path: Path, messages: list[Record]) -> list[Added]:
    """The directory tree that the program puts before a conversation, and repeats."""
    found = []
    for message in messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if str(part.get("text", "")).startswith("<session_context>"):
                text = filler("context", path.stem, size=40_000)
                part["text"] += "\n" + text
                found.append(Added(path, message, text))
    return found


def _gemini_front(session_id: str, stamp: str) -> Texts:
    return [
        ({"id": own, "timestamp": stamp, "type": "info", "content": text}, text) for text, own in front(session_id)
    ]


def _gemini_turns(shape: Shape, session_id: str, said: list[Record]) -> Texts:
    model = [row["model"] for row in said if row.get("model")][-1:] or ["gemini-2.5-pro"]
    tokens = {"input": 11, "output": 3, "cached": 5, "thoughts": 2, "tool": 0, "total": 16}
    found: Texts = []
    for prompt, text, own, stamp in turns(shape, max(row["timestamp"] for row in said), session_id):
        record: Record = {"id": own, "timestamp": stamp, "type": "user", "content": [{"text": text}]}
        if not prompt:
            reply = {"type": "gemini", "content": text, "thoughts": [], "tokens": tokens, "model": model[0]}
            record = {"id": own, "timestamp": stamp, **reply}
        found.append((record, text))
    return found


# Pi's trees, and what omp and OpenClaw made of them --------------------------------------------------------------


def _tree(lines: Lines) -> None:
    rows = lines.rows
    if not any("role" in row or "message" in row for row in rows):
        return
    document = "role" in rows[0]
    said = [number for number, row in enumerate(rows) if (row if document else row.get("message", {})).get("role")]
    prompts = [number for number in said if (rows[number] if document else rows[number]["message"])["role"] == "user"]
    # In the layout of the specification the root is the first prompt, and the title.
    headers = (
        1 if document and rows[0]["parentId"] is None else sum("id" not in row or "cwd" in row for row in rows[:2])
    )
    if not document and not any("id" in row for row in rows[1:]):
        headers = 1
    place = prompts[0] + 1 if lines.shape.early and prompts else headers
    back = _tree_turns(lines, rows, document)
    if place < len(rows):
        _tree_front(lines, rows, place, document)
    lines.put(back)


def _tree_front(lines: Lines, rows: list[Record], place: int, document: bool) -> None:
    first = rows[place]

    def record(text: str, own: str, parent: str | None) -> Record:
        made = {"id": own[:8], "parentId": parent} if "id" in first else {}
        made |= {"timestamp": first["timestamp"]}
        said: Record = {"role": "system", "content": text}
        if document:
            return made | said
        if "/.omp/" in str(lines.path):
            said = {"role": "developer", "content": [{"type": "text", "text": text}]}
        elif "/agents/" in str(lines.path):
            custom = {"type": "custom", "customType": "openclaw:bootstrap-context:full"}
            return made | custom | {"data": {"timestamp": 0, "content": text}}
        return made | {"type": "message", "message": said}

    put = link(first, "parentId", record, first.get("id", lines.path.stem))
    for row in rows:
        if row.get("firstKeptEntryIndex", -1) >= place:
            row["firstKeptEntryIndex"] += len(put)
    lines.put(put, first)


def _tree_turns(lines: Lines, rows: list[Record], document: bool) -> Texts:
    entries = [row for row in rows if row.get("type") not in ("session", "title")]
    spoken = [row for row in entries if "message" in row or "role" in row]
    # A hand-made sample ends in a root that says nothing: a conversation goes on from its last message.
    last = spoken[-1] if spoken and entries[-1].get("parentId") is None else entries[-1]
    parent = last.get("id")
    linear = parent is None
    replies = [row["message"] for row in entries if row.get("message", {}).get("role") == "assistant"]
    model = {"api": "x", "provider": "acme", "model": "mock-large"}
    model |= {name: replies[-1][name] for name in model if replies and name in replies[-1]}
    cost = {"input": 0.01, "output": 0.02, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.03}
    usage = {"input": 11, "output": 3, "cacheRead": 5, "cacheWrite": 0, "totalTokens": 19, "cost": cost}
    found: Texts = []
    seed = (lines.path.parent.name if document else "", lines.path.name)
    stamp = max(row["timestamp"] for row in rows if "timestamp" in row)
    for prompt, text, long_id, when in turns(lines.shape, stamp, *seed):
        own = long_id[:8]
        record: Record = {"timestamp": when} if linear else {"id": own, "parentId": parent, "timestamp": when}
        said: dict[str, Any] = {"role": "user" if prompt else "assistant", "content": text}
        if document and not prompt:
            said |= {"model": "mock-large", "usage": {"inputTokens": 11, "outputTokens": 3, "cachedTokens": 5}}
        if not document:
            millis = round(datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp() * 1000)
            said |= {"content": [{"type": "text", "text": text}], "timestamp": millis}
            said |= {} if prompt else {**model, "usage": usage, "stopReason": "stop"}
        found.append((record | (said if document else {"type": "message", "message": said}), text))
        parent = own
    return found


# One document per session ----------------------------------------------------------------------------------------


def lengthen_documents(agent: str, home: Path, shape: Shape) -> list[Added]:
    """Gemini's older sessions, and the documents of the specification."""
    patterns = {
        "copilot": ".config/github-copilot/sessions/*.json",
        "gemini": ".gemini/tmp/*/chats/*.json",
        "openclaw": ".openclaw/sessions/*/*.json",
    }
    found: list[Added] = []
    for path in sorted(home.glob(patterns[agent])) if agent in patterns else ():
        try:
            value = json.loads(path.read_bytes())
        except ValueError:
            continue
        messages = value if isinstance(value, list) else value["messages"]
        put: Texts = []
        if agent == "gemini":
            put = [] if shape.early else _gemini_front(value["sessionId"], value["startTime"])
            back = _gemini_turns(shape, value["sessionId"], messages)
        else:
            back = _document_turns(shape, path, messages)
        found += [Added(path, record, text) for record, text in [*put, *back]]
        messages[:] = [*(record for record, _ in put), *messages, *(record for record, _ in back)]
        path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    return found


def _document_turns(shape: Shape, path: Path, messages: list[Record]) -> Texts:
    stamp = max(message["timestamp"] for message in messages)
    said = turns(shape, stamp, path.parent.name, path.name)
    return [
        ({"role": "user" if prompt else "assistant", "content": text, "timestamp": when}, text)
        for prompt, text, _, when in said
    ]
