"""Runs a command of the program in a child, and measures how long and how large it gets.

`LIMIT` is what a command may take on any input. The memory is compared with the same command on an empty home: what
the interpreter and the program's own modules take is not the fault of a store.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

__all__ = [
    "LIMIT",
    "Bounded",
    "Limit",
    "Run",
    "Stopwatch",
    "baseline",
    "run_bounded",
    "run_interrupted",
    "run_killed",
    "started",
]


class Limit(NamedTuple):
    """What a command may take."""

    seconds: float
    megabytes: float


LIMIT = Limit(seconds=5.0, megabytes=300.0)

_LOOK = 0.02
"""Seconds between two looks at a run."""
_PARTING = 1.0
"""Seconds within which a helper ends after the program that started it."""
_MARK = "HERMES_TUI_TEST_RUN"
"""A variable that every process of one run inherits, by which those that outlive it are found."""
_MEASURE = """
import os, resource, signal, sys
child = os.fork()
if not child:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    os.execv(sys.argv[2], sys.argv[2:])
for one in (signal.SIGINT, signal.SIGTERM):
    signal.signal(one, signal.SIG_IGN)
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as report:
    report.write(f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss} {usage.ru_utime + usage.ru_stime}")
"""
"""Forks from a small process: a child begins with the peak of the one that it was forked from. What runs away gets
no more memory than the machine can spare."""


class Stopwatch:
    """Seconds without those for which the machine let these processes wait for a processor. Says how long they take,
    whatever else runs; `look` now and then while they are there. With our own among them, the time in which we were
    late to see that they ended does not count either."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._began = time.monotonic()
        self._pids = tuple(pids)
        self._before: dict[str, float] = {}
        self._latest: dict[str, float] = {}
        self.look()
        self._before |= self._latest

    def look(self, *started: int) -> None:
        """Note how long those that are still there have waited, and others that were started since."""
        for pid in (*self._pids, *started):
            self._latest.update(_waited(pid))

    def seconds(self) -> float:
        """So far."""
        self.look()
        waited = sum(self._latest.values()) - sum(self._before.values())
        return time.monotonic() - self._began - waited


def _waited(pid: int) -> Mapping[str, float]:
    """Seconds for which the threads of a process could run and had no processor."""
    found: dict[str, float] = {}
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError, IndexError):  # it may have ended
                found[task.name] = int((task / "schedstat").read_text().split()[1]) / 1e9
    return found


def _below(pid: int) -> Iterator[int]:
    """The processes that this one started, and those that they did."""
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield int(child)
                yield from _below(int(child))


class Bounded(NamedTuple):
    """A finished run."""

    code: int
    """Exit code, or minus the signal that ended it."""
    wall: float
    """Seconds by the clock on the wall."""
    seconds: float
    """The same without those in which it waited for a processor; not less than the processor worked for it."""
    processor: float
    """Seconds that the processor worked for it."""
    megabytes: float
    """Peak of resident memory, of the command or of a process that it waited for, whichever is larger."""
    stdout: str
    stderr: str
    left: tuple[int, ...]
    """Processes that it left running, and still ran `_PARTING` seconds later. They are ended."""

    def over(self, baseline: Bounded) -> float:
        """Megabytes above the peak of another run."""
        return self.megabytes - baseline.megabytes


def run_bounded(home: Path, *arguments: str, timeout: float = 60.0, **variables: str) -> Bounded:
    """`hermes-tui ARGUMENTS` with HOME and the caches below `home`; broken off after `timeout` seconds (code -9)."""
    with started(home, *arguments, **variables) as run:
        return run.finish(timeout)


def run_interrupted(
    home: Path, *arguments: str, after: float, timeout: float = 60.0, **variables: str
) -> tuple[Bounded, float]:
    """The same, with Ctrl-C pressed `after` seconds; how long it took to end from then on (`Stopwatch`)."""
    with started(home, *arguments, **variables) as run:
        time.sleep(after)
        watch = Stopwatch([*run.running(), os.getpid()])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(run.process.pid, signal.SIGINT)
        while run.process.poll() is None and watch.seconds() < timeout:
            time.sleep(0.02)
        seconds = watch.seconds()
        return run.finish(0.0), seconds


def run_killed(home: Path, *arguments: str, after: float, timeout: float = 60.0, **variables: str) -> Bounded:
    """The same, with the program itself, and none that it started, killed by SIGKILL after that many seconds."""
    with started(home, *arguments, **variables) as run:
        time.sleep(after)
        run.kill()
        return run.finish(timeout)


@functools.cache
def baseline(*arguments: str) -> Bounded:
    """The same command on a home with nothing in it."""
    with tempfile.TemporaryDirectory(prefix="empty-home-") as home:
        return run_bounded(Path(home), *arguments)


class Run:
    """A command that runs. All of it is ended when the block of `started` is left."""

    def __init__(self, home: Path, arguments: Sequence[str], variables: Mapping[str, str], folder: Path) -> None:
        self._report, self._out, self._err = folder / "report", folder / "out", folder / "err"
        self._mark = f"{_MARK}={uuid4().hex}"
        name, _, value = self._mark.partition("=")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            name: value,
            **variables,
        }
        measured = [sys.executable, "-I", "-S", "-c", _MEASURE, str(self._report)]
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._started = time.monotonic()
            self.process = subprocess.Popen(
                [*measured, sys.executable, "-m", "hermes_tui", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                cwd=home,
                start_new_session=True,
            )
        self._watch = Stopwatch([self.process.pid])

    def finish(self, timeout: float) -> Bounded:
        """Wait for it; it is broken off `timeout` seconds after its start (code -9)."""
        peak = 0
        while (wall := time.monotonic() - self._started) < timeout and self.process.poll() is None:
            self._watch.look(*_below(self.process.pid))
            time.sleep(_LOOK)
        seconds = self._watch.seconds()
        if self.process.poll() is None:
            peak = max(map(_peak, self.running()), default=0)
            self.end()
        said = self._report.read_text().split() if self._report.exists() else []
        code, kilobytes, processor = said or ("-9", str(peak), "0")
        return Bounded(
            int(code),
            wall,
            max(seconds, float(processor)),
            float(processor),
            int(kilobytes) / 1024,
            self._out.read_text(errors="replace"),
            self._err.read_text(errors="replace"),
            self._left(),
        )

    def kill(self) -> None:
        """The program, which the process that measures has for its only child."""
        pid = self.process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)

    def _left(self) -> tuple[int, ...]:
        watch = Stopwatch([*self.running(), os.getpid()])
        while (found := self.running()) and watch.seconds() < _PARTING:
            time.sleep(0.02)
        return found

    def running(self) -> tuple[int, ...]:
        """All processes of this run."""
        found: list[int] = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                with contextlib.suppress(OSError):
                    if self._mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
        return tuple(found)

    def end(self) -> None:
        """Kill whatever is left."""
        for pid in self.running():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


def _peak(pid: int) -> int:
    """Kilobytes that a running process had at most."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


@contextlib.contextmanager
def started(home: Path, *arguments: str, **variables: str) -> Iterator[Run]:
    """`hermes-tui ARGUMENTS` as `run_bounded` has it, while it runs."""
    with tempfile.TemporaryDirectory(prefix="bounded-run-") as folder:
        run = Run(home, arguments, variables, Path(folder))
        try:
            yield run
        finally:
            run.end()
