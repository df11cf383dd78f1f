"""What a list shows of an OpenCode session, gathered message by message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from session_adapters.model import EPOCH, Message, SessionKind, SessionSummary, TokenUsage
from session_adapters.opencode.messages import price
from session_adapters.opencode.units import Facts
from session_adapters.text import one_line
from session_adapters.times import from_millis

__all__ = ["Tally"]


class Tally:
    """Counts over all that the session shows; tokens and cost over what is its own: a fork copies its parent's
    messages with both (FACTS.md «Double counting»)."""

    def __init__(self) -> None:
        self.messages = 0
        self.turns = 0
        self.calls = 0
        self.warnings = 0
        self.prompt = ""
        self.own_prompt = ""
        self.newest: datetime | None = None
        self.copied = 0
        self.rewound = 0
        self.own_times: list[int] = []
        """Milliseconds, of the session's own messages; the parent of a fork is found by them."""
        self.last_copied: int | None = None
        self.first: int | None = None
        self.failed = False
        self._own = TokenUsage()
        self._own_cost = 0.0
        self._inherited = TokenUsage()
        self._inherited_cost = 0.0
        self._cwd: str | None = None
        self._waiting = False
        self._models: Counter[str] = Counter()
        self._latest: dict[str, int] = {}
        self._keys: set[str] = set()

    def add(self, messages: Iterable[Message]) -> None:
        """Take in the next messages."""
        for message in messages:
            self.messages += 1
            self.calls += len(message.tool_calls)
            self._note_time(message)
            self._note_usage(message)
            if message.visibility == "rewound":
                self.rewound += 1
                continue
            if message.is_prompt:
                self._waiting = True
                self.failed = False
                self.prompt = self.prompt or unquoted(message.content[:4000])
                if not message.inherited:
                    self.own_prompt = self.own_prompt or unquoted(message.content[:4000])
            elif message.role == "assistant":
                self.turns += self._waiting
                self._waiting = False
                self.failed = message.kind == "error"

    def _note_time(self, message: Message) -> None:
        if message.timestamp is None:
            return
        moment = round(message.timestamp.timestamp() * 1000)
        self.first = moment if self.first is None else self.first
        if message.inherited:
            self.copied += 1
            self.last_copied = moment
        else:
            self.own_times.append(moment)
        if self.newest is None or message.timestamp > self.newest:
            self.newest = message.timestamp

    def _note_usage(self, message: Message) -> None:
        if message.model:
            self._models[message.model] += 1
            self._latest[message.model] = self.messages
        usage, cost = message.token_usage, message.cost.total_usd if message.cost else 0.0
        if usage is None and not cost:
            return
        key = f"{message.usage_key}:{message.inherited}" if message.usage_key else ""
        if key and key in self._keys:
            return
        self._keys.add(key)
        if message.inherited:
            self._inherited += usage or TokenUsage()
            self._inherited_cost += cost
        else:
            self._own += usage or TokenUsage()
            self._own_cost += cost

    def summary(self, facts: Facts, path: str, *, size: int = 0, partial: bool = False) -> SessionSummary:
        """The summary."""
        models = tuple(sorted(self._models, key=lambda name: (-self._models[name], -self._latest[name])))
        if not models and facts.model:
            models = (facts.model,)
        created = from_millis(facts.created) or from_millis(self.first) or EPOCH
        forked = bool(facts.forked_from or self.copied)
        kind: SessionKind = "subagent" if facts.parent_id else "fork" if forked else "session"
        return SessionSummary(
            agent="opencode",
            session_id=facts.id,
            title=one_line(facts.title) or one_line(self.prompt),
            preview=one_line(self.own_prompt or self.prompt, 200),
            created_at=created,
            updated_at=max(created, self.newest or created),
            turn_count=self.turns,
            message_count=self.messages,
            tool_call_count=self.calls,
            model=models[0] if models else None,
            models=models,
            tokens=self._own if self._own.total else None,
            cost=price(self._own_cost, self._own),
            cwd=facts.directory,
            kind=kind,
            parent_id=facts.parent_id or facts.forked_from,
            forked_from=facts.forked_from,
            archived=facts.archived,
            error=self.failed,
            partial=partial,
            path=path,
            size=size,
            warnings=self.warnings,
            raw=self._raw(facts),
        )

    def _raw(self, facts: Facts) -> dict[str, Any]:
        raw = {"layout": facts.generation, **facts.raw}
        if facts.version:
            raw["version"] = facts.version
        if facts.revert:
            raw["revert"] = facts.revert
        if self.rewound:
            raw["rewoundMessages"] = self.rewound
        if self.copied:
            raw["copiedMessages"] = self.copied
            raw["lastCopied"] = self.last_copied
        if self.first is not None:
            raw["firstMessage"] = self.first
        if self._inherited.total:
            raw["inheritedTokens"] = self._inherited.total
        if self._inherited_cost:
            raw["inheritedCostUsd"] = self._inherited_cost
        if facts.updated is not None:
            raw["touched"] = int(facts.updated) if abs(facts.updated) < 1e15 else 0
        return raw


def unquoted(text: str) -> str:
    """A prompt as it was typed: `opencode run` keeps quotes around one with blanks in it."""
    inner = text.strip()
    return inner[1:-1] if len(inner) > 2 and inner[0] == inner[-1] == '"' and '"' not in inner[1:-1] else inner
