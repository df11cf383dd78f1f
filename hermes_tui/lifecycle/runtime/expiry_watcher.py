"""Closes expired conversations down, sweeps idle agents, prunes old lanes.

Format: spec 002 section 10.

Every 300 seconds. A lane whose conversation has expired by its policy is finalised once: hooks, the agent's
resources, its place in the cache, what was set for this conversation alone, then the flag `expiry_finalized` and the
end of the row, so that nothing brings it back. What fails is tried at the next two looks again, and then marked all
the same.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from msgspec import Struct

from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.runtime.agent_cache import AgentCache
from hermes_tui.lifecycle.store import SessionStore
from hermes_tui.platform.log import write_failure

__all__ = ["FIRST_LOOK", "INTERVAL", "PRUNE_INTERVAL", "TRIES", "ExpiryWatcher", "WatcherLook"]

INTERVAL = 300.0
"""Seconds between two looks."""
FIRST_LOOK = 60.0
"""Seconds before the first one, as in Hermes 0.19."""
PRUNE_INTERVAL = 3600.0
TRIES = 3


class WatcherLook(Struct, frozen=True, kw_only=True):
    """What one look did: session keys, and how many."""

    finalized: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    """To be tried again."""
    forced: tuple[str, ...] = ()
    """Marked though they failed for the third time."""
    swept: int = 0
    pruned: int = 0


class ExpiryWatcher:
    """The watcher of one gateway; `run` is its task."""

    def __init__(
        self,
        store: SessionStore,
        cache: AgentCache[Any],
        *,
        on_session_finalize: Sequence[Callable[[SessionEntry], Awaitable[None]]] = (),
        overrides: MutableMapping[str, Any] | None = None,
        is_busy: Callable[[str], bool] = lambda key: False,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`overrides` has what was set for a conversation, by session key. `is_busy` says whether the lane is in a
        turn: it is passed over then. `clock` gives seconds."""
        self._store = store
        self._cache = cache
        self._hooks = on_session_finalize
        self._overrides: MutableMapping[str, Any] = {} if overrides is None else overrides
        self._is_busy = is_busy
        self._clock = clock
        self._sleep = sleep
        self._failures: dict[str, int] = {}
        self._pruned_at: float | None = None

    async def run(self) -> None:
        """WatcherLook for ever. A look that fails as a whole is noted in our log, and followed by the next."""
        await self._sleep(FIRST_LOOK)
        while True:
            try:
                await self.look()
            except Exception as error:  # a full disk, a hook: the next look may find better
                write_failure(error)
            await self._sleep(INTERVAL)

    async def look(self) -> WatcherLook:
        """One look. Raises what the store raises."""
        lanes = await asyncio.to_thread(self._store.list_sessions)
        expired = [entry for entry in lanes if not entry.expiry_finalized and not self._is_busy(entry.session_key)]
        expired = await asyncio.to_thread(lambda: [one for one in expired if self._store.is_session_expired(one)])
        ids = {entry.session_id for entry in expired}
        self._failures = {id_: count for id_, count in self._failures.items() if id_ in ids}
        found: dict[str, list[str]] = {"finalized": [], "failed": [], "forced": []}
        for entry in expired:
            if self._is_busy(entry.session_key):  # a turn may have begun while the lanes before it were closed down
                continue
            outcome = "finalized"
            try:
                for hook in self._hooks:
                    await hook(entry)
                await asyncio.to_thread(self._cache.close, entry.session_key)
                await self._mark(entry, forced=False)
            except Exception as error:  # a hook's or the agent's own: counted, and tried again
                write_failure(error)
                tries = self._failures[entry.session_id] = self._failures.get(entry.session_id, 0) + 1
                outcome = "failed" if tries < TRIES else "forced"
                if outcome == "forced":
                    self._cache.evict(entry.session_key)
                    await self._mark(entry, forced=True)
            found[outcome].append(entry.session_key)
        keeps = self._is_awaited if not self._store.config.documented else lambda key: False
        swept = await asyncio.to_thread(self._cache.sweep_idle, keeps)
        now, pruned = self._clock(), 0
        if self._pruned_at is None or now - self._pruned_at > PRUNE_INTERVAL:
            self._pruned_at = now
            # The age is looked up each time: settings may change.
            age = self._store.config.session_store_max_age_days
            pruned = await asyncio.to_thread(self._store.prune_old_entries, age)
        return WatcherLook(**{name: tuple(keys) for name, keys in found.items()}, swept=swept, pruned=pruned)

    async def _mark(self, entry: SessionEntry, *, forced: bool) -> None:
        """Unless a message has led the lane elsewhere meanwhile: what was set then is the new conversation's."""
        if await asyncio.to_thread(
            self._store.set_expiry_finalized,
            entry.session_key,
            session_id=entry.session_id,
            clear_model_override=not forced,
        ):
            self._overrides.pop(entry.session_key, None)
        self._failures.pop(entry.session_id, None)

    def _is_awaited(self, key: str) -> bool:
        """Whether the lane will expire, so that its agent is kept until then, as Hermes 0.19 does, to end the
        conversation with it. The document sweeps it whatever the policy says."""
        entry = self._store.peek(key)
        return (
            entry is not None
            and self._store.config.get_reset_policy(entry.platform, entry.chat_type).mode != "none"
            and not self._store.is_session_expired(entry)
        )
