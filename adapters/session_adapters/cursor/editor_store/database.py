"""The editor's databases: which conversations they hold, for which workspaces."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import apsw
import msgspec
from msgspec.structs import replace

from session_adapters.cursor.editor_store.composers import (
    ComposerReader,
    composer_directory,
    count_composer,
    count_tab,
    tabs_of,
)
from session_adapters.cursor.editor_store.state import COMPOSERS, EditorState, Note, StoredValue
from session_adapters.cursor.facts import CursorReader, CursorStore
from session_adapters.cursor.places import uri_path, workspace_databases
from session_adapters.cursor.records import COMPOSER, Composer, decoded, dig, items, word
from session_adapters.growing.sessions import KeptSessions, Recounted
from session_adapters.model import SessionSummary
from session_adapters.reading.bounds import TOO_LARGE, Stint
from session_adapters.reading.damaged_places import Damage, reason_of
from session_adapters.reading.files import read_small
from session_adapters.reading.searchable import SessionTexts, Text, mark_of
from session_adapters.reading.sqlite import DatabaseUnreadable, SessionGone, read_database
from session_adapters.reading.units import Lost

__all__ = ["EditorShelf", "Kept", "editor_summaries", "has_session", "new_texts"]

T = TypeVar("T")
FULL_SIZE = 4 << 20
"""Bytes. A smaller database is read in full at once."""
FULL_SECONDS = 60.0
"""After so long the rest of a database stays at a quick look."""
_TIMEOUT = 600.0
_HEADERS = "composer.composerHeaders"
_OF_WORKSPACE = "composer.composerData"


# Conversations -----------------------------------------------------------------------------------------------


def _composer(session_id: str, row: StoredValue, note: Note) -> Composer | None:
    """The conversation in a row; None for the remains of one that was deleted, or a damaged one."""
    place = f"{COMPOSERS}{session_id}"
    if not row.data:
        if row.size > 0:
            note(place, f"it is too large to be read ({row.size} bytes)")
        return None
    try:
        return COMPOSER.one(row.data)
    except ValueError:
        note(place, "it is not valid JSON")
        return None


Kept = KeptSessions[SessionSummary, None]
"""What the conversations of a database came to."""
_Told = dict[str, Recounted[SessionSummary, None]]


def editor_summaries(
    path: str, user: str, size: int, damaged: Damage, *, exact: bool, kept: Kept | None = None
) -> list[SessionSummary]:
    """Every conversation in the database; those that are what they were as they are `kept`. `user` is the editor's
    directory. Raises `DatabaseUnreadable`."""
    kept = Kept() if kept is None else kept

    def read(connection: apsw.Connection) -> tuple[list[SessionSummary], _Told, Damage]:
        lost = Damage()
        keep = lost.add
        state = EditorState(connection)
        deadline = time.monotonic() + FULL_SECONDS
        full = exact or size <= FULL_SIZE
        found: list[SessionSummary] = []
        told: _Told = {}
        headers = _headers(state, keep)
        stint = Stint()
        for number, (session_id, row) in enumerate(state.composers(keep)):
            if stint.over and not exact:
                keep("table cursorDiskKV", f"{TOO_LARGE}: {number} conversations are read, no more")
                break
            mark = state.mark(session_id, row, headers.get(session_id)) if exact else None
            same = kept.same(session_id, mark)
            if same is not None:
                told[session_id] = same
                found.append(same.counted)
                continue
            composer = _composer(session_id, row, keep)
            reader = ComposerReader(state, session_id, composer, headers.get(session_id)) if composer else None
            if reader is None or reader.is_empty:
                continue
            fold = count_composer(reader, exact=full and time.monotonic() < deadline)
            lost.extend(reader.damage)
            found.append(fold.summary(reader.seen(partial=fold.partial), path))
            told[session_id] = Recounted(found[-1], None if fold.partial or reader.damage else mark)
        for tab in tabs_of(state, folder_of(path, keep), keep):
            counts = count_tab(tab)
            lost.extend(tab.lost)
            found.append(counts.summary(tab.facts, path))
        return found, told, lost

    found, told, lost = read_database(path, read, timeout=_TIMEOUT)
    damaged.extend(lost)
    kept.keep(told, ())
    kept.forget_others(told)
    return _placed(found, user)


def _placed(found: list[SessionSummary], user: str) -> list[SessionSummary]:
    """With the parent of helpers that only their parent names, and the directory of those that do not say it and
    that the database of a workspace names."""
    parents = {helper: one.session_id for one in found for helper in one.raw.get("subComposerIds", ())}
    found = [
        replace(one, kind="subagent", parent_id=parents[one.session_id])
        if one.kind == "session" and parents.get(one.session_id, one.session_id) != one.session_id
        else one
        for one in found
    ]
    if all(one.cwd for one in found):
        return found  # without a look into the databases of all workspaces
    known = _workspaces(Path(user))
    return [one if one.cwd else replace(one, cwd=known.get(one.session_id)) for one in found]


def new_texts(
    path: str, marks: Mapping[str, str], whole: Callable[[str], Iterable[Text]]
) -> Iterator[SessionTexts] | None:
    """See `Adapter.new_texts`: of a conversation that is not what it was, all. None where a part of the database
    cannot be read, or it has too many. `whole` reads one."""

    def read(connection: apsw.Connection) -> dict[str, str] | None:
        state, lost, stint = EditorState(connection), Damage(), Stint()
        found: dict[str, str] = {}
        for session_id, row in state.composers(lost.add):
            if stint.over:  # as many as the list has are read instead
                return None
            parts = state.mark(session_id, row)
            if parts is None:
                return None
            mark = mark_of(parts)
            if marks.get(session_id) != mark:
                damaged = Damage()
                composer = _composer(session_id, row, damaged.add)
                if composer is None and not damaged:
                    continue  # what is left of a deleted one; of a damaged one reading it reports that
                if composer is not None and ComposerReader(state, session_id, composer).is_empty:
                    continue  # a draft
            found[session_id] = mark
        for tab in tabs_of(state, None, lost.add):
            found.setdefault(str(tab.facts.id), mark_of(tab.units()))
        return None if lost else found

    try:
        now = read_database(path, read, timeout=_TIMEOUT)
    except (DatabaseUnreadable, OSError):
        return None  # reading it session by session reports it
    if now is None:
        return None
    return (
        SessionTexts(one, mark, marks.get(one) != mark, whole(one) if marks.get(one) != mark else ())
        for one, mark in now.items()
    )


# Workspaces --------------------------------------------------------------------------------------------------


def _headers(state: EditorState, note: Note) -> dict[str, str]:
    """Directories by conversation, out of the list that newer editors keep of all of them."""
    return {
        id_: directory
        for id_, one in _listed(state.item(_HEADERS, note))
        if (directory := composer_directory(dig(one, "workspaceIdentifier")))
    }


def _listed(data: bytes | None) -> Iterator[tuple[str, Any]]:
    for one in items(dig(decoded(data.decode("utf-8", "replace")) if data else None, "allComposers")):
        if id_ := word(dig(one, "composerId")):
            yield id_, one


def _workspaces(user: Path) -> dict[str, str]:
    """Directories by conversation, out of the databases of all workspaces."""

    def read(connection: apsw.Connection) -> bytes | None:
        return EditorState(connection).item(_OF_WORKSPACE, lambda place, reason: None)

    found: dict[str, str] = {}
    for path in workspace_databases(user, lambda path, error: None):
        directory = folder_of(str(path), lambda place, reason: None)  # a source of its own, which says so
        if directory is None:
            continue
        try:
            data = read_database(path, read)
        except (DatabaseUnreadable, OSError):
            continue  # the same
        for id_, _ in _listed(data):
            found.setdefault(id_, directory)
    return found


def folder_of(path: str, note: Note) -> str | None:
    """The directory of the workspace whose database this is; None for one of several directories, and for the
    database of all."""
    try:
        data = read_small(Path(path).with_name("workspace.json"), 1 << 20)
        return uri_path(word(dig(msgspec.json.decode(data), "folder")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        why = reason_of(error) if isinstance(error, OSError) else "it is no JSON"
        note("workspace.json", f"cannot be read, so the directories of some sessions are not known: {why}")
        return None


# One conversation --------------------------------------------------------------------------------------------


def _reader(connection: apsw.Connection, path: str, session_id: str) -> CursorReader:
    """Raises `SessionGone`, and `ValueError` for a damaged conversation."""
    state = EditorState(connection)
    lost: list[Lost] = []

    def keep(place: str, reason: str) -> None:
        lost.append(Lost(place, reason))

    row = state.disk([COMPOSERS + session_id], keep).get(COMPOSERS + session_id)
    if row is not None and (row.size > 0 or lost):
        composer = _composer(session_id, row, keep)
        if composer is None:
            raise ValueError(lost[0].reason)
        return ComposerReader(state, session_id, composer, _headers(state, keep).get(session_id))
    for tab in tabs_of(state, folder_of(path, keep), keep):
        if tab.facts.id == session_id:
            return tab
    raise SessionGone(session_id)


def has_session(path: str, session_id: str) -> bool:
    """Whether the conversation is in the database, be it damaged."""

    def read(connection: apsw.Connection) -> bool:
        try:
            _reader(connection, path, session_id)
        except SessionGone:
            return False
        except ValueError:
            return True
        return True

    try:
        return read_database(path, read)
    except (DatabaseUnreadable, OSError):
        return False  # `summaries` reports it


class EditorShelf(CursorStore):
    """A `state.vscdb`."""

    def __init__(self, path: str, user: str) -> None:
        super().__init__(path)
        self._user = user

    def visit(self, session_id: str, work: Callable[[CursorReader], T]) -> T:
        """See `CursorStore.visit`."""
        return read_database(self.path, lambda connection: work(_reader(connection, self.path, session_id)))

    def directory(self, session_id: str) -> str | None:
        """The directory of a conversation that does not say it itself."""
        return _workspaces(Path(self._user)).get(session_id)
