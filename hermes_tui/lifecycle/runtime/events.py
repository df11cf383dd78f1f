"""What a platform hands to a gateway, and what the gateway hands to an agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec import Struct
from msgspec.structs import replace

from hermes_tui.lifecycle.lane_index.entry import SessionEntry
from hermes_tui.lifecycle.source import SessionContext, SessionSource

__all__ = ["Agent", "AgentTurn", "MessageEvent"]


class MessageEvent(Struct, frozen=True, kw_only=True):
    """One message of a platform. Kept in a queue, it is never changed: what is joined is a new one."""

    source: SessionSource
    text: str = ""
    message_id: str | None = None
    """The platform's own; a message that is delivered again under it gets no second turn."""
    media_urls: tuple[str, ...] = ()
    queued: bool = False
    """It gets a turn of its own whatever else waits: it came by /queue."""
    internal: bool = False
    """Made by the gateway: the turn that goes on after a restart."""
    parts: tuple[MessageEvent, ...] = ()
    """The messages that it was joined from, the oldest first; none: it is one message."""

    @property
    def messages(self) -> tuple[MessageEvent, ...]:
        """The platform's messages in it."""
        return self.parts or (self,)

    def joined(self, later: MessageEvent) -> MessageEvent:
        """This and a later one as one message: texts a line each, media one after the other."""
        return replace(
            later,
            text="\n".join(text for text in (self.text, later.text) if text),
            media_urls=(*self.media_urls, *later.media_urls),
            parts=(*self.messages, *later.messages),
        )


class AgentTurn(Struct, frozen=True, kw_only=True):
    """What an agent answers: one message, in one session."""

    entry: SessionEntry
    """The lane as it is at this turn: `session_key`, `session_id` and the flags."""
    event: MessageEvent
    text: str
    """What the model is shown: the message with its sender where several share the session, and with the notes of
    a reset or a restart."""
    context: SessionContext
    context_prompt: str
    """The section of the system prompt about the conversation; the same from turn to turn."""


Agent = Callable[[AgentTurn], Awaitable[str | None]]
"""Answers a turn; None or empty: nothing is sent."""
