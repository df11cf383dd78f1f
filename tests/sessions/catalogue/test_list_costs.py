"""Costs in a list: what agents recorded and what was added up before, never by reading sessions for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_tui.cli.execute import execute
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from session_adapters.reading.files import METER
from spending import Spender

MILLION = 1_000_000


@pytest.fixture
def spender(tmp_path: Path) -> Spender:
    """Two sessions whose cost must be estimated, at 1 dollar a million tokens in and 5 out."""
    made = Spender(tmp_path / "home")
    made.session("one", {"input": MILLION})
    made.session("two", {"output": MILLION})
    return made


def costs(spender: Spender) -> dict[str, float | None]:
    """Session id → US dollars, as a new process lists them."""
    return {one.session_id: one.cost.total_usd if one.cost else None for one in spender.manager().list("claude")}


def test_a_list_reads_no_session_for_its_cost(spender: Spender) -> None:
    manager = spender.manager()
    manager.catalogue.refresh()
    METER.reset()
    found = manager.list("claude")
    assert (METER.opened, METER.bytes) == (0, 0)
    assert [one.cost for one in found] == [None, None]
    assert manager.pending_costs(found) == {"claude:one", "claude:two"}


def test_what_was_added_up_is_shown_until_the_session_changes(spender: Spender) -> None:
    spender.manager().total_cost()
    assert costs(spender) == {"one": 1.0, "two": 5.0}
    spender.session("two", {"output": MILLION}, {"output": MILLION})
    assert costs(spender) == {"one": 1.0, "two": None}
    manager = spender.manager()
    assert manager.pending_costs(manager.list("claude")) == {"claude:two"}
    dearest = manager.list("claude", sort="cost")
    assert [(one.session_id, one.cost and one.cost.total_usd) for one in dearest] == [("two", 10.0), ("one", 1.0)]
    assert costs(spender) == {"one": 1.0, "two": 10.0}


def test_adding_up_one_agent_forgets_no_other(spender: Spender) -> None:
    spender.manager(None, "claude", "pi").total_cost()
    assert spender.manager(None, "claude", "pi").list("pi", sort="cost") == []
    assert costs(spender) == {"one": 1.0, "two": 5.0}


def test_a_cost_that_nobody_can_tell_is_not_pending(spender: Spender) -> None:
    spender.session("odd", {"input": 5, "model": "model-of-nobody"})
    spender.manager().total_cost()
    manager = spender.manager()
    found = manager.list("claude")
    assert {one.session_id: one.cost is None for one in found} == {"one": False, "two": False, "odd": True}
    assert manager.pending_costs(found) == frozenset()


def test_a_helper_without_calls_in_the_file_of_its_session_is_not_pending(
    store: Callable[..., Path], tmp_path: Path
) -> None:
    """Copilot keeps helpers there; each list said of such a one that its cost is not added up yet, for ever."""
    home = store("copilot", "home")
    for path in home.rglob("events.jsonl"):
        records = [line for line in path.read_text().splitlines(keepends=True) if "session.usage_record" not in line]
        path.write_text("".join(records))

    def manager() -> SessionManager:
        return SessionManager(Environment(home=home), cache_dir=tmp_path / "cache", agents=("copilot",), prices={})

    manager().total_cost()
    after = manager()
    found = after.list()
    assert any(one.kind == "subagent" and one.cost is None for one in found)
    assert after.pending_costs(found) == frozenset()


def test_the_sum_of_the_ends_is_not_shown_as_the_cost(tmp_path: Path) -> None:
    """Pi records what each call cost; of a large session the list reads the first and the last of them alone."""
    store = tmp_path / "home" / ".pi" / "agent" / "sessions" / "--srv--"
    store.mkdir(parents=True)
    records: list[dict[str, object]] = [
        {"type": "session", "version": 3, "id": "long", "timestamp": "2026-03-01T12:00:00.000Z", "cwd": "/srv"}
    ]
    for number in range(200):
        message = {
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": "x" * 2000}],
            "usage": {"input": 1, "output": 1, "cost": {"total": 0.5}},
        }
        records.append(
            {
                "type": "message",
                "id": f"e{number}",
                "parentId": f"e{number - 1}" if number else None,
                "timestamp": "2026-03-01T12:00:01.000Z",
                "message": message,
            }
        )
    path = store / "2026-03-01T12-00-00-000Z_long.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    environment = Environment(home=tmp_path / "home")
    manager = SessionManager(environment, cache_dir=tmp_path / "cache", agents=("pi",), prices={})
    (one,) = manager.list("pi")
    assert one.partial and one.cost is None
    assert manager.pending_costs([one]) == {"pi:long"}
    (whole,) = manager.list("pi", sort="cost")
    assert whole.cost is not None and whole.cost.total_usd == 100.0


def test_the_table_marks_it_and_says_how_to_know(spender: Spender, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["--home", str(spender.home), "sessions", "list", "claude"]
    assert execute(arguments) == 0
    out, err = capfd.readouterr()
    assert [line.split()[5] for line in out.splitlines()[1:]] == ["…", "…"]
    assert "2 of these costs not added up yet" in err and "cost report" in err
    assert execute([*arguments[:2], "cost", "report"]) == 0
    capfd.readouterr()
    assert execute(arguments) == 0
    out, err = capfd.readouterr()
    assert sorted(line.split()[5] for line in out.splitlines()[1:]) == ["~1.00", "~5.00"]
    assert err == ""


def test_exact_rows_cost_reading_their_own_files(spender: Spender) -> None:
    manager = spender.manager()
    one = next(row for row in manager.list("claude") if row.session_id == "one")
    METER.reset()
    (exact,) = manager.exact([one])
    assert exact.cost is not None
    assert exact.cost.total_usd == 1.0
    assert METER.opened == 1
    assert spender.manager().pending_costs(manager.list("claude")) == {"claude:two"}, "the other was added up"
