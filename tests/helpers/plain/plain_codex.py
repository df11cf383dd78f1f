"""Codex' rollouts read and made by plain lines, to compare the adapter with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from session_adapters.base import Environment
from session_adapters.codex.adapter import CodexAdapter
from session_adapters.model import Problem, Session, SessionSummary
from support import STORES

STORE = STORES / "codex"
HOMES = {
    "home": "expected.json",
    "older/home": "expected.older.json",
    "public/home": "expected.public.json",
    "spec-layout/home": None,
}
ROOT_ID = "01a1fd32-f807-7832-9408-a0a8c681ff0f"
FORK_ID = "01a1fd32-fcf1-7ff1-bf2b-918966e170a6"
UI_FORK_ID = "01a1fd33-6159-70f0-9652-d156c12e810e"
OLD_FORK_ID = "01a1fd34-34db-7301-9904-47c237e5d3c9"
OLD_ROOT_ID = "01a1fd34-2aea-7b11-a771-88475308f342"


def adapter(home: Path, **variables: str) -> CodexAdapter:
    return CodexAdapter(Environment(home=home, variables=variables))


def no_report(problem: Problem) -> None:
    raise AssertionError(problem)


def expected_of(home: str) -> list[dict[str, Any]]:
    name = HOMES[home]
    return json.loads((STORE / name).read_text()) if name else []


NOTED = [(home, row) for home in HOMES for row in expected_of(home)]
FILES = [(home, path) for home in HOMES for path in sorted((STORE / home / ".codex").rglob("*.jsonl"))]
ROLLOUTS = [
    (home, path) for home, path in FILES if "sessions" in str(path.relative_to(STORE / home / ".codex").parent)
]


def ident(value: object) -> str:
    if isinstance(value, dict):
        return str(value["id"])
    return value.stem[-36:] if isinstance(value, Path) else str(value)


def both(home: Path, session_id: str) -> tuple[SessionSummary, Session]:
    reader = adapter(home)
    source = reader.find(session_id)
    assert source is not None
    (summary,) = reader.summaries(source, no_report, exact=True)
    return summary, reader.session(source, session_id)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def items(path: Path) -> Iterator[dict[str, Any]]:
    for row in rows(path):
        if row.get("type") == "response_item":
            yield row["payload"]
        elif "payload" not in row and "record_type" not in row:
            yield row


def texts(parts: list[dict[str, Any]]) -> str:
    return "\n".join(part["text"] for part in parts if "text" in part)


def raw_prompts(path: Path) -> list[str]:
    found = []
    for row in rows(path):
        payload = row.get("payload", {})
        if payload.get("type") == "user_message":
            found.append(payload["message"])
        elif payload.get("type") == "item_completed" and payload["item"]["type"] == "UserMessage":
            found.append(texts(payload["item"]["content"]))
        elif row.get("type") == "message" and row["role"] == "user" and not texts(row["content"]).startswith("<"):
            found.append(texts(row["content"]))
    return found


def raw_replies(path: Path) -> list[str]:
    """The reply that became a summary is shown as the summary, so it is left out here."""
    summaries = [row["payload"]["message"] for row in rows(path) if row.get("type") == "compacted"]
    said = [texts(item["content"]) for item in items(path) if item.get("role") == "assistant"]
    return [text for text in said if not any(text in summary for summary in summaries)]


def raw_calls(path: Path) -> list[str]:
    return [item["call_id"] for item in items(path) if str(item.get("type")).endswith("_call")]


def figures(usage: dict[str, int]) -> tuple[int, int, int, int]:
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    first, cached, output, reasoning = (usage.get(name, 0) for name in names)
    return first, cached, output, reasoning


def raw_tokens(path: Path) -> tuple[int, int, int, int] | None:
    """Own tokens: the records, else the last running total without what the parent had."""
    records = [row["payload"]["usage"] for row in rows(path) if row.get("type") == "token_usage_record"]
    if records:
        columns = zip(*(figures(one) for one in records), strict=True)
        first, cached, output, reasoning = (sum(column) for column in columns)
        return first, cached, output, reasoning
    counts = [row["payload"]["info"] for row in rows(path) if row.get("payload", {}).get("type") == "token_count"]
    totals = [info["total_token_usage"] for info in counts if info]
    if not totals:
        inline = [row["usage"] for row in rows(path) if "usage" in row]
        if not inline:
            return None
        usage = inline[0]
        return usage["input_tokens"], usage["cached_tokens"], usage["output_tokens"], usage["reasoning_tokens"]
    final = figures(totals[-1])
    parent = next((row["payload"].get("forked_from_id") for row in rows(path) if row["type"] == "session_meta"), None)
    if parent is None:
        return final
    above = raw_tokens(next(path.parent.glob(f"*{parent}.jsonl")))
    assert above is not None
    return final[0] - above[0], final[1] - above[1], final[2] - above[2], final[3] - above[3]


# Rollouts made here --------------------------------------------------------------------------------------------


def uuid(number: int) -> str:
    """An id like Codex' own; its first half is a time, later for a larger `number`."""
    return f"01a1fd40-{number:04x}-7000-8000-{number:012x}"


def line(kind: str, payload: dict[str, Any], second: float = 0, ordinal: int | None = None) -> dict[str, Any]:
    stamp = f"2026-11-21T09:00:{second:06.3f}Z"
    return {"timestamp": stamp, **({} if ordinal is None else {"ordinal": ordinal}), "type": kind, "payload": payload}


def meta(own_id: str, /, **more: Any) -> dict[str, Any]:
    return line("session_meta", {"id": own_id, "timestamp": "2026-11-21T09:00:00.000Z", "cwd": "/w", **more})


def said(role: str, text: str, **more: Any) -> dict[str, Any]:
    part = {"type": "input_text" if role == "user" else "output_text", "text": text}
    return {"type": "message", "role": role, "content": [part], **more}


def turn(prompt: str, reply: str, second: float = 1, ordinal: int | None = None) -> list[dict[str, Any]]:
    """A prompt with its event, and a reply."""
    records = [
        ("response_item", said("user", prompt)),
        ("event_msg", {"type": "user_message", "message": prompt}),
        ("response_item", said("assistant", reply)),
    ]
    return [
        line(kind, payload, second, None if ordinal is None else ordinal + at)
        for at, (kind, payload) in enumerate(records)
    ]


def count(total: int, last: int, second: float = 2, ordinal: int | None = None) -> dict[str, Any]:
    """A `token_count` of input tokens."""
    info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": {"input_tokens": last}}
    return line("event_msg", {"type": "token_count", "info": info}, second, ordinal)


def write(home: Path, session_id: str, *records: dict[str, Any], folder: str = "sessions/2026/11/21") -> Path:
    """A rollout under `home`/.codex."""
    path = home / ".codex" / folder / f"rollout-2026-11-21T09-00-00-{session_id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path
