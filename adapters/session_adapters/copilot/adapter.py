"""The adapter: what Copilot's files are as sessions, and how it resumes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
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
from session_adapters.copilot.builder import CopilotBuilder, helper_id
from session_adapters.copilot.document import CopilotDocumentTranscript, read_document
from session_adapters.copilot.store import (
    DOCUMENT,
    EVENTS,
    FLAT,
    HISTORY,
    copilot_roots,
    list_sources,
    live_sessions,
    rank,
)
from session_adapters.copilot.summary import CopilotSurvey, fork_time, relate, summary_fields, survey_events
from session_adapters.copilot.texts import text_reader
from session_adapters.copilot.workspace import Workspace, read_workspace
from session_adapters.growing.counter import Begun, Pairs
from session_adapters.growing.jsonl_adapter import JsonlAdapter, JsonlTranscript
from session_adapters.growing.texts import LinesReader
from session_adapters.model import Message, Problem, Session, SessionSummary
from session_adapters.reading.damaged_places import reading_session
from session_adapters.reading.folders import problem_in, report_damage
from session_adapters.reading.searchable import Text
from session_adapters.session_counts import SessionFold
from session_adapters.transcript import Transcript

__all__ = ["CopilotAdapter"]

_PLAIN_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]*")
"""An id that cannot be taken for an option."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class CopilotAdapter(JsonlAdapter):
    """Reads Copilot CLI's events. A helper (sub-agent) has its events in the same file; it is a session of kind
    `subagent` whose id is its parent's, a colon and its `agentId`."""

    name: ClassVar[str] = "copilot"
    label: ClassVar[str] = "Copilot CLI"
    badge: ClassVar[str] = "cp"
    # Forking is done with /fork inside a session; there is no option for it.
    capabilities: ClassVar[Capabilities] = Capabilities(session_persistence="file", can_resume=True)
    grows_alone = True
    tells_processes = True
    read_before: dict[str, CopilotSurvey] | None = None
    """By path, what was read in full, where more is to be asked of it at once."""

    # Finding -----------------------------------------------------------------------------------------------

    def roots(self) -> Sequence[Root]:
        """See `Adapter.roots`."""
        return copilot_roots(self.environment)

    def listed(self, root: Root, report: Report) -> Iterator[Source]:
        """See `JsonlAdapter.listed`."""
        return list_sources(root, report)

    def counted(self, source: Source, report: Report, *, exact: bool) -> Pairs[SessionFold]:
        """See `JsonlAdapter.counted`. Counts and tokens are the session's own: what a fork took over is its
        parent's, what a helper spent is the helper's."""
        if source.layout in (DOCUMENT, HISTORY):
            return (self._document(source, report)[:2],)
        survey = survey_events(source.path, source.session_id, head=self.head, tail=self.tail, exact=exact)
        return self._summed(source, survey, report)

    def begin(self, source: Source, fd: int, size: int) -> Begun[SessionFold] | None:
        """See `JsonlAdapter.begin`."""
        if source.layout in (DOCUMENT, HISTORY):
            return None
        survey = CopilotSurvey(source.session_id, size)
        return Begun(survey, lambda one, size, report: self._summed(one, survey.so_far(size), report))

    def _summed(self, source: Source, survey: CopilotSurvey, report: Report) -> Pairs[SessionFold]:
        report_damage(source, survey.damaged, report)
        if survey.is_empty:
            if not survey.damaged:
                report(problem_in(source, "holds no event of a session"))
            return ()
        workspace = _workspace(source, report)
        main = (_summary(source, survey, workspace), survey.main.fold)
        helpers = [(agent, part.fold) for agent, part in survey.parts.items() if agent]
        own = [(agent, fold) for agent, fold in helpers if fold.messages > fold.inherited]
        return (main, *((_helper(source, survey, agent), fold) for agent, fold in own))

    def _document(self, source: Source, report: Report) -> tuple[SessionSummary, SessionFold, Sequence[Message]]:
        """The summary of a document, what its messages add up to, and those."""
        document = read_document(source.path)
        report_damage(source, document.damaged, report, unit="message")
        fold = SessionFold()
        fold.add(document.messages)
        summary = SessionSummary(
            **summary_fields(fold, document.title, document.created),
            session_id=source.session_id,
            cwd=document.cwd,
            warnings=len(document.damaged),
            raw={"layout": source.layout},
            **_file_facts(source, source.size),
        )
        return summary, fold, document.messages

    def relate(self, summaries: Sequence[SessionSummary]) -> Sequence[SessionSummary]:
        """See `Adapter.relate`."""
        return relate(summaries)

    def live(self) -> Mapping[str, Liveness]:
        """See `Adapter.live`."""
        return live_sessions(self.environment)

    def may_wait_unseen(self, tool: str) -> bool:
        """See `Adapter.may_wait_unseen`."""
        return False

    def find(self, session_id: str) -> Source | None:
        """See `Adapter.find`. A helper's id begins with its session's."""
        listed = list(self.sources(lambda problem: None))
        found = [one for one in listed if one.session_id == session_id]
        if not found:
            found = [one for one in listed if _agent_in(one, session_id)]
        return max(found, key=lambda one: rank(one.layout, one.size, one.path), default=None)

    # Reading -----------------------------------------------------------------------------------------------

    def open(self, source: Source, session_id: str) -> Transcript:
        """See `Adapter.open`."""
        agent = _agent_of(source, session_id)
        if source.layout in (DOCUMENT, HISTORY):
            return CopilotDocumentTranscript(self.name, session_id, source.path)

        def builder() -> CopilotBuilder:
            return CopilotBuilder(source.session_id, agent=agent, began=fork_time(source.path))

        transcript = JsonlTranscript(self.name, session_id, source.path, builder, page=self.page)
        while not transcript.messages and not transcript.complete and transcript.earlier():
            pass
        if agent and not transcript.messages:
            raise SessionMissing(f"copilot session {session_id} is not in {source.path}")
        return transcript

    def session(self, source: Source, session_id: str) -> Session:
        """See `Adapter.session`. A fork's messages begin with its parent's, marked as inherited."""
        agent = _agent_of(source, session_id)
        with reading_session(self.name, session_id, source.path):
            if source.layout in (DOCUMENT, HISTORY):
                summary, _, messages = self._document(source, lambda problem: None)
                return Session.of(summary, messages)
            survey = self._whole(source.path, source.session_id)
        if survey.is_empty:
            reason = next(iter(survey.damaged))[1] if survey.damaged else "it holds no event of a session"
            raise SessionUnreadable(f"cannot read {source.path}: {reason}")
        part = survey.parts.get(agent)
        if part is None or (agent and not part.builder.messages):
            raise SessionMissing(f"copilot session {session_id} is not in {source.path}")
        if agent:
            return Session.of(_helper(source, survey, agent), part.builder.messages)
        return Session.of(_summary(source, survey, _workspace(source, lambda problem: None)), part.builder.messages)

    def texts(self, source: Source, report: Report, session_id: str | None = None) -> Iterator[Text]:
        """See `Adapter.texts`. What a file holds is read once for all sessions in it."""
        once = copy(self)
        once.read_before = {}
        yield from super(CopilotAdapter, once).texts(source, report, session_id)

    def _whole(self, path: str, session_id: str) -> CopilotSurvey:
        survey = self.read_before.get(path) if self.read_before is not None else None
        if survey is None:
            survey = survey_events(path, session_id, head=0, tail=0, exact=True, keep=True)
            if self.read_before is not None:
                self.read_before[path] = survey
        return survey

    def text_reader(self, source: Source) -> LinesReader | None:
        """See `Adapter.text_reader`. A document is written anew as a whole."""
        return None if source.layout in (DOCUMENT, HISTORY) else text_reader(source)

    # Native commands ---------------------------------------------------------------------------------------

    def resume_command(self, summary: SessionSummary) -> NativeCommand | None:
        """`copilot --resume=<id>`; it returns to the session's own directory. None for helpers, which cannot be
        resumed, and for documents, which Copilot does not know."""
        session_id = summary.session_id
        if summary.kind == "subagent" or summary.raw.get("layout") == DOCUMENT or not _PLAIN_ID.fullmatch(session_id):
            return None
        warnings = []
        if summary.live:
            warnings.append("another process has the session open")
        if summary.raw.get("layout") in (FLAT, HISTORY):
            warnings.append("an older version wrote this session, and today's may not find it")
        if not _UUID.fullmatch(session_id):
            warnings.append("this id is no uuid, so Copilot will look for a session of that name")
        text = "; ".join(warnings)
        named = self.environment.variables.get("COPILOT_HOME", "").strip()
        env = {"COPILOT_HOME": str(self.environment.expand(named))} if named else {}
        warning = text[:1].upper() + text[1:] or None
        return NativeCommand(argv=("copilot", f"--resume={session_id}"), cwd=summary.cwd, env=env, warning=warning)


def _summary(source: Source, survey: CopilotSurvey, workspace: Workspace) -> SessionSummary:
    start, context = survey.start, survey.context
    facts = {
        "layout": source.layout,
        "firstEvent": survey.first_event,
        "copilotVersion": start.copilot_version if start is not None else None,
        "userNamed": workspace.user_named,
        "gitRoot": context.git_root,
        "repository": context.repository or workspace.repository,
        "compactions": survey.main.fold.compactions,
    }
    return SessionSummary(
        **summary_fields(survey.main.fold, workspace.name or survey.title, survey.created),
        session_id=source.session_id,
        cwd=context.cwd or workspace.cwd or None,
        git_branch=workspace.branch or context.branch,
        source=workspace.client_name or None,
        kind="fork" if survey.began is not None or survey.forked_from else "session",
        forked_from=survey.forked_from,
        parent_id=survey.forked_from,
        partial=survey.partial,
        warnings=len(survey.damaged),
        raw={name: value for name, value in facts.items() if value},
        **_file_facts(source, survey.size),
    )


def _helper(source: Source, survey: CopilotSurvey, agent: str) -> SessionSummary:
    part = survey.parts[agent]
    started, context = part.started, survey.context
    facts = {
        "layout": source.layout,
        "agentName": started.agent_name if started is not None else None,
        "toolCallId": started.tool_call_id if started is not None else None,
        "description": started.agent_description if started is not None else None,
    }
    title = (started.agent_display_name or started.agent_name or "") if started is not None else ""
    return SessionSummary(
        **summary_fields(part.fold, title, None),
        session_id=helper_id(source.session_id, agent),
        kind="subagent",
        parent_id=helper_id(source.session_id, part.caller),
        cwd=context.cwd,
        git_branch=context.branch,
        partial=survey.partial,
        warnings=len(survey.damaged),
        raw={name: value for name, value in facts.items() if value},
        **_file_facts(source, 0),
    )


def _file_facts(source: Source, size: int) -> dict[str, Any]:
    return {"path": source.path, "size": size}


def _workspace(source: Source, report: Report) -> Workspace:
    if source.layout != EVENTS:
        return Workspace()
    path = source.path.removesuffix("events.jsonl") + "workspace.yaml"
    workspace, reason = read_workspace(path)
    if reason:
        report(Problem(agent="copilot", path=path, reason=reason, session_id=source.session_id))
    return workspace


def _agent_in(source: Source, session_id: str) -> str:
    """The helper that an id names; empty when it is not in this file."""
    start = f"{source.session_id}:"
    if source.layout not in (EVENTS, FLAT) or not session_id.startswith(start):
        return ""
    return session_id.removeprefix(start)


def _agent_of(source: Source, session_id: str) -> str:
    agent = _agent_in(source, session_id)
    if source.session_id != session_id and not agent:
        raise SessionMissing(f"copilot session {session_id} is not in {source.path}")
    return agent
