"""OpenCode: where its stores are, and which copy of a session counts."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import apsw
from msgspec.structs import replace

from session_adapters.base import (
    Adapter,
    Capabilities,
    Environment,
    Liveness,
    NativeCommand,
    Report,
    Root,
    Source,
)
from session_adapters.model import Message, Problem, Session, SessionSummary
from session_adapters.opencode.database import OpenCodeDatabase
from session_adapters.opencode.listing import Note, database_facts, database_summaries, tree_summary
from session_adapters.opencode.native import fork_command, live_sessions, resume_command
from session_adapters.opencode.recount import Recount
from session_adapters.opencode.schema import OpenCodeSchema, sessions_of
from session_adapters.opencode.summary import OpenCodeFold
from session_adapters.opencode.texts import new_texts, session_texts
from session_adapters.opencode.transcript import OpenCodeTranscript
from session_adapters.opencode.trees import TreeShelf, tree_sources
from session_adapters.opencode.units import OpenCodeFacts, OpenCodeReader, OpenCodeStore, SessionGone
from session_adapters.reading.damaged_places import reason_of
from session_adapters.reading.folders import is_folder
from session_adapters.reading.lineage import firsts_of_lines, once
from session_adapters.reading.searchable import SessionTexts, Text
from session_adapters.reading.sqlite import (
    DatabaseMissing,
    DatabaseUnreadable,
    database_source,
    read_database,
    reading_stored,
)
from session_adapters.session_counts import SessionFold
from session_adapters.text import scrub
from session_adapters.transcript import END_MESSAGES, Transcript
from session_adapters.usage import Counted

__all__ = ["OpenCodeAdapter"]

T = TypeVar("T")
_DATABASE = "database"
_RANKS = {"2.x": 0, "1.x": 1, "json": 2, "project": 3, "document": 4}
"""Of several copies of a session the newest generation counts: migrations leave the old one behind."""


class OpenCodeAdapter(Adapter):
    """Reads `$XDG_DATA_HOME/opencode` or `~/.local/share/opencode`: the databases of every channel, `$OPENCODE_DB`
    wherever it is, and the JSON trees from before them."""

    name = "opencode"
    label = "OpenCode"
    badge = "oc"
    capabilities = Capabilities(session_persistence="sqlite", can_resume=True, can_fork=True)

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._recounts: dict[str, Recount] = {}
        """By database, what counts its sessions as they change."""

    # Finding -----------------------------------------------------------------------------------------------

    @property
    def _folder(self) -> Path:
        return self.environment.path("XDG_DATA_HOME", ".local", "share") / "opencode"

    def _named_database(self) -> Path | None:
        """The database that `OPENCODE_DB` names: absolute, or relative to the data directory."""
        value = self.environment.variables.get("OPENCODE_DB", "").strip()
        return None if not value or value == ":memory:" else self._folder / value

    def roots(self) -> Sequence[Root]:
        """See `Adapter.roots`."""
        folder = self._folder
        found = [Root(path=folder, layout="opencode*.db, storage/, project/", exists=is_folder(folder))]
        named = self._named_database()
        if named is not None and named.parent != folder:
            found.append(Root(path=named, layout="OPENCODE_DB", exists=os.path.isfile(named)))  # noqa: PTH113 - as `is_folder`
        return found

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`."""

        def trouble(path: Path, error: OSError) -> None:
            self._report(report, str(path), f"it cannot be reached: {error.strerror or error}")

        folder = self._folder
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208 - names alone
        except (FileNotFoundError, NotADirectoryError):
            names = []
        except OSError as error:
            names = []
            trouble(folder, error)
        paths = [folder / name for name in names if name.startswith("opencode") and name.endswith(".db")]
        named = self._named_database()
        if named is not None:
            paths.insert(0, named)
        seen: set[tuple[int, ...]] = set()
        for path in paths:
            try:
                source = database_source(self.name, path, root=str(folder), layout=_DATABASE)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                trouble(path, error)
                continue
            # `OPENCODE_DB` may name one of the others, and one may be a link to another.
            if source.stamp[:2] not in seen:
                seen.add(source.stamp[:2])
                yield source
        for source in tree_sources(self.name, folder, trouble):
            if source.stamp[:2] not in seen:
                seen.add(source.stamp[:2])
                yield source

    def _report(self, report: Report, path: str, reason: str, place: str = "") -> None:
        report(Problem(agent=self.name, path=path, reason=reason, place=place))

    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        """See `Adapter.summaries`."""

        def read(note: Note) -> list[SessionSummary]:
            if source.layout == _DATABASE:
                return database_summaries(source.path, source.size, note, exact=exact)
            reader = TreeShelf(source.path).reader(source.session_id)
            return [tree_summary(reader, source.path, source.size, exact=exact)]

        return self._listed(source, report, read)

    def counter(self, source: Source) -> Callable[[Source, Report], Counted] | None:
        """See `Adapter.counter`: of a database."""
        if source.layout != _DATABASE:
            return None
        recount = self._recounts[source.path] = Recount(source.path)

        def count(source: Source, report: Report) -> Counted:
            read = partial(database_summaries, source.path, source.size, exact=True, recount=recount)
            return self._listed(source, report, lambda note: read(note)), None

        return count

    def session_ids(self, source: Source, report: Report) -> Sequence[str]:
        """See `Adapter.session_ids`."""
        if source.layout != _DATABASE:
            return super().session_ids(source, report)
        return self._listed(source, report, lambda note: [one.id for one in database_facts(source.path, note)])

    def _listed(self, source: Source, report: Report, read: Callable[[Note], list[T]]) -> list[T]:
        """What of a source `read` lists; what it cannot read is reported."""
        try:
            return read(lambda lost: self._report(report, source.path, lost.reason, lost.place))
        except (DatabaseMissing, SessionGone):  # removed since it was listed
            return []
        except OSError as error:
            self._report(report, source.path, f"it cannot be read: {reason_of(error)}")
        except ValueError as error:
            self._report(report, source.path, str(error))
        return []

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """Each session once, from the newest generation that has it; forks of the trees, which are files of their
        own, by the messages they share; and the first session of each line of forks."""

        def rank(one: SessionSummary) -> tuple[int, float]:
            touched = one.raw.get("touched")
            place = _RANKS.get(str(one.raw.get("layout")), 9)
            return -place, float(touched) if isinstance(touched, int) else 0.0

        kept = once(summaries, rank)
        by_first: dict[object, list[SessionSummary]] = {}
        for summary in kept.values():
            if (first := summary.raw.get("firstMessage")) is not None:
                by_first.setdefault(first, []).append(summary)
        for alike in by_first.values():
            for fork, parent in _origins(alike):
                if fork.kind == "fork" and not fork.forked_from:
                    kept[fork.session_id] = replace(fork, kind="fork", forked_from=parent, parent_id=parent)
        parents = {key: summary.forked_from for key, summary in kept.items() if summary.forked_from}
        firsts = firsts_of_lines(parents, parents)
        return [
            replace(summary, lineage_id=first) if (first := firsts.get(key, key)) != key else summary
            for key, summary in kept.items()
        ]

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`."""
        session_id = scrub(session_id)
        best: tuple[tuple[int, float], Source] | None = None

        def read(connection: apsw.Connection) -> OpenCodeFacts | None:
            return next(sessions_of(connection, OpenCodeSchema.of(connection), lambda lost: None, session_id), None)

        for source in self.sources(lambda problem: None):
            # How good this copy is, by the same rule as in `relate`; None where it has none.
            if source.layout != _DATABASE:
                found = (_RANKS[source.layout], -source.modified) if source.session_id == session_id else None
            else:
                try:
                    facts = read_database(source.path, read)
                except (DatabaseUnreadable, OSError):
                    continue  # `summaries` reports it
                found = None if facts is None else (_RANKS[facts.generation], -(facts.updated or 0))
            if found is not None and (best is None or found < best[0]):
                best = (found, source)
        return best[1] if best is not None else None

    def live(self) -> Mapping[str, Liveness]:
        """See `Adapter.live`."""
        directories: dict[str, str | None] = {}

        def recent() -> Iterator[Source]:
            for source in self.sources(lambda problem: None):
                if source.layout != _DATABASE:
                    yield source
                    continue
                for facts in self._listed(source, lambda problem: None, partial(database_facts, source.path)):
                    if facts.generation != "document":  # which no process of OpenCode's writes
                        directories[facts.id] = facts.directory
                        yield replace(source, session_id=facts.id, modified=(facts.updated or 0) / 1000)

        def header(source: Source) -> tuple[str, str] | None:
            key = source.session_id
            if source.layout == _DATABASE:
                directory = directories[key]
            else:
                try:
                    directory = TreeShelf(source.path).reader(key).facts.directory
                except (SessionGone, OSError, ValueError):
                    directory = None  # `summaries` reports it
            return (key, directory) if directory else None

        return live_sessions(self.environment, recent, header)

    def may_wait_unseen(self, tool: str) -> bool:
        """See `Adapter.may_wait_unseen`. The log tells."""
        return False

    # Reading -----------------------------------------------------------------------------------------------

    def open(self, source: Source, session_id: str) -> Transcript:
        """See `Adapter.open`."""
        return OpenCodeTranscript(_shelf(source), session_id)

    def open_end(self, source: Source, session_id: str) -> Transcript:
        """See `Adapter.open_end`."""
        return OpenCodeTranscript(_shelf(source), session_id, last=END_MESSAGES)

    def session_texts(self, source: Source, session_id: str) -> Iterator[Text]:
        """See `Adapter.session_texts`."""
        if source.layout != _DATABASE:
            return super().session_texts(source, session_id)
        return session_texts(source.path, scrub(session_id))

    def new_texts(self, source: Source, report: Report, marks: Mapping[str, str]) -> Iterator[SessionTexts] | None:
        """See `Adapter.new_texts`."""
        if source.layout != _DATABASE:
            return None
        try:
            return new_texts(source.path, marks, lambda one: self.texts(source, report, one))
        except (DatabaseUnreadable, OSError):
            return None  # reading it session by session reports it

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`. A fork of 1.x keeps no link to its parent: `relate` finds it."""
        session_id = scrub(session_id)
        size = 0 if source.layout == _DATABASE else source.size

        def read(reader: OpenCodeReader) -> Session:
            fold = OpenCodeFold()
            messages: list[Message] = []
            for block in reader.newest(reader.units()):
                fold.add(block)
                messages += block
            fold.warnings = len(reader.damage)
            return Session.of(fold.summary(reader.facts, source.path, size=size), messages, reader.left)

        with reading_stored(self.name, session_id, source.path):
            return _shelf(source).visit(session_id, read)

    def added_up(self, source: Source, session_id: str) -> tuple[SessionSummary, SessionFold, int]:
        """See `Adapter.added_up`: a page at a time."""

        def read(reader: OpenCodeReader) -> tuple[SessionSummary, SessionFold, int]:
            fold = OpenCodeFold()
            reader.count(reader.units(), fold)
            return fold.summary(reader.facts, source.path), fold, reader.left

        with reading_stored(self.name, session_id, source.path):
            recount = self._recounts.get(source.path)
            if recount is not None and (known := recount.added_up(scrub(session_id))) is not None:
                return *known, 0
            return _shelf(source).visit(scrub(session_id), read)

    # Native commands ---------------------------------------------------------------------------------------

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """See `Adapter.resume_command`."""
        return resume_command(summary, self.environment)

    def fork_command(self, summary: SessionSummary) -> NativeCommand | None:
        """See `Adapter.fork_command`."""
        return fork_command(summary, self.environment)


def _shelf(source: Source) -> OpenCodeStore:
    return OpenCodeDatabase(source.path) if source.layout == _DATABASE else TreeShelf(source.path)


def _origins(alike: Sequence[SessionSummary]) -> Iterator[tuple[SessionSummary, str]]:
    """Of sessions that begin alike each that copied something, with the latest one before it that copied less."""
    less: list[tuple[int, str]] = []
    """How much those so far copied, each more than the one before it: those behind that copied as much are out."""
    for _, together in groupby(
        sorted(alike, key=lambda one: (one.created_at, one.session_id)), lambda one: one.created_at
    ):
        began = [(one.raw.get("copiedMessages") or 0, one) for one in together]
        for copied, one in began:
            at = bisect_left(less, (copied, ""))
            if at:
                yield one, less[at - 1][1]
        for copied, one in began:
            del less[bisect_left(less, (copied, "")) :]
            less.append((copied, one.session_id))
