"""Exports, clears, deletes and prunes whole sessions.

Format: spec 000, "Export and Cleanup".
"""

from __future__ import annotations

from collections.abc import Collection

from hermes_tui.lifecycle.state_db.connection.rows import Row
from hermes_tui.lifecycle.state_db.messages import MessageRows
from hermes_tui.lifecycle.state_db.sessions import SessionRows

__all__ = ["ExportRows"]

_DAY = 86_400.0
_DELEGATE = "json_extract(CASE WHEN json_valid(model_config) THEN model_config END, '$._delegate_from')"
"""Which session had a helper work for it."""


class ExportRows(SessionRows, MessageRows):
    """What is done to sessions with all their messages."""

    def export_session(self, session_id: str) -> Row | None:
        """A session's row with its `messages`; None when there is no such session."""
        session = self.get_session(session_id)
        return None if session is None else {**session, "messages": self.get_messages(session_id)}

    def export_all(self, source: str | None = None) -> list[Row]:
        """Every session's row with its `messages` and `last_active`, the one spoken in last first."""
        sessions = self.search_sessions(source=source, limit=-1)
        return [{**session, "messages": self.get_messages(session["id"])} for session in sessions]

    def clear_messages(self, session_id: str) -> None:
        """Delete the messages of a session and keep its row."""
        with self.transaction():
            self.execute("DELETE FROM messages WHERE session_id = ?", (session_id,))
            self.execute("UPDATE sessions SET message_count = 0, tool_call_count = 0 WHERE id = ?", (session_id,))

    def delete_session(self, session_id: str) -> bool:
        """Delete a session with its messages and with the helpers that worked for it; whether there was one.
        Other sessions that came from it stay, and name no parent any more."""
        with self.transaction():
            if self.get_session(session_id) is None:
                return False
            self._delete([*self._helpers(session_id), session_id])
        return True

    def _helpers(self, session_id: str) -> list[str]:
        """The helpers of a session, and theirs; never the session itself, however they point at one another."""
        found = {session_id}
        waiting = [session_id]
        while waiting:
            at = waiting.pop()
            rows = self.rows(
                f"SELECT id FROM sessions WHERE {_DELEGATE} = ?1"  # noqa: S608 - names of our own
                f" OR (parent_session_id = ?1 AND {_DELEGATE} IS NOT NULL)",
                (at,),
            )
            new = [row["id"] for row in rows if row["id"] not in found]
            found.update(new)
            waiting += new
        return sorted(found - {session_id})

    def prune_sessions(self, older_than_days: float = 90, source: str | None = None) -> int:
        """Delete the sessions that began earlier and are ended; how many. Those that came from one of them stay."""
        with self.transaction():
            rows = self.rows(
                "SELECT id FROM sessions WHERE started_at < ?1 AND ended_at IS NOT NULL"
                " AND (?2 IS NULL OR source = ?2)",
                (self.clock() - older_than_days * _DAY, source or None),
            )
            self._delete([row["id"] for row in rows])
        return len(rows)

    def _delete(self, ids: Collection[str]) -> None:
        for id_ in ids:
            self.execute("UPDATE sessions SET parent_session_id = NULL WHERE parent_session_id = ?", (id_,))
            self.execute("DELETE FROM messages WHERE session_id = ?", (id_,))
            self.execute("DELETE FROM sessions WHERE id = ?", (id_,))
