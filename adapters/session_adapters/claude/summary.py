"""What the messages of a Claude Code transcript add up to, and facts beside them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from session_adapters.claude.builder import ClaudeBuilder, add_costs
from session_adapters.claude.chains import helper_id
from session_adapters.claude.copies import NO_COPIES, Copies, is_old
from session_adapters.claude.line_types import CONVERSATION
from session_adapters.claude.records import BRIEF, Body, ClaudeRecord, forked_from
from session_adapters.claude.said import system_said
from session_adapters.model import EPOCH, Cost, Message, SessionKind, SessionSummary
from session_adapters.reading.ends import marked_lines, read_ends
from session_adapters.reading.lines import Line, is_whole, lines
from session_adapters.session_counts import SessionFold
from session_adapters.text import TITLE_LENGTH, one_line
from session_adapters.times import parse_time

__all__ = ["ClaudeSurvey", "Part", "ends", "feed_all"]

_PREVIEW_LENGTH = 200
_TELLING = 12
"""Characters at the end of a reply's id that tell it from all others."""
_DRAIN = 200
"""Messages after which those that are settled are counted and forgotten."""


class ClaudeSurvey(ClaudeBuilder):
    """Takes lines in file order. With `brief`, messages lack what is long in them and are forgotten when counted."""

    def __init__(
        self, session_id: str, *, subagent: bool = False, copies: Copies = NO_COPIES, brief: bool = False
    ) -> None:
        super().__init__(subagent=subagent, copies=copies)
        self.session_id = session_id
        self.helpers: dict[str, ClaudeSurvey] = {}
        """Those inside the file, by chain."""
        self.records = 0
        self.custom_title = ""
        self.cwd: str | None = None
        self._brief = brief
        if brief:
            self.decoder = BRIEF
        self._fold = SessionFold()
        self._taken = 0
        self._summed: tuple[int, SessionFold] | None = None
        """After how many records, and what all messages added up to."""
        self._prompted = False
        self._asked = False
        """No reply has come to the last prompt."""
        self._first_uuid: str | None = None
        self._first_message: str | None = None
        self._own_message: str | None = None
        self._copied_messages: list[str] = []
        self._version: str | None = None
        self._entrypoint: str | None = None
        self._recorded: Cost | None = None
        self._latest: datetime | None = None
        self._created: datetime | None = None
        self._inherited_at: datetime | None = None
        self._command = ""
        self._ai_title = ""
        self._tag = ""
        self._origin: str | None = None
        self._branch: str | None = None
        self._cwds: dict[str, None] = {}
        self._branches: dict[str, None] = {}
        self._raw: dict[str, Any] = {}

    @property
    def introduced(self) -> bool:
        """What the beginning of a file should tell was seen: a prompt, a directory, and when the session began."""
        began = self._own_message if self.copied else self._created
        return self._prompted and bool(self.cwd) and began is not None

    @property
    def is_answered(self) -> bool:
        """A reply was seen: whether records are copies is told by what stands before the second one."""
        return self._first_message is not None

    @property
    def is_whole(self) -> bool:
        """Whether the whole file must be read: an old version's, whose helpers may stand anywhere in it, and whose
        copies are known by the ids of replies."""
        return is_old(self._version)

    @property
    def copied(self) -> bool:
        """A record that was copied from a parent was seen."""
        return self._inherited_at is not None

    @property
    def session(self) -> str | None:
        """The session that a helper's records name as theirs."""
        return self._raw.get("sessionId")

    @property
    def fold(self) -> SessionFold:
        """What all messages add up to by now."""
        if self._summed is None or self._summed[0] != self._taken:
            fold = self._fold.copy()
            fold.add(self.messages)
            self._summed = self._taken, fold
        return self._summed[1]

    # Lines -------------------------------------------------------------------------------------------------

    def taker(self, chain: str) -> ClaudeSurvey:
        """See `ClaudeBuilder.taker`."""
        self.records += 1
        if not chain:
            return self
        helper = self.helpers.get(chain)
        if helper is None:
            name = helper_id(self.session_id, chain)
            helper = ClaudeSurvey(name, subagent=True, copies=self.copies, brief=self._brief)
            self.helpers[chain] = helper
        return helper

    def take(self, record: ClaudeRecord, place: str) -> None:
        """See `ClaudeBuilder.take`."""
        self._taken += 1
        super().take(record, place)
        if self._brief and len(self.messages) > _DRAIN:
            self._fold.add(self.drain())

    def _take(self, record: ClaudeRecord, place: str) -> None:
        kind = record.kind
        if kind in CONVERSATION:
            if record.type != "cost":
                silent = record.type == "session" or (record.kind == "system" and system_said(record) is None)
                self._time(record, conversation=not silent)
            # Directory and branch change inside one session: all are kept, and the last one counts.
            if record.cwd and record.cwd != self.cwd:
                self.cwd = record.cwd
                self._cwds[record.cwd] = None
            if record.git_branch and record.git_branch != self._branch:
                self._branch = record.git_branch
                self._branches[record.git_branch] = None
            if record.forked_from is not None and self._origin is None and forked_from(record) != self.session_id:
                self._origin = forked_from(record)
            self._version = record.version or self._version
            self._entrypoint = record.entrypoint or self._entrypoint
            if self.subagent:
                self._raw["agentId"] = record.agent_id
                self._raw.setdefault("sessionId", record.session_id)
            if self._first_uuid is None and record.kind in ("user", "assistant"):
                self._first_uuid = record.uuid
        elif kind == "custom-title" and record.custom_title:
            self.custom_title = record.custom_title
        elif kind == "ai-title" and record.ai_title:
            self._ai_title = record.ai_title
        elif kind == "tag":
            self._tag = one_line(record.tag or "", TITLE_LENGTH)  # an empty one takes it away
        elif kind == "cost-state" and record.total_cost_usd is not None:
            self._raw["totalCostUSD"] = record.total_cost_usd
        elif kind == "queue-operation":
            self._time(record, conversation=False)
            if self._first_uuid is None:  # a fork that `claude -p` made starts with its own prompt
                self._raw.setdefault("queuedAt", record.timestamp)
        super()._take(record, place)

    def _time(self, record: ClaudeRecord, *, conversation: bool) -> None:
        moment = parse_time(record.timestamp)
        if moment is None:
            return
        if self.copies.has(record) and not self.copies.is_restamped:
            self._inherited_at = self._inherited_at or moment
        elif self._created is None:
            self._created = moment
        if conversation and (self._latest is None or moment > self._latest):
            self._latest = moment

    def add(self, message: Message) -> int:
        """See `Builder.add`."""
        if message.is_prompt:
            self._prompted = self._asked = True
        elif message.kind == "command" and message.content.startswith("/") and not self._command:
            self._command = one_line(message.content)
        return super().add(message)

    def _assistant(self, record: ClaudeRecord, place: str) -> None:
        said = record.message.id if isinstance(record.message, Body) else None
        self._first_message = self._first_message or said
        if self._asked and said:
            # The first reply to a prompt. What a session added to the copy that it began with is known by the first
            # reply of its own, which is among those that its own forks copied.
            self._asked = False
            if self.copies.has(record):
                self._copied_messages.append(said[-_TELLING:])
            elif self._own_message is None:
                self._own_message = said[-_TELLING:]
        super()._assistant(record, place)

    def _cost(self, cost: Cost) -> None:
        self._recorded = add_costs(self._recorded, cost)
        super()._cost(cost)

    # Results -----------------------------------------------------------------------------------------------

    def summary(self, **known: Any) -> SessionSummary:
        """The summary; `known` are fields that the file name, its neighbours or its size tell."""
        fold = self.fold
        tokens = fold.tokens + self.untold
        extra = {
            "firstUuid": self._first_uuid,
            "firstMessageId": self._first_message,
            "version": self._version,
            "entrypoint": self._entrypoint,
            "customTitle": self.custom_title,
            "aiTitle": self._ai_title,
            "cwds": list(self._cwds),
            "branches": list(self._branches),
            "compactions": fold.compactions,
            "ownReply": self._own_message if self._copied_messages else None,
            "copiedReplies": self._copied_messages,
            "inheritedTokens": fold.inherited_tokens.total,
        }
        raw = {**self._raw, **{name: value for name, value in extra.items() if value}, **known.pop("raw", {})}
        kind: SessionKind = "fork" if self._origin or self.copied else "session"
        given = self.custom_title or known.pop("helper_title", "") or self._ai_title
        created = self._created or self._inherited_at or self._latest or EPOCH
        fields: dict[str, Any] = {
            **fold.fields(),
            "agent": "claude",
            "session_id": self.session_id,
            "title": one_line(given or fold.first_prompt or self._command, TITLE_LENGTH),
            "created_at": created,
            "updated_at": self._latest or created,
            "tokens": tokens if tokens.total else None,
            "cost": self._recorded,
            "tags": (self._tag,) if self._tag else (),
            "cwd": self.cwd,
            "forked_from": self._origin,
            "kind": kind,
            "parent_id": self._origin,
            "git_branch": self._branch,
            "source": self._entrypoint,
            "preview": one_line(fold.prompt, _PREVIEW_LENGTH),
            "warnings": len(self.damaged),
            "raw": raw,
        }
        return SessionSummary(**{**fields, **known})


# Ends -------------------------------------------------------------------------------------------------------


REACH = 1 << 20
"""Bytes at each end beyond which an unusual file is not searched for its first prompt or newest message."""

_MARKS = (b'-title"',)
"""Lines between them that name the session: custom-title, ai-title."""

Part = Literal["whole", "ends", "head"]
"""What was read: `head` means that the newest message is not among it."""


def ends(fd: int, size: int, survey: ClaudeSurvey, *, head: int, tail: int, reach: int = REACH) -> Part:
    """Feed the beginning and the end of a file to `survey`; which part of it that was.

    Reads on from the beginning until there is a prompt, a directory and, behind all that was copied, a reply of the
    session's own, and back from the end until there is a message. What was copied is read however long it is, since
    it tells the parent; of others at most `reach` bytes are read at either end.
    """

    def begun(new: Iterable[Line]) -> bool:
        _feed(new, survey)
        return survey.introduced

    def ended(new: Iterable[Line]) -> bool:
        return any(
            record.timestamp is not None and record.kind in ("user", "assistant")
            for line in new
            if not line.too_long and b'"timestamp"' in line.data  # which spares decoding the others
            for record in BRIEF.all(line.data)[0]
        )

    found = read_ends(fd, size, head, tail, reach=reach, begun=begun, ended=ended)
    position, stop = found.gap
    if survey.is_whole or (survey.copied and not survey.introduced):
        for line in lines(fd, position, stop):
            if survey.introduced and not survey.is_whole:
                break
            survey.give(line)
            position = line.offset + len(line.data) + 1
    _feed(marked_lines(fd, position, stop, _MARKS), survey)
    _feed(found.tail, survey)
    return "whole" if position >= stop else "ends" if found.ended else "head"


def feed_all(fd: int, start: int, stop: int | None, survey: ClaudeSurvey) -> int:
    """Feed every line from `start`; where reading stopped. A torn last line waits to be finished."""
    return _feed(lines(fd, start, stop), survey, start)


def _feed(found: Iterable[Line], survey: ClaudeSurvey, start: int = 0) -> int:
    end = start
    for line in found:
        if not line.complete and (line.too_long or not is_whole(line.data)):
            break
        survey.give(line)
        end = line.offset + len(line.data)
    return end
