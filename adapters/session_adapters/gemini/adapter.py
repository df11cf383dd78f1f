"""Gemini CLI's sessions behind the interface that all agents share."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import ClassVar

from session_adapters.base import (
    Capabilities,
    Environment,
    Liveness,
    NativeCommand,
    Report,
    Root,
    SessionMissing,
    SessionUnreadable,
    Source,
)
from session_adapters.gemini.builder import GeminiBuilder, GeminiFacts
from session_adapters.gemini.document import GeminiDocumentTranscript, is_document
from session_adapters.gemini.places import (
    DOCUMENT,
    Projects,
    gemini_home,
    gemini_roots,
    list_sources,
    may_hold,
    project_folder,
)
from session_adapters.gemini.summary import PROBE, GeminiCounts, GeminiSurvey, summary_of, survey
from session_adapters.growing.counter import Begun, Pairs
from session_adapters.growing.jsonl_adapter import JsonlAdapter, JsonlTranscript
from session_adapters.growing.texts import LinesReader
from session_adapters.model import Session, SessionSummary
from session_adapters.reading.damaged_places import reading_session
from session_adapters.reading.files import open_file, read_at
from session_adapters.reading.folders import problem_in, report_damage
from session_adapters.reading.lineage import once
from session_adapters.reading.lines import lines
from session_adapters.session_counts import SessionFold
from session_adapters.transcript import Transcript
from session_adapters.tree.live import newest_by_directory, processes

__all__ = ["GeminiAdapter"]

_PLAIN_ID = re.compile(r"(?!latest$)[0-9A-Za-z][0-9A-Za-z._-]*")
"""An id that cannot be taken for an option, nor for the word that stands for the newest session."""


class GeminiAdapter(JsonlAdapter):
    """Reads Gemini CLI's logs and documents."""

    name: ClassVar[str] = "gemini"
    label: ClassVar[str] = "Gemini CLI"
    badge: ClassVar[str] = "gm"
    capabilities: ClassVar[Capabilities] = Capabilities(session_persistence="file", can_resume=True)
    grows_alone = True

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._projects = Projects()

    # Finding -----------------------------------------------------------------------------------------------

    def roots(self) -> Sequence[Root]:
        """See `Adapter.roots`."""
        return gemini_roots(self.environment)

    def listed(self, root: Root, report: Report) -> Iterator[Source]:
        """See `JsonlAdapter.listed`."""
        return list_sources(root, report)

    def check_files(self, report: Report) -> None:
        """See `SmallFiles`."""
        for problem in self._projects.faults(gemini_home(self.environment)):
            report(problem)

    def counted(self, source: Source, report: Report, *, exact: bool) -> Pairs[SessionFold]:
        """See `JsonlAdapter.counted`. Counts and tokens are those of the whole log, with what was undone."""
        return self._summed(source, survey(source.path, head=self.head, tail=self.tail, exact=exact), report)

    def begin(self, source: Source, fd: int, size: int) -> Begun[SessionFold] | None:
        """See `JsonlAdapter.begin`."""
        if is_document(read_at(fd, 0, min(size, PROBE))):
            return None
        counts = GeminiCounts(lines(fd, 0, size))

        def sum_up(one: Source, size: int, report: Report) -> Pairs[SessionFold] | None:
            found = counts.so_far(size)
            return None if found is None else self._summed(one, found, report)

        return Begun(counts, sum_up)

    def _summed(self, source: Source, found: GeminiSurvey, report: Report) -> Pairs[SessionFold]:
        summary = self._summary(source, found)
        damaged = found.builder.damaged
        report_damage(source, damaged, report, session_id=summary.session_id)
        if folder := project_folder(source):
            for reason in self._projects.lost(gemini_home(self.environment), folder):
                report(problem_in(source, f"its project is not known: {reason}", session_id=summary.session_id))
        if not found.builder.facts.records:
            if not damaged:
                report(problem_in(source, "holds no session"))
            return ()
        return ((summary, found.sums.fold),) if found.has_conversation else ()

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """See `Adapter.relate`. Of copies of a session (0.40 copies what 0.20 wrote, and goes on in another file)
        the one that goes on longest; the first that was listed, when they are alike."""
        return list(once(summaries, _length).values())

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`; of several copies the one that `relate` keeps. The names of chats have only the
        beginning of the id, so the files that may hold it are looked into; all others only when none of them does."""
        if not session_id:
            return None
        listed = list(self.sources(lambda problem: None))
        likely = [source for source in listed if may_hold(source, session_id)]
        unlikely = (source for source in listed if not may_hold(source, session_id))
        return self._holder(likely, session_id) or self._holder(unlikely, session_id)

    def _holder(self, sources: Iterable[Source], session_id: str) -> Source | None:
        best: tuple[tuple[float, int, int], Source] | None = None
        empty: Source | None = None
        for source in sources:
            try:
                found = survey(source.path, head=self.head, tail=self.tail, exact=False)
            except OSError:
                continue  # `summaries` reports it
            summary = self._summary(source, found)
            if summary.session_id != session_id:
                continue
            if not found.has_conversation:
                empty = empty or source
            elif best is None or _length(summary) > best[0]:
                best = (_length(summary), source)
        return best[1] if best else empty

    def live(self) -> Mapping[str, Liveness]:
        """A process that runs `gemini`; which session it has open is inferred (`tree.live`). It starts itself once
        more with more memory: of such a pair the first counts."""
        found = list(processes(self.environment.proc, _is_gemini))
        pids = {one.pid for one in found}
        running = [one for one in found if one.parent not in pids]
        return newest_by_directory(running, lambda: self.sources(lambda problem: None), self._header)

    def may_wait_unseen(self, tool: str) -> bool:
        """See `Adapter.may_wait_unseen`. A call is written when it has its result."""
        return True

    def _header(self, source: Source) -> tuple[str, str] | None:
        """Id and directory of a log, by its first line alone."""
        folder = project_folder(source)
        cwd = self._projects.directory(gemini_home(self.environment), folder) if folder else None
        try:
            with open_file(source.path) as fd:
                facts = self._first(fd)
        except OSError:
            return None  # `summaries` reports it
        if cwd is None:
            return None
        return (facts.session_id, cwd) if facts.session_id and facts.kind != "subagent" else None

    def _first(self, fd: int) -> GeminiFacts:
        """What the first line says. Raises `OSError`."""
        builder = GeminiBuilder(glance=True)
        for line in islice(lines(fd, 0, min(os.fstat(fd).st_size, self.head)), 1):
            if line.complete:
                builder.give(line)
        return builder.facts

    def _summary(self, source: Source, found: GeminiSurvey) -> SessionSummary:
        folder = project_folder(source)
        home = gemini_home(self.environment)
        return summary_of(source, found, self._projects.directory(home, folder) if folder else None)

    # Reading -----------------------------------------------------------------------------------------------

    def open(self, source: Source, session_id: str) -> Transcript:
        """See `Adapter.open`."""
        return self._open(source, session_id, self.page)

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`."""
        transcript = self._open(source, session_id, sys.maxsize)
        found = GeminiSurvey(transcript.builder, transcript.size)
        summary = self._summary(source, found)
        if summary.session_id != session_id:
            raise SessionMissing(f"gemini session {session_id} is not in {source.path}")
        if not transcript.builder.facts.records:
            reason = transcript.problems[0].reason if transcript.problems else "it holds no session"
            raise SessionUnreadable(f"cannot read {source.path}: {reason}")
        return Session.of(summary, transcript.messages)

    def _open(
        self, source: Source, session_id: str, page: int
    ) -> JsonlTranscript[GeminiBuilder] | GeminiDocumentTranscript:
        if source.session_id and source.session_id != session_id:
            raise SessionMissing(f"gemini session {session_id} is not in {source.path}")
        with reading_session(self.name, session_id, source.path), open_file(source.path) as fd:
            document = is_document(read_at(fd, 0, PROBE))
        if not source.session_id and not self._is_of(source, session_id):
            raise SessionMissing(f"gemini session {session_id} is not in {source.path}")
        if document:
            return GeminiDocumentTranscript(session_id, source.path)
        return JsonlTranscript(self.name, session_id, source.path, GeminiBuilder, page=page)

    def _is_of(self, source: Source, session_id: str) -> bool:
        """Whether a file whose name does not tell may hold the session; reading says what else is wrong with it."""
        try:
            found = survey(source.path, head=self.head, tail=self.tail, exact=False)
        except OSError:
            return True
        summary = self._summary(source, found)
        lost = not found.builder.facts.records or summary.raw.get("idIsLost")
        return bool(lost) or summary.session_id == session_id

    # Searching ---------------------------------------------------------------------------------------------

    def text_reader(self, source: Source) -> LinesReader | None:
        """See `Adapter.text_reader`. A document is written anew as a whole; of a log that does not begin with a
        header a later line may say which session it is."""
        if not survey(source.path, head=self.head, tail=self.tail, exact=False).has_conversation:
            return None
        with open_file(source.path) as fd:
            session_id = "" if is_document(read_at(fd, 0, PROBE)) else self._first(fd).session_id
        return LinesReader(source.path, session_id, GeminiBuilder()) if session_id else None

    # Native commands ---------------------------------------------------------------------------------------

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`gemini --resume <id>`, which works in the session's own directory alone (elsewhere it ends with exit code
        42): None where that is not known, and for helpers, which cannot be resumed."""
        session_id = summary.session_id
        if summary.kind == "subagent" or summary.cwd is None or not _PLAIN_ID.fullmatch(session_id):
            return None
        if summary.raw.get("layout") == DOCUMENT or summary.raw.get("idIsLost"):
            return None
        value = self.environment.variables.get("GEMINI_CLI_HOME", "").strip()
        return NativeCommand(
            argv=("gemini", "--resume", session_id),
            cwd=summary.cwd,
            bound=True,
            env={"GEMINI_CLI_HOME": str(self.environment.expand(value))} if value else {},
            warning=(
                "A start of Gemini CLI after this one may delete the session (google-gemini/gemini-cli issue 27368): "
                f"copy {summary.path} first if you want to keep it"
            ),
        )


def _is_gemini(words: tuple[str, ...]) -> bool:
    """The program itself, or the script of that name that an interpreter runs, behind its options."""
    names = [word.rpartition("/")[2] for word in words if not word.startswith("-")][:2]
    return any(name in ("gemini", "gemini.js") for name in names)


def _length(summary: SessionSummary) -> tuple[float, int, int]:
    return (summary.updated_at.timestamp(), summary.message_count, summary.size)
