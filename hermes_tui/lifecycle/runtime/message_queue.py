"""Messages that wait for a lane's turn: one next-up slot, and an overflow.

Format: spec 002 section 8.

What came by `/queue` gets one turn each, in order, none merged, none lost. Other messages that come during a turn
are follow-ups, of which a burst takes one turn. In the document, and in Hermes 0.19 unless its `busy_input_mode` is
`queue`, a follow-up takes the slot of whatever stands there, also of a message that came by `/queue`, which is lost
then. Here a follow-up collapses with the last one that waits, if that is a follow-up too, and else waits behind it.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

from hermes_tui.lifecycle.runtime.events import MessageEvent

__all__ = ["FollowUps", "MessageQueue"]

FollowUps = Literal["replace", "merge", "queue"]
"""What becomes of a burst. replace: its last message alone gets a turn, as in the document. merge: one turn with all
of them, as in Hermes 0.19 on Telegram. queue: a turn each, as in 0.19 with `busy_input_mode: queue`."""


class MessageQueue:
    """Waiting messages by session key. Belongs to one event loop; nothing in it waits or fails."""

    def __init__(self, follow_ups: FollowUps = "merge") -> None:
        self.follow_ups: FollowUps = follow_ups
        self._slot: dict[str, MessageEvent] = {}
        self._overflow: dict[str, deque[MessageEvent]] = {}

    def enqueue_fifo(self, session_key: str, event: MessageEvent) -> None:
        """Into the slot if that is free, else to the end of the overflow."""
        if session_key in self._slot:
            self._overflow.setdefault(session_key, deque()).append(event)
        else:
            self._slot[session_key] = event

    def put_first(self, session_key: str, event: MessageEvent) -> None:
        """Before all that waits: a command that cannot wait."""
        slot = self._slot.get(session_key)
        self._slot[session_key] = event
        if slot is not None:
            self._overflow.setdefault(session_key, deque()).appendleft(slot)

    def follow_up(self, session_key: str, event: MessageEvent) -> MessageEvent | None:
        """A message that came during a turn. Returns the one that it replaced, which gets no turn. Pictures and
        other media are joined whatever the mode: an album is one message."""
        overflow = self._overflow.get(session_key)
        last = overflow[-1] if overflow else self._slot.get(session_key)
        album = last is not None and bool(last.media_urls or event.media_urls)
        if last is None or last.queued or (self.follow_ups == "queue" and not album):
            self.enqueue_fifo(session_key, event)
            return None
        joined = last.joined(event) if album or self.follow_ups == "merge" else event
        if overflow:
            overflow[-1] = joined
        else:
            self._slot[session_key] = joined
        return None if joined is not event else last

    def promote_queued_event(self, session_key: str, pending_event: MessageEvent | None) -> MessageEvent | None:
        """After the slot was emptied: the head of the overflow goes into it, or is the next event itself where the
        slot had none. Returns the event whose turn it is."""
        overflow = self._overflow.get(session_key)
        if not overflow:
            return pending_event
        head = overflow.popleft()
        if not overflow:  # so that `waiting` names no lane for which nothing waits
            del self._overflow[session_key]
        if pending_event is None:
            return head
        self._slot[session_key] = head
        return pending_event

    def drain(self, session_key: str) -> MessageEvent | None:
        """The event whose turn it is, taken out; None: nothing waits."""
        return self.promote_queued_event(session_key, self._slot.pop(session_key, None))

    def depth(self, session_key: str) -> int:
        """How many turns wait: the slot's and the overflow's."""
        return len(self._overflow.get(session_key, ())) + (session_key in self._slot)

    def clear(self, session_key: str) -> list[MessageEvent]:
        """Empty it, as /new and /reset do; what waited, in order."""
        slot = self._slot.pop(session_key, None)
        return [*([slot] if slot is not None else ()), *self._overflow.pop(session_key, ())]

    @property
    def waiting(self) -> dict[str, int]:
        """Depth by session key, of lanes for which something waits."""
        return {key: self.depth(key) for key in {**self._slot, **self._overflow}}
