"""The interface of strategies, and what most of them have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Protocol

from hermes_tui.memory.message import HectorMessage
from hermes_tui.memory.session_service import LoadOptions, SessionService
from hermes_tui.memory.working.history import ConversationHistory

__all__ = ["PlainStrategy", "WorkingMemoryStrategy", "fitting", "message_tokens"]


class WorkingMemoryStrategy(Protocol):
    """Decides what of a conversation an agent has before it. An object of any class that has these will do."""

    def add_message(self, history: ConversationHistory, message: HectorMessage) -> None:
        """Take a message into the history, and out of it what no longer belongs there."""

    def get_messages(self, history: ConversationHistory) -> Sequence[HectorMessage]:
        """What the agent is given of a history."""

    def load_state(self, session_id: str, service: SessionService) -> ConversationHistory:
        """The history as the agent would have it after a restart. Raises `StoreError`."""

    def check_and_summarize(self, history: ConversationHistory) -> list[HectorMessage]:
        """New messages that are to be saved, such as a summary; none where nothing is to be summarised."""

    def clear(self, history: ConversationHistory) -> None:
        """Forget what is in the history; what is stored stays."""


class PlainStrategy:
    """Keeps the whole conversation, as Hector 2 does where no strategy is named."""

    name: ClassVar[str] = ""

    def add_message(self, history: ConversationHistory, message: HectorMessage) -> None:
        """See `WorkingMemoryStrategy.add_message`."""
        history.messages.append(message)
        kept = self.get_messages(history)
        if len(kept) < len(history.messages):
            history.messages = list(kept)

    def get_messages(self, history: ConversationHistory) -> Sequence[HectorMessage]:
        """See `WorkingMemoryStrategy.get_messages`."""
        return history.messages

    def load_state(self, session_id: str, service: SessionService) -> ConversationHistory:
        """See `WorkingMemoryStrategy.load_state`."""
        found = service.get_messages_with_options(session_id, LoadOptions())
        return ConversationHistory(session_id, found.messages, found.problems)

    def check_and_summarize(self, history: ConversationHistory) -> list[HectorMessage]:
        """See `WorkingMemoryStrategy.check_and_summarize`: nothing is summarised."""
        return []

    def clear(self, history: ConversationHistory) -> None:
        """See `WorkingMemoryStrategy.clear`."""
        history.messages.clear()


def message_tokens(message: HectorMessage) -> int:
    """About; Hector 2's estimate without a tokenizer: a token for four bytes of text, and of the author's name, and
    three more. Vocabularies would have to be downloaded."""
    return len(message.text.encode("utf-8", "surrogatepass")) // 4 + len(message.author.encode()) // 4 + 3


def fitting(newest_first: Iterable[int], budget: int, fewest: int) -> int:
    """How many of the newest fit a budget, of which each takes so many tokens; never fewer than `fewest` where there
    are as many."""
    spent = count = 0
    for tokens in newest_first:
        spent += tokens
        if spent > budget and count >= fewest:
            break
        count += 1
    return count
