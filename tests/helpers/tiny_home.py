"""Writes stores for `tiny_adapter`."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment

__all__ = ["START", "TinyHome", "tree_hash"]

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
"""When sessions begin unless said otherwise."""


class TinyHome:
    """A home directory with a `.tiny` store."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.store = home / ".tiny"
        self.store.mkdir(parents=True)

    def add(
        self,
        session_id: str,
        *,
        title: str = "A title",
        at: datetime = START,
        turns: int = 1,
        model: str | None = "m-1",
        usd: float | None = None,
        filler: int = 0,
        **head: Any,
    ) -> Path:
        """Write a session of `turns` prompts and answers a minute apart, each answer `filler` characters longer;
        the file."""
        records: list[dict[str, Any]] = [{"title": title, "at": at.isoformat(), **head}]
        for turn in range(turns):
            asked, answered = at + timedelta(minutes=2 * turn), at + timedelta(minutes=2 * turn + 1)
            records.append({"role": "user", "text": f"question {turn}", "at": asked.isoformat()})
            answer = {"role": "assistant", "text": f"answer {turn}" + "x" * filler, "at": answered.isoformat()}
            records.append({**answer, "model": model, "usd": usd})
        path = self.store / f"{session_id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def environment(self, **variables: str) -> Environment:
        """The machine with this home."""
        return Environment(home=self.home, variables=variables)

    def manager(self, cache_dir: Path, *agents: str, **variables: str) -> SessionManager:
        """A manager of `agents` (`tiny` unless given) on this home."""
        return SessionManager(self.environment(**variables), cache_dir=cache_dir, agents=agents or ("tiny",))


def tree_hash(root: Path) -> dict[str, tuple[object, ...]]:
    """Every path under `root` with its kind, size, mtime, mode and content."""
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted((root, *root.rglob("*"))):
        status = path.lstat()
        content = ""
        if path.is_file() and not path.is_symlink():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        size = status.st_size if content else 0
        found[str(path.relative_to(root))] = (status.st_mode, size, status.st_mtime_ns, content)
    return found
