"""Counts of Cursor's sessions for a list; copies in several stores are one.

Format: FACTS.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Any

from msgspec.structs import replace

from session_adapters.cursor.facts import CursorFacts
from session_adapters.cursor.places import folder_of_chats
from session_adapters.model import EPOCH, Message, SessionKind, SessionSummary
from session_adapters.session_counts import SessionFold
from session_adapters.text import one_line
from session_adapters.times import from_millis

__all__ = ["CursorFold", "relate"]


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


# Copies of a conversation -----------------------------------------------------------------------------------

_RANKS = {"chat": 0, "composer": 1, "transcript": 2, "text": 3, "tab": 4, "document": 5}
"""Of several copies the richest counts: a transcript lacks results, thoughts and models."""


def relate(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Each session once, with its parent and title from whichever copy knows them, and its directory."""

    def rank(summary: SessionSummary) -> tuple[int, float]:
        return _RANKS.get(str(summary.raw.get("layout")), 9), -summary.updated_at.timestamp()

    best: dict[str, SessionSummary] = {}
    for summary in sorted(summaries, key=rank):
        kept = best.setdefault(summary.session_id, summary)
        if kept is not summary:
            if kept.parent_id is None and summary.parent_id is not None:
                kept = replace(kept, kind=summary.kind, parent_id=summary.parent_id)
            best[summary.session_id] = replace(kept, cwd=kept.cwd or summary.cwd)
    sessions = [best[key] for key in dict.fromkeys(one.session_id for one in summaries)]
    if all(one.cwd for one in sessions):
        return sessions
    # Chats and transcripts lie in folders named after their directory, by a digest or with its signs replaced:
    # neither can be undone, but a directory that another session names can be tried.
    known: dict[str, str] = {}
    for directory in filter(None, (one.cwd for one in sessions)):
        slug = re.sub(r"[^0-9A-Za-z]", "-", directory).strip("-")
        known |= dict.fromkeys((folder_of_chats(directory), slug), directory)
    return [one if one.cwd else replace(one, cwd=known.get(_folder(one))) for one in sessions]


def _folder(summary: SessionSummary) -> str:
    path = PurePath(summary.path)
    if summary.raw.get("layout") == "chat":
        return path.parent.parent.name
    places = [parent.parent.name for parent in path.parents if parent.name == "agent-transcripts"]
    return places[0] if places else ""
