"""Compares the texts of a source with the index, and writes what differs."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable

from hermes_tui.sessions.index.schema import FILE, ROLE, SECOND, TOOL
from hermes_tui.sessions.index.signs import indexable
from hermes_tui.sessions.index.source_state import VISIBILITY, IndexedMessage, Level
from hermes_tui.sessions.index.writing.writer import IndexWriter
from hermes_tui.sessions.words import count_words
from session_adapters.base import Source
from session_adapters.growing.hashes import Hashes
from session_adapters.reading.searchable import SessionTexts, Text
from session_adapters.text import scrub
from session_adapters.tool_names import NOTHING

__all__ = ["Sink"]

_NUMBERS = {name: number for number, name in enumerate(VISIBILITY)}
"""Visibility → its number."""
_AT_A_TIME = 256
"""Rows that are looked up together."""


class Sink:
    """Takes in the texts of one source, in its order, and keeps what is known of it for what comes later."""

    def __init__(self, writer: IndexWriter, source: Source, *, prose_only: bool = False) -> None:
        self._writer = writer
        self._source = source
        self.number, fresh = writer.source(source)
        """Of the source."""
        self._prose_only = prose_only
        self._there = {} if fresh else writer.sessions(self.number)
        """Sessions that were there before, and are not met yet."""
        self._sessions: dict[str, int] = {}
        """Those that were met."""
        self._native: str | None = None
        self._rows: dict[str, IndexedMessage] = {}
        """Of the session that is being read, by the messages' keys: those that `_fetch` came by, and not met yet."""
        self._after: int | None = None
        """The row behind which `_fetch` goes on; None where it has come by all."""
        self._seen = Hashes()
        """`hash()` of the keys of its messages that were met: a long session has ten thousand."""
        self._met = Hashes()
        """The same of the session that was read last, whose rows are not here any more."""
        self._second = 0
        self.taken = 0
        """Texts that `take` was given."""

    def take(self, texts: Iterable[Text]) -> None:
        """All texts of the source; what is not among them is taken out."""
        for text in texts:
            self.taken += 1
            if text.session_id != self._native:
                self._leave()
                self._enter(text.session_id)
            number = 0
            while hash(key := _unique_key(text.message_id, number)) in self._seen:
                number += 1
            self._seen.add(hash(key))
            self._put(key, text)
            self._rows.pop(key, None)
            self._writer.commit_when_full()
        self._leave()
        if not self._prose_only:
            self._forget_others()

    def renew(self, found: Iterable[SessionTexts]) -> None:
        """Every session of the source, with what is new in it."""
        for one in found:
            self.taken += 1
            texts = one.texts
            if one.whole:
                self._enter(one.session_id)
            elif texts := list(texts):
                self._enter(one.session_id, [text.message_id for text in texts])
            for text in texts:
                self._seen.add(hash(text.message_id))
                self._put(text.message_id, text)
                self._writer.commit_when_full()
            if one.whole:
                self._leave()
            session, _ = self._session(one.session_id)
            self._writer.remark(session, one.mark)
        self._forget_others()

    def _forget_others(self) -> None:
        """Take the sessions out that were not met."""
        for session in self._there.values():
            self._writer.forget_session(session)
        self._there.clear()

    def follow(self, texts: Iterable[tuple[int, Text]]) -> None:
        """Those that are new or different since; see `TextReader.read`."""
        for number, text in texts:
            if text.session_id != self._native:
                self._enter(text.session_id)
            self._put(_unique_key(text.message_id, number), text)
            self._writer.commit_when_full()

    def keep(self, ids: Collection[str]) -> None:
        """Of the messages that were met, know those with these ids; the others do not come again."""
        again: list[str] = []
        for name in ids:
            number = 0
            while hash(key := _unique_key(name, number)) in self._met:
                again.append(key)
                number += 1
        if self._native is not None and again:
            self._rows = self._writer.rows(self._sessions[self._native], again)
        else:
            self._rows = {key: row for key, row in self._rows.items() if key.partition("\0")[0] in ids}
        self._met, self._after = Hashes(), None

    def finish(self, level: Level, source: Source, lost: str = "") -> None:
        """Say that the source is in the index as it now is, but for what is `lost`."""
        self._writer.mark(source, level, lost)

    def _enter(self, native: str, keys: Collection[str] | None = None) -> None:
        """Begin with a session, of which those messages are met where `keys` are given."""
        session, fresh = self._session(native)
        self._native, self._seen, self._met = native, Hashes(), Hashes()
        self._rows = {} if keys is None else self._writer.rows(session, keys)
        self._after = None if fresh or keys is not None else -1
        self._second = int(self._source.modified)  # of messages before the first that has a time

    def _session(self, native: str) -> tuple[int, bool]:
        """Its number, and whether it was put in because it was not there yet."""
        session = self._sessions.get(native)
        if session is not None:
            return session, False
        known = self._there.pop(native, None)
        session = self._sessions[native] = self._writer.session(self.number, native) if known is None else known
        return session, known is None

    def _leave(self) -> None:
        if self._native is not None and not self._prose_only:
            self._fetch()
            for key in [key for key in self._rows if hash(key) not in self._seen]:
                self._writer.remove(self._rows.pop(key))
        self._met, self._seen = self._seen, Hashes()

    def _fetch(self, key: str | None = None) -> None:
        """Go on through the rows of the session until that of `key` is there, else to their end. Messages come in the
        order of their rows, mostly: of a long session few are here at a time."""
        while self._native is not None and self._after is not None and (key is None or key not in self._rows):
            rows = self._writer.rows_after(self._sessions[self._native], self._after, _AT_A_TIME)
            self._after = rows[-1][1].id if len(rows) == _AT_A_TIME else None
            # What was met is done with; its row may be here only now because it was put in meanwhile.
            self._rows.update(pair for pair in rows if pair[0] == key or hash(pair[0]) not in self._seen)

    def _put(self, key: str, text: Text) -> None:
        """Add a message of the session that is being read, or change it."""
        if text.time is not None:
            self._second = int(text.time)
        prose = _utf8(text.prose)
        tool = b"" if self._prose_only else _utf8(text.tool)
        names: str | None = None
        if not self._prose_only and (prose or tool or text.names != NOTHING):
            wanted = {(ROLE, text.role)}
            wanted.update((TOOL, scrub(name.lower())) for name in text.names.tools)
            wanted.update((FILE, scrub(name.lower())) for name in text.names.files)
            names = self._writer.names(wanted)
        at = None if text.time is None else round(text.time * 1000)
        visibility = _NUMBERS.get(text.visibility, 0)
        self._fetch(key)
        row = self._rows.get(key)
        # A row's number is its time: with another one it is another row.
        if row is not None and row.at != at and row.id >> SECOND != self._second:
            self._writer.remove(self._rows.pop(key))
            row = None
        if row is not None:
            shown, row.visibility = row.visibility, visibility
            before = row.names
            if not self._prose_only:
                row.names, row.thought = names, _thought(text)
            if self._fill(row, prose, tool) or shown != visibility or before != row.names:
                self._writer.change(row, before)
        elif prose or tool or names:
            row = self._rows[key] = IndexedMessage(0, at, visibility, _mark(prose), _mark(tool), names)
            row.thought = _thought(text) if tool else None
            self._writer.add(self._sessions[text.session_id], key, self._second, text.role, row)
            self._writer.words("prose", row.id, indexable(prose))
            self._writer.words("tool", row.id, indexable(tool))

    def _fill(self, row: IndexedMessage, prose: bytes, tool: bytes) -> bool:
        """Put other words in the place of those there are; whether there was anything to do."""
        said, wrote = row.prose, row.tool
        row.prose = _mark(prose)
        if not self._prose_only:
            row.tool = _mark(tool)
        if row.prose != said:
            self._writer.words("prose", row.id, indexable(prose), said)
        if row.tool != wrote:
            self._writer.words("tool", row.id, indexable(tool), wrote)
        return (row.prose, row.tool) != (said, wrote)


def _unique_key(message_id: str, number: int) -> str:
    """What a message is known by among those of its session; ids may repeat."""
    return f"{message_id}\0{number}" if number else message_id


def _utf8(text: str) -> bytes:
    """As FTS5 is given it; nothing for blanks."""
    if text.isspace():
        return b""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return scrub(text).encode()


def _thought(text: Text) -> int | None:
    """Words that were thought; None for none."""
    return count_words(text.tool[: text.thought]) or None if text.thought else None


def _mark(text: bytes) -> int | None:
    """Tells a text from another; None for none."""
    return zlib.crc32(text) | (len(text) & 0x7FFFFFFF) << 32 if text else None
