"""Keys one after the other: each is done before the next is looked at.

Several come in one read of the terminal, from a slow line or where the program was busy. Textual hands each to the
widget that has the keys when it is taken from the queue, and one that moves them, as `Tab` does, comes back up to the
program long after that.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from textual import events
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump

__all__ = ["LOST", "KeyPassed", "TypedAhead"]

_PUT_UP = 2000
"""Turns of the event loop, of a millisecond at least, after which a key no longer waits for a screen that is being
put up. Not seconds: where there is no processor for it, putting it up takes as long as it takes."""
LOST = 1.0
"""Seconds after which a key no longer waits for the one before: the widget that was to take it may be gone."""


class KeyPassed(Message):
    """Goes from widget to widget behind a key, and once more behind what the widget said of it, as a field does that
    was submitted; when it has arrived twice, nobody has anything to do for that key any more."""

    def __init__(self, number: int, *, again: MessagePump | None = None) -> None:
        """`again`: where it begins the second time."""
        super().__init__()
        self.number = number
        self.again = again


class TypedAhead:
    """What was typed or pasted and was not looked at yet. In the program's own thread."""

    def __init__(self, app: App[Any], handle: Callable[[events.Event], Awaitable[None]]) -> None:
        """`handle` hands an event to whoever has the keys, as Textual does it."""
        self._app = app
        self._handle = handle
        self._waiting: deque[events.Event] = deque()
        self._number = 0
        self._passing: str | None = None
        """The key that the next one waits for, unless it is the same again: one that is held down would be drawn each
        time, which takes ten times as long."""
        self._guard: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    async def take(self, event: events.Event) -> None:
        """Hand it on, when what came before it is done."""
        self._waiting.append(event)
        await self._go_on()

    async def passed(self, message: KeyPassed) -> None:
        """It has arrived."""
        if message.number != self._number:
            return
        again = message.again is not None and message.again.post_message(KeyPassed(self._number))
        if not again:
            self._passing = None
            await self._go_on()

    async def _go_on(self) -> None:
        app = self._app
        while self._waiting and self._passing in (None, _name(self._waiting[0])):
            event = self._waiting.popleft()
            # Half of what it needs would not be there in a screen that is being put up.
            for _ in range(_PUT_UP):
                if not app.screen_stack or app.screen.is_mounted:
                    break
                await asyncio.sleep(0.001)
            if not app.screen_stack:  # the last screen is gone: it is nobody's
                return
            target = app.focused or app.screen
            await self._handle(event)
            is_text = isinstance(event, events.Key) and target.check_consume_key(event.key, event.character)
            # Else it was a key of the program's own and is done, or nothing but text in a field.
            if event.is_forwarded and not is_text:
                self._number += 1
                goes = target.post_message(KeyPassed(self._number, again=target))
                self._passing = _name(event) if goes else None
        if self._waiting:
            self._wait_no_longer()

    def _wait_no_longer(self) -> None:
        """Than that, for the key that is passing now."""
        if self._guard is not None:
            self._guard.cancel()
        self._guard = asyncio.get_running_loop().call_later(LOST, self._app.post_message, KeyPassed(self._number))


def _name(event: events.Event) -> str:
    return event.key if isinstance(event, events.Key) else ""
