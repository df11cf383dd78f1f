"""What every test gets: a home of its own, and copies of the stores that the real programs wrote."""

from __future__ import annotations

import gc
import importlib
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from functools import cache, partial
from pathlib import Path

import pytest

import chances
import system_programs
from hermes_tui.sessions.manager import SessionManager
from session_adapters.base import Environment
from session_adapters.model import Problem
from support import STORES
from system_programs import pytest_runtest_setup
from tiny_home import TinyHome

__all__ = ["pytest_runtest_setup"]

chances.set_up()

LONG = (
    *("e2e/*", "packaging/*", "snapshots/*", "demo/*", "native/*"),
    *("screens/[!m]*", "screens/memory/*", "screens/main/test_[gms]*", "screens/main/test_open_file.py"),
    *("*_damage.py", "*_damaged_*", "*hostile*", "*_following.py", "*_growing.py", "*_recount.py", "*_real_*"),
    *("*_beside_*", "*_soak.py", "*_long_*", "*_compared.py", "*_order.py"),
    *("cli/stores/*", "cli/test_manners.py", "cli/*native.py", "cli/*lanes.py", "cli/*attention.py", "cli/*named.py"),
    *("cli/*_own_places.py", "cli/*checklist.py", "cli/*search.py", "cli/memory/*"),
    *("laws/test_read_only.py", "laws/test_house.py", "laws/test_one_sqlite.py", "laws/test_left_out.py"),
    "laws/test_imports.py",
    *("lifecycle/operations/*", "lifecycle/session_operations/*", "lifecycle/state_db/*", "lifecycle/lane_index/*"),
    *("mcp_server/*_budget.py", "mcp_server/*_oracle.py", "mcp_server/*_stdio.py"),
    *("session_adapters/every/*_parts.py", "session_adapters/every/*_stands.py", "session_adapters/every/*_on.py"),
    *("session_adapters/every/*_adapter.py", "session_adapters/test_registry.py", "session_adapters/*_texts.py"),
    *("sessions/search/*live.py", "sessions/search/*recall.py", "sessions/search/*_hermes.py"),
    *("sessions/search/test_session_search.py", "sessions/search/*_branches.py", "sessions/export/*_html.py"),
    *("sessions/index/*", "sessions/catalogue/*", "sessions/cost/*_once.py", "sessions/cost/*_clerk.py"),
    *("context/*_stores.py", "memory/test_long_term.py", "memory/*isolation.py"),
    *("platform/test_parent.py", "platform/test_redact.py", "tui/test_watch.py", "widgets/test_transcript_*"),
)
"""Tests that `make quick` leaves out, below this folder: they drive programs, damage files or take long otherwise."""

# A shell that runs the tests in the background lets them ignore Ctrl-C, and so would every program that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

WAITING = (
    *("e2e/*", "demo/test_demo_*", "tui/test_watch.py", "lifecycle/gateway/test_real*"),
    *("screens/test_every_key.py", "screens/test_random_keys.py"),
)
"""Tests that wait for seconds. Half of the workers begin with them, and the others keep the processors busy
meanwhile: at the end the last of them would wait while all else is done."""

LONG_LOOK = 0.03
"""Seconds of a full garbage collection after which it is to pass over what is there."""

MEMORY, ROOM = Path("/dev/shm"), 8 << 30
"""Where Linux keeps files in memory, and bytes that must be free of both."""

_HERE = Path(__file__).parent
_KEPT = {"PATH", "LANG", "LC_ALL", "TERM", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "CI"}


def use_memory() -> None:
    """Have temporary files in memory where there is room, and nobody said where: a disk takes a tenth of the
    processor's time, and has tests wait."""
    if "TMPDIR" in os.environ or not MEMORY.is_mount() or not os.access(MEMORY, os.W_OK):
        return
    status = os.statvfs(MEMORY)
    free = re.search(r"^MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    room = min(status.f_bavail * status.f_frsize, int(free[1]) << 10 if free is not None else 0)
    if room >= ROOM and not status.f_flag & os.ST_NOEXEC:
        os.environ["TMPDIR"], tempfile.tempdir = str(MEMORY), None


use_memory()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """More than there are processors: half of the time tests wait, for real programs and for screens to rest."""
    return (os.cpu_count() or 1) * 2 + 2


def pytest_collection(session: pytest.Session) -> None:
    """Let each worker import at first what no other one does: what pytest has compiled once, all others read.

    Each of them would compile all, in the same order and at the same time: two thirds of what collecting costs.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    sys.dont_write_bytecode = False
    paths = sorted(_HERE.rglob("test_*.py"))
    start = len(paths) * int(worker.removeprefix("gw")) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for path in (*paths[start:], *paths[:start]):
        sys.path.insert(0, str(path.parent))
        with suppress(Exception):  # collecting tries again, and says what is wrong
            importlib.import_module(path.stem)
        del sys.path[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The seed of this run for what hypothesis draws, a mark for what is long, and what waits first."""
    is_long, waits = (cache(partial(_is_one_of, patterns)) for patterns in (LONG, WAITING))
    for item in items:
        if is_long(item.path):
            item.add_marker("long")
        if isinstance(item, pytest.Function):
            chances.repeatable(item.obj)
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    waiting = [item for item in items if waits(item.path)]
    others = [item for item in items if not waits(item.path)]
    order: list[pytest.Item] = []
    waiters = (workers + 1) // 2
    for number in range(workers):  # xdist's worksteal gives each worker such a part at first
        share = waiting[number::waiters] if number < waiters else []
        size = max(0, (len(items) - len(order)) // (workers - number) - len(share))
        order += share + others[:size]
        del others[:size]
    items[:] = order


def _is_one_of(patterns: Sequence[str], path: Path) -> bool:
    return any(fnmatch(path.relative_to(_HERE).as_posix(), pattern) for pattern in patterns)


class Collector:
    """Keeps full garbage collections short: they pass over ten thousand tests, and what these import or keep."""

    def __init__(self) -> None:
        self._began = self._took = 0.0

    def note(self, phase: str, about: Mapping[str, int]) -> None:
        """See `gc.callbacks`."""
        if about["generation"] < 2:
            return
        now = time.thread_time()
        if phase == "start":
            self._began = now
        else:
            self._took = now - self._began

    def pass_over(self) -> None:
        """What is there now, if to go through it takes long."""
        if self._took > LONG_LOOK:
            gc.collect()
            gc.freeze()
            self._took = 0.0


_collector = Collector()


def pytest_collection_finish() -> None:
    """All tests are there."""
    gc.callbacks.append(_collector.note)
    gc.collect()
    _collector.pass_over()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Iterator[None]:
    """What one test was the first to import would be gone through in all others."""
    yield
    _collector.pass_over()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How to have the same random examples again, and what was left out."""
    if chances.SEED is not None:
        terminalreporter.write_line(f"Random tests: HERMES_TUI_SEED={chances.SEED} takes the same examples again.")
    system_programs.pytest_terminal_summary(terminalreporter)


def pytest_make_parametrize_id(val: object) -> str | None:
    """What is long is named by its beginning: pytest puts a test's name into its environment and every report."""
    if isinstance(val, str | bytes) and len(val) > 60:
        return f"{val[:40]!a}...{len(val)}"
    return None


@pytest.fixture(autouse=True)
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """No test sees the developer's own home, agents or settings."""
    home = tmp_path / "isolated-home"
    home.mkdir()
    for name in list(os.environ):
        if name not in _KEPT and not name.startswith("PYTEST"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("TZ", "UTC")
    yield home


@pytest.fixture
def store(tmp_path: Path) -> Callable[..., Path]:
    """`store("claude", "home")` copies that sample store to a temporary directory and returns the copy."""

    def copy(agent: str, *parts: str) -> Path:
        target = tmp_path / "-".join((agent, *parts))
        shutil.copytree(STORES.joinpath(agent, *parts), target, symlinks=True)
        for path in (target, *target.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | 0o200)
        return target

    return copy


@pytest.fixture
def environment() -> Callable[..., Environment]:
    """`environment(home, HERMES_HOME="…")` is a machine with only that home and those variables."""

    def make(home: Path, **variables: str) -> Environment:
        return Environment(home=home, variables=variables)

    return make


@pytest.fixture
def problems() -> list[Problem]:
    """A list whose `append` serves as an adapter's `report`."""
    return []


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution with the adapters of `tiny_adapter`, found by entry point as any other would be.
    The path is the directory that a subprocess needs in PYTHONPATH beside `tests/helpers`; one of our own has it."""
    site = tmp_path / "site"
    information = site / "tiny_agent-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-agent\nVersion: 1.0\n")
    classes = ("tiny:TinyAdapter", "copy:CopyAdapter", "nostore:NoStoreAdapter", "crashing:CrashingAdapter")
    entries = [f"{name} = tiny_adapter:{attribute}" for name, attribute in (one.split(":") for one in classes)]
    entries.append("absent = no_such_module:Adapter")
    entries.append("impostor = pathlib:Path")
    (information / "entry_points.txt").write_text("\n".join(["[hermes_tui.adapters]", *entries]) + "\n")
    monkeypatch.syspath_prepend(str(site))
    known = (str(site), str(Path(__file__).parent / "helpers"), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, known)))
    return site


@pytest.fixture
def tiny_home(tmp_path: Path, third_party: Path) -> TinyHome:
    """A home with a store of the agent `tiny`, empty at first."""
    return TinyHome(tmp_path / "tiny-home")


@pytest.fixture
def manager(tiny_home: TinyHome, tmp_path: Path) -> SessionManager:
    """A manager that reads `tiny_home` alone and keeps its catalogue in a directory of its own."""
    return tiny_home.manager(tmp_path / "cache")
