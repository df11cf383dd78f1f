"""A Hermes home with the real Hermes in it, and our operations beside that."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Plan, Request
from hermes_tui.lifecycle.operations.record import AuditRecord
from hermes_tui.lifecycle.operations.verify import Outcome
from oracle.hermes import Oracle, oracle_python
from session_adapters.base import Environment

__all__ = ["ANA", "BOB", "KEY", "NOON", "OperatedHome", "World", "gateway"]

NOON = datetime(2026, 7, 21, 12)
ANA: Mapping[str, Any] = {
    "platform": "telegram",
    "chat_id": "700",
    "chat_type": "dm",
    "user_id": "700",
    "user_name": "Ana",
}
BOB: Mapping[str, Any] = {
    "platform": "telegram",
    "chat_id": "800",
    "chat_type": "dm",
    "user_id": "800",
    "user_name": "Bob",
}
KEY = "agent:main:telegram:dm:700"

_HOLDER = """
import fcntl, sys
lock = open(sys.argv[1], "a")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def gateway(home: Path, python: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock as the gateway of that home does, run by the real Hermes' interpreter."""
    command = [str(python or oracle_python()), "-c", _HOLDER, str(home / "gateway.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


class OperatedHome:
    """A user's home with a Hermes store that our operations work on, and plain SQL to see what came of it."""

    def __init__(self, user_home: Path) -> None:
        self.user_home = user_home
        self.home = user_home / ".hermes"
        self.environment = Environment(home=user_home)
        self.audit = Audit(user_home / "audit.jsonl")
        self.operations = Operations(self.environment, audit=self.audit)

    def plan(self, kind: str, key: str = KEY, **more: Any) -> Plan:
        """A plan of ours."""
        return self.operations.plan(Request(kind=kind, key=key, **more))  # type: ignore[arg-type]

    def apply(self, kind: str, key: str = KEY, **more: Any) -> Outcome:
        """Planned and applied."""
        plan = self.plan(kind, key, **more)
        assert not plan.refusal, plan.refusal
        return self.operations.apply(plan)

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Plain SQL on the store, beside everybody else."""
        connection = sqlite3.connect(self.home / "state.db", timeout=10)
        try:
            with connection:
                return connection.execute(statement, values).fetchall()
        finally:
            connection.close()

    def row(self, session_id: str) -> dict[str, Any]:
        """A session's row."""
        connection = sqlite3.connect(self.home / "state.db", timeout=10)
        connection.row_factory = sqlite3.Row
        try:
            found = connection.execute("SELECT * FROM sessions WHERE id = ?", (session_id,)).fetchone()
            return dict(found) if found else {}
        finally:
            connection.close()

    def mirror(self) -> dict[str, Any]:
        """`sessions.json` without its notes."""
        found = json.loads((self.home / "sessions" / "sessions.json").read_text())
        return {key: value for key, value in found.items() if not key.startswith("_")}

    def table(self) -> dict[str, Any]:
        """The routing table."""
        return {
            key: json.loads(text) for key, text in self.sql("SELECT session_key, entry_json FROM gateway_routing")
        }


class World(OperatedHome):
    """One home: `hermes` is the gateway that has it in memory, `operations` are ours."""

    def __init__(self, hermes: Oracle, folder: Path) -> None:
        super().__init__(folder)
        self.hermes = hermes
        hermes.close_store()
        hermes.home_is(self.home)
        self.moment = NOON

    def keep_time(self) -> None:
        """From now on our operations have the clock of the lanes, which begins as the real one."""
        self.moment = datetime.now()
        self.operations = Operations(self.environment, audit=self.audit, clock=lambda: self.moment.astimezone(UTC))

    def policy(self, **policy: Any) -> None:
        """When lanes are reset, for the gateway that is started with it and for us."""
        self.home.mkdir(parents=True, exist_ok=True)
        (self.home / "gateway.json").write_text(json.dumps({"default_reset_policy": policy}))
        self.start(policy=policy)

    def start(self, **options: Any) -> None:
        """The gateway loads its index."""
        self.hermes.open(now=self.moment, **options)

    def get(self, source: Mapping[str, Any] = ANA, **options: Any) -> str:
        """A message arrives: the id of its session."""
        return str(self.hermes.get(source, **options)["session_id"])

    def say(self, session_id: str, text: str = "hello") -> None:
        """It is written into that session."""
        self.hermes.db("append_message", session_id, role="user", content=text)

    def talk(self, source: Mapping[str, Any] = ANA, **options: Any) -> str:
        """A message and where it went."""
        session_id = self.get(source, **options)
        self.say(session_id)
        self.later(5)
        return session_id

    def later(self, seconds: float) -> None:
        """The clock of lanes moves on."""
        self.moment += timedelta(seconds=seconds)
        self.hermes.now(self.moment)

    def audited(self) -> AuditRecord:
        """What our log has of the latest operation."""
        return self.audit.read().operations[-1].begun
