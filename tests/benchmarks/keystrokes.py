"""From a key in the search box to the final answer on the terminal, in the real program."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measures import Row, Tool
from benchmarks.terminal import Terminal

__all__ = ["keystrokes"]

_QUERIES = ("docker network", "needlezq3", "agent:claude error", '"the user', "flaky test", "-docker since:7d")
_SILENCE = 0.6
"""Seconds without a byte after which an answer counts as final."""
_PREVIEW = 0.12
"""Seconds for which the cursor rests on a row before it is looked at: what is painted later is the preview."""


def keystrokes(tool: Tool, home: Path) -> Iterator[Row]:
    """Type each query one key at a time, each after the answer to the one before, with the index complete."""
    command = [sys.executable, "-m", "hermes_tui", "index", "rebuild"]
    subprocess.run(command, env=tool.environment(home), check=True, capture_output=True)
    first: list[float] = []
    final: list[float] = []
    painted: list[int] = []
    with Terminal(tool.screen, tool.environment(home), 80, 24) as terminal:
        # Where there is room for one pane there is no preview: what is written is the answer.
        terminal.until(lambda lines: any("sessions" in line for line in lines))
        terminal.silence(4.0)
        for query in _QUERIES:
            terminal.send(b"/")
            terminal.silence(_SILENCE)
            for key in query:
                answer = _typed(terminal, key)
                first.append(answer[0])
                final.append(answer[1])
                painted.append(answer[2])
            terminal.send(b"\x1b")
            terminal.silence(_SILENCE)
    for name, taken in (("something new on the screen", first), ("the rows of the answer", final)):
        taken.sort()
        yield Row(f"a key of a search, {name}: p50", "ms", taken[len(taken) // 2])
        yield Row(f"a key of a search, {name}: p95", "ms", taken[len(taken) * 95 // 100], aim="≤ 35")
    painted.sort()
    yield Row("a key of a search, written to the terminal: p50", "kB", painted[len(painted) // 2] / 1000)


def _typed(terminal: Terminal, key: str) -> tuple[float, float, int]:
    """Milliseconds to the first bytes and to the last before the first pause, and how many came by then."""
    began, before, moments = terminal.press(key.encode())
    start = moments[0] if moments else began
    last = start
    for moment in moments:
        if moment - last > _PREVIEW:
            break
        last = moment
    return (start - began) * 1000, (last - began) * 1000, terminal.received - before
