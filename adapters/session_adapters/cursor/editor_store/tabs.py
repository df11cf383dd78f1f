"""Conversations of the oldest editors: tabs, all in one value.

Format: FACTS.md «Four separate stores» 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

from session_adapters.cursor.editor_store.bubbles import bubble_of, messages_of_bubble
from session_adapters.cursor.editor_store.state import EditorState, Note
from session_adapters.cursor.facts import CursorFacts, CursorReader, CursorUnit, unique_ids
from session_adapters.cursor.pieces import real_model
from session_adapters.cursor.records import TABS, as_json, dig, items, number, word
from session_adapters.cursor.summary import CursorFold
from session_adapters.model import Message

__all__ = ["TabReader", "count_tab", "tabs_of"]

_KEY = "workbench.panel.aichat.view.aichat.chatdata"


def tabs_of(state: EditorState, directory: str | None, note: Note) -> list[TabReader]:
    """Every tab in which something was said."""
    data = state.item(_KEY, note)
    if not data:
        return []
    try:
        tabs = items(TABS.one(data).tabs)
    except ValueError:
        note(_KEY, "it is not valid JSON")
        return []
    return [TabReader(tab, directory) for tab in tabs if word(dig(tab, "tabId")) and items(dig(tab, "bubbles"))]


class TabReader(CursorReader):
    """One tab."""

    def __init__(self, tab: Any, directory: str | None) -> None:
        self._bubbles = [one for one in items(dig(tab, "bubbles")) if isinstance(one, dict)]
        models = [name for one in self._bubbles if (name := real_model(one.get("modelType")))]
        super().__init__(
            CursorFacts(
                id=word(dig(tab, "tabId")),
                kind="tab",
                title=word(dig(tab, "chatTitle")),
                cwd=directory,
                created=number(dig(tab, "createdAt")),
                updated=number(dig(tab, "lastSendTime")),
                model=models[-1] if models else None,
                source="ide",
            )
        )

    def units(self) -> list[CursorUnit]:
        """See `CursorReader.units`."""
        names = unique_ids(word(one.get("id")) or f"@{place}" for place, one in enumerate(self._bubbles))
        return [
            CursorUnit(name, place, (crc32(as_json(one).encode()),))
            for place, (name, one) in enumerate(zip(names, self._bubbles, strict=True))
        ]

    def contents(self, units: Sequence[CursorUnit]) -> dict[str, list[Message]]:
        """See `CursorReader.contents`."""
        found: dict[str, list[Message]] = {}
        for unit in units:
            one = self._bubbles[unit.place]
            named = {"modelInfo": {"modelName": one.get("modelType")}} if one.get("modelType") else {}
            try:
                found[unit.id] = messages_of_bubble(unit.id, bubble_of({**one, **named}), helpers=frozenset())
            except ValueError:
                self.note(f"tab {self.facts.id}, bubble {unit.id}", "it makes no sense")
        return found


def count_tab(reader: TabReader) -> CursorFold:
    """The counts of a tab."""
    fold = CursorFold()
    for block in reader.read(reader.units()):
        fold.add(block)
    fold.warnings = len(reader.lost)
    return fold
