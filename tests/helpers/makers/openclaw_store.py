"""OpenClaw homes for tests: what an adapter lists of one, and stores that a test fills itself."""

from __future__ import annotations

import itertools
import json
import sqlite3
import uuid
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from plain_openclaw import HOMES, database_of
from session_adapters.base import Environment, Source
from session_adapters.model import Problem, Session, SessionSummary
from session_adapters.openclaw.adapter import OpenClawAdapter

__all__ = [
    "Database",
    "adapter_for",
    "event",
    "everything",
    "folder_of",
    "get",
    "header",
    "lines",
    "listed",
    "place",
    "reply",
]


def adapter_for(home: Path, **variables: str) -> OpenClawAdapter:
    """An adapter for a machine that has only this home."""
    return OpenClawAdapter(Environment(home=home, variables=variables, proc=home / "proc"))


def everything(
    adapter: OpenClawAdapter, *, exact: bool = True, problems: list[Problem] | None = None
) -> list[tuple[Source, SessionSummary]]:
    """All that is listed; nothing may be reported unless `problems` takes it."""
    said: list[Problem] = [] if problems is None else problems
    found: list[tuple[Source, SessionSummary]] = []
    for source in adapter.sources(said.append):
        found += [(source, summary) for summary in adapter.summaries(source, said.append, exact=exact)]
    assert problems is not None or not said, said
    return found


def listed(
    adapter: OpenClawAdapter, *, exact: bool = True, problems: list[Problem] | None = None
) -> dict[str, SessionSummary]:
    """By id, as a user sees them: each once."""
    found = everything(adapter, exact=exact, problems=problems)
    related = adapter.relate([summary for _, summary in found])
    assert len({summary.session_id for summary in related}) == len(related)
    return {summary.session_id: summary for summary in related}


def get(adapter: OpenClawAdapter, session_id: str) -> Session:
    """One session, found by its id."""
    source = adapter.find(session_id)
    assert source is not None, session_id
    return adapter.session(source, session_id)


# Events ------------------------------------------------------------------------------------------------------


def moment(seconds: float) -> str:
    """ISO text as OpenClaw writes it, that long after the samples' day began."""
    return (
        datetime.fromtimestamp(1_795_219_200 + seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def header(session_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "session", "version": 3, "id": session_id, "timestamp": moment(0), "cwd": "/home/dev", **fields}


def event(event_id: str, parent: str | None, text: str = "", role: str = "user", at: float = 1, **more: Any) -> Any:
    """A message."""
    message = {"role": role, "content": [{"type": "text", "text": text or event_id}], **more}
    return {"type": "message", "id": event_id, "parentId": parent, "timestamp": moment(at), "message": message}


def reply(event_id: str, parent: str | None, text: str = "", at: float = 1, output: int = 10, **more: Any) -> Any:
    """An answer that cost something."""
    usage = {"input": 5, "output": output, "cacheRead": 3, "cacheWrite": 2, "cost": {"total": output / 1000}}
    return event(event_id, parent, text, "assistant", at, usage=usage, model="m-1", provider="acme", **more)


def lines(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in events)


def folder_of(home: Path, state: str = ".openclaw", agent: str = "main") -> Path:
    """The directory with an agent's files, made if need be."""
    folder = home / state / "agents" / agent / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def place(folder: Path, name: str, *events: dict[str, Any], index: dict[str, Any] | None = None) -> Path:
    """A transcript in a file, and the index beside it."""
    path = folder / name
    path.write_bytes(lines(*events))
    if index is not None:
        (folder / "sessions.json").write_text(json.dumps(index))
    return path


def _octets(value: str | bytes | None) -> int | None:
    return None if value is None else len(value.encode() if isinstance(value, str) else value)


class Database:
    """A home with a database that has the tables of 2026.9.6 and nothing in them, for a test to fill."""

    def __init__(self, home: Path, path: Path | None = None) -> None:
        self.home = home
        self._clock = itertools.count(1)
        """Milliseconds: no two events are written in the same one."""
        self.path = path or database_of(home)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.adapter = adapter_for(home)
        with closing(sqlite3.connect(f"file:{database_of(HOMES / 'home')}?immutable=1", uri=True)) as sample:
            tables = sample.execute(
                "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND type IN ('table', 'index')"
                " AND (tbl_name LIKE 'session_%' OR tbl_name LIKE 'transcript_%') AND tbl_name NOT LIKE '%fts%'"
                " ORDER BY type DESC"
            ).fetchall()
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        # The tables have checks that ask for a function of newer SQLite.
        self.connection.create_function("octet_length", 1, _octets, deterministic=True)
        self.connection.execute("PRAGMA journal_mode = WAL")
        for (sql,) in tables:
            self.connection.execute(sql)

    def insert(self, table: str, **values: Any) -> None:
        marks = ", ".join("?" * len(values))
        names = ", ".join(values)
        self.connection.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})", (*values.values(),))

    def key(self, key: str, session_id: str, created: int = 1_795_219_200_000, **columns: Any) -> None:
        """A session key whose current window is `session_id`; makes the window too."""
        entry = json.dumps({"sessionId": session_id, "updatedAt": created})
        node = {"session_key": key, "current_session_id": session_id, "entry_json": entry, "updated_at": created}
        self.insert("session_nodes", **(node | {"created_at": created} | columns))
        self.window(session_id, key, created)

    def window(self, session_id: str, key: str, created: int, **columns: Any) -> None:
        row = {"session_id": session_id, "session_key": key, "created_at": created, "updated_at": created}
        self.insert("session_windows", **(row | columns))

    def write(self, session_id: str, *events: dict[str, Any]) -> None:
        """Append events, as OpenClaw does: with their identities."""
        (last,) = self.connection.execute(
            "SELECT coalesce(max(seq), -1) FROM transcript_events WHERE session_id = ?", (session_id,)
        ).fetchone()
        for number, one in enumerate(events, last + 1):
            when, text = next(self._clock), json.dumps(one)
            self.insert("transcript_events", session_id=session_id, seq=number, event_json=text, created_at=when)
            self.insert(
                "transcript_event_identities",
                session_id=session_id,
                event_id=one.get("id") or uuid.uuid4().hex,
                seq=number,
                event_type=one["type"],
                parent_id=one.get("parentId"),
                created_at=1,
            )
