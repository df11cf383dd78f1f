"""Writing one Hermes `state.db`: sessions, messages, model usage and routing rows.

Formats: `facts/hermes.md` section 2 — rows are ordered by id, times are seconds since the epoch, a multimodal
message starts with NUL and `json:`, a continuation starts with the summary of what came before.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import apsw

from hermes_tui.demo.hermes_schema import DDL, SCHEMA_VERSION
from hermes_tui.demo.hermes_tales import Lane
from hermes_tui.demo.story import Call, Failure, Reply, Tale, Turn, digest, number

__all__ = ["Book", "session_id"]

_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A PNG of one pixel."""


def session_id(tale: Tale, now: datetime, lane: Lane | None = None) -> str:
    """Time and digits: eight for the gateway's sessions, six for those of the terminal."""
    return f"{now - tale.ago:%Y%m%d_%H%M%S}_{digest('hermes', tale.slug, length=8 if lane else 6)}"


class Book:
    """A new `state.db`, complete and without a write-ahead log when the block is left."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        self._db = apsw.Connection(str(path))
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=OFF")  # a demo that is lost with the machine is no loss
        self._db.execute("BEGIN")
        self._db.execute(DDL)
        self._db.execute("INSERT INTO schema_version VALUES (?)", (SCHEMA_VERSION,))

    def __enter__(self) -> Book:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.execute("COMMIT" if error is None else "ROLLBACK")
        self._db.pragma("wal_checkpoint(TRUNCATE)")
        self._db.close()

    def tell(
        self,
        tale: Tale,
        now: datetime,
        *,
        source: str,
        title: str | None = "",
        name: str = "",
        parent: str | None = None,
        lane: Lane | None = None,
        config: dict[str, Any] | None = None,
        end_reason: str | None = None,
        archived: bool = False,
        photo: bool = False,
        rewound: bool = False,
        compacted: bool = False,
        summary: str = "",
    ) -> str:
        """A session with its messages; its id. `title` None means none, empty the tale's own."""
        name = name or session_id(tale, now, lane)
        rows = _messages(tale, photo=photo, summary=summary)
        shift = (now - tale.ago).timestamp() - rows[-1]["timestamp"]
        session = self._session(tale, name, source, lane, rows, shift)
        self._insert("sessions", session)
        self._insert("session_model_usage", _usage(session, rows[-1]["timestamp"] + shift))
        self._set(name, parent_session_id=parent, end_reason=end_reason, archived=int(archived))
        if config:
            self._set(name, model_config=json.dumps(config))
        if title is not None:
            self._set(name, title=self._unused(title or tale.title))
        if end_reason:
            self._set(name, ended_at=(now - tale.ago).timestamp() + 30)
        if rewound:
            self._set(name, rewind_count=1)
        prompts = [index for index, row in enumerate(rows) if row["role"] == "user"]
        for index, row in enumerate(rows):
            undone = rewound and index >= prompts[-1]
            folded = compacted and index < prompts[-1]
            row["timestamp"] += shift
            self._insert(
                "messages",
                {**row, "session_id": name, "active": int(not (undone or folded)), "compacted": int(folded)},
            )
        return name

    def route(self, scope: str, key: str, entry: str, now: datetime) -> None:
        """A lane of the gateway."""
        self._db.execute("INSERT INTO gateway_routing VALUES (?, ?, ?, ?)", (scope, key, entry, now.timestamp()))

    def _session(
        self, tale: Tale, name: str, source: str, lane: Lane | None, rows: list[dict[str, Any]], shift: float
    ) -> dict[str, Any]:
        calls = sum(row["role"] == "assistant" for row in rows)
        usage = {
            "api_call_count": calls,
            "input_tokens": number(900, 9000, tale.slug, "in") * calls,
            "output_tokens": number(80, 700, tale.slug, "out") * calls,
            "cache_read_tokens": number(0, 30000, tale.slug, "read") * (calls - 1),
            "cache_write_tokens": number(500, 5000, tale.slug, "write"),
            "reasoning_tokens": number(0, 60, tale.slug, "think") * calls,
        }
        cost = (3 * usage["input_tokens"] + 15 * usage["output_tokens"] + 0.3 * usage["cache_read_tokens"]) / 1e6
        billing = {"billing_provider": "openrouter", "billing_mode": "api", "cost_status": "estimated"}
        row: dict[str, Any] = {
            "id": name,
            "source": source,
            "model": tale.model,
            "started_at": rows[0]["timestamp"] + shift - 1,
            "message_count": len(rows),
            "tool_call_count": sum(row["role"] == "tool" for row in rows),
            **billing,
            **usage,
            "estimated_cost_usd": round(cost, 6),
            "cost_source": "pricing_table",
        }
        if tale.project:
            row |= {"cwd": f"/home/dev/{tale.project}", "git_branch": tale.branch}
        if lane:
            row |= {
                "user_id": lane.user_id,
                "session_key": lane.key,
                "chat_id": lane.chat_id,
                "chat_type": lane.chat_type,
                "thread_id": lane.thread_id,
                "display_name": lane.chat_name,
            }
        return row

    def _insert(self, table: str, row: dict[str, Any]) -> None:
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        # Table and columns come from this module alone.
        self._db.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))  # noqa: S608

    def _set(self, name: str, **columns: Any) -> None:
        changes = ", ".join(f"{column} = ?" for column in columns)
        self._db.execute(f"UPDATE sessions SET {changes} WHERE id = ?", (*columns.values(), name))  # noqa: S608

    def _unused(self, title: str) -> str:
        """Titles are unique; Hermes counts on."""
        taken = {row[0] for row in self._db.execute("SELECT title FROM sessions WHERE title IS NOT NULL")}
        attempt, count = title, 2
        while attempt in taken:
            attempt, count = f"{title} #{count}", count + 1
        return attempt


def _usage(session: dict[str, Any], last: float) -> dict[str, Any]:
    """The row of `session_model_usage` for a session that used one model."""
    names = ("input", "output", "cache_read", "cache_write", "reasoning")
    columns = ("model", "billing_provider", "billing_mode", "api_call_count", "cost_status", "cost_source")
    copied = {name: session[name] for name in (*columns, *(f"{name}_tokens" for name in names))}
    times = {"first_seen": session["started_at"], "last_seen": last}
    return {"session_id": session["id"], **copied, "estimated_cost_usd": session["estimated_cost_usd"], **times}


def _messages(tale: Tale, *, photo: bool, summary: str) -> list[dict[str, Any]]:
    """The rows of a session, timed from zero."""
    rows: list[dict[str, Any]] = []
    at = 0.0
    if summary:
        rows.append({"role": "user", "content": f"[CONTEXT COMPACTION] {summary}", "timestamp": at})
        rows.append({"role": "assistant", "content": "Understood.", "timestamp": at})
    for index, turn in enumerate(tale.turns):
        at += number(20, 200, tale.slug, index)
        rows.append({"role": "user", "content": _prompt(turn, photo=photo and not index), "timestamp": at})
        for place, reply in enumerate(turn.replies):
            at += number(2, 15, tale.slug, index, place)
            if isinstance(reply, Reply):
                at = _reply(rows, reply, at, (tale.slug, index, place))
            elif isinstance(reply, Failure):
                rows.append(
                    {
                        "role": "assistant",
                        "content": f"API call failed: {reply.status} {reply.reason}",
                        "timestamp": at,
                    }
                )
    return rows


def _prompt(turn: Turn, *, photo: bool) -> str:
    if not photo:
        return turn.prompt
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL}"}}
    return "\x00json:" + json.dumps([{"type": "text", "text": turn.prompt}, picture], ensure_ascii=False)


def _reply(rows: list[dict[str, Any]], reply: Reply, at: float, seed: tuple[Any, ...]) -> float:
    """One assistant row and a row for each result; the time after them."""
    row: dict[str, Any] = {"role": "assistant", "content": reply.text or None, "timestamp": at}
    row["finish_reason"] = "tool_calls" if reply.calls else "stop"
    row["token_count"] = 20 + len(reply.text) // 3
    if reply.thinking:
        row["reasoning"] = reply.thinking
    names = [f"call_{digest(*seed, index, length=8)}" for index in range(len(reply.calls))]
    if reply.calls:
        row["tool_calls"] = json.dumps([_call(name, call) for name, call in zip(names, reply.calls, strict=True)])
    rows.append(row)
    for name, call in zip(names, reply.calls, strict=True):
        at += call.seconds
        result = (
            json.dumps({"exit_code": int(call.failed), "output": call.output})
            if call.kind == "shell"
            else call.output
        )
        tool = _call(name, call)["function"]["name"]
        rows.append({"role": "tool", "content": result, "tool_call_id": name, "tool_name": tool, "timestamp": at})
    return at


def _call(name: str, call: Call) -> dict[str, Any]:
    """A call as the chat completions API has it: arguments are JSON in a string."""
    tool, arguments = {
        "shell": ("terminal", {"command": call.target}),
        "read": ("read_file", {"path": call.target}),
        "edit": ("patch", {"path": call.target, "old_string": call.before, "new_string": call.after}),
        "write": ("write_file", {"path": call.target, "content": call.after}),
    }[call.kind]
    return {"id": name, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
