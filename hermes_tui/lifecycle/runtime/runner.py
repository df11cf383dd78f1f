"""The loop of a gateway: ties lanes to an agent and to platforms.

Format: spec 002 sections 5 to 11.

A lane has one turn at a time; lanes run side by side.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from msgspec.structs import replace

from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.recovery import (
    GatewayStart,
    auto_resumable,
    mark_clean_shutdown,
    recover,
)
from hermes_tui.lifecycle.runtime.agent_cache import AgentCache
from hermes_tui.lifecycle.runtime.events import Agent, MessageEvent
from hermes_tui.lifecycle.runtime.expiry_watcher import ExpiryWatcher
from hermes_tui.lifecycle.runtime.message_queue import FollowUps, MessageQueue
from hermes_tui.lifecycle.runtime.turn_runner import RESETS, STOP, TurnRunner
from hermes_tui.lifecycle.source import SessionContext, SessionSource
from hermes_tui.lifecycle.store import SessionStore
from hermes_tui.platform.log import write_failure

__all__ = ["DRAIN_TIMEOUT", "GatewayRunner"]

DRAIN_TIMEOUT = 60.0
"""Seconds that running turns have to end when the gateway stops."""


async def _nothing(*_: Any) -> None:
    """Where nobody wants to know."""


class GatewayRunner:
    """One gateway, for the process that owns the lanes. Belongs to one event loop."""

    def __init__(
        self,
        home: Path,
        store: SessionStore,
        new_agent: Callable[[SessionContext], Agent],
        *,
        send: Callable[[SessionSource, str], Awaitable[None]] = _nothing,
        handled: Callable[[MessageEvent], Awaitable[None]] = _nothing,
        changed: Callable[[], None] = lambda: None,
        cache: AgentCache[Agent] | None = None,
        on_session_finalize: Sequence[Callable[[SessionEntry], Awaitable[None]]] = (),
        chat_id_keys: Mapping[str, Callable[[str], str]] | None = None,
        follow_ups: FollowUps = "merge",
        redact_pii: bool = False,
        agent_writes: bool = False,
        clock: Callable[[], datetime] = datetime.now,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`home` is the Hermes home, for the marks of starts and stops. `send` says something to a chat. `handled` is
        told each message that needs to be delivered no more. `changed` is told whenever a turn begins or ends or a
        message waits: `running` and `queue.waiting` are others then. `chat_id_keys`: platform → what makes one
        identifier of the several that it has for a chat. `agent_writes`: the agent writes the transcript itself.
        `clock` gives local times without a zone, as the store's."""
        self.store = store
        self.queue = MessageQueue(follow_ups)
        self.cache: AgentCache[Agent] = AgentCache() if cache is None else cache
        self.overrides: dict[str, Any] = {}
        """What was set for one conversation, by session key; dropped when it ends."""
        self._home = home
        self._handled = handled
        self._changed = changed
        self._chat_id_keys = chat_id_keys or {}
        self._clock = clock
        self._runner = TurnRunner(
            home,
            store,
            self.cache,
            new_agent,
            send=send,
            overrides=self.overrides,
            redact_pii=redact_pii,
            agent_writes=agent_writes,
            sleep=sleep,
        )
        self.watcher = ExpiryWatcher(
            store,
            self.cache,
            on_session_finalize=on_session_finalize,
            overrides=self.overrides,
            is_busy=lambda key: key in self._lanes,
            sleep=sleep,
        )
        self._lanes: dict[str, asyncio.Task[None]] = {}
        self._turns: dict[str, tuple[MessageEvent, asyncio.Task[None]]] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._held: deque[MessageEvent] | None = deque()
        """What came before the start, and while interrupted turns are gone on with; None: nothing is held."""
        self._restoring: list[asyncio.Task[None]] = []
        self._came_late: list[MessageEvent] = []
        self._stopping = False

    # Starting and stopping -----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> GatewayStart:
        """Recover the lanes, go on with turns that a restart interrupted, and hold messages until those have ended.
        Raises `StoreError`, `OSError`."""
        # By the document every lane that was active is gone on with, also where nothing was cut.
        was_cut = (lambda session_id: True) if self.store.config.documented else self.store.is_cut
        started = await asyncio.to_thread(recover, self._home, self.store, was_cut=was_cut)
        await asyncio.to_thread(self._runner.started)
        lanes = await asyncio.to_thread(self.store.list_sessions)
        fresh = [one for one in lanes if auto_resumable(one, self._clock(), self.store.config.freshness)]
        for entry in fresh:
            if entry.origin is not None:
                self._dispatch(entry.session_key, MessageEvent(source=entry.origin, internal=True))
        self._restoring = [self._spawn(self._restored(list(self._lanes.values())))]
        self._spawn(self.watcher.run())
        return started

    async def _restored(self, resumed: Sequence[asyncio.Task[None]]) -> None:
        if resumed:
            await asyncio.wait(resumed)
        held, self._held, self._restoring = self._held or deque(), None, []
        for event in held:  # no pause between them: what comes now comes after them
            self.handle(event)

    async def stop(self, drain_timeout: float = DRAIN_TIMEOUT, *, restart: bool = False) -> list[MessageEvent]:
        """Let running turns end, cut those that take longer, and mark their lanes; what was not handled, in order,
        for who delivers it again. Raises `StoreError`, `OSError`."""
        self._stopping = True
        reason = "restart_timeout" if restart else "shutdown_timeout"
        pending = {key for key in self._lanes if (entry := self.store.peek(key)) and entry.resume_pending}
        # Before they end: a gateway that is killed while it waits leaves the marks.
        marked = [key for key in self._lanes if key not in pending]
        for key in marked:
            await asyncio.to_thread(self.store.mark_resume_pending, key, reason)
        if self._lanes:
            await asyncio.wait(list(self._lanes.values()), timeout=drain_timeout)
        late = set(self._lanes)
        for key in set(marked) - late:
            await asyncio.to_thread(self.store.clear_resume_pending, key)
        unhandled: list[MessageEvent] = []
        for event, turn in list(self._turns.values()):
            # A turn of the gateway's own has no message that a platform could deliver again.
            if turn.cancel() and not event.internal:
                unhandled += event.messages
        for task in list(self._background):
            task.cancel()
        await asyncio.gather(*self._lanes.values(), *self._background, return_exceptions=True)
        for key in self.queue.waiting:
            unhandled += [one for event in self.queue.clear(key) for one in event.messages]
        unhandled += self._held or ()
        self._held = None
        await asyncio.to_thread(self.cache.close_all)
        if not late:  # after anything else, the next start looks for turns that were cut
            await asyncio.to_thread(mark_clean_shutdown, self._home)
        return unhandled + self._came_late

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    # Messages ------------------------------------------------------------------------------------------------

    async def serve(self, platform: AsyncIterable[MessageEvent]) -> None:
        """Handle a platform's messages until it has no more. Several may be served side by side."""
        async for event in platform:
            self.handle(event)

    def handle(self, event: MessageEvent) -> None:
        """A message arrives: its lane begins a turn, or it waits. Never blocks."""
        key_of = self._chat_id_keys.get(event.source.platform)
        if key_of is not None:
            event = replace(event, source=replace(event.source, chat_id=key_of(event.source.chat_id)))
        if self._stopping:
            self._came_late.append(event)
        elif self._held is not None:
            self._held.append(event)
        else:
            self._dispatch(self.store.session_key(event.source), event)

    def _dispatch(self, key: str, event: MessageEvent) -> None:
        word, _, rest = event.text.partition(" ")
        if word == "/queue":
            event = replace(event, text=rest.strip(), queued=True)
        if key not in self._lanes:
            self._lanes[key] = asyncio.create_task(self._lane(key, event))
        elif word in RESETS:
            self._forget(self.queue.clear(key))
            self._interrupt(key, event)
        elif word == STOP:
            self._interrupt(key, event)
        elif event.queued:
            self.queue.enqueue_fifo(key, event)
        elif replaced := self.queue.follow_up(key, event):
            self._forget([replaced])
        self._changed()

    def _interrupt(self, key: str, command: MessageEvent) -> None:
        """Cut the lane's turn; the command is what comes next."""
        self.queue.put_first(key, replace(command, queued=True))
        if key in self._turns:  # else the lane is only about to begin
            self._turns[key][1].cancel()

    def _forget(self, events: Sequence[MessageEvent]) -> None:
        """Messages that get no turn any more: the platform needs to deliver them no more either."""
        for event in events:
            self._spawn(self._tell_handled(event))

    async def idle(self) -> None:
        """Wait until no lane is in a turn and nothing is held."""
        while self._lanes or self._held is not None:
            # Only for a moment: turns may begin meanwhile that are not among these tasks.
            await asyncio.wait(
                [*self._lanes.values(), *([] if self._held is None else self._background)], timeout=0.05
            )

    @property
    def running(self) -> tuple[str, ...]:
        """Keys of the lanes that are in a turn."""
        return tuple(self._lanes)

    # Turns ---------------------------------------------------------------------------------------------------

    async def _lane(self, key: str, event: MessageEvent | None) -> None:
        """Turn after turn, until nothing waits. Each is a task of its own, which /new, /stop and the end cancel."""
        try:
            while event is not None:
                turn = asyncio.create_task(self._turn(key, event))
                self._turns[key] = (event, turn)
                await asyncio.wait([turn])
                if turn.cancelled() and not self._stopping:
                    self._forget([event])
                elif not turn.cancelled() and (error := turn.exception()) is not None:
                    # The store's, or ours: it stays unhandled, for a platform that delivers it again.
                    write_failure(error)
                event = None if self._stopping else self.queue.drain(key)
                self._changed()
        finally:
            del self._lanes[key]
            self._turns.pop(key, None)
            self._changed()

    async def _turn(self, key: str, event: MessageEvent) -> None:
        await self._runner.take(key, event)
        if not event.internal:
            await self._tell_handled(event)

    async def _tell_handled(self, event: MessageEvent) -> None:
        for one in event.messages:
            await self._handled(one)
