"""A conversation as an agent has it in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hermes_tui.memory.message import HectorMessage

__all__ = ["ConversationHistory"]


class ConversationHistory:
    """Messages of one session, oldest first. No copy of what is stored: a strategy says what is in it."""

    def __init__(self, session_id: str, messages: Iterable[HectorMessage] = (), problems: Sequence[str] = ()) -> None:
        self.session_id = session_id
        self.messages = list(messages)
        self.metadata: dict[str, Any] = {}
        self.problems = tuple(problems)
        """Messages that could not be read, a clause each."""
