"""Puts long records into the files of sample stores: what `long_stores` needs of each agent's format."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Added", "Record", "filler", "later", "lengthen_chains", "lengthen_codex", "lengthen_documents", "made_id"]

Record = dict[str, Any]

_FRONT = 2
"""Records before a conversation, 20 KB each."""
_BACK = (24_000, 17_000)
"""Lengths of the replies behind a conversation; each answers a prompt of its own."""
_START = "2026-11-21T09:00:00.000Z"


class Added(NamedTuple):
    """What stands in a store that its sample does not have."""

    path: Path
    """The file or database."""
    record: Record
    """As written; of a database the row."""
    text: str
    """The one text in it."""


def filler(*seed: object, size: int) -> str:
    """Harmless text of `size` characters, with a word of its own at either end."""
    word = "filler" + hashlib.sha256(repr(seed).encode()).hexdigest()[:12]
    body = "nothing of note happens here, and it goes on. " * (size // 46)
    return f"{word} {body}"[: size - len(word) - 1].rstrip() + " " + word


def made_id(*seed: object) -> str:
    """A UUID that is the same for the same seed, so that copies in forks stay copies."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, repr(seed)))


def later(stamp: str | None, seconds: float) -> str:
    """The ISO time so many seconds after."""
    moment = datetime.fromisoformat((stamp or _START).replace("Z", "+00:00")) + timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Lines:
    """A JSON-lines file: its records, broken lines kept, and a torn last line kept last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        data = path.read_bytes()
        parts = data.split(b"\n")
        self.ends = b"\n" if parts[-1] == b"" else b""
        self.parts: list[bytes | Record] = [_record(part) for part in parts if part]
        self.torn = b""
        if self.parts and not self.ends and isinstance(self.parts[-1], bytes):
            self.torn = b"\n" + parts[-1]
            self.parts.pop()
        self.added: list[Added] = []

    @property
    def rows(self) -> list[Record]:
        """Those that are JSON objects."""
        return [part for part in self.parts if isinstance(part, dict)]

    def insert(self, place: int | None, records: list[tuple[Record, str]]) -> None:
        """Put records before the row at `place`, or behind all."""
        at = len(self.parts)
        if place is not None:
            row = self.rows[place]
            at = next(number for number, part in enumerate(self.parts) if part is row)
        self.parts[at:at] = [record for record, _ in records]
        self.added += [Added(self.path, record, text) for record, text in records]

    def encoded(self) -> list[bytes]:
        """Every whole line, without its end."""
        return [part if isinstance(part, bytes) else _encode(part) for part in self.parts]

    def write(self) -> list[Added]:
        """Write the file; what was added to it."""
        self.path.write_bytes(b"\n".join(self.encoded()) + self.torn + self.ends)
        return self.added


def _record(part: bytes) -> bytes | Record:
    try:
        value = json.loads(part)
    except ValueError:
        return part
    return value if isinstance(value, dict) else part


def _encode(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


# Chains of parents: Claude, Copilot, Pi, omp, OpenClaw; and lines without any ------------------------------------


def lengthen_chains(agent: str, home: Path) -> list[Added]:
    """Every JSON-lines transcript of the agents that have them, except Codex' rollouts."""
    ways: dict[str, tuple[str, Callable[[Lines], None]]] = {
        "claude": (".claude/projects/**/*.jsonl", _claude),
        "copilot": (".copilot/session-state/*/events.jsonl", _copilot),
        "cursor": (".cursor/projects/*/agent-transcripts/**/*.jsonl", _cursor),
        "gemini": (".gemini/**/*.jsonl", _gemini),
        "omp": (".omp/**/sessions/**/*.jsonl", _tree),
        "openclaw": (".*/agents/*/sessions/*.jsonl*", _tree),
        "pi": ("**/*.jsonl", _tree),
    }
    found: list[Added] = []
    if agent in ways:
        pattern, lengthen = ways[agent]
        for path in sorted(home.glob(pattern)):
            lines = Lines(path) if path.suffix != ".lock" else None
            if lines and lines.rows:
                lengthen(lines)
                found += lines.write()
    return found


def _claude(lines: Lines) -> None:
    rows = lines.rows
    chain = [row for row in rows if "uuid" in row]
    if not chain:
        _claude_document(lines)
        return
    first = next((row for row in chain if not row.get("parentUuid")), chain[0])
    newer = any(row.get("type") == "attachment" for row in rows)
    kept = (
        "isSidechain",
        "agentId",
        "timestamp",
        "userType",
        "entrypoint",
        "cwd",
        "sessionId",
        "version",
        "gitBranch",
    )
    front = []
    parent = first.get("parentUuid")
    for number in range(_FRONT):
        own = made_id("claude", first["uuid"], number)
        text = filler("claude", first["uuid"], number, size=20_000)
        record: Record = {"parentUuid": parent, **{name: first[name] for name in kept if name in first}, "uuid": own}
        if "forkedFrom" in first:
            record["forkedFrom"] = {**first["forkedFrom"], "messageUuid": own}
        if newer:
            record |= {"type": "attachment", "attachment": {"type": "skill_listing", "content": text}}
        else:
            record |= {"type": "user", "isMeta": True, "message": {"role": "user", "content": f"Caveat: {text}"}}
        front.append((record, text))
        parent = own
    first["parentUuid"] = parent
    main = [row for row in chain if not row.get("isSidechain")] or chain
    replies = [row for row in main if row["type"] == "assistant"]
    model = next((row["message"]["model"] for row in replies[::-1] if row["message"]["model"][0] != "<"), "claude-x")
    last = main[-1]
    parent = last["uuid"]
    stamp = max(row["timestamp"] for row in chain)
    envelope = {name: last[name] for name in kept if name in last}
    for number, size in enumerate(_BACK):
        seed = (str(lines.path.stem), number)
        prompt, reply = filler("asks", *seed, size=90), filler("claude", *seed, size=size)
        usage = {
            "input_tokens": 11,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 5,
            "output_tokens": 3,
        }
        message = {"id": f"msg_{made_id(*seed)[-12:]}", "type": "message", "role": "assistant", "model": model}
        message |= {"content": [{"type": "text", "text": reply}], "stop_reason": "end_turn", "usage": usage}
        said: tuple[tuple[str, Record, str], ...] = (
            ("user", {"role": "user", "content": prompt}, prompt),
            ("assistant", message, reply),
        )
        for kind, content, text in said:
            stamp, own = later(stamp, 1), made_id(kind, *seed)
            record = {"parentUuid": parent, **envelope, "type": kind, "message": content, "uuid": own}
            lines.insert(None, [({**record, "timestamp": stamp}, text)])
            parent = own
    lines.insert(0, front)


def _claude_document(lines: Lines) -> None:
    """The layout of the specification, whose first line describes the session."""
    _plain_turns(lines, front=1, replier="assistant", kinds=True)


def _plain_turns(lines: Lines, *, front: int, replier: str, kinds: bool = False) -> None:
    """Lines of `role` and `content` alone."""
    rows = lines.rows
    stamp = rows[0].get("timestamp")
    seed = lines.path.name
    stamps = [row["timestamp"] for row in rows if "timestamp" in row]
    back = []
    for number, size in enumerate(_BACK):
        for role, length in (("user", 90), (replier, size)):
            text = filler(role, seed, number, size=length)
            record: Record = {"type": role} if kinds else {}
            record |= {"role": role, "content": text}
            stamps.append(later(max(stamps), 1))
            back.append((record | {"timestamp": stamps[-1]}, text))
    lines.insert(None, back)
    if len(rows) > front:
        for number in range(_FRONT):
            text = filler("system", seed, number, size=20_000)
            record = {"type": "system"} if kinds else {}
            lines.insert(front, [(record | {"role": "system", "content": text, "timestamp": stamp}, text)])


def _copilot(lines: Lines) -> None:
    rows = lines.rows
    first = rows[1]
    parent = first["parentId"]
    front = []
    for number in range(_FRONT):
        text = filler("copilot", first["id"], number, size=20_000)
        own = made_id("copilot", first["id"], number)
        data = {"role": "system", "content": text}
        record = {"type": "system.message", "data": data, "id": own, "timestamp": rows[0]["timestamp"]}
        front.append(({**record, "parentId": parent}, text))
        parent = own
    first["parentId"] = parent
    last = rows[-1]
    stamp = max(row["timestamp"] for row in rows)
    models = [row["data"]["model"] for row in rows if row["type"] == "assistant.message" and "model" in row["data"]]
    parent = last["id"]
    for number, size in enumerate(_BACK):
        seed = (lines.path.parent.name, number)
        prompt, reply = filler("asks", *seed, size=90), filler("copilot", *seed, size=size)
        answer = {"messageId": made_id("m", *seed), "model": models[-1], "content": reply, "toolRequests": []}
        said: tuple[tuple[str, Record, str], ...] = (
            ("user.message", {"content": prompt, "transformedContent": prompt}, prompt),
            ("assistant.message", answer, reply),
        )
        for kind, data, text in said:
            stamp, own = later(stamp, 1), made_id(kind, *seed)
            lines.insert(
                None, [({"type": kind, "data": data, "id": own, "timestamp": stamp, "parentId": parent}, text)]
            )
            parent = own
    lines.insert(1, front)


def _cursor(lines: Lines) -> None:
    """These lines have neither ids nor times."""
    for number, size in enumerate(_BACK):
        for role, length in (("user", 90), ("assistant", size)):
            text = filler(role, lines.path.stem, number, size=length)
            said = f"<user_query>\n{text}\n</user_query>" if role == "user" else text
            lines.insert(None, [({"role": role, "message": {"content": [{"type": "text", "text": said}]}}, text)])


def _gemini(lines: Lines) -> None:
    rows = lines.rows
    if "role" in rows[0]:
        return _plain_turns(lines, front=0, replier="model")
    listed = [message for row in rows for message in row.get("$set", {}).get("messages", [])]
    context = _lengthen_context(lines.path, [*rows, *listed])
    lines.added += context
    said = [row for row in rows if "type" in row and "id" in row]
    if not said:
        return None
    seed = rows[0]["sessionId"]
    lines.insert(None, _gemini_turns(seed, said, listed))
    if not context:
        lines.insert(1, _gemini_front(seed, rows[0]["startTime"]))
    return None


def _lengthen_context(path: Path, messages: list[Record]) -> list[Added]:
    """The directory tree that the program puts before a conversation, and repeats."""
    found = []
    for message in messages:
        for part in message.get("content") or () if isinstance(message.get("content"), list) else ():
            if str(part.get("text", "")).startswith("<session_context>"):
                text = filler("context", path.stem, size=40_000)
                part["text"] += "\n" + text
                found.append(Added(path, message, text))
    return found


def _gemini_front(seed: str, stamp: str) -> list[tuple[Record, str]]:
    texts = [filler("gemini", seed, number, size=20_000) for number in range(_FRONT)]
    kinds = {"timestamp": stamp, "type": "info"}
    return [({"id": made_id(seed, number), **kinds, "content": text}, text) for number, text in enumerate(texts)]


def _gemini_turns(seed: str, said: list[Record], listed: list[Record]) -> list[tuple[Record, str]]:
    stamp = max(row["timestamp"] for row in [*said, *listed])
    model = [row["model"] for row in said if row.get("model")][-1:] or ["gemini-2.5-pro"]
    tokens = {"input": 11, "output": 3, "cached": 5, "thoughts": 2, "tool": 0, "total": 16}
    found: list[tuple[Record, str]] = []
    for number, size in enumerate(_BACK):
        prompt, reply = filler("asks", seed, number, size=90), filler("gemini", seed, number, size=size)
        ask: Record = {"id": made_id("asks", seed, number), "timestamp": later(stamp, 1 + 2 * number), "type": "user"}
        answer: Record = {"id": made_id("gives", seed, number), "timestamp": later(stamp, 2 + 2 * number)}
        answer |= {"type": "gemini", "content": reply, "thoughts": [], "tokens": tokens, "model": model[0]}
        found += [({**ask, "content": [{"text": prompt}]}, prompt), (answer, reply)]
    return found


def _tree(lines: Lines) -> None:
    """Pi's trees, and what omp and OpenClaw made of them."""
    rows = lines.rows
    if not any("role" in row or "message" in row for row in rows):
        return
    document = "role" in rows[0]
    linear = not document and not any("id" in row for row in rows if row.get("type") == "message")
    headers = sum(row.get("type") in ("title", "session") for row in rows)
    place = 1 if document and rows[0]["parentId"] is None else headers
    stamp = max(row["timestamp"] for row in rows if "timestamp" in row)
    back = _tree_turns(lines, rows, stamp, document)
    for record, _ in back if linear else ():
        del record["id"], record["parentId"]
    if place < len(rows):
        _tree_front(lines, rows[place], place, document, linear)
    lines.insert(None, back)


def _tree_front(lines: Lines, first: Record, place: int, document: bool, linear: bool) -> None:
    front: list[tuple[Record, str]] = []
    parent = first.get("parentId")
    for number in range(_FRONT):
        seed = (first.get("id", str(lines.path.stem)), number)
        text, own = filler("tree", *seed, size=20_000), made_id(*seed)[:8]
        record: Record = {"id": own, "parentId": parent, "timestamp": first["timestamp"]}
        if linear:
            record = {"timestamp": first["timestamp"]}
        if document:
            record |= {"role": "system", "content": text}
        elif "/.omp/" in str(lines.path):
            record |= {
                "type": "message",
                "message": {"role": "developer", "content": [{"type": "text", "text": text}]},
            }
        elif "/agents/" in str(lines.path):
            data = {"timestamp": 0, "content": text}
            record |= {"type": "custom", "customType": "openclaw:bootstrap-context:full", "data": data}
        else:
            record |= {"type": "message", "message": {"role": "system", "content": text}}
        front.append((record, text))
        parent = own
    if linear:
        for row in lines.rows:
            if "firstKeptEntryIndex" in row:
                row["firstKeptEntryIndex"] += _FRONT
    else:
        first["parentId"] = parent
    lines.insert(place, front)


def _tree_turns(lines: Lines, rows: list[Record], stamp: str, document: bool) -> list[tuple[Record, str]]:
    entries = [row for row in rows if "id" in row and row.get("type") not in ("session", "title")]
    parent = entries[-1]["id"] if entries else None
    replies = [row["message"] for row in entries if row.get("message", {}).get("role") == "assistant"]
    model = {"api": "x", "provider": "acme", "model": "mock-large"}
    model |= {name: replies[-1][name] for name in model if replies and name in replies[-1]}
    cost = {"input": 0.01, "output": 0.02, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.03}
    usage = {"input": 11, "output": 3, "cacheRead": 5, "cacheWrite": 0, "totalTokens": 19, "cost": cost}
    found: list[tuple[Record, str]] = []
    for number, size in enumerate(_BACK):
        for role, length in (("user", 90), ("assistant", size)):
            seed = (lines.path.parent.name if document else "", lines.path.name, role, number)
            text, own = filler(*seed, size=length), made_id(*seed)[:8]
            stamp = later(stamp, 1)
            record: Record = {"id": own, "parentId": parent, "timestamp": stamp}
            if document:
                record |= {"role": role, "content": text}
                tokens = {"inputTokens": 11, "outputTokens": 3, "cachedTokens": 5}
                record |= {"model": "mock-large", "usage": tokens} if role == "assistant" else {}
            else:
                millis = round(datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() * 1000)
                message: Record = {"role": role, "content": [{"type": "text", "text": text}], "timestamp": millis}
                if role == "assistant":
                    message |= {**model, "usage": usage, "stopReason": "stop"}
                record |= {"type": "message", "message": message}
            found.append((record, text))
            parent = own
    return found


# Codex: ordinals, and byte offsets of one file in another --------------------------------------------------------


def lengthen_codex(home: Path, first_line: int) -> list[Added]:
    """Every rollout, parents before their forks."""
    waiting = {path: Lines(path) for path in sorted(home.glob(".codex/*sessions/**/*.jsonl"))}
    waiting = {path: lines for path, lines in waiting.items() if _codex_meta(lines).get("id")}
    done: dict[str, tuple[dict[int, int], list[bytes]]] = {}
    found: list[Added] = []
    while waiting:
        for path, lines in list(waiting.items()):
            base = _codex_meta(lines).get("history_base")
            if base and base["thread_id"] not in done:
                continue
            meta = _codex_meta(lines)
            start = 0
            if base:
                ordinals, written = done[base["thread_id"]]
                start = ordinals[base["end_ordinal_exclusive"] - 1] + 1
                above = _bytes_before(written, start)
                meta["history_base"] = {**base, "end_ordinal_exclusive": start, "end_byte_offset": above}
            done[meta["id"]] = (_lengthen_rollout(lines, meta, first_line, start), lines.encoded())
            found += lines.write()
            del waiting[path]
    return found


def _bytes_before(written: list[bytes], end: int) -> int:
    """Bytes of the lines whose ordinals are below `end`."""
    return sum(len(line) + 1 for line in written if json.loads(line)["ordinal"] < end)


def _codex_meta(lines: Lines) -> Record:
    first = lines.rows[0] if lines.rows else {}
    meta = first.get("payload", first)
    assert isinstance(meta, dict)
    return meta


def _lengthen_rollout(lines: Lines, meta: Record, first_line: int, start: int) -> dict[int, int]:
    """The new ordinal of each old one."""
    rows = lines.rows
    text = filler("instructions", meta["id"], size=first_line)
    if "payload" in rows[0]:
        meta["base_instructions"] = {**(meta.get("base_instructions") or {}), "text": text}
    else:
        meta["instructions"] = text
    lines.added.append(Added(lines.path, rows[0], text))
    headers = sum(row.get("type") == "session_meta" or "record_type" in row or row is rows[0] for row in rows[:2])
    old = [row.get("ordinal") for row in rows]
    lines.insert(headers, list(_codex_front(meta["id"], rows)))
    lines.insert(None, list(_codex_turns(meta["id"], rows)))
    if old[0] is None:
        return {}
    before = {id(row): row["ordinal"] for row in rows}
    moved = {}
    for number, row in enumerate(lines.rows):
        row["ordinal"] = start + number
        if id(row) in before:
            moved[before[id(row)]] = start + number
    return moved


def _codex_front(own: str, rows: list[Record]) -> Iterator[tuple[Record, str]]:
    for number in range(_FRONT):
        text = filler("front", own, number, size=20_000)
        said: Record = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": text}]}
        if "payload" in rows[0]:
            said = {"timestamp": rows[0]["timestamp"], "ordinal": 0, "type": "response_item", "payload": said}
            if "ordinal" not in rows[0]:
                del said["ordinal"]
        else:
            said["role"], said["content"][0]["text"] = "user", f"<user_instructions>\n{text}\n</user_instructions>"
            if "timestamp" in rows[-1]:
                said["timestamp"] = rows[0]["timestamp"]
        yield said, text


def _codex_turns(own: str, rows: list[Record]) -> Iterator[tuple[Record, str]]:
    stamps = [row["timestamp"] for row in rows if "timestamp" in row]
    stamp = max(stamps)
    for number, size in enumerate(_BACK):
        prompt, reply = filler("asks", own, number, size=90), filler("codex", own, number, size=size)
        stamp = later(stamp, 1)
        yield from ((record, prompt) for record in _codex_said("user", prompt, stamp, rows, (own, number)))
        stamp = later(stamp, 1)
        yield from ((record, reply) for record in _codex_said("assistant", reply, stamp, rows, (own, number)))


def _codex_said(role: str, text: str, stamp: str, rows: list[Record], seed: tuple[str, int]) -> list[Record]:
    """One message, with its twin where that generation of the program writes one."""
    part = {"type": "input_text" if role == "user" else "output_text", "text": text}
    item: Record = {"type": "message", "role": role, "content": [part]}
    if "payload" not in rows[0]:
        return [{**item, "timestamp": stamp} if "timestamp" in rows[-1] else item]
    if "ordinal" in rows[0]:
        kind, content = ("UserMessage", "text") if role == "user" else ("AgentMessage", "Text")
        turn = made_id("turn", *seed)
        done = {"type": kind, "id": made_id(role, *seed), "content": [{"type": content, "text": text}]}
        twin: Record = {"type": "item_completed", "thread_id": seed[0], "turn_id": turn, "item": done}
    else:
        twin = {"type": "user_message" if role == "user" else "agent_message", "message": text}
    pair: list[Record] = [
        {"timestamp": stamp, "type": "response_item", "payload": item},
        {"timestamp": stamp, "type": "event_msg", "payload": twin},
    ]
    return pair if role == "user" else pair[::-1]


# One document per session ----------------------------------------------------------------------------------------


def lengthen_documents(agent: str, home: Path) -> list[Added]:
    """Gemini's older sessions, and the documents of the specification."""
    patterns = {
        "copilot": ".config/github-copilot/sessions/*.json",
        "gemini": ".gemini/tmp/*/chats/*.json",
        "openclaw": ".openclaw/sessions/*/*.json",
    }
    found: list[Added] = []
    for path in sorted(home.glob(patterns[agent])) if agent in patterns else ():
        try:
            value = json.loads(path.read_bytes())
        except ValueError:
            continue
        messages = value if isinstance(value, list) else value["messages"]
        if agent == "gemini":
            context = _lengthen_context(path, messages)
            seed = value["sessionId"]
            front = [] if context else _gemini_front(seed, value["startTime"])
            back = _gemini_turns(seed, messages, [])
        else:
            context, front, back = [], [], _document_turns(path, messages)
        found += [*context, *(Added(path, record, text) for record, text in [*front, *back])]
        messages[:0] = [record for record, _ in front]
        messages += [record for record, _ in back]
        path.write_text(json.dumps(value, ensure_ascii=False, indent=1), encoding="utf-8")
    return found


def _document_turns(path: Path, messages: list[Record]) -> list[tuple[Record, str]]:
    stamp = max(message["timestamp"] for message in messages)
    found = []
    for number, size in enumerate(_BACK):
        for role, length in (("user", 90), ("assistant", size)):
            text, stamp = filler(role, path.parent.name, path.name, number, size=length), later(stamp, 1)
            found.append(({"role": role, "content": text, "timestamp": stamp}, text))
    return deepcopy(found)
