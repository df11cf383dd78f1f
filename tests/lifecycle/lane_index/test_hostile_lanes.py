"""One lane, row or line of our log that makes no sense hides no other, and nothing is written on its account."""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.cli.lanes.view import board_lines, lane_lines
from hermes_tui.errors import OperationRefused, StoreError, ValidationError
from hermes_tui.lifecycle.lanes import Board, board
from hermes_tui.lifecycle.operations import audit
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from hermes_tui.lifecycle.state_db.pruning import PruneFilter
from hermes_tui.tui.widgets.lanes.facts import lane_blocks, lane_row
from lifecycle.sample_home import LIVE, Home
from session_adapters.base import Environment
from tiny_home import tree_hash

NOW = datetime(2026, 7, 21, 12, tzinfo=UTC)
OTHER = "agent:main:telegram:group:-100700001:12"


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Moves this process into a zone, by a rule as POSIX has it."""

    def move(rule: str) -> None:
        monkeypatch.setenv("TZ", rule)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


def shown(home: Home) -> Board:
    """Every lane, drawn in every way that there is."""
    found = board(home.environment, NOW)
    assert list(board_lines(found, {}, NOW, 120))
    for lane in found.lanes:
        lane_row(lane, NOW, lambda moment: moment, None)
        assert lane_blocks(lane, NOW, lambda moment: moment, None)
        assert list(lane_lines(lane, None, NOW))
    return found


def states(home: Home) -> dict[str, str]:
    return {lane.key: lane.state for lane in shown(home).lanes if lane.profile == "default"}


@pytest.mark.parametrize("zone", ["UTC0", "NZST-12", "PST8"])
@pytest.mark.parametrize(
    ("member", "value", "fault"),
    [
        ("created_at", "0001-01-01T00:00:00", "created_at is .* not a time of this age"),
        ("updated_at", "9999-12-31T23:59:59.999999", "updated_at is .* not a time of this age"),
        ("last_resume_marked_at", "9999-12-31T23:59:59", "last_resume_marked_at is .* not a time of this age"),
        ("last_prompt_tokens", 10**39, "last_prompt_tokens is .* not a whole number that can be one"),
        ("display_name", "half \ud83d", "display_name is no valid Unicode"),
        ("origin.user_id", "\ud800", "origin.user_id is no valid Unicode"),
        ("origin.platform", "\udfff", "origin.platform is no valid Unicode"),
    ],
)
def test_an_entry_off_the_scale_hides_no_other(
    home: Home, in_zone: Callable[[str], None], zone: str, member: str, value: Any, fault: str
) -> None:
    before = states(home)
    home.sql(
        f"UPDATE gateway_routing SET entry_json = json_set(entry_json, '$.{member}', json(?)) WHERE session_key = ?",
        json.dumps(value),
        LIVE,
    )
    in_zone(zone)
    assert states(home) == {**before, LIVE: "unreadable"}
    tree = tree_hash(home.path)
    for kind in ("reset", "suspend", "mark", "clear"):
        plan = home.plan(kind)
        assert "cannot be understood" in plan.refusal
        with pytest.raises(OperationRefused):
            home.operations.apply(plan)
    assert re.search(fault, home.plan("reset").refusal)
    assert tree_hash(home.path) == tree
    assert home.operations.log() == []
    assert home.apply("clear", OTHER).state == "done", "a neighbour can be changed all the same"


def test_a_key_that_is_no_text_hides_no_other(home: Home) -> None:
    """Half a surrogate pair: a key to JSON, and none that a database can be asked for."""
    key = f"{LIVE}\ud800"
    before = states(home)
    home.index.write_text(json.dumps(home.members() | {key: home.members()[LIVE]}))
    assert states(home) == {**before, key: "unreadable"}
    assert [one for one in shown(home).problems if one.endswith("its key is no valid Unicode")]
    home.refuses("reset", key, "cannot be understood: its key is no valid Unicode")
    assert home.apply("clear", OTHER).state == "done"
    assert key in home.members(), "what cannot be understood is kept"


def test_a_word_that_is_no_text_is_looked_for_and_not_found(home: Home) -> None:
    """Bytes of a command line that are no UTF-8."""
    home.refuses("resume", LIVE, "no session", target="\udcff")
    home.refuses("prune-sessions", "", "no session that has ended is so", matching=PruneFilter(title="\udcff"))


@pytest.mark.parametrize("column", ["title", "model", "user_id", "display_name", "end_reason", "source"])
def test_text_that_is_no_utf8_hides_no_other(home: Home, column: str) -> None:
    """Python's sqlite3, and apsw, give up the whole query at one such text."""
    before = states(home)
    session_id = next(lane.session_id for lane in shown(home).lanes if lane.key == LIVE)
    home.sql(f"UPDATE sessions SET {column} = CAST(x'ff41' AS TEXT) WHERE id = ?", session_id)
    found = {lane.key: lane for lane in shown(home).lanes}
    assert {key: state for key, state in states(home).items() if key != LIVE} == {
        key: state for key, state in before.items() if key != LIVE
    }
    assert not [problem for problem in shown(home).problems if "state.db" in problem]
    if column in ("title", "model", "end_reason"):
        assert getattr(found[LIVE], column) == "\ufffdA"
    assert home.apply("clear", OTHER).state == "done"


def test_an_entry_that_is_no_utf8_is_refused(home: Home) -> None:
    home.sql(
        "UPDATE gateway_routing SET entry_json = CAST(replace(entry_json, '\"dm\"', '\"dm') || x'ff' AS TEXT)"
        " WHERE session_key = ?",
        LIVE,
    )
    assert states(home)[LIVE] == "unreadable"
    home.refuses("reset", LIVE, "cannot be understood: it is no JSON")


@pytest.mark.parametrize("target", ["a/../b", "..", "/etc/passwd", "C:x", "a\\b"])
def test_a_session_that_hermes_would_not_load_is_no_target(home: Home, target: str) -> None:
    """Hermes drops a lane whose session's id holds parts of a path: to lead one there would lose it."""
    columns = [name for _, name, *_ in home.sql("PRAGMA table_info(sessions)") if name not in ("id", "title")]
    names = ", ".join(columns)
    lane = next(lane for lane in shown(home).lanes if lane.key == LIVE)
    home.sql(
        f"INSERT INTO sessions (id, {names}) SELECT ?, {names} FROM sessions WHERE id = ?",
        target,
        lane.session_id,
    )
    home.sql("UPDATE sessions SET message_count = 2 WHERE id = ?", target)
    home.refuses(
        "resume", LIVE, "a lane cannot be in it: session_id holds parts of a path", target=target, force=True
    )


def test_lines_of_the_log_that_nobody_wrote(home: Home) -> None:
    """Decoded, and yet no operation: no request, or an outcome of nothing."""
    outcome = home.apply("suspend")
    at, root = NOW.isoformat(), str(home.path)
    with home.audit.open("a") as file:
        for line in (
            {"operation": "a", "event": "begun", "at": at, "home": root},
            {"operation": "b", "event": "outcome", "at": at, "state": "done", "text": "x"},
            {"operation": "c", "event": "begun", "at": at, "home": root, "request": {"kind": "format"}},
            {"operation": outcome.operation, "event": "outcome", "at": at},
        ):
            file.write(f"{json.dumps(line)}\n")
    (one,) = home.operations.log()
    assert (one.operation, one.state) == (outcome.operation, "done")
    for id_ in ("a", "b", "c"):
        with pytest.raises(ValidationError):
            home.operations.undo(id_)
    assert home.apply("reset").state == "done"


def test_another_operation_that_never_ends(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was stopped in the middle: after a while it is said, and nothing is changed."""
    monkeypatch.setattr(audit, "PATIENCE", 0.05)
    plan = home.plan("reset")
    tree = tree_hash(home.path)
    home.audit.parent.mkdir(exist_ok=True)
    with home.audit.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(
            StoreError, match=r"Another hermes-tui has been changing lanes .* nothing was changed here"
        ):
            home.operations.apply(plan)
        told: list[str] = []
        with pytest.raises(StoreError):
            Operations(home.environment, audit=Audit(home.audit), waiting=told.append).apply(plan)
        assert told == ["another process is changing lanes; waiting for it, for 0 s at most"]
    assert tree_hash(home.path) == tree
    assert home.operations.log() == []
    assert home.operations.apply(plan).state == "done"


def test_who_is_waited_for_is_said(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = home.plan("reset")
    home.audit.parent.mkdir(exist_ok=True)
    code = (
        "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX); print(flush=True);"
        " sys.stdin.read()"
    )
    lock = str(home.audit.with_suffix(".lock"))
    with subprocess.Popen([sys.executable, "-c", code, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdin is not None and other.stdout is not None
        other.stdout.readline()
        told: list[str] = []

        def waiting(words: str) -> None:
            told.append(words)
            other.communicate()  # it is through

        monkeypatch.setattr(audit, "SAID_AFTER", 0.05)
        done = Operations(home.environment, audit=Audit(home.audit), waiting=waiting).apply(plan)
    assert done.state == "done"
    name = Path(sys.executable).name[:15]
    assert told == [f"process {other.pid} ({name}) is changing lanes; waiting for it, for 15 s at most"]


@pytest.mark.parametrize("device", ["/dev/full", "/dev/zero", "/dev/null"])
def test_a_log_that_is_no_file(home: Home, device: str) -> None:
    """Reading the first two would never end."""
    plan = home.plan("reset")
    home.audit.parent.mkdir(mode=0o700, exist_ok=True)
    home.audit.symlink_to(device)
    tree = tree_hash(home.path)
    with pytest.raises(
        StoreError, match=r"log of operations .*lanes\.jsonl cannot be read: it is a link, which is not followed"
    ):
        home.operations.apply(plan)
    assert tree_hash(home.path) == tree


@pytest.mark.parametrize("jump", [timedelta(days=-400), timedelta(hours=-1), timedelta(days=400)])
def test_a_clock_that_jumps(home: Home, jump: timedelta) -> None:
    """Between the plan, its application, the question after it and its undo."""
    moment = datetime.now(UTC)
    operations = Operations(home.environment, audit=Audit(home.audit), clock=lambda: moment)
    before = (home.members(), home.sql("SELECT * FROM sessions"), home.sql("SELECT entry_json FROM gateway_routing"))
    plan = operations.plan(Request(kind="reset", key=LIVE))
    moment += jump
    outcome = operations.apply(plan)
    assert (outcome.state, outcome.session_id) == ("done", plan.becomes)
    moment += jump
    assert operations.outcome(outcome.operation).state == "done"
    moment -= 3 * jump
    assert operations.apply(operations.undo(outcome.operation)).state == "done"
    after = (home.members(), home.sql("SELECT * FROM sessions"), home.sql("SELECT entry_json FROM gateway_routing"))
    assert after == before
    assert [one.state for one in operations.log()] == ["done", "undone"]


def test_nobody_judges_an_operation_that_is_under_way(home: Home) -> None:
    """Who looks on while it is carried out must not take it for one that died, least of all in the log for good."""
    onlooker = Operations(home.environment, audit=Audit(home.audit))
    seen: list[tuple[str, str]] = []

    def look(step: str) -> None:
        if step != "verify":
            seen.extend((step, onlooker.outcome(one.operation).state) for one in onlooker.pending())

    operations = Operations(home.environment, audit=Audit(home.audit), step=look)
    for kind, more in (("reset", {}), ("prune", {"days": 1})):
        seen.clear()
        outcome = operations.apply(operations.plan(Request(kind=kind, key="" if more else LIVE, **more)))  # type: ignore[arg-type]
        assert seen == [(step, "pending") for step in ("rows", "index", "commit", "mirror", "applied")]
        assert outcome.state == "done"
        assert onlooker.log()[0].state == "done"
    assert home.audit.read_text().count('"event":"outcome"') == 2


@pytest.mark.parametrize("label", ["0.15.0", "0.17.0", "0.18.0"])
@pytest.mark.parametrize("kind", ["reset", "suspend", "prune"])
def test_a_database_that_fails_at_the_last_moment(
    store: Callable[..., Path], tmp_path: Path, label: str, kind: str
) -> None:
    """Up to 0.18.0 the file counts and is replaced before the rows are committed: it goes back with them."""
    home = Home(store("hermes", "old_versions", label), tmp_path)
    index, rows = home.index.read_bytes(), home.sql("SELECT * FROM sessions")
    written: list[bytes] = []

    def fail(step: str) -> None:
        if step == "commit":
            written.append(home.index.read_bytes())
            raise StoreError("The disk is full.")

    later = datetime.now(UTC) + timedelta(days=400)
    operations = Operations(home.environment, audit=Audit(home.audit), step=fail, clock=lambda: later)
    key = next(key for key in home.members() if not key.startswith("_"))
    request = Request(kind="prune", days=1) if kind == "prune" else Request(kind=kind, key=key)  # type: ignore[arg-type]
    plan = operations.plan(request)
    assert not plan.refusal
    with pytest.raises(StoreError, match="The disk is full"):
        operations.apply(plan)
    assert written != [index]
    assert json.loads(home.index.read_bytes()) == json.loads(index)
    assert home.sql("SELECT * FROM sessions") == rows
    assert [(one.state, one.text) for one in operations.log()] == [("failed", "The disk is full.")]


@pytest.mark.parametrize("kind", ["reset", "suspend", "resume", "mark", "clear", "prune"])
def test_where_nobody_can_tell_whether_a_gateway_runs(home: Home, tmp_path: Path, kind: str) -> None:
    """A system that does not list its locks: beside a gateway the change could be lost, so none is made."""
    (home.path / "gateway.lock").touch()
    target = home.sql("SELECT id FROM sessions WHERE message_count > 0")[0][0]
    home.environment = Environment(home=home.path.parent, proc=tmp_path / "no-proc")
    home.operations = Operations(home.environment, audit=Audit(home.audit))
    more: dict[str, Any] = {"resume": {"target": target}, "prune": {"days": 1}}.get(kind, {})
    home.refuses(kind, "" if kind == "prune" else OTHER, "whether a gateway runs cannot be told", **more)
    assert home.operations.log() == []
