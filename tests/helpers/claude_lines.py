"""Writes Claude Code sessions, line by line as the program does (stores/claude/FACTS.md), for tests of the screen."""

from __future__ import annotations

import json
import os
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

__all__ = ["ClaudeHome"]


class ClaudeHome:
    """A home with `.claude/projects`; ids and times count up."""

    def __init__(self, home: Path, start: datetime | None = None) -> None:
        self.home = home
        self.start = start or datetime.now(UTC) - timedelta(hours=2)
        self.projects = home / ".claude" / "projects"
        self.projects.mkdir(parents=True)
        self._count = 0

    def session(self, title: str, *, project: str = "shop", turns: int = 1) -> Path:
        """A new session whose first prompt is `title`; its file."""
        self._count += 1
        session_id = str(uuid.UUID(int=self._count << 64))
        path = self.projects / f"-home-dev-{project}" / f"{session_id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        for turn in range(turns):
            self.say(path, "user", title if turn == 0 else f"Question {turn}")
            self.say(path, "assistant", f"Answer {turn} to {title}")
        return path

    def say(self, path: Path, role: str, text: str) -> None:
        """Append one message."""
        self._count += 1
        moment = self.start + timedelta(seconds=10 * self._count)
        message: dict[str, object] = {"role": role, "content": text}
        if role == "assistant":
            message = {
                "id": f"msg_{self._count:04}",
                "type": "message",
                "role": role,
                "model": "claude-sonnet-4-6",
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 10, "output_tokens": 5},
            }
        record = {
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/" + path.parent.name.removeprefix("-home-dev-"),
            "sessionId": path.stem,
            "version": "2.1.0",
            "gitBranch": "main",
            "type": role,
            "message": message,
            "uuid": str(uuid.UUID(int=self._count)),
            "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")

    def process(self, session_id: str, status: str, pid: int | None = None, **fields: str) -> None:
        """What the program writes of a process that has the session open; this one unless a `pid` is given."""
        pid = pid or os.getpid()
        start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        file = self.home / ".claude" / "sessions" / f"{pid}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        record = {"pid": pid, "sessionId": session_id, "procStart": start, "status": status, **fields}
        record["statusUpdatedAt"] = int(time.time() * 1000)
        draft = file.with_suffix(".tmp")
        draft.write_text(json.dumps(record))
        draft.replace(file)
