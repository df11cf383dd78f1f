"""Conversations of the editor: a composer and its bubbles, or its oldest tabs.

Older versions keep all of a conversation in one value, the oldest all of all tabs. Format: FACTS.md «Four separate
stores» 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from zlib import crc32

from session_adapters.cursor.editor_store.bubbles import bubble_of, messages_of_bubble, workspace_of
from session_adapters.cursor.editor_store.state import BUBBLES, EditorState, Note
from session_adapters.cursor.facts import CursorFacts, CursorReader, CursorUnit, unique_ids
from session_adapters.cursor.pieces import real_model
from session_adapters.cursor.places import uri_path
from session_adapters.cursor.records import TABS, Composer, as_json, dig, items, number, word
from session_adapters.cursor.summary import CursorFold
from session_adapters.model import Message
from session_adapters.reading.sqlite_limits import SESSION_ROWS

__all__ = ["NEWEST", "ComposerReader", "TabReader", "composer_directory", "count_composer", "count_tab", "tabs_of"]

NEWEST = 40
"""Bubbles that are looked into whenever the database has changed; of those before them a change is seen by size."""
_TABS = "workbench.panel.aichat.view.aichat.chatdata"
_LAST = 3


class ComposerReader(CursorReader):
    """One conversation."""

    def __init__(self, state: EditorState, session_id: str, composer: Composer, directory: str | None = None) -> None:
        status = word(composer.status)
        raw = {
            "status": status,
            "mode": word(composer.unified_mode),
            "subagentType": word(dig(composer.subagent_info, "subagentType")),
            "subComposerIds": [id_ for one in items(composer.sub_composer_ids) if (id_ := word(one))],
        }
        super().__init__(
            CursorFacts(
                id=session_id,
                kind="composer",
                title=word(composer.name).strip(),
                cwd=composer_directory(composer.workspace_identifier) or directory,
                parent_id=word(dig(composer.subagent_info, "parentComposerId")) or None,
                created=number(composer.created_at),
                updated=number(composer.last_updated_at),
                model=real_model(dig(composer.model_config, "modelName")),
                archived=composer.is_archived is True,
                failed=status == "error",  # «aborted» is what stands there while a turn runs too
                source="ide",
                raw={key: value for key, value in raw.items() if value},
            )
        )
        self._state = state
        self._helpers = frozenset(filter(None, map(word, items(composer.sub_composer_ids))))
        self._inline = _inline(composer)
        self._headers = _headers(composer)
        self._directory: str | None = None
        """The directory that a bubble which was read names."""
        self.missing = 0
        """Messages that the conversation names and that are not in the database: real ones have such."""

    @property
    def is_empty(self) -> bool:
        """Nothing was ever said in it: a draft."""
        return not self._headers

    def listed(self) -> list[CursorUnit]:
        """The units, without stamps."""
        found = [(name, *self._headers[place]) for name, place in self.numbered(id_ for id_, _ in self._headers)]
        return [CursorUnit(name, f"{BUBBLES}{self.facts.id}:{id_}", (), str(role)) for name, id_, role in found]

    def units(self, most: int = SESSION_ROWS) -> list[CursorUnit]:
        """See `CursorReader.units`."""
        found = self.listed()[-most:]
        sizes = self._state.sizes([unit.place for unit in found])
        newest = self._state.disk([unit.place for unit in found[-NEWEST:]], lambda place, reason: None)
        sums = {key: crc32(row.data) for key, row in newest.items() if row.data}
        return [
            unit._replace(
                stamp=(sizes.get(unit.place), sums.get(unit.place), len(str(self._inline.get(_own_id(unit), ""))))
            )
            for unit in found
        ]

    def contents(self, units: Sequence[CursorUnit]) -> dict[str, list[Message]]:
        """See `CursorReader.contents`."""
        found: dict[str, list[Message]] = {}
        rows = self._state.disk([unit.place for unit in units], self.note, self.ration)
        for unit in units:
            row = rows.get(unit.place)
            if row is None and self.ration.spent:
                self.left += 1
                continue
            value: Any = row.data if row and row.data else self._inline.get(_own_id(unit))
            if value is None and row is not None and row.size > 0:
                self.note(unit.place, f"it is too large to be read ({row.size} bytes)")
            if value is None:
                self.missing += row is None or row.size == 0
                continue
            if isinstance(value, bytes) and self.is_too_long_again(unit, _own_id(unit), value):
                continue
            try:
                bubble = bubble_of(value)
            except ValueError:
                self.note(unit.place, "it is not valid JSON")
                continue
            if self._directory is None and (named := workspace_of(bubble)):
                self._directory = uri_path(named) or (named if "://" not in named else None)
            found[unit.id] = messages_of_bubble(unit.id, bubble, unit.role, helpers=self._helpers)
        return found

    def seen(self, *, partial: bool) -> CursorFacts:
        """See `CursorReader.seen`."""
        facts = self.facts._replace(cwd=self.facts.cwd or self._directory)
        if not self.missing or partial:
            return facts
        return facts._replace(raw={**facts.raw, "missingMessages": self.missing})


def _own_id(unit: CursorUnit) -> str:
    return str(unit.place).rpartition(":")[2]


def _headers(composer: Composer) -> list[tuple[str, Any]]:
    """(bubble, type) in conversation order."""
    named = items(composer.full_conversation_headers_only) or items(composer.conversation)
    found: list[tuple[str, Any]] = []
    for place, one in enumerate(named):
        if isinstance(one, dict):
            found.append((word(one.get("bubbleId")) or f"@{place}", one.get("type")))
    return found


def _inline(composer: Composer) -> dict[str, Any]:
    """Bubbles that stand in the conversation itself."""
    found: dict[str, Any] = {}
    if isinstance(composer.conversation_map, dict):
        found |= {word(key): one for key, one in composer.conversation_map.items() if isinstance(one, dict)}
    for place, one in enumerate(items(composer.conversation)):
        if isinstance(one, dict):
            found[word(one.get("bubbleId")) or f"@{place}"] = one
    return found


def composer_directory(identifier: Any) -> str | None:
    """The directory in a `workspaceIdentifier`; a workspace of several has none."""
    uri = dig(identifier, "uri")
    return word(dig(uri, "fsPath")) or word(dig(uri, "path")) or uri_path(word(dig(uri, "external"))) or None


def count_composer(reader: ComposerReader, *, exact: bool) -> CursorFold:
    """The counts of a conversation; without `exact` from its first prompt and its last bubbles."""
    fold = CursorFold()
    units = reader.listed()
    fold.partial = not exact
    if exact:
        reader.count(units, fold)
        fold.partial = bool(reader.left)
    else:
        first = next((unit for unit in units[:-_LAST] if unit.role in ("1", "user")), None)
        few = [*([first] if first else []), *units[-_LAST:]]
        reader.count(few, fold)
        fold.messages = len(units)
        fold.turns = sum(
            one.role in ("1", "user") and following.role in ("2", "ai") for one, following in pairwise(units)
        )
    fold.warnings = len(reader.damage)
    return fold


# Tabs -------------------------------------------------------------------------------------------------------


def tabs_of(state: EditorState, directory: str | None, note: Note) -> list[TabReader]:
    """Every tab in which something was said."""
    data = state.item(_TABS, note)
    if not data:
        return []
    try:
        tabs = items(TABS.one(data).tabs)
    except ValueError:
        note(_TABS, "it is not valid JSON")
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

    def units(self, most: int = 0) -> list[CursorUnit]:
        """See `CursorReader.units`: all, which is no more than a value."""
        names = unique_ids(word(one.get("id")) or f"@{place}" for place, one in enumerate(self._bubbles))
        return [
            CursorUnit(name, place, (crc32(as_json(one).encode()),))
            for place, (name, one) in enumerate(zip(names, self._bubbles, strict=True))
        ]

    def contents(self, units: Sequence[CursorUnit]) -> dict[str, list[Message]]:
        """See `CursorReader.contents`."""
        found: dict[str, list[Message]] = {}
        for unit in units:
            if unit.place >= len(self._bubbles):
                self.note(f"tab {self.facts.id}, bubble {unit.id}", "it went meanwhile")
                continue
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
    reader.count(reader.units(), fold)
    fold.warnings = len(reader.lost)
    return fold
