"""What a list shows of a Codex session, gathered message by message in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from session_adapters.codex.messages import CodexBuilder
from session_adapters.codex.records import Usage, normalised
from session_adapters.codex.rollout import Head, relation_of
from session_adapters.codex.tokens import minus
from session_adapters.model import EPOCH, Message, TokenUsage
from session_adapters.text import one_line
from session_adapters.times import from_iso

__all__ = ["Tally"]


class Tally:
    """Counts over the session's own messages; what it inherited from its parent is shown there and only gives a
    preview here."""

    def __init__(self) -> None:
        self.messages = 0
        self.turns = 0
        self.calls = 0
        self.compactions = 0
        self.failed = False
        self.tokens = TokenUsage()
        self.prompt = ""
        self.inherited_prompt = ""
        self.newest: datetime | None = None
        self._waiting = False
        self._models: Counter[str] = Counter()
        self._latest: dict[str, int] = {}
        self._keys: set[str] = set()

    def add(self, messages: Iterable[Message]) -> None:
        """Take in the next messages."""
        for message in messages:
            if not message.inherited:
                self._own(message)
            elif message.is_prompt and not self.inherited_prompt:
                self.inherited_prompt = message.content[:4000]

    def _own(self, message: Message) -> None:
        self.messages += 1
        self.calls += len(message.tool_calls)
        self.compactions += message.kind == "compaction"
        self.failed = message.kind == "error"
        if message.is_prompt:
            self.prompt = self.prompt or message.content[:4000]
            self._waiting = True
        elif message.role == "assistant":
            self.turns += self._waiting
            self._waiting = False
            if message.model:
                self._models[message.model] += 1
                self._latest[message.model] = self.messages
        if message.timestamp is not None and (self.newest is None or message.timestamp > self.newest):
            self.newest = message.timestamp
        if message.token_usage is not None and message.usage_key not in self._keys:
            self._keys.add(message.usage_key)
            self.tokens += message.token_usage

    def gap(self) -> None:
        """Messages are left out here."""
        self._waiting = False

    def spent(self, total: Usage | None, baseline: Usage | None, head: Head) -> None:
        """The thread's running total stands for calls in the part that was not read. A fork's starts at its
        parent's: without the `baseline` it says nothing."""
        if total is None:
            return
        if baseline is None and relation_of(head).forked_from is not None:
            return
        counted = normalised(minus(total, baseline or Usage()))
        if counted.total > self.tokens.total:
            self.tokens = counted

    def fields(self, head: Head, builders: Iterable[CodexBuilder], title: str) -> dict[str, Any]:
        """The fields of a `SessionSummary` that the content of a rollout decides. `title`: the name that the user
        gave, if any."""
        made = list(builders)
        meta = head.meta
        relation = relation_of(head)
        used = sorted(self._models, key=lambda name: (-self._models[name], -self._latest[name]))
        models = tuple(dict.fromkeys((*used, *(name for one in made for name in reversed(one.contexts)))))
        newest = self.newest or max((one.newest for one in made if one.newest is not None), default=None)
        # A header that is lost tells nothing; the newest message is no stand-in, or the session would move up.
        known = [when for when in (head.named_at, *(one.first for one in made)) if when is not None]
        created = from_iso(meta.timestamp) or min(known, default=EPOCH)
        prompt = self.prompt or self.inherited_prompt
        return {
            "agent": "codex",
            "session_id": head.session_id,
            "title": one_line(title or prompt),
            "preview": one_line(prompt, 200),
            "created_at": created,
            "updated_at": newest or created,
            "turn_count": self.turns,
            "message_count": self.messages,
            "tool_call_count": self.calls,
            "model": models[0] if models else None,
            "models": models,
            "tokens": self.tokens if self.tokens.total else None,
            "cwd": next((one.cwd for one in reversed(made) if one.cwd), None) or meta.cwd,
            "git_branch": meta.git.branch if meta.git else None,
            "source": _source(meta.source),
            "kind": relation.kind,
            "parent_id": relation.parent_id,
            "forked_from": relation.forked_from,
            "error": self.failed,
            "warnings": sum(len(one.damaged) for one in made),
            "raw": self._raw(head),
        }

    def _raw(self, head: Head) -> dict[str, Any]:
        meta = head.meta
        facts = {
            "cliVersion": meta.cli_version,
            "originator": meta.originator,
            "threadSource": meta.thread_source,
            "modelProvider": meta.model_provider,
            "historyMode": meta.history_mode,
            "agentNickname": meta.agent_nickname,
            "agentRole": meta.agent_role,
            "commit": meta.git.commit_hash if meta.git else None,
            "historyBase": meta.history_base.thread_id if meta.history_base else None,
            "compactions": self.compactions,
        }
        return {name: value for name, value in facts.items() if value}


def _source(source: Any) -> str | None:
    """Where the thread was started: a name, or for helpers an object with one key."""
    if isinstance(source, dict):
        return next((key for key, value in source.items() if value is not None), None)
    return source if isinstance(source, str) and source else None
