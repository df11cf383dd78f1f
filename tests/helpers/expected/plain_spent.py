"""What the model calls in a home used, each call once, read by plain lines of JSON and SQL."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from plain_opencode import plain_home
from support import STORES

__all__ = ["FIGURES", "READERS", "Figures"]

Figures = tuple[int, int, int, int]
"""Fresh input, output with thinking, read from a cache, written to one."""
FIGURES = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens")


def _json_lines(paths: Iterator[Path]) -> Iterator[tuple[Path, int, dict[str, Any]]]:
    for path in sorted(paths):
        for number, line in enumerate(path.read_bytes().split(b"\n")):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield path, number, record


def _sum(calls: Iterator[Figures] | list[Figures]) -> Figures:
    columns = list(zip(*calls, strict=True)) or [()] * 4
    first, second, third, fourth = (sum(column) for column in columns)
    return first, second, third, fourth


def _numbers(usage: dict[str, Any], *names: str) -> Figures:
    first, second, third, fourth = (int(usage.get(name) or 0) for name in names)
    return first, second, third, fourth


def _rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    """Asked of a copy: a reader, too, leaves files beside a database."""
    with TemporaryDirectory() as scratch:
        for one in path.parent.glob(f"{path.name}*"):
            shutil.copy(one, scratch)
        with closing(sqlite3.connect(Path(scratch) / path.name)) as connection:
            return connection.execute(query).fetchall()


def claude(home: Path) -> Figures:
    """A reply has one id in every file, and its last line the whole usage; `cost` events are of the document's."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    calls: dict[object, Figures] = {}
    for path, number, record in _json_lines((home / ".claude").rglob("*.jsonl")):
        message = record.get("message")
        if record.get("type") == "cost":
            calls[path, number] = _numbers(record, "inputTokens", "outputTokens", "cachedTokens", "")
        elif isinstance(message, dict) and record.get("type") == "assistant" and message.get("usage"):
            calls[message["id"]] = _numbers(message["usage"], *names)
    return _sum(list(calls.values()))


def codex(home: Path) -> Figures:
    """As the reference reader beside the sample stores found; input includes what came from the cache."""
    names = {"home": "expected.json", "older": "expected.older.json", "public": "expected.public.json"}
    layout = home.parent.name if home.parent.name in names else "home"
    if home.parent.name == "spec-layout":
        used = [record.get("usage") or {} for _, _, record in _json_lines(home.rglob("*.jsonl"))]
        found = [_numbers(one, "input_tokens", "output_tokens", "cached_tokens", "") for one in used]
    else:
        noted: list[dict[str, Any]] = json.loads((STORES / "codex" / names[layout]).read_text())
        used = [row.get("tokens_owned") or {} for row in noted]
        found = [_numbers(one, "input", "output", "cached_input", "") for one in used]
    return _sum([(given - cached, output, cached, 0) for given, output, cached, _ in found])


def copilot(home: Path) -> Figures:
    """A record for each call, and one with a compaction; forks copy them with their ids."""
    names = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
    calls = {}
    for _, _, event in _json_lines(home.rglob("events.jsonl")):
        used = event["data"].get("usage") or event["data"].get("compactionTokensUsed")
        if used and event["type"] in ("session.usage_record", "session.compaction_complete"):
            given, output, read, written = _numbers(used, *names)
            calls[event["id"]] = (given - read - written, output, read, written)
    return _sum(list(calls.values()))


def cursor(home: Path) -> Figures:
    calls = []
    for path in home.rglob("*.vscdb"):
        for (value,) in _rows(path, "SELECT value FROM cursorDiskKV WHERE key LIKE 'bubbleId:%'"):
            calls.append(_numbers(json.loads(value).get("tokenCount") or {}, "inputTokens", "outputTokens", "", ""))
    for path in home.rglob("sessions.db"):
        query = "SELECT input_tokens, output_tokens, cached_tokens FROM messages"
        calls += [(given or 0, output or 0, cached or 0, 0) for given, output, cached in _rows(path, query)]
    return _sum(calls)


def gemini(home: Path) -> Figures:
    """A turn is written again when it changes; its input includes what came from the cache."""
    calls: dict[object, Figures] = {}
    for path, number, record in _json_lines(home.rglob("*.jsonl")):
        found = [record, *(record.get("$set") or {}).get("messages", ())]
        for one in (one for one in found if one.get("tokens") or one.get("usage")):
            tokens = one.get("tokens") or {}
            plain = _numbers(one.get("usage") or {}, "promptTokenCount", "candidatesTokenCount", "", "")
            given, output, cached, thoughts = _numbers(tokens, "input", "output", "cached", "thoughts")
            calls[one.get("id") or (path, number)] = _sum([plain, (given - cached, output + thoughts, cached, 0)])
    for path in home.rglob("session-*.json"):
        for one in json.loads(path.read_text())["messages"]:
            given, output, cached, thoughts = _numbers(
                one.get("tokens") or {}, "input", "output", "cached", "thoughts"
            )
            calls[one["id"]] = (given - cached, output + thoughts, cached, 0)
    return _sum(list(calls.values()))


def hermes(home: Path) -> Figures:
    """Sums by session, and those of calls beside the conversation, which no session's row includes."""
    columns = "sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens)"
    calls: list[Figures] = []
    for path in (home / ".hermes").rglob("state.db"):
        for query in (
            f"SELECT {columns} FROM sessions",
            f"SELECT {columns} FROM session_model_usage WHERE ifnull(task, '') != ''",
        ):
            first, second, third, fourth = (int(value or 0) for value in _rows(path, query)[0])
            calls.append((first, second, third, fourth))
    return _sum(calls)


def nothing(home: Path) -> Figures:
    """Hector keeps no tokens."""
    return (0, 0, 0, 0)


_TREE = ("input", "output", "cacheRead", "cacheWrite")
_DOCUMENT = ("inputTokens", "outputTokens", "cachedTokens", "")


def trees(home: Path) -> Figures:
    """Every entry that has a usage, whatever it is and on whichever branch; copies keep id and time."""
    calls: dict[object, Figures] = {}
    paths = (path for store in home.glob(".*") for path in store.rglob("*.jsonl*"))
    for path, number, record in _json_lines(paths):
        usage = record.get("usage") or (record.get("message") or {}).get("usage")
        if usage and record.get("type"):
            calls[record.get("id", (path, number)), record.get("timestamp")] = _numbers(usage, *_TREE)
        elif usage:
            calls[path, number] = _numbers(usage, *_DOCUMENT)
    return _sum(list(calls.values()))


def openclaw(home: Path) -> Figures:
    """The same in the tables of a database, and in one document for each session."""
    calls = [trees(home)]
    for path in home.rglob("openclaw-agent.sqlite"):
        events = [json.loads(text) for (text,) in _rows(path, "SELECT event_json FROM transcript_events")]
        used = {
            (event["id"], event["timestamp"]): _numbers(event["message"]["usage"], *_TREE)
            for event in events
            if event.get("message", {}).get("usage")
        }
        calls += used.values()
    for path in home.rglob("sessions/*/*.json"):
        try:
            messages = json.loads(path.read_text()).get("messages", ())
        except ValueError:
            continue
        calls += [_numbers(message.get("usage") or {}, *_DOCUMENT) for message in messages]
    return _sum(calls)


def opencode(home: Path, scratch: Path) -> Figures:
    """A fork's copies are older than the session, whose parent may be in no store."""
    lines = [
        line
        for session in plain_home(home, scratch).values()
        for line in session.lines
        if line.created >= session.created
    ]
    return _sum([line.tokens[:4] for line in lines])


def _without_scratch(read: Callable[[Path], Figures]) -> Callable[[Path, Path], Figures]:
    return lambda home, scratch: read(home)


READERS: dict[str, Callable[[Path, Path], Figures]] = {
    "opencode": opencode,
    **{
        name: _without_scratch(read)
        for name, read in {
            "claude": claude,
            "codex": codex,
            "copilot": copilot,
            "cursor": cursor,
            "gemini": gemini,
            "hector": nothing,
            "hermes": hermes,
            "omp": trees,
            "openclaw": openclaw,
            "pi": trees,
        }.items()
    },
}
