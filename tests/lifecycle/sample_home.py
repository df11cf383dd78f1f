"""A copy of the sample store of Hermes, our operations on it, and plain SQL and JSON beside them."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import OperationRefused
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Plan, Request
from hermes_tui.lifecycle.operations.verify import Outcome
from session_adapters.base import Environment
from tiny_home import tree_hash

__all__ = ["LIVE", "Home"]

LIVE = "agent:main:discord:dm:70000197"
"""A lane in whose session one could go on."""


class Home:
    """A copy of the sample store, and our operations on it."""

    def __init__(self, path: Path, tmp_path: Path) -> None:
        self.path = path / ".hermes"
        self.index = self.path / "sessions" / "sessions.json"
        self.environment = Environment(home=path)
        self.audit = tmp_path / "state" / "lanes.jsonl"
        self.operations = Operations(self.environment, audit=Audit(self.audit))

    def plan(self, kind: str, key: str = LIVE, **more: Any) -> Plan:
        return self.operations.plan(Request(kind=kind, key=key, **more))  # type: ignore[arg-type]

    def apply(self, kind: str, key: str = LIVE, **more: Any) -> Outcome:
        plan = self.plan(kind, key, **more)
        assert not plan.refusal, plan.refusal
        return self.operations.apply(plan)

    def sql(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path / "state.db")
        with connection:
            found = connection.execute(statement, values).fetchall()
        connection.close()
        return found

    def members(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.index.read_text())
        return found

    def refuses(self, kind: str, key: str, reason: str, **more: Any) -> None:
        """The plan says why, applying it raises, and nothing of the store changes."""
        before = tree_hash(self.path)
        plan = self.plan(kind, key, **more)
        assert reason in plan.refusal
        with pytest.raises(OperationRefused):
            self.operations.apply(plan)
        assert tree_hash(self.path) == before
