"""The part of `SessionStore` that is about messages, not lanes.

Format: spec 002 section 3.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from hermes_tui.errors import SessionNotFound, StoreError
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.lane_rows import LaneSessions
from hermes_tui.lifecycle.state_db.database import SessionDB

__all__ = ["Transcripts"]

MOST_WAITING = 200
"""Messages of one session that wait for the database; of more the oldest are dropped, as Hermes does."""
_KEPT = (
    "tool_name",
    "tool_calls",
    "tool_call_id",
    "platform_message_id",
    "observed",
    "api_content",
    "timestamp",
)
_OF_ASSISTANT = (
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
)


class Transcripts:
    """Messages of sessions, in the database."""

    def __init__(self, db: SessionDB | None, place: Path) -> None:
        """`db` None: the one at `place`, which `close` closes."""
        self.db = SessionDB(place) if db is None else db
        self._is_own = db is None
        self.db.prepare_for_lanes()
        self._waiting: dict[str, list[Mapping[str, Any]]] = {}
        self._waiting_lock = threading.Lock()

    def close(self) -> None:
        """Close the database, if it was opened here."""
        if self._is_own:
            self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append_to_transcript(self, session_id: str, message: Mapping[str, Any], skip_db: bool = False) -> None:
        """Append a message. What the database does not take now waits in memory and goes before the next one.
        `skip_db` for a message that the agent has written itself."""
        if skip_db:
            return
        with self._waiting_lock:
            waiting = self._waiting.setdefault(session_id, [])
            waiting.append(dict(message))
            del waiting[:-MOST_WAITING]
            while waiting:
                try:
                    self._append(session_id, waiting[0])
                except (StoreError, SessionNotFound):
                    return
                waiting.pop(0)
            del self._waiting[session_id]

    def _append(self, session_id: str, message: Mapping[str, Any]) -> None:
        role = str(message.get("role", "unknown"))
        names = (*_KEPT, *_OF_ASSISTANT) if role == "assistant" else _KEPT
        values = {name: message[name] for name in names if message.get(name) is not None}
        if "platform_message_id" not in values and message.get("message_id"):
            values["platform_message_id"] = message["message_id"]
        self.db.append_message(session_id, role, message.get("content"), **values)

    def append_asked(self, entry: SessionEntry, messages: Iterable[Mapping[str, Any]]) -> None:
        """Append messages of a person to a lane's session before their turn, all or none. One that a platform
        delivers again, under the same `message_id`, stands there already and stays. Raises `StoreError`."""
        with self.db.transaction():
            if self.db.get_session(entry.session_id) is None:
                # Who named it in the index was killed before it made the row, or somebody deleted that: as in Hermes,
                # whose agent makes it before it writes, the lane goes on.
                profile = entry.origin.profile if entry.origin is not None else None
                LaneSessions(self.db, profile).make(entry, entry.session_key, profile)
            for message in messages:
                if not self.db.has_platform_message_id(entry.session_id, message.get("message_id")):
                    self._append(entry.session_id, message)

    def answer_to(self, session_id: str, message_id: str) -> str | None:
        """What was answered to a platform's message, in this session or an earlier one of its lane; None: nothing
        yet. Raises `StoreError`."""
        return self.db.answer_to(session_id, message_id)

    def is_cut(self, session_id: str) -> bool:
        """Whether a turn began there and left no answer. Raises `StoreError`."""
        return self.db.is_cut(session_id)

    def rewrite_transcript(self, session_id: str, messages: Iterable[Mapping[str, Any]]) -> bool:
        """Put these messages in the place of all there are (/retry, /undo, /compress); False if that failed and
        nothing was changed."""
        self._forget_waiting(session_id)
        try:
            self.db.replace_messages(session_id, messages)
        except (StoreError, SessionNotFound):
            return False
        return True

    def load_transcript(self, session_id: str) -> list[dict[str, Any]]:
        """Every message in the form of the OpenAI API. Raises `StoreError`."""
        return self.db.get_messages_as_conversation(session_id)

    def rewind_session(self, session_id: str, n: int = 1) -> dict[str, Any] | None:
        """Take `n` turns of the user back, at most all there are; the rows are hidden, not removed. How many rows
        (`rewound_count`), how many turns (`turns_undone`), and what the user had written (`target_text`); None when
        there is nothing to take back. Raises `StoreError`."""
        self._forget_waiting(session_id)
        recent = self.db.list_recent_user_messages(session_id, limit=max(n, 10))
        if not recent:
            return None
        at = min(max(n, 1), len(recent)) - 1
        done = self.db.rewind_to_message(session_id, recent[at]["id"])
        content = done["target_message"].get("content")
        if isinstance(content, list):
            said = (part.get("text", "") for part in content if isinstance(part, dict) and part.get("type") == "text")
            content = "\n".join(text for text in said if text)
        return {
            "rewound_count": done["rewound_count"],
            "turns_undone": at + 1,
            "target_text": content if isinstance(content, str) else "",
        }

    def _forget_waiting(self, session_id: str) -> None:
        """What waits belongs to a conversation that is no longer so."""
        with self._waiting_lock:
            self._waiting.pop(session_id, None)
