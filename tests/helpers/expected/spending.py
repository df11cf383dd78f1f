"""Writes Claude Code sessions whose model calls used given tokens, and agent-mux's run index, for tests of costs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hermes_tui.config import Price
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment

__all__ = ["START", "Spender"]

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Spender:
    """A home with a `.claude` store; calls are numbered, so that each has a message id of its own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.projects = home / ".claude" / "projects"
        self.projects.mkdir(parents=True)
        self._calls = 0

    def session(
        self,
        session_id: str,
        *calls: dict[str, Any],
        at: datetime = START,
        cwd: str = "/srv/shop",
    ) -> Path:
        """A prompt and an answer for each of `calls`: {"model", "input", "output", "read", "write", "hour", "id",
        "uuid", "at", "forked"}, all of them optional; the file."""
        records: list[dict[str, Any]] = []
        for number, call in enumerate(calls):
            when = call.get("at", at + timedelta(minutes=number))
            self._calls += 1
            common: dict[str, Any] = {"sessionId": session_id, "cwd": cwd, "version": "2.1.0"}
            if "forked" in call:
                common["forkedFrom"] = {"sessionId": call["forked"], "messageUuid": f"u{self._calls}"}
            prompt = {"type": "user", "uuid": f"u{self._calls}", "timestamp": _text(when), **common}
            records.append({**prompt, "message": {"role": "user", "content": f"question {number}"}})
            usage = {
                "input_tokens": call.get("input", 0),
                "output_tokens": call.get("output", 0),
                "cache_read_input_tokens": call.get("read", 0),
                "cache_creation_input_tokens": call.get("write", 0),
                "cache_creation": {"ephemeral_1h_input_tokens": call.get("hour", 0)},
            }
            message = {
                "id": call.get("id", f"msg_{self._calls}"),
                "role": "assistant",
                "model": call.get("model", "claude-haiku-4-5"),
                "usage": usage,
                "content": [{"type": "text", "text": f"answer {number}"}],
            }
            uuid = call.get("uuid", f"a{self._calls}")
            records.append(
                {"type": "assistant", "uuid": uuid, "timestamp": _text(when), "message": message, **common}
            )
        path = self.projects / "-srv-shop" / f"{session_id}.jsonl"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def run(self, folder: Path | None = None, **fields: Any) -> Path:
        """Append a line to the run index of `folder` (the home unless given); the file."""
        path = (folder or self.home) / ".agent-mux" / "run-index.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._calls += 1
        record = {"v": 1, "runId": f"run-{self._calls}", "agent": "claude", "timestamp": _text(START), "tags": []}
        with path.open("a") as file:
            file.write(json.dumps({**record, **fields}) + "\n")
        return path

    def manager(self, cache_dir: Path | None = None, *agents: str, **prices: Price) -> SessionManager:
        """A manager of this home, of Claude's sessions unless `agents` says otherwise."""
        cache = cache_dir or self.home.parent / "cache"
        return SessionManager(
            Environment(home=self.home), cache_dir=cache, agents=agents or ("claude",), prices=prices
        )


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
