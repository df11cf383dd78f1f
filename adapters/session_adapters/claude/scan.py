"""Lines of a Claude Code transcript summed up, in one pass and bounded memory."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from session_adapters.claude.builder import add_costs
from session_adapters.claude.figures import token_usage
from session_adapters.claude.records import (
    CONVERSATION,
    Brief,
    BriefBlock,
    BriefBody,
    Said,
    Usage,
    assistant_kind,
    block_text,
    damage,
    forked_from,
    line_cost,
    reply_key,
    system_said,
    user_said,
)
from session_adapters.files import Decoder, Line
from session_adapters.model import EPOCH, Cost, MessageKind, SessionKind, SessionSummary, TokenUsage
from session_adapters.text import TITLE_LENGTH, one_line
from session_adapters.times import parse_time

__all__ = ["Tally", "timed"]

_PREVIEW_LENGTH = 200
_DECODER = Decoder(Brief)
_PLAIN_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z").fullmatch


class Tally:
    """Sums up lines given in file order. What it counts is what `ClaudeBuilder` makes of the same lines."""

    def __init__(self, session_id: str, *, subagent: bool = False) -> None:
        self.session_id = session_id
        self.damaged: list[tuple[int, str]] = []
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
        self._subagent = subagent
        self._seen: set[str] = set()
        self._replies: set[str] = set()
        self._usage: dict[str, Usage] = {}
        self._models: dict[str, int] = {}
        self._messages = self._turns = self._calls = self._sidechain = self._compactions = 0
        self._unanswered = self._failed = False
        self._cost: Cost | None = None
        self._created: datetime | None = None
        self._inherited_at: datetime | None = None
        self._command = ""
        self._ai_title = ""
        self._origin: str | None = None
        self._branch: str | None = None
        self._cwds: dict[str, None] = {}
        self._branches: dict[str, None] = {}
        self._raw: dict[str, Any] = {}

    @property
    def created(self) -> bool:
        """A record of its own, not copied from a parent, was seen."""
        return self._created is not None

    @property
    def introduced(self) -> bool:
        """What the beginning of a file should tell was seen: a prompt, a directory, when the session began, and in
        those of old versions a reply, by whose id their copies are known."""
        began = self.created or self.copied
        old = self._version is not None and self._version.startswith(("0.", "1."))
        return bool(self.first_prompt and self.cwd and began and (self._first_message or not old))

    @property
    def copied(self) -> bool:
        """A record that was copied from a parent was seen."""
        return self._inherited_at is not None

    def begins(self, record: Brief) -> None:
        """Take the time of the first record of the session's own, found elsewhere in the file."""
        self._created = self._created or parse_time(record.timestamp)

    @property
    def session(self) -> str | None:
        """The session that a helper's records name as theirs."""
        return self._raw.get("sessionId")

    def feed(self, line: Line) -> None:
        """Take in one line."""
        if line.too_long:
            self.damaged.append((line.offset, "the line is too long to be read"))
            return
        found, lost = _DECODER.all(line.data)
        if lost and (reason := damage(line.data)):
            self.damaged.append((line.offset, reason))
        for number, record in enumerate(found):
            self.records += 1
            self._take(record, f"@{line.offset}.{number}" if number else f"@{line.offset}")

    def _take(self, record: Brief, place: str) -> None:
        kind = record.type
        if kind in CONVERSATION:
            uuid = record.uuid
            if record.is_sidechain and not self._subagent:
                if uuid is None or uuid not in self._seen:
                    self._side_reply(record, place)
            elif uuid is None or uuid not in self._seen:
                self._facts(record)
                self._conversation(record, place)
            if uuid:
                self._seen.add(uuid)
        elif kind == "custom-title" and record.custom_title:
            self.custom_title = record.custom_title
        elif kind == "ai-title" and record.ai_title:
            self._ai_title = record.ai_title
        elif kind == "cost-state" and record.total_cost_usd is not None:
            self._raw["totalCostUSD"] = record.total_cost_usd
        elif kind == "queue-operation":
            self._time(record, conversation=False)
            if self._first_uuid is None:  # a fork that `claude -p` made starts with its own prompt
                self._raw.setdefault("queuedAt", record.timestamp)

    def _facts(self, record: Brief) -> None:
        if record.type != "cost":
            self._time(record, conversation=record.type != "session")
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
        if self._subagent:
            self._raw["agentId"] = record.agent_id
            self._raw.setdefault("sessionId", record.session_id)
        if self._first_uuid is None and record.type in ("user", "assistant"):
            self._first_uuid = record.uuid

    def _time(self, record: Brief, *, conversation: bool) -> None:
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
        if record.uuid and forked_from(record):
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

    def _conversation(self, record: Brief, place: str) -> None:
        match record.type:
            case "user":
                self._user(record)
            case "assistant":
                self._assistant(record, place)
            case "system":
                said = system_said(record)
                self._messages += said is not None
                self._compactions += said is not None and said.kind == "compaction"
                self._note_command(said)
            case "tool_use":
                self._messages += 1
                self._calls += 1
                self._answer("message")
            case "tool_result":
                self._messages += 1
            case "cost":
                if cost := line_cost(record):
                    self._cost = add_costs(self._cost, cost)

    def _user(self, record: Brief) -> None:
        blocks = _blocks(record)
        results = images = 0
        for block in blocks:
            kind = block.type if isinstance(block, BriefBlock) else "text"
            results += kind == "tool_result"
            images += kind in ("image", "document")
        self._messages += results
        if results == len(blocks):
            return
        said = user_said(record, block_text(blocks), results=results, images=images)
        if said is None:
            return
        self._messages += 1
        self._note_command(said)
        if said.kind == "message":
            self._replies.clear()
            self._unanswered = True
            self._failed = False
            if not self.first_prompt:
                self.first_prompt = one_line(said.text, _PREVIEW_LENGTH)

    def _assistant(self, record: Brief, place: str) -> None:
        body = record.message if isinstance(record.message, BriefBody) else None
        key = reply_key(record, body) or place
        model = (body.model if body else None) or record.model
        self._spend(key, (body.usage if body else None) or record.usage)
        for block in _blocks(record):
            if isinstance(block, BriefBlock) and block.type == "tool_use":
                self._calls += 1
        if self._first_message is None and body:
            self._first_message = body.id
        if key in self._replies:
            return
        self._replies.add(key)
        self._messages += 1
        self._answer(assistant_kind(record, model))
        if model and model != "<synthetic>":
            self._models[model] = self._models.pop(model, 0) + 1

    def _answer(self, kind: MessageKind) -> None:
        self._failed = kind == "error"
        if kind == "message":
            self._turns += self._unanswered
            self._unanswered = False

    def _side_reply(self, record: Brief, place: str) -> None:
        """A helper's record inside the main file (1.0.x): no message of this conversation, but its tokens were
        spent here and are recorded nowhere else."""
        self._sidechain += 1
        if record.type == "assistant" and isinstance(record.message, BriefBody):
            self._spend(reply_key(record, record.message) or place, record.message.usage)

    def _spend(self, key: str, usage: Usage | None) -> None:
        if usage is not None:
            self._usage[key] = usage

    def _note_command(self, said: Said | None) -> None:
        if said is not None and said.kind == "command" and said.text.startswith("/") and not self._command:
            self._command = one_line(said.text)

    def tokens(self) -> TokenUsage | None:
        """Each model call once, with the last usage that was written for it."""
        total: TokenUsage | None = None
        for usage in self._usage.values():
            tokens = token_usage(usage)
            if tokens is not None:
                total = tokens if total is None else total + tokens
        return total

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
            "compactions": self._compactions,
            "sidechainRecords": self._sidechain,
        }
        raw.update({name: value for name, value in extra.items() if value})
        raw.update(known.pop("raw", {}))
        kind: SessionKind = "fork" if self._origin else "session"
        given = self.custom_title or known.pop("helper_title", "") or self._ai_title
        created = self._created or self._inherited_at or last_at or EPOCH
        fields: dict[str, Any] = {
            "agent": "claude",
            "session_id": self.session_id,
            "title": one_line(given or self.first_prompt or self._command, TITLE_LENGTH),
            "created_at": created,
            "updated_at": last_at or created,
            "turn_count": self._turns,
            "message_count": self._messages,
            "model": models[0] if models else None,
            "cost": self._cost,
            "cwd": self.cwd,
            "forked_from": self._origin,
            "kind": kind,
            "parent_id": self._origin,
            "models": models,
            "tokens": self.tokens(),
            "tool_call_count": self._calls,
            "git_branch": self._branch,
            "source": self._entrypoint,
            "preview": self.first_prompt,
            "error": self._failed,
            "warnings": len(self.damaged),
            "raw": raw,
        }
        return SessionSummary(**{**fields, **known})


def timed(line: Line) -> list[Brief]:
    """The records in a line that say when something happened in the conversation."""
    if line.too_long or b'"timestamp"' not in line.data:
        return []
    found = _DECODER.all(line.data)[0]
    return [r for r in found if r.timestamp is not None and (r.type in CONVERSATION or r.type == "queue-operation")]


def _blocks(record: Brief) -> list[BriefBlock | str]:
    content = record.message.content if isinstance(record.message, BriefBody) else record.message or record.content
    if isinstance(content, str):
        return [content]
    return content if isinstance(content, list) else []
