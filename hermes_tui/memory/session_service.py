"""Layer 1: what a session service does, and one that keeps everything in memory.

Format: spec 001 «Session Service»; facts agentmux_hector.md 2.4.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hermes_tui.errors import StoreError
from hermes_tui.memory.message import HectorMessage, NativeRole

__all__ = [
    "SUMMARY_ROLES",
    "Checkpoint",
    "HectorSession",
    "InMemorySessionService",
    "LoadOptions",
    "LoadedMessages",
    "SessionService",
    "identified",
    "since_checkpoint",
]


Checkpoint = Callable[[HectorMessage], bool]
"""Whether a message is a summary, with which the agent's view of the conversation begins."""
SUMMARY_ROLES: tuple[NativeRole, ...] = ("ROLE_UNSPECIFIED",)


class LoadOptions(Struct, frozen=True, kw_only=True):
    """What to load; all given conditions hold together."""

    limit: int = 0
    """Only the last so many; 0 for all."""
    from_message_id: str = ""
    """Only that message and those after it; empty for all, nothing for one that is not there."""
    roles: tuple[NativeRole, ...] = ()
    """Only these; none for all."""

    def apply(self, messages: Sequence[HectorMessage]) -> Sequence[HectorMessage]:
        """What of a whole conversation, oldest first, these options name."""
        found = messages
        if self.from_message_id:
            places = (at for at, one in enumerate(found) if one.message_id == self.from_message_id)
            found = found[next(places, len(found)) :]
        if self.roles:
            found = [one for one in found if one.role in self.roles]
        # Last: it counts what the other conditions leave.
        return found[-self.limit :] if self.limit > 0 else found


class LoadedMessages(Struct, frozen=True):
    """Messages, oldest first, and what could not be read of them."""

    messages: Sequence[HectorMessage]
    problems: tuple[str, ...] = ()
    """One clause for each message that is left out: which, and why."""


class HectorSession(Struct, frozen=True, kw_only=True):
    """A session of one agent."""

    id: str
    agent_id: str
    metadata: Mapping[str, Any] = MappingProxyType({})
    created_at: datetime | None = None
    """In UTC, as the next; None where the store has no readable time."""
    updated_at: datetime | None = None


class SessionService(Protocol):
    """Sessions of one agent: nothing of another agent's is ever seen or changed."""

    @property
    def agent_id(self) -> str:
        """Whose sessions these are."""

    def append_messages(self, session_id: str, messages: Sequence[HectorMessage]) -> list[str]:
        """Save all of them or none, after what is there; the session is made if it is new. The ids under which they
        are saved. Raises `StoreError`."""

    def get_messages_with_options(
        self,
        session_id: str,
        options: LoadOptions = LoadOptions(),  # noqa: B008 - immutable
    ) -> LoadedMessages:
        """What the options name, oldest first; nothing of a session that is not there. Raises `StoreError`."""

    def load_from_checkpoint(
        self, session_id: str, is_checkpoint: Checkpoint, roles: Sequence[NativeRole] = SUMMARY_ROLES
    ) -> LoadedMessages | None:
        """The last message of these roles (none: of any) that `is_checkpoint`, then the messages that it keeps, then
        all that follow it; None where there is no such message. Raises `StoreError`."""

    def get_or_create_session(self, session_id: str, metadata: Mapping[str, Any] | None = None) -> HectorSession:
        """The session; `metadata` is that of a new one. Raises `StoreError`."""

    def sessions(self) -> list[HectorSession]:
        """All of the agent's, the last changed first. Raises `StoreError`."""

    def count_messages(self, session_id: str) -> int:
        """How many messages a session has. Raises `StoreError`."""

    def delete_session(self, session_id: str) -> bool:
        """Remove a session with its messages; whether there was one. Raises `StoreError`."""


def since_checkpoint(
    messages: Sequence[HectorMessage], is_checkpoint: Checkpoint, roles: Sequence[NativeRole]
) -> Sequence[HectorMessage] | None:
    """What `SessionService.load_from_checkpoint` gives, of a whole conversation."""
    places = range(len(messages) - 1, -1, -1)
    fits = ((not roles or messages[at].role in roles) and is_checkpoint(messages[at]) for at in places)
    at = next((at for at, is_one in zip(places, fits, strict=True) if is_one), None)
    if at is None:
        return None
    kept = messages[at].kept_from
    first = next((place for place in range(at) if messages[place].message_id == kept), at) if kept else at
    # Among those that are kept, an earlier summary has nothing to say that this one does not.
    stay = [one for one in messages[first:at] if not is_checkpoint(one)]
    return [messages[at], *stay, *messages[at + 1 :]] if stay else messages[at:]


def identified(messages: Iterable[HectorMessage]) -> list[HectorMessage]:
    """The same with an id of its own for each that has none."""
    return [one.identified_as(one.message_id or str(uuid.uuid4())) for one in messages]


class InMemorySessionService:
    """Hector's `backend: memory`: a `SessionService` whose sessions end with the process."""

    def __init__(self, agent_id: str, rows: Mapping[str, Sequence[HectorMessage]] | None = None) -> None:
        """`rows`: sessions that are there already, by id, oldest message first."""
        self._agent_id = agent_id
        self._lock = threading.Lock()
        self._messages = {session_id: list(one) for session_id, one in (rows or {}).items()}
        self._sessions = {name: HectorSession(id=name, agent_id=agent_id) for name in self._messages}

    @property
    def agent_id(self) -> str:
        """See `SessionService.agent_id`."""
        return self._agent_id

    def append_messages(self, session_id: str, messages: Sequence[HectorMessage]) -> list[str]:
        """See `SessionService.append_messages`."""
        made = identified(messages)
        session = self.get_or_create_session(session_id)
        with self._lock:
            there = self._messages.setdefault(session_id, [])
            ids = [one.message_id for one in made]
            if len({*ids, *(one.message_id for one in there)}) < len(ids) + len(there):
                raise StoreError(f"A message of session {session_id} is already there: nothing was saved.")
            there += made
            self._sessions[session_id] = replace(session, updated_at=datetime.now(UTC))
        return ids

    def get_messages_with_options(
        self,
        session_id: str,
        options: LoadOptions = LoadOptions(),  # noqa: B008 - immutable
    ) -> LoadedMessages:
        """See `SessionService.get_messages_with_options`."""
        with self._lock:
            return LoadedMessages(options.apply(list(self._messages.get(session_id, ()))))

    def load_from_checkpoint(
        self, session_id: str, is_checkpoint: Checkpoint, roles: Sequence[NativeRole] = SUMMARY_ROLES
    ) -> LoadedMessages | None:
        """See `SessionService.load_from_checkpoint`."""
        with self._lock:
            rows = list(self._messages.get(session_id, ()))
        found = since_checkpoint(rows, is_checkpoint, roles)
        return None if found is None else LoadedMessages(found)

    def get_or_create_session(self, session_id: str, metadata: Mapping[str, Any] | None = None) -> HectorSession:
        """See `SessionService.get_or_create_session`."""
        now = datetime.now(UTC)
        made = HectorSession(
            id=session_id, agent_id=self._agent_id, metadata=metadata or {}, created_at=now, updated_at=now
        )
        with self._lock:
            return self._sessions.setdefault(session_id, made)

    def sessions(self) -> list[HectorSession]:
        """See `SessionService.sessions`."""
        first = datetime.min.replace(tzinfo=UTC)
        with self._lock:
            return sorted(self._sessions.values(), key=lambda one: one.updated_at or first, reverse=True)

    def count_messages(self, session_id: str) -> int:
        """See `SessionService.count_messages`."""
        with self._lock:
            return len(self._messages.get(session_id, ()))

    def delete_session(self, session_id: str) -> bool:
        """See `SessionService.delete_session`."""
        with self._lock:
            self._messages.pop(session_id, None)
            return self._sessions.pop(session_id, None) is not None
