"""Reading in a second process while the list is made."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.cost import parallel_read
from session_adapters.base import Environment
from spending import Spender

MILLION = 1_000_000
BEGIN = """
import os, select, sys, threading
from pathlib import Path
from hermes_tui.sessions.cost import parallel_read as beside
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from session_adapters.claude.adapter import ClaudeAdapter

os.sched_getaffinity = lambda pid: {0, 1}  # also on a machine with one core
home, cache = map(Path, sys.argv[1:3])
read = []
usage = ClaudeAdapter.usage
def noted(self, source, *rest):
    read.append(source.session_id)
    return usage(self, source, *rest)
ClaudeAdapter.usage = noted
manager = SessionManager(Environment(home=home), cache_dir=cache, agents=("claude",), prices={})
"""
END = """
total = manager.total_cost()
print(total.total_usd, total.call_count, sorted(read))
print(len(os.listdir("/proc/self/fd")), threading.active_count())
try:
    print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("no process is left")
"""


@pytest.fixture
def spender(tmp_path: Path) -> Spender:
    spender = Spender(tmp_path / "home")
    spender.session("one", {"input": MILLION})
    spender.session("two", {"input": MILLION}, {"input": MILLION})
    return spender


def run(spender: Spender, middle: str, cache: str = "cache") -> list[str]:
    """What a program prints that begins, does `middle` and asks for the total."""
    command = [sys.executable, "-c", BEGIN + middle + END, str(spender.home), str(spender.home.parent / cache)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_this_process_reads_nothing_of_what_the_other_has_read(spender: Spender) -> None:
    alone = run(spender, "", "alone")
    assert alone[0] == "3.0 3 ['one', 'two']"
    assert run(spender, "manager.costs.begin()") == ["3.0 3 []", alone[1], "no process is left"]


@pytest.mark.parametrize("listed", [False, True])
def test_the_price_list_is_asked_by_the_one_that_has_time(spender: Spender, listed: bool) -> None:
    if listed:
        run(spender, "manager.list(); manager.catalogue.close(); sys.exit()")
    lines = run(spender, "manager.costs.begin(); manager.total_cost(); print('genai_prices' in sys.modules)")
    assert lines[:2] == [str(listed), "3.0 3 []"]


def test_what_changed_since_is_read_again(spender: Spender) -> None:
    changed = """
manager.costs.begin()
select.select((manager.costs._ledger._beside._fd,), (), ())  # it has read everything
path = home / ".claude/projects/-srv-shop/two.jsonl"
text = path.read_text()
path.write_text("".join(text.splitlines(True)[:2]))
"""
    assert run(spender, changed)[0] == "2.0 2 ['two']"


def test_a_process_that_dies_costs_time_alone(spender: Spender) -> None:
    for dying in (
        "os.kill(manager.costs._ledger._beside._pid, 9)",
        "os.kill(manager.costs._ledger._beside._pid, 2)",
    ):
        lines = run(spender, f"manager.costs.begin()\n{dying}\n", str(len(dying)) + dying[-2])
        assert lines[0].startswith("3.0 3 ")
        assert lines[2] == "no process is left"


def test_trouble_is_told_by_this_process(spender: Spender) -> None:
    (spender.projects / "-srv-shop" / "two.jsonl").unlink()
    trouble = """
from session_adapters.model import Problem
def broken(self, source, report, *rest):
    report(Problem(agent="claude", path=source.path, reason="cannot be read"))
    return iter(())
ClaudeAdapter.usage = broken
manager.costs.begin()
manager.catalogue.refresh()
print([one.reason for one in manager.costs.problems])
"""
    assert run(spender, trouble)[0] == "['cannot be read']"


def test_nothing_is_begun_where_costs_are_known(spender: Spender) -> None:
    run(spender, "")
    asked = "\nbeside.start = None\nmanager.costs.begin()\nprint(manager.costs._ledger._beside)\n"
    assert run(spender, asked)[:2] == ["None", "3.0 3 []"]


def test_no_process_is_made_beside_threads_or_for_one_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adapters = Adapters(lambda: Environment(home=tmp_path), ("claude",))
    monkeypatch.setattr(os, "fork", None)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert parallel_read.start(adapters, None) is None
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    assert parallel_read.start(adapters, None) is None


def test_where_no_process_can_be_had_none_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    adapters = Adapters(lambda: Environment(home=tmp_path), ("claude",))
    monkeypatch.setattr(os, "fork", refused)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert parallel_read.start(adapters, None) is None
    assert len(list(Path("/proc/self/fd").iterdir())) == before
