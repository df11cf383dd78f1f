"""Records of types that no known version writes: what they hold of a conversation is shown, or is a problem."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from session_adapters.base import Environment
from session_adapters.model import Problem
from session_adapters.registry import adapter_class

WORD = "straywordinnoothertext"
TIME = "2027-01-01T00:00:00.000Z"
BLOCKS = [{"type": "text", "text": WORD}]
SAID = [{"type": "output_text", "text": WORD}]
Record = dict[str, Any]


def item(**payload: Any) -> Record:
    return {"timestamp": TIME, "type": "response_item", "payload": payload}


CODEX = [
    item(type="brand_new", role="assistant", content=SAID),
    item(type="message", role="critic", content=SAID),
    item(type="message", role="assistant", content=[{"type": "new_text", "text": WORD}]),
    item(type="brand_new_call", call_id="x", name="shell", arguments=json.dumps({"a": WORD})),
    item(role="assistant", content=SAID),
    {"timestamp": TIME, "type": "brand_new", "payload": {"role": "user", "content": WORD}},
    {"timestamp": TIME, "role": "user", "content": WORD},
]
TREE: list[Record] = [
    {"type": "brand_new", "message": {"role": "user", "content": BLOCKS}},
    {"type": "message", "message": {"role": "critic", "content": BLOCKS}},
    {"type": "brand_new", "role": "user", "content": WORD},
    {"role": "assistant", "content": WORD},
]
CASES: dict[tuple[str, ...], list[Record]] = {
    ("claude", "home"): [
        {"type": "brand_new", "uuid": "u", "timestamp": TIME, "message": {"role": "user", "content": WORD}},
        {"type": "user", "uuid": "u", "timestamp": TIME, "message": {"content": [{"type": "new", "text": WORD}]}},
        {"type": "system", "subtype": "brand_new", "uuid": "u", "timestamp": TIME, "content": WORD},
        {"type": "assistant", "uuid": "u", "timestamp": TIME, "message": {
            "id": "m", "content": [{"type": "server_tool_use", "id": "s", "name": WORD, "input": {}}]}},
        {"role": "user", "uuid": "u", "timestamp": TIME, "content": WORD},
    ],
    ("codex", "home"): CODEX,
    ("codex", "older", "home"): [*CODEX, {"type": "message", "role": "critic", "content": SAID}],
    ("copilot", "home"): [
        {"type": "brand_new", "id": "e", "timestamp": TIME, "data": {"role": "user", "content": WORD}},
    ],
    ("cursor", "home"): [
        {"role": "critic", "message": {"content": BLOCKS}},
        {"role": "assistant", "message": {"content": [{"type": "new", "text": WORD}]}},
    ],
    ("gemini", "home"): [
        {"id": "z", "timestamp": TIME, "type": "oracle", "content": WORD},
        {"id": "z", "timestamp": TIME, "content": WORD},
        {"id": "z", "timestamp": TIME, "type": "gemini", "content": {"text": WORD}},
    ],
    ("omp", "home"): TREE,
    ("openclaw", "home-files-2026.3"): TREE,
    ("pi", "home"): TREE,
}  # fmt: skip
EACH = [
    pytest.param(home, record, id=f"{'/'.join(home)}-{number}")
    for home, records in CASES.items()
    for number, record in enumerate(records)
]


@pytest.mark.parametrize(("home", "record"), EACH)
def test_no_message_vanishes(
    home: tuple[str, ...], record: Record, store: Callable[..., Path], tmp_path: Path
) -> None:
    adapter = adapter_class(home[0])(Environment(home=store(*home), proc=tmp_path / "proc"))
    files = [one for one in adapter.sources(lambda problem: None) if one.path.endswith(".jsonl")]
    path = Path(max(files, key=lambda one: one.size).path)
    lines = path.read_bytes().splitlines()
    if record in TREE:
        above = [node["id"] for node in map(json.loads, lines) if node.get("id") and node.get("type") != "session"]
        record = {"id": "stray", "parentId": above[-1], "timestamp": TIME, **record}
    path.write_bytes(b"\n".join((*lines, json.dumps(record).encode(), b"")))
    (source,) = (one for one in adapter.sources(lambda problem: None) if one.path == str(path))
    problems: list[Problem] = []
    summary = adapter.summaries(source, problems.append, exact=True)[0]
    session = adapter.session(source, summary.session_id)
    shown = any(WORD in repr((one.content, one.tool_calls, one.tool_result)) for one in session.messages)
    said = [one.place for one in problems if one.path == str(path)]
    assert shown or said == [f"byte {sum(len(line) + 1 for line in lines)}"]
    assert summary.message_count == len(session.messages)
    found = any(WORD in text.prose or WORD in text.tool for text in adapter.texts(source, problems.append))
    assert found == shown
