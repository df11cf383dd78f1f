"""Makes Codex' rollouts long: ordinals move on, and so do the byte offsets at which forks leave their parents."""

from __future__ import annotations

import json
from pathlib import Path

from long_base import Added, Lines, Record, Shape, Texts, filler, front, turns

__all__ = ["lengthen_rollouts"]


def lengthen_rollouts(home: Path, shape: Shape) -> list[Added]:
    """Every rollout, parents before their forks."""
    waiting = [Lines(path, shape) for path in sorted(home.glob(".codex/*sessions/**/*.jsonl"))]
    waiting = [lines for lines in waiting if _meta(lines).get("id")]
    done: dict[str, tuple[dict[int, int], list[bytes]]] = {}
    found: list[Added] = []
    while waiting:
        lines = waiting.pop(0)
        meta = _meta(lines)
        base = meta.get("history_base")
        if base and base["thread_id"] not in done:
            waiting.append(lines)
            continue
        start = 0
        if base:
            ordinals, written = done[base["thread_id"]]
            start = ordinals[base["end_ordinal_exclusive"] - 1] + 1
            above = sum(len(line) + 1 for line in written if json.loads(line)["ordinal"] < start)
            meta["history_base"] = {**base, "end_ordinal_exclusive": start, "end_byte_offset": above}
        moved = _lengthen(lines, meta, start)
        done[meta["id"]] = (moved, lines.encoded())
        found += lines.write()
    return found


def _meta(lines: Lines) -> Record:
    first = lines.rows[0] if lines.rows else {}
    meta = first.get("payload", first)
    assert isinstance(meta, dict)
    return meta


def _lengthen(lines: Lines, meta: Record, start: int) -> dict[int, int]:
    """The new ordinal of each old one."""
    rows = lines.rows
    text = filler("instructions", meta["id"], size=lines.shape.first_line)
    if "payload" in rows[0]:
        meta["base_instructions"] = {**(meta.get("base_instructions") or {}), "text": text}
    else:
        meta["instructions"] = text
    lines.added.append(Added(lines.path, rows[0], text))
    place = sum(row.get("type") == "session_meta" or "record_type" in row or row is rows[0] for row in rows[:2])
    prompts = [number for number, row in enumerate(rows) if _is_prompt(row)]
    copied = rows[place - 1].get("payload", {}).get("id", meta["id"])
    lines.put(_front(copied, rows), rows[prompts[0] + 1 if lines.shape.early and prompts else place])
    lines.put(_turns(lines.shape, meta["id"], rows))
    old = {id(row): row["ordinal"] for row in rows if "ordinal" in row}
    moved = {}
    for number, row in enumerate(lines.rows if old else ()):
        row["ordinal"] = start + number
        if id(row) in old:
            moved[old[id(row)]] = start + number
    return moved


def _is_prompt(row: Record) -> bool:
    """The last record of a prompt."""
    payload = row.get("payload", row)
    kind = payload.get("type")
    if "payload" not in row:
        own = kind == "message" and payload["role"] == "user"
        return own and not payload["content"][0]["text"].startswith("<")
    return bool(kind == "user_message" or (kind == "item_completed" and payload["item"]["type"] == "UserMessage"))


def _front(own: str, rows: list[Record]) -> Texts:
    found: Texts = []
    for text, _ in front(own):
        said: Record = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}
        if "payload" in rows[0]:
            said = {"timestamp": rows[0]["timestamp"], "type": "response_item", "payload": said}
        else:
            said["role"], said["content"][0]["text"] = "user", f"<user_instructions>\n{text}\n</user_instructions>"
            said |= {"timestamp": rows[0]["timestamp"]} if "timestamp" in rows[-1] else {}
        found.append((said, text))
    return found


def _turns(shape: Shape, thread_id: str, rows: list[Record]) -> Texts:
    """Each message with its twin, where that generation of the program writes one."""
    found: Texts = []
    for prompt, text, own, stamp in turns(shape, max(row.get("timestamp", "") for row in rows), thread_id):
        part = {"type": "input_text" if prompt else "output_text", "text": text}
        item: Record = {"type": "message", "role": "user" if prompt else "assistant", "content": [part]}
        if "payload" not in rows[0]:
            found.append((item | ({"timestamp": stamp} if "timestamp" in rows[-1] else {}), text))
            continue
        twin: Record = {"type": "user_message" if prompt else "agent_message", "message": text}
        if "ordinal" in rows[0]:
            done: Record = {"type": "UserMessage" if prompt else "AgentMessage", "id": own}
            done |= {"content": [{"type": "text" if prompt else "Text", "text": text}]}
            twin = {"type": "item_completed", "thread_id": thread_id, "turn_id": own, "item": done}
        pair = [("response_item", item), ("event_msg", twin)]
        for kind, payload in pair if prompt else pair[::-1]:
            found.append(({"timestamp": stamp, "type": kind, "payload": payload}, text))
    return found
