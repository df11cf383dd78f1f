"""Compare and set: what is no longer as the plan found it is not written, and with it nothing else of the plan."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import OperationRefused
from hermes_tui.lifecycle.gateway.homes import HermesHome
from hermes_tui.lifecycle.operations.compare_and_set import write_file, write_rows
from hermes_tui.lifecycle.operations.plan import Cell, Changes, FileChange, RowChange, TableChange
from hermes_tui.lifecycle.state_db.connection.store import Store
from lifecycle.sample_home import LIVE, Home
from tiny_home import tree_hash


@pytest.fixture
def home(store: Callable[..., Path], tmp_path: Path) -> Home:
    return Home(store("hermes", "home"), tmp_path)


def write(home: Home, changes: Changes) -> None:
    """In one transaction, as an operation does it."""
    with Store(home.path / "state.db", read_only=False, clock=time.time) as opened, opened.transaction():
        write_rows(opened, changes)


def lane(home: Home) -> tuple[str, str, str]:
    """Scope, entry and session of the lane."""
    ((scope, text),) = home.sql("SELECT scope, entry_json FROM gateway_routing WHERE session_key = ?", LIVE)
    return scope, text, json.loads(text)["session_id"]


ENDED: dict[str, Cell] = {"ended_at": 5.0, "end_reason": "session_reset"}
OPEN: dict[str, Cell] = {"ended_at": None, "end_reason": None}


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ({"ended_at": 1.0, "end_reason": None}, ENDED, "was changed meanwhile"),
        ({"ended_at": None, "end_reason": "idle"}, ENDED, "was changed meanwhile"),
        (None, {"id": "", "source": "telegram", "started_at": 1.0}, "there is a session .* meanwhile"),
        (OPEN, None, "has been used meanwhile"),
        ({"end_reason": "idle"}, None, "has been used meanwhile"),
    ],
)
def test_a_row_that_is_otherwise(home: Home, before: Any, after: Any, reason: str) -> None:
    session_id = lane(home)[2]
    if after is not None and "id" in after:
        after = after | {"id": session_id}
    others = [id_ for (id_,) in home.sql("SELECT id FROM sessions WHERE end_reason IS NULL AND id != ?", session_id)]
    changes = Changes(
        rows=(
            RowChange(session_id=others[0], before=OPEN, after=ENDED),  # this one is as it was
            RowChange(session_id=session_id, before=before, after=after),
        )
    )
    rows = home.sql("SELECT * FROM sessions")
    with pytest.raises(OperationRefused, match=reason):
        write(home, changes)
    assert home.sql("SELECT * FROM sessions") == rows
    write(home, Changes(rows=changes.rows[:1]))
    assert home.sql("SELECT * FROM sessions") != rows


@pytest.mark.parametrize("after", [None, "{}"])
@pytest.mark.parametrize("before", [None, "stale"])
def test_an_entry_that_is_otherwise(home: Home, before: str | None, after: str | None) -> None:
    scope, text, session_id = lane(home)
    stale = None if before is None else text.replace('"suspended": false', '"suspended": true')
    if stale is None and after is None:
        stale = ""
    changes = Changes(
        rows=(RowChange(session_id=session_id, before=OPEN, after=ENDED),),
        table=(TableChange(scope=scope, key=LIVE, before=stale, after=after),),
    )
    found = (home.sql("SELECT * FROM sessions"), home.sql("SELECT * FROM gateway_routing"))
    with pytest.raises(OperationRefused, match="was changed meanwhile; nothing was changed here"):
        write(home, changes)
    assert (home.sql("SELECT * FROM sessions"), home.sql("SELECT * FROM gateway_routing")) == found
    write(home, Changes(table=(TableChange(scope=scope, key=LIVE, before=text, after=after),)))
    assert home.sql("SELECT entry_json FROM gateway_routing WHERE session_key = ?", LIVE) == [(after,)] * bool(after)


def test_a_member_of_the_file_that_is_otherwise(home: Home) -> None:
    members = home.members()
    stale = json.dumps(members[LIVE] | {"suspended": True})
    tree = tree_hash(home.path)
    for before in (None, stale):
        with pytest.raises(OperationRefused, match=r"was changed in .*sessions\.json meanwhile"):
            write_file(HermesHome(home.path), (FileChange(key=LIVE, before=before, after="{}"),))
    assert tree_hash(home.path) == tree
    write_file(HermesHome(home.path), (FileChange(key=LIVE, before=json.dumps(members[LIVE]), after="{}"),))
    assert home.members() == members | {LIVE: {}}
