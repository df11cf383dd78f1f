"""Hector's sessions, in files and on servers, as one agent's."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from session_adapters.base import (
    Adapter,
    Capabilities,
    Environment,
    Memory,
    NativeCommand,
    Report,
    Root,
    SessionMissing,
    Source,
)
from session_adapters.growing.sessions import KeptSessions
from session_adapters.hector import ids
from session_adapters.hector.configuration.dsn import DSN_VARIABLE, parse_dsns
from session_adapters.hector.configuration.memory_settings import configuration_of, memory_of
from session_adapters.hector.configuration.places import HectorServer, Trouble, is_there, places, zone_of
from session_adapters.hector.counts import HectorFold, shown
from session_adapters.hector.detect import parts_in, visit
from session_adapters.hector.layout import HectorFacts, HectorLayout
from session_adapters.hector.messages import HectorConversation
from session_adapters.hector.reader import Database, File
from session_adapters.hector.recount import Kept, added_up
from session_adapters.hector.server import Server, ServerLook
from session_adapters.hector.summary import database_facts, database_summaries
from session_adapters.hector.texts import new_texts, session_texts
from session_adapters.hector.transcript import HectorTranscript
from session_adapters.model import Problem, Session, SessionSummary
from session_adapters.reading.searchable import SessionTexts, Text
from session_adapters.reading.sqlite import (
    DatabaseMissing,
    DatabaseUnreadable,
    SessionGone,
    database_source,
    reading_stored,
)
from session_adapters.reading.sqlite_rows import Note
from session_adapters.session_counts import SessionFold
from session_adapters.text import scrub
from session_adapters.transcript import END_MESSAGES, Transcript
from session_adapters.usage import Counted

__all__ = ["HectorAdapter"]

T = TypeVar("T")
_SERVER = "PostgreSQL"


class _Store(NamedTuple):
    """A database, and how it was found."""

    database: Database
    layout: str
    """For `doctor`."""


class HectorAdapter(Adapter):
    """Reads the databases that `places` finds: files, and servers.

    Hector 1 goes on with a session by `hector chat --session`, in the directory that its paths begin in and with the
    configuration that has its agent; Hector 2 only through its server, by no command.
    """

    name = "hector"
    label = "Hector"
    badge = "hx"
    grows_alone = True
    capabilities = Capabilities(session_persistence="sqlite", can_resume=True)

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._own_ids: dict[str, tuple[tuple[int, ...], set[str]]] = {}
        """By database: its stamp, and what it calls its sessions."""
        self._kept: dict[str, Kept] = {}
        """By database, what its sessions came to."""
        self._looks: dict[str, ServerLook] = {}
        """By what people are shown of an address."""

    # Finding -----------------------------------------------------------------------------------------------

    def roots(self) -> Sequence[Root]:
        """See `Adapter.roots`. Hector's configuration is read for them; a server is not asked whether it is there."""
        found: list[Root] = []
        for store in self._stores(_nothing):
            path = Path(store.database.path)
            if isinstance(store.database, Server):
                found.append(Root(path=path, layout=store.layout, exists=True))
            elif path.parent.name == ".hector":  # Hector's own directory: whatever is written there concerns it
                found.append(Root(path=path.parent, layout=path.name, exists=is_there(path.parent)))
            else:
                found.append(Root(path=path, layout=store.layout, exists=is_there(path)))
        return list(dict.fromkeys(found))

    def _stores(self, trouble: Trouble) -> Iterator[_Store]:
        """Every database to look at, in the order in which they count: files before servers."""
        value = self.environment.variables.get(DSN_VARIABLE, "")
        dsns = parse_dsns(value, lambda place, reason: trouble(DSN_VARIABLE, place, reason))
        zone = zone_of(self.environment)
        for place in places(self.environment, dsns, trouble):
            if isinstance(place, HectorServer):
                look = self._looks.setdefault(place.dsn.label, ServerLook())
                named = f"{_SERVER}, {place.layout}" if place.layout else _SERVER
                yield _Store(Server(place.dsn, zone, look), named)
            else:
                yield _Store(File(str(place.path)), place.layout)

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`. Of a server it is asked whether anything changed, which is what `stat` tells of a
        file."""

        def trouble(path: str, place: str, reason: str) -> None:
            report(Problem(agent=self.name, path=path, reason=reason, place=place))

        seen: set[tuple[int, ...]] = set()
        for store in _servers_last(self._stores(trouble)):
            database = store.database
            try:
                if isinstance(database, Server):
                    stamp, size = database.look()
                    source = Source(agent=self.name, path=database.path, stamp=stamp, layout=_SERVER, size=size)
                else:
                    source = database_source(self.name, database.path, root=database.path, layout=store.layout)
            except (FileNotFoundError, NotADirectoryError):
                # A configuration names it, and nothing was written to it yet.
                continue
            except OSError as error:
                trouble(database.path, "", f"the database cannot be reached: {error.strerror or error}")
                continue
            except DatabaseUnreadable as error:
                trouble(database.path, "", str(error))
                continue
            key = source.stamp[:2] if isinstance(database, File) else ()
            if not key or key not in seen:
                seen.add(key)
                yield source

    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        """See `Adapter.summaries`."""
        return self._listed(source, report, partial(database_summaries, size=source.size, exact=exact))

    def counter(self, source: Source) -> Callable[[Source, Report], Counted] | None:
        """See `Adapter.counter`: of a file."""
        if source.layout == _SERVER:
            return None
        kept = self._kept[source.path] = KeptSessions()
        count = partial(database_summaries, size=0, exact=True, kept=kept)
        return lambda one, report: (self._listed(one, report, count), None)

    def session_ids(self, source: Source, report: Report) -> Sequence[str]:
        """See `Adapter.session_ids`."""

        def read(database: Database, named: Callable[[str], str], note: Note) -> list[str]:
            return [named(one.id) for one in database_facts(database, note)[0]]

        return self._listed(source, report, read)

    def _listed(
        self, source: Source, report: Report, read: Callable[[Database, Callable[[str], str], Note], list[T]]
    ) -> list[T]:
        """What of a database `read` lists; what it cannot read is reported."""

        def note(place: str, reason: str) -> None:
            report(Problem(agent=self.name, path=source.path, reason=reason, place=place))

        try:
            named, own = self._naming(source)
            found = read(self._database(source), named, note)
            self._own_ids[source.path] = source.stamp, own
            return found
        except DatabaseMissing:  # gone since it was listed
            return []
        except (DatabaseUnreadable, OSError) as error:
            note("", str(error))
            return []

    def _naming(self, source: Source) -> tuple[Callable[[str], str], set[str]]:
        """What gives the id that is shown for one within a database, and those that it was asked for."""
        # Ids that databases read before this one have: they are not this one's, whatever it calls them.
        taken: set[str] = set()
        for store in self._stores(_nothing):
            if store.database.path == source.path:
                break
            try:
                stamp = store.database.last_stamp()
                known = self._own_ids.get(store.database.path)
                if known is None or known[0] != stamp:
                    listed, _ = database_facts(store.database, lambda place, reason: None)
                    known = self._own_ids[store.database.path] = stamp, {facts.id for facts in listed}
                taken |= known[1]
            except (DatabaseUnreadable, OSError):
                continue  # `sources` and its own `summaries` say so
        own: set[str] = set()

        def named(session_id: str) -> str:
            own.add(session_id)
            return ids.of_store(session_id, source.path) if session_id in taken else session_id

        return named, own

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`."""
        plain, tag = ids.split_store(scrub(session_id))
        try:
            parts = ids.decode(plain)
        except ValueError:  # no id of ours, so no session of Hector's
            return None
        for source in self.sources(lambda problem: None):
            if tag and ids.store_tag(source.path) != tag:
                continue
            try:
                visit(self._database(source), parts, lambda layout, facts: None)
            except (SessionGone, DatabaseUnreadable, OSError):
                # Not in this one; that it cannot be read is said with the list.
                continue
            return source
        return None

    def other_names(self, summary: SessionSummary) -> Collection[str]:
        """See `Adapter.other_names`: its id as Hector has it, alone and behind whose it is."""
        return summary.known_as, str(summary.raw.get("sessionId", ""))

    def _database(self, source: Source) -> Database:
        """Raises `DatabaseUnreadable` for a server whose address was taken back."""
        if source.layout != _SERVER:
            return File(source.path)
        found = (store.database for store in self._stores(_nothing) if isinstance(store.database, Server))
        server = next((database for database in found if database.path == source.path), None)
        if server is None:
            raise DatabaseUnreadable("its address stands neither in a configuration nor in the settings any more")
        return server

    def may_wait_unseen(self, tool: str) -> bool:
        """See `Adapter.may_wait_unseen`."""
        return False

    # Reading -----------------------------------------------------------------------------------------------

    def open(self, source: Source, session_id: str) -> Transcript:
        """See `Adapter.open`."""
        return self.open_end(source, session_id, 0)

    def open_end(self, source: Source, session_id: str, last: int = END_MESSAGES) -> Transcript:
        """See `Adapter.open_end`."""
        parts = parts_in(source, session_id)
        with reading_stored(self.name, session_id, source.path):
            database = self._database(source)
        return HectorTranscript(database, scrub(session_id), parts, last=last)

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`."""
        session_id = scrub(session_id)

        def read(layout: HectorLayout, facts: HectorFacts) -> Session:
            fold, conversation = HectorFold(), HectorConversation()
            for row in layout.newest(facts.owner, layout.marks([facts.owner])[facts.owner]):
                fold.warnings += bool(row.lost)
                if not row.lost:
                    messages = shown(row.messages, facts)
                    fold.add(messages)
                    conversation.take(messages)
            fold.warnings += layout.left
            summary = fold.summary(facts, source.path, session_id, partial=bool(layout.lost))
            return Session.of(summary, conversation.messages, layout.left, beside=dict(layout.beside(facts)))

        parts = parts_in(source, session_id)
        with reading_stored(self.name, session_id, source.path):
            return visit(self._database(source), parts, read)

    def added_up(self, source: Source, session_id: str) -> tuple[SessionSummary, SessionFold, int]:
        """See `Adapter.added_up`: a page at a time."""

        def read(layout: HectorLayout, facts: HectorFacts) -> tuple[SessionSummary, SessionFold, int]:
            fold = added_up(layout, facts, self._kept.get(source.path))
            return fold.summary(facts, source.path, session_id), fold, layout.left

        with reading_stored(self.name, session_id, source.path):
            return visit(self._database(source), parts_in(source, session_id), read)

    def texts(self, source: Source, report: Report, session_id: str | None = None) -> Iterator[Text]:
        """See `Adapter.texts`. Rows that several sessions share are found in the one that counts them."""
        for one in self.searched(source, report) if session_id is None else [session_id]:
            try:
                parts = parts_in(source, one)
                elsewhere = visit(self._database(source), parts, lambda layout, facts: facts.counted_elsewhere)
            except (SessionGone, SessionMissing, DatabaseUnreadable, OSError):
                elsewhere = False  # `Adapter.texts` says so
            if not elsewhere:
                yield from super().texts(source, report, one)

    def session_texts(self, source: Source, session_id: str) -> Iterator[Text]:
        """See `Adapter.session_texts`."""
        with reading_stored(self.name, session_id, source.path):
            database = self._database(source)
        return session_texts(database, scrub(session_id), parts_in(source, session_id))

    def new_texts(self, source: Source, report: Report, marks: Mapping[str, str]) -> Iterator[SessionTexts] | None:
        """See `Adapter.new_texts`: of a file."""
        whole = partial(super().texts, source, report)
        return None if source.layout == _SERVER else new_texts(source.path, self._naming(source)[0], marks, whole)

    def memory(self, summary: SessionSummary) -> Memory | None:
        """See `Adapter.memory`. Version 2 files a session under an app, whose agents share it."""
        return memory_of(self.environment, summary.path, _agent_of(summary), str(summary.raw.get("layout", "")))

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """See `Adapter.resume_command`. Nobody's sessions and those of version 2 have none."""
        agent = _agent_of(summary)
        if not agent or summary.raw.get("orphaned"):
            return None
        file = configuration_of(self.environment, summary.path, agent)
        directory = summary.cwd or (str(file.parent) if file is not None else None)
        named = ["--config", str(file)] if file is not None else []
        return NativeCommand(
            argv=("hector", "chat", *named, f"--agent={agent}", f"--session={summary.raw.get('sessionId', '')}"),
            cwd=directory,
            warning="Only Hector 1 has this command: Hector 2 goes on with a session by its server alone",
        )


def _nothing(path: str, place: str, reason: str) -> None:
    """For looks beside that of `sources`, which reports."""


def _agent_of(summary: SessionSummary) -> str | None:
    """The agent that a session of version 1 belongs to; None where it is nobody's, or an app's."""
    named = summary.raw.get("agentId")
    return named if isinstance(named, str) else None


def _servers_last(stores: Iterable[_Store]) -> Iterator[_Store]:
    """The same: when the first server's turn comes, all of them have been asked."""
    servers: list[_Store] = []
    for store in stores:
        if isinstance(store.database, Server):
            store.database.begin()
            servers.append(store)
        else:
            yield store
    yield from servers
