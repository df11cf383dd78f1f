"""Gemini CLI's sample stores, a plain reading of them, and records made by hand, for the tests of its adapter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from session_adapters.base import Environment
from session_adapters.gemini.adapter import GeminiAdapter
from session_adapters.model import Problem, Session, SessionSummary
from support import STORES

SAMPLES = {
    "home": STORES / "gemini" / "home",
    "older": STORES / "gemini" / "older" / "home",
    "spec-layout": STORES / "gemini" / "spec-layout" / "home",
}
CHATS = ".gemini/tmp/shop/chats"
AT = "2026-11-21T08:00:00.000Z"


def adapter(home: Path, **variables: str) -> GeminiAdapter:
    return GeminiAdapter(Environment(home=home, variables=variables))


def never(problem: Problem) -> None:
    raise AssertionError(problem)


def listed(reader: GeminiAdapter, *, exact: bool = True) -> dict[str, SessionSummary]:
    found = [s for source in reader.sources(never) for s in reader.summaries(source, never, exact=exact)]
    return {summary.session_id: summary for summary in reader.relate(found)}


def got(reader: GeminiAdapter, session_id: str) -> Session:
    source = reader.find(session_id)
    assert source is not None
    return reader.session(source, session_id)


class Plain(NamedTuple):
    """A session file read by a dozen plain lines."""

    records: list[dict[str, Any]]
    """Every message record that was logged by itself, in order."""
    view: list[dict[str, Any]]
    """What stands at the end, by the rules of FACTS.md."""
    headers: list[dict[str, Any]]

    def last(self) -> dict[str, dict[str, Any]]:
        """The last version of each record, by id."""
        return {record["id"]: record for record in self.records}


def plain(path: Path) -> Plain:
    if path.suffix == ".json":
        document = json.loads(path.read_text(encoding="utf-8"))
        return Plain(document["messages"], document["messages"], [document])
    view: dict[str, dict[str, Any]] = {}
    records, headers = [], []
    for line in path.read_text(encoding="utf-8").split("\n"):
        record = json.loads(line) if line else {}
        if "$rewindTo" in record:
            ids = list(view)
            at = ids.index(record["$rewindTo"]) if record["$rewindTo"] in ids else 0
            view = {one: view[one] for one in ids[:at]}
        elif "id" in record:
            records.append(record)
            view[record["id"]] = record
        elif "messages" in record.get("$set", {}):
            view = {one["id"]: one for one in record["$set"]["messages"]}
        elif "sessionId" in record:
            headers.append(record)
    return Plain(records, list(view.values()), headers)


def parts(record: dict[str, Any]) -> list[dict[str, Any]]:
    content = record["content"]
    return [{"text": content}] if isinstance(content, str) else content


def text_of(record: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in parts(record) if not part.get("thought"))


def responses(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [part["functionResponse"] for part in parts(record) if "functionResponse" in part]


def calls_of(record: dict[str, Any]) -> list[str]:
    """Ids of the calls, whether they stand in `toolCalls` or among the parts."""
    if record.get("toolCalls"):
        return [call["id"] for call in record["toolCalls"]]
    return [part["functionCall"]["id"] for part in parts(record) if "functionCall" in part]


def session_files(home: Path) -> Iterator[Path]:
    yield from sorted(home.glob(".gemini/tmp/*/chats/**/*.json*"))
    yield from sorted(home.glob(".gemini/sessions/*.jsonl"))


def raw_id(path: Path) -> str:
    if path.parent.name == "sessions":
        return path.stem
    return str(plain(path).headers[0]["sessionId"])


EVERY = sorted({(name, raw_id(path)) for name, home in SAMPLES.items() for path in session_files(home)})


# Records made by hand ----------------------------------------------------------------------------------------


def line(**fields: Any) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def header(session_id: str = "11111111-aaaa", **fields: Any) -> bytes:
    return line(**{"sessionId": session_id, "projectHash": "h", "startTime": AT, "kind": "main"} | fields)


def user(message_id: str, text: Any, **fields: Any) -> dict[str, Any]:
    content = [{"text": text}] if isinstance(text, str) else text
    return {"id": message_id, "timestamp": AT, "type": "user", "content": content, **fields}


def gemini(message_id: str, text: Any = "", **fields: Any) -> dict[str, Any]:
    tokens = {"input": 10, "output": 3, "cached": 4, "thoughts": 2, "tool": 0, "total": 15}
    known = {"id": message_id, "timestamp": AT, "type": "gemini", "content": text, "tokens": tokens, "model": "m"}
    return known | fields


def bare(message_id: str, *content: dict[str, Any]) -> dict[str, Any]:
    """A reply as it is restored: no tokens, no model, parts for content, another time."""
    return {"id": message_id, "timestamp": "2026-11-22T08:00:00.000Z", "type": "gemini", "content": list(content)}


def call(call_id: str, output: Any = "done", status: str = "success", **fields: Any) -> dict[str, Any]:
    found = {"id": call_id, "name": "read_file", "args": {"path": "x"}, "status": status, **fields}
    return found if output is None else found | {"result": [response(call_id, output)]}


def response(call_id: str, output: Any = "done") -> dict[str, Any]:
    return {"functionResponse": {"id": call_id, "name": "read_file", "response": {"output": output}}}


def asked(call_id: str) -> dict[str, Any]:
    return {"functionCall": {"id": call_id, "name": "read_file", "args": {"path": "x"}}}


CONTEXT = user("context", "<session_context>\nThis is the Gemini CLI\n</session_context>")


def put(*messages: dict[str, Any]) -> bytes:
    return line(**{"$set": {"messages": list(messages)}})


def place(
    home: Path, *lines: bytes, name: str = "session-2026-11-21T08-00-11111111.jsonl", folder: str = CHATS
) -> Path:
    path = home / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    root = home / ".gemini/tmp/shop/.project_root"
    if folder == CHATS and not root.exists():
        root.write_text("/home/dev/shop")
    path.write_bytes(b"".join(lines))
    return path
