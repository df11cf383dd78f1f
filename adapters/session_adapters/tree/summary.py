"""Summarises a tree-shaped session, entry by entry in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from pathlib import PurePath
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace

from session_adapters.growing.hashes import Hashes
from session_adapters.model import EPOCH, Cost, Message, MessageKind, Role, SessionSummary
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.lines import Line
from session_adapters.session_counts import SessionFold
from session_adapters.text import one_line
from session_adapters.times import from_epoch
from session_adapters.tree.file import TreeShape, is_record
from session_adapters.tree.messages import entry_seconds, entry_time, tokens, usage_key, usd, without_files
from session_adapters.tree.records import ENTRIES, TreeEntry
from session_adapters.usage import CallPack, Calls, call_of

__all__ = ["TreeCounts", "relate_files"]

_START = 4000
"""Characters of a prompt that are kept."""


class _Brief(NamedTuple):
    """What is kept of the messages of one entry, until it is known which branch counts."""

    messages: int
    calls: int
    """Tools that they call."""
    role: Role
    kind: MessageKind


class _Above(NamedTuple):
    """What is kept of entries that were let go of: the active branch as it was, and how many others there are."""

    fold: SessionFold
    tool_calls: int = 0
    prompt: str = ""
    """The first of the session's own."""
    spoken: bool = False
    """Something of it shows in the conversation."""
    others: int = 0
    ids: Hashes | None = None
    """Of all entries; None where none was let go of."""


class TreeCounts(TreeShape):
    """Counts over all branches for tokens, cost and models (every call was paid for), over the active branch for
    messages and turns."""

    needs_times: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.named: str | None = None
        """Latest session_info.name; an empty one clears it (pi/FACTS.md)."""
        self.slot = ""
        """omp's title slot."""
        self.changed_title = ""
        """Latest title_change."""
        self.first_prompt = ""
        self._own_prompts: dict[int, str] = {}
        """What was asked in this session and not in the one it was forked from, a line each."""
        self.first_root = ""
        self.task = ""
        self.damaged = Damage()
        self.exit_reason: str | None = None
        self.calls = Calls(), Calls()
        """Every model call in the record, on whichever branch, the session's own and copies; whose it is is not
        filled in."""
        self.goes_elsewhere = False
        """An entry stands where only those that were let go of tell what it is."""
        self._above = _Above(SessionFold())
        self._parts: dict[int, _Brief] = {}
        self._alike: dict[_Brief, _Brief] = {}
        """Of thousands a dozen are different."""
        self._models: Counter[str] = Counter()
        self._latest: dict[str, int] = {}
        self._chosen: str | None = None
        # Seconds since the epoch.
        self._first: float | None = None
        self._newest: float | None = None
        self._any: float | None = None

    @property
    def is_session(self) -> bool:
        """There is a header, or entries of Pi's kind (a damaged header hides nothing)."""
        return self.header is not None or bool(self._parts and not self.is_document)

    @property
    def is_document(self) -> bool:
        """The records have the document's shape (spec 004 §4.2.7)."""
        return self.header is None and self._typed == 0 and bool(self._parts)

    _typed = 0

    def give(self, line: Line) -> None:
        """Take in the next line; one that a writer is in the middle of is passed over."""
        if line.too_long:
            self.damaged.skip(line)
            return
        if not is_record(line):
            return
        entries, lost = ENTRIES.all(line.data)
        if lost:
            self.damaged.add(line.offset, "the line is damaged")
        for entry in entries:
            self.take(entry)

    def take(self, record: TreeEntry) -> int | None:
        """See `TreeShape.take`; takes whole entries."""
        index = super().take(record)
        if record.type == "title":
            self.slot = record.title or ""
        if index is None:
            return None
        self._typed += bool(record.type)
        node_id = self.tree.nodes.ids[index]
        self.note_place(index)
        shown = self.show(record, node_id).messages
        moment = entry_seconds(record)
        if moment is not None and (self._any is None or moment > self._any):
            self._any = moment
        if shown:
            self._note_messages(record, index, shown, moment)
        usage = record.message.usage if record.message else record.usage
        if usage is not None:
            model = shown[0].model if record.message is not None and shown else record.model
            used, key = tokens(usage), usage_key(record, node_id)
            if used is not None and not any(key in calls for calls in self.calls):
                calls = self.calls[self.is_inherited(record.timestamp)]
                calls.put(key, call_of("", key, moment, model, used, usd(usage)))
            if record.message is None and record.model:  # a call beside the conversation, for a title: counts least
                self._models[record.model] += 0
                self._latest.setdefault(record.model, -1)
        self._note_settings(record)
        return index

    def note_place(self, index: int) -> None:
        """See where an entry stands: see `goes_elsewhere`."""
        ids = self._above.ids
        if ids is not None and (self.tree.parent(index) != index - 1 or hash(self.tree.nodes.ids[index]) in ids):
            self.goes_elsewhere = True

    @property
    def has_own_prompt(self) -> bool:
        """Something was asked in this session and not in the one it was forked from."""
        return bool(self._own_prompts)

    @property
    def first_time(self) -> datetime | None:
        """Of the earliest message."""
        return from_epoch(self._first)

    def _note_messages(self, record: TreeEntry, index: int, shown: Sequence[Message], moment: float | None) -> None:
        first, calls = shown[0], sum(len(message.tool_calls) for message in shown)
        part = _Brief(len(shown), calls, first.role, first.kind)
        self._parts[index] = self._alike.setdefault(part, part)
        if first.is_prompt:
            prompt = self.prompt(without_files(first.content)[:_START])
            self.first_prompt = self.first_prompt or prompt
            if not self.is_inherited(record.timestamp):
                self._own_prompts[index] = one_line(prompt, 200)
        if not record.type and record.parent_id is None and not self.first_root:
            self.first_root = first.content[:_START]
        if first.role == "assistant" and first.model:
            self._models[first.model] += 1
            self._latest[first.model] = self._records
        if moment is None:
            return
        if self._first is None or moment < self._first:
            self._first = moment
        if (first.role == "assistant" or first.is_prompt) and (self._newest is None or moment > self._newest):
            self._newest = moment

    def prompt(self, text: str) -> str:
        """What an entry with that text asks."""
        return text

    def _note_settings(self, record: TreeEntry) -> None:
        self.exit_reason = None
        if record.type == "session_info":
            self.named = record.name or ""
        elif record.type == "title_change":
            self.changed_title = record.title or ""
        elif record.type == "session_init":
            self.task = (record.task or "")[:_START]
        elif record.type == "model_change":
            model = record.model_id or (record.model or "").partition("/")[2] or record.model
            self._chosen = model or self._chosen
        elif record.type == "custom" and record.custom_type == "session_exit" and isinstance(record.data, dict):
            reason = record.data.get("reason")
            self.exit_reason = reason if isinstance(reason, str) else None

    # Results -----------------------------------------------------------------------------------------------

    def packs(self, summary: SessionSummary) -> Iterator[CallPack]:
        """The calls of the session that `summary` is of; its model stands in where none is named."""
        own, copies = self.calls
        return chain(own.packs(summary), copies.packs(summary, inherited=True))

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
        branch = self._branch()
        models = sorted(self._models, key=lambda name: (-self._models[name], -self._latest[name]))
        if not models and self._chosen:
            models = [self._chosen]
        header = self.header
        started = entry_time(header) if header is not None else None
        raw = dict(more.pop("raw", {}))
        if not more.get("partial"):  # where the middle is missing every end would count as a branch
            raw["branches"] = branch.others + branch.spoken
        (used, paid), (copied, copied_usd) = (calls.summed() for calls in self.calls)
        if copied.total:
            raw["inheritedTokens"] = copied.total
            raw["inheritedCostUsd"] = copied_usd
        newest, fold, prompt = from_epoch(self._any), branch.fold, branch.prompt
        if more.get("partial"):  # where the middle is missing no branch reaches its beginning
            prompt = next(iter(self._own_prompts.values()), "")
        created = started or self.first_time or newest or EPOCH
        return SessionSummary(
            agent=agent,
            session_id=session_id,
            title=self.title,
            preview=prompt or one_line(self.first_prompt, 200),
            created_at=created,
            updated_at=from_epoch(self._newest) or newest or created,
            turn_count=fold.turns,
            message_count=fold.messages,
            tool_call_count=branch.tool_calls,
            model=models[0] if models else None,
            models=tuple(models),
            tokens=used if used.total else None,
            cost=None if paid is None else Cost.of(used, paid),
            cwd=header.cwd if header is not None else None,
            error=fold.failed,
            end_reason=self.exit_reason,
            warnings=len(self.damaged),
            raw=raw,
            **more,
        )

    def _branch(self) -> _Above:
        """The active branch, with what was let go of, and the number of others."""
        above, leaf = self._above, self.leaf()
        path = self.tree.path(leaf)
        parts = [self._parts[index] for index in path if index in self._parts]
        fold = above.fold.copy()
        for part in parts:
            fold.step(part.role, part.kind, messages=part.messages)
        own, tip = self._own_prompts, self.tree.spoken_above(leaf)
        others = above.others
        if above.ids is None:
            others += sum(index != tip for index in self.tree.tips(leaf))
        return _Above(
            fold,
            above.tool_calls + sum(part.calls for part in parts),
            above.prompt or next((own[index] for index in path if index in own), ""),
            above.spoken or tip is not None,
            others,
        )

    def let_go(self) -> None:
        """Forget all entries but the last, on which the next one hangs in most sessions: `goes_elsewhere` says where
        one does not. Whose leaf is not the last entry keeps all."""
        if self.header is None:
            return
        ids = self._above.ids or Hashes()
        for node_id in self.tree.nodes.ids:
            ids.add(hash(node_id))
        self._above = self._branch()._replace(ids=ids)
        self._parts, self._own_prompts = {}, {}
        self.keep_last()


# Parents ----------------------------------------------------------------------------------------------------


def relate_files(summaries: Sequence[SessionSummary]) -> list[SessionSummary]:
    """Every session once, with parents as ids: `parentSession` is a path or, after `omp --fork`, an id; stores
    are moved, so that a path counts by its file name when nothing stands at it."""
    # Copies of a file are one session, the longest; two sessions that were given the same id (ids are unique per
    # directory only, pi/FACTS.md) are told apart by their file names.
    groups: dict[str, list[SessionSummary]] = {}
    for summary in summaries:
        groups.setdefault(summary.session_id, []).append(summary)
    kept: list[SessionSummary] = []
    for group in groups.values():
        originals: dict[tuple[object, ...], SessionSummary] = {}
        for summary in sorted(group, key=lambda one: (-one.size, one.path)):
            originals.setdefault((summary.created_at, summary.cwd), summary)
        first, *others = sorted(originals.values(), key=lambda one: (one.created_at, one.path))
        kept.append(first)
        kept.extend(replace(other, session_id=PurePath(other.path).stem) for other in others)
    by_path = {summary.path: summary.session_id for summary in kept}
    by_name = {summary.path.rpartition("/")[2]: summary.session_id for summary in kept}
    ids = {summary.session_id for summary in kept}
    found = []
    for summary in kept:
        named = summary.raw.get("parentSession")
        parent = None
        if isinstance(named, str) and named:
            parent = by_path.get(named) or by_name.get(PurePath(named).name)
            if parent is None and (named in ids or "/" not in named):
                parent = named
            elif parent is None:  # the file is gone: its name has the id
                stem = PurePath(named.replace("\\", "/")).stem
                parent = stem.partition("_")[2] or stem
        if parent == summary.session_id:
            parent = None
        fork = parent if summary.kind == "fork" else None
        changed = (summary.parent_id, summary.forked_from) != (parent, fork)
        found.append(replace(summary, parent_id=parent, forked_from=fork) if changed else summary)
    return found
