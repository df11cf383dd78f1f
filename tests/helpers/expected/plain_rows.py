"""OpenCode's sessions read by plain lines, of every generation."""

from __future__ import annotations

import tempfile
from pathlib import Path

from plain_opencode import Line, plain_home
from plain_opencode import Plain as Native
from plain_session import Call, Plain, Said, summed

__all__ = ["plain_opencode"]


def plain_opencode(home: Path) -> list[Plain]:
    """Every session, once."""
    with tempfile.TemporaryDirectory() as scratch:
        sessions = plain_home(home, Path(scratch) / "copy")
    tables = "home-spec" in str(home)
    return [_session(session_id, one, sessions, documents=tables) for session_id, one in sessions.items()]


def _origin(one: Native, sessions: dict[str, Native]) -> str | None:
    """1.x leaves no link from a fork to its origin, but copies messages with their times."""
    begun = [(line.role, line.created) for line in one.lines[:2]]
    alike = [
        (other.created, name)
        for name, other in sessions.items()
        if other.created < one.created and begun and [(line.role, line.created) for line in other.lines[:2]] == begun
    ]
    return min(alike)[1] if alike else None


def _session(session_id: str, one: Native, sessions: dict[str, Native], *, documents: bool) -> Plain:
    origin = one.fork or (one.parent if documents else None if one.parent else _origin(one, sessions))
    fork = origin is not None or "(fork #" in one.title
    # Copies keep their times, and are older than the session that holds them.
    own = [line for line in one.lines if not fork or line.created >= one.created]
    prompts = [line.text for line in one.lines if line.role == "user" and line.text]
    said = tuple(said for line in one.lines for said in _said(line, documents=documents))
    copied = [line for line in one.lines if line not in own]
    models = tuple(line.model for line in own if line.model and line.role == "assistant")
    title = one.title if one.title and not one.title.startswith("New session - ") else (prompts or [one.title])[0]
    return Plain(
        session_id=session_id,
        said=said,
        title=title,
        created=one.created,
        updated=max(one.created, *(line.created for line in one.lines), 0),
        cwd=one.cwd,
        kind="fork" if fork else "subagent" if one.parent else "session",
        parent=origin or one.parent,
        tokens=summed([line.tokens for line in own]),
        cost=sum(line.cost for line in own) or None,
        copied=sum(len(_said(line, documents=documents)) for line in copied),
        models=models or ((one.model,) if one.model else ()),
        archived=one.archived,
    )


def _said(line: Line, *, documents: bool) -> list[Said]:
    calls = tuple(Call(*call) for call in line.calls)
    if line.role in ("user", "assistant"):
        shown = line.text or ((calls or line.tokens[1]) and not line.error)
        text = line.text if shown else None  # what is shown of a mark or an error is worded there
        return [Said(line.role, text, line.created, calls, line.model)]
    if line.role in ("shell", "synthetic"):
        return [Said("user", None, line.created, calls)]
    if line.role == "compaction":
        return [Said("system", None, line.created)] * 2
    if line.role == "tool" and documents:
        return [Said("tool", "", line.created)]
    return [Said("system", None, line.created)]
