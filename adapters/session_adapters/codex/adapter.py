"""Codex CLI: one JSONL rollout per session under `~/.codex/sessions`.

Format: spec 004 §4.2.2, stores/codex FACTS.md.

Everything that is shown stands in the rollouts and in `session_index.jsonl`; the SQLite files beside them repeat it,
can lag behind, and are not opened.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from msgspec.structs import replace

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
from session_adapters.codex.document import CodexDocumentTranscript, document_lines, is_document
from session_adapters.codex.messages import CodexBuilder
from session_adapters.codex.rollout import RolloutHead, base_stop, identify, is_uuid, own_start
from session_adapters.codex.splice import Base, Bases, CodexTranscript
from session_adapters.codex.store import (
    ARCHIVED,
    ThreadNames,
    codex_home,
    codex_roots,
    held_locks,
    list_sources,
    open_rollouts,
)
from session_adapters.codex.summary import CodexSurvey, summary_fields, survey_document, survey_rollout
from session_adapters.growing.counter import Begun, Pairs
from session_adapters.growing.jsonl_adapter import JsonlAdapter
from session_adapters.growing.texts import LinesReader
from session_adapters.model import Session, SessionSummary
from session_adapters.reading.damaged_places import reading_session
from session_adapters.reading.files import open_file
from session_adapters.reading.folders import problem_in, report_damage
from session_adapters.reading.lines import lines
from session_adapters.reading.prefilter import Verbatim
from session_adapters.session_counts import SessionFold
from session_adapters.text import one_line
from session_adapters.transcript import Transcript

__all__ = ["CodexAdapter"]

_PLAIN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*")
"""An id that cannot be taken for an option."""
_DAEMON = "Codex starts a background app-server that keeps running after you leave it"


class CodexAdapter(JsonlAdapter):
    """Reads Codex' rollouts."""

    name: ClassVar[str] = "codex"
    label: ClassVar[str] = "Codex CLI"
    badge: ClassVar[str] = "cx"
    capabilities: ClassVar[Capabilities] = Capabilities(session_persistence="file", can_resume=True, can_fork=True)
    tells_processes = True
    verbatim = Verbatim(own=frozenset(b"turn aborted unknown error".split()), unless=(b"history_base",))

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        self._names = ThreadNames()

    # Finding -----------------------------------------------------------------------------------------------

    def roots(self) -> Sequence[Root]:
        """See `Adapter.roots`."""
        return codex_roots(self.environment)

    def listed(self, root: Root, report: Report) -> Iterator[Source]:
        """See `JsonlAdapter.listed`."""
        return list_sources(root, report)

    def sources(self, report: Report) -> Iterator[Source]:
        """See `Adapter.sources`. What is wrong with the names is said here: they belong to no rollout."""
        yield from super().sources(report)
        self._names.read(self.environment, report)

    def counted(self, source: Source, report: Report, *, exact: bool) -> Pairs[SessionFold]:
        """See `JsonlAdapter.counted`. Tokens are those of the session's own part: what a fork took over is its
        parent's. What stands in the parent's rollout alone is counted with `exact`."""
        if is_document(source.path):
            survey = survey_document(source.path)
        else:
            survey = survey_rollout(source.path, head=self.head, tail=self.tail, exact=exact)
        return self._summed(source, survey, report, exact=exact)

    def begin(self, source: Source, fd: int, size: int) -> Begun[SessionFold] | None:
        """See `JsonlAdapter.begin`. Not for one that is built on another's lines."""
        if is_document(source.path):
            return None
        head = identify(lines(fd, 0, size), source.path)
        if head.copied or head.meta.history_base is not None:
            return None
        survey = CodexSurvey(head, size)
        return Begun(
            survey,
            lambda one, size, report: self._summed(one, survey.so_far(size), report, exact=True),
            lambda: survey.has_messages,
        )

    def _summed(self, source: Source, survey: CodexSurvey, report: Report, *, exact: bool) -> Pairs[SessionFold]:
        report_damage(source, survey.damaged, report)
        if survey.is_empty:
            if not survey.damaged:
                report(problem_in(source, "holds no session" if survey.size else "is empty"))
            return ()
        title = self._titles().get(survey.head.session_id, "")
        builds_on_another = survey.head.meta.history_base is not None
        fold = survey.fold
        if exact and builds_on_another:
            # The counts of a fork by reference include its parent's part.
            try:
                transcript = self._open(source, survey.head.session_id, sys.maxsize)[0]
                while not transcript.complete and transcript.earlier():
                    pass
                whole = SessionFold()
                whole.add(transcript.messages)
                fold = whole
            except (SessionMissing, SessionUnreadable):
                pass  # gone since; the next look says so
        fields = summary_fields(fold, survey.head, survey.builders, title)
        partial = survey.partial or (builds_on_another and not exact)
        return ((_summary(fields, source, survey.size, partial=partial), survey.fold),)

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """See `Adapter.relate`. A session that stands in `sessions` and in `archived_sessions` is one. Renaming
        changes no rollout, so names are put on again here."""
        best: dict[str, SessionSummary] = {}
        for summary in summaries:
            other = best.get(summary.session_id)
            if other is None or _rank(summary.size, summary.archived, summary.path) > _rank(
                other.size, other.archived, other.path
            ):
                best[summary.session_id] = summary
        titles = self._titles()
        return [
            replace(summary, title=one_line(titles[session_id])) if titles.get(session_id) else summary
            for session_id, summary in best.items()
        ]

    def live(self) -> Mapping[str, Liveness]:
        """See `Adapter.live`."""
        proc = self.environment.proc
        folders = [root.path for root in self.roots()]
        return {**open_rollouts(folders, proc), **held_locks(codex_home(self.environment), proc)}

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`. Names tell nearly always; the beginnings of the few files whose name does not are
        read only then."""
        listed = list(super().sources(lambda problem: None))
        found = [source for source in listed if session_id and source.session_id == session_id]
        if not found and session_id:
            found = [source for source in listed if not is_uuid(source.session_id) and _holds(source, session_id)]
        return max(found, key=lambda one: _rank(one.size, one.layout == ARCHIVED, one.path), default=None)

    def _titles(self) -> Mapping[str, str]:
        return self._names.read(self.environment, lambda problem: None)

    # Reading -----------------------------------------------------------------------------------------------

    def open(self, source: Source, session_id: str) -> Transcript:
        """See `Adapter.open`."""
        return self._open(source, session_id, self.page)[0]

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`. A fork's messages begin with its parent's, marked as inherited."""
        transcript, head = self._open(source, session_id, sys.maxsize)
        while not transcript.complete and transcript.earlier():
            pass
        fold = SessionFold()
        fold.add(transcript.messages)
        title = self._titles().get(session_id, "")
        fields = summary_fields(fold, head, [transcript.builder], title)
        size = transcript.size if isinstance(transcript, CodexTranscript) else source.size
        known = _summary(fields, source, size, partial=False)
        return Session.of(known, transcript.messages)

    def _open(
        self, source: Source, session_id: str, page: int
    ) -> tuple[CodexTranscript | CodexDocumentTranscript, RolloutHead]:
        own_from = 0  # the byte with which the session's own lines begin
        with reading_session(self.name, session_id, source.path):
            if is_document(source.path):
                head = identify(document_lines(source.path), source.path)
            else:
                with open_file(source.path) as fd:
                    head = identify(lines(fd), source.path)
                    own_from = own_start(lines(fd), head) if head.copied else 0
        if head.session_id != session_id:
            raise SessionMissing(f"codex session {session_id} is not in {source.path}")
        if is_document(source.path):
            document = CodexDocumentTranscript(session_id, source.path)
            return document, head
        transcript = CodexTranscript(
            session_id,
            source.path,
            parent=head.copied,
            own_from=own_from,
            bases=lambda: self._bases(head),
            page=page,
        )
        says_nothing = all(message.id == "lost" for message in transcript.messages)
        if not head.meta.id and transcript.complete and says_nothing:
            reason = transcript.problems[0].reason if transcript.problems else "it holds no session"
            raise SessionUnreadable(f"cannot read {source.path}: {reason}")
        return transcript, head

    def _bases(self, head: RolloutHead) -> Bases:
        """The rollouts that a fork by reference begins with."""
        bases: tuple[Base, ...] = ()
        seen = {head.session_id}
        wanted = head.meta.history_base
        limit: int | None = None
        by_id: dict[str, Source] = {}
        if wanted is not None and wanted.thread_id:
            # Rollouts by the id in their name; of copies the one that `find` gives.
            for source in super().sources(lambda problem: None):
                other = by_id.get(source.session_id)
                rank = _rank(source.size, source.layout == ARCHIVED, source.path)
                if other is None or rank > _rank(other.size, other.layout == ARCHIVED, other.path):
                    by_id[source.session_id] = source
        while wanted is not None and wanted.thread_id:
            thread = wanted.thread_id
            if thread in seen:
                return Bases(
                    bases, f"What was said before this is lost: session {thread} names itself as its beginning"
                )
            seen.add(thread)
            base = by_id.get(thread)
            if base is None:
                return Bases(bases, f"What was said before this is in session {thread}, which is not in the store")
            end = wanted.end_ordinal_exclusive
            hint = wanted.end_byte_offset if limit is None or (end is not None and end <= limit) else None
            limit = end if limit is None else limit if end is None else min(limit, end)
            try:
                with open_file(base.path) as fd:
                    above = identify(lines(fd), base.path)
                    stop = base_stop(fd, os.fstat(fd).st_size, limit, hint)
            except OSError as error:
                return Bases(bases).without(base.path, error)
            bases = (*bases, Base(thread_id=thread, path=base.path, stop=stop))
            wanted = above.meta.history_base
        return Bases(bases)

    def text_reader(self, source: Source) -> LinesReader | None:
        """See `Adapter.text_reader`."""
        return text_reader(source)

    # Native commands ---------------------------------------------------------------------------------------

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`codex resume <id>`, in the session's last directory: Codex records where it is started."""
        return self._command("resume", summary)

    def fork_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`codex fork <id>`."""
        return self._command("fork", summary)

    def _command(self, verb: str, summary: SessionSummary) -> NativeCommand | None:
        session_id = summary.session_id
        if not _PLAIN_ID.fullmatch(session_id):
            return None
        warnings = []
        if summary.archived:
            warnings.append(f"the session is archived: run `codex unarchive {session_id}` first")
        if summary.live and verb == "resume":
            warnings.append("another process has the session open")
        if not is_uuid(session_id):
            warnings.append("this id is no uuid, so Codex will look for a session of that name")
        text = "; ".join((*warnings, _DAEMON))
        home = self.environment.variables.get("CODEX_HOME", "").strip()
        env = {"CODEX_HOME": str(codex_home(self.environment))} if home else {}
        return NativeCommand(
            argv=("codex", verb, session_id), cwd=summary.cwd, env=env, warning=text[0].upper() + text[1:]
        )


def _rank(size: int, archived: bool, path: str) -> tuple[int, bool, str]:
    """Of two copies of a session the longer one counts, and the one that is not archived."""
    return (size, not archived, path)


def _holds(source: Source, session_id: str) -> bool:
    try:
        if is_document(source.path):
            return identify(document_lines(source.path), source.path).session_id == session_id
        with open_file(source.path) as fd:
            return identify(lines(fd), source.path).session_id == session_id
    except (OSError, ValueError):
        return False  # `summaries` reports it


def _summary(fields: Mapping[str, Any], source: Source, size: int, *, partial: bool) -> SessionSummary:
    return SessionSummary(**fields, path=source.path, size=size, partial=partial, archived=source.layout == ARCHIVED)


# Search texts -----------------------------------------------------------------------------------------------


def text_reader(source: Source) -> LinesReader | None:
    """A reader of one rollout; None for one that builds on another or does not yet say whether it does, and for what
    is no file of lines. Raises `OSError`."""
    if is_document(source.path):
        return None
    with open_file(source.path) as fd:
        head = identify(lines(fd), source.path)
    if not head.meta.id or head.copied or head.meta.history_base is not None:
        return None
    return LinesReader(source.path, head.session_id, CodexBuilder(head.session_id))
