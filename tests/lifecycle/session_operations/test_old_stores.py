"""Operations on sessions of stores that earlier versions of Hermes wrote: done, and all as it was after undo."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from hermes_tui.lifecycle.state_db.pruning import PruneFilter
from lifecycle.session_operations.table_dumps import dump
from session_adapters.base import Environment

VERSIONS = ("0.13.0", "0.15.0", "0.16.0", "0.17.0", "0.18.0", "0.18.2")
KINDS = ("rename", "end", "reopen", "delete", "clear-messages", "prune-sessions")
CHOSEN = {
    "end": "ended_at IS NULL",
    "reopen": "ended_at IS NOT NULL AND end_reason IS NOT 'compression'",
    "delete": "id IN (SELECT session_id FROM messages)",
    "clear-messages": "id IN (SELECT session_id FROM messages)",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_done_and_taken_back(store: Callable[..., Path], tmp_path: Path, version: str, kind: Any) -> None:
    home = store("hermes", "old_versions", version)
    database = home / ".hermes" / "state.db"
    operations = Operations(Environment(home=home, variables={}), audit=Audit(tmp_path / "audit.jsonl"))
    with closing(sqlite3.connect(database)) as raw:
        where = CHOSEN.get(kind, "1")
        rows = raw.execute(f"SELECT id FROM sessions WHERE {where} ORDER BY id").fetchall()
        if kind == "reopen" and not rows:  # the sample has none that has ended
            [(one,)] = raw.execute("SELECT id FROM sessions ORDER BY id LIMIT 1").fetchall()
            raw.execute(
                "UPDATE sessions SET ended_at = started_at + 1, end_reason = 'user_exit' WHERE id = ?", (one,)
            )
            raw.commit()
            rows = [(one,)]
        if kind == "prune-sessions":
            raw.execute("UPDATE sessions SET ended_at = started_at + 1, end_reason = 'user_exit', started_at = 1")
            raw.commit()
    before = dump(database)
    if kind == "prune-sessions":
        request = Request(kind=kind, matching=PruneFilter(older_than="1"))
    else:
        request = Request(kind=kind, session=str(rows[0][0]), title="Another name" if kind == "rename" else "")
    plan = operations.plan(request)
    assert not plan.refusal, plan.refusal
    assert dump(database) == before, "a plan changes nothing"
    outcome = operations.apply(plan)
    assert outcome.state == "done", outcome
    after = dump(database)
    assert after["sessions"] != before["sessions"]
    if kind in ("delete", "clear-messages", "prune-sessions"):
        assert len(after["messages"]) < len(before["messages"])
        assert len(after["messages_fts"]) < len(before["messages_fts"])
    undone = operations.apply(operations.undo(outcome.operation))
    assert undone.state == "done", undone
    assert dump(database) == before
