"""`SessionStore`: which lane is in which session, as the gateway keeps it.

Format: spec 002 section 3.

The document's `sessions.json` and today's table `gateway_routing` alike, by what the database has. Where the running
Hermes 0.19 does otherwise than the document, this does as the running one (facts on Hermes, section 3.2): a resume
mark yields to the policy and grows stale, a lost lane takes its newest open session up again, ends bear their own
reason. For a process that owns the lanes; who works beside a gateway uses `operations`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from hermes_tui.lifecycle.gateway.configuration import GatewayConfig
from hermes_tui.lifecycle.keys import build_session_key
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.lane_index.lane_rows import LaneSessions
from hermes_tui.lifecycle.lane_index.stored import StoredIndex
from hermes_tui.lifecycle.policy import reset_reason, should_reset
from hermes_tui.lifecycle.routing import Route, route
from hermes_tui.lifecycle.source import SessionSource
from hermes_tui.lifecycle.state_db.database import SessionDB
from hermes_tui.lifecycle.transcripts import Transcripts
from hermes_tui.lifecycle.whatsapp import WhatsAppAliases
from hermes_tui.platform.log import write_failure

__all__ = ["SessionStore", "session_name"]


def session_name(now: datetime) -> str:
    """A new session's id: `YYYYMMDD_HHMMSS_<8 hex digits>`."""
    return f"{now:%Y%m%d_%H%M%S}_{uuid4().hex[:8]}"


class SessionStore(Transcripts):
    """The lanes of one gateway, in memory and on disk. Threads may share it."""

    def __init__(
        self,
        sessions_dir: Path,
        config: GatewayConfig,
        has_active_processes_fn: Callable[[str], bool] | None = None,
        *,
        db: SessionDB | None = None,
        clock: Callable[[], datetime] = datetime.now,
        name: Callable[[datetime], str] = session_name,
        profile: str = "default",
        starts: bool = True,
    ) -> None:
        """`has_active_processes_fn` says of a session key whether background processes run for it; one that raises
        counts as yes, and is noted in our log. `db` None: `state.db` beside the directory, which `close` closes; it
        is made where there is none. `clock` gives local times without a zone. `starts` False: the gateway ran all the
        time, so that lanes whose session is over are left to their next message. No lane is read before the first
        call. Raises `StoreError`."""
        super().__init__(db, sessions_dir.parent / "state.db")
        db = self.db
        self.config = config
        self.index = StoredIndex(sessions_dir, db, config.write_sessions_json)
        self._rows = LaneSessions(db, None if config.multiplex_profiles else profile)
        self._aliases = WhatsAppAliases(sessions_dir.parent)
        self._busy = has_active_processes_fn
        self._clock, self._name = clock, name
        self._profile, self._starts = profile, starts
        self._loaded: dict[str, SessionEntry] | None = None
        self._lock = threading.RLock()  # its own thread takes it again, in `save`
        self._flights, self._flights_lock = dict[str, Future[SessionEntry]](), threading.Lock()

    # A message arrives ---------------------------------------------------------------------------------------

    def session_key(self, source: SessionSource) -> str:
        """The lane that a message from there belongs to."""
        return build_session_key(
            source,
            self.config.group_sessions_per_user,
            self.config.thread_sessions_per_user,
            (source.profile or self._profile) if self.config.multiplex_profiles else None,
            self._aliases.canonical,
        )

    def get_or_create_session(self, source: SessionSource, force_new: bool = False) -> SessionEntry:
        """The lane's session for a message that arrives now: the one it is in, another one, or a new one. Calls for
        the same lane that overlap share one result. Raises `StoreError`."""
        key = self.session_key(source)
        with self._flights_lock:
            flight = self._flights.get(key)
            mine = flight is None
            if flight is None:
                flight = self._flights[key] = Future()
        if not mine:
            return flight.result()
        try:
            flight.set_result(self._routed(key, source, force_new))
        except BaseException as error:
            flight.set_exception(error)  # for those who wait for the same lane
        finally:
            with self._flights_lock:
                del self._flights[key]
        return flight.result()

    def _routed(self, key: str, source: SessionSource, force_new: bool) -> SessionEntry:
        with self._lock:
            now, lanes = self._clock(), self._lanes
            entry = None if force_new else lanes.get(key)
            goes = Route("", "ended")
            if not force_new:
                reset, is_over, tip = None, False, ""
                if entry is not None:
                    policy = self.config.get_reset_policy(source.platform, source.chat_type)
                    marks_win = self.config.documented
                    reset = reset_reason(entry, policy, now, self._is_busy(key), self.config.freshness, marks_win)
                    is_over, tip = self._rows.is_ended(entry.session_id), self._rows.tip(entry.session_id)
                recovered = partial(self._rows.recoverable, key, source)
                goes = route(entry, ended=is_over, tip=tip, reset=reset, recovered=recovered)
            if entry is not None and goes.step in ("stays", "compressed"):
                return self._put(key, entry.changed(session_id=goes.session_id, updated_at=now))
            if entry is not None:
                del lanes[key]
            if goes.session_id:
                return self._put(key, self._rows.taken_up(goes.session_id, key, source, now))
            ended = entry if goes.step == "reset" else None
            reason = goes.reason or None
            new = SessionEntry(
                session_key=key,
                session_id=self._name(now),
                created_at=now,
                updated_at=now,
                origin=source,
                display_name=source.chat_name,
                platform=source.platform,
                chat_type=source.chat_type,
                was_auto_reset=ended is not None,
                auto_reset_reason=reason,
                reset_had_activity=ended is not None and ended.last_prompt_tokens > 0,
            )
            # A process that is killed after this leaves a lane without a row, which `append_asked` makes.
            self._put(key, new)
            if ended is not None:
                self._rows.end(ended.session_id, reason or "session_reset")
            self._rows.make(new, key, source.profile)
            return new

    # One lane ------------------------------------------------------------------------------------------------

    def update_session(self, session_key: str, last_prompt_tokens: int | None = None) -> None:
        """After a turn: the lane was active now, and its last prompt had so many tokens."""
        with self._lock:
            entry = self._lanes.get(session_key)
            if entry is None:
                return
            tokens = entry.last_prompt_tokens if last_prompt_tokens is None else last_prompt_tokens
            self._put(session_key, entry.changed(updated_at=self._clock(), last_prompt_tokens=tokens))
            self._rows.record(entry, session_key)

    def reset_session(self, session_key: str, display_name: str | None = None) -> SessionEntry | None:
        """/new: a new session for the lane; None if there is no such lane."""
        with self._lock:
            old = self._lanes.get(session_key)
            if old is None:
                return None
            new = self._successor(old, session_key, self._name(now := self._clock()), now).changed(
                is_fresh_reset=True, display_name=old.display_name if display_name is None else display_name
            )
            self._put(session_key, new)
            self._rows.end(old.session_id, "session_reset")
            self._rows.make(new, session_key, new.origin.profile if new.origin else None)
            return new

    def switch_session(self, session_key: str, target_session_id: str) -> SessionEntry | None:
        """/resume: the lane goes on in a session that is there, which is opened again; None if there is no such
        lane. Whether there is such a session is not looked at, as in Hermes."""
        with self._lock:
            old = self._lanes.get(session_key)
            if old is None or old.session_id == target_session_id:
                return old
            new = self._put(session_key, self._successor(old, session_key, target_session_id, self._clock()))
            self._rows.end(old.session_id, "session_switch")
            self._rows.reopen(target_session_id)
            self._rows.record(new, session_key)
            return new

    def suspend_session(self, session_key: str) -> bool:
        """/stop: the next message begins a new session. Whether there is such a lane."""
        return self._mark(session_key, suspended=True)

    def mark_resume_pending(self, session_key: str, reason: str = "restart_timeout") -> bool:
        """A restart interrupted a turn: the conversation is kept. False for a suspended lane, or none."""
        with self._lock:
            if (entry := self._lanes.get(session_key)) is None or entry.suspended:
                return False
            return self._mark(
                session_key, resume_pending=True, resume_reason=reason, last_resume_marked_at=self._clock()
            )

    def clear_resume_pending(self, session_key: str) -> bool:
        """The resumed turn succeeded. Whether there was a mark."""
        with self._lock:
            if (entry := self._lanes.get(session_key)) is None or not entry.resume_pending:
                return False
            return self._mark(session_key, resume_pending=False, resume_reason=None, last_resume_marked_at=None)

    def set_expiry_finalized(
        self, session_key: str, *, session_id: str | None = None, clear_model_override: bool = True
    ) -> bool:
        """The watcher has closed the expired conversation down: its row is ended, and nothing brings it back. With
        `session_id` only if the lane is in it still. Whether it was done."""
        with self._lock:
            entry = self._lanes.get(session_key)
            if entry is None or session_id not in (None, entry.session_id):
                return False
            cleared = {"model_override": None} if clear_model_override else {}
            self._put(session_key, entry.changed(expiry_finalized=True, **cleared))
            self._rows.finalize(entry.session_id)
            return True

    def consume_reset(self, session_key: str) -> None:
        """The first message after a reset has been told of it: its flags are taken away."""
        self._mark(session_key, was_auto_reset=False, auto_reset_reason=None, is_fresh_reset=False)

    # All lanes -----------------------------------------------------------------------------------------------

    def suspend_recently_active(self, max_age_seconds: float = 120) -> int:
        """After a crash: mark lanes active within that time as interrupted; how many."""
        with self._lock:
            now = self._clock()
            cutoff = now - timedelta(seconds=max_age_seconds)
            found = [
                key
                for key, entry in self._lanes.items()
                if not entry.resume_pending and not entry.suspended and entry.updated_at >= cutoff
            ]
            for key in found:
                self._lanes[key] = self._lanes[key].changed(
                    resume_pending=True, resume_reason="restart_interrupted", last_resume_marked_at=now
                )
            if found:
                self.save()
            return len(found)

    def prune_old_entries(self, max_age_days: int | None) -> int:
        """Drop lanes without activity for longer than that, but none that is suspended or busy; how many. Nothing
        for 0 days or fewer. Their sessions stay."""
        if max_age_days is None or max_age_days <= 0:
            return 0
        with self._lock:
            cutoff = self._clock() - timedelta(days=max_age_days)
            found = [
                key
                for key, entry in self._lanes.items()
                if not entry.suspended and not self._is_busy(entry.session_key) and entry.updated_at < cutoff
            ]
            for key in found:
                del self._lanes[key]
            if found:
                self.save()
            return len(found)

    def list_sessions(self, active_minutes: int | None = None) -> list[SessionEntry]:
        """Every lane, the latest active first; with `active_minutes` only those active since then."""
        with self._lock:
            found = list(self._lanes.values())
            cutoff = self._clock() - timedelta(minutes=active_minutes) if active_minutes is not None else None
        found = [entry for entry in found if cutoff is None or entry.updated_at >= cutoff]
        return sorted(found, key=lambda entry: entry.updated_at, reverse=True)

    def lookup_by_session_id(self, session_id: str) -> SessionEntry | None:
        """The lane that is in that session."""
        with self._lock:
            return next((entry for entry in self._lanes.values() if entry.session_id == session_id), None)

    def peek(self, session_key: str) -> SessionEntry | None:
        """The lane, as it is; nothing is decided."""
        with self._lock:
            return self._lanes.get(session_key)

    def peek_session_id(self, session_key: str) -> str | None:
        """The session that the lane is in."""
        return entry.session_id if (entry := self.peek(session_key)) is not None else None

    def has_any_sessions(self) -> bool:
        """Whether there was any session before the present one."""
        with self._lock:
            return self._rows.count() > 1

    def is_session_expired(self, entry: SessionEntry) -> bool:
        """What the watcher decides, from the entry alone."""
        policy = self.config.get_reset_policy(entry.platform, entry.chat_type)
        return should_reset(entry.updated_at, policy, self._clock(), self._is_busy(entry.session_key)) is not None

    def save(self) -> None:
        """Write the index. Raises `StoreError`."""
        with self._lock:
            self.index.save(self._lanes)

    # Inside --------------------------------------------------------------------------------------------------

    @property
    def _lanes(self) -> dict[str, SessionEntry]:
        """The lanes; on the first call they are loaded, and those whose session is over repaired or dropped."""
        if self._loaded is None:
            loaded, now = self.index.load(), self._clock()
            found = ((key, self._rows.at_start(key, entry, now)) for key, entry in loaded.items() if self._starts)
            self._loaded = {key: entry for key, entry in found if entry is not None} if self._starts else loaded
            if any(self._loaded.get(key) is not entry for key, entry in loaded.items()):
                self.save()
        return self._loaded

    def _put(self, key: str, entry: SessionEntry) -> SessionEntry:
        self._lanes[key] = entry
        self.save()
        return entry

    def _mark(self, key: str, **values: Any) -> bool:
        with self._lock:
            entry = self._lanes.get(key)
            if entry is None:
                return False
            self._put(key, entry.changed(**values))
            return True

    def _successor(self, old: SessionEntry, key: str, session_id: str, now: datetime) -> SessionEntry:
        return SessionEntry(
            session_key=key,
            session_id=session_id,
            created_at=now,
            updated_at=now,
            origin=old.origin,
            display_name=old.display_name,
            platform=old.platform,
            chat_type=old.chat_type,
            extra=old.extra,
        )

    def _is_busy(self, key: str) -> bool:
        """Whether processes run for the lane. Where the owner's function fails, nobody knows: then nothing is reset
        or dropped, and the failure is in the log."""
        if self._busy is None:
            return False
        try:
            return bool(self._busy(key))
        except Exception as error:  # not ours: it may fail in any way
            write_failure(error)
            return True
