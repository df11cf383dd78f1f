"""What stands above and below a session in a document for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from hermes_tui.display import compact, count, counted
from hermes_tui.sessions.catalogue.origin import origin_of
from hermes_tui.sessions.export.plain import line
from hermes_tui.sessions.jsontext import json_text
from session_adapters.model import EPOCH, Cost, Message, Session, TokenUsage

__all__ = ["cost_text", "facts_of", "notes_of", "spent", "time_text", "tokens_text"]


_LONGEST = 400
"""Characters of what a store keeps beside the messages; all of it stands in an export as JSON."""


def facts_of(session: Session) -> Iterator[tuple[str, str]]:
    """(name, value), each on one line: whose it is, when, where, how long, what it cost."""
    yield "Agent", line(session.agent)
    yield "Session", line(session.session_id)
    if session.known_as not in ("", session.session_id):
        yield "Known as", line(session.known_as)
    if session.agent_title is not None:
        yield "Agent's title", line(session.agent_title) or "none"
    if session.pinned:
        yield "Pinned", "yes"
    if session.model:
        yield "Model", line(session.model)
    if session.created_at > EPOCH:
        yield "Created", time_text(session.created_at)
    if session.updated_at > EPOCH:
        yield "Updated", time_text(session.updated_at)
    for name, value in origin_of(session):
        yield name, line(value)
    if session.cwd:
        yield "Directory", line(session.cwd)
    if session.git_branch:
        yield "Branch", line(session.git_branch)
    if session.forked_from:
        yield "Forked from", line(session.forked_from)
    if session.tags:
        yield "Tags", ", ".join(map(line, session.tags))
    for note in session.notes:
        yield "Note", line(note)
    for name, value in {"state": session.raw.get("state"), **session.beside}.items():
        if value:
            yield line(name).capitalize(), compact(json_text(value), _LONGEST)
    for note in session.own_note.splitlines():
        if note.strip():
            yield "Own note", line(note)
    yield "Turns", str(session.turn_count)
    yield "Cost", cost_text(session.cost)
    if session.warnings:
        yield "Not readable", counted(session.warnings, "record")


def spent(session: Session) -> Iterator[tuple[str, str]]:
    """(name, value): money and tokens in all."""
    yield "Total", cost_text(session.cost)
    tokens = session.tokens
    if tokens is None and session.cost is not None:
        tokens = TokenUsage(
            input_tokens=session.cost.input_tokens,
            output_tokens=session.cost.output_tokens,
            cached_tokens=session.cost.cached_tokens,
            thinking_tokens=session.cost.thinking_tokens,
        )
    if tokens is not None:
        yield "Input tokens", str(tokens.input_tokens)
        yield "Cached tokens", f"{tokens.cached_tokens} read, {tokens.cache_write_tokens} written"
        yield "Output tokens", f"{tokens.output_tokens}, of which thinking {tokens.thinking_tokens}"


def notes_of(message: Message) -> Iterator[str]:
    """What is to be known of a message besides what it says."""
    if message.timestamp is not None:
        yield time_text(message.timestamp)
    if message.kind != "message":
        yield message.kind
    if message.visibility != "live":
        yield message.visibility
    if message.inherited:
        yield "from another session"


def tokens_text(usage: TokenUsage) -> str:
    """`1.2k in (1.0k cached) 310 out`."""
    cached = f" ({count(usage.cached_tokens)} cached)" if usage.cached_tokens else ""
    return f"{count(usage.total - usage.output_tokens)} in{cached} {count(usage.output_tokens)} out"


def cost_text(cost: Cost | None) -> str:
    """`$1.2500`, `~$1.2500` when estimated, `unknown`."""
    return "unknown" if cost is None else f"{'~' if cost.estimated else ''}${cost.total_usd:.4f}"


def time_text(moment: datetime) -> str:
    """To the second, UTC: `2026-03-01T12:00:00Z`."""
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
