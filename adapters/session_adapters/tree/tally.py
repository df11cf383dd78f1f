"""What a list shows of a tree-shaped session, gathered entry by entry in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from session_adapters.model import EPOCH, Cost, Message, SessionSummary, TokenUsage
from session_adapters.text import one_line
from session_adapters.tree.file import TreeShape
from session_adapters.tree.messages import entry_time, price, tokens, usage_key
from session_adapters.tree.records import Entry

__all__ = ["Tally"]


class _Part(NamedTuple):
    """What one node adds to the branch it is on."""

    messages: int
    prompt: bool
    reply: bool
    failed: bool
    calls: int


class Tally(TreeShape):
    """Counts over all branches for tokens, cost and models (every call was paid for), over the active branch for
    messages and turns."""

    def __init__(self) -> None:
        super().__init__()
        self.named: str | None = None
        """Latest session_info.name; an empty one clears it (pi/FACTS.md)."""
        self.slot = ""
        """omp's title slot."""
        self.changed_title = ""
        """Latest title_change."""
        self.first_prompt = ""
        self.first_root = ""
        self.task = ""
        self.warnings = 0
        self.exit_reason: str | None = None
        self.own = TokenUsage()
        self.inherited = TokenUsage()
        self.own_cost: float | None = None
        self.inherited_cost: float | None = None
        self._parts: dict[int, _Part] = {}
        self._models: Counter[str] = Counter()
        self._latest: dict[str, int] = {}
        self._chosen: str | None = None
        self._counted: set[str] = set()
        self._first_time: datetime | None = None
        self._newest: datetime | None = None
        self._any_time: datetime | None = None

    @property
    def is_session(self) -> bool:
        """There is a header, or entries of Pi's kind (a damaged header hides nothing)."""
        return self.header is not None or bool(self._parts and not self.is_document)

    @property
    def is_document(self) -> bool:
        """The records have the document's shape (spec 004 §4.2.7)."""
        return self.header is None and self._typed == 0 and bool(self._parts)

    _typed = 0

    def take(self, record: Entry) -> int | None:
        """See `TreeShape.take`; takes whole entries."""
        index = super().take(record)
        if record.type == "title":
            self.slot = record.title or ""
        if index is None:
            return None
        self._typed += bool(record.type)
        node = self.tree.nodes[index]
        inherited = self.is_inherited(record.timestamp)
        messages = self.show(record, node.id).messages
        if messages:
            self._parts[index] = _part(messages)
            self._note_messages(record, messages)
        self._note_usage(record, node.id, inherited)
        self._note_settings(record)
        moment = entry_time(record)
        if moment is not None:
            self._any_time = max(self._any_time or moment, moment)
        return index

    def _note_messages(self, record: Entry, messages: Sequence[Message]) -> None:
        message = messages[0]
        if message.is_prompt and not self.first_prompt:
            self.first_prompt = message.content[:4000]
        if not record.type and record.parent_id is None and not self.first_root:
            self.first_root = message.content[:4000]
        if message.role == "assistant" and message.model:
            self._models[message.model] += 1
            self._latest[message.model] = len(self.tree)
        if message.timestamp is None:
            return
        self._first_time = min(self._first_time or message.timestamp, message.timestamp)
        if message.role == "assistant" or message.is_prompt:
            self._newest = max(self._newest or message.timestamp, message.timestamp)

    def _note_usage(self, record: Entry, node_id: str, inherited: bool) -> None:
        usage = record.message.usage if record.message else record.usage
        used = tokens(usage)
        key = usage_key(record, node_id)
        if used is None or key in self._counted:
            return
        self._counted.add(key)
        paid = price(usage)
        if inherited:
            self.inherited += used
            self.inherited_cost = _plus(self.inherited_cost, paid)
        else:
            self.own += used
            self.own_cost = _plus(self.own_cost, paid)

    def _note_settings(self, record: Entry) -> None:
        self.exit_reason = None
        if record.type == "session_info":
            self.named = record.name or ""
        elif record.type == "title_change":
            self.changed_title = record.title or ""
        elif record.type == "session_init":
            self.task = (record.task or "")[:4000]
        elif record.type == "model_change":
            model = record.model_id or (record.model or "").partition("/")[2] or record.model
            self._chosen = model or self._chosen
        elif record.type == "custom" and record.custom_type == "session_exit" and isinstance(record.data, dict):
            reason = record.data.get("reason")
            self.exit_reason = reason if isinstance(reason, str) else None

    # Results -----------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """omp: slot, title_change, header; Pi: the given name; the document: the root message; else the first
        prompt (each FACTS.md; checklist L-14)."""
        full = self.changed_title
        slot = full if self.slot and full.startswith(self.slot.rstrip("….")) else self.slot
        header = (self.header.title or "") if self.header is not None else ""
        prompt = self.first_root if self.is_document else ""
        for text in (slot, full, self.named, header, prompt, self.first_prompt, self.task):
            if line := one_line(text or ""):
                return line
        return ""

    def summary(self, agent: str, session_id: str, **more: Any) -> SessionSummary:
        """The summary; `more` are its further fields."""
        leaf = self.leaf()
        parts = [self._parts[index] for index in self.tree.path(leaf) if index in self._parts]
        models = sorted(self._models, key=lambda name: (-self._models[name], -self._latest[name]))
        if not models and self._chosen:
            models = [self._chosen]
        header = self.header
        started = entry_time(header) if header is not None else None
        raw = dict(more.pop("raw", {}))
        if not more.get("partial"):  # where the middle is missing every end would count as a branch
            raw["branches"] = len(self.tree.tips(leaf))
        if self.inherited.total:
            raw["inheritedTokens"] = self.inherited.total
            raw["inheritedCostUsd"] = self.inherited_cost
        spent = None
        if self.own_cost is not None:
            spent = Cost(
                total_usd=self.own_cost, input_tokens=self.own.input_tokens,
                output_tokens=self.own.output_tokens, thinking_tokens=self.own.thinking_tokens,
                cached_tokens=self.own.cached_tokens,
            )  # fmt: skip
        created = started or self._first_time or self._any_time or EPOCH
        answers = [part for part in parts if part.reply]
        return SessionSummary(
            agent=agent,
            session_id=session_id,
            title=self.title,
            preview=one_line(self.first_prompt, 200),
            created_at=created,
            updated_at=self._newest or self._any_time or created,
            turn_count=_turns(parts),
            message_count=sum(part.messages for part in parts),
            tool_call_count=sum(part.calls for part in parts),
            model=models[0] if models else None,
            models=tuple(models),
            tokens=self.own if self.own.total else None,
            cost=spent,
            cwd=header.cwd if header is not None else None,
            error=bool(answers) and answers[-1].failed,
            end_reason=self.exit_reason,
            warnings=self.warnings,
            raw=raw,
            **more,
        )


def _part(messages: Sequence[Message]) -> _Part:
    return _Part(
        messages=len(messages),
        prompt=messages[0].is_prompt,
        reply=messages[0].role == "assistant",
        failed=messages[0].kind == "error",
        calls=sum(len(message.tool_calls) for message in messages),
    )


def _turns(parts: list[_Part]) -> int:
    """Prompts that got at least one answer before the next prompt (checklist L-15)."""
    turns, waiting = 0, False
    for part in parts:
        if part.prompt:
            waiting = True
        elif part.reply and waiting:
            turns, waiting = turns + 1, False
    return turns


def _plus(total: float | None, paid: Cost | None) -> float | None:
    return total if paid is None else (total or 0.0) + paid.total_usd
