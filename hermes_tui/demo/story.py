"""What the demo's sessions are made of, before any agent's format: conversations as data, and stable ids.

Every agent's room (`demo/claude.py`, `demo/hermes.py` …) translates these into its own records. Nothing here is
random and nothing looks at the clock: the same `now` gives the same bytes.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

__all__ = [
    "Call",
    "Compaction",
    "Failure",
    "Helper",
    "Reply",
    "Tale",
    "Turn",
    "digest",
    "edited",
    "number",
    "ran",
    "said",
    "stamp",
    "uuid",
    "uuid7",
]

ToolKind = Literal["shell", "read", "edit", "write"]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One use of a tool."""

    kind: ToolKind
    target: str
    """The command, or the file's path inside the project."""
    before: str = ""
    """Edits: the text that is replaced."""
    after: str = ""
    """Edits and writes: the new text."""
    output: str = ""
    failed: bool = False
    seconds: float = 1.0


class Helper(msgspec.Struct, frozen=True, kw_only=True):
    """A helper agent that was sent off to do something."""

    task: str
    prompt: str
    call: Call
    answer: str


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the model: some of thinking, prose and calls."""

    thinking: str = ""
    text: str = ""
    calls: tuple[Call, ...] = ()
    helper: Helper | None = None


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """From here on the model sees only this summary of what came before."""

    summary: str


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The call to the model failed for good."""

    status: int
    reason: str


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt and everything until the next one."""

    prompt: str
    replies: tuple[Reply | Compaction | Failure, ...]


class Tale(msgspec.Struct, frozen=True, kw_only=True):
    """A session."""

    slug: str
    """Names it inside the demo; ids are made from it."""
    title: str
    project: str
    turns: tuple[Turn, ...]
    ago: timedelta
    """How long before `now` its last message is."""
    branch: str = "main"
    model: str = "claude-sonnet-4-6"


def ran(command: str, output: str, seconds: float = 1.0, *, failed: bool = False) -> Call:
    """A command and what it printed."""
    return Call(kind="shell", target=command, output=output, seconds=seconds, failed=failed)


def edited(path: str, before: str, after: str) -> Call:
    """A change of a file."""
    return Call(kind="edit", target=path, before=before, after=after, seconds=0.2)


def said(prompt: str, answer: str, *calls: Call, thinking: str = "", opening: str = "") -> Turn:
    """A prompt, the calls it led to (with an `opening` before them), and the answer."""
    first = Reply(thinking=thinking, text=opening, calls=calls)
    return Turn(
        prompt=prompt, replies=(first, Reply(text=answer)) if calls else (Reply(thinking=thinking, text=answer),)
    )


def digest(*parts: object, length: int = 32) -> str:
    """`length` hexadecimal digits (at most 64) that depend on `parts` alone."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).hexdigest()[:length]


def number(low: int, high: int, *parts: object) -> int:
    """A whole number from `low` to `high`, both included, that depends on `parts` alone."""
    return low + int(digest(*parts, length=12), 16) % (high - low + 1)


def uuid(*parts: object) -> str:
    """A version 4 UUID that depends on `parts` alone."""
    text = digest(*parts)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{'89ab'[int(text[16], 16) % 4]}{text[17:20]}-{text[20:32]}"


def uuid7(moment: datetime, *parts: object) -> str:
    """A version 7 UUID: milliseconds, then digits that depend on `parts` alone."""
    time, text = f"{round(moment.timestamp() * 1000):012x}", digest(*parts)
    return f"{time[:8]}-{time[8:]}-7{text[13:16]}-{'89ab'[int(text[16], 16) % 4]}{text[17:20]}-{text[20:32]}"


def stamp(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and Z, as most agents write it."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
