"""A Claude Code transcript summed up: by its ends in a glance, or exactly in one pass in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal

from session_adapters.claude_builder import add_costs
from session_adapters.claude_records import (
    Brief,
    BriefBlock,
    BriefBody,
    Said,
    Usage,
    assistant_kind,
    block_text,
    forked_from,
    line_cost,
    reply_key,
    system_said,
    token_usage,
    user_said,
)
from session_adapters.files import Decoder, Line, is_whole, lines, read_ends
from session_adapters.model import EPOCH, Cost, MessageKind, SessionKind, SessionSummary, TokenUsage
from session_adapters.text import TITLE_LENGTH, one_line
from session_adapters.times import parse_time

__all__ = ["REACH", "Tally", "ends", "feed_all"]

REACH = 1 << 20
"""Bytes at each end beyond which an unusual file is not searched for its first prompt or newest message."""
_PREVIEW_LENGTH = 200
Part = Literal["whole", "ends", "head"]
_DECODER = Decoder(Brief)


class Tally:
    """Sums up lines given in file order. What it counts is what `ClaudeBuilder` makes of the same lines."""

    def __init__(self, session_id: str, *, subagent: bool = False) -> None:
        self.session_id = session_id
        self.damaged: list[tuple[int, str]] = []
        self.records = 0
        self.custom_title = ""
        self.cwd: str | None = None
        self.last_at: datetime | None = None
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
    def session(self) -> str | None:
        """The session that a helper's records name as theirs."""
        return self._raw.get("sessionId")

    def feed(self, line: Line) -> None:
        """Take in one line."""
        if line.too_long:
            self.damaged.append((line.offset, "the line is too long to be read"))
            return
        found, lost = _DECODER.all(line.data)
        if lost:
            self.damaged.append((line.offset, "not a record, or only part of one, could be read"))
        for number, record in enumerate(found):
            self.records += 1
            self._take(record, f"@{line.offset}.{number}" if number else f"@{line.offset}")

    def _take(self, record: Brief, place: str) -> None:
        kind = record.type
        if kind in ("user", "assistant", "system", "tool_use", "tool_result", "cost", "session"):
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
            if "firstUuid" not in self._raw:  # a fork that `claude -p` made starts with its own prompt
                self._raw.setdefault("queuedAt", record.timestamp)

    def _facts(self, record: Brief) -> None:
        if record.type != "cost":
            self._time(record, conversation=record.type != "session")
        if record.cwd:
            self.cwd = record.cwd
            self._cwds[record.cwd] = None
        if record.git_branch:
            self._branch = record.git_branch
            self._branches[record.git_branch] = None
        if self._origin is None and (origin := forked_from(record)) and origin != self.session_id:
            self._origin = origin
        raw = self._raw
        if record.version:
            raw["version"] = record.version
        if record.entrypoint:
            raw["entrypoint"] = record.entrypoint
        if record.agent_id:
            raw["agentId"] = record.agent_id
        if record.session_id and self._subagent:
            raw.setdefault("sessionId", record.session_id)
        if record.uuid and record.type in ("user", "assistant"):
            raw.setdefault("firstUuid", record.uuid)

    def _time(self, record: Brief, *, conversation: bool) -> None:
        moment = parse_time(record.timestamp)
        if moment is None:
            return
        if record.uuid and forked_from(record):
            self._inherited_at = self._inherited_at or moment
        elif self._created is None:
            self._created = moment
        if conversation and (self.last_at is None or moment > self.last_at):
            self.last_at = moment

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
        results = sum(isinstance(block, BriefBlock) and block.type == "tool_result" for block in blocks)
        images = sum(isinstance(block, BriefBlock) and block.type in ("image", "document") for block in blocks)
        self._messages += results
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
        self._calls += sum(isinstance(b, BriefBlock) and b.type == "tool_use" for b in _blocks(record))
        if body and body.id:
            self._raw.setdefault("firstMessageId", body.id)
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
        extra = {
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
        created = self._created or self._inherited_at or self.last_at or EPOCH
        fields: dict[str, Any] = {
            "agent": "claude",
            "session_id": self.session_id,
            "title": one_line(given or self.first_prompt or self._command, TITLE_LENGTH),
            "created_at": created,
            "updated_at": self.last_at or created,
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
            "source": raw.get("entrypoint"),
            "preview": self.first_prompt,
            "error": self._failed,
            "warnings": len(self.damaged),
            "raw": raw,
        }
        return SessionSummary(**{**fields, **known})


def ends(fd: int, size: int, tally: Tally, *, head: int, tail: int, reach: int = REACH) -> Part:
    """Feed the beginning and the end of a file to `tally`; which part of it that was.

    Reads on from the beginning until there is a prompt, a directory and a record of the session's own, and back
    from the end until there is a message, each at most `reach` bytes.
    """
    if size <= head + tail:
        feed_all(fd, 0, size, tally)
        return "whole"
    position = _read_head(fd, size, tally, head, max(head, reach))
    for span in _spans(tail, max(tail, reach)):
        if size - span <= position:
            feed_all(fd, position, size, tally)
            return "whole"
        last = read_ends(fd, size, 0, span).tail
        if last and (span >= reach or any(_is_message(line.data) for line in last)):
            _feed(last, tally)
            return "ends"
    return "head"


def _read_head(fd: int, size: int, tally: Tally, head: int, reach: int) -> int:
    """Where reading stopped: the beginning of a line."""
    position = 0
    for span in _spans(head, min(reach, size)):
        for line in lines(fd, position, span):
            if not line.complete:
                break
            tally.feed(line)
            position = line.offset + len(line.data) + 1
        if tally.first_prompt and tally.cwd and tally.created:
            break
    return position


def feed_all(fd: int, start: int, stop: int | None, tally: Tally) -> int:
    """Feed every line from `start`; where reading stopped. A torn last line waits to be finished."""
    return _feed(lines(fd, start, stop), tally, start)


def _feed(found: Iterable[Line], tally: Tally, start: int = 0) -> int:
    end = start
    for line in found:
        if not line.complete and (line.too_long or not is_whole(line.data)):
            break
        tally.feed(line)
        end = line.offset + len(line.data)
    return end


def _spans(first: int, last: int) -> list[int]:
    spans = [first]
    while spans[-1] < last:
        spans.append(min(spans[-1] * 4, last))
    return spans


def _is_message(data: bytes) -> bool:
    return b'"timestamp"' in data and (b'"type":"user"' in data or b'"type":"assistant"' in data)


def _blocks(record: Brief) -> list[BriefBlock | str]:
    content = record.message.content if isinstance(record.message, BriefBody) else record.message or record.content
    if isinstance(content, str):
        return [content]
    return content if isinstance(content, list) else []
