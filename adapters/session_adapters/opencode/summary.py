"""What a list shows of an OpenCode session."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any, Self

from session_adapters.model import EPOCH, Message, SessionKind, SessionSummary
from session_adapters.opencode.messages import price
from session_adapters.opencode.units import OpenCodeFacts
from session_adapters.session_counts import SessionFold
from session_adapters.text import one_line
from session_adapters.times import from_millis

__all__ = ["OpenCodeFold"]


class OpenCodeFold(SessionFold):
    """Counts, and the times by which the parent of a fork is found: a fork copies its parent's messages with their
    tokens (FACTS.md «Double counting»)."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings = 0
        self.first: int | None = None
        """Milliseconds, of the first message that has a time."""
        self.own_times = array("q")
        """Of the session's own messages."""
        self.last_copied: int | None = None

    def copy(self) -> Self:
        """See `SessionFold.copy`."""
        other = super().copy()
        other.own_times = self.own_times[:]
        return other

    def add(self, messages: Iterable[Message]) -> None:
        """See `SessionFold.add`."""
        some = list(messages)
        super().add(some)
        for message in some:
            if message.timestamp is None:
                continue
            moment = round(message.timestamp.timestamp() * 1000)
            self.first = moment if self.first is None else self.first
            if message.inherited:
                self.last_copied = moment
            else:
                self.own_times.append(moment)

    def summary(self, facts: OpenCodeFacts, path: str, *, size: int = 0, partial: bool = False) -> SessionSummary:
        """The summary."""
        fields = self.fields()
        if not self.models and facts.model:
            fields |= {"model": facts.model, "models": (facts.model,)}
        created = from_millis(facts.created) or from_millis(self.first) or EPOCH
        forked = bool(facts.forked_from or self.inherited)
        kind: SessionKind = "subagent" if facts.parent_id else "fork" if forked else "session"
        return SessionSummary(
            **fields,
            agent="opencode",
            session_id=facts.id,
            title=one_line(facts.title) or one_line(unquoted(self.first_prompt)),
            preview=one_line(unquoted(self.prompt), 200),
            created_at=created,
            updated_at=max(created, self.newest or created),
            cost=price(self.usd, self.tokens),
            cwd=facts.directory,
            kind=kind,
            parent_id=facts.parent_id or facts.forked_from,
            forked_from=facts.forked_from,
            archived=facts.archived,
            partial=partial,
            path=path,
            size=size,
            warnings=self.warnings,
            raw=self._raw(facts),
        )

    def _raw(self, facts: OpenCodeFacts) -> dict[str, Any]:
        raw = {"layout": facts.generation, **facts.raw}
        if facts.version:
            raw["version"] = facts.version
        if facts.revert:
            raw["revert"] = facts.revert
        if self.rewound:
            raw["rewoundMessages"] = self.rewound
        if self.inherited:
            raw["copiedMessages"] = self.inherited
            raw["lastCopied"] = self.last_copied
        if self.first is not None:
            raw["firstMessage"] = self.first
        if self.inherited_tokens.total:
            raw["inheritedTokens"] = self.inherited_tokens.total
        if self.inherited_usd:
            raw["inheritedCostUsd"] = self.inherited_usd
        if facts.updated is not None:
            raw["touched"] = int(facts.updated) if abs(facts.updated) < 1e15 else 0
        return raw


def unquoted(text: str) -> str:
    """A prompt as it was typed: `opencode run` keeps quotes around one with blanks in it."""
    inner = text.strip()
    return inner[1:-1] if len(inner) > 2 and inner[0] == inner[-1] == '"' and '"' not in inner[1:-1] else inner
