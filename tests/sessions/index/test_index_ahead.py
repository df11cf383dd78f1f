"""The process that reads ahead of the indexer: the same index with it, however it ends, and nothing left of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from hermes_tui.platform import locks
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.writing import prefetch
from hermes_tui.sessions.index.writing.worker import WorkerExit
from indexing import BESIDE, build, contents, homes_sources
from session_adapters.base import Environment
from support import REPOSITORY, STORES

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is no such process elsewhere")

PATHS = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "adapters")))
ENDING = """
import os
from hermes_tui.sessions.index.writing import prefetch as ahead
ahead._SENT = 2000
told = ahead._Teller._send
left = [{left}]
def send(self):
    left[0] -= 1
    if left[0] < 0:
        os._exit(9)
    told(self)
ahead._Teller._send = send
"""
"""Has it end after so many times that it told something."""
ODD = """
from session_adapters.claude.adapter import ClaudeAdapter
whole = ClaudeAdapter.texts
def texts(self, source, report, session_id=None, *, prose_only=False):
    found = list(whole(self, source, report, session_id, prose_only=prose_only))
    {do}
    return iter(found)
ClaudeAdapter.texts = texts
"""
"""Changes what one adapter gives."""
FAILING = (
    "if source.path.endswith(sorted(os.listdir(os.path.dirname(source.path)))[0]): raise ValueError(source.path)"
)
APART = "found = [*found[::2], *(one._replace(session_id='other') for one in found), *found[1::2]]"
SILENT = """
import time
from session_adapters.codex.adapter import CodexAdapter
CodexAdapter.texts = lambda *given, **more: time.sleep(600)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the sessions of three agents."""
    home = tmp_path_factory.mktemp("several") / "home"
    shutil.copytree(STORES / "claude" / "home", home)
    shutil.copytree(STORES / "codex" / "home" / ".codex", home / ".codex")
    shutil.copytree(STORES / "hermes" / "home" / ".hermes", home / ".hermes")
    return home


def command(path: Path, before: str = "") -> list[str]:
    return [sys.executable, "-c", f"import os\n{before}\n{BESIDE}", str(path)]


def variables(home: Path) -> Mapping[str, str]:
    return {**os.environ, "HOME": str(home), "PYTHONPATH": PATHS}


def run(home: Path, path: Path, before: str = "") -> dict[str, Any]:
    """What is in the index that the process makes; more than one processor is needed for it."""
    done = subprocess.run(command(path, before), env=variables(home), timeout=120, check=False)
    assert done.returncode == WorkerExit.DONE
    return contents(path)


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def opened(pid: int) -> Iterator[str]:
    """What a process has open."""
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            yield str(entry.readlink())


def test_it_gives_what_is_read_without_it(home: Path, tmp_path: Path) -> None:
    build(Environment(home=home), tmp_path / "plain.db")
    counted = "fork = os.fork\nos.fork = lambda: print('forked', flush=True) or fork()"
    made = subprocess.run(
        command(tmp_path / "beside.db", counted),
        env=variables(home),
        timeout=120,
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert made.returncode == WorkerExit.DONE
    assert made.stdout.split() == ["forked"] * (len(os.sched_getaffinity(0)) > 1)
    assert contents(tmp_path / "beside.db") == contents(tmp_path / "plain.db")


@pytest.mark.parametrize("left", [0, 1, 3, 8])
def test_what_it_does_not_tell_is_read_all_the_same(home: Path, tmp_path: Path, left: int) -> None:
    assert run(home, tmp_path / "i.db", ENDING.format(left=left)) == run(home, tmp_path / "whole.db")


@pytest.mark.parametrize("do", [FAILING, APART])
def test_what_is_odd_in_a_source_is_as_without_it(home: Path, tmp_path: Path, do: str) -> None:
    """One that cannot be read, and sessions of which parts stand apart."""
    odd = ODD.format(do=do)
    alone = f"{odd}\nos.sched_getaffinity = lambda pid: {{0}}"
    assert run(home, tmp_path / "i.db", odd) == run(home, tmp_path / "alone.db", alone)


def test_it_ends_when_its_parent_is_killed_and_holds_no_lock(home: Path, tmp_path: Path) -> None:
    """Also in the middle of a source of which it has nothing to tell."""
    if len(os.sched_getaffinity(0)) < 2:
        return
    path = tmp_path / "i.db"
    process = subprocess.Popen(command(path, SILENT), env=variables(home))
    until(lambda: process.poll() is not None or bool(children(process.pid)))
    (reader,) = children(process.pid)
    until(lambda: not any(name.startswith(str(tmp_path)) for name in opened(reader)))
    process.kill()
    process.wait()
    free = locks.take(path.with_suffix(".lock"))
    assert free is not None
    os.close(free)
    until(lambda: not Path(f"/proc/{reader}").exists() or _is_zombie(reader))
    assert run(home, path) == run(home, tmp_path / "whole.db")


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_it_is_not_there_when_the_indexer_is_asked_to_stop(home: Path, tmp_path: Path) -> None:
    """Its parent ends when nobody is at the other end any more, and it with it."""
    told = "from hermes_tui.sessions.index.writing import prefetch as ahead\nstart = ahead.start\n" + (
        "def said(*given):\n"
        "    made = start(*given)\n    print(made and made._pid, flush=True)\n    return made\n"
        "from hermes_tui.sessions.index.writing import indexer\nindexer.start = said\n"
    )
    process = subprocess.Popen(
        [*command(tmp_path / "i.db", told), "--follow"],
        env=variables(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    pid = process.stdout.readline().strip()
    process.stdin.close()
    assert process.wait(60) == WorkerExit.DONE
    process.stdout.close()
    assert pid == b"None" or not Path(f"/proc/{int(pid)}").exists()


def test_where_it_would_not_pay_or_not_be_safe_there_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment(home=home)
    adapters, sources = Adapters(lambda: environment), homes_sources(environment)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("there is one"))
    assert prefetch.start(adapters, sources) is None  # too little to read
    monkeypatch.setattr(prefetch, "_WORTH", 0)
    with monkeypatch.context() as other:
        other.setattr(os, "sched_getaffinity", lambda pid: {0})
        assert prefetch.start(adapters, sources) is None
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert prefetch.start(adapters, sources) is None
    finally:
        ended.set()
        thread.join()


def test_a_process_that_cannot_be_made_is_none(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = Environment(home=home)
    monkeypatch.setattr(prefetch, "_WORTH", 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(threading, "active_count", lambda: 1)

    def none() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", none)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert prefetch.start(Adapters(lambda: environment), homes_sources(environment)) is None
    assert len(list(Path("/proc/self/fd").iterdir())) == before
