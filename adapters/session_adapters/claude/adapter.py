"""Claude Code: one JSONL file per session under `~/.claude/projects`.

Two layouts share the folder and are told apart line by line: the real one (2.1.x, 2.0.x and 1.0.x) and that of
spec 004 §4.2.1. Helpers (sub-agents) are sessions of kind `subagent`: since 2.0 they have files of their own and are
named by the file's stem; the records of those of 1.0.x stand inside the main file, and their id begins with its own.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from session_adapters.base import (
    Capabilities,
    Liveness,
    NativeCommand,
    Report,
    Root,
    SessionMissing,
    SessionUnreadable,
    Source,
)
from session_adapters.claude.builder import ClaudeBuilder
from session_adapters.claude.chains import chain_in
from session_adapters.claude.copies import Copies, read_copies
from session_adapters.claude.live import live_sessions, tell_damage
from session_adapters.claude.paths import (
    config_roots,
    custom_title,
    helper_meta,
    is_helper,
    list_sources,
    parent_folder,
    printable,
)
from session_adapters.claude.records import Marks
from session_adapters.claude.relate import relate
from session_adapters.claude.summary import ClaudeSurvey, Part, ends, feed_all
from session_adapters.growing.counter import Begun, Pairs
from session_adapters.growing.jsonl_adapter import JsonlAdapter, JsonlTranscript
from session_adapters.growing.texts import LinesReader
from session_adapters.model import Session, SessionSummary
from session_adapters.reading.damaged_places import reading_session
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import open_file
from session_adapters.reading.folders import problem_in, report_damage
from session_adapters.reading.lines import lines
from session_adapters.reading.prefilter import Verbatim
from session_adapters.reading.searchable import Rewritten, Text
from session_adapters.session_counts import SessionFold
from session_adapters.transcript import Transcript

__all__ = ["ClaudeAdapter"]

_PLAIN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*")
"""An id that cannot be taken for an option."""


class ClaudeAdapter(JsonlAdapter):
    """Reads Claude Code's transcripts."""

    name: ClassVar[str] = "claude"
    label: ClassVar[str] = "Claude Code"
    badge: ClassVar[str] = "cc"
    capabilities: ClassVar[Capabilities] = Capabilities(session_persistence="file", can_resume=True, can_fork=True)
    grows_alone = True
    tells_processes = True
    copied_calls: ClassVar[bool] = True
    verbatim = Verbatim(own=frozenset(b"conversation compacted tokens the call failed retry of none".split()))

    # Finding -----------------------------------------------------------------------------------------------

    def roots(self) -> Sequence[Root]:
        """See `Adapter.roots`."""
        return config_roots(self.environment)

    def listed(self, root: Root, report: Report) -> Iterator[Source]:
        """See `JsonlAdapter.listed`."""
        yield from list_sources(root.path, report)
        tell_damage(root.path, report)

    def counted(self, source: Source, report: Report, *, exact: bool) -> Pairs[SessionFold]:
        """See `JsonlAdapter.counted`."""
        with open_file(source.path) as fd:
            size = os.fstat(fd).st_size
            survey = _survey(source, fd, size)
            if exact:
                feed_all(fd, 0, size, survey)
                part: Part = "whole"
            else:
                part = ends(fd, size, survey, head=self.head, tail=self.tail)
        return self._summed(source, survey, size, report, part)

    def begin(self, source: Source, fd: int, size: int) -> Begun[SessionFold]:
        """See `JsonlAdapter.begin`."""
        survey = _survey(source, fd, size)
        return Begun(
            survey,
            lambda one, size, report: self._summed(one, survey, size, report, "whole"),
            lambda: survey.is_answered,
        )

    def _summed(
        self, source: Source, survey: ClaudeSurvey, size: int, report: Report, part: Part
    ) -> Pairs[SessionFold]:
        report_damage(source, survey.damaged, report)
        if not survey.records:
            if not survey.damaged and size:
                report(problem_in(source, "holds no record"))
            return ()
        main = _summary(source, survey, size, part, report)
        helpers = ((_inline_summary(main, helper), helper.fold) for helper in survey.helpers.values())
        return ((main, survey.fold), *helpers)

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """See `Adapter.relate`."""
        return relate(summaries)

    def live(self) -> Mapping[str, Liveness]:
        """See `Adapter.live`."""
        return live_sessions(self.environment)

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`; of several copies the one that `relate` keeps."""
        roots, ignored = self.roots(), lambda problem: None
        found = [one for root in roots for one in list_sources(root.path, ignored, session_id)]
        if not found:
            found = [one for one in self.sources(ignored) if chain_in(one.session_id, session_id)]
        return max(found, key=lambda source: (source.size, source.path), default=None)

    # Reading -----------------------------------------------------------------------------------------------

    def open(self, source: Source, session_id: str) -> Transcript:
        """See `Adapter.open`."""
        chain = _chain_of(source, session_id)
        copies = _copies_of(source, session_id)
        transcript = JsonlTranscript(
            self.name,
            session_id,
            source.path,
            lambda: ClaudeBuilder(subagent=is_helper(source), chain=chain, copies=copies),
            page=sys.maxsize if chain else self.page,  # whose chain a record belongs to is told by those before it
        )
        if chain and not transcript.messages:
            raise SessionMissing(f"claude session {session_id} is not in {source.path}")
        return transcript

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`."""
        chain = _chain_of(source, session_id)
        copies = _copies_of(source, session_id)
        transcript = JsonlTranscript(
            self.name,
            session_id,
            source.path,
            lambda: ClaudeSurvey(source.session_id, subagent=is_helper(source), copies=copies),
            page=sys.maxsize,
        )
        survey = transcript.builder
        if not survey.records:
            reason = transcript.problems[0].reason if transcript.problems else "it holds no record"
            raise SessionUnreadable(f"cannot read {source.path}: {reason}")
        summary = _summary(source, survey, transcript.size, "whole", lambda problem: None)
        if not chain:
            return Session.of(summary, survey.messages)
        if chain not in survey.helpers:
            raise SessionMissing(f"claude session {session_id} is not in {source.path}")
        helper = survey.helpers[chain]
        return Session.of(_inline_summary(summary, helper), helper.messages)

    def text_reader(self, source: Source) -> LinesReader | None:
        """See `Adapter.text_reader`."""
        return text_reader(source)

    # Native commands ---------------------------------------------------------------------------------------

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`claude --resume <id>` from the last directory: the tools run where the command is started. None for
        helpers, which cannot be resumed."""
        return self._command(summary)

    def fork_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`claude --resume <id> --fork-session`."""
        return self._command(summary, "--fork-session")

    def _command(self, summary: SessionSummary, *options: str) -> NativeCommand | None:
        if summary.kind == "subagent" or not _PLAIN_ID.fullmatch(summary.session_id):
            return None
        default = self.environment.home / ".claude"
        root = next((str(r.path) for r in self.roots() if summary.path.startswith(f"{r.path}/")), str(default))
        env = {} if root == str(default) else {"CLAUDE_CONFIG_DIR": root}
        return NativeCommand(argv=("claude", "--resume", summary.session_id, *options), cwd=summary.cwd, env=env)


def _summary(source: Source, survey: ClaudeSurvey, size: int, part: Part, report: Report) -> SessionSummary:
    known: dict[str, Any] = {"size": size, "path": printable(source.path), "partial": part != "whole", "raw": {}}
    if part == "head":  # no message is near the end
        known["updated_at"] = datetime.fromtimestamp(source.modified, UTC)
    if is_helper(source):
        meta = helper_meta(source, report)
        facts = {"agentType": meta.agent_type, "toolUseId": meta.tool_use_id, "layout": source.layout}
        known["raw"] = {name: value for name, value in facts.items() if value}
        known["helper_title"] = meta.description or meta.agent_type or ""
        parent = parent_folder(source) or survey.session
        known |= {"kind": "subagent", "parent_id": parent, "forked_from": None}
    elif not survey.custom_title or part != "whole":
        survey.custom_title = custom_title(source, report) or survey.custom_title
    return survey.summary(**known)


def _inline_summary(main: SessionSummary, helper: ClaudeSurvey) -> SessionSummary:
    """That of a helper inside the file of the session `main`."""
    return helper.summary(
        kind="subagent",
        parent_id=main.session_id,
        forked_from=None,
        path=main.path,
        partial=main.partial,
        raw={"layout": "inline"},
    )


def _survey(source: Source, fd: int, size: int) -> ClaudeSurvey:
    copies = read_copies(fd, size)
    return ClaudeSurvey(source.session_id, subagent=is_helper(source), copies=copies, brief=True)


def _chain_of(source: Source, session_id: str) -> str:
    """The helper inside the file that the id names; empty for the session itself. Raises `SessionMissing`."""
    chain = chain_in(source.session_id, session_id)
    if not chain and session_id != source.session_id:
        raise SessionMissing(f"claude session {session_id} is not in {source.path}")
    return chain


def _copies_of(source: Source, session_id: str) -> Copies:
    """Raises `SessionMissing`, `SessionUnreadable`."""
    with reading_session(source.agent, session_id, source.path), open_file(source.path) as fd:
        return read_copies(fd, os.fstat(fd).st_size)


# Search texts -----------------------------------------------------------------------------------------------


_SIDE = re.compile(rb'"isSidechain"\s*:\s*true')
_MARKS = Decoder(Marks)


class _Reader(LinesReader):
    """Reads a file without helpers."""

    builder: ClaudeBuilder

    def read(self) -> Iterator[tuple[int, Text]]:
        """See `TextReader.read`."""
        yield from super().read()
        if self.builder.chains:
            raise Rewritten(f"the file of {self.session_id} holds a helper now")


def text_reader(source: Source) -> LinesReader | None:
    """A reader of one transcript that goes on where it stopped; None where there are helpers in it, whose texts are
    other sessions'. Raises `OSError`."""
    helper = is_helper(source)
    with open_file(source.path) as fd:
        if not helper and any(
            record.is_sidechain
            for line in lines(fd, 0, os.fstat(fd).st_size)
            if not line.too_long and _SIDE.search(line.data)  # a call's input may hold the same words
            for record in _MARKS.all(line.data)[0]
        ):
            return None
    return _Reader(source.path, source.session_id, ClaudeBuilder(subagent=helper))
