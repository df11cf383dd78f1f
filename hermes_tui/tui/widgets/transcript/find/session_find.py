"""What is found inside the open session: how many messages, and which of them."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from hermes_tui.display import compact
from hermes_tui.platform.daemon_call import in_thread
from hermes_tui.tui.widgets.transcript.whole_session import WholeSession
from session_adapters.model import Message

if TYPE_CHECKING:
    from hermes_tui.sessions.search.within import Within

__all__ = ["SessionFind"]

_TURN = 0.1
"""Seconds after which it is said again how far it is."""
_LONGEST = 24
"""Characters of what is looked for that are shown."""
_LONGEST_REASON = 70
"""Characters of why a pattern is none."""


class SessionFind:
    """A query of one session, and the messages that it finds there, in their order."""

    def __init__(self, text: str, within: Within) -> None:
        self.text = text
        self.within = within
        self.places: list[str] = []
        """Ids of the messages with a match, as far as they are known."""
        self.counted = False
        """All are known."""
        self.stopped = False
        """Nobody wants to know them any more."""
        self.went_round = ""
        """Where it went on behind the last match, or before the first; until the next is come to."""
        self._share = 0.0
        """The part of the session that was looked through."""
        self._last: Message | None = None
        """The newest message that was."""

    def words(self, message: Message | None) -> str:
        """`“cart” 2 of 17`, for the message under the cursor; `“cart” 12 so far, 34 % read` until all are known."""
        name, refused = f"“{compact(self.text, _LONGEST)}”", compact(self.within.query.refused, _LONGEST_REASON)
        if refused:  # it is searched as text
            name += " as text:"
        if not self.within.has_places:
            return refused or f"{name} is not about what is said"
        if not self.counted:
            return f"{name} {len(self.places):,} so far, {self._share:.0%} read".replace("%", " %")
        if not self.places:
            return refused or f"{name} is not in this session"
        at = self.places.index(message.id) + 1 if message is not None and message.id in self.places else 0
        if not at:
            return f"{name} {len(self.places):,} found"
        return " · ".join(filter(None, (f"{name} {at:,} of {len(self.places):,}", self.went_round)))

    async def count(self, session: WholeSession, counted: Callable[[], None], *, waits: Callable[[], bool]) -> None:
        """Look through the whole session; `counted` is called when there is something new to be shown. While it
        `waits`, the processor is left to what goes to a match."""
        said = 0.0
        if self.within.has_places:
            async for share, messages in session.parts():
                await in_thread(self._add, messages)
                del messages  # before the next are read
                if self.stopped:
                    return
                while waits():  # noqa: ASYNC110  (to go on a turn late does no harm)
                    await sleep(_TURN)
                self._share = share
                if monotonic() > said + _TURN:
                    said = monotonic()
                    counted()
        self.counted = True
        counted()

    def _add(self, messages: Sequence[Message]) -> None:
        self.places += [messages[at].id for at in self.within.places(messages)]
        self._last = messages[-1] if messages else self._last

    def lacks(self, messages: Sequence[Message]) -> bool:
        """More was said since all were counted."""
        last = self._last
        return self.counted and last is not None and bool(messages) and messages[-1].id != last.id

    async def count_on(self, messages: Sequence[Message]) -> bool:
        """Look through what was said since; False where all is to be counted anew."""
        last = self._last
        known = next((at for at in range(len(messages) - 1, -1, -1) if last and messages[at].id == last.id), None)
        if known is None:
            self.places, self.counted = [], False
        else:
            await in_thread(self._add, messages[known + 1 :])
        return known is not None
