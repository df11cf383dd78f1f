"""The strategy `token_window`: as many of the last messages as fit a budget."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.memory.message import HectorMessage
from hermes_tui.memory.session_service import LoadOptions, SessionService
from hermes_tui.memory.working.history import ConversationHistory
from hermes_tui.memory.working.strategy import PlainStrategy, fitting, message_tokens
from hermes_tui.memory.working.summary_buffer import BUDGET

__all__ = ["PRESERVED", "TokenWindow"]

PRESERVED = 5
"""Messages that are kept, however long."""
_FIRST = 128
"""Messages that are read at first; four times as many where all of them fit."""


class TokenWindow(PlainStrategy):
    """Keeps what fits. What does not is counted over the events that have a message, and then so many of all events
    are cut, as Hector 2 does it."""

    name = "token_window"

    def __init__(self, budget: int = BUDGET, preserved: int = PRESERVED) -> None:
        """`budget` in tokens."""
        self.budget = budget
        self.preserved = preserved

    def get_messages(self, history: ConversationHistory) -> Sequence[HectorMessage]:
        """See `WorkingMemoryStrategy.get_messages`."""
        return self._window(history.messages)

    def load_state(self, session_id: str, service: SessionService) -> ConversationHistory:
        """See `WorkingMemoryStrategy.load_state`."""
        limit = _FIRST
        while True:
            found = service.get_messages_with_options(session_id, LoadOptions(limit=limit))
            kept = self._window(found.messages)
            is_all = len(found.messages) + len(found.problems) < limit
            # Where an event has no message, the number of all of them counts.
            if is_all or (len(kept) < len(found.messages) and all(one.has_message for one in found.messages)):
                return ConversationHistory(session_id, kept, found.problems)
            limit *= 4

    def _window(self, messages: Sequence[HectorMessage]) -> Sequence[HectorMessage]:
        counted = [one for one in messages if one.has_message]
        count = fitting(map(message_tokens, reversed(counted)), self.budget, self.preserved)
        return messages[len(counted) - count :]
