"""Operations on sessions: what is refused, undone, killed at each step, or asked for by two at once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_tui.errors import OperationRefused, SessionNotFound, StoreError, ValidationError
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from hermes_tui.lifecycle.state_db.pruning import PruneFilter
from lifecycle.session_operations.table_dumps import dump
from lifecycle.worlds import gateway
from session_adapters.base import Environment
from support import REPOSITORY
from tiny_home import tree_hash

STEPS = ("begun", "copy", "rows", "index", "commit", "applied", "verify")
CHILD = """
import json, os, signal, sys
import msgspec
from pathlib import Path
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from session_adapters.base import Environment
home, audit, wanted, request = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
def step(name):
    if name == wanted:
        os.kill(os.getpid(), signal.SIGKILL)
operations = Operations(Environment(home=home), audit=Audit(audit), step=step)
undo = request["kind"] == "undo"
plan = operations.undo(request["target"]) if undo else operations.plan(msgspec.convert(request, Request))
assert not plan.refusal, plan.refusal
operations.apply(plan)
"""

FULL = CHILD.replace(
    "os.kill(os.getpid(), signal.SIGKILL)", "resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))"
).replace("import json,", "import json, resource,")
"""From that step on no file takes anything beyond its second kilobyte."""


def asked(**request: Any) -> Request:
    """As it stands in JSON."""
    return msgspec.convert(request, Request)


class Sessions:
    """The sample home, with its ids by what they are."""

    def __init__(self, home: Path, tmp_path: Path) -> None:
        self.home = home
        self.database = home / ".hermes" / "state.db"
        self.audit = Audit(tmp_path / "state" / "lanes.jsonl")
        self.operations = Operations(Environment(home=home), audit=self.audit)
        self.parent = self.one("SELECT parent_session_id FROM sessions WHERE parent_session_id IS NOT NULL")
        self.open = self.one(
            "SELECT id FROM sessions WHERE end_reason IS NULL AND ended_at IS NULL AND source = 'cli'"
        )
        self.ended = self.one(
            "SELECT id FROM sessions s WHERE end_reason NOT IN ('compression') AND message_count > 1"
            " AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = s.id)"
        )

    def one(self, query: str) -> str:
        with closing(sqlite3.connect(self.database)) as raw:
            return str(raw.execute(f"{query} ORDER BY 1 LIMIT 1").fetchone()[0])

    def request(self, kind: str) -> dict[str, Any]:
        """One of each kind that this home allows."""
        every: dict[str, dict[str, Any]] = {
            "rename": {"kind": "rename", "session": self.ended, "title": "Another name"},
            "end": {"kind": "end", "session": self.open},
            "reopen": {"kind": "reopen", "session": self.ended},
            "delete": {"kind": "delete", "session": self.parent},
            "clear-messages": {"kind": "clear-messages", "session": self.ended},
            "prune-sessions": {"kind": "prune-sessions", "matching": {"olderThan": "1"}},
        }
        return every[kind]

    def apply(self, **request: Any) -> str:
        plan = self.operations.plan(asked(**request))
        assert not plan.refusal, plan.refusal
        outcome = self.operations.apply(plan)
        assert outcome.state == "done", outcome
        return outcome.operation


DELETES = ("delete", "clear-messages", "prune-sessions")
KINDS = ("rename", "end", "reopen", *DELETES)


@pytest.fixture
def sessions(store: Callable[..., Path], tmp_path: Path) -> Sessions:
    return Sessions(store("hermes", "home"), tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_planned_done_and_undone(sessions: Sessions, kind: str) -> None:
    before, tree = dump(sessions.database), tree_hash(sessions.home)
    plan = sessions.operations.plan(asked(**sessions.request(kind)))
    assert plan.writes
    assert tree_hash(sessions.home) == tree, "a plan writes nothing"
    operation = sessions.operations.apply(plan).operation
    after = dump(sessions.database)
    assert after != before
    assert sessions.operations.outcome(operation).state == "done"
    undone = sessions.operations.apply(sessions.operations.undo(operation))
    assert undone.state == "done"
    assert dump(sessions.database) == before
    assert sessions.operations.outcome(operation).state == "undone"
    assert "undone already" in sessions.operations.undo(operation).refusal
    if kind in DELETES:
        copy = sessions.audit.path.parent / "deleted" / f"{operation}.jsonl"
        assert copy.stat().st_mode & 0o777 == 0o600
        assert all("messages" in json.loads(line) for line in copy.read_text().splitlines())


@pytest.mark.parametrize("kind", KINDS)
def test_two_operators(sessions: Sessions, kind: str) -> None:
    """Both have a plan; the second one is refused, and nothing of it is written."""
    other = Operations(Environment(home=sessions.home), audit=sessions.audit)
    plans = [one.plan(asked(**sessions.request(kind))) for one in (sessions.operations, other)]
    sessions.operations.apply(plans[0])
    after = dump(sessions.database)
    with pytest.raises((OperationRefused, SessionNotFound)):
        other.apply(plans[1])
    assert dump(sessions.database) == after


@pytest.mark.parametrize(
    ("kind", "step", "undo"),
    [
        *((kind, step, False) for kind in KINDS for step in STEPS if step != "copy" or kind in DELETES),
        *((kind, step, True) for kind in KINDS for step in ("begun", "rows", "commit", "applied")),
    ],
)
def test_killed_at_each_step(sessions: Sessions, tmp_path: Path, kind: str, step: str, undo: bool) -> None:
    """The rows are as before or as promised, whole, and the log says which; what was interrupted can be done anew."""
    before = dump(sessions.database)
    request = sessions.request(kind)
    operation = sessions.apply(**request) if undo else ""
    promised = before if undo else None
    start = dump(sessions.database)
    wanted = {"kind": "undo", "target": operation} if undo else request
    killed = subprocess.run(
        [sys.executable, "-c", CHILD, str(sessions.home), str(sessions.audit.path), step, json.dumps(wanted)],
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'adapters'}"},
        capture_output=True,
        timeout=180,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    now = dump(sessions.database)
    written = step in ("applied", "verify")
    assert (now != start) is written
    if promised is not None and written:
        assert now == promised
    told = [one.state for one in sessions.operations.log() if one.operation != operation]
    # Before the record is begun there is nothing to tell.
    assert told == ([] if step == "begun" else ["done" if written else "failed"])
    if not written:
        plan = sessions.operations.undo(operation) if undo else sessions.operations.plan(asked(**request))
        assert sessions.operations.apply(plan).state == "done"
        assert (dump(sessions.database) == before) is undo


@pytest.mark.parametrize("step", ["copy", "rows", "commit"])
@pytest.mark.parametrize("kind", DELETES)
def test_a_full_disk(sessions: Sessions, kind: str, step: str) -> None:
    """Nothing is deleted; the log says so, and the same can be done once there is room."""
    before = dump(sessions.database)
    ran = subprocess.run(
        [
            *(sys.executable, "-c", FULL, str(sessions.home), str(sessions.audit.path), step),
            json.dumps(sessions.request(kind)),
        ],
        env={**os.environ, "PYTHONPATH": f"{REPOSITORY}:{REPOSITORY / 'adapters'}"},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert "StoreError" in ran.stderr
    assert dump(sessions.database) == before
    assert [one.state for one in sessions.operations.log()] == ["failed"]
    sessions.apply(**sessions.request(kind))
    assert dump(sessions.database) != before


@pytest.mark.parametrize(
    ("old", "words"),
    [
        ({"days": 1}, ["--older-than", "1"]),
        ({"days": 1, "source": "cron"}, ["--older-than", "1", "--source", "cron"]),
        ({"empty": True}, ["--empty"]),
    ],
    ids=str,
)
def test_a_prune_of_before_the_filters_is_taken_back(
    sessions: Sessions, old: dict[str, Any], words: list[str]
) -> None:
    """As the log had it then, it named no filters."""
    with closing(sqlite3.connect(sessions.database)) as raw, raw:
        raw.execute("INSERT INTO sessions (id, source, started_at, ended_at) VALUES ('empty', 'cli', 1, 2)")
    before = dump(sessions.database)
    new = {"olderThan": "1", **old} if "days" in old else old
    outcome = sessions.operations.apply(sessions.operations.plan(asked(kind="prune-sessions", matching=new)))
    assert outcome.state == "done" and dump(sessions.database) != before
    begun, *others = [json.loads(line) for line in sessions.audit.path.read_bytes().splitlines()]
    begun["request"] = {"kind": "prune-sessions", **old}
    sessions.audit.path.write_text("".join(json.dumps(line) + "\n" for line in (begun, *others)))
    assert sessions.operations.history().problems == ()
    [found] = sessions.operations.log(10)
    assert found.request.words == ("hermes", "sessions", "prune", *words)
    assert sessions.operations.apply(sessions.operations.undo(found.operation)).state == "done"
    assert dump(sessions.database) == before


def test_a_session_that_a_gateway_holds_is_left_alone(sessions: Sessions) -> None:
    lanes = json.loads((sessions.home / ".hermes/sessions/sessions.json").read_text())
    held = {one["session_id"] for key, one in lanes.items() if not key.startswith("_")}
    with closing(sqlite3.connect(sessions.database)) as raw:
        rows = dict(raw.execute("SELECT id, end_reason FROM sessions"))
    held &= rows.keys()
    plan = sessions.operations.plan(Request(kind="delete", session=min(held)))
    assert not plan.refusal
    assert "is in it: its next message goes on there" in " ".join(plan.notes)
    pruned = sessions.operations.plan(Request(kind="prune-sessions", matching=PruneFilter(older_than="1")))
    taken = held & {one.session_id for one in pruned.changes.removed}
    assert taken and all(f"is in {one}: its next message goes on there" in " ".join(pruned.notes) for one in taken)
    with gateway(sessions.home / ".hermes", Path(sys.executable)):
        before = dump(sessions.database)
        for session in sorted(held):
            kinds = ["delete", "clear-messages", "end" if rows[session] is None else "reopen"]
            for kind in kinds:
                found = sessions.operations.plan(Request(kind=kind, session=session))  # type: ignore[arg-type]
                assert "a gateway is running and lane" in found.refusal or found.refusal.startswith("it "), kind
                with pytest.raises(OperationRefused):
                    sessions.operations.apply(found)
        with pytest.raises(OperationRefused, match="a gateway is running and lane"):
            sessions.operations.apply(plan)
        assert dump(sessions.database) == before
        pruned = sessions.operations.plan(Request(kind="prune-sessions", matching=PruneFilter(older_than="1")))
        assert not held & {one.session_id for one in pruned.changes.removed}
        assert sessions.apply(kind="rename", session=min(held), title="Beside a gateway")


def test_what_is_refused(sessions: Sessions) -> None:
    plan = sessions.operations.plan
    assert "it has ended already" in plan(Request(kind="end", session=sessions.ended)).refusal
    assert plan(Request(kind="reopen", session=sessions.open)).refusal == "it has not ended"
    title = sessions.one("SELECT title FROM sessions WHERE title IS NOT NULL")
    assert (
        "has that title; choose another" in plan(Request(kind="rename", session=sessions.ended, title=title)).refusal
    )
    assert (
        plan(Request(kind="prune-sessions", matching=PruneFilter(older_than="9000"))).refusal
        == "no session that has ended is so"
    )
    with pytest.raises(SessionNotFound):
        plan(Request(kind="delete", session="no such"))
    with pytest.raises(ValidationError, match="too long"):
        plan(Request(kind="rename", session=sessions.ended, title="x" * 101))
    with pytest.raises(ValidationError, match="which sessions"):
        plan(Request(kind="prune-sessions"))
    read_only = Operations(Environment(home=sessions.home), audit=sessions.audit, read_only=True)
    with pytest.raises(OperationRefused, match="read-only"):
        read_only.apply(plan(Request(kind="rename", session=sessions.ended, title="x")))


def test_what_stays_beside_the_database_is_said(sessions: Sessions) -> None:
    """Versions up to 0.13 wrote transcripts there; `hermes sessions delete` removes them too."""
    old = sessions.home / ".hermes" / "sessions" / f"{sessions.ended}.jsonl"
    old.write_text("{}\n")
    plan = sessions.operations.plan(Request(kind="delete", session=sessions.ended))
    assert f"{old} stay: what an old version wrote there" in plan.notes
    assert sessions.operations.apply(plan).state == "done"
    assert old.exists()


def test_a_later_schema_is_not_known(sessions: Sessions) -> None:
    with closing(sqlite3.connect(sessions.database)) as raw, raw:
        raw.execute("UPDATE schema_version SET version = 30")
    found = sessions.operations.plan(Request(kind="delete", session=sessions.ended))
    assert "schema 30" in found.refusal
    assert not sessions.operations.plan(Request(kind="rename", session=sessions.ended, title="x")).refusal


def test_a_table_that_nobody_knows_keeps_a_session(sessions: Sessions) -> None:
    with closing(sqlite3.connect(sessions.database)) as raw, raw:
        raw.execute("CREATE TABLE votes (session_id TEXT REFERENCES sessions(id))")
    found = sessions.operations.plan(Request(kind="delete", session=sessions.ended))
    assert found.refusal == "table votes points at sessions, and is not known here"


def test_nothing_is_deleted_that_cannot_be_copied(sessions: Sessions) -> None:
    folder = sessions.audit.path.parent / "deleted"
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("no folder")
    before = dump(sessions.database)
    with pytest.raises((StoreError, OSError)):
        sessions.operations.apply(sessions.operations.plan(asked(**sessions.request("delete"))))
    assert dump(sessions.database) == before
    assert [one.state for one in sessions.operations.log()] == ["failed"]


def test_a_copy_that_is_there_already_stays(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hermes_tui.lifecycle.operations.operations.new_id", lambda now: "20260301T120000-aaaaaa")
    operation = sessions.apply(**sessions.request("delete"))
    copy = sessions.audit.path.parent / "deleted" / f"{operation}.jsonl"
    kept = copy.read_bytes()
    with pytest.raises(StoreError, match="nothing was deleted"):
        sessions.operations.apply(sessions.operations.plan(asked(**sessions.request("clear-messages"))))
    assert copy.read_bytes() == kept


@pytest.mark.parametrize(
    "forge",
    [
        lambda copy: copy.unlink(),
        lambda copy: copy.write_text("nonsense\n"),
        lambda copy: copy.write_text(copy.read_text().replace('"role": "user"', '"rolle": "user"')),
        lambda copy: copy.write_text(""),
    ],
    ids=["gone", "nonsense", "another column", "empty"],
)
def test_a_copy_that_is_not_ours_is_not_put_back(sessions: Sessions, forge: Callable[[Path], Any]) -> None:
    operation = sessions.apply(**sessions.request("delete"))
    forge(sessions.audit.path.parent / "deleted" / f"{operation}.jsonl")
    before = dump(sessions.database)
    with pytest.raises(OperationRefused):
        sessions.operations.apply(sessions.operations.undo(operation))
    assert dump(sessions.database) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": [{"sessionId": "x", "before": {"system_prompt": "a"}, "after": {"system_prompt": "b"}}]},
        {"removed": [{"sessionId": "x", "tables": {"messages": 1}}]},
        {"table": [{"scope": "/", "key": "agent:main:x", "before": "{}", "after": "{}"}]},
    ],
)
def test_a_forged_record_is_passed_over(sessions: Sessions, changes: dict[str, Any]) -> None:
    operation = sessions.apply(**sessions.request("rename"))
    line = json.loads(sessions.audit.path.read_text().splitlines()[0])
    line |= {"operation": "20260101T000000-abcdef", "changes": changes}
    with sessions.audit.path.open("a") as file:
        file.write(json.dumps(line) + "\n")
    history = sessions.operations.history()
    assert [one.id for one in history.operations] == [operation]
    assert len(history.problems) == 1
