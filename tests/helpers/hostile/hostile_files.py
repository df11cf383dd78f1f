"""Session files of every agent, to be replaced by hostile ones."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

__all__ = ["LOGS", "Victim", "aged", "with_hole"]

_DAY = 86_400


class Victim(NamedTuple):
    """A file of lines in a sample store that is spoiled."""

    agent: str
    home: str
    path: str
    """The first that matches, below the home."""

    def find(self, home: Path) -> Path:
        """Where it lies in a copy of the store."""
        return sorted(home.glob(self.path))[0]


LOGS = (
    Victim("claude", "home", ".claude/projects/-home-dev-shop/*.jsonl"),
    Victim("codex", "home", ".codex/sessions/2026/11/21/*.jsonl"),
    Victim("copilot", "home", ".copilot/session-state/*/events.jsonl"),
    Victim("cursor", "home", ".cursor/projects/*/agent-transcripts/*/*.jsonl"),
    Victim("gemini", "home", ".gemini/tmp/shop/chats/*.jsonl"),
    Victim("omp", "home", ".omp/agent/sessions/-shop/*.jsonl"),
    Victim("openclaw", "home-files-2026.3", ".openclaw/agents/main/sessions/*.jsonl"),
    Victim("pi", "home", ".pi/agent/sessions/--home-dev-shop--/*.jsonl"),
)
"""One session of each agent that writes lines."""


def with_hole(path: Path, size: int, behind: bytes = b"") -> None:
    """Let a file go on with `size` bytes of which the disk has none, and then with `behind`."""
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + size)
        file.seek(0, os.SEEK_END)
        file.write(behind)
    aged(path)


def aged(path: Path) -> None:
    """Nobody has written to it for a day: nothing more comes of its last line."""
    status = path.stat()
    os.utime(path, (status.st_atime - _DAY, status.st_mtime - _DAY))
