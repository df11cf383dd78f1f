"""The adapter: which store holds a session, and how to read it there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from session_adapters.base import (
    Adapter,
    Capabilities,
    Environment,
    Liveness,
    NativeCommand,
    Report,
    Root,
    SessionMissing,
    Source,
    unique,
)
from session_adapters.model import Problem, Session, SessionSummary
from session_adapters.openclaw.database.counting import Kept
from session_adapters.openclaw.database.event_stores import ClawDatabaseStore, RowStore
from session_adapters.openclaw.database.tables import running_keys
from session_adapters.openclaw.database.texts import new_texts
from session_adapters.openclaw.file_stores import ClawDocumentStore, PackedShelf
from session_adapters.openclaw.index import file_keys, index_summaries
from session_adapters.openclaw.keys import ClawKeys, local_id
from session_adapters.openclaw.listing import (
    NoSession,
    Note,
    database_facts,
    database_sessions,
    database_summaries,
    file_session,
    recounted,
)
from session_adapters.openclaw.native import fork_command, gateway, locked, resume_command
from session_adapters.openclaw.places import (
    AGENT,
    DATABASE,
    DOCUMENT,
    FILE,
    INDEX,
    PACKED,
    StateDir,
    sources_of,
    state_dirs,
)
from session_adapters.openclaw.relations import related
from session_adapters.openclaw.rules import ClawCounts, ClawFile
from session_adapters.reading.damaged_places import is_for_now, reason_of
from session_adapters.reading.folders import is_folder
from session_adapters.reading.searchable import SessionTexts, Text
from session_adapters.reading.sqlite import DatabaseMissing, DatabaseUnreadable, reading_stored
from session_adapters.reading.sqlite_limits import SESSION_ROWS
from session_adapters.text import scrub
from session_adapters.transcript import END_MESSAGES, PAGE
from session_adapters.tree.end import END, PAGE_END, tells_step
from session_adapters.tree.file import TreeStore
from session_adapters.tree.follower import BranchReader, branched_texts
from session_adapters.tree.transcript import TreeTranscript
from session_adapters.usage import Counted, Usage, unpacked

__all__ = ["OpenClawAdapter"]

T = TypeVar("T")


class ClawTranscript(TreeTranscript):
    """A conversation from any of the stores."""

    def __init__(self, session_id: str, path: str, store: Callable[[], TreeStore], *, page: int = PAGE) -> None:
        self._store = store
        super().__init__(AGENT, session_id, path, lambda: [path], page=page)

    def new_store(self, paths: Sequence[str]) -> TreeStore:
        """See `TreeTranscript.new_store`."""
        return self._store()


class OpenClawAdapter(Adapter):
    """Reads every state directory of OpenClaw and of what it was called before.

    A session is known by its key, which OpenClaw's own commands take. Transcripts that no key names any more (reset,
    deleted, left over) are known by their session id.
    """

    name = AGENT
    label = "OpenClaw"
    badge = "ow"
    capabilities = Capabilities(session_persistence="sqlite", can_resume=True, can_fork=True)

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._keys = ClawKeys(environment, lambda: self.sources(lambda problem: None))
        self._kept: dict[str, Kept] = {}
        """By the path of a database that is counted again."""

    # Finding -----------------------------------------------------------------------------------------------

    def roots(self) -> Sequence[Root]:
        """See `Adapter.roots`."""
        return [
            Root(path=state.path, layout=state.layout, profile=state.profile, exists=is_folder(state.path))
            for state in state_dirs(self.environment)
        ]

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`."""
        yield from unique(
            source for state in state_dirs(self.environment) for source in sources_of(state, self.environment, report)
        )

    def summaries(self, source: Source, report: Report, *, exact: bool = False) -> Sequence[SessionSummary]:
        """See `Adapter.summaries`. For an index of keys these have no messages; `relate` puts them and the
        transcripts together."""

        state = self._keys.state_of(source)

        def read(note: Note) -> list[SessionSummary]:
            if source.layout == DATABASE:
                return database_summaries(source, state, note, exact=exact)
            if source.layout == INDEX:
                return index_summaries(source, state, note)
            return [file_session(source, state, note, exact=exact)[0]]

        return self._listed(source, report, read)

    def counter(self, source: Source) -> Callable[[Source, Report], Counted] | None:
        """See `Adapter.counter`: of a database."""
        if source.layout != DATABASE:
            return None
        state = self._keys.state_of(source)
        kept = self._kept[source.path] = Kept()
        return lambda one, report: (self._listed(one, report, lambda note: recounted(one, state, note, kept)), None)

    def session_ids(self, source: Source, report: Report) -> Sequence[str]:
        """See `Adapter.session_ids`."""
        if source.layout != DATABASE:
            return super().session_ids(source, report)
        state = self._keys.state_of(source)
        return self._listed(
            source, report, lambda note: [state.tagged(one.id) for one in database_facts(source.path, note)]
        )

    def _listed(self, source: Source, report: Report, read: Callable[[Note], list[T]]) -> list[T]:
        """What of a source `read` lists; what it cannot read is reported."""

        def note(place: str, reason: str) -> None:
            report(Problem(agent=AGENT, path=source.path, reason=reason, place=place, session_id=source.session_id))

        try:
            return read(note)
        except (DatabaseMissing, FileNotFoundError):  # removed since it was listed
            return []
        except OSError as error:
            note("", f"it cannot be read: {error.strerror or error}")
            return []
        except ValueError as error:
            note("", str(error) if isinstance(error, DatabaseUnreadable | NoSession) else "it is not valid JSON")
            return []

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """See `Adapter.relate`."""
        return related(summaries)

    def live(self) -> Mapping[str, Liveness]:
        """See `Adapter.live`: sessions whose row says that they run, while a gateway does; and transcripts with a
        lock whose process lives."""
        found: dict[str, Liveness] = {}
        pid = gateway(self.environment)
        listed = list(self.sources(lambda problem: None))
        for source in listed if pid is not None else ():
            if source.layout == DATABASE:
                for key in running_keys(source.path):
                    found[self._keys.state_of(source).tagged(key)] = Liveness(pid=pid or 0, status="running")
        files = {source.path: source for source in listed if source.layout == FILE and source.path.endswith(".jsonl")}
        for path, alive in locked(files, self.environment):
            source = files[path]
            indexes = [one for one in self._keys.key_sources(source) if one.layout == INDEX]
            keys = [key for one in indexes for key in file_keys(one).of.get(Path(path).name, ())]
            for key in keys:
                found[self._keys.state_of(source).tagged(key)] = alive
            if not keys:
                found[source.session_id] = alive
        return found

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`. Takes a key, a session id of any of its windows, or the name of a document."""
        return self._keys.find(session_id)

    def other_names(self, summary: SessionSummary) -> Collection[str]:
        """See `Adapter.other_names`: the ids of its windows, and the name of its file or document."""
        raw = summary.raw
        file = () if raw.get("layout") == DATABASE else (Path(summary.path).stem,)
        return {str(raw.get("sessionId", "")), *map(str, raw.get("windows", ())), *file}

    # Reading -----------------------------------------------------------------------------------------------

    def open(self, source: Source, session_id: str) -> ClawTranscript:
        """See `Adapter.open`."""
        return self._open(source, session_id, PAGE)

    def open_end(self, source: Source, session_id: str) -> ClawTranscript:
        """See `Adapter.open_end`."""
        end = self._open(source, session_id, PAGE_END, END_MESSAGES)
        return end if tells_step(end) else self.open(source, session_id)

    def _open(self, source: Source, session_id: str, page: int, last: int = 0) -> ClawTranscript:
        """`last`: so many messages of the end are wanted; 0 for all."""
        session_id = scrub(session_id)
        path = source.path
        local = local_id(session_id, self._keys.state_of(source)) or session_id
        stores: dict[str, Callable[[], TreeStore]] = {
            DATABASE: lambda: RowStore(ClawDatabaseStore(path, local, last or SESSION_ROWS)),
            FILE: lambda: ClawFile([path], END if last else 0),
            PACKED: lambda: RowStore(PackedShelf(path)),
            DOCUMENT: lambda: RowStore(ClawDocumentStore(path)),
        }
        if source.layout not in stores:
            raise SessionMissing(f"{path} has no conversations, only their keys")
        if source.layout != DATABASE and not self._keys.is_in(source, session_id):
            raise SessionMissing(f"openclaw session {session_id} is not in {path}")
        return ClawTranscript(session_id, path, stores[source.layout], page=page)

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`."""
        session_id = scrub(session_id)
        transcript = self._open(source, session_id, 1 << 62)
        summary = self._summary(source, session_id)
        tree, leaf = transcript.file.tree, transcript.file.leaf()
        raw = {
            **summary.raw,
            "leaf": tree.nodes.ids[leaf] if leaf is not None else None,
            "leaves": [tree.nodes.ids[tip] for tip in tree.tips(leaf)],
        }
        return Session.of(summary, transcript.messages, _left(transcript), raw=raw)

    def session_texts(self, source: Source, session_id: str) -> Iterator[Text]:
        """See `Adapter.session_texts`; a file's are found under its key."""
        transcript = self._open(source, session_id, 1)
        named = session_id if source.layout == DATABASE else self._summary(source, session_id).session_id
        yield from branched_texts(named, transcript, _left(transcript))

    def text_reader(self, source: Source) -> BranchReader | None:
        """See `Adapter.text_reader`. Packed files and documents are not added to."""
        found = list(self.searched(source, lambda problem: None)) if source.layout == FILE else []
        if len(found) != 1:
            return None
        named = self._summary(source, found[0]).session_id
        return BranchReader(named, lambda: self._open(source, found[0], 1))

    def new_texts(self, source: Source, report: Report, marks: Mapping[str, str]) -> Iterator[SessionTexts] | None:
        """See `Adapter.new_texts`."""
        if source.layout != DATABASE:
            return None
        try:
            state = self._keys.state_of(source)
            return new_texts(source.path, state, marks, lambda one: self.texts(source, report, one))
        except (DatabaseUnreadable, OSError):
            return None  # reading it session by session reports it

    def _summary(self, source: Source, session_id: str) -> SessionSummary:
        """The summary of one session, counted in full. Raises `SessionMissing` and `SessionUnreadable`."""
        state = self._keys.state_of(source)
        with reading_stored(AGENT, session_id, source.path):
            if source.layout != DATABASE:
                return self._keys.under_key(
                    source, file_session(source, state, lambda *one: None, exact=True)[0], state
                )
            local = local_id(session_id, state) or session_id
            found = database_summaries(source, state, lambda *one: None, exact=True, wanted=local)
        for one in found:
            if session_id in (one.session_id, state.tagged(str(one.raw.get("sessionId")))):
                return one
        raise SessionMissing(f"openclaw session {session_id} is not in {source.path}")

    def usage(self, source: Source, report: Report, session_ids: Collection[str] | None = None) -> Iterator[Usage]:
        """See `Adapter.usage`: of all branches, and what events that are no messages spent."""
        state = self._keys.state_of(source)
        found: Iterable[tuple[SessionSummary, ClawCounts]] = ()
        try:
            if source.layout == DATABASE and session_ids is None:
                found = database_sessions(source, state, lambda *one: None, exact=True)
            elif source.layout == DATABASE:
                kept = self._kept.get(source.path)
                # A name asks for all windows of its key: of those only the one so named is counted.
                found = (
                    one
                    for wanted in session_ids or ()
                    for one in database_sessions(
                        source,
                        state,
                        lambda *one: None,
                        exact=True,
                        wanted=local_id(wanted, state) or wanted,
                        kept=kept,
                    )
                    if one[0].session_id == wanted
                )
            elif source.layout != INDEX and (
                session_ids is None or any(self._keys.is_in(source, one) for one in session_ids)
            ):
                found = (file_session(source, state, lambda *one: None, exact=True),)
            for summary, counts in found:
                yield from unpacked(counts.packs(summary))
        except (DatabaseMissing, FileNotFoundError, NoSession):
            return  # removed since it was listed, or `summaries` reports it
        except (OSError, ValueError) as error:
            if is_for_now(error):
                report(Problem(agent=AGENT, path=source.path, reason=reason_of(error)))

    # Native commands ---------------------------------------------------------------------------------------

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """See `Adapter.resume_command`."""
        return resume_command(summary, self._holder(summary), self.environment)

    def fork_command(self, summary: SessionSummary) -> NativeCommand | None:
        """See `Adapter.fork_command`."""
        return fork_command(summary, self._holder(summary), self.environment)

    def _holder(self, summary: SessionSummary) -> StateDir | None:
        """The state directory that a session is in."""
        states = state_dirs(self.environment)
        return next((state for state in states if Path(summary.path).is_relative_to(state.path)), states[0])


def _left(transcript: ClawTranscript) -> int:
    return transcript.file.left if isinstance(transcript.file, RowStore) else 0
