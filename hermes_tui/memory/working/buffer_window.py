"""The strategy `buffer_window`: the last so many messages."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.memory.message import HectorMessage
from hermes_tui.memory.session_service import LoadOptions, SessionService
from hermes_tui.memory.working.history import ConversationHistory
from hermes_tui.memory.working.strategy import PlainStrategy

__all__ = ["WINDOW", "BufferWindow"]

WINDOW = 20
"""Messages where no number is given (the document's examples use 10)."""


class BufferWindow(PlainStrategy):
    """Keeps the last messages, and reads no others."""

    name = "buffer_window"

    def __init__(self, window_size: int = WINDOW) -> None:
        """`window_size`: how many; 0 or less for none."""
        self.window_size = window_size

    def get_messages(self, history: ConversationHistory) -> Sequence[HectorMessage]:
        """See `WorkingMemoryStrategy.get_messages`."""
        return history.messages[-self.window_size :] if self.window_size > 0 else []

    def load_state(self, session_id: str, service: SessionService) -> ConversationHistory:
        """See `WorkingMemoryStrategy.load_state`."""
        if self.window_size <= 0:
            return ConversationHistory(session_id)
        found = service.get_messages_with_options(session_id, LoadOptions(limit=self.window_size))
        return ConversationHistory(session_id, found.messages, found.problems)
