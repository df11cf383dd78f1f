"""Cursor homes for tests: what an adapter lists of one, and chats and an editor that a test fills itself."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from session_adapters.base import Environment, Source
from session_adapters.cursor.adapter import CursorAdapter
from session_adapters.model import Problem, Session, SessionSummary

__all__ = [
    "BROKEN",
    "CHAT",
    "DRAFT",
    "EDITOR",
    "EDITOR_HELPER",
    "EMPTIED",
    "EMPTY",
    "HELPER",
    "INLINE",
    "IN_WAL",
    "OLD",
    "SPOKEN",
    "TEXT",
    "Chat",
    "Editor",
    "adapter_for",
    "everything",
    "field",
    "get",
    "listed",
    "prompt",
    "transcript",
    "varint",
]


# Of the sample.
CHAT, IN_WAL, OLD, EMPTY = (
    "db5b5fab-8f4d-4e27-9da1-494c73cf256d",
    "15c1d2df-a996-4aef-812d-0ea67ff12229",
    "834c687a-3acb-4266-820b-a2c250b601fc",
    "1b98fbe4-6680-4a11-9ba1-192ec42b7170",
)
SPOKEN, TEXT, HELPER = (
    "af5570ee-d8e9-4b15-8452-ef05f542441d",
    "601e5b45-7851-4608-8d65-0372e90794df",
    "111b8aaa-62f2-4d1a-8a78-9cb3d8b9b45c",
)
EDITOR, INLINE, EDITOR_HELPER, DRAFT = (
    "32d03fdd-a123-4501-90f5-380e12b2a414",
    "b4ff00ae-3f13-47de-a274-ea181e34b3f1",
    "ec3fbf4d-c20e-4164-a8f9-18d8f6cdb2f8",
    "03e0d681-5524-44f1-8fab-6f3e164f1513",
)
BROKEN, EMPTIED = "7ab36602-3a78-4ebb-a05b-c308119b4fe5", "fa285a0d-b869-435c-ade2-6c2e2ce933e1"


def adapter_for(home: Path, **variables: str) -> CursorAdapter:
    """An adapter for a machine that has only this home."""
    return CursorAdapter(Environment(home=home, variables=variables, proc=home / "proc"))


def everything(
    adapter: CursorAdapter, *, exact: bool = True, problems: list[Problem] | None = None
) -> list[tuple[Source, SessionSummary]]:
    """All that is listed."""
    report = [] if problems is None else problems
    return [
        (source, summary)
        for source in adapter.sources(report.append)
        for summary in adapter.summaries(source, report.append, exact=exact)
    ]


def listed(adapter: CursorAdapter, *, exact: bool = True) -> dict[str, SessionSummary]:
    """By id, as a user sees them: each once."""
    related = adapter.relate([summary for _, summary in everything(adapter, exact=exact)])
    assert len({summary.session_id for summary in related}) == len(related)
    return {summary.session_id: summary for summary in related}


def get(adapter: CursorAdapter, session_id: str) -> Session:
    """One session, found by its id."""
    source = adapter.find(session_id)
    assert source is not None
    return adapter.session(source, session_id)


def varint(number: int) -> bytes:
    """As protobuf writes numbers."""
    low, high = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + varint(high) if high else bytes([low])


def field(number: int, value: bytes | int) -> bytes:
    """A field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def prompt(text: str, minute: int = 0) -> dict[str, Any]:
    """A user message, as the CLI writes it."""
    tag = f"<timestamp>Monday, Sep 21, 2026, 2:{minute:02} PM (UTC)</timestamp>"
    return {
        "role": "user",
        "content": [{"type": "text", "text": f"{tag}\n<user_query>\n{text}\n</user_query>"}],
    }


class Chat:
    """A chat of the CLI: blobs, and a root that names them, written anew for every message."""

    def __init__(self, home: Path, session_id: str = "chat-1", cwd: str = "/home/dev/shop", **meta: Any) -> None:
        digest = hashlib.md5(cwd.encode(), usedforsecurity=False).hexdigest()
        self.path = home / ".cursor" / "chats" / digest / session_id / "store.db"
        self.path.parent.mkdir(parents=True)
        self.cwd = cwd
        self.adapter = adapter_for(home)
        self.session_id = session_id
        self.order: list[str] = []
        self.meta = {"agentId": session_id, "name": "New Agent", "createdAt": 1_790_000_000_000, **meta}
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB)")
        self.connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        self.commit()

    def blob(self, data: bytes) -> str:
        """Keep a blob; its name."""
        name = hashlib.sha256(data).hexdigest()
        self.connection.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (name, data))
        return name

    def add(self, *messages: dict[str, Any] | bytes) -> None:
        """Append messages, all in one transaction."""
        self.connection.execute("BEGIN")
        for message in messages:
            data = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.order.append(self.blob(data))
        self.commit()
        self.connection.execute("COMMIT")

    def say(self, *texts: str) -> None:
        """Prompts and answers in turn."""
        for text in texts:
            asks = len(self.order) % 2 == 0
            self.add(prompt(text, len(self.order)) if asks else {"role": "assistant", "content": text})

    def root(self, order: Iterable[str]) -> bytes:
        ids = b"".join(field(1, bytes.fromhex(name)) for name in order)
        return ids + field(9, f"file://{self.cwd}".encode()) + field(22, b"cli") + field(27, b"Europe/Berlin")

    def commit(self) -> None:
        """Name the latest root."""
        root = self.blob(self.root(self.order)) if self.order else ""
        facts = json.dumps({**self.meta, "latestRootBlobId": root}).encode().hex()
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('0', ?)", (facts,))

    def beside(self, **values: Any) -> None:
        """Write `meta.json`."""
        self.path.with_name("meta.json").write_text(json.dumps(values))

    def close(self) -> Chat:
        self.connection.close()
        return self

    def source(self) -> Source:
        found = self.adapter.sources(lambda problem: None)
        return next(source for source in found if source.path == str(self.path))


def transcript(home: Path, session_id: str, *records: dict[str, Any], project: str = "home-dev-shop") -> Path:
    """An agent transcript in a directory of its own."""
    path = home / ".cursor" / "projects" / project / "agent-transcripts" / session_id / f"{session_id}.jsonl"
    path.parent.mkdir(parents=True)
    lines = []
    for record in records:
        message = (
            {"role": record["role"], "message": {"content": record["content"]}} if "content" in record else record
        )
        lines.append(json.dumps(message) + "\n")
    path.write_text("".join(lines))
    return path


class Editor:
    """The editor's database of all conversations."""

    def __init__(self, home: Path, name: str = "globalStorage") -> None:
        self.user = home / ".config" / "Cursor" / "User"
        self.path = self.user / name / "state.vscdb"
        self.path.parent.mkdir(parents=True)
        self.adapter = adapter_for(home)
        self.headers: dict[str, list[dict[str, Any]]] = {}
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        for table in ("ItemTable", "cursorDiskKV"):
            self.connection.execute(f"CREATE TABLE {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        self.connection.execute("INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', 'secret')")

    def put(self, key: str, value: Any, table: str = "cursorDiskKV") -> None:
        text = value if isinstance(value, str | bytes) or value is None else json.dumps(value)
        self.connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, text))

    def composer(self, composer_id: str, **values: Any) -> str:
        """Write a conversation, with the bubbles it has."""
        facts = {"composerId": composer_id, "name": f"Title of {composer_id}", "createdAt": 1_790_000_000_000}
        headers = self.headers.setdefault(composer_id, [])
        self.put(f"composerData:{composer_id}", facts | {"fullConversationHeadersOnly": headers} | values)
        return composer_id

    def bubble(self, composer_id: str, kind: int = 1, text: str = "", **values: Any) -> str:
        """Append a bubble, and name it in the conversation; its id."""
        headers = self.headers.setdefault(composer_id, [])
        bubble_id = f"b{len(headers)}"
        second = len(headers)
        facts = {"type": kind, "bubbleId": bubble_id, "text": text, "createdAt": f"2026-09-21T17:00:{second:02}.000Z"}
        self.put(f"bubbleId:{composer_id}:{bubble_id}", facts | values)
        headers.append({"bubbleId": bubble_id, "type": kind})
        self.composer(composer_id)
        return bubble_id

    def workspace(self, name: str, folder: str, **items: Any) -> Path:
        """The database of a workspace."""
        path = self.user / "workspaceStorage" / name / "state.vscdb"
        path.parent.mkdir(parents=True)
        path.with_name("workspace.json").write_text(json.dumps({"folder": folder}))
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
            for key, value in items.items():
                connection.execute("INSERT INTO ItemTable VALUES (?, ?)", (key.replace("__", "."), json.dumps(value)))
            connection.commit()
        return path

    def source(self) -> Source:
        found = self.adapter.sources(lambda problem: None)
        return next(source for source in found if source.path == str(self.path))
