"""Puts long rows behind the conversations in databases, and files like them where an agent keeps a row in a file.

Cursor's chats are left as they are: each names its messages by a tree of hashes. So is OpenClaw's database, whose
checks want a newer SQLite than many a Python has; its transcripts in files have the same format.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from long_base import Added, Record, Shape, turns

__all__ = ["lengthen_databases"]

_START = "2026-11-22T09:00:00.000Z"
_START_MS = 1795338000000
"""The same in milliseconds: later than everything in the samples."""


def lengthen_databases(agent: str, home: Path, shape: Shape) -> list[Added]:
    """Every database of a sample, as far as it can be lengthened."""
    ways: dict[str, list[tuple[str, Callable[[sqlite3.Connection, Shape], Iterator[tuple[Record, str]]]]]] = {
        "cursor": [(".cursor/sessions/sessions.db", _documents)],
        "hector": [("data/sessions.db", _hector), (".hector/hector.db", _hector_events)],
        "hermes": [(".hermes/state.db", _hermes)],
        "opencode": [(".local/share/opencode/opencode.db", _opencode)],
    }
    found: list[Added] = []
    for name, lengthen in ways.get(agent, ()):
        path = home / name
        if path.exists():
            found += [Added(path, row, text) for row, text in _changed(path, lambda db: lengthen(db, shape))]  # noqa: B023
    folder = home / ".local/share/opencode/storage"
    return found + (_opencode_files(folder, shape) if folder.exists() and agent == "opencode" else [])


def _changed(
    path: Path, change: Callable[[sqlite3.Connection], Iterator[tuple[Record, str]]]
) -> list[tuple[Record, str]]:
    """What `change` inserted. What stood in the log of a database still stands there."""
    log = path.with_name(path.name + "-wal")
    logged = log.exists()
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA wal_autocheckpoint = 0")
        found = list(change(db))
        db.commit()
        kept = {one: one.read_bytes() for one in (path, log)} if logged else {}
    for one, data in kept.items():  # closing it moved the log into the database
        one.write_bytes(data)
    path.with_name(path.name + "-shm").unlink(missing_ok=True)
    return found


def _insert(db: sqlite3.Connection, table: str, row: Record) -> None:
    names = ", ".join(row)
    db.execute(f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))


def _said(shape: Shape, session_id: Any) -> Iterator[tuple[bool, str, str, int]]:
    """(a prompt, text, id, milliseconds)"""
    # No two at the same moment: OpenCode's copies of a call are known by the time of it.
    start = _START_MS + zlib.crc32(str(session_id).encode()) % 1_000_000_000
    for number, (prompt, text, own, _) in enumerate(turns(shape, _START, str(session_id))):
        yield prompt, text, own, start + 1000 * (number + 1)


def _documents(db: sqlite3.Connection, shape: Shape) -> Iterator[tuple[Record, str]]:
    """Tables as the specification has them."""
    text_ids = isinstance(db.execute("SELECT id FROM messages").fetchone()[0], str)
    for (session_id,) in db.execute("SELECT id FROM sessions").fetchall():
        for prompt, text, own, when in _said(shape, session_id):
            row: Record = {"id": own} if text_ids else {}
            row |= {"session_id": session_id, "role": "user" if prompt else "assistant", "content": text}
            row |= {"created_at": when} | (
                {} if prompt else {"model": "gpt-5", "input_tokens": 11, "output_tokens": 3}
            )
            _insert(db, "messages", row)
            yield row, text
        db.execute("UPDATE sessions SET updated_at = ? WHERE id = ?", (when, session_id))


def _hermes(db: sqlite3.Connection, shape: Shape) -> Iterator[tuple[Record, str]]:
    """A few are enough: each row goes into two full-text indexes."""
    for (session_id,) in db.execute("SELECT id FROM sessions ORDER BY id LIMIT 6").fetchall():
        for prompt, text, _, when in _said(shape, session_id):
            role = "user" if prompt else "assistant"
            row = {"session_id": session_id, "role": role, "content": text, "timestamp": when / 1000}
            _insert(db, "messages", row)
            yield row, text
        sizes = (2 * len(shape.replies), session_id)
        db.execute("UPDATE sessions SET message_count = message_count + ? WHERE id = ?", sizes)


def _hector(db: sqlite3.Connection, shape: Shape) -> Iterator[tuple[Record, str]]:
    query = (
        "SELECT s.id, max(m.sequence_num) FROM sessions s JOIN session_messages m ON m.session_id = s.id GROUP BY 1"
    )
    for session_id, last in db.execute(query).fetchall():
        for number, (prompt, text, _, when) in enumerate(_said(shape, session_id)):
            role = "ROLE_USER" if prompt else "ROLE_AGENT"
            row = {"session_id": session_id, "message_id": "", "role": role, "sequence_num": last + number + 1}
            row |= {"message_json": json.dumps({"role": role, "content": [{"text": text}]}, separators=(",", ":"))}
            row |= {"created_at": _go_time(when)}
            _insert(db, "session_messages", row)
            yield row, text


def _hector_events(db: sqlite3.Connection, shape: Shape) -> Iterator[tuple[Record, str]]:
    query = "SELECT app_name, user_id, session_id, max(sequence_num) FROM session_events GROUP BY 1, 2, 3"
    for app, user, session_id, last in db.execute(query).fetchall():
        for number, (prompt, text, own, when) in enumerate(_said(shape, f"{app}/{user}/{session_id}")):
            row: Record = {"id": own, "app_name": app, "user_id": user, "session_id": session_id}
            row |= {"author": "user" if prompt else "assistant", "role": "user" if prompt else "agent"}
            row |= {"content_json": json.dumps([{"kind": "text", "text": text}]), "sequence_num": last + number + 1}
            row |= {"created_at": _go_time(when)}
            _insert(db, "session_events", row)
            yield row, text


def _go_time(when: int) -> str:
    return datetime.fromtimestamp(when / 1000, UTC).isoformat(" ", "milliseconds")


def _opencode(db: sqlite3.Connection, shape: Shape) -> Iterator[tuple[Record, str]]:
    """The generations before 2.x, and the tables of the specification."""
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    if "sessions" in tables:
        yield from _documents(db, shape)
        return
    for (session_id,) in db.execute("SELECT DISTINCT session_id FROM message").fetchall():
        for prompt, text, own, when in _said(shape, session_id):
            row: Record = {"id": f"msg_zz{when}{own[:8]}", "session_id": session_id}
            row |= {"time_created": when, "time_updated": when}
            message, part = _native(prompt, text, when)
            _insert(db, "message", row | {"data": json.dumps(message)})
            row |= {"id": f"prt_zz{when}{own[:8]}", "message_id": row["id"], "data": json.dumps(part)}
            _insert(db, "part", row)
            yield row, text


def _native(prompt: bool, text: str, when: int) -> tuple[Record, Record]:
    message: Record = {"role": "user" if prompt else "assistant", "time": {"created": when}}
    if not prompt:
        used = {"total": 19, "input": 11, "output": 3, "reasoning": 0, "cache": {"read": 5, "write": 0}}
        message |= {"modelID": "mock-large", "providerID": "acme", "cost": 0.01, "tokens": used, "finish": "stop"}
    return message, {"type": "text", "text": text}


def _opencode_files(folder: Path, shape: Shape) -> list[Added]:
    """The generation that keeps a file for each message and each part."""
    found = []
    for info in sorted(folder.glob("session/*/*.json")):
        for prompt, text, own, when in _said(shape, info.stem):
            name = f"zz{when}{own[:8]}"
            ids = {"id": f"msg_{name}", "sessionID": info.stem}
            message, part = _native(prompt, text, when)
            path = folder / "message" / info.stem / f"msg_{name}.json"
            beside = folder / "part" / f"msg_{name}" / f"prt_{name}.json"
            part = {"id": f"prt_{name}", "messageID": f"msg_{name}", "sessionID": info.stem, **part}
            for target, value in ((path, message | ids), (beside, part)):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(json.dumps(value), encoding="utf-8")
            found.append(Added(beside, part, text))
    return found
