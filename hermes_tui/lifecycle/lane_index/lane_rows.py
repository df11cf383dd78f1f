"""What a `SessionStore` writes to the rows of its lanes' sessions."""

from __future__ import annotations

import json
from datetime import datetime

from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.source import SessionSource
from hermes_tui.lifecycle.state_db.database import SessionDB
from hermes_tui.lifecycle.state_db.recoverable import belongs_to

__all__ = ["LaneSessions"]


class LaneSessions:
    """The sessions behind lanes."""

    def __init__(self, db: SessionDB, profile: str | None) -> None:
        """Only rows of `profile` are taken up; None: one gateway serves several profiles, whose keys differ."""
        self._db = db
        self._profile = profile

    def count(self) -> int:
        """How many sessions there are."""
        return self._db.session_count()

    def tip(self, session_id: str) -> str:
        """Where a compressed session goes on."""
        return self._db.get_compression_tip(session_id)

    def is_ended(self, session_id: str) -> bool:
        """It has an end; a session without a row has none."""
        row = self._db.get_session(session_id)
        # A time without a reason is no end to Hermes.
        return row is not None and row.get("end_reason") is not None

    def recoverable(self, key: str, source: SessionSource) -> str:
        """The newest session of the lane that was not ended on purpose; empty if there is none."""
        row = self._db.find_latest_gateway_session_for_peer(
            source=source.platform,
            session_key=key,
            user_id=source.user_id,
            chat_id=source.chat_id,
            chat_type=source.chat_type,
            thread_id=source.thread_id,
        )
        ours = row is not None and belongs_to(row.get("session_key"), key, self._profile)
        return str(row["id"]) if row is not None and ours else ""

    def at_start(self, key: str, entry: SessionEntry, now: datetime) -> SessionEntry | None:
        """What a starting gateway makes of a lane: the same; where its session is over, one in the session that it
        takes up; None: it is dropped."""
        if not self.is_ended(entry.session_id):
            return entry
        found = self.recoverable(key, entry.origin) if entry.origin is not None else ""
        taken = self.taken_up(found, key, entry.origin, now) if found and entry.origin is not None else None
        return taken if found != entry.session_id else None

    def taken_up(self, session_id: str, key: str, source: SessionSource, now: datetime) -> SessionEntry:
        """That session opened again, as the lane's."""
        self._db.reopen_session(session_id)
        row = self._db.get_session(session_id) or {}
        started = row.get("started_at")
        return SessionEntry(
            session_key=key,
            session_id=session_id,
            created_at=datetime.fromtimestamp(started) if started else now,
            updated_at=now,
            origin=source,
            display_name=source.chat_name,
            platform=source.platform,
            chat_type=source.chat_type,
        )

    def make(self, entry: SessionEntry, key: str, profile: str | None) -> None:
        """The row of a new session."""
        origin = entry.origin
        self._db.create_session(
            entry.session_id,
            entry.platform or "unknown",
            user_id=origin.user_id if origin else None,
            session_key=key,
            chat_id=origin.chat_id if origin else None,
            chat_type=origin.chat_type if origin else None,
            thread_id=origin.thread_id if origin else None,
            profile_name=profile,
        )
        self.record(entry, key)

    def record(self, entry: SessionEntry, key: str) -> None:
        """Write down in the row whom the session talks to."""
        origin = entry.origin
        if origin is None:
            return
        self._db.record_gateway_session_peer(
            entry.session_id,
            source=origin.platform,
            session_key=key,
            user_id=origin.user_id,
            chat_id=origin.chat_id,
            chat_type=origin.chat_type,
            thread_id=origin.thread_id,
            display_name=entry.display_name or origin.chat_name,
            origin_json=json.dumps(origin.to_dict()),
        )

    def end(self, session_id: str, reason: str) -> None:
        """End it on purpose, also where it was ended by accident before."""
        self._db.promote_to_session_reset(session_id, reason)

    def reopen(self, session_id: str) -> None:
        """Take its end away."""
        self._db.reopen_session(session_id)

    def finalize(self, session_id: str) -> None:
        """It expired and was closed down."""
        if self._db.schema.has("sessions", "expiry_finalized"):  # since Hermes 0.18.1
            with self._db.transaction():
                self._db.execute("UPDATE sessions SET expiry_finalized = 1 WHERE id = ?", (session_id,))
        self._db.promote_to_session_reset(session_id)
