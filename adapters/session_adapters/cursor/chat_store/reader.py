"""Reads the CLI's conversations: a `store.db` each, blobs named by content.

Superseded messages and inner nodes lie among the blobs, so only what the latest root names is read, in its order.
Format: FACTS.md «Four separate stores» 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import apsw

from session_adapters.cursor.chat_store.messages import messages_of_blob
from session_adapters.cursor.chat_store.wire import ChatRoot, read_root
from session_adapters.cursor.facts import (
    CONTENT_LIMIT,
    CursorFacts,
    CursorReader,
    CursorStore,
    CursorUnit,
)
from session_adapters.cursor.pieces import real_model
from session_adapters.cursor.places import folder_of_chats, log_directories, uri_path
from session_adapters.cursor.records import CHAT_FACTS, META, ChatFacts, Meta, number, word
from session_adapters.cursor.summary import CursorFold
from session_adapters.model import Message
from session_adapters.reading.files import read_small
from session_adapters.reading.sqlite import DatabaseUnreadable, read_database
from session_adapters.reading.sqlite_limits import SESSION_ROWS
from session_adapters.reading.sqlite_rows import DAMAGE, as_text, each_or_alone

__all__ = ["ChatReader", "ChatShelf", "count_chat"]

T = TypeVar("T")
FULL_MESSAGES = 60
"""A conversation of so many messages is read in full for a list; of a longer one the ends."""
FIRST, LAST = 6, 12
ROW_LIMIT = 64 << 10
"""Bytes of a message that are read for a list."""
_PLACEHOLDER = "New Agent"
_HEX = re.compile(rb"\s*(?:[0-9A-Fa-f]{2})+\s*")


class ChatReader(CursorReader):
    """One chat."""

    def __init__(self, connection: apsw.Connection, path: str, session_id: str) -> None:
        folder = path.rpartition("/")[0]
        self._connection = connection
        self.limit = CONTENT_LIMIT
        """Bytes of a message that are read; lower for a quick look."""
        self.skipped = 0
        """Messages that were too large for a quick look."""
        super().__init__(CursorFacts(id=session_id, kind="chat"))
        try:
            known = self._known()
            self.root_id = word(known.latest_root_blob_id).lower()
            self.root = self._root()
        except apsw.SQLError:
            known = None
        # Only where no blob was asked for it is left open whether there are any.
        if known is None or not (self.root_id or {"id", "data", "value"} <= _columns(connection)):
            raise DatabaseUnreadable("it has no tables of blobs and of facts: it is not a chat of Cursor's")
        beside = self._beside(f"{folder}/meta.json")
        directory = word(beside.cwd) or uri_path(self.root.workspace)
        if not directory:
            # The folder is named by the MD5 of its path, which those in the logs of projects can be tried against.
            logged = log_directories(Path(folder).parents[2])
            directory = next((one for one in logged if folder_of_chats(one) == _hash(folder)), None)
        name = word(known.name)
        raw = {"mode": word(known.mode), "workspaceHash": _hash(folder)}
        self.facts = CursorFacts(
            id=session_id,
            kind="chat",
            title=word(beside.title).strip() or ("" if name == _PLACEHOLDER else name),
            cwd=directory,
            created=number(beside.created_at_ms) or number(known.created_at),
            updated=number(beside.updated_at_ms),
            model=real_model(known.last_used_model),
            source=self.root.source,
            raw={key: value for key, value in raw.items() if value},
        )

    @property
    def is_empty(self) -> bool:
        """Nothing was ever said in it: Cursor makes one for every start."""
        return not self.root_id and not self.facts.title

    def _known(self) -> ChatFacts:
        try:
            row = self._connection.execute("SELECT CAST(value AS BLOB) FROM meta WHERE key = '0'").fetchone()
        except DAMAGE as error:
            self.note("meta 0", f"a part of it is damaged ({error})")
            return ChatFacts()
        data = row[0] if row else None
        if not isinstance(data, bytes):
            self.note("meta 0", "it is not there, and with it the way to the messages")
            return ChatFacts()
        try:
            text = bytes.fromhex(data.decode()) if _HEX.fullmatch(data) else data
            return CHAT_FACTS.one(text)
        except ValueError:
            self.note("meta 0", "it is neither JSON nor that in hexadecimal")
            return ChatFacts()

    def _root(self) -> ChatRoot:
        none = ChatRoot([], None, None, None, whole=True)
        if not self.root_id:
            return none
        found = self._blobs([self.root_id], CONTENT_LIMIT).get(self.root_id)
        if found is None:
            if not self.lost:
                self.note(f"blob {self.root_id}", "the root of the conversation is not in the database")
            return none
        root = read_root(found)
        if not root.whole:
            self.note(f"blob {self.root_id}", "a part of the conversation's root is damaged")
        return root

    def _beside(self, path: str) -> Meta:
        """`meta.json`, which chats from before 2026.08 do not have."""
        try:
            return META.one(read_small(path, 1 << 20))
        except FileNotFoundError:
            pass
        except OSError as error:
            self.note("meta.json", f"it cannot be read: {error.strerror or error}")
        except ValueError:
            self.note("meta.json", "it is not valid JSON")
        return Meta()

    def units(self, most: int = SESSION_ROWS) -> list[CursorUnit]:
        """See `CursorReader.units`. A blob never changes: its name says what is in it."""
        names = self.root.ids
        return [CursorUnit(id_, names[place]) for id_, place in self.numbered(names)[-most:]]

    def contents(self, units: Sequence[CursorUnit]) -> dict[str, list[Message]]:
        """See `CursorReader.contents`."""
        found: dict[str, list[Message]] = {}
        blobs = self._blobs([unit.place for unit in units], self.limit)
        for unit in units:
            data = blobs.get(unit.place)
            if data is None and self.ration.spent:
                self.left += 1
            if data is None or self.is_too_long_again(unit, unit.place, data):
                continue
            try:
                found[unit.id] = messages_of_blob(unit.id, data, self.root.zone)
            except ValueError:
                self.note(f"blob {unit.place}", "the message is damaged")
        return found

    def _blobs(self, names: Sequence[str], limit: int) -> dict[str, bytes]:
        """By name. What is missing, damaged or over `limit` is left out, and noted."""
        found: dict[str, bytes] = {}
        seen: set[str] = set()

        def damaged(name: str, error: Exception) -> None:
            self.note(f"blob {name}", f"it is damaged ({error})")
            seen.add(name)

        def rows(some: Sequence[str]) -> list[tuple[apsw.SQLiteValue, ...]]:
            # Not by `json_each`: to set that up takes as long as the rest, for each of ten thousand chats.
            query = (
                f"SELECT CAST(id AS BLOB), CASE WHEN octet_length(data) <= {limit} THEN CAST(data AS BLOB) END,"  # noqa: S608
                f" octet_length(data) FROM blobs WHERE id IN ({','.join('?' * len(some))})"
            )
            return list(self.ration.take(self._connection.execute(query, some)))

        for key, data, size in each_or_alone(names, rows, damaged):
            name = as_text(key) or ""
            seen.add(name)
            if isinstance(data, bytes):
                found[name] = data
            elif isinstance(size, int) and limit < size <= CONTENT_LIMIT:
                self.skipped += 1
            elif size is not None:
                self.note(f"blob {name}", f"it is too large to be read ({size} bytes)")
        if not self.ration.spent:
            for name in dict.fromkeys(names):
                if name not in seen:
                    self.note(f"blob {name}", "it is not in the database")
        return found


def _columns(connection: apsw.Connection) -> set[str]:
    """Names of the columns of both tables, by one question: there may be ten thousand chats."""
    query = (
        "SELECT CAST(name AS BLOB) FROM pragma_table_info('blobs') WHERE name IN ('id', 'data')"
        " UNION SELECT CAST(name AS BLOB) FROM pragma_table_info('meta') WHERE name = 'value'"
    )
    try:
        return {as_text(name) or "" for (name,) in connection.execute(query)}
    except apsw.SQLError:
        return set()  # a view of something missing


def _hash(folder: str) -> str:
    """The name of the folder that a chat's own lies in."""
    return folder.rsplit("/", 2)[-2]


class ChatShelf(CursorStore):
    """A `store.db`."""

    def visit(self, session_id: str, work: Callable[[ChatReader], T]) -> T:
        """See `CursorStore.visit`."""
        return read_database(self.path, lambda connection: work(ChatReader(connection, self.path, session_id)))


def count_chat(reader: ChatReader, *, exact: bool) -> CursorFold:
    """The counts of a chat; without `exact` of a long one from its ends."""
    fold = CursorFold()
    units = reader.units()
    parts: list[Sequence[CursorUnit]] = [units]
    if not exact:
        reader.limit = ROW_LIMIT
        if len(units) > FULL_MESSAGES:
            parts = [units[:FIRST], units[-LAST:]]
            fold.partial = True
    for part in parts:
        reader.count(part, fold)
    if fold.partial:
        fold.messages += len(units) - FIRST - LAST
    fold.messages += reader.skipped + reader.left
    fold.partial = fold.partial or bool(reader.skipped + reader.left)
    fold.warnings = len(reader.damage)
    return fold
