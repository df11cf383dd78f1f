"""Where an agent's sessions are, what runs there, how its program is started."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from session_adapters.activity import Step
from session_adapters.text import scrub

__all__ = [
    "Capabilities",
    "Environment",
    "Liveness",
    "Memory",
    "NativeCommand",
    "Root",
    "Source",
    "option",
    "unique",
]


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the machine that decides where stores are. Taken anew for every refresh, so that a test or a
    demo can give another home (checklist R-3)."""

    home: Path
    variables: Mapping[str, str] = msgspec.field(default_factory=dict)
    proc: Path = Path("/proc")

    @classmethod
    def current(cls) -> Environment:
        """This process's own. Raises `ValueError`, one sentence, where there is no home."""
        home = Path(os.path.expanduser("~"))  # noqa: PTH111 - `Path.home` raises for a HOME such as `~`
        if not home.is_absolute():  # another one in each directory that we are started in
            raise ValueError(f"HOME is {os.getenv('HOME', '')!r}, which is no directory; set it to one")
        return cls(home=home, variables=dict(os.environ))

    def path(self, variable: str, *default: str) -> Path:
        """The directory that `variable` names, else `home` joined with `default`. `~` means `home`."""
        value = self.variables.get(variable, "").strip()
        return self.expand(value) if value else self.home.joinpath(*default)

    def given(self, *names: str) -> dict[str, str]:
        """Those of these variables that say something: what an agent's own command is handed on."""
        return {name: value for name in names if (value := self.variables.get(name, "").strip())}

    def expand(self, value: str) -> Path:
        """`value` with a leading `~` replaced by `home`."""
        if value == "~" or value.startswith("~/"):
            return self.home / value[2:]
        return Path(value)


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """A place where an agent's sessions may be."""

    path: Path
    layout: str = ""
    """Which of the agent's layouts is expected there, for `doctor`."""
    profile: str | None = None
    exists: bool = False


class Source(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing on disk that holds sessions: a session file, or a database of many. Made from `stat` alone."""

    agent: str
    path: str
    stamp: tuple[int, ...]
    """Changes when the content may have changed: inode, size and mtime in ns; for a database those of its
    `-wal` too."""
    session_id: str = ""
    """Native id, where the path alone tells it."""
    root: str = ""
    layout: str = ""
    profile: str | None = None
    size: int = 0
    """Bytes on disk."""
    modified: float = 0.0
    """Newest mtime, seconds since the epoch: the order in which to read."""

    def __post_init__(self) -> None:
        if not self.session_id.isascii():  # it may be the name of a file, and no UTF-8
            msgspec.structs.force_setattr(self, "session_id", scrub(self.session_id))


class Liveness(msgspec.Struct, frozen=True, kw_only=True):
    """A process that has a session open now."""

    pid: int
    status: str | None = None
    """busy, idle, waiting … as the agent names it."""
    steps: frozenset[Step] = frozenset()
    """What the conversation may be at, as the process says; empty where it does not."""
    since: datetime | None = None
    """When it came to say so."""
    waits_for: str = ""
    """What of its user, as the agent names it."""


class Capabilities(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What the agent itself can do with its sessions (spec 004 §10.1)."""

    session_persistence: Literal["file", "sqlite", "none", "in-memory"]
    can_resume: bool = False
    can_fork: bool = False


class NativeCommand(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How to hand the terminal to the agent's own program. Never a shell string."""

    argv: tuple[str, ...]
    cwd: str | None = None
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Variables to set on top of the environment."""
    warning: str | None = None
    """A known hazard of this agent, one sentence, to be shown before starting."""
    bound: bool = False
    """The agent finds the session when it is started in `cwd` only."""


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent's own configuration limits what it takes of a conversation into its next call (spec 001)."""

    strategy: str = ""
    """As the agent names it; empty where it says nothing."""
    size: int | None = None
    """Messages."""
    tokens: int | None = None
    target: float | None = None
    """The part of `tokens` that is filled."""
    generation: str = ""
    """Which of the agent's ways to load a conversation, where it has had several."""
    source: str = ""
    """The file that says so."""
    trouble: str = ""
    """Why a configuration could not be read; one sentence."""


def option(name: str, value: str, short: str = "") -> tuple[str, ...]:
    """An option of a command: in one word where the value begins with a dash, for alone it would be taken for another
    option."""
    return (f"{name}={value}",) if value.startswith("-") else (short or name, value)


def unique(sources: Iterable[Source]) -> Iterator[Source]:
    """Each file once, told apart by device and inode, in the given order."""
    seen: set[tuple[int, ...]] = set()
    for source in sources:
        key = source.stamp[:2]
        if key not in seen:
            seen.add(key)
            yield source
