"""Each operation on sessions leaves the rows that `hermes sessions` and its own database leave."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from chances import TIMES, chance
from hermes_tui.cli.hermes.sessions import prune
from hermes_tui.errors import ValidationError
from hermes_tui.lifecycle.operations.audit import Audit
from hermes_tui.lifecycle.operations.operations import Operations
from hermes_tui.lifecycle.operations.plan import Request
from hermes_tui.lifecycle.state_db.pruning import PruneFilter
from lifecycle.session_operations.table_dumps import dump
from oracle.hermes import Oracle, OracleError, oracle_python
from session_adapters.base import Environment


@pytest.fixture
def homes(store: Callable[..., Path], tmp_path: Path) -> tuple[Path, Path]:
    """The sample home twice: ours, and the real one's."""
    ours, theirs = store("hermes", "home"), tmp_path / "theirs"
    shutil.copytree(ours, theirs, symlinks=True)
    # The real one adds what its own schema has by now when it opens a store: both have it then.
    for home in (ours, theirs):
        cli(home, "list", "--limit", "1")
    assert dump(ours / ".hermes/state.db") == dump(theirs / ".hermes/state.db")
    return ours, theirs


def cli(home: Path, *words: str) -> str:
    """The real `hermes sessions …` on that home."""
    done = subprocess.run(
        [str(oracle_python().with_name("hermes")), "sessions", *words],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "HERMES_HOME": str(home / ".hermes"), "TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout


def ours_on(home: Path, tmp_path: Path, **request: Any) -> Operations:
    operations = Operations(Environment(home=home), audit=Audit(tmp_path / "state" / "lanes.jsonl"))
    plan = operations.plan(Request(**request))
    assert not plan.refusal, plan.refusal
    outcome = operations.apply(plan)
    assert outcome.state == "done", outcome
    return operations


def ids(home: Path, query: str) -> list[str]:
    with closing(sqlite3.connect(home / ".hermes" / "state.db")) as raw:
        return [str(id_) for (id_,) in raw.execute(query)]


def test_rename(homes: tuple[Path, Path], tmp_path: Path) -> None:
    ours, theirs = homes
    # A plain one, one that continues another whose title it takes, and one whose title is cleaned.
    continued = ids(
        ours,
        "SELECT c.id FROM sessions c JOIN sessions p ON p.id = c.parent_session_id"
        " WHERE p.end_reason = 'compression' AND p.title IS NOT NULL",
    )
    with closing(sqlite3.connect(ours / ".hermes/state.db")) as raw:
        inherited = [
            raw.execute(
                "SELECT p.title FROM sessions c JOIN sessions p ON p.id = c.parent_session_id WHERE c.id = ?", (one,)
            ).fetchone()[0]
            for one in continued[:1]
        ]
    plain = ids(ours, "SELECT id FROM sessions ORDER BY started_at DESC LIMIT 2")
    renamed = [(plain[0], "Brand new"), (plain[1], "  a\u200b  b\x07 "), *zip(continued[:1], inherited, strict=True)]
    for session, title in renamed:
        ours_on(ours, tmp_path, kind="rename", session=session, title=title)
        assert "renamed to" in cli(theirs, "rename", session, title)
    assert dump(ours / ".hermes/state.db") == dump(theirs / ".hermes/state.db")


def test_delete_every_session_one_by_one(homes: tuple[Path, Path], tmp_path: Path) -> None:
    """With helpers of helpers, branches, continuations and usage rows; each undone, and done once more."""
    ours, theirs = homes
    with_children = ids(
        ours, "SELECT id FROM sessions s WHERE EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = s.id)"
    )
    others = ids(ours, "SELECT session_id FROM session_model_usage UNION SELECT id FROM sessions ORDER BY 1")[:4]
    with Oracle(tmp_path / "oracle") as hermes:
        hermes.home_is(theirs / ".hermes")
        hermes.open()
        for session in [*with_children, *others]:
            if not ids(ours, f"SELECT id FROM sessions WHERE id = '{session}'"):
                continue
            before = dump(ours / ".hermes/state.db")
            operations = ours_on(ours, tmp_path, kind="delete", session=session)
            undo = operations.undo(operations.log(1)[0].operation)
            assert not undo.refusal, undo.refusal
            assert operations.apply(undo).state == "done"
            assert dump(ours / ".hermes/state.db") == before
            ours_on(ours, tmp_path, kind="delete", session=session)
            assert hermes.db("delete_session", session) is True
            assert rows(ours) == rows(theirs)
        hermes.close_store()


def rows(home: Path) -> dict[str, Any]:
    """Without the routing table: the real store above has loaded the lanes, and saves what it makes of them."""
    return {name: found for name, found in dump(home / ".hermes/state.db").items() if name != "gateway_routing"}


def test_delete_by_the_command(homes: tuple[Path, Path], tmp_path: Path) -> None:
    ours, theirs = homes
    session = ids(ours, "SELECT id FROM sessions ORDER BY message_count DESC LIMIT 1")[0]
    ours_on(ours, tmp_path, kind="delete", session=session)
    assert "Deleted session" in cli(theirs, "delete", session, "--yes")
    assert dump(ours / ".hermes/state.db") == dump(theirs / ".hermes/state.db")


@pytest.mark.parametrize(
    "filters",
    [
        {"older_than": "1"},
        {"older_than": "1", "source": "telegram"},
        {"source": "cron", "max_messages": 8},
        {"cwd": "/home/hermes/projects/atlas", "include_archived": True},
        {"title": "fix DOCKER", "model": "GPT", "newer_than": "2020-01-01"},
    ],
    ids=str,
)
def test_prune(homes: tuple[Path, Path], tmp_path: Path, filters: dict[str, Any]) -> None:
    ours, theirs = homes
    matching = PruneFilter(**filters)
    before = dump(ours / ".hermes/state.db")
    operations = ours_on(ours, tmp_path, kind="prune-sessions", matching=matching)
    [pruned] = operations.log(1)
    said = cli(theirs, "prune", *matching.words, "--yes")
    gone = len(before["sessions"]) - len(dump(ours / ".hermes/state.db")["sessions"])
    assert gone and f"Pruned {gone} session(s)" in said
    assert dump(ours / ".hermes/state.db") == dump(theirs / ".hermes/state.db")
    assert operations.apply(operations.undo(pruned.operation)).state == "done"
    assert dump(ours / ".hermes/state.db") == before


FILTERS: dict[str, tuple[Any, ...]] = {
    "older_than": ("1", "200d", "2026-11-20", "9w"),
    "newer_than": ("1", "2026-11-20 12:00", "400d", "1e3"),
    "source": ("cli", "telegram", "no such"),
    "title": ("docker", "Fix", "会话", "no such"),
    "end_reason": ("user_exit", "compression"),
    "cwd": ("/home/hermes/projects/atlas", "/home/hermes/projects/atlas/services/", "/home/hermes/projects/at"),
    "model": ("CLAUDE", "gpt-5", "405b"),
    "provider": ("OpenRouter", "nous"),
    "user": ("U1", "78"),
    "chat_id": ("C0700001", "700001"),
    "chat_type": ("dm", "group"),
    "branch": ("MAI", "feature"),
    "min_messages": (0, 8),
    "max_messages": (0, 8),
    "min_tokens": (1, 70_000),
    "max_tokens": (0, 70_000),
    "min_cost": (0.01, 2.5),
    "max_cost": (0.0, 2.5),
    "min_tool_calls": (1, 5),
    "max_tool_calls": (0, 3),
    "include_archived": (True,),
}
"""Of `hermes sessions prune --help`, with values of the sample home; the options `--before` and `--after` are the
first two by other names."""


def test_every_filter_finds_what_hermes_finds(homes: tuple[Path, Path], tmp_path: Path) -> None:
    ours, theirs = homes
    operations = Operations(Environment(home=ours), audit=Audit(tmp_path / "a.jsonl"))
    single = [{name: value} for name, values in FILTERS.items() for value in values]
    dice = chance(20)
    several = [
        {name: dice.choice(FILTERS[name]) for name in dice.sample(sorted(FILTERS), dice.randint(2, 3))}
        for _ in range(100 * TIMES)
    ]
    found = 0
    with Oracle(tmp_path / "oracle") as hermes:
        hermes.home_is(theirs / ".hermes")
        hermes.open()
        for filters in [*single, *several]:
            try:
                expected = hermes.prunable(**filters)
            except OracleError:
                with pytest.raises(ValidationError, match=r"is no age|nothing is newer"):
                    operations.plan(Request(kind="prune-sessions", matching=PruneFilter(**filters)))
                continue
            if filters.keys() == {"include_archived"}:
                continue  # nothing is asked for: refused here
            plan = operations.plan(Request(kind="prune-sessions", matching=PruneFilter(**filters)))
            assert {one.session_id for one in plan.changes.removed} == set(expected), filters
            assert (plan.refusal == "no session that has ended is so") is (not expected)
            found += bool(expected)
        hermes.close_store()
    assert found > len(single) // 2


def test_every_filter_of_hermes_is_offered() -> None:
    said = subprocess.run(
        [str(oracle_python().with_name("hermes")), "sessions", "prune", "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    theirs = set(re.findall(r"--[a-z-]+", said))
    ours = {name for one in prune.params for name in one.opts}
    assert theirs - {"--help"} <= ours, "and the whole of it is compared above"
    assert {"--" + name.replace("_", "-") for name in FILTERS} == theirs - {
        *("--help", "--dry-run", "--yes", "--before", "--after")
    }


def test_the_last_ones_are_kept(homes: tuple[Path, Path], tmp_path: Path) -> None:
    """Hermes has no such filter."""
    ours, _ = homes
    query = "SELECT id FROM sessions WHERE ended_at IS NOT NULL AND archived = 0 {} ORDER BY started_at, id"
    operations = Operations(Environment(home=ours), audit=Audit(tmp_path / "a.jsonl"))
    for filters, where in (({}, ""), ({"source": "cli"}, "AND source = 'cli'"), ({"keep_last": 1000}, "AND 0")):
        wanted = PruneFilter(**{"keep_last": 3, **filters})  # type: ignore[arg-type]
        plan = operations.plan(Request(kind="prune-sessions", matching=wanted))
        assert sorted(one.session_id for one in plan.changes.removed) == sorted(ids(ours, query.format(where))[:-3])


def test_a_part_of_a_title_is_that_part(homes: tuple[Path, Path], tmp_path: Path) -> None:
    """Hermes takes `_` and `%` for any text, and deletes more than was asked for."""
    ours, _ = homes
    first, second = ids(
        ours, "SELECT id FROM sessions WHERE ended_at IS NOT NULL AND archived = 0 ORDER BY id LIMIT 2"
    )
    with closing(sqlite3.connect(ours / ".hermes/state.db")) as raw, raw:
        raw.execute("UPDATE sessions SET title = '100% done' WHERE id = ?", (first,))
        raw.execute("UPDATE sessions SET title = '1000 done' WHERE id = ?", (second,))
    operations = Operations(Environment(home=ours), audit=Audit(tmp_path / "a.jsonl"))
    plan = operations.plan(Request(kind="prune-sessions", matching=PruneFilter(title="100% d")))
    assert [one.session_id for one in plan.changes.removed] == [first]


@pytest.mark.parametrize(
    ("ours_kind", "theirs_op"), [("prune-sessions", "delete_empty_sessions"), ("clear-messages", "clear_messages")]
)
def test_what_only_its_database_can(homes: tuple[Path, Path], tmp_path: Path, ours_kind: str, theirs_op: str) -> None:
    """Its dashboard deletes empty sessions; nothing of it but Python clears one."""
    ours, theirs = homes
    for home in homes:
        with closing(sqlite3.connect(home / ".hermes/state.db")) as raw, raw:
            raw.execute("INSERT INTO sessions (id, source, started_at, ended_at) VALUES ('empty', 'cli', 1, 2)")
    session = ids(ours, "SELECT id FROM sessions ORDER BY message_count DESC LIMIT 1")[0]
    one: dict[str, Any] = (
        {"session": session} if ours_kind == "clear-messages" else {"matching": PruneFilter(empty=True)}
    )
    before = dump(ours / ".hermes/state.db")
    operations = ours_on(ours, tmp_path, kind=ours_kind, **one)
    with Oracle(tmp_path / "oracle") as hermes:
        hermes.home_is(theirs / ".hermes")
        hermes.open()
        hermes.db(theirs_op, *([session] if ours_kind == "clear-messages" else []))
        hermes.close_store()
    assert rows(ours) == rows(theirs)
    assert operations.apply(operations.undo(operations.log(1)[0].operation)).state == "done"
    assert dump(ours / ".hermes/state.db") == before


def test_end_and_reopen(homes: tuple[Path, Path], tmp_path: Path) -> None:
    ours, theirs = homes
    session = ids(ours, "SELECT id FROM sessions WHERE ended_at IS NULL ORDER BY started_at LIMIT 1")[0]
    operations = ours_on(ours, tmp_path, kind="end", session=session, reason="done_with")
    with Oracle(tmp_path / "oracle") as hermes:
        hermes.home_is(theirs / ".hermes")
        hermes.open()
        hermes.db("end_session", session, "done_with")
        ends = [
            [
                (one[0], one[-1])
                for one in select(home, f"SELECT ended_at, end_reason FROM sessions WHERE id = '{session}'")
            ]
            for home in homes
        ]
        assert abs(ends[0][0][0] - ends[1][0][0]) < 60 and ends[0][0][1] == ends[1][0][1] == "done_with"
        ours_on(ours, tmp_path, kind="reopen", session=session)
        hermes.db("reopen_session", session)
        hermes.close_store()
    assert rows(ours) == rows(theirs)
    undo = operations.undo(operations.log(2)[1].operation)
    assert "no longer as" in undo.refusal


def select(home: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(home / ".hermes" / "state.db")) as raw:
        return raw.execute(query).fetchall()
