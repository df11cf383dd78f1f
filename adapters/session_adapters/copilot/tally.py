"""What a list shows of a Copilot session, gathered message by message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from session_adapters.model import EPOCH, Message, TokenUsage
from session_adapters.text import one_line

__all__ = ["Tally"]

_START = 4000
"""Characters of a prompt that are kept."""


class Tally:
    """Counts over a session's own messages; what was copied from a parent only gives a preview."""

    def __init__(self) -> None:
        self.messages = 0
        self.compactions = 0
        self.tokens = TokenUsage()
        self.newest: datetime | None = None
        self.oldest: datetime | None = None
        self.prompt = ""
        self._copied_prompt = ""
        self._turns = self._calls = 0
        self._failed = self._waiting = False
        self._models: Counter[str] = Counter()
        self._latest: dict[str, int] = {}
        self._keys: set[str] = set()

    def add(self, messages: Iterable[Message]) -> None:
        """Take in the next messages."""
        for message in messages:
            if not message.inherited:
                self._own(message)
            elif message.is_prompt and not self._copied_prompt:
                self._copied_prompt = message.content[:_START]

    @property
    def preview(self) -> str:
        """The first prompt, a parent's if there is no other."""
        return one_line(self.prompt or self._copied_prompt, 200)

    def gap(self) -> None:
        """Messages are left out here."""
        self._waiting = False

    def _own(self, message: Message) -> None:
        self.messages += 1
        self._calls += len(message.tool_calls)
        self.compactions += message.kind == "compaction"
        if message.kind != "notice":
            self._failed = message.kind == "error"
        if message.is_prompt:
            self.prompt = self.prompt or message.content[:_START]
            self._waiting = True
        elif message.role == "assistant":
            self._turns += self._waiting
            self._waiting = False
            if message.model:
                self._models[message.model] += 1
                self._latest[message.model] = self.messages
        if message.timestamp is not None:
            self.newest = max(self.newest or message.timestamp, message.timestamp)
            self.oldest = min(self.oldest or message.timestamp, message.timestamp)
        if message.token_usage is not None and message.usage_key not in self._keys:
            self._keys.add(message.usage_key)
            self.tokens += message.token_usage

    def fields(self, title: str, created: datetime | None) -> dict[str, Any]:
        """Fields of a `SessionSummary`. `title`: the one the session was given, if any."""
        models = tuple(sorted(self._models, key=lambda name: (-self._models[name], -self._latest[name])))
        made = created or self.oldest or EPOCH
        return {
            "agent": "copilot",
            "title": one_line(title) or one_line(self.preview),
            "preview": self.preview,
            "created_at": made,
            "updated_at": self.newest or made,
            "turn_count": self._turns,
            "message_count": self.messages,
            "tool_call_count": self._calls,
            "model": models[0] if models else None,
            "models": models,
            "tokens": self.tokens if self.tokens.total else None,
            "error": self._failed,
        }
