"""The program beside ten live agents: what it takes while they rest, and how soon it tells that one waits.

`Changes` has them change their states for long, for the soak.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

from benchmarks.measures import Row, Tool, idle
from benchmarks.terminal import Terminal

__all__ = ["attending"]

_AGENTS = 10
_CHANGES = 20
_WAKES = """
import os, sys, time
used, began = time.process_time(), time.monotonic()
for _ in range(int(sys.argv[1])):
    time.sleep(1)
    os.stat("/")
print((time.process_time() - used) / (time.monotonic() - began) * 100)
"""
"""What a Python takes on this machine that does next to nothing each second, per cent of a processor."""


class LiveAgents:
    """Ten processes; each has one of the newest sessions of Claude Code open, as that program says it."""

    def __init__(self, home: Path, *, in_tmux: bool) -> None:
        """`in_tmux`: in panes of a server of their own, which `variables` lead to."""
        self._in_tmux = in_tmux
        self._children: list[subprocess.Popen[bytes]] = []
        self._folder = tempfile.TemporaryDirectory(prefix="tmux-", dir="/tmp")
        self.variables = {"TMUX_TMPDIR": self._folder.name}
        self._tell = home / ".claude" / "sessions"
        self._made = not self._tell.exists()
        self._tell.mkdir(exist_ok=True)
        files = list((home / ".claude" / "projects").glob("*/*.jsonl"))
        files.remove(max(files, key=lambda path: path.stat().st_size))  # which the soak's agents write
        newest = sorted(files, key=lambda path: -path.stat().st_mtime)
        self.sessions = [path.stem for path in newest[:_AGENTS]]
        self.pids: list[int] = []

    def __enter__(self) -> Self:
        for number in range(_AGENTS):
            self.pids.append(self._start(first=number == 0))
            self.say(number, "idle")
        return self

    def __exit__(self, *_: object) -> None:
        if self._in_tmux:
            self._tmux("kill-server")
        for child in self._children:
            child.kill()
            child.wait()
        for pid in self.pids:
            (self._tell / f"{pid}.json").unlink()
        if self._made:
            self._tell.rmdir()
        self._folder.cleanup()

    def _start(self, *, first: bool) -> int:
        argv = ["sleep", "100000"]
        if not self._in_tmux:
            self._children.append(subprocess.Popen(argv))
            return self._children[-1].pid
        how = ("new-session", "-d", "-P") if first else ("new-window", "-P")
        return int(self._tmux(*how, "-F", "#{pane_pid}", *argv))

    def say(self, number: int, status: str, **more: str) -> None:
        """What that agent says of itself now."""
        pid = self.pids[number]
        start = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        facts = {"pid": pid, "sessionId": self.sessions[number], "procStart": start, "status": status, **more}
        facts["statusUpdatedAt"] = int(time.time() * 1000)
        (self._tell / f"{pid}.json").write_text(json.dumps(facts))

    def _tmux(self, *arguments: str) -> str:
        environment = {**os.environ, **self.variables}
        return subprocess.run(
            ["tmux", "-L", "agents", *arguments], env=environment, check=True, capture_output=True, text=True
        ).stdout


class Changes(threading.Thread):
    """Live agents that come to work, to wait and to rest every few seconds; sessions that come, and go."""

    _SAYS = (("busy", ""), ("idle", ""), ("waiting", "permission prompt"), ("waiting", "input needed"))
    _SHOWN = (("working", "stuck"), ("done", "idle", "failed", "limited"), ("approval",), ("question",))

    def __init__(self, home: Path, chance: random.Random) -> None:
        super().__init__(name="changes", daemon=True)
        self._agents = LiveAgents(home, in_tmux=False)
        self._chance = chance
        self._over, self._seen = threading.Event(), threading.Event()
        self._sample = min((home / ".claude" / "projects").glob("*/*.jsonl"), key=lambda path: path.stat().st_size)
        self._come: list[Path] = []
        self._true = [1] * _AGENTS
        self.count = 0

    def run(self) -> None:
        """Change something every two seconds until stopped."""
        with self._agents:
            while not self._over.wait(2.0):
                self.count += 1
                self._change()
            self._seen.wait()

    def _change(self) -> None:
        number, says = self._chance.randrange(_AGENTS), self._chance.randrange(len(self._SAYS))
        status, waits = self._SAYS[says]
        self._true[number] = says
        self._agents.say(number, status, waitingFor=waits)
        if self._chance.random() < 0.3:
            path = self._sample.with_name(f"{uuid.uuid4()}.jsonl")
            path.write_text(self._sample.read_text().replace(self._sample.stem, path.stem))
            self._come.append(path)
        if len(self._come) > 20 or (self._come and self._chance.random() < 0.2):
            self._come.pop(self._chance.randrange(len(self._come))).unlink()

    def stop(self) -> None:
        """Change nothing more; the agents live until `end`."""
        self._over.set()

    def end(self) -> None:
        """Let the agents end."""
        self._over.set()
        self._seen.set()
        self.join()

    def wrong(self, told: Mapping[str, str]) -> list[str]:
        """What of the states `told`, by unified id, is not so."""
        return [
            f"{session} is said to be {told.get(f'claude:{session}')} and {self._SAYS[says]} is true"
            for session, says in zip(self._agents.sessions, self._true, strict=True)
            if told.get(f"claude:{session}") not in self._SHOWN[says]
        ]


def attending(ours: Tool, home: Path, seconds: float, runs: int) -> Iterator[Row]:
    """Ten live agents, all at rest, then one that waits now and then; and `status`, with and without the program."""
    for made in (("sessions", "list"), ("index", "rebuild"), ("cost", "report")):
        subprocess.run([*ours.screen, *made], env=ours.environment(home), check=True, capture_output=True)
    with LiveAgents(home, in_tmux=True) as agents:
        environment = {**ours.environment(home), **agents.variables}
        alone = [_seconds([*ours.screen, "status"], environment) for _ in range(runs)]
        with Terminal(ours.screen, environment) as terminal:
            argv = [sys.executable, "-c", _WAKES, str(int(seconds))]
            with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as wakes:
                received, processor, resident = idle(terminal, seconds)
                nothing = float(wakes.communicate()[0])
            yield Row("ten agents at rest: bytes per second", "B/s", received, None, "0")
            yield Row("ten agents at rest: processor", "%", processor, None, "≤ 0.25")
            yield Row("a Python that only wakes each second", "%", nothing)
            yield Row("resident memory then", "MB", resident)
            late = [_until_told(agents, terminal, number % _AGENTS) for number in range(_CHANGES)]
            yield Row("waits → sign on the screen, median", "ms", statistics.median(late))
            yield Row("waits → sign on the screen, latest", "ms", max(late), None, "≤ 2000")
            beside = [_seconds([*ours.screen, "status"], environment) for _ in range(runs)]
        yield Row("status, beside the program", "ms", statistics.median(beside), None, "≤ 100")
        yield Row("status, alone", "ms", statistics.median(alone))
        version = [_seconds([*ours.screen, "--version"], environment) for _ in range(runs)]
        yield Row("--version, for comparison", "ms", statistics.median(version))


def _until_told(agents: LiveAgents, terminal: Terminal, number: int) -> float:
    """Milliseconds until the header counts one that waits."""
    start = time.perf_counter()
    agents.say(number, "waiting", waitingFor="permission prompt")
    told = terminal.until(lambda lines: any("needs you" in line for line in lines))
    agents.say(number, "idle")
    terminal.until(lambda lines: not any("needs you" in line for line in lines))
    return (told - start) * 1000


def _seconds(argv: Sequence[str], environment: dict[str, str]) -> float:
    """Milliseconds that a command takes."""
    start = time.perf_counter()
    subprocess.run(argv, env=environment, check=True, capture_output=True)
    return (time.perf_counter() - start) * 1000
