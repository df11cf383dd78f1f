"""Claude Code's sample stores, and records made by hand, for the tests of its adapter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from session_adapters.base import Environment
from session_adapters.claude.adapter import ClaudeAdapter
from session_adapters.model import Message, Problem, Session, SessionSummary
from support import STORES

SAMPLES = {
    "home": STORES / "claude" / "home",
    "older": STORES / "claude" / "older" / "home",
    "spec-layout": STORES / "claude" / "spec-layout" / "home",
}


def adapter(home: Path, **variables: str) -> ClaudeAdapter:
    return ClaudeAdapter(Environment(home=home, variables=variables))


def never(problem: Problem) -> None:
    raise AssertionError(problem)


def listed(reader: ClaudeAdapter, *, exact: bool = True) -> dict[str, SessionSummary]:
    found = [s for source in reader.sources(never) for s in reader.summaries(source, never, exact=exact)]
    return {summary.session_id: summary for summary in reader.relate(found)}


def got(reader: ClaudeAdapter, session_id: str) -> Session:
    source = reader.find(session_id)
    assert source is not None
    return reader.session(source, session_id)


def raw_lines(path: str | Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").split("\n") if line.strip()]


def every_sample() -> Iterator[tuple[str, str]]:
    for name, home in SAMPLES.items():
        for path in sorted(home.rglob("projects/**/*.jsonl")):
            if path.stat().st_size:
                yield name, path.stem


EVERY = list(every_sample())


def line(**fields: Any) -> bytes:
    return (
        json.dumps({"sessionId": "s", "cwd": "/p", "timestamp": "2026-11-21T08:00:00.000Z"} | fields).encode() + b"\n"
    )


def prompt(content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **fields}


def reply(message_id: str, *blocks: Any, out: int = 1, model: str = "m-1", **fields: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    usage = {"input_tokens": 1, "output_tokens": out}
    message = {"id": message_id, "role": "assistant", "model": model, "content": content, "usage": usage}
    return {"type": "assistant", "message": message, **fields}


def call(name: str, **values: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": values}


def result(name: str, content: Any = "done", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content, **fields}


Written = Callable[..., Session]


def turns(messages: tuple[Message, ...]) -> int:
    answered, waiting = 0, False
    for message in messages:
        if message.is_prompt:
            waiting = True
        elif message.role == "assistant" and message.kind == "message" and waiting:
            answered, waiting = answered + 1, False
    return answered


def place(home: Path, where: str, *records: dict[str, Any]) -> Path:
    path = home / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line(**{"uuid": f"{where}{n}"} | record) for n, record in enumerate(records)))
    return path
