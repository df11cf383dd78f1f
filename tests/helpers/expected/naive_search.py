"""What was said in sessions, read by a few plain lines of JSON and SQL, and a search as slow as it is plain.

Made without any of the program's own reading or searching, for tests to compare with.
"""

from __future__ import annotations

import json
import re
import sqlite3
import unicodedata
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from chances import chance

__all__ = ["claude_said", "codex_said", "folded", "hermes_said", "pieces", "strings", "who_said"]

CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]{2,}")


def strings(value: Any, *, raw: bool = True) -> Iterator[str]:
    """Every string, key and number in a JSON value, and what is JSON inside a string: beside that string, or without
    `raw` in its place."""
    if isinstance(value, str):
        inner = None
        if value[:1] in ("{", "["):
            with suppress(ValueError):
                inner = json.loads(value)
        if inner is None or raw:
            yield value
        yield from strings(inner, raw=raw)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item, raw=raw)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, raw=raw)
    elif value is not None:
        yield str(value)


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().split(b"\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def claude_said(path: Path) -> Iterator[str]:
    """Prompts, replies, thinking, calls and results in a Claude Code file."""
    for line in json_lines(path):
        if line.get("type") not in ("user", "assistant") or not isinstance(line.get("message"), dict):
            continue
        content = line["message"].get("content")
        for block in [content] if isinstance(content, str) else content or []:
            if isinstance(block, str):
                yield block
            elif block.get("type") == "text":
                yield block["text"]
            elif block.get("type") == "thinking":
                yield block["thinking"]
            elif block.get("type") == "tool_use":
                yield block["name"]
                yield from strings(block["input"])
            elif block.get("type") == "tool_result":
                inner = block.get("content")
                yield from (
                    [inner] if isinstance(inner, str) else [one["text"] for one in inner or [] if "text" in one]
                )


def codex_said(path: Path) -> Iterator[str]:
    """Messages, calls and outputs in a Codex rollout."""
    for line in json_lines(path):
        item = line.get("payload") or {}
        if line.get("type") != "response_item":
            continue
        if item.get("type") == "message":
            yield from (part["text"] for part in item["content"] if part.get("text"))
        elif item.get("type") == "function_call":
            yield item["name"]
            yield from strings(json.loads(item["arguments"]))
        elif item.get("type") == "function_call_output":
            output = item["output"]
            yield json.loads(output)["output"] if output[:1] == "{" else output
        elif item.get("type") == "reasoning":
            yield from (part["text"] for part in item["summary"])


def hermes_said(database: Path) -> dict[str, list[str]]:
    """Session id → what its rows hold that the user did not take back, decoded; and as it stands where Hermes' own
    index has that."""
    found: dict[str, list[str]] = {}
    with closing(sqlite3.connect(f"file:{database}?immutable=1", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        triggers = connection.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        raw = any("messages_fts" in sql and "tool_calls" in sql for (sql,) in triggers)
        for row in connection.execute("SELECT * FROM messages"):
            columns = dict(row)
            if columns.get("active", 1) == 0 and not columns.get("compacted"):
                continue
            said = found.setdefault(columns["session_id"], [])
            content = columns["content"] or ""
            said += [content, *(strings(content.removeprefix("\0json:")) if content.startswith("\0json:") else ())]
            if raw:
                said += strings(columns["tool_calls"])
            elif columns["tool_calls"]:
                calls = [call["function"] for call in json.loads(columns["tool_calls"])]
                said += [text for call in calls for text in strings([call["name"], call["arguments"]], raw=False)]
            for name in ("tool_name", "reasoning", "reasoning_content"):
                said += strings(columns.get(name), raw=raw)
            said += thoughts(json.loads(columns.get("reasoning_details") or "null"))
    return found


def thoughts(value: Any) -> Iterator[str]:
    """What is written under these names in a provider's record of its reasoning; its other words are no text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from thoughts(item)
    elif isinstance(value, dict):
        for name in ("text", "summary", "thinking", "content"):
            yield from thoughts(value.get(name))


def folded(text: str) -> str:
    """Without regard to case and accents."""
    plain = unicodedata.normalize("NFD", text)
    return "".join(char for char in plain if unicodedata.category(char) != "Mn").lower()


def who_said(piece: str, said: dict[str, list[str]]) -> set[str]:
    """The sessions one of whose texts has the words of `piece` one after the other; `said` is folded."""
    words = re.findall(r"[^\W_]+", folded(piece))
    if CJK.fullmatch(piece):
        return {key for key, texts in said.items() if any(words[0] in text for text in texts)}
    pattern = re.compile(r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, words)) + r"(?![^\W_])")
    return {key for key, texts in said.items() if any(words[0] in text and pattern.search(text) for text in texts)}


def pieces(said: dict[str, list[str]], number: int, seed: int) -> list[str]:
    """Random words, paths, identifiers, bits of code and of Chinese or Japanese out of what was said."""
    dice = chance(seed)
    found: list[str] = []
    texts = sorted({text for one in said.values() for text in one if text.strip()})
    for _ in range(number * 20):
        text = dice.choice(texts)
        kind = dice.randrange(4)
        cjk = CJK.findall(text)
        if kind == 0 and cjk:
            run = dice.choice(cjk)
            at = dice.randrange(len(run) - 1)
            found.append(run[at : at + 2])
        else:
            chunks = text.split()
            chunk = dice.choice(chunks)[:60] if kind == 1 else dice.choice(re.findall(r"[^\W_]+", text) or [""])
            found.append(chunk)
    # A word with a letter of another kind beside Chinese is cut where the two meet: only whole ones are asked for.
    kept = [one for one in dict.fromkeys(found) if _askable(one)]
    return kept[:number]


def _askable(piece: str) -> bool:
    if CJK.fullmatch(piece):
        return True
    words = re.findall(r"[^\W_]+", piece)
    return bool(words) and piece.isascii() and '"' not in piece
