"""What a list shows of a Cursor session, gathered message by message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from session_adapters.cursor.facts import Facts
from session_adapters.model import EPOCH, Message, SessionKind, SessionSummary, TokenUsage
from session_adapters.text import one_line
from session_adapters.times import from_millis

__all__ = ["Tally"]


class Tally:
    """Counts. Tokens are known only where a bubble of the editor has them; what Cursor calls its total is a meter of
    the context and is left out (FACTS.md). Cost is never known."""

    def __init__(self) -> None:
        self.messages = 0
        self.warnings = 0
        self.partial = False
        self.prompt = ""
        self.oldest: datetime | None = None
        self.newest: datetime | None = None
        self._timed = False
        """The newest message has a time of its own."""
        self.turns = 0
        self._calls = 0
        self._failed = False
        self._waiting = False
        self._tokens = TokenUsage()
        self._keys: set[str] = set()
        self._models: Counter[str] = Counter()
        self._latest: dict[str, int] = {}

    def add(self, messages: Iterable[Message]) -> None:
        """Take in the next messages."""
        for message in messages:
            self.messages += 1
            self._calls += len(message.tool_calls)
            self._note_time(message)
            self._note_model(message)
            if message.is_prompt:
                self._waiting = True
                self._failed = False
                self.prompt = self.prompt or message.content[:4000]
            elif message.role == "assistant":
                self.turns += self._waiting
                self._waiting = False
            if message.kind == "error":
                self._failed = True

    def _note_time(self, message: Message) -> None:
        moment = message.timestamp
        self._timed = moment is not None
        if moment is not None:
            self.oldest = moment if self.oldest is None else min(self.oldest, moment)
            self.newest = moment if self.newest is None else max(self.newest, moment)

    def _note_model(self, message: Message) -> None:
        if message.model:
            self._models[message.model] += 1
            self._latest[message.model] = self.messages
        if message.token_usage is not None and message.usage_key not in self._keys:
            self._keys.add(message.usage_key)
            self._tokens += message.token_usage

    def summary(self, facts: Facts, path: str, *, size: int = 0, **known: Any) -> SessionSummary:
        """The summary; `known` are fields that only the caller knows."""
        models = tuple(sorted(self._models, key=lambda name: (-self._models[name], -self._latest[name])))
        if not models and facts.model:
            models = (facts.model,)
        changed = from_millis(facts.updated)
        created = from_millis(facts.created) or self.oldest or changed or EPOCH
        updated = self.newest if self._timed else max(filter(None, (self.newest, changed)), default=None)
        kind: SessionKind = "subagent" if facts.parent_id else "session"
        fields: dict[str, Any] = {
            "agent": "cursor",
            "session_id": facts.id,
            "title": one_line(facts.title) or one_line(self.prompt),
            "preview": one_line(self.prompt, 200),
            "created_at": created,
            "updated_at": max(created, updated or created),
            "turn_count": self.turns,
            "message_count": self.messages,
            "tool_call_count": self._calls,
            "model": models[0] if models else None,
            "models": models,
            "tokens": self._tokens if self._tokens.total else None,
            "cwd": facts.cwd,
            "kind": kind,
            "parent_id": facts.parent_id,
            "source": facts.source,
            "archived": facts.archived,
            "error": self._failed or facts.failed,
            "partial": self.partial,
            "path": path,
            "size": size,
            "warnings": self.warnings,
            "raw": {"layout": facts.kind, **facts.raw},
        }
        return SessionSummary(**{**fields, **known})
