"""How much is read, as the operating system counts it: a list looks into the metadata of sessions however long they
are, and opening one session reads no other.

A long file is passed over once, in search of the few words that name a session or a helper in its middle; no line is
decoded for that but those that hold one (`Meter`).

In each agent's store of the demo home one session is made six megabytes long.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from hermes_tui.cli.execute import execute
from hermes_tui.demo import STATIC_NOW
from hermes_tui.demo.home import prepare, write_home
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from session_adapters.model import SessionSummary
from session_adapters.reading.files import METER

ADDED = 6 << 20
COPIES = 100
ALLOWED = 300 << 10
"""Bytes that may be looked into on top of what a list reads of the same store without the long session."""
SCANNED = {"claude", "codex", "copilot", "gemini", "omp", "pi"}
"""Files of lines: passed over once in search of words."""
ONE_PASS = {"hector", "hermes"}
"""In their tables, times and counts stand behind the text of a row, so that SQLite walks through the pages of the
text, once: what a list shows of them is one query over all rows (spec 004 §6.1)."""
Row = dict[str, Any]
PAD = " " * (ADDED // COPIES)
"""White space behind a JSON value changes nothing."""


def lengthen_lines(pattern: str) -> Callable[[Path], str]:
    """The longest file of that name gets copies of a record in its middle; none of a helper of Copilot's, as those
    are what a list shows."""

    def lengthen(home: Path) -> str:
        path = max(home.glob(pattern), key=lambda one: one.stat().st_size)
        records = path.read_bytes().splitlines(keepends=True)
        middle = len(records) // 2
        record = next(one for one in records[middle:] if b'"agentId"' not in one)
        path.write_bytes(b"".join((*records[:middle], record * (ADDED // len(record)), *records[middle:])))
        return str(path)

    return lengthen


def lengthen_rows(database: str, table: str, change: Callable[[Row, int], None]) -> Callable[[Path], str]:
    """A row in the middle of the table is inserted a hundred times, as `change` makes it."""

    def lengthen(home: Path) -> str:
        connection = apsw.Connection(str(next(home.glob(database))))
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        rows = [dict(zip(names, row, strict=True)) for row in connection.execute(f"SELECT * FROM {table}")]
        for number in range(COPIES):
            row = dict(rows[len(rows) // 2])
            change(row, number)
            marks = ", ".join("?" * len(names))
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", tuple(row.values()))
        connection.close()
        return str(rows[len(rows) // 2]["session_id"])

    return lengthen


def hermes_row(row: Row, number: int) -> None:
    row.update(id=None, content=(row["content"] or "") + PAD, timestamp=row["timestamp"] + number / 1000)


def hector_row(row: Row, number: int) -> None:
    row.update(id=None, message_id=f"long-{number}", sequence_num=5000 + number)
    row["message_json"] += PAD


def opencode_row(row: Row, number: int) -> None:
    row.update(id=f"{row['id']}{number:03}", data=row["data"] + PAD)


def openclaw_row(row: Row, number: int) -> None:
    event = json.loads(row["event_json"])
    event["id"] = f"long{number}"
    row.update(seq=5000 + number, event_json=json.dumps(event) + PAD)


def lengthen_chat(home: Path) -> str:
    """Blobs that the conversation no longer names, and a result of six megabytes that it does."""
    path = max(home.glob(".cursor/chats/*/*/store.db"), key=lambda one: one.stat().st_size)
    connection = apsw.Connection(str(path))
    for number in range(COPIES):
        connection.execute("INSERT INTO blobs VALUES (?, ?)", (f"{number:064x}", PAD.encode()))
    connection.execute(
        "UPDATE blobs SET data = data || ? WHERE id ="
        " (SELECT id FROM blobs WHERE instr(data, CAST('tool-result' AS BLOB)) LIMIT 1)",
        (b" " * ADDED,),
    )
    assert connection.changes() == 1
    connection.close()
    return str(path)


LENGTHEN: dict[str, Callable[[Path], str]] = {
    "claude": lengthen_lines(".claude/projects/*/*.jsonl"),
    "codex": lengthen_lines(".codex/sessions/*/*/*/*.jsonl"),
    "copilot": lengthen_lines(".copilot/session-state/*/events.jsonl"),
    "cursor": lengthen_chat,
    "gemini": lengthen_lines(".gemini/tmp/*/chats/*.jsonl"),
    "hector": lengthen_rows(".hector/sessions.db", "session_messages", hector_row),
    "hermes": lengthen_rows(".hermes/state.db", "messages", hermes_row),
    "omp": lengthen_lines(".omp/agent/sessions/*/*.jsonl"),
    "openclaw": lengthen_rows(".openclaw/agents/main/agent/*.sqlite", "transcript_events", openclaw_row),
    "opencode": lengthen_rows(".local/share/opencode/opencode.db", "part", opencode_row),
    "pi": lengthen_lines(".pi/agent/sessions/*/*.jsonl"),
}
"""Agent → what makes one of its sessions long; it returns the session's file, or its id in a database of many."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A demo home, not to be changed."""
    home = tmp_path_factory.mktemp("demo") / "home"
    prepare(home)
    write_home(home, STATIC_NOW)
    return home


class Lister:
    """One agent's sessions, each time with a memory of nothing."""

    def __init__(self, agent: str, home: Path, scratch: Path) -> None:
        self.agent = agent
        self.home = home
        self._scratch = scratch
        self._runs = 0
        (scratch / "proc").mkdir(exist_ok=True)

    @property
    def manager(self) -> SessionManager:
        self._runs += 1
        environment = Environment(home=self.home, proc=self._scratch / "proc")
        cache = self._scratch / f"cache-{self.home.name}-{self._runs}"
        return SessionManager(environment, cache_dir=cache, agents=(self.agent,), prices={}, indexed=False)

    def listed(self) -> list[SessionSummary]:
        return self.manager.list(self.agent, limit=None)


def bytes_read(action: Callable[[], object]) -> int:
    """By this process while `action` runs, whoever in it reads: SQLite, Python, our own code."""

    def count() -> int:
        return int(Path("/proc/self/io").read_text().split()[1])

    itself = count()
    itself = count() - itself
    before = count()
    action()
    return count() - before - itself


class Long(NamedTuple):
    """An agent's sessions without and with the long one."""

    before: Lister
    after: Lister
    where: str

    @property
    def allowed(self) -> int:
        """Bytes that the long session may add to what a list reads."""
        return ADDED * 5 // 4 if self.after.agent in ONE_PASS | SCANNED else ALLOWED

    def is_long(self, summary: SessionSummary) -> bool:
        """Whether it is the long one."""
        return any(self.where in text for text in (summary.path, summary.session_id, repr(summary.raw)))


@pytest.fixture(params=sorted(LENGTHEN), scope="module")
def long(request: pytest.FixtureRequest, demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Long:
    """What reading them takes is imported."""
    agent: str = request.param
    scratch = tmp_path_factory.mktemp("long")
    home = scratch / "long"
    shutil.copytree(demo, home, symlinks=True)
    where = LENGTHEN[agent](home)
    before, after = Lister(agent, demo, scratch), Lister(agent, home, scratch)
    before.manager.get(agent, before.listed()[0].session_id)
    return Long(before, after, where)


def test_a_list_reads_metadata_only(long: Long) -> None:
    before, after, _ = long
    usual = bytes_read(before.listed)
    assert usual < 4 << 20
    looked_into = METER.bytes
    before.listed()
    looked_into = METER.bytes - looked_into
    METER.reset()
    found: list[SessionSummary] = []
    assert bytes_read(lambda: found.extend(after.listed())) - usual < long.allowed
    assert METER.bytes - looked_into < ALLOWED
    assert METER.scanned < long.allowed if long.after.agent in SCANNED else not METER.scanned
    assert {one.session_id for one in found} == {one.session_id for one in before.listed()}


def test_the_command_reads_metadata_only(
    long: Long, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    before, after, _ = long

    def run(home: Path, cache: str) -> int:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / cache))
        arguments = ["--home", str(home), "sessions", "list", before.agent, "--limit", "9999"]
        return bytes_read(lambda: execute(arguments))

    run(before.home, "first")  # what it imports
    assert run(after.home, "third") - run(before.home, "second") < long.allowed
    assert len(capfd.readouterr().out) > 1000


def test_opening_one_session_reads_no_other(long: Long) -> None:
    before, after, _ = long
    listed = after.listed()
    (longest,) = [one.session_id for one in listed if long.is_long(one) and one.kind != "subagent"]
    other = next(one.session_id for one in listed if not long.is_long(one))
    usual = bytes_read(lambda: before.manager.get(before.agent, other))
    assert bytes_read(lambda: after.manager.get(after.agent, other)) - usual < ALLOWED
    assert bytes_read(lambda: after.manager.get(after.agent, longest)) > ADDED // 2
