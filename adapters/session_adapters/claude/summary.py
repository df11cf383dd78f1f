"""Lines of a Claude Code transcript summed up, in one pass and bounded memory."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from session_adapters.claude.builder import add_costs
from session_adapters.claude.chains import Chains, helper_id
from session_adapters.claude.copies import NO_COPIES, Copies, is_old
from session_adapters.claude.figures import token_usage
from session_adapters.claude.kinds import CONVERSATION, damage, unknown
from session_adapters.claude.records import (
    BriefBlock,
    BriefBody,
    ClaudeBrief,
    ClaudeUsage,
    Said,
    assistant_kind,
    block_text,
    forked_from,
    is_call,
    line_cost,
    reply_key,
    system_said,
    user_said,
)
from session_adapters.fold import SessionFold
from session_adapters.model import EPOCH, Cost, SessionKind, SessionSummary, TokenUsage
from session_adapters.reading.damage import Damage
from session_adapters.reading.files import Decoder, Line
from session_adapters.text import TITLE_LENGTH, one_line
from session_adapters.times import parse_time

__all__ = ["ClaudeCounts", "timed"]

_PREVIEW_LENGTH = 200
_TELLING = 12
"""Characters at the end of a reply's id that tell it from all others."""
_DECODER = Decoder(ClaudeBrief)
_PLAIN_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch


class ClaudeCounts:
    """Sums up lines given in file order. What it counts is what `ClaudeBuilder` makes of the same lines."""

    def __init__(self, session_id: str, *, subagent: bool = False, copies: Copies = NO_COPIES) -> None:
        self.session_id = session_id
        self.helpers: dict[str, ClaudeCounts] = {}
        """Those inside the file, by chain."""
        self._chains = Chains()
        self._copies = copies
        self.damaged = Damage()
        self.records = 0
        self.custom_title = ""
        self.cwd: str | None = None
        self._latest = ""
        self._odd_latest: datetime | None = None
        self._first_uuid: str | None = None
        self._first_message: str | None = None
        self._version: str | None = None
        self._entrypoint: str | None = None
        self.first_prompt = ""
        self._own_prompt = ""
        self.subagent = subagent
        self._seen: set[str] = set()
        self._replies: set[str] = set()
        self._usage: dict[str, ClaudeUsage] = {}
        self._copied_usage: dict[str, ClaudeUsage] = {}
        self._own_message: str | None = None
        self._copied_messages: list[str] = []
        self._asked = False
        self._models: dict[str, int] = {}
        self._fold = SessionFold()
        self._cost: Cost | None = None
        self._told = False
        """The last reply tells its own tokens."""
        self._paid: TokenUsage | None = None
        """What `cost` events tell of the others."""
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
    def created(self) -> bool:
        """Whether it is known when the session began, or that it holds only what was copied."""
        return self._created is not None

    @property
    def introduced(self) -> bool:
        """What the beginning of a file should tell was seen: a prompt, a directory, and when the session began."""
        began = self._own_message is not None if self.copied else self.created
        return bool(self.first_prompt and self.cwd and began)

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

    def feed(self, line: Line) -> None:
        """Take in one line."""
        if line.too_long:
            self.damaged.skip(line)
            return
        found, lost = _DECODER.all(line.data)
        if lost and (reason := damage(line.data)):
            self.damaged.add(line.offset, reason)
        for number, record in enumerate(found):
            self.records += 1
            if reason := unknown(record):
                self.damaged.add(line.offset, reason)
            self._take(record, f"@{line.offset}.{number}" if number else f"@{line.offset}")

    def _take(self, record: ClaudeBrief, place: str) -> None:
        kind = record.kind
        if record.is_sidechain and not self.subagent:
            self._helper(record)._take(record, place)
        elif kind in CONVERSATION:
            uuid = record.uuid
            if uuid is None or uuid not in self._seen:
                self._facts(record)
                self._conversation(record, place)
            if uuid:
                self._seen.add(uuid)
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

    def _helper(self, record: ClaudeBrief) -> ClaudeCounts:
        chain = self._chains.chain(record)
        helper = self.helpers.get(chain)
        if helper is None:
            name = helper_id(self.session_id, chain)
            helper = self.helpers[chain] = ClaudeCounts(name, subagent=True, copies=self._copies)
        helper.records += 1
        return helper

    def _facts(self, record: ClaudeBrief) -> None:
        if record.type != "cost":
            silent = record.type == "session" or (record.kind == "system" and system_said(record) is None)
            self._time(record, conversation=not silent)
        if record.cwd and record.cwd != self.cwd:
            self.cwd = record.cwd
            self._cwds[record.cwd] = None
        if record.git_branch and record.git_branch != self._branch:
            self._branch = record.git_branch
            self._branches[record.git_branch] = None
        if record.forked_from is not None and self._origin is None and forked_from(record) != self.session_id:
            self._origin = forked_from(record)
        if record.version:
            self._version = record.version
        if record.entrypoint:
            self._entrypoint = record.entrypoint
        if self.subagent:
            self._raw["agentId"] = record.agent_id
            self._raw.setdefault("sessionId", record.session_id)
        if self._first_uuid is None and record.kind in ("user", "assistant"):
            self._first_uuid = record.uuid

    def _time(self, record: ClaudeBrief, *, conversation: bool) -> None:
        at = record.timestamp
        if conversation and type(at) is str and _PLAIN_TIME(at) and self._latest:
            # Times in the agent's usual form are compared as they stand, and read once at the end.
            if at > self._latest:
                self._latest = at
            if self._created is not None:
                return
        moment = parse_time(at)
        if moment is None:
            return
        if self._copies.has(record) and not self._copies.is_restamped:
            self._inherited_at = self._inherited_at or moment
        elif self._created is None:
            self._created = moment
        if conversation:
            if type(at) is str and _PLAIN_TIME(at):
                self._latest = max(self._latest, at)
            elif self._odd_latest is None or moment > self._odd_latest:
                self._odd_latest = moment

    @property
    def last_at(self) -> datetime | None:
        """Time of the newest message."""
        found = [moment for moment in (parse_time(self._latest), self._odd_latest) if moment is not None]
        return max(found, default=None)

    def _conversation(self, record: ClaudeBrief, place: str) -> None:
        match record.kind:
            case "user":
                self._user(record)
            case "assistant":
                self._assistant(record, place)
            case "system":
                if (said := system_said(record)) is not None:
                    self._fold.step("system", said.kind)
                    self._note_command(said)
            case "tool_use":
                self._fold.step("assistant")
                self._fold.tool_calls += 1
                self._told = False
            case "tool_result":
                self._fold.step("tool")
            case "cost":
                if cost := line_cost(record):
                    self._cost = add_costs(self._cost, cost)
                    if not self._told and cost.tokens.total:
                        self._paid = (self._paid or TokenUsage()) + cost.tokens

    def _user(self, record: ClaudeBrief) -> None:
        blocks = _blocks(record)
        results = images = 0
        for block in blocks:
            kind = block.type if isinstance(block, BriefBlock) else "text"
            results += kind == "tool_result"
            images += kind in ("image", "document")
        self._fold.step("tool", messages=results)
        if results == len(blocks):
            return
        said = user_said(record, block_text(blocks), results=results, images=images)
        if said is None:
            return
        self._fold.step("user", said.kind)
        self._note_command(said)
        if said.kind == "message":
            self._replies.clear()
            self._asked = True
            if not self.first_prompt:
                self.first_prompt = one_line(said.text, _PREVIEW_LENGTH)
            if not self._own_prompt and not self._copies.has(record):
                self._own_prompt = one_line(said.text, _PREVIEW_LENGTH)

    def _assistant(self, record: ClaudeBrief, place: str) -> None:
        body = record.message if isinstance(record.message, BriefBody) else None
        key = reply_key(record, body) or place
        model = (body.model if body else None) or record.model
        copied = self._copies.has(record)
        usage = (body.usage if body else None) or record.usage
        if usage is not None:
            (self._copied_usage if copied else self._usage)[key] = usage
        self._told = token_usage(usage) is not None
        for block in _blocks(record):
            if isinstance(block, BriefBlock) and is_call(block):
                self._fold.tool_calls += 1
        if self._first_message is None and body:
            self._first_message = body.id
        if self._asked and body and body.id:
            self._answered(body.id, copied=copied)
        if key in self._replies:
            return
        self._replies.add(key)
        self._fold.step("assistant", assistant_kind(record, model))
        if model and model != "<synthetic>":
            self._models[model] = self._models.pop(model, 0) + 1

    def _answered(self, message_id: str, *, copied: bool) -> None:
        """Note the first reply to a prompt. What a session added to the copy that it began with is known by the
        first reply of its own, which is among those that its own forks copied."""
        self._asked = False
        if copied:
            self._copied_messages.append(message_id[-_TELLING:])
        elif self._own_message is None:
            self._own_message = message_id[-_TELLING:]

    def _note_command(self, said: Said) -> None:
        if said.kind == "command" and said.text.startswith("/") and not self._command:
            self._command = one_line(said.text)

    def tokens(self) -> TokenUsage | None:
        """Each model call of the session's own once, with the last usage that was written for it, and what `cost`
        events tell of replies without one."""
        told = _total(self._usage)
        return told + self._paid if told is not None and self._paid is not None else told or self._paid

    def summary(self, **known: Any) -> SessionSummary:
        """The summary; `known` are fields that the file name, its neighbours or its size tell."""
        newest_first = list(reversed(self._models))
        models = tuple(sorted(newest_first, key=lambda model: -self._models[model]))
        raw = dict(self._raw)
        last_at = self.last_at
        extra = {
            "firstUuid": self._first_uuid,
            "firstMessageId": self._first_message,
            "version": self._version,
            "entrypoint": self._entrypoint,
            "customTitle": self.custom_title,
            "aiTitle": self._ai_title,
            "cwds": list(self._cwds),
            "branches": list(self._branches),
            "compactions": self._fold.compactions,
            "ownReply": self._own_message if self._copied_messages else None,
            "copiedReplies": self._copied_messages,
            "inheritedTokens": copied.total if (copied := _total(self._copied_usage)) is not None else 0,
        }
        raw.update({name: value for name, value in extra.items() if value})
        raw.update(known.pop("raw", {}))
        kind: SessionKind = "fork" if self._origin or self.copied else "session"
        given = self.custom_title or known.pop("helper_title", "") or self._ai_title
        created = self._created or self._inherited_at or last_at or EPOCH
        fields: dict[str, Any] = {
            "agent": "claude",
            "session_id": self.session_id,
            "title": one_line(given or self.first_prompt or self._command, TITLE_LENGTH),
            "created_at": created,
            "updated_at": last_at or created,
            "turn_count": self._fold.turns,
            "message_count": self._fold.messages,
            "model": models[0] if models else None,
            "cost": self._cost,
            "tags": (self._tag,) if self._tag else (),
            "cwd": self.cwd,
            "forked_from": self._origin,
            "kind": kind,
            "parent_id": self._origin,
            "models": models,
            "tokens": self.tokens(),
            "tool_call_count": self._fold.tool_calls,
            "git_branch": self._branch,
            "source": self._entrypoint,
            "preview": self._own_prompt or self.first_prompt,
            "error": self._fold.failed,
            "warnings": len(self.damaged),
            "raw": raw,
        }
        return SessionSummary(**{**fields, **known})


def _total(usage: Mapping[str, ClaudeUsage]) -> TokenUsage | None:
    found = [tokens for one in usage.values() if (tokens := token_usage(one)) is not None]
    return sum(found[1:], found[0]) if found else None


def timed(line: Line) -> list[ClaudeBrief]:
    """The records in a line that say when something happened in the conversation."""
    if line.too_long or b'"timestamp"' not in line.data:
        return []
    found = _DECODER.all(line.data)[0]
    return [r for r in found if r.timestamp is not None and (r.kind in CONVERSATION or r.type == "queue-operation")]


def _blocks(record: ClaudeBrief) -> list[BriefBlock | str]:
    content = record.message.content if isinstance(record.message, BriefBody) else record.message or record.content
    if isinstance(content, str):
        return [content]
    return content if isinstance(content, list) else []
