"""What a few plain lines of SQL and JSON say of Cursor's stores, for comparison with the adapter."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Plain", "Said", "plain_home", "rows"]

USER = Path(".config/Cursor/User")


class Said(NamedTuple):
    """One native message."""

    role: str
    text: str = ""
    thinking: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    """(tool, arguments)"""
    results: tuple[tuple[str, Any], ...] = ()
    """(tool, result)"""
    model: str | None = None
    tokens: tuple[int, int] = (0, 0)


class Plain(NamedTuple):
    """One session."""

    kind: str
    said: list[Said]
    title: str = ""
    cwd: str | None = None
    archived: bool = False
    parent: str | None = None
    created: int | None = None
    """Milliseconds; None where the store has no time of it."""
    model: str | None = None
    """The one that was chosen."""
    more: tuple[int, int] = (0, 0)
    """Tokens read from a cache, and those of thinking; only documents have them."""


def rows(path: Path, query: str, scratch: Path) -> list[tuple[Any, ...]]:
    """What a query says of a copy of the database, its log included."""
    scratch.mkdir(parents=True, exist_ok=True)
    copy = scratch / "copy.db"
    for suffix in ("", "-wal", "-shm"):
        copy.with_name(copy.name + suffix).unlink(missing_ok=True)
        if (beside := path.with_name(path.name + suffix)).exists() and suffix != "-shm":
            shutil.copyfile(beside, copy.with_name(copy.name + suffix))
    with closing(sqlite3.connect(copy)) as connection:
        return connection.execute(query).fetchall()


def typed(text: str) -> str:
    """What stands between the tags of a prompt."""
    found = re.search(r"<user_query>\n(.*?)\n</user_query>", text, re.DOTALL)
    return found[1] if found else text


def parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def texts(content: Any, kind: str = "text") -> str:
    return "\n".join(part["text"] for part in parts(content) if part["type"] == kind and part["text"])


def plain_home(home: Path, scratch: Path) -> dict[str, Plain]:
    """Every session by id, each from its best copy."""
    found = {**document(home, scratch), **tabs(home, scratch), **transcripts(home), **composers(home, scratch)}
    return found | chats(home, scratch)


def chats(home: Path, scratch: Path) -> dict[str, Plain]:
    found: dict[str, Plain] = {}
    for path in sorted(home.glob(".cursor/chats/*/*/store.db")):
        blobs = dict(rows(path, "SELECT id, data FROM blobs", scratch))
        meta = json.loads(bytes.fromhex(rows(path, "SELECT value FROM meta WHERE key = '0'", scratch)[0][0]))
        if not meta["latestRootBlobId"]:
            continue
        root, order = blobs[meta["latestRootBlobId"]], []
        while root[:2] == b"\n\x20":  # field 1, 32 bytes
            order.append(root[2:34].hex())
            root = root[34:]
        directory = re.search(rb"file://([/a-z]+)", root)
        beside = path.with_name("meta.json")
        named = json.loads(beside.read_text()) if beside.exists() else {}
        found[path.parent.name] = Plain(
            "chat",
            [blob_said(blobs[name]) for name in order],
            named.get("title") or meta["name"],
            directory[1].decode() if directory else None,
            created=meta["createdAt"],
            model=meta.get("lastUsedModel"),
        )
    return found


def blob_said(data: bytes) -> Said:
    if not data.startswith(b"{"):  # old: text in front, JSON in field 4 of answers
        if b'"{' not in data and b"{" not in data:
            return Said("user", data[2 : 2 + data[1]].decode())
        data = data[data.index(b"{") :]
    record = json.loads(data)
    role, content = record["role"], record["content"]
    options = [part.get("providerOptions", {}).get("cursor", {}).get("modelName") for part in parts(content)]
    return Said(
        role,
        typed(texts(content)),
        texts(content, "reasoning"),
        tuple((part["toolName"], part["args"]) for part in parts(content) if part["type"] == "tool-call"),
        tuple((part["toolName"], part["result"]) for part in parts(content) if part["type"] == "tool-result"),
        next((name for name in options if name), None),
    )


def transcripts(home: Path) -> dict[str, Plain]:
    found: dict[str, Plain] = {}
    for path in sorted(home.glob(".cursor/projects/*/agent-transcripts/**/*.jsonl")):
        said = []
        for record in map(json.loads, path.read_text().splitlines()):
            if record.get("type") == "turn_ended":
                said += [Said("system", record["error"])] if record["status"] == "error" else []
                continue
            content = record["message"]["content"]
            calls = tuple((part["name"], part["input"]) for part in content if part["type"] == "tool_use")
            text = typed(texts(content))
            gone = text.endswith("\n\n[REDACTED]")
            said.append(
                Said(record["role"], text.removesuffix("\n\n[REDACTED]"), "[REDACTED]" if gone else "", calls)
            )
        project = next(parent.parent for parent in path.parents if parent.name == "agent-transcripts")
        logged = re.search(r"workspacePath=(\S+)", (project / "worker.log").read_text())
        helper = path.parent.name == "subagents"
        found[path.stem] = Plain(
            "transcript", said, "", logged[1] if logged else None, parent=path.parts[-3] if helper else None
        )
    return found


def composers(home: Path, scratch: Path) -> dict[str, Plain]:
    path = home / USER / "globalStorage" / "state.vscdb"
    if not path.exists():
        return {}
    values = dict(rows(path, "SELECT key, value FROM cursorDiskKV", scratch))
    listed = workspaces(home, scratch)
    found: dict[str, Plain] = {}
    for key, value in values.items():
        if not key.startswith("composerData:") or not value or value.startswith("{not"):
            continue
        composer, id_ = json.loads(value), key.partition(":")[2]
        bubbles = composer.get("conversation") or [
            json.loads(values[name])
            for header in composer["fullConversationHeadersOnly"]
            if (name := f"bubbleId:{id_}:{header['bubbleId']}") in values
        ]
        if bubbles:
            uri = composer.get("workspaceIdentifier", {}).get("uri", {}).get("fsPath")
            parent = composer.get("subagentInfo", {}).get("parentComposerId")
            archived = bool(composer.get("isArchived"))
            said = list(map(bubble_said, bubbles))
            cwd = uri or listed.get(id_)
            chosen = (composer.get("modelConfig") or {}).get("modelName")
            model = None if chosen == "default" else chosen
            found[id_] = Plain(
                "composer", said, composer["name"], cwd, archived, parent, composer["createdAt"], model
            )
    return found


def bubble_said(bubble: dict[str, Any]) -> Said:
    tool = bubble.get("toolFormerData")
    count = bubble.get("tokenCount", {})
    role = {1: "user", 2: "assistant", "user": "user", "ai": "assistant"}[bubble["type"]]
    return Said(
        role,
        bubble["text"],
        bubble.get("thinking", {}).get("text", ""),
        ((tool["name"], json.loads(tool["rawArgs"])),) if tool else (),
        ((tool["name"], json.loads(tool["result"])),) if tool else (),
        bubble.get("modelInfo", {}).get("modelName") if role == "assistant" else None,
        (count.get("inputTokens", 0), count.get("outputTokens", 0)),
    )


def workspaces(home: Path, scratch: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in home.glob(str(USER / "workspaceStorage/*/state.vscdb")):
        folder = json.loads(path.with_name("workspace.json").read_text())["folder"].removeprefix("file://")
        for (value,) in rows(path, "SELECT value FROM ItemTable WHERE key = 'composer.composerData'", scratch):
            found |= {one["composerId"]: folder for one in json.loads(value)["allComposers"]}
    return found


def tabs(home: Path, scratch: Path) -> dict[str, Plain]:
    found: dict[str, Plain] = {}
    for path in home.glob(str(USER / "workspaceStorage/*/state.vscdb")):
        folder = json.loads(path.with_name("workspace.json").read_text())["folder"].removeprefix("file://")
        for (value,) in rows(path, "SELECT value FROM ItemTable WHERE key LIKE '%chatdata'", scratch):
            for tab in json.loads(value)["tabs"]:
                said = [bubble_said(bubble)._replace(model=bubble.get("modelType")) for bubble in tab["bubbles"]]
                found[tab["tabId"]] = Plain("tab", said, tab["chatTitle"], folder)
    return found


def document(home: Path, scratch: Path) -> dict[str, Plain]:
    path = home / ".cursor/sessions/sessions.db"
    if not path.exists():
        return {}
    found: dict[str, Plain] = {}
    for id_, title, cwd, created, model in rows(
        path, "SELECT id, title, cwd, created_at, model FROM sessions", scratch
    ):
        query = (
            "SELECT role, content, thinking, tool_calls, tool_name, model, input_tokens, output_tokens"
            f" FROM messages WHERE session_id = {id_} ORDER BY created_at, id"
        )
        said = []
        for role, content, thinking, calls, tool, used, fresh, written in rows(path, query, scratch):
            asked = tuple((call["name"], call["arguments"]) for call in json.loads(calls or "[]"))
            results = ((tool, content),) if tool else ()
            text = "" if tool else content
            said.append(Said(role, text, thinking or "", asked, results, used, (fresh or 0, written or 0)))
        query = f"SELECT sum(cached_tokens), sum(thinking_tokens) FROM messages WHERE session_id = {id_}"
        ((cached, thought),) = rows(path, query, scratch)
        more = (cached or 0, thought or 0)
        found[str(id_)] = Plain("document", said, title or "", cwd, created=created, model=model, more=more)
    return found
