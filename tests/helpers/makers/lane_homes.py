"""A Hermes home of the demo with a process table of its own, in which a gateway runs or not, and plain SQL on it."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import apsw
from textual.pilot import Pilot

from hermes_tui.clock import Clock
from hermes_tui.config import Config
from hermes_tui.demo.home import write_home
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.lanes.plan import PlanScreen
from hermes_tui.tui.screens.lanes.screen import LanesScreen
from pilots import toasts, until
from session_adapters.base import Environment

__all__ = [
    "BO",
    "DANA",
    "DISCORD",
    "FAYE",
    "NOW",
    "HermesDemo",
    "agree",
    "app_of",
    "go",
    "lanes_of",
    "planned",
    "state",
    "toasts",
]

NOW = datetime(2026, 11, 21, 10, 34, tzinfo=UTC)
DISCORD = "agent:main:discord:thread:880012:880012"
BO = "agent:main:telegram:dm:700002"
FAYE = "agent:main:slack:channel:C0700009:U7"
DANA = "agent:main:email:dm:dana@example.org"


class HermesDemo:
    """The home, and the gateway that is made to run or to end."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / ".hermes"
        write_home(home, NOW, ["hermes"])
        self.run_gateway()

    @property
    def environment(self) -> Environment:
        """The machine with that home only."""
        return Environment(home=self.home, variables={}, proc=self.home / "proc")

    def run_gateway(self) -> None:
        """The lock is held."""
        lock = (self.root / "gateway.lock").stat()
        place = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
        locks = f"1: FLOCK  ADVISORY  WRITE 4100 {place} 0 EOF\n"
        (self.home / "proc" / "locks").write_text(locks)
        if (ended := self.home / "ended").exists():
            ended.rename(self.home / "proc" / "4100")

    def end_gateway(self) -> None:
        """Its process is gone, and the kernel let go of the lock."""
        (self.home / "proc" / "locks").write_text("")
        (self.home / "proc" / "4100").rename(self.home / "ended")

    def sql(self, statement: str, *values: Any, profile: str = "") -> list[tuple[Any, ...]]:
        """On the database, beside everybody else."""
        folder = self.root / "profiles" / profile if profile else self.root
        # By the SQLite of the program: the gateway of a test may have the database open in this process.
        with closing(apsw.Connection(str(folder / "state.db"))) as connection:
            connection.set_busy_timeout(10_000)
            return connection.execute(statement, values).fetchall()

    def entry(self, key: str, profile: str = "") -> dict[str, Any]:
        """Of a lane, in the table."""
        query = "SELECT entry_json FROM gateway_routing WHERE session_key = ?"
        found: dict[str, Any] = json.loads(self.sql(query, key, profile=profile)[0][0])
        return found

    def begin_turn(self, key: str, **said: Any) -> None:
        """The lane was asked something 20 s ago and calls a tool; its gateway runs a turn and says what else it wrote
        down."""
        session, at = self.entry(key)["session_id"], NOW.timestamp() - 20
        calls = json.dumps([{"id": "c1", "function": {"name": "web_search", "arguments": '{"query": "docker"}'}}])
        insert = "INSERT INTO messages (session_id, role, content, tool_calls, timestamp) VALUES (?, ?, ?, ?, ?)"
        self.sql(insert, session, "user", "Look that up", None, at)
        self.sql(insert, session, "assistant", "", calls, at + 5)
        path = self.root / "gateway_state.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"active_agents": 1} | said))

    def whole(self) -> dict[str, Any]:
        """Every table that operations write, and the mirrors."""
        found: dict[str, Any] = {}
        for profile in ("", "coder"):
            rows = self.sql("SELECT scope, session_key, entry_json FROM gateway_routing", profile=profile)
            found[f"routing {profile}"] = {(scope, key): json.loads(entry) for scope, key, entry in rows}
            found[f"sessions {profile}"] = self.sql("SELECT * FROM sessions ORDER BY id", profile=profile)
        for path in sorted(self.root.rglob("sessions.json")):
            found[str(path)] = json.loads(path.read_text())
        return found

    @asynccontextmanager
    async def program(
        self, size: tuple[int, int] = (120, 40), *, lanes: bool = True, attention: bool = False, **config: Any
    ) -> AsyncIterator[Pilot[None]]:
        """The program on it, with the lanes on the screen."""
        manager = SessionManager(self.environment, cache_dir=self.home / "cache", indexed=False)
        app = HermesApp(manager, Config(**config), clock=Clock(NOW), attention=attention)
        async with app.run_test(size=size, notifications=True) as pilot:
            await until(pilot, lambda: app.main.snapshot.sessions and app.main.parts.lanes is not None)
            if lanes:
                await pilot.press("L")
                await until(pilot, lambda: isinstance(app.screen, LanesScreen) and lanes_of(pilot).table.rows)
            yield pilot


def lanes_of(pilot: Pilot[None]) -> LanesScreen:
    """The screen of lanes, wherever it is on the stack."""
    return next(screen for screen in pilot.app.screen_stack if isinstance(screen, LanesScreen))


def app_of(pilot: Pilot[None]) -> HermesApp:
    return cast(HermesApp, pilot.app)


async def go(pilot: Pilot[None], key: str, profile: str = "default") -> None:
    """The cursor to that lane."""
    screen = lanes_of(pilot)
    while (shown := screen.profile) is None or shown.name != profile:
        await pilot.press("tab")
    at = next(at for at, row in enumerate(screen.table.rows) if row.key == key)
    screen.table.go(at)
    await pilot.pause()


async def planned(pilot: Pilot[None]) -> PlanScreen:
    """The plan, once it is on the screen."""
    await until(pilot, lambda: isinstance(pilot.app.screen, PlanScreen))
    screen = cast(PlanScreen, pilot.app.screen)
    await until(pilot, lambda: screen.plan is not None and screen.shown_at < float("inf"))
    return screen


async def agree(pilot: Pilot[None]) -> None:
    """Wait for the plan, and say yes."""
    await planned(pilot)
    await pilot.press("y")
    await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))
    await until(pilot, lambda: not lanes_of(pilot).operations.is_busy)


def state(pilot: Pilot[None], key: str) -> str:
    """What the row says of the lane's state."""
    row = next(row for row in lanes_of(pilot).table.rows if row.key == key)
    return f"{row.state.glyph} {row.state.word}"
