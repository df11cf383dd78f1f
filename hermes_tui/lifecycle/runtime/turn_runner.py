"""One turn of a lane: routing, notes, the agent, the transcript, the answer.

Format: spec 002 sections 5 to 7 and 9.

The message is in the transcript before its turn begins, and each turn that ends, however it ends, leaves one answer
there. So what a crash interrupted is told from what it did not: a message that the platform delivers again gets the
answer that there is, or the turn that it never had.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, TypeVar

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.context import build_session_context
from hermes_tui.lifecycle.context_prompt import build_session_context_prompt
from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.recovery import clear_restart_count, restart_counts
from hermes_tui.lifecycle.runtime.agent_cache import AgentCache
from hermes_tui.lifecycle.runtime.events import Agent, AgentTurn, MessageEvent
from hermes_tui.lifecycle.runtime.notes import reset_note, reset_notice, resume_note, with_sender
from hermes_tui.lifecycle.source import SessionContext, SessionSource
from hermes_tui.lifecycle.store import SessionStore
from hermes_tui.platform.log import write_failure

__all__ = ["LOST", "NOT_KEPT", "RESETS", "STOP", "TurnRunner"]

_T = TypeVar("_T")

RESETS = ("/new", "/reset")
STOP = "/stop"
_NON_INTERACTIVE = ("api_server", "webhook")
"""Platforms on which nobody is there to be asked."""
FAILED = "The agent failed; nothing more is known here. Send the message again, or /new for a fresh session."
NOT_KEPT = "Your message cannot be kept just now; it is tried again."
LOST = "Your message could not be kept, and nobody answers it. Send it again later."
_PAUSES = (1.0, 5.0, 30.0)
"""Seconds between the tries to keep a message."""
TIMED_OUT = "The agent was stopped after {:.0f} minutes (agent.gateway_timeout); send the message again."


class TurnRunner:
    """Takes the turns of a gateway's lanes; each lane's one after the other."""

    def __init__(
        self,
        home: Path,
        store: SessionStore,
        cache: AgentCache[Agent],
        new_agent: Callable[[SessionContext], Agent],
        *,
        send: Callable[[SessionSource, str], Awaitable[None]],
        overrides: MutableMapping[str, Any],
        redact_pii: bool,
        agent_writes: bool,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        """As for `GatewayRunner`."""
        self._sleep = sleep
        self._home = home
        self._store = store
        self._cache = cache
        self._new_agent = new_agent
        self._send = send
        self._overrides = overrides
        self._redact_pii = redact_pii
        self._agent_writes = agent_writes
        self._counted: set[str] = set()

    def started(self) -> None:
        """Look up which lanes were interrupted by restarts: their counts end with a turn that succeeds."""
        self._counted = set(restart_counts(self._home)[0])

    async def take(self, key: str, event: MessageEvent) -> None:
        """A command, a message that had its turn before, or a turn. Raises `StoreError` where the message could not
        be kept after some tries: its chat was told, and no agent has seen it."""
        word = event.text.partition(" ")[0]
        if word in RESETS:
            await asyncio.to_thread(self._cache.close, key)
            self._overrides.pop(key, None)
            if await self._kept(event, lambda: self._store.reset_session(key)) is None:
                await self._kept(event, lambda: self._store.get_or_create_session(event.source))
            await self._say(event.source, "New session.")
        elif word == STOP:
            if self._store.config.documented:
                await asyncio.to_thread(self._store.suspend_session, key)
            await self._say(event.source, "Stopped.")
        else:
            entry, message_id = self._store.peek(key), event.message_id
            answer: str | None = None
            if entry is not None and message_id is not None:
                answer = await self._kept(event, lambda: self._store.answer_to(entry.session_id, message_id))
            # A message that is delivered again after its turn gets the same answer: nobody knows whether it arrived.
            if answer:
                await self._say(event.source, answer)
            if answer is None:
                await self._turn(key, event)

    async def _turn(self, key: str, event: MessageEvent) -> None:
        entry = await self._kept(event, lambda: self._store.get_or_create_session(event.source))
        if event.internal and not entry.resume_pending:
            return  # its mark has grown stale between the start and now
        if entry.was_auto_reset or entry.is_fresh_reset:
            # Told once, whatever becomes of this turn, for which `entry` keeps the flags.
            await asyncio.to_thread(self._store.consume_reset, key)
        if entry.was_auto_reset:
            await asyncio.to_thread(self._cache.evict, key)
            self._overrides.pop(key, None)
            policy = self._store.config.get_reset_policy(event.source.platform, event.source.chat_type)
            if notice := reset_notice(entry, policy):
                await self._say(event.source, notice)
        context = build_session_context(event.source, self._store.config, entry)
        turn = AgentTurn(
            entry=entry,
            event=event,
            text=self._text(entry, event, context),
            context=context,
            context_prompt=build_session_context_prompt(
                context, redact_pii=self._redact_pii, documented=self._store.config.documented
            ),
        )
        if not self._agent_writes and not event.internal:
            # Before the agent is asked: what a crash cut short is told by a message without an answer.
            asked = [{"role": "user", "content": one.text, "message_id": one.message_id} for one in event.messages]
            await self._kept(event, lambda: self._store.append_asked(entry, asked))
        answer, succeeded = await self._answered(key, turn)
        if not self._agent_writes:
            said = {"role": "assistant", "content": answer}
            await asyncio.to_thread(self._store.append_to_transcript, entry.session_id, said)
        try:
            await asyncio.to_thread(self._store.update_session, key)
            if succeeded:
                await asyncio.to_thread(self._succeeded, key)
        except StoreError as error:  # the turn was taken all the same, and its answer is waited for
            write_failure(error)
        if answer:
            await self._say(event.source, answer)

    async def _kept(self, event: MessageEvent, keep: Callable[[], _T]) -> _T:
        """What the store does before the agent is asked: tried again for a while, which the chat is told. Raises
        `StoreError` after the last try."""
        for pause in _PAUSES:
            try:
                return await asyncio.to_thread(keep)
            except StoreError as error:
                write_failure(error)
            if pause == _PAUSES[0] and not event.internal:
                await self._say(event.source, NOT_KEPT)
            await self._sleep(pause)
        try:
            return await asyncio.to_thread(keep)
        except StoreError:
            if not event.internal:
                await self._say(event.source, LOST)
            raise

    def _text(self, entry: SessionEntry, event: MessageEvent, context: SessionContext) -> str:
        """What the model is shown."""
        text = event.text
        if context.shared_multi_user_session and not event.internal:
            text = "\n".join(with_sender(one.text, one.source) for one in event.messages)
        if entry.resume_pending:
            text = resume_note(entry.resume_reason, text, interactive=event.source.platform not in _NON_INTERACTIVE)
        return f"{reset_note(entry.auto_reset_reason)}\n\n{text}" if entry.was_auto_reset else text

    async def _answered(self, key: str, turn: AgentTurn) -> tuple[str, bool]:
        """The agent's answer, else what is said in its place; whether it is the agent's."""
        limit = self._store.config.gateway_timeout
        timer = asyncio.timeout(limit if limit > 0 else None)
        try:
            with self._cache.using(key, lambda: self._new_agent(turn.context)) as agent:
                async with timer:
                    return await agent(turn) or "", True
        except Exception as error:  # the agent's: it may fail in any way, and its lane goes on
            if timer.expired():
                return TIMED_OUT.format(limit / 60), False
            write_failure(error)
            return FAILED, False

    def _succeeded(self, key: str) -> None:
        """What the lane was suspected of is over."""
        self._store.clear_resume_pending(key)
        if key in self._counted:
            self._counted.discard(key)
            clear_restart_count(self._home, key)

    async def _say(self, source: SessionSource, text: str) -> None:
        try:
            await self._send(source, text)
        except Exception as error:  # the platform's: what was to be said is in the transcript
            write_failure(error)
