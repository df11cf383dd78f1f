"""What became of an operation is settled once, by the message that came after it, and never judged again."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.errors import StoreError
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.record import AuditRecord
from lifecycle.sample_home import LIVE, Home
from lifecycle.worlds import KEY, World, gateway
from oracle.hermes import Oracle


@pytest.fixture
def world(hermes: Oracle, tmp_path: Path) -> Iterator[World]:
    """A running gateway with one lane."""
    world = World(hermes, tmp_path / "user")
    world.start()
    with gateway(world.home):
        yield world


def lines(world: World) -> list[dict[str, Any]]:
    """The log's, as they stand there."""
    return [json.loads(line) for line in world.audit.path.read_text().splitlines()]


def states(world: World) -> list[str]:
    return [one.state for one in world.operations.log()]


def test_a_late_verdict_is_by_the_first_message(world: World) -> None:
    """Nobody asks for weeks; the lane has been in other sessions since."""
    old = world.talk()
    world.apply("reset")
    new = world.talk()
    world.hermes.store("switch_session", KEY, old)
    world.talk()
    found = world.operations.log()[0]
    assert (found.state, found.evidence and found.evidence.session_id) == ("done", new)


def test_a_log_that_was_read_is_a_log_that_was_settled(world: World) -> None:
    old = world.talk()
    world.apply("reset")
    new = world.talk()
    assert states(world) == ["done"]
    settled = lines(world)[-1]
    first = world.sql("SELECT MIN(id) FROM messages WHERE session_id = ?", new)[0][0]
    assert (settled["state"], settled["evidence"]["sessionId"], settled["evidence"]["message"]) == (
        "done",
        new,
        first,
    )
    # What shows it may go: the verdict stays.
    world.sql("DELETE FROM messages WHERE session_id = ?", new)
    world.hermes.store("switch_session", KEY, old)
    before = world.audit.path.read_bytes()
    assert states(world) == ["done"]
    assert world.audit.path.read_bytes() == before


def test_a_second_verdict_counts_for_nothing(world: World) -> None:
    world.talk()
    operation = world.apply("reset").operation
    world.talk()
    assert states(world) == ["done"]
    later = AuditRecord(
        operation=operation, event="outcome", at=datetime.now(UTC), state="lost", text="seen otherwise"
    )
    world.audit.append(later)
    assert states(world) == ["done"]


def test_read_only_tells_the_same_and_writes_nothing(world: World) -> None:
    world.talk()
    world.apply("reset")
    world.talk()
    before = world.audit.path.read_bytes()
    reader = Operations(world.environment, audit=world.audit, read_only=True)
    assert [one.state for one in reader.log()] == ["done"]
    assert world.audit.path.read_bytes() == before


def test_a_later_operation_settles_the_earlier_one_first(world: World) -> None:
    world.talk()
    first = world.apply("reset").operation
    new = world.talk()
    second = world.apply("suspend").operation
    events = [(line["operation"], line["event"], line.get("state")) for line in lines(world)]
    assert events.index((first, "outcome", "done")) < events.index((second, "begun", None))
    world.talk()
    assert [(one.operation, one.state) for one in world.operations.log()] == [(second, "done"), (first, "done")]
    evidence = world.operations.outcome(first).evidence
    assert evidence is not None and evidence.session_id == new


def test_one_that_no_message_met_is_replaced(world: World) -> None:
    wanted, _ = world.talk(), world.talk(force_new=True)
    first = world.apply("reset").operation
    second = world.apply("resume", target=wanted).operation
    replaced = world.operations.outcome(first)
    assert (replaced.state, replaced.final, second in replaced.text) == ("replaced", True, True)
    assert "no longer pending" in world.operations.undo(first).refusal
    assert world.talk() == wanted
    assert states(world) == ["done", "replaced"]


def test_an_undo_replaces_nothing(world: World) -> None:
    world.talk()
    operation = world.apply("reset").operation
    world.operations.apply(world.operations.undo(operation))
    assert states(world) == ["done", "undone"]


def test_a_log_of_an_older_version_says_what_is_not_known(world: World) -> None:
    """It has no outcome, and not what had been said before the operation."""
    old = world.talk()
    world.apply("reset")
    kept = [{name: value for name, value in line.items() if name != "seen"} for line in lines(world)]
    world.audit.path.write_text("".join(json.dumps(line) + "\n" for line in kept))
    assert states(world) == ["pending"]  # it still stands in the store
    world.talk()
    world.hermes.store("switch_session", KEY, old)
    found = world.operations.log()[0]
    assert (found.state, found.final, "was not noted" in found.text) == ("unknown", True, True)


def test_without_a_gateway_a_store_that_moved_on_is_not_called_lost(home: Home) -> None:
    """The program ended before it wrote the outcome down, and the lane was used since."""
    home.apply("mark")
    log = [line for line in home.audit.read_text().splitlines() if '"event":"outcome"' not in line]
    home.audit.write_text("".join(f"{line}\n" for line in log))
    entry = home.sql("SELECT entry_json FROM gateway_routing WHERE session_key = ?", LIVE)[0][0]
    used = json.dumps(json.loads(entry) | {"resume_pending": False, "updated_at": "2026-06-17T10:00:00"})
    home.sql("UPDATE gateway_routing SET entry_json = ? WHERE session_key = ?", used, LIVE)
    assert home.operations.log()[0].state == "unknown"


def drop_the_last_line(home: Home) -> None:
    """An outcome: as left by a program that ended before it wrote that down."""
    *kept, last = home.audit.read_text().splitlines(keepends=True)
    assert '"event":"outcome"' in last
    home.audit.write_text("".join(kept))


def test_a_store_that_cannot_be_read_hides_no_other_operation(home: Home) -> None:
    settled = home.apply("mark").operation
    home.apply("clear")
    drop_the_last_line(home)
    (home.path / "state.db").write_bytes(b"no database" * 1000)
    later, earlier = home.operations.log()
    assert (later.state, later.final, "cannot be read" in later.text) == ("unknown", False, True)
    assert (earlier.operation, earlier.state) == (settled, "done")


def test_a_log_that_cannot_be_written_is_read_all_the_same(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk nothing was shown of it."""
    home.apply("mark")
    drop_the_last_line(home)

    def full(number: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = home.audit.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        assert [one.state for one in home.operations.log()] == ["done"]
    assert home.audit.read_bytes() == before


def test_a_disk_that_takes_half_a_line_keeps_none_of_it(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was named as a line that cannot be used from then on, by every `lanes log`."""
    home.apply("mark")
    before, write = home.audit.read_bytes(), os.write

    def filled(number: int, data: bytes) -> int:
        return write(number, data[: len(data) // 2])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", filled)
        with pytest.raises(StoreError, match="no space left"):
            home.apply("clear")
    assert home.audit.read_bytes() == before
    assert home.operations.history().problems == ()
