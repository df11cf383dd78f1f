"""Hermes: one `state.db` per profile.

Format: spec 000, spec 004 §4.2.10; facts hermes.md 1, 2 and 4.4.

No version has a table of memory entries: they are in text files (`memories`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from session_adapters.base import (
    Adapter,
    Capabilities,
    Liveness,
    NativeCommand,
    Report,
    Root,
    SessionMissing,
    Source,
    option,
    unique,
)
from session_adapters.hermes.full_text import ask_index
from session_adapters.hermes.live import chat_list, open_in_chats
from session_adapters.hermes.memories import LAYOUT as MEMORY
from session_adapters.hermes.memories import MemoryTranscript, memory_sources, memory_summary, read_memory
from session_adapters.hermes.message_queries import exists, session_rows
from session_adapters.hermes.messages import HermesConversation
from session_adapters.hermes.old_transcripts import (
    LAYOUT,
    leftover_sources,
    leftover_summary,
    messages_of,
    open_leftover,
)
from session_adapters.hermes.session_queries import HermesSchema, Note, take_census
from session_adapters.hermes.summaries import KeptSummaries, summaries_of
from session_adapters.hermes.texts import every_text, new_texts, session_texts
from session_adapters.hermes.transcript import PAGE_ROWS, HermesTranscript
from session_adapters.hermes.usage import read_usage
from session_adapters.model import Problem, Session, SessionSummary
from session_adapters.reading.folders import is_folder, may_be_folder
from session_adapters.reading.lineage import once
from session_adapters.reading.searchable import SessionTexts, Text
from session_adapters.reading.sqlite import (
    DatabaseMissing,
    DatabaseUnreadable,
    database_source,
    read_database,
    reading_stored,
)
from session_adapters.text import scrub
from session_adapters.transcript import END_MESSAGES, Transcript
from session_adapters.usage import Counted, Usage

__all__ = ["HermesAdapter"]

T = TypeVar("T")
DATABASE = "state.db"
_FILES = (LAYOUT, MEMORY)
"""Layouts of sources that are a file with one session."""
_PROFILE = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MOST_PROFILES = 500
"""That are looked at: each takes half a millisecond, at every look."""
_ASKS = frozenset(("terminal", "execute_code", "computer_use", "delegate_task", "memory"))
"""Tools of Hermes 0.19 that may ask for leave, which its gateway keeps in its memory."""


class HermesAdapter(Adapter):
    """Reads Hermes' homes: `$HERMES_HOME` or `~/.hermes`, and every profile under it.

    Where `$HERMES_HOME` is itself a profile, only that one is read: whoever set it asked for no other.
    """

    name = "hermes"
    label = "Hermes"
    badge = "hm"
    capabilities = Capabilities(session_persistence="sqlite", can_resume=True, can_fork=False)
    grows_alone = True
    sums_at_once = True

    # Finding -----------------------------------------------------------------------------------------------

    def roots(self) -> Sequence[Root]:
        """See `Adapter.roots`."""
        home = self.environment.path("HERMES_HOME", ".hermes")
        own = home.name if home.parent.name == "profiles" and _PROFILE.fullmatch(home.name) else None
        found = [Root(path=home, layout=DATABASE, profile=own, exists=is_folder(home))]
        try:
            names = self._profiles()
            if len(names) > _MOST_PROFILES:  # those in which Hermes ran come first
                folder = f"{home}/profiles"
                names.sort(key=lambda name: not os.path.exists(f"{folder}/{name}/{DATABASE}"))  # noqa: PTH110 - of many
                names = sorted(names[:_MOST_PROFILES])
        except OSError:  # `sources` reports the one that is there and cannot be read
            names = []
        for name in names:
            path = home / "profiles" / name
            if may_be_folder(path):
                profile = None if name == "default" else name
                found.append(Root(path=path, layout=DATABASE, profile=profile, exists=is_folder(path)))
        return found

    def _profiles(self) -> list[str]:
        """What may be a profile by its name. Raises `OSError`."""
        folder = self.environment.path("HERMES_HOME", ".hermes") / "profiles"
        return sorted(filter(_PROFILE.fullmatch, os.listdir(folder)))  # noqa: PTH208 - names alone

    @property
    def left_out(self) -> str:
        """What is to be said where there are more profiles than are looked at, without a full stop. Raises
        `OSError`."""
        if (number := len(self._profiles())) <= _MOST_PROFILES:
            return ""
        first = f"{_MOST_PROFILES:,}, those with a {DATABASE} first"
        return f"of {number:,} entries, which may all be profiles, only {first}, are looked at"

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`."""
        roots = self.roots()
        profiles = roots[0].path / "profiles"
        try:  # `roots` leaves out what it cannot list, and has nobody to tell
            if said := self.left_out:
                self._report(report, profiles, said)
        except (FileNotFoundError, NotADirectoryError):  # a home without profiles
            pass
        except OSError as error:
            self._report(report, profiles, f"the profiles cannot be listed: {error.strerror or error}")
        yield from unique(source for root in roots for source in self._sources_of(root, report))

    def _sources_of(self, root: Root, report: Report) -> Iterator[Source]:
        path = root.path / DATABASE
        try:
            yield database_source(self.name, path, root=str(root.path), layout=DATABASE, profile=root.profile)
        except (FileNotFoundError, NotADirectoryError):  # a profile in which no agent was run yet
            pass
        except OSError as error:
            self._report(report, path, f"the database cannot be reached: {error.strerror or error}")
        try:
            yield from leftover_sources(self.name, root.path, root.profile)
        except OSError as error:
            self._report(report, root.path / "sessions", f"it cannot be listed: {error.strerror or error}")
        try:
            yield from memory_sources(self.name, root.path, root.profile)
        except OSError as error:
            self._report(report, root.path / "memories", f"it cannot be reached: {error.strerror or error}")

    def _report(self, report: Report, path: str | Path, reason: str, place: str = "") -> None:
        report(Problem(agent=self.name, path=str(path), reason=reason, place=place))

    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        """See `Adapter.summaries`. A database is always counted exactly: that takes one pass over its rows."""
        if source.layout in _FILES:
            try:
                return [
                    memory_summary(source)[0] if source.layout == MEMORY else leftover_summary(source, exact=exact)
                ]
            except FileNotFoundError:  # removed since it was listed
                return []
            except OSError as error:
                self._report(report, source.path, f"it cannot be read: {error.strerror or error}")
                return []
        return self._listed(source, report, lambda *a: summaries_of(take_census(*a), source.path, source.profile))

    def counter(self, source: Source) -> Callable[[Source, Report], Counted] | None:
        """See `Adapter.counter`: of a database."""
        if source.layout in _FILES:
            return None
        kept = KeptSummaries(source.path, source.profile)
        return lambda one, report: (self._listed(one, report, kept.read), None)

    def _listed(self, source: Source, report: Report, read: Callable[[apsw.Connection, Note], list[T]]) -> list[T]:
        """What `read` lists of a database; what it cannot read is reported."""
        notes: list[tuple[str, str]] = []

        def anew(connection: apsw.Connection) -> list[T]:
            notes.clear()
            return read(connection, lambda place, reason: notes.append((place, reason)))

        try:
            found = read_database(source.path, anew)
        except DatabaseMissing:  # removed since it was listed
            return []
        except (DatabaseUnreadable, OSError) as error:
            self._report(report, source.path, str(error))
            return []
        for place, reason in notes:
            self._report(report, source.path, reason, place)
        return found

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """Each id once: what a database has before a file left over from older days, the first home before the
        profiles. Lineage is known already; it never leaves a database."""
        order = {str(root.path / DATABASE): number for number, root in enumerate(self.roots())}
        return list(once(summaries, lambda one: -order.get(one.path, len(order))).values())

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`."""
        session_id = scrub(session_id)
        leftover: Source | None = None

        def has(connection: apsw.Connection) -> bool:
            HermesSchema.of(connection)  # refuses a database that is not Hermes'
            return exists(connection, session_id)

        for source in self.sources(lambda problem: None):
            if source.layout in _FILES:
                if source.session_id == session_id and leftover is None:
                    leftover = source
                continue
            try:
                if read_database(source.path, has):
                    return source
            except (DatabaseUnreadable, OSError):
                continue  # `summaries` reports it
        return leftover

    def live(self) -> Mapping[str, Liveness]:
        """See `open_in_chats`."""
        return open_in_chats([root.path for root in self.roots()], self.environment.proc)

    def may_wait_unseen(self, tool: str) -> bool:
        """See `Adapter.may_wait_unseen`. A plugin may ask for any tool, which hardly one does."""
        return tool in _ASKS or tool.startswith("mcp_")

    def check_files(self, report: Report) -> None:
        """See `SmallFiles`."""
        for root in self.roots():
            chat_list(root.path, lambda path, reason: self._report(report, path, reason))

    # Reading -----------------------------------------------------------------------------------------------

    def open(self, source: Source, session_id: str) -> Transcript:
        """See `Adapter.open`."""
        return self.open_end(source, session_id, PAGE_ROWS)

    def open_end(self, source: Source, session_id: str, page: int = END_MESSAGES) -> Transcript:
        """See `Adapter.open_end`."""
        if source.layout == MEMORY:
            return MemoryTranscript(self.name, source.session_id, source.path)
        if source.layout == LAYOUT:
            return open_leftover(source)
        return HermesTranscript(source.path, session_id, page=page)

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`."""
        if source.layout == MEMORY:
            summary, entries = read_memory(source)
            return Session.of(summary, entries, warnings=0)
        if source.layout == LAYOUT:
            messages, damaged = messages_of(source)
            try:
                summary = leftover_summary(source, exact=True)
            except OSError as error:
                raise SessionMissing(f"{source.path} is not there any more") from error
            return Session.of(summary, messages, warnings=damaged)
        session_id = scrub(session_id)

        def read(connection: apsw.Connection) -> tuple[list[SessionSummary], HermesConversation, int]:
            census = take_census(connection, lambda place, reason: None, session_id)
            summaries = summaries_of(census, source.path, source.profile, session_id)
            conversation = HermesConversation(census.sessions[session_id].model if summaries else None)
            schema, left = HermesSchema.of(connection), 0
            if summaries and schema.has_messages:
                found = session_rows(connection, schema, session_id)
                for row in found.rows:
                    conversation.add(row)
                found.tell(conversation.damaged)
                left = found.left
            return summaries, conversation, left

        with reading_stored(self.name, session_id, source.path):
            found, conversation, left = read_database(source.path, read)
        if not found:
            raise SessionMissing(f"hermes session {session_id} is not in {source.path}")
        return Session.of(found[0], conversation.messages, left, warnings=len(conversation.damaged))

    def usage(self, source: Source, report: Report, session_ids: Collection[str] | None = None) -> Iterator[Usage]:
        """See `Adapter.usage`. Sums by session and model, for that is what Hermes keeps."""
        if source.layout in _FILES:
            return super().usage(source, report, session_ids)
        return iter(self._listed(source, report, lambda connection, _: read_usage(connection, session_ids)))

    def texts(self, source: Source, report: Report, session_id: str | None = None) -> Iterator[Text]:
        """See `Adapter.texts`."""
        if session_id is None and source.layout not in _FILES:
            with suppress(DatabaseUnreadable, OSError):
                return every_text(source.path, partial(self.texts, source, report), report)
        return super().texts(source, report, session_id)  # which reports what cannot be read

    def session_texts(self, source: Source, session_id: str) -> Iterator[Text]:
        """See `Adapter.session_texts`."""
        if source.layout in _FILES:
            return super().session_texts(source, session_id)
        return session_texts(source.path, scrub(session_id))

    def new_texts(self, source: Source, report: Report, marks: Mapping[str, str]) -> Iterator[SessionTexts] | None:
        """See `Adapter.new_texts`."""
        if source.layout in _FILES:
            return None

        try:
            return new_texts(source.path, marks, partial(self.texts, source, report), report)
        except (DatabaseUnreadable, OSError):
            return None  # reading it session by session reports it

    def full_text(
        self,
        source: Source,
        expression: str,
        runs: Sequence[str] = (),
        *,
        thorough: bool = True,
        session_ids: Collection[str] | None = None,
    ) -> Sequence[Text] | None:
        """See `Adapter.full_text`: both indexes, in every form that Hermes gave them (facts: hermes.md 2.6)."""
        if source.layout in _FILES:
            return None
        try:
            return read_database(
                source.path,
                lambda connection: ask_index(connection, expression, runs, session_ids, thorough=thorough),
            )
        except (DatabaseMissing, DatabaseUnreadable, OSError):
            return None  # reading the messages themselves reports it

    # Native commands ---------------------------------------------------------------------------------------

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`hermes --resume`, at the newest part of the conversation: Hermes itself would open the summarised
        beginning of a compressed one. None for what is no conversation, and for a file from before the database,
        which Hermes does not look at."""
        if summary.raw.get("layout") in _FILES:
            return None
        profile = ("-p", summary.profile) if summary.profile else ()
        face = ("--tui",) if summary.source == "tui" else ()
        target = str(summary.raw.get("tip") or summary.session_id)
        named = self.environment.variables.get("HERMES_HOME", "").strip()
        env = {"HERMES_HOME": str(self.environment.expand(named))} if named else {}
        return NativeCommand(argv=("hermes", *profile, *face, *option("--resume", target)), cwd=summary.cwd, env=env)
