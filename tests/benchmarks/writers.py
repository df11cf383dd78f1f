"""Ten agents that go on writing in a demo home, each in its own format: the end of one of its sessions again and
again, under new ids."""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

__all__ = ["Writers", "writers_in"]

_SPOKEN = {
    ".claude/projects": {"user", "assistant"},
    ".codex/sessions": {"response_item", "event_msg"},
    ".copilot/session-state": {
        "user.message", "assistant.message", "assistant.turn_start", "assistant.turn_end",
        "tool.execution_start", "tool.execution_complete",
    },
    ".gemini/tmp": {"user", "gemini"},
    ".omp/agent/sessions": {"message"},
    ".pi/agent/sessions": {"message"},
}  # fmt: skip
"""Where an agent keeps its files of lines, and the types of lines that are written again."""
_TAGGED = re.compile(r"\b((?:toolu|call|chatcmpl|msg|req)[_-])[A-Za-z0-9]{4}")
_BLOCK = 24
"""Lines that are written again, at most."""

Step = Callable[[], int]
"""Writes a little; how many lines or rows."""


class Writers(threading.Thread):
    """Takes turns among the agents until stopped, `rate` lines a second over all."""

    def __init__(self, steps: list[Step], rate: float) -> None:
        super().__init__(name="writers", daemon=True)
        self._steps = itertools.cycle(steps)
        self._rate = rate
        self._over = threading.Event()
        self.written = 0
        """Lines and rows so far."""
        self.failure: Exception | None = None
        """Why it ended by itself."""

    def run(self) -> None:
        """Write until stopped."""
        began = time.monotonic()
        try:
            while not self._over.wait(max(self.written / self._rate - (time.monotonic() - began), 0)):
                self.written += next(self._steps)()
        except Exception as error:
            self.failure = error

    def stop(self) -> None:
        """End soon."""
        self._over.set()
        self.join()


def writers_in(home: Path, rate: float) -> Writers:
    """One for each agent that has something in `home` and can be written for by lines or rows."""
    steps = [_lines(_longest(home / place), types) for place, types in _SPOKEN.items()]
    return Writers([*steps, *_databases(home)], rate)


def _longest(folder: Path) -> Path:
    return max(folder.rglob("*.jsonl"), key=lambda path: path.stat().st_size)


def _lines(path: Path, types: set[str]) -> Step:
    """One line a step, of copies of the file's end, each linked with the one before where lines have parents."""
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    block = [one for one in records if one.get("type") in types and not one.get("isSidechain")][-_BLOCK:]
    last = next((name for one in reversed(records) if (name := one.get("uuid", one.get("id")))), None)

    def copies(before: str | None) -> Iterator[bytes]:
        for number in itertools.count(1):
            for record in block:
                new = json.loads(_renewed(json.dumps(record), number))
                for name, parent in (("uuid", "parentUuid"), ("id", "parentId")):
                    if isinstance(record.get(name), str):
                        new[name] = str(uuid.uuid4())[: len(record[name])]
                        if parent in record:
                            new[parent] = before
                        before = new[name]
                if isinstance(record.get("timestamp"), str):
                    new["timestamp"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
                if isinstance(spoken := new.get("message"), dict) and isinstance(spoken.get("timestamp"), int):
                    spoken["timestamp"] = int(time.time() * 1000)  # Pi and omp say it twice
                yield json.dumps(new, ensure_ascii=False).encode() + b"\n"

    coming = copies(last)

    def step() -> int:
        with path.open("ab") as file:
            file.write(next(coming))
        return 1

    return step


def _renewed(text: str, number: int) -> str:
    """With other ids, none of which is one of those that were there: they are hexadecimal."""
    return _TAGGED.sub(lambda found: f"{found[1]}z{number % 4096:03x}", text)


def _databases(home: Path) -> Iterator[Step]:
    """One row a step, or one message with its parts."""
    hermes = apsw.Connection(str(home / ".hermes" / "state.db"))
    longest = "(SELECT session_id FROM {0} GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1)"
    yield _rows(hermes, "messages", longest.format("messages"), lambda row, number: {
        **row, "id": None, "timestamp": time.time(),
    })  # fmt: skip
    opencode = apsw.Connection(str(home / ".local" / "share" / "opencode" / "opencode.db"))
    yield _opencode(opencode, longest.format("message"))
    claw = apsw.Connection(str(home / ".openclaw" / "agents" / "main" / "agent" / "openclaw-agent.sqlite"))
    yield _openclaw(claw, longest.format("transcript_events"))
    hector = apsw.Connection(str(home / ".hector" / "sessions.db"))
    yield _rows(hector, "session_messages", longest.format("session_messages"), lambda row, number: {
        **row, "id": None, "sequence_num": 100_000 + number,
        "message_json": _renewed(row["message_json"], number // _BLOCK),
    })  # fmt: skip


def _found(database: apsw.Connection, statement: str) -> list[dict[str, Any]]:
    cursor = database.execute(statement)
    return [dict(zip((one[0] for one in cursor.getdescription()), row, strict=True)) for row in cursor]


def _insert(database: apsw.Connection, table: str, row: dict[str, Any]) -> None:
    names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
    database.execute(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', tuple(row.values()))


def _rows(
    database: apsw.Connection, table: str, session: str, change: Callable[[dict[str, Any], int], dict[str, Any]]
) -> Step:
    database.set_busy_timeout(10_000)
    where = f"WHERE session_id = {session} ORDER BY rowid DESC LIMIT {_BLOCK}"
    block = _found(database, f'SELECT * FROM "{table}" {where}')[::-1]
    numbers = itertools.count(1)

    def step() -> int:
        number = next(numbers)
        _insert(database, table, change(block[number % len(block)], number))
        return 1

    return step


def _opencode(database: apsw.Connection, session: str) -> Step:
    database.set_busy_timeout(10_000)
    block = _found(database, f"SELECT * FROM message WHERE session_id = {session} ORDER BY id DESC LIMIT 6")[::-1]
    parts = {
        one["id"]: _found(database, f"SELECT * FROM part WHERE message_id = '{one['id']}' ORDER BY id")
        for one in block
    }
    numbers = itertools.count(1)

    def step() -> int:
        number = next(numbers)
        message = block[number % len(block)]
        now = int(time.time() * 1000)
        mark = f"msg_zz{number:08x}0001aaaaaaaaaaaaaa"
        times = {"time_created": now, "time_updated": now}
        with database:
            _insert(database, "message", {**message, **times, "id": mark})
            for index, part in enumerate(parts[message["id"]]):
                name = f"prt_zz{number:08x}{index:04x}aaaaaaaaaaaaaa"
                data = _renewed(part["data"], number)
                _insert(database, "part", {**part, **times, "id": name, "message_id": mark, "data": data})
            database.execute("UPDATE session SET time_updated = ? WHERE id = ?", (now, message["session_id"]))
        return 1 + len(parts[message["id"]])

    return step


def _openclaw(database: apsw.Connection, session: str) -> Step:
    database.set_busy_timeout(10_000)
    every = _found(database, f"SELECT * FROM transcript_events WHERE session_id = {session} ORDER BY seq")
    block = [one for one in every if '"type":"message"' in (one["event_json"] or "")][-_BLOCK:]
    name, last = every[0]["session_id"], every[-1]["seq"]
    before = json.loads(every[-1]["event_json"])["id"]
    numbers = itertools.count(1)

    def step() -> int:
        nonlocal before
        number = next(numbers)
        event = json.loads(_renewed(block[number % len(block)]["event_json"], number // len(block)))
        event["id"], event["parentId"] = str(uuid.uuid4()), before
        now, seq = int(time.time() * 1000), last + number
        with database:
            row = {"session_id": name, "seq": seq, "created_at": now}
            _insert(database, "transcript_events", {**row, "event_json": json.dumps(event)})
            identity = {"event_id": event["id"], "event_type": "message", "parent_id": before}
            _insert(database, "transcript_event_identities", {**row, **identity})
            database.execute(
                "UPDATE session_transcript_index_state SET indexed_seq = ?, leaf_event_id = ? WHERE session_id = ?",
                (seq, event["id"], name),
            )
            database.execute(
                "UPDATE session_windows SET updated_at = ?, transcript_updated_at = ? WHERE session_id = ?",
                (now, now, name),
            )
        before = event["id"]
        return 1

    return step
