"""What a list shows of Copilot's sessions, and which are forks of which."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from copy import copy
from datetime import datetime
from typing import Any

from session_adapters.copilot.builder import CopilotBuilder
from session_adapters.copilot.reader import TORN, CopilotEvent, EventReader
from session_adapters.copilot.records import (
    HelperStarted,
    Noted,
    Reply,
    Resumed,
    SessionStarted,
    Shutdown,
    Titled,
    WorkContext,
)
from session_adapters.copilot.store import rank
from session_adapters.copilot.tokens import main_total
from session_adapters.model import EPOCH, SessionSummary
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.ends import marked_lines, read_ends
from session_adapters.reading.files import open_file
from session_adapters.reading.lineage import as_forks, first_of_line, once
from session_adapters.reading.lines import Line, is_whole, lines
from session_adapters.session_counts import SessionFold
from session_adapters.text import one_line
from session_adapters.times import parse_time

__all__ = ["CopilotSurvey", "fork_time", "relate", "summary_fields", "survey_events"]


def summary_fields(fold: SessionFold, title: str, created: datetime | None) -> dict[str, Any]:
    """Fields of a `SessionSummary`. `title`: the one the session was given, if any."""
    made = created or fold.oldest or EPOCH
    return {
        **fold.fields(),
        "agent": "copilot",
        "title": one_line(title) or one_line(fold.prompt),
        "preview": one_line(fold.prompt, 200),
        "created_at": made,
        "updated_at": fold.newest or made,
    }


# A whole file -----------------------------------------------------------------------------------------------


_DRAIN = 256
"""Lines after which finished messages are counted and forgotten."""
_REACH = 1 << 20
"""Bytes at each end beyond which an unusual file is not searched for its first prompt or newest message."""
_BEGINNING = 16 << 10
"""Bytes in which the second event of a session begins, as a rule."""
_HELPERS = (b'"agentId"', b'"parentToolCallId"', b'"subagent.')
_MARKS = (*_HELPERS, b'"session.title_changed"', b'"session.resume"', b'"fork"')
"""Lines between the ends that are read, too: what helpers did, and what is told of the session itself."""
_PROMPT = b'"user.message"'
"""Marks them, too, where the beginning holds no prompt: a fork's own come behind all that it copied."""
_REPLY = b'"assistant.message"'
_FORKED = re.compile(r'Forked from ".*?" \(([0-9A-Za-z._-]+)\) as "', re.DOTALL)
_UUID = re.compile(r"\(([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\)")


class AgentPart:
    """The session itself, or a helper inside its file."""

    def __init__(self, session_id: str, agent: str, began: datetime | None) -> None:
        self.builder = CopilotBuilder(session_id, agent=agent, began=began)
        self.fold = SessionFold()
        self.started: HelperStarted | None = None
        self.caller = ""
        """The helper that started this one; empty for the session."""


class CopilotSurvey:
    """What was found."""

    def __init__(self, session_id: str, size: int, *, keep: bool = False) -> None:
        """`keep`: the messages stay in the parts' builders."""
        self.session_id = session_id
        self.size = size
        self.partial = False
        self.start: SessionStarted | None = None
        self.first_event = ""
        self.began: datetime | None = None
        """When the fork was made; None for a session of its own."""
        self.forked_from: str | None = None
        self.context = WorkContext()
        self.title = ""
        self.parts: dict[str, AgentPart] = {"": AgentPart(session_id, "", None)}
        self.damaged = Damage()
        self.events = 0
        self._lines = 0
        self._keep = keep
        self._reader = EventReader()
        self._cut = False
        self._shutdown: Shutdown | None = None
        self._callers: dict[str, str] = {}

    @property
    def main(self) -> AgentPart:
        """The session itself."""
        return self.parts[""]

    @property
    def is_empty(self) -> bool:
        """Nothing could be read."""
        return not self.events

    @property
    def created(self) -> datetime | None:
        """When the session was started, by its own word."""
        return parse_time(self.start.start_time) if self.start is not None else None

    def feed(self, run: Iterable[Line]) -> None:
        """Count the next lines."""
        for line in run:
            self.give(line)

    def give(self, line: Line) -> None:
        """Count the next line."""
        if line.too_long:
            self._reader.damaged.skip(line)
        elif line.complete or is_whole(line.data):
            for found in self._reader.feed(line):
                self._take(found)
        self._lines += 1
        if self._lines % _DRAIN == 0 and not self._keep:
            self._count(drain=True)

    def so_far(self, size: int) -> CopilotSurvey:
        """What was found by now, in so many bytes; this one may be given more."""
        found = copy(self)
        found.size, found.damaged = size, Damage()
        found.parts = {agent: copy(part) for agent, part in self.parts.items()}
        for part in found.parts.values():
            part.fold = part.fold.copy()
        found.finish()
        return found

    def _count(self, *, drain: bool) -> None:
        for part in self.parts.values():
            part.fold.add(part.builder.drain() if drain else part.builder.messages)

    def begun(self, new: Sequence[Line]) -> bool:
        """See `read_ends`: feeds the lines; whether a prompt is there."""
        self.feed(new)
        return bool(self.main.fold.first_prompt or any(one.is_prompt for one in self.main.builder.messages))

    def gap(self) -> None:
        """Lines are left out here."""
        self.partial = True
        self._count(drain=True)
        self.main.fold.gap()
        self._end_run()
        self._reader = EventReader()
        self._cut = True

    def _end_run(self) -> None:
        # What a run of lines begins with may be the rest of a record that is whole.
        for offset in self._reader.orphans if self._cut else ():
            self._reader.damaged.discard(offset, TORN)
        for damaged in (self._reader.damaged, *(part.builder.damaged for part in self.parts.values())):
            self.damaged.extend(damaged)

    def finish(self) -> None:
        """Count what is left."""
        self._count(drain=False)
        self._end_run()
        if self.partial and self._shutdown is not None and self.began is None:
            self.main.fold.at_least(main_total(self._shutdown)[0])

    def _take(self, found: CopilotEvent) -> None:
        self.events += 1
        data = found.data
        if self.events == 2 and self.start is not None:
            # In a fork the start is its own and everything behind it was copied, with its time.
            created = self.created
            if created is not None and found.time is not None and found.time < created:
                self.began = self.main.builder.began = created
        if found.agent:
            part = self.parts.get(found.agent)
            if part is None:
                part = self.parts[found.agent] = AgentPart(self.session_id, found.agent, self.began)
            if isinstance(data, HelperStarted):
                part.started = part.started or data
                part.caller = self._callers.get(data.tool_call_id or "", "")
                for one in self.parts.values():
                    one.builder.take(found)
                return
            if isinstance(data, Reply):
                self._callers |= {
                    one.tool_call_id: found.agent for one in data.tool_requests or () if one.tool_call_id
                }
            elif found.type == "assistant.turn_end":  # whom its calls began has said so
                self._callers = {call: agent for call, agent in self._callers.items() if agent != found.agent}
            part.builder.take(found)
        else:
            self._facts(found)
        self.main.builder.take(found)

    def _facts(self, found: CopilotEvent) -> None:
        data = found.data
        if isinstance(data, SessionStarted) and self.start is None:
            self.start, self.first_event = data, found.key
            self.context = data.context or self.context
        elif isinstance(data, Resumed) and data.context is not None:
            # The branch follows; the directory stays the first.
            self.context.branch = data.context.branch or self.context.branch
            self.context.cwd = self.context.cwd or data.context.cwd
        elif isinstance(data, Titled):
            self.title = data.title or self.title
        elif isinstance(data, Shutdown):
            self._shutdown = data if data.accounting_snapshot is not None else None
        elif isinstance(data, Noted) and data.info_type == "fork" and isinstance(data.message, str):
            # `Forked from "<name>" (<id>) as "<name>" (<id>).`; the last one is the fork's, others were copied.
            match = _FORKED.match(data.message)
            if match is not None:
                first = _UUID.search(data.message)
                parent = first[1] if first is not None else match[1]
                if parent != self.session_id:
                    self.forked_from = parent


def survey_events(
    path: str, session_id: str, *, head: int, tail: int, exact: bool, keep: bool = False
) -> CopilotSurvey:
    """The first `head` and the last `tail` bytes and all of the helpers between, or everything. Raises `OSError`."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        survey = CopilotSurvey(session_id, size, keep=keep)
        if exact:
            survey.feed(lines(fd, 0, size))
        else:
            ends = read_ends(fd, size, head, tail, reach=_REACH, begun=survey.begun, ended=_has_message)
            if not ends.whole:
                survey.gap()
                marks = _MARKS if survey.main.fold.own_prompt else (*_MARKS, _PROMPT)
                survey.feed(marked_lines(fd, *ends.gap, marks))
                survey.gap()
            survey.feed(ends.tail)
        survey.finish()
        return survey


def _has_message(run: Sequence[Line]) -> bool:
    """Whether any line is one of the session's own messages."""
    own = (line.data for line in run if not any(mark in line.data for mark in _HELPERS))
    return any(kind in data for data in own for kind in (_PROMPT, _REPLY))


def fork_time(path: str) -> datetime | None:
    """When a fork was made, by the beginning of its file; None for a session of its own, and where it cannot be read:
    reading the rest says why."""
    survey = CopilotSurvey("", 0)

    def begun(new: Sequence[Line]) -> bool:
        survey.feed(new)
        return survey.events > 1

    try:
        with open_file(path) as fd:
            read_ends(fd, os.fstat(fd).st_size, _BEGINNING, 0, reach=_REACH, begun=begun)
    except OSError:
        return None
    return survey.began


# Forks ------------------------------------------------------------------------------------------------------


def relate(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Each session once, forks with their parent and the first of their line.

    A fork copies its parent's events with their ids, and only a notice in the middle names the parent: where that was
    not read, the earliest of those that begin with the same event stands for it.
    """
    kept = once(summaries, lambda one: rank(str(one.raw["layout"]), one.size, one.path))
    alike: dict[object, list[SessionSummary]] = defaultdict(list)
    for one in kept.values():
        if one.kind != "subagent" and one.raw.get("firstEvent"):
            alike[one.raw["firstEvent"]].append(one)
    parents: dict[str, str] = {}
    for one in kept.values():
        if one.forked_from and one.forked_from != one.session_id:
            parents[one.session_id] = one.forked_from
    for family in alike.values():
        origin, *copies = sorted(family, key=lambda one: (one.kind == "fork", one.created_at, one.session_id))
        first = first_of_line(origin.session_id, parents)
        for one in copies:
            if one.session_id not in parents and first != one.session_id:
                parents[one.session_id] = origin.session_id
    return as_forks(kept.values(), parents)
