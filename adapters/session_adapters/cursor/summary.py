"""What a list shows of a Cursor session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from session_adapters.cursor.facts import CursorFacts
from session_adapters.fold import SessionFold
from session_adapters.model import EPOCH, Message, SessionKind, SessionSummary
from session_adapters.text import one_line
from session_adapters.times import from_millis

__all__ = ["CursorFold"]


class CursorFold(SessionFold):
    """Counts. Tokens are known only where a bubble of the editor has them; what Cursor calls its total is a meter of
    the context and is left out (FACTS.md). Cost is never known."""

    def __init__(self) -> None:
        super().__init__()
        self.warnings = 0
        self.partial = False
        self._timed = False
        """The newest message has a time of its own."""

    def add(self, messages: Iterable[Message]) -> None:
        """See `SessionFold.add`."""
        some = list(messages)
        super().add(some)
        if some:
            self._timed = some[-1].timestamp is not None

    def summary(self, facts: CursorFacts, path: str, *, size: int = 0, **known: Any) -> SessionSummary:
        """The summary; `known` are fields that only the caller knows."""
        models = self.models or ((facts.model,) if facts.model else ())
        changed = from_millis(facts.updated)
        created = from_millis(facts.created) or self.oldest or changed or EPOCH
        updated = self.newest if self._timed else max(filter(None, (self.newest, changed)), default=None)
        kind: SessionKind = "subagent" if facts.parent_id else "session"
        fields: dict[str, Any] = {
            **self.fields(),
            "agent": "cursor",
            "session_id": facts.id,
            "title": one_line(facts.title) or one_line(self.first_prompt),
            "preview": one_line(self.first_prompt, 200),
            "created_at": created,
            "updated_at": max(created, updated or created),
            "model": models[0] if models else None,
            "models": models,
            "cwd": facts.cwd,
            "kind": kind,
            "parent_id": facts.parent_id,
            "source": facts.source,
            "archived": facts.archived,
            "error": self.failed or facts.failed,
            "partial": self.partial,
            "path": path,
            "size": size,
            "warnings": self.warnings,
            "raw": {"layout": facts.kind, **facts.raw},
        }
        return SessionSummary(**{**fields, **known})
