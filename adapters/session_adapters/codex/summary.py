"""What a list shows of a Codex session."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from session_adapters.codex.messages import CodexBuilder
from session_adapters.codex.records import CodexUsage, normalised
from session_adapters.codex.rollout import RolloutHead, relation_of
from session_adapters.codex.tokens import minus
from session_adapters.fold import SessionFold
from session_adapters.model import EPOCH
from session_adapters.text import one_line
from session_adapters.times import from_iso

__all__ = ["spent", "summary_fields"]


def spent(fold: SessionFold, total: CodexUsage | None, baseline: CodexUsage | None, head: RolloutHead) -> None:
    """Let the thread's running total stand for calls in the part that was not read. A fork's starts at its parent's:
    without the `baseline` it says nothing."""
    if total is not None and (baseline is not None or relation_of(head).forked_from is None):
        fold.at_least(normalised(minus(total, baseline or CodexUsage())))


def summary_fields(
    fold: SessionFold, head: RolloutHead, builders: Iterable[CodexBuilder], title: str
) -> dict[str, Any]:
    """The fields of a `SessionSummary` that the content of a rollout decides. `title`: the name that the user gave,
    if any."""
    made = list(builders)
    meta = head.meta
    relation = relation_of(head)
    chosen = [name for one in made for name in reversed(one.contexts)]
    models = tuple(dict.fromkeys((*fold.own_models, *chosen, *fold.models)))
    newest = fold.newest or max((one.newest for one in made if one.newest is not None), default=None)
    # A header that is lost tells nothing; the newest message is no stand-in, or the session would move up.
    known = [when for when in (head.named_at, *(one.first for one in made)) if when is not None]
    created = from_iso(meta.timestamp) or min(known, default=EPOCH)
    return {
        **fold.fields(),
        "agent": "codex",
        "session_id": head.session_id,
        "title": one_line(title or fold.prompt),
        "preview": one_line(fold.prompt, 200),
        "created_at": created,
        "updated_at": newest or created,
        "model": models[0] if models else None,
        "models": models,
        "cwd": next((one.cwd for one in reversed(made) if one.cwd), None) or meta.cwd,
        "git_branch": meta.git.branch if meta.git else None,
        "source": _source(meta.source),
        "kind": relation.kind,
        "parent_id": relation.parent_id,
        "forked_from": relation.forked_from,
        "warnings": sum(len(one.damaged) for one in made),
        "raw": _raw(fold, head),
    }


def _raw(fold: SessionFold, head: RolloutHead) -> dict[str, Any]:
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
        "compactions": fold.compactions,
        "inheritedMessages": fold.inherited,
    }
    return {name: value for name, value in facts.items() if value}


def _source(source: Any) -> str | None:
    """Where the thread was started: a name, or for helpers an object with one key."""
    if isinstance(source, dict):
        return next((key for key, value in source.items() if value is not None), None)
    return source if isinstance(source, str) and source else None
