"""Pi and omp session files read by plain lines, for tests to compare with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["active_path", "plain_text", "records", "usage_of"]


def records(path: Path) -> list[dict[str, Any]]:
    """Every line that is JSON. Version 1 entries get the ids that their place gives."""
    found: list[dict[str, Any]] = []
    for line in path.read_bytes().split(b"\n"):
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    previous = None
    for number, record in enumerate(found):
        if record.get("type") not in ("session", "title"):
            if "id" not in record:
                record["id"], record["parentId"] = f"v1-{number}", previous
            previous = record["id"]
    return found


def active_path(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """From the root to the last entry of the file."""
    nodes = {record["id"]: record for record in found if record.get("type") not in ("session", "title")}
    path = []
    at = list(nodes.values())[-1] if nodes else None
    while at is not None:
        path.append(at)
        at = nodes.get(at["parentId"])
    return path[::-1]


def usage_of(record: dict[str, Any]) -> dict[str, Any]:
    """The usage of an entry of whatever type; empty when it has none."""
    found = record.get("usage") or record.get("message", {}).get("usage") or {}
    assert isinstance(found, dict)
    return found


def plain_text(content: Any) -> str:
    """The text blocks of a message's content."""
    if isinstance(content, str):
        return content
    return "\n\n".join(block["text"] for block in content if block["type"] == "text" and block["text"])
