"""Takes in the texts of a source and writes down what differs from what the index has of it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from hermes_tui.sessions.index.beginnings import beginnings
from hermes_tui.sessions.index.schema import FILE, LONG, ROLE, SECOND, TOOL
from hermes_tui.sessions.index.writer import VISIBILITY, Level, Row, Writer
from hermes_tui.sessions.words import spaced
from session_adapters.base import Source
from session_adapters.calls import NOTHING
from session_adapters.searchable import SessionTexts, Text
from session_adapters.text import scrub

__all__ = ["Sink"]

_NUMBERS = {name: number for number, name in enumerate(VISIBILITY)}


class Sink:
    """Takes in the texts of one source, in its order, and keeps what is known of it for what comes later."""

    def __init__(self, writer: Writer, source: Source, *, prose_only: bool = False) -> None:
        self._writer = writer
        self._source = source
        self.number = writer.source(source)
        """Of the source."""
        self._prose_only = prose_only
        self._sessions: dict[str, int] = {}
        self._fresh: set[int] = set()
        """Those of which there is nothing yet."""
        self._native: str | None = None
        self._rows: dict[str, Row] = {}
        self._seen: set[str] = set()
        self._second = 0
        self.taken = 0
        """Texts that `take` was given."""
        self.written = 0
        """Messages whose words were put in or changed."""

    def take(self, texts: Iterable[Text]) -> None:
        """All texts of the source; what is not among them is taken out."""
        for text in texts:
            self.taken += 1
            if text.session_id != self._native:
                self._leave()
                self._enter(text.session_id)
            number = 0
            while (key := _key(text, number)) in self._seen:
                number += 1
            self._seen.add(key)
            self._put(key, text)
            self._writer.commit_when_full()
        self._leave()
        if not self._prose_only:
            self._forget_others()

    def renew(self, found: Iterable[SessionTexts]) -> None:
        """Every session of the source, with what is new in it."""
        for one in found:
            self.taken += 1
            session = self._session(one.session_id)
            if one.whole:
                self._enter(one.session_id)
            for text in one.texts:
                if text.session_id != self._native:
                    self._enter(text.session_id)
                self._seen.add(text.message_id)
                self._put(text.message_id, text)
                self._writer.commit_when_full()
            if one.whole:
                self._leave()
            self._writer.remark(session, one.mark)
        self._forget_others()

    def _forget_others(self) -> None:
        """Take the sessions out that were not met."""
        for session, native in self._writer.sessions(self.number):
            if native not in self._sessions:
                self._writer.forget_session(session)

    def follow(self, texts: Iterable[tuple[int, Text]]) -> None:
        """Those that are new or different since; see `TextReader.read`."""
        for number, text in texts:
            if text.session_id != self._native:
                self._enter(text.session_id)
            self._put(_key(text, number), text)
            self._writer.commit_when_full()

    def finish(self, level: Level, stamp: str) -> None:
        """Say that the source is in the index."""
        self._writer.mark(self.number, stamp, level)

    def _enter(self, native: str) -> None:
        session = self._session(native)
        self._native, self._seen = native, set()
        self._rows = {} if session in self._fresh else self._writer.rows(session)
        self._fresh.discard(session)
        self._second = int(self._source.modified)

    def _session(self, native: str) -> int:
        session = self._sessions.get(native)
        if session is None:
            session, fresh = self._writer.session(self.number, native)
            self._sessions[native] = session
            if fresh:
                self._fresh.add(session)
        return session

    def _leave(self) -> None:
        if self._native is None or self._prose_only:
            return
        for key in self._rows.keys() - self._seen:
            self._writer.remove(self._rows.pop(key))

    def _put(self, key: str, text: Text) -> None:
        """Add a message of the session that is being read, or change it."""
        if text.time is not None:
            self._second = int(text.time)
        prose = "" if text.prose.isspace() else scrub(text.prose)
        tool = "" if self._prose_only or text.tool.isspace() else scrub(text.tool)
        names = self._names(text) if not self._prose_only and (prose or tool or text.names != NOTHING) else None
        at = None if text.time is None else round(text.time * 1000)
        visibility = _NUMBERS.get(text.visibility, 0)
        row = self._rows.get(key)
        if row is not None and row.at != at and row.id >> SECOND != self._second:
            self._writer.remove(self._rows.pop(key))
            row = None
        if row is not None:
            shown, row.visibility = row.visibility, visibility
            before, unit = row.names, row.unit
            row.names = before if self._prose_only else names
            if self._fill(row, prose, tool) or shown != visibility or before != row.names:
                self._writer.change(row, before, unit)
        elif prose or tool or names:
            row = self._rows[key] = Row(0, at, visibility, _mark(prose), None if self._prose_only else _mark(prose))
            row.tool, row.names = _mark(tool), names
            self._writer.add(self._sessions[text.session_id], key, self._second, text.role, row)
            self._words(row, prose, tool, Row(row.id, at, visibility))

    def _names(self, text: Text) -> str:
        found = {(ROLE, text.role)}
        found.update((TOOL, scrub(name.lower())) for name in text.names.tools)
        found.update((FILE, scrub(name.lower())) for name in text.names.files)
        return self._writer.names(found)

    def _fill(self, row: Row, prose: str, tool: str) -> bool:
        """Put other words in the place of those there are; whether there was anything to do."""
        before = Row(row.id, row.at, row.visibility, row.prose, row.short, row.tool)
        row.prose = _mark(prose)
        if self._prose_only:
            row.short = row.short if row.short == row.prose else None
        else:
            row.short, row.tool = row.prose, _mark(tool)
        return self._words(row, prose, tool, before)

    def _words(self, row: Row, prose: str, tool: str, before: Row) -> bool:
        """Bring the tables in line with the marks of `row`."""
        changed = False
        if row.prose != before.prose or row.short != before.short:
            words = spaced(prose)
            changed = True
            if row.prose != before.prose:
                self._writer.words("prose", row.id, words, before.prose)
            if row.short != before.short:
                self._writer.words("short", row.id, beginnings(words) if row.short is not None else "", before.short)
        if row.tool != before.tool:
            changed = True
            words = spaced(tool)
            once = "" if len(words) <= LONG else _each_once(words)
            self._writer.words("tool", row.id, "" if once else words, before.tool)
            self._writer.words("long", row.id, once, before.tool)
            self._writer.words("brief", row.id, beginnings(once or words), before.tool)
        self.written += changed
        return changed


def _key(text: Text, number: int) -> str:
    """What a message is known by among those of its session; ids may repeat."""
    return f"{text.message_id}\0{number}" if number else text.message_id


def _each_once(text: str) -> str:
    """Every word of a text, which blanks tell apart."""
    return " ".join(dict.fromkeys(text.split()))


def _mark(text: str) -> int | None:
    """Tells a text from another; None for none."""
    if not text:
        return None
    data = text.encode()
    return zlib.crc32(data) | (len(data) & 0x7FFFFFFF) << 32
