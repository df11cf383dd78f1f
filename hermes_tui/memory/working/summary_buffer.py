"""The strategy `summary_buffer`: a summary of what was, and what was said since.

Format: spec 001 «Summary Buffer Strategy»; figures of facts agentmux_hector.md 2.4.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from hermes_tui.memory.message import HectorMessage
from hermes_tui.memory.session_service import LoadOptions, SessionService
from hermes_tui.memory.working.habits import HABITS, MARK, Habits
from hermes_tui.memory.working.history import ConversationHistory
from hermes_tui.memory.working.strategy import PlainStrategy, fitting, message_tokens

__all__ = ["BUDGET", "FEWEST", "TARGET", "THRESHOLD", "Summarizer", "SummaryBuffer"]

BUDGET = 8000
"""Tokens."""
THRESHOLD = 0.85
"""The part of the budget beyond which is summarised."""
TARGET = 0.7
"""The part of the budget that is left afterwards."""
FEWEST = 10
"""Messages that stay as they are, however long."""
_ENOUGH = 20
"""Fewer messages are never summarised."""
_RECENT_SHARE = 0.8
"""The part of the target that messages may take, beside the summary."""

Summarizer = Callable[[Sequence[HectorMessage]], str]
"""Writes what some messages say, oldest first, in few words. The first of them may be an earlier summary."""


class SummaryBuffer(PlainStrategy):
    """Keeps everything since the last summary, and summarises what is old when it becomes too much."""

    name = "summary_buffer"

    def __init__(
        self,
        *,
        summarize: Summarizer | None = None,
        budget: int = BUDGET,
        threshold: float = THRESHOLD,
        target: float = TARGET,
        max_messages: int = 0,
        habits: Habits = HABITS["isolated"],
    ) -> None:
        """`max_messages`: with more than so many it is summarised too, whatever their size; 0 for any number. Without
        `summarize` nothing is."""
        self._summarize = summarize
        self.budget = budget
        self.threshold = threshold
        self.target = target
        self.max_messages = max_messages
        self.habits = habits

    def get_messages(self, history: ConversationHistory) -> Sequence[HectorMessage]:
        """See `WorkingMemoryStrategy.get_messages`."""
        return history.messages[-self.habits.most :]  # 0 is all

    def load_state(self, session_id: str, service: SessionService) -> ConversationHistory:
        """See `WorkingMemoryStrategy.load_state`. The document reads everything to find the last summary; here
        nothing that it stands for is read."""
        found = service.load_from_checkpoint(session_id, self.habits.is_summary, self.habits.roles)
        if found is None:
            found = service.get_messages_with_options(session_id, LoadOptions(limit=self.habits.recent))
        messages = found.messages
        if self.habits.within_budget:
            messages = messages[len(messages) - self._newest(messages, int(self.budget * self.target)) :]
        return ConversationHistory(session_id, messages[-self.habits.most :], found.problems)

    def check_and_summarize(self, history: ConversationHistory) -> list[HectorMessage]:
        """See `WorkingMemoryStrategy.check_and_summarize`. Raises what the summarizer does; the history is then as it
        was."""
        messages = history.messages
        # Three for the list, as Hector counts.
        tokens = 3 + sum(map(message_tokens, messages))
        is_long = len(messages) >= _ENOUGH and tokens > self.budget * self.threshold
        is_many = 0 < self.max_messages < len(messages)
        if self._summarize is None or not (is_long or is_many):
            return []
        count = self._newest(messages, int(self.budget * self.target * _RECENT_SHARE))
        if self.max_messages:
            count = min(count, max(1, int(self.max_messages * self.target)))
        old, recent = messages[: len(messages) - count], messages[len(messages) - count :]
        text = self._summarize(old).strip() if old else ""
        if not text:
            return []
        # Saved after those that stay beside it, it names the first of them: the next load would else begin behind.
        summary = HectorMessage(
            role="ROLE_UNSPECIFIED",
            text=f"{MARK} {text}",
            message_id=str(uuid.uuid4()),
            author="system",
            kept_from=recent[0].message_id if recent else "",
        )
        history.messages = [summary, *recent]
        return [summary]

    def _newest(self, messages: Sequence[HectorMessage], budget: int) -> int:
        return fitting(map(message_tokens, reversed(messages)), budget, FEWEST)
