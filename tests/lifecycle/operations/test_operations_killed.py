"""SIGKILL at every step of every operation: the store is as before or as promised, and the log says which."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import LaneNotFound
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from session_adapters.base import Environment
from support import REPOSITORY, STORES

STEPS = ("begun", "rows", "index", "commit", "applied", "mirror", "verify")
NEW = STORES / "hermes" / "home"
OLD = STORES / "hermes" / "old_versions" / "0.17.0"
CHILD = """
import json, os, signal, sys
from pathlib import Path
from hermes_tui.errors import LaneNotFound
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from session_adapters.base import Environment
home, audit, wanted, request = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
def step(name):
    if name == wanted:
        os.kill(os.getpid(), signal.SIGKILL)
    if wanted == "in the file" and name == "index" or wanted == "in the mirror" and name == "mirror":
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
operations = Operations(Environment(home=home), audit=Audit(audit), step=step)
plan = operations.plan(Request(**request))
assert not plan.refusal, plan.refusal
operations.apply(plan)
"""
LANE = "agent:main:telegram:group:-100700001:12"
CASES: list[tuple[Path, dict[str, Any]]] = [
    (NEW, {"kind": "reset", "key": LANE}),
    (NEW, {"kind": "suspend", "key": LANE}),
    (NEW, {"kind": "resume", "key": "agent:main:telegram:dm:700001", "target": "20260614_162517_8648cd1d"}),
    (NEW, {"kind": "mark", "key": "agent:main:discord:dm:70000197"}),
    (NEW, {"kind": "clear", "key": LANE}),
    (NEW, {"kind": "prune", "days": 3}),
    (OLD, {"kind": "reset", "key": "agent:main:telegram:dm:700001"}),
    (OLD, {"kind": "suspend", "key": "agent:main:telegram:dm:700001"}),
    (OLD, {"kind": "prune", "days": 3}),
]
OTHER_LANE = {NEW: "agent:main:signal:dm:uuid-1", OLD: "agent:main:telegram:group:-1001:5"}
POINTS = (*STEPS, "in the file", "in the mirror")


def state(home: Path) -> tuple[Any, Any, Any]:
    """Rows, table and file as plain SQL and JSON have them."""
    connection = sqlite3.connect(home / ".hermes" / "state.db")
    rows = sorted(map(str, connection.execute("SELECT * FROM sessions").fetchall()))
    try:
        table = dict(connection.execute("SELECT session_key, entry_json FROM gateway_routing").fetchall())
    except sqlite3.OperationalError:
        table = {}
    connection.close()
    return rows, table, json.loads((home / ".hermes" / "sessions" / "sessions.json").read_text())


def shape(home: Path, known: Any) -> dict[str, Any]:
    """What a gateway would load of each lane; sessions that were not there in `known` are all one: new."""
    _, table, file = state(home)
    lanes = {key: value for key, value in file.items() if not key.startswith("_")}
    lanes |= {key: json.loads(text) for key, text in table.items()}
    flags = ("suspended", "resume_pending", "is_fresh_reset", "resume_reason")
    ids = " ".join(known[0])
    return {
        key: (one["session_id"] if one["session_id"] in ids else "new", *(one.get(flag) for flag in flags))
        for key, one in lanes.items()
    }


def ends(home: Path) -> list[Any]:
    """Why sessions ended; the ids of new ones are left out."""
    connection = sqlite3.connect(home / ".hermes" / "state.db")
    found = connection.execute(
        "SELECT substr(id, 1, 8), end_reason, ended_at IS NULL, source FROM sessions"
    ).fetchall()
    connection.close()
    return sorted(map(str, found))


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    ("source", "case"), CASES, ids=lambda value: value["kind"] if isinstance(value, dict) else ""
)
def test_killed(source: Path, case: dict[str, Any], point: str, store: Callable[..., Path], tmp_path: Path) -> None:
    home = store(*source.relative_to(STORES).parts)
    if source is OLD and case["kind"] == "prune":  # its lanes are recent: as old as is asked for
        index = home / ".hermes" / "sessions" / "sessions.json"
        index.write_text(index.read_text().replace("2026-11-21T", "2026-01-21T"))
    untouched = state(home)
    promised = tmp_path / "promised"
    subprocess.run(["cp", "-r", str(home), str(promised)], check=True)
    as_promised = Operations(Environment(home=promised), audit=Audit(tmp_path / "promised.jsonl"))
    assert as_promised.apply(as_promised.plan(Request(**case))).state == "done"
    audit = tmp_path / "audit.jsonl"
    ran = run(home, audit, point, case)
    died = ran.returncode == -signal.SIGKILL
    assert died or ran.returncode == 0, ran.stderr
    operations = Operations(Environment(home=home), audit=Audit(audit))
    said = operations.log()
    if point == "begun":
        assert died
        assert said == []
        assert state(home) == untouched
        return
    assert len(said) == 1
    if said[0].state == "failed":
        assert died
        rows, table, file = state(home)
        assert (rows, table) == untouched[:2]
        # The lanes of a table count alone, and the file is put back; those of a file are as they were.
        assert file == untouched[2] or (table and point == "commit")
        assert ("before anything was written" in said[0].text) is (file == untouched[2])
    elif said[0].state == "interrupted":
        assert source is OLD and point == "commit"
    else:
        assert said[0].state == "done"
        assert (shape(home, untouched), ends(home)) == (shape(promised, untouched), ends(promised))
    after = "done" if said[0].state == "interrupted" else said[0].state
    names = {path.name for path in home.rglob("*.part")}
    assert len(names) == (point in ("in the file", "in the mirror") and died), "a draft is there while it is written"
    next_one(operations, OTHER_LANE[source])
    assert not list(home.rglob("*.part")), "what a dead process left is taken away"
    assert [one.state for one in operations.log()][-1] == after
    if after == "failed":  # also in the file, though the log was looked at in between
        kept = {key: value for key, value in untouched[2].items() if key != OTHER_LANE[source]}
        assert kept.items() <= state(home)[2].items()
    next_one(as_promised, OTHER_LANE[source])
    if after == "done":  # and everything is as if nothing had ever been broken off
        assert (shape(home, untouched), ends(home)) == (shape(promised, untouched), ends(promised))


def next_one(operations: Operations, key: str) -> None:
    """Another operation, on another lane: it first puts right what was left."""
    with suppress(LaneNotFound):  # it was dropped
        operations.apply(operations.plan(Request(kind="reset", key=key)))


def run(home: Path, audit: Path, point: str, case: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    search = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(home), str(audit), point, json.dumps(case)],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
