"""Writes sessions of Pi: trees of entries, a second apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["answered", "asked", "entry", "write_pi"]


def entry(number: int, parent: int | None, **fields: Any) -> dict[str, Any]:
    """An entry of Pi, `number` seconds after the beginning."""
    return {
        "type": "message",
        "id": f"{number:08x}",
        "parentId": None if parent is None else f"{parent:08x}",
        "timestamp": f"2026-01-01T10:00:{number:02}.000Z",
        **fields,
    }


def asked(number: int, parent: int | None, text: str = "") -> dict[str, Any]:
    """A prompt."""
    return entry(number, parent, message={"role": "user", "content": text or f"question {number}"})


def answered(number: int, parent: int, model: str = "mock") -> dict[str, Any]:
    """An answer, for which `number` tokens were read and one written."""
    usage = {"input": number, "output": 1, "cacheRead": 0, "cacheWrite": 0}
    message = {"role": "assistant", "content": f"answer {number}", "model": model, "usage": usage}
    return entry(number, parent, message=message)


def write_pi(home: Path, name: str, *entries: dict[str, Any], folder: str = "--srv--", **header: Any) -> Path:
    """A session's file."""
    path = home / ".pi/agent/sessions" / folder / f"2026-01-01T10-00-00-000Z_{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    first = {"type": "session", "version": 3, "id": name, "timestamp": "2026-01-01T10:00:00.000Z", "cwd": "/srv"}
    path.write_text("".join(json.dumps(one) + "\n" for one in ({**first, **header}, *entries)))
    return path
