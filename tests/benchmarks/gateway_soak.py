"""A gateway of ours under load, killed again and again: each message has one turn, in the order of its lane.

`python -m benchmarks.gateway_soak` sends 100,000 messages to 500 lanes. The platform is this process: it delivers a
message until the gateway has said that it is handled, also to the next process of it. At random moments that is
killed (SIGKILL) or ended (SIGTERM, with a second to drain); over the second half it lives, and its memory is taken.
What is checked stands in the store: on every lane one session, the messages in order, one answer after each.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import deque
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from hermes_tui.lifecycle.gateway.configuration import GatewayConfig
from hermes_tui.lifecycle.policy import SessionResetPolicy
from hermes_tui.lifecycle.runtime.events import Agent, AgentTurn, MessageEvent
from hermes_tui.lifecycle.runtime.runner import GatewayRunner
from hermes_tui.lifecycle.source import SessionContext, SessionSource
from hermes_tui.lifecycle.store import SessionStore
from support import STORES

__all__ = ["SoakResult", "gateway_soak"]

_ON_ITS_WAY = 200
"""Messages that are not handled yet, over all lanes; and of one lane:"""
_OF_A_LANE = 3
_WAIT = 60.0
"""Seconds without a word after which the gateway counts as stuck."""


class SoakResult(NamedTuple):
    """What came of it."""

    messages: int
    lanes: int
    kills: int
    ends: int
    resumed: int
    """Turns that a later process went on with."""
    seconds: float
    memory: tuple[int, ...]
    """RSS of the process of the second half, in KiB, about every thousandth message."""


def gateway_soak(
    home: Path, messages: int, lanes: int, crashes: int, *, documented_store: bool = False, seed: int = 20
) -> SoakResult:
    """Run it on a new home. Raises `AssertionError` where a message has no turn, two, or one out of order."""
    home.mkdir(parents=True, exist_ok=True)
    if not documented_store:
        _layout_of_hermes(home / "state.db")
    driver = _Driver(home, messages, lanes, random.Random(seed))
    started = time.monotonic()
    driver.run(crashes)
    seconds = time.monotonic() - started
    resumed = _checked(home, driver.sent)
    return SoakResult(messages, lanes, driver.kills, driver.ends, resumed, seconds, tuple(driver.memory))


def _layout_of_hermes(path: Path) -> None:
    """An empty database as Hermes 0.19 makes it: the sample's tables, without its rows."""
    sample = STORES / "hermes" / "home" / ".hermes" / "state.db"
    with (
        closing(sqlite3.connect(f"file:{sample}?immutable=1", uri=True)) as source,
        closing(sqlite3.connect(path)) as new,
    ):
        made = source.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            " AND NOT (type = 'table' AND name GLOB 'messages_fts*_*' AND name <> 'messages_fts_trigram')"
            " ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 ELSE 2 END"
        ).fetchall()
        new.execute("PRAGMA journal_mode = WAL")
        for (sql,) in made:
            new.execute(sql)
        new.execute("INSERT INTO schema_version (version) VALUES (22)")
        new.commit()


class _Driver:
    """The platform, and who kills."""

    def __init__(self, home: Path, messages: int, lanes: int, dice: random.Random) -> None:
        self._home = home
        self._messages = messages
        self._dice = dice
        self.sent = [0] * lanes
        self._waiting: list[deque[int]] = [deque() for _ in range(lanes)]
        self._handled = 0
        self.kills = self.ends = 0
        self.memory: list[int] = []

    def run(self, crashes: int) -> None:
        half = self._messages // 2
        moments = sorted(self._dice.sample(range(1, half), crashes)) if crashes else []
        # Drawn before anything is served: what is drawn meanwhile depends on time.
        ends = self._dice.choices((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM), k=crashes)
        for moment, ends_by in zip(moments, ends, strict=True):
            self._serve(moment, ends_by)
        self._serve(self._messages, signal.SIGTERM)

    def _serve(self, until: int, ends_by: signal.Signals) -> None:
        """One process, until so many messages are handled."""
        command = [sys.executable, "-m", "benchmarks.gateway_soak", "--gateway", str(self._home)]
        paths = os.pathsep.join(filter(None, sys.path))
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}
        )
        assert process.stdin is not None
        assert process.stdout is not None
        last = until >= self._messages
        try:
            again = [(lane, number) for lane, numbers in enumerate(self._waiting) for number in numbers]
            self._write(process, again)
            # Out of step with the pipe: a process that is killed has some messages half read.
            while self._handled < until:
                self._write(process, self._new())
                ready, _, _ = select.select([process.stdout], [], [], _WAIT)
                data = os.read(process.stdout.fileno(), 1 << 16) if ready else b""
                assert data, f"the gateway said nothing for {_WAIT:.0f} s, or ended: {process.poll()}"
                self._hear(data, process, last)
        finally:
            process.send_signal(ends_by)
            self.kills += ends_by == signal.SIGKILL
            self.ends += ends_by == signal.SIGTERM
            process.stdin.close()
            for data in iter(lambda: os.read(process.stdout.fileno(), 1 << 16), b""):  # type: ignore[union-attr]
                self._hear(data, process, last)
            process.stdout.close()
            process.wait(_WAIT)
            self._rest = b""

    _rest = b""

    def _new(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        on_its_way = sum(self.sent) - self._handled
        while on_its_way + len(found) < _ON_ITS_WAY and sum(self.sent) < self._messages:
            lane = self._dice.randrange(len(self.sent))
            if len(self._waiting[lane]) < _OF_A_LANE:
                self.sent[lane] += 1
                self._waiting[lane].append(self.sent[lane])
                found.append((lane, self.sent[lane]))
            elif self._dice.random() < 0.05:
                break
        return found

    def _write(self, process: subprocess.Popen[bytes], messages: list[tuple[int, int]]) -> None:
        assert process.stdin is not None
        process.stdin.write(b"".join(b"%d %d\n" % message for message in messages))
        process.stdin.flush()

    def _hear(self, data: bytes, process: subprocess.Popen[bytes], last: bool) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            lane, number = map(int, line.split())
            assert self._waiting[lane].popleft() == number, f"lane {lane}: {number} is handled out of order"
            self._handled += 1
            if last and self._handled % 1000 == 0:
                self.memory.append(_memory(process.pid))


def _memory(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")), 0)


def _checked(home: Path, sent: list[int]) -> int:
    """Hold the store to what was sent; how many turns were gone on with."""
    with closing(sqlite3.connect(home / "state.db")) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
        raw.execute("INSERT INTO messages_fts(messages_fts) VALUES ('integrity-check')")  # which raises otherwise
        lanes: dict[int, list[tuple[str, str]]] = {}
        sessions: dict[int, set[str]] = {}
        for session, role, content in raw.execute("SELECT session_id, role, content FROM messages ORDER BY id"):
            lane = int(content.split()[1])
            lanes.setdefault(lane, []).append((role, content))
            sessions.setdefault(lane, set()).add(session)
    resumed = 0
    for lane, count in enumerate(sent):
        rows = lanes.get(lane, [])
        assert len(sessions.get(lane, ())) == bool(count), f"lane {lane}: sessions {sessions[lane]}"
        questions = [f"message {lane} {number}" for number in range(1, count + 1)]
        assert [content for role, content in rows if role == "user"] == questions, f"lane {lane}: {rows}"
        assert [role for role, _ in rows] == ["user", "assistant"] * count, f"lane {lane}: {rows}"
        for question, (_, answer) in zip(questions, rows[1::2], strict=True):
            assert answer in (f"answer {question.removeprefix('message ')}", f"resumed {lane}"), (lane, rows)
            resumed += answer.startswith("resumed")
    return resumed


async def _gateway(home: Path) -> None:
    """The process that is killed."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    dice = random.Random(os.getpid())
    ended = asyncio.Event()

    def new_agent(context: SessionContext) -> Agent:
        async def agent(turn: AgentTurn) -> str:
            await asyncio.sleep(dice.choice((0, 0, 0.001, 0.003)))
            if turn.event.internal:
                return f"resumed {turn.event.source.chat_id}"
            return turn.text.rpartition("message")[2].join(("answer", ""))

        return agent

    async def handled(event: MessageEvent) -> None:
        os.write(1, f"{event.message_id}\n".encode())

    async def platform() -> None:
        while line := (await reader.readline()).decode().split():
            lane, number = map(int, line)
            source = SessionSource(platform="telegram", chat_id=str(lane), user_id=str(lane))
            text = f"message {lane} {number}"
            event = MessageEvent(
                source=source, text=f"/queue {text}" if number % 2 else text, message_id=f"{lane} {number}"
            )
            gateway.handle(event)
        ended.set()  # who sends is gone: a process that nobody ends would stay

    config = GatewayConfig(default_reset_policy=SessionResetPolicy(mode="none"), write_sessions_json=False)
    with SessionStore(home / "sessions", config) as store:
        gateway = GatewayRunner(home, store, new_agent, handled=handled, follow_ups="queue")
        loop.add_signal_handler(signal.SIGTERM, ended.set)
        await gateway.start()
        serving = asyncio.create_task(platform())
        await ended.wait()
        serving.cancel()
        await gateway.stop(dice.choice((0.0, 1.0)))


def main() -> None:
    """Run it as the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--lanes", type=int, default=500)
    parser.add_argument("--crashes", type=int, default=60)
    parser.add_argument(
        "--documented-store", action="store_true", help="a store of version 6, lanes in sessions.json"
    )
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--gateway", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.gateway is not None:
        asyncio.run(_gateway(options.gateway))
        return
    home = Path(tempfile.mkdtemp(prefix="hermes-tui-gateway-soak-"))
    try:
        found = gateway_soak(
            home,
            options.messages,
            options.lanes,
            options.crashes,
            documented_store=options.documented_store,
            seed=options.seed,
        )
    finally:
        shutil.rmtree(home, ignore_errors=True)
    print(
        f"{found.messages:,} messages over {found.lanes} lanes: each one turn, in order; {found.kills} kills,"
        f" {found.ends} ends, {found.resumed} turns gone on with; {found.seconds:.0f} s"
    )
    if found.memory:
        quarters = [*(found.memory[len(found.memory) * part // 4] for part in range(4)), found.memory[-1]]
        print("memory, MB:", ", ".join(f"{kib / 1024:.1f}" for kib in quarters))


if __name__ == "__main__":
    main()
