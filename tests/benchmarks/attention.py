"""The program beside ten live agents: what it takes while they rest, and how soon it tells that one waits."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from benchmarks.measures import Row, Tool, idle
from benchmarks.terminal import Terminal

__all__ = ["attending"]

_AGENTS = 10
_CHANGES = 20


class LiveAgents:
    """Ten processes in panes of a tmux of their own; each has one of the newest sessions of Claude Code open, as that
    program says it."""

    def __init__(self, home: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="tmux-", dir="/tmp")
        self.variables = {"TMUX_TMPDIR": self._folder.name}
        self._tell = home / ".claude" / "sessions"
        self._made = not self._tell.exists()
        self._tell.mkdir(exist_ok=True)
        newest = sorted((home / ".claude" / "projects").glob("*/*.jsonl"), key=lambda path: -path.stat().st_mtime)
        self.sessions = [path.stem for path in newest[:_AGENTS]]
        self.pids: list[int] = []

    def __enter__(self) -> Self:
        for number in range(_AGENTS):
            how = ("new-session", "-d", "-P") if number == 0 else ("new-window", "-P")
            self.pids.append(int(self._tmux(*how, "-F", "#{pane_pid}", "sleep", "100000")))
            self.say(number, "idle")
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")
        for pid in self.pids:
            (self._tell / f"{pid}.json").unlink()
        if self._made:
            self._tell.rmdir()
        self._folder.cleanup()

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


def attending(ours: Tool, home: Path, seconds: float, runs: int) -> Iterator[Row]:
    """Ten live agents, all at rest, then one that waits now and then; and `status`, with and without the program."""
    for made in (("sessions", "list"), ("index", "rebuild"), ("cost", "report")):
        subprocess.run([*ours.screen, *made], env=ours.environment(home), check=True, capture_output=True)
    with LiveAgents(home) as agents:
        environment = {**ours.environment(home), **agents.variables}
        alone = [_seconds([*ours.screen, "status"], environment) for _ in range(runs)]
        with Terminal(ours.screen, environment) as terminal:
            received, processor, resident = idle(terminal, seconds)
            yield Row("ten agents at rest: bytes per second", "B/s", received, None, "0")
            yield Row("ten agents at rest: processor", "%", processor, None, "≤ 0.25")
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
