"""Ten commands that begin together in one home where nothing of ours is yet, while a session is written."""

from __future__ import annotations

import json
import re
import shutil
import stat
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bounded_run import Bounded, run_bounded, started
from claude_lines import ClaudeHome
from hermes_tui.platform import locks
from support import PATIENCE, STORES

pytestmark = pytest.mark.e2e

_LIST = ("sessions", "list", "--limit", "1000", "--json")
_SEARCH = ("sessions", "search", "fruit", "--json")
_NEW = ("sessions", "search", "zebrafinch", "--json")
_COMMANDS = (
    *(3 * (_LIST,)),
    *(3 * (_SEARCH,)),
    ("index", "rebuild", "--json"),
    ("cost", "report", "--json"),
    ("attention", "--json"),
    ("doctor", "--json"),
)
_PROGRESS = re.compile(r"[\d,]+ of [\d,]+ session files, [\d,]+ of [\d,]+ session files\n")
"""What `index rebuild` says every two seconds."""
_MAKING = re.compile(
    r"hermes-tui: (\d+ of \d+ conversations are ordered by relevance, the others behind them by date"
    r"|the index was not asked: it was made anew while it was asked)\n"
)
"""What a search says while the index is being made. That of the latter is read from the sessions."""


@pytest.fixture
def home(tmp_path: Path) -> ClaudeHome:
    """Sessions of several agents, and nothing of ours."""
    home = ClaudeHome(tmp_path / "home")
    for number in range(5):
        home.session(f"old {number} about fruit", turns=3)
    for agent in ("codex", "gemini", "hermes", "opencode", "pi"):
        shutil.copytree(STORES / agent / "home", home.home, dirs_exist_ok=True, copy_function=shutil.copy)
    return home


def answered(command: tuple[str, ...], said: Any, new: str) -> object:
    """An answer without what the new session, the moment and how far the index is add to it."""
    if command in (_LIST, _SEARCH):
        rows = [{**row, "relevanceScore": None} for row in said if row["sessionId"] != new]
        return {row["unifiedId"]: row for row in rows}
    if command[0] == "index":
        return {name: said[name] for name in ("state", "path", "failed", "trouble")}
    if command[0] == "cost":
        return {name: of for name, of in said["breakdowns"].items() if name != "claude"}
    if command[0] == "attention":
        return said["sessions"]
    return [agent for agent in said["agents"] if agent["agent"] != "claude"], said["problems"]


def told(run: Bounded) -> str:
    """What a command said beside its answer, without how far the index was."""
    return _MAKING.sub("", _PROGRESS.sub("", run.stderr))


def test_each_is_answered_as_if_it_were_alone(home: ClaudeHome) -> None:
    ours = home.home / ".cache" / "hermes-tui"
    with ExitStack() as all_of_them:
        runs = [all_of_them.enter_context(started(home.home, *command)) for command in _COMMANDS]
        until = time.monotonic() + PATIENCE
        while not ours.exists():  # the first of them is at work
            assert time.monotonic() < until
            time.sleep(0.01)
        new = home.session("a zebrafinch").stem
        late = [all_of_them.enter_context(started(home.home, *command)) for command in (_LIST, _NEW)]
        first_list, first_search = (run.finish(PATIENCE) for run in late)
        ends = [run.finish(PATIENCE) for run in runs]
        while any(run.running() for run in (*runs, *late)):  # indexers of searches, which end by themselves
            assert time.monotonic() < until
            time.sleep(0.05)
    for run in (first_list, first_search):
        assert (run.code, told(run)) == (0, "")
        assert Counter(row["sessionId"] for row in json.loads(run.stdout))[new] == 1
    check_own_files(ours)
    alone: Mapping[tuple[str, ...], Bounded] = {one: run_bounded(home.home, *one) for one in dict.fromkeys(_COMMANDS)}
    for command, run in zip((*_COMMANDS, _LIST), (*ends, first_list), strict=True):
        assert (run.code, command) == (alone[command].code, command), run.stderr
        assert (told(run), command) == (told(alone[command]), command)
        expected = answered(command, json.loads(alone[command].stdout), new)
        assert answered(command, json.loads(run.stdout), new) == expected, command
    whole = json.loads(run_bounded(home.home, "index", "status", "--json").stdout)
    assert (whole["state"], whole["trouble"], whole["running"]) == ("complete", "", False)
    check_own_files(ours)


def check_own_files(ours: Path) -> None:
    """They are there, for nobody else, and no draft and no held lock is left."""
    found = {path.name: path.lstat().st_mode for path in ours.iterdir()}
    assert {stat.S_IMODE(mode) for mode in found.values()} == {0o600}, found
    assert stat.S_IMODE(ours.stat().st_mode) == 0o700
    kinds = {Path(name).suffix for name in found}
    assert {".msgpack", ".db", ".lock"} <= kinds <= {".msgpack", ".db", ".db-wal", ".db-shm", ".lock", ".seal"}
    assert not any(locks.is_held(path) for path in ours.glob("*.lock"))
    assert not (ours.parents[1] / ".local/state/hermes-tui/hermes-tui.log").exists()
