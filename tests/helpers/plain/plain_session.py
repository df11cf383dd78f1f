"""What plain `json` and `sqlite3` say of a session, in one shape for all agents."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["NONE", "Call", "Plain", "Said", "Tokens", "instant", "joined", "json_lines", "summed"]

Tokens = tuple[int, int, int, int, int]
"""Fresh input, output with reasoning, read from a cache, written to one, reasoning."""

NONE: Tokens = (0, 0, 0, 0, 0)


class Call(NamedTuple):
    """One call of a tool."""

    name: str
    arguments: Any
    result: Any
    """As the store has it; None while there is none."""
    failed: bool | None = False
    """None: the store does not say."""


class Said(NamedTuple):
    """One message."""

    role: str
    text: str | None = ""
    """None: worded by whoever shows it."""
    when: str | float | None = None
    """ISO text, or milliseconds."""
    calls: tuple[Call, ...] = ()
    model: str | None = None


class Plain(NamedTuple):
    """One session."""

    session_id: str
    said: tuple[Said, ...]
    title: str = ""
    created: str | float | None = None
    updated: str | float | None = None
    """None: the newest time of what was said."""
    cwd: str | None = None
    branch: str | None = None
    kind: str = "session"
    parent: str | None = None
    tokens: Tokens = NONE
    cost: float | None = None
    """As the agent recorded it."""
    copied: int = 0
    """So many messages of `said` at its beginning are the parent's; their tokens are counted with it."""
    models: tuple[str, ...] | None = None
    """That of each reply, where replies are not shown; None: those in `said`."""
    models_beside: tuple[str, ...] = ()
    """Those asked beside the conversation, for a title: used, but not what the session is held with."""
    beside: tuple[str, ...] = ()
    """What the user and the model said on branches that are not shown."""
    archived: bool = False
    live: bool = False


def instant(value: str | float | None) -> datetime | None:
    """ISO text or milliseconds as a time in UTC, to the millisecond."""
    if value is None:
        return None
    if isinstance(value, str):
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    else:
        moment = datetime.fromtimestamp(value / 1000, UTC)
    moment = moment.astimezone(UTC)
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def summed(each: list[Tokens]) -> Tokens:
    """All of them together."""
    return tuple(map(sum, zip(*each, strict=True))) if each else NONE  # type: ignore[return-value]


def joined(parts: list[str], by: str = "\n") -> str:
    """Those that are not empty."""
    return by.join(part for part in parts if part)


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Every line that is a JSON object."""
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found
