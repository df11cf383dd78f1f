"""The demo's gateway: answers a lane's next message after a reset.

A while after a lane's session was ended from outside, the message comes.

It does what Hermes 0.19 does then: it goes on in the newest session of the lane that is open and has messages, else
it begins a new one; and it writes the routing table and its mirror.
"""

from __future__ import annotations

import json
import secrets
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

__all__ = ["DemoGateway"]

_ENDED = ("session_reset", "suspended", "session_switch")
_OURS = ("session_key", "source", "user_id", "chat_id", "chat_type", "thread_id", "display_name", "model")
_FLAGS: dict[str, Any] = {
    "suspended": False,
    "resume_pending": False,
    "resume_reason": None,
    "last_resume_marked_at": None,
    "was_auto_reset": False,
    "auto_reset_reason": None,
}


class DemoGateway(threading.Thread):
    """Looks every `interval` seconds until `stop` is called. A daemon."""

    def __init__(self, home: Path, interval: float = 2.0, patience: float = 8.0) -> None:
        """`patience`: seconds from the end of a session until the lane's next message."""
        super().__init__(name="demo-gateway", daemon=True)
        self._root = home / ".hermes"
        self._interval = interval
        self._patience = patience
        self._stopped = threading.Event()
        self.failure: Exception | None = None
        """Why it ended by itself."""

    def run(self) -> None:
        """Serve until stopped, or until the home is gone."""
        try:
            while not self._stopped.wait(self._interval):
                self.serve(datetime.now(UTC))
        except (OSError, apsw.Error, ValueError) as error:  # the home was removed: the rest of the demo goes on
            self.failure = error

    def stop(self) -> None:
        """End soon; may be called more than once."""
        self._stopped.set()

    def serve(self, now: datetime) -> list[str]:
        """Let the messages come that are due; the keys of their lanes."""
        database = apsw.Connection(str(self._root / "state.db"), flags=apsw.SQLITE_OPEN_READWRITE)
        database.set_busy_timeout(2000)
        try:
            due = self._due(database, now)
            for key, entry in due.items():
                database.execute("BEGIN IMMEDIATE")
                entry |= {"session_id": self._next(database, key, entry["session_id"], now), **_FLAGS}
                entry["updated_at"] = entry["created_at"] = now.astimezone().replace(tzinfo=None).isoformat()
                database.execute(
                    "UPDATE gateway_routing SET entry_json = ?, updated_at = ? WHERE session_key = ?",
                    (json.dumps(entry), now.timestamp(), key),
                )
                database.execute("COMMIT")
        finally:
            database.close()
        if due:
            self._mirror(due)
        return list(due)

    def _due(self, database: apsw.Connection, now: datetime) -> dict[str, dict[str, Any]]:
        query = (
            "SELECT r.session_key, r.entry_json FROM gateway_routing r"
            " JOIN sessions s ON s.id = json_extract(r.entry_json, '$.session_id')"
            " WHERE s.end_reason IN (SELECT value FROM json_each(?)) AND s.ended_at <= ?"
        )
        rows = database.execute(query, (json.dumps(_ENDED), now.timestamp() - self._patience))
        return {str(key): json.loads(str(entry)) for key, entry in rows}

    def _next(self, database: apsw.Connection, key: str, old: str, now: datetime) -> str:
        """The session that the message goes into."""
        query = (
            "SELECT s.id FROM sessions s WHERE s.session_key = ? AND s.end_reason IS NULL"
            " AND EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id) ORDER BY s.started_at DESC LIMIT 1"
        )
        open_ = database.execute(query, (key,)).fetchone()
        new = str(open_[0]) if open_ else f"{now:%Y%m%d_%H%M%S}_{secrets.token_hex(4)}"
        at = now.timestamp()
        if not open_:
            names = ", ".join(_OURS)
            database.execute(
                f"INSERT INTO sessions (id, started_at, message_count, {names})"  # noqa: S608
                f" SELECT ?, ?, 0, {names} FROM sessions WHERE id = ?",
                (new, at, old),
            )
        for role, content in (("user", "Hello again."), ("assistant", "Hello! What can I do?")):
            database.execute(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
                (new, role, content, at),
            )
        database.execute("UPDATE sessions SET message_count = message_count + 2 WHERE id = ?", (new,))
        return new

    def _mirror(self, entries: dict[str, dict[str, Any]]) -> None:
        path = self._root / "sessions" / "sessions.json"
        draft = path.with_suffix(".tmp")
        draft.write_text(json.dumps(json.loads(path.read_bytes()) | entries, indent=2))
        draft.chmod(0o600)
        draft.replace(path)
