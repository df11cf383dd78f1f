"""The adapter: which store a source is, and how it is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from session_adapters.base import (
    Adapter,
    Capabilities,
    Liveness,
    NativeCommand,
    Report,
    Root,
    SessionMissing,
    SessionUnreadable,
    Source,
    unique,
)
from session_adapters.cursor import places
from session_adapters.cursor.chat_store.reader import ChatReader, ChatShelf, count_chat
from session_adapters.cursor.document import CursorDocumentStore, document_summaries
from session_adapters.cursor.editor_store.database import EditorShelf, Kept, editor_summaries, has_session, new_texts
from session_adapters.cursor.facts import CursorFacts, CursorReader, CursorStore, CursorTranscript, linked
from session_adapters.cursor.lines import LineBuilder, count_lines, transcript_facts
from session_adapters.cursor.native import live_sessions, resume_command
from session_adapters.cursor.plain import PlainTranscript
from session_adapters.cursor.summary import CursorFold, relate
from session_adapters.cursor.tracking import with_tracking
from session_adapters.growing.jsonl_adapter import JsonlTranscript
from session_adapters.growing.texts import LinesReader
from session_adapters.model import Message, Problem, Session, SessionSummary
from session_adapters.reading.bounds import unread
from session_adapters.reading.damaged_places import Damage, reading_session, reason_of
from session_adapters.reading.folders import report_damage
from session_adapters.reading.searchable import SessionTexts, Text
from session_adapters.reading.sqlite import (
    UNREADABLE,
    DatabaseMissing,
    DatabaseUnreadable,
    SessionGone,
    reading_stored,
)
from session_adapters.reading.units import Lost
from session_adapters.session_counts import SessionFold, messages_usage
from session_adapters.text import scrub
from session_adapters.transcript import END_MESSAGES, PAGE, Transcript
from session_adapters.usage import Counted, Usage

__all__ = ["CursorAdapter"]


class CursorAdapter(Adapter):
    """Reads `~/.cursor` and the editor's user directory."""

    name = "cursor"
    label = "Cursor"
    badge = "cu"
    capabilities = Capabilities(session_persistence="sqlite", can_resume=True, can_fork=False)

    # Finding -----------------------------------------------------------------------------------------------

    def roots(self) -> Sequence[Root]:
        """See `Adapter.roots`."""
        return places.found_roots(self.environment)

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`."""

        def trouble(path: Path, error: OSError) -> None:
            reason = f"it cannot be reached: {error.strerror or error}"
            report(Problem(agent=self.name, path=str(path), reason=reason))

        return unique(places.all_sources(self.environment, trouble))

    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        """See `Adapter.summaries`."""
        return self._listed(source, report, exact=exact)

    def counter(self, source: Source) -> Callable[[Source, Report], Counted] | None:
        """See `Adapter.counter`: of the editor's databases."""
        if source.layout != places.EDITOR:
            return None
        kept = Kept()
        return lambda one, report: (self._listed(one, report, exact=True, kept=kept), None)

    def _listed(
        self, source: Source, report: Report, *, exact: bool, kept: Kept | None = None
    ) -> Sequence[SessionSummary]:
        lost = Damage()
        found: list[SessionSummary] = []
        try:
            if source.layout == places.EDITOR:
                found = editor_summaries(source.path, source.root, source.size, lost, exact=exact, kept=kept)
            elif source.layout == places.DOCUMENT:
                found = document_summaries(source.path, source.size, lost, exact=exact)
            elif source.layout == places.CHAT:
                found = self._chat_summary(source, lost, exact)
            else:
                found = _transcript_summary(source, lost, exact)
        except (DatabaseMissing, FileNotFoundError):  # gone since it was listed
            pass
        except UNREADABLE as error:
            lost.add("", reason_of(error))
        report_damage(source, lost, report)
        return found

    def _chat_summary(self, source: Source, damaged: Damage, exact: bool) -> list[SessionSummary]:
        """A chat; where nothing of it can be read what was said stands in its transcript."""
        lost = Damage()
        found: SessionSummary | None = None

        def read(reader: ChatReader) -> tuple[SessionSummary | None, Damage]:
            fold = count_chat(reader, exact=exact)
            empty = reader.is_empty and not reader.lost
            summary = fold.summary(reader.facts, source.path, size=source.size)
            return None if empty else summary, reader.damage

        try:
            found, lost = ChatShelf(source.path).visit(source.session_id, read)
        except (DatabaseUnreadable, OSError) as error:
            beside = self._beside(source)
            if beside is None:
                raise
            lost.add("", reason_of(error))
        else:
            beside = self._beside(source) if found is None or not found.message_count else None
        damaged.extend(lost)
        return _transcript_summary(beside, damaged, exact) if beside else [found] if found else []

    def _beside(self, chat: Source) -> Source | None:
        """The transcript of the same conversation."""
        written = places.transcripts(Path(chat.root), lambda path, error: None, chat.session_id)
        return next((one for one in written if not places.is_helper(one)), None)

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """See `relations.relate`."""
        return relate(summaries)

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`. The editor's databases are asked only where no chat has the name."""
        session_id = scrub(session_id)
        found: dict[str, Source] = {}
        databases: list[Source] = []
        for source in unique(places.all_sources(self.environment, lambda path, error: None, session_id)):
            if source.layout in (places.EDITOR, places.DOCUMENT):
                databases.append(source)
            else:
                known = found.get(source.layout)
                if known is None or source.modified > known.modified:
                    found[source.layout] = source
        if places.CHAT in found:
            return found[places.CHAT]
        written = found.get(places.LINES) or found.get(places.TEXT)
        for source in databases:
            # A tab or a row of the document has no transcript beside it: only the database of all can be better.
            shared = source.layout == places.EDITOR and Path(source.path).parent.name == "globalStorage"
            if not shared and written is not None:
                continue
            if source.layout == places.EDITOR:
                holds = has_session(source.path, session_id)
            else:
                try:
                    holds = CursorDocumentStore(source.path).visit(session_id, lambda reader: True)
                except (SessionGone, *UNREADABLE):
                    holds = False  # `summaries` reports it
            if holds:
                return source
        return written

    def live(self) -> Mapping[str, Liveness]:
        """See `Adapter.live`."""

        def recent() -> Iterator[Source]:
            return (one for one in self.sources(lambda problem: None) if one.layout == places.CHAT)

        def directory(source: Source) -> tuple[str, str] | None:
            try:
                facts = ChatShelf(source.path).visit(source.session_id, lambda reader: reader.facts)
            except UNREADABLE:
                return None  # `summaries` reports it
            return (source.session_id, facts.cwd) if facts.cwd else None

        return live_sessions(self.environment, recent, directory)

    # Reading -----------------------------------------------------------------------------------------------

    def open(self, source: Source, session_id: str) -> Transcript:
        """See `Adapter.open`."""
        return self.open_end(source, session_id, 0)

    def open_end(self, source: Source, session_id: str, last: int = END_MESSAGES) -> Transcript:
        """See `Adapter.open_end`."""
        session_id = scrub(session_id)
        source = self._readable(source, session_id)
        shelf = _shelf(source)
        if shelf is None:
            return _open_file(source, session_id)
        return CursorTranscript(self.name, shelf, session_id, last=last)

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`."""
        session_id = scrub(session_id)
        source = self._readable(source, session_id)
        shelf = _shelf(source)
        if shelf is None:
            return _file_session(source, session_id)

        def read(reader: CursorReader) -> tuple[CursorFold, CursorFacts, list[Message], int]:
            fold = CursorFold()
            blocks: list[Message] = []
            for block in reader.newest(reader.units()):
                fold.add(block)
                blocks += block
            fold.warnings = len(reader.damage)
            return fold, reader.seen(partial=False), linked(blocks), reader.left

        with reading_stored(places.AGENT, session_id, source.path):
            fold, facts, messages, left = shelf.visit(session_id, read)
        # Last, for it looks into the databases of all workspaces.
        if facts.cwd is None and isinstance(shelf, EditorShelf):
            facts = facts._replace(cwd=shelf.directory(session_id))
        size = source.size if source.layout == places.CHAT else 0
        return Session.of(fold.summary(facts, source.path, size=size), messages, left, partial=bool(left))

    def added_up(self, source: Source, session_id: str) -> tuple[SessionSummary, SessionFold, int]:
        """See `Adapter.added_up`: of a database a page at a time."""
        session_id = scrub(session_id)
        source = self._readable(source, session_id)
        shelf = _shelf(source)
        if shelf is None:
            return super().added_up(source, session_id)

        def read(reader: CursorReader) -> tuple[SessionSummary, SessionFold, int]:
            fold = CursorFold()
            reader.count(reader.units(), fold)
            return fold.summary(reader.seen(partial=False), source.path), fold, reader.left

        with reading_stored(self.name, session_id, source.path):
            return shelf.visit(session_id, read)

    def session_texts(self, source: Source, session_id: str) -> Iterator[Text]:
        """See `Adapter.session_texts`."""
        reader = self.text_reader(source)
        if reader is None or session_id != reader.session_id:
            yield from super().session_texts(source, session_id)
            return
        with reading_session(self.name, session_id, source.path):
            yield from (text for _, text in reader.read())
        if lost := len(reader.builder.damaged):
            raise SessionUnreadable(unread(lost))

    def text_reader(self, source: Source) -> LinesReader | None:
        """See `Adapter.text_reader`."""
        if source.layout != places.LINES:
            return None
        return LinesReader(source.path, source.session_id, LineBuilder())

    def new_texts(self, source: Source, report: Report, marks: Mapping[str, str]) -> Iterator[SessionTexts] | None:
        """See `Adapter.new_texts`: of the editor's databases."""
        whole = partial(self.texts, source, report)
        return new_texts(source.path, marks, whole) if source.layout == places.EDITOR else None

    def usage(self, source: Source, report: Report, session_ids: Collection[str] | None = None) -> Iterator[Usage]:
        """See `Adapter.usage`: transcripts tell of no call."""
        told = source.layout not in (places.LINES, places.TEXT)
        return super().usage(source, report, session_ids) if told else iter(())

    def session_calls(self, source: Source, session: Session) -> Iterator[Usage]:
        """See `Adapter.session_calls`."""
        return messages_usage(session)

    def _readable(self, source: Source, session_id: str) -> Source:
        """The transcript in the place of a chat that does not say where its messages are."""
        if source.session_id not in ("", session_id):
            raise SessionMissing(f"cursor session {session_id} is not in {source.path}")
        if source.layout != places.CHAT:
            return source
        try:
            is_told = ChatShelf(source.path).visit(session_id, lambda reader: bool(reader.root.ids))
        except UNREADABLE:
            is_told = False
        return source if is_told else self._beside(source) or source

    # Native commands ---------------------------------------------------------------------------------------

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """See `native.resume_command`. Cursor cannot fork."""
        return resume_command(summary, self.environment)


def _shelf(source: Source) -> CursorStore | None:
    """The database that a source is; None for a file."""
    if source.layout == places.CHAT:
        return ChatShelf(source.path)
    if source.layout == places.EDITOR:
        return EditorShelf(source.path, source.root)
    return CursorDocumentStore(source.path) if source.layout == places.DOCUMENT else None


# Transcripts -------------------------------------------------------------------------------------------------


def _open_file(source: Source, session_id: str, page: int = PAGE) -> Transcript:
    if source.layout == places.TEXT:
        return PlainTranscript(source)
    return JsonlTranscript(places.AGENT, session_id, source.path, LineBuilder, page=page)


def _file_session(source: Source, session_id: str) -> Session:
    transcript = _open_file(source, session_id, sys.maxsize)
    if not transcript.messages:
        reason = transcript.problems[0].reason if transcript.problems else "nothing is said in it"
        raise SessionUnreadable(f"cannot read {source.path}: {reason}")
    fold = CursorFold()
    fold.add(transcript.messages)
    fold.warnings = len(transcript.problems)
    return Session.of(_file_summary(source, fold, Damage()), transcript.messages, partial=False)


def _transcript_summary(source: Source, damaged: Damage, exact: bool) -> list[SessionSummary]:
    if source.layout == places.TEXT:
        messages, lost = PlainTranscript.parse(source.path)
        fold = CursorFold()
        fold.add(messages)
        fold.warnings = len(lost)
        for place, reason in lost:
            damaged.add(place, reason)
    else:
        fold, broken = count_lines(source, exact=exact)
        damaged.extend(broken)
    return [_file_summary(source, fold, damaged)] if fold.messages else []


def _file_summary(source: Source, fold: CursorFold, damaged: Damage) -> SessionSummary:
    def note(lost: Lost) -> None:
        damaged.add(lost.place, lost.reason)

    facts = with_tracking(transcript_facts(source, fold), source.root, note)
    return fold.summary(facts, source.path, size=source.size)
