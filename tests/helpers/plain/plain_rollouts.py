"""Codex' sessions read by plain lines: one stream of every rollout, its tokens without what its parent had."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from plain_session import NONE, Call, Plain, Said, Tokens, instant, json_lines, summed

__all__ = ["plain_codex"]

Record = dict[str, Any]


def plain_codex(home: Path) -> list[Plain]:
    """Every rollout."""
    root = home / ".codex"
    names = {}
    if (root / "session_index.jsonl").exists():
        names = {row["id"]: row["thread_name"] for row in json_lines(root / "session_index.jsonl")}
    files = {path: json_lines(path) for path in sorted(root.glob("*sessions/**/*.jsonl"))}
    by_id = {_meta(rows)["id"]: rows for rows in files.values()}
    return [_session(path, rows, by_id, names) for path, rows in files.items()]


def _meta(rows: list[Record]) -> Record:
    meta = rows[0].get("payload", rows[0])
    assert isinstance(meta, dict)
    return meta


def _above(rows: list[Record], by_id: dict[str, list[Record]]) -> list[Record]:
    """What a fork shows of its parent and does not hold."""
    base = _meta(rows).get("history_base")
    if not base:
        return []
    parent = by_id[base["thread_id"]]
    return [*_above(parent, by_id), *(row for row in parent if row["ordinal"] < base["end_ordinal_exclusive"])]


def _session(path: Path, rows: list[Record], by_id: dict[str, list[Record]], names: dict[str, str]) -> Plain:
    meta = _meta(rows)
    fork = meta.get("forked_from_id")
    began = instant(meta["timestamp"])
    above = _above(rows, by_id)
    if fork and not above:  # the whole parent was copied in, with the time of the fork on each line
        stamps = [instant(row["timestamp"]) for row in rows[1:]]
        start = 1 + next(at for at, when in enumerate(stamps) if (when - began).total_seconds() > 1)  # type: ignore[operator]
        above, rows = rows[:start], [rows[0], *rows[start:]]
    before, own = _said(above), _said(rows)
    prompts = _prompts(rows)
    helper = meta.get("parent_thread_id") if meta.get("thread_source") == "subagent" else None
    return Plain(
        session_id=meta["id"],
        said=(*before, *own),
        title=names.get(meta["id"]) or (prompts[0] if prompts else ""),
        created=meta["timestamp"],
        updated=None if any(one.when for one in own) else meta["timestamp"],
        cwd=meta.get("cwd") or _environment_cwd(rows),
        branch=(meta.get("git") or {}).get("branch"),
        kind="subagent" if helper else "fork" if fork else "session",
        parent=helper or fork,
        tokens=_tokens(rows, by_id.get(fork or "")),
        copied=len(before),
        archived="archived_sessions" in path.parts,
    )


def _items(rows: list[Record]) -> list[tuple[Record, Any]]:
    found = []
    for row in rows:
        if row.get("type") in ("response_item", "compacted"):
            found.append(({"kind": row["type"], **row["payload"]}, row["timestamp"]))
        elif row.get("type") == "event_msg" and row["payload"].get("error"):
            found.append(({"kind": "error"}, row["timestamp"]))
        elif row.get("type") == "event_msg" and row["payload"]["type"] == "user_message":
            found.append(({"kind": "typed", "text": row["payload"]["message"]}, row["timestamp"]))
        elif row.get("type") == "turn_context":
            found.append(({"kind": "turn", "model": row["payload"]["model"]}, None))
        elif "payload" not in row and "record_type" not in row and "type" in row:
            found.append(({"kind": "bare", **row}, row.get("timestamp")))
    return found


def _text(item: Record) -> str:
    return "\n".join(part["text"] for part in item["content"] if "text" in part)


def _said(rows: list[Record]) -> list[Said]:
    """One reply is what the model says and calls between two things that are not its own."""
    items = _items(rows)
    summaries = [item["message"] for item, _ in items if item["kind"] == "compacted"]
    results = {item["call_id"]: item["output"] for item, _ in items if str(item.get("type")).endswith("_call_output")}
    said: list[Said] = []
    model = _meta(rows).get("model") if rows else None
    open_reply = False
    for item, when in items:
        kind = item.get("type")
        if item["kind"] == "turn":
            model = item["model"]
            continue
        if item["kind"] == "typed":
            said[-1] = said[-1]._replace(text=item["text"])
        elif item["kind"] in ("compacted", "error"):
            said += [Said("system", None, when)] * (2 if item["kind"] == "compacted" else 1)
        elif kind == "message" and item["role"] == "user":
            said.append(Said("user", _text(item), when))
        elif str(kind).endswith("_call_output"):
            said.append(Said("tool", "", when))
        elif (
            kind == "reasoning" or (kind == "message" and item["role"] == "assistant") or str(kind).endswith("_call")
        ):
            if kind == "message" and any(_text(item) in summary for summary in summaries):
                continue
            if not open_reply:
                said.append(Said("assistant", "", when, (), model))
            said[-1] = _more(said[-1], item, results, when)
            open_reply = True
            continue
        else:
            continue
        open_reply = False
    return said


def _more(one: Said, item: Record, results: dict[str, Any], when: Any) -> Said:
    if item["type"] == "message":
        return one._replace(text="\n\n".join(filter(None, (one.text, _text(item)))), when=when)
    if item["type"] == "reasoning":
        return one._replace(when=when)
    name = ".".join(filter(None, (item.get("namespace"), item["name"])))
    given: Any = item.get("arguments", item.get("input"))
    with suppress(ValueError):
        given = json.loads(given)
    return one._replace(calls=(*one.calls, Call(name, given, *_result(results.get(item["call_id"])))), when=when)


def _result(output: Any) -> tuple[Any, bool | None]:
    """A result says how its program ended in words; of the oldest versions in JSON."""
    if not isinstance(output, str):
        return output, None
    if output.startswith('{"output"'):
        value = json.loads(output)
        return value["output"], value["metadata"]["exit_code"] != 0
    code = re.search(r"(?:exited with code|Exit code:) (\d+)", output)
    return output, code[1] != "0" if code else None


def _prompts(rows: list[Record]) -> list[str]:
    """What was typed: of the events, and where there are none what is not in angle brackets."""
    found = []
    for row in rows:
        payload = row.get("payload", {})
        if payload.get("type") == "user_message":
            found.append(payload["message"])
        elif payload.get("type") == "item_completed" and payload["item"]["type"] == "UserMessage":
            found.append(_text(payload["item"]))
        elif row.get("type") == "message" and row["role"] == "user" and not _text(row).startswith("<"):
            found.append(_text(row))
    return found


def _environment_cwd(rows: list[Record]) -> str | None:
    texts = [_text(row) for row in rows if row.get("type") == "message"]
    found = [match[1] for text in texts if (match := re.search(r"<environment_context>\s*<cwd>(.*?)</cwd>", text))]
    return found[0] if found else None


def _figures(usage: dict[str, int]) -> Tokens:
    """The input includes what was cached, the output the reasoning."""
    cached = usage.get("cached_input_tokens", usage.get("cached_tokens", 0))
    written = usage.get("cache_write_input_tokens", 0)
    reasoning = usage.get("reasoning_output_tokens", usage.get("reasoning_tokens", 0))
    return usage["input_tokens"] - cached - written, usage["output_tokens"], cached, written, reasoning


def _tokens(rows: list[Record], parent: list[Record] | None) -> Tokens:
    """The records of calls; without them the last running total, which goes on from the parent's."""
    records = {row["payload"]["response_id"]: row for row in rows if row.get("type") == "token_usage_record"}
    if records:
        return summed([_figures(row["payload"]["usage"]) for row in records.values()])
    counts = [row["payload"]["info"] for row in rows if row.get("payload", {}).get("type") == "token_count"]
    totals = [_figures(info["total_token_usage"]) for info in counts if info]
    if not totals:
        return summed([_figures(row["usage"]) for row in rows if "usage" in row])
    above = _tokens(parent, None) if parent else NONE
    return tuple(one - other for one, other in zip(totals[-1], above, strict=True))  # type: ignore[return-value]
