"""What is measured, each on ours and, where it can do the same, on fast-resume."""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.corpora import Corpora
from benchmarks.terminal import Terminal

__all__ = ["Row", "Tool", "big_file", "idle", "listing", "long_sessions", "start_and_keys", "waiting"]


class Row(NamedTuple):
    """One line of the table."""

    measure: str
    unit: str
    ours: float | None
    theirs: float | None = None
    aim: str = ""


class Tool(NamedTuple):
    """A program to be measured: how to start it and where it keeps what it made itself."""

    name: str
    screen: tuple[str, ...]
    listing: tuple[str, ...]
    scratch: Path

    def environment(self, home: Path) -> dict[str, str]:
        """A machine with only that home; the tool's own files go to its scratch directory. Bytecode is kept beside
        it, as an installed program has it."""
        ours = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
        places = {name: str(self.scratch / name) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
        places["XDG_STATE_HOME"] = str(self.scratch / "state")
        places["PYTHONPYCACHEPREFIX"] = str(self.scratch.with_name("bytecode"))
        return {**ours, **places, "HOME": str(home)}

    def compile(self, home: Path) -> None:
        """Have the bytecode of everything made: by one run that is not measured."""
        _first_paint(self, home)
        _list(self, home)

    def forget(self) -> None:
        """Back to a machine on which the tool never ran."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)


_ROW = re.compile(r"\w.*\s\d{1,3}(s|m|h|d|w|mo|y)\b")
"""Words and, after them, an age: how both tools show a session. Frames, headings and empty tables are none."""


_LIMIT = 120.0
"""Seconds for what has to read all of it."""
_STARTED = 2.0
"""Seconds without a byte after which a program has started: ours shows the list before it can take a key."""


def _full(lines: list[str]) -> bool:
    """A list of sessions fills the screen (45 lines; fast-resume's has room for 36 of them, ours for 40)."""
    return sum(_ROW.search(line) is not None for line in lines) > 32


def _median(runs: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(runs))


def _first_paint(tool: Tool, home: Path) -> float:
    with Terminal(tool.screen, tool.environment(home)) as terminal:
        moment = terminal.until(_full)
        terminal.silence()
        return (moment - terminal.began) * 1000


def start_and_keys(ours: Tool, theirs: Tool | None, home: Path, runs: int) -> Iterator[Row]:
    """First paint cold and warm, and what a key costs."""

    def cold(tool: Tool) -> float:
        tool.forget()
        return _first_paint(tool, home)

    pairs = [tool for tool in (ours, theirs) if tool is not None]
    for tool in pairs:
        tool.compile(home)
    values = [_median(runs, partial(cold, tool)) for tool in pairs]
    yield _row("first paint, cold (no cache of its own)", "ms", values, "≤ 700")
    for tool in pairs:
        _list(tool, home)  # so that each has seen everything once
    values = [_median(runs, partial(_first_paint, tool, home)) for tool in pairs]
    yield _row("first paint, warm", "ms", values, "≤ 300")
    costs = [_keys(tool, home) for tool in pairs]
    yield _row("a step down: bytes", "B", [cost[0] for cost in costs])
    yield _row("a step down: to the last of them", "ms", [cost[1] for cost in costs], "≤ 35")
    yield _row("what is beside it then: bytes", "B", [cost[2] for cost in costs])
    yield _row("what is beside it then: to the last of them", "ms", [cost[3] for cost in costs])
    yield _row("quit", "ms", [_median(runs, partial(_quit, tool, home)) for tool in pairs], "< 300")


def _quit(tool: Tool, home: Path) -> float:
    """Milliseconds from the key to the end of the process."""
    with Terminal(tool.screen, tool.environment(home)) as terminal:
        terminal.until(_full)
        terminal.silence()
        start = time.perf_counter()
        terminal.send(b"\x11" if tool.name == "hermes-tui" else b"\x03")
        terminal.wait(10)
        return (time.perf_counter() - start) * 1000


def _keys(tool: Tool, home: Path) -> tuple[float, float, float, float]:
    """Medians over steps inside the list: bytes written at once and milliseconds to the last of them, then the same
    for what follows a pause: the session beside the list is opened only when the cursor rests."""
    with Terminal(tool.screen, tool.environment(home)) as terminal:
        terminal.until(_full)
        terminal.silence(1.0)
        found: list[tuple[float, float, float, float]] = []
        for _ in range(15):
            before, start = terminal.received, time.perf_counter()
            terminal.send(b"\x1b[B")
            at_once = terminal.silence(0.08)
            step = terminal.received - before
            last = terminal.silence(0.4)
            rest = terminal.received - before - step
            found.append((step, (at_once - start) * 1000, rest, (last - start) * 1000 if rest else 0.0))
        first, second, third, fourth = (statistics.median(column) for column in zip(*found, strict=True))
        return first, second, third, fourth


def listing(ours: Tool, theirs: Tool | None, home: Path, runs: int) -> Iterator[Row]:
    """The whole list as JSON from a process of its own, cold and warm."""

    def cold(tool: Tool) -> float:
        tool.forget()
        return _list(tool, home)

    pairs = [tool for tool in (ours, theirs) if tool is not None]
    for tool in pairs:
        _list(tool, home)  # makes the bytecode
    yield _row("list of all as JSON, cold", "s", [_median(max(1, runs - 2), partial(cold, tool)) for tool in pairs])
    yield _row("list of all as JSON, warm", "s", [_median(runs, partial(_list, tool, home)) for tool in pairs])


def _list(tool: Tool, home: Path, least: int = 10_000) -> float:
    """Seconds for one listing, which is of so many bytes at least."""
    start = time.perf_counter()
    done = subprocess.run(tool.listing, env=tool.environment(home), capture_output=True, check=True)
    assert len(done.stdout) > least
    return time.perf_counter() - start


def big_file(ours: Tool, home: Path, runs: int) -> Iterator[Row]:
    """From the key that opens a session of 400 MB to its last line on the screen."""
    _list(ours, home, least=100)

    def once() -> float:
        # Narrow, so that the list has the screen to itself until the key.
        with Terminal(ours.screen, ours.environment(home), columns=80, rows=24) as terminal:
            terminal.until(lambda lines: any("Go on, part" in line for line in lines))
            terminal.silence(_STARTED)
            start = time.perf_counter()
            terminal.send(b"\r")
            return (terminal.until(lambda lines: any("the very last line" in line for line in lines)) - start) * 1000

    yield Row("400 MB session, to its last screen", "ms", _median(runs, once), None, "≤ 100")


def waiting(ours: Tool, theirs: Tool | None, home: Path, seconds: float) -> Iterator[Row]:
    """Left alone, with all made that is made in the background: bytes to the terminal, processor, memory."""
    pairs = [tool for tool in (ours, theirs) if tool is not None]
    for made in (("sessions", "list"), ("index", "rebuild"), ("cost", "report")):
        print(f"{ours.name}: {' '.join(made)} …", file=sys.stderr)
        subprocess.run([*ours.screen, *made], env=ours.environment(home), check=True, capture_output=True)
    found = [_wait(tool, home, seconds) for tool in pairs]
    minutes = f"{seconds / 60:g} min"
    yield _row(f"idle {minutes}: bytes per second", "B/s", [one[0] for one in found], "0")
    yield _row(f"idle {minutes}: processor", "%", [one[1] for one in found], "≤ 0.2")
    yield _row("resident memory then", "MB", [one[2] for one in found], "≤ 60")


def _wait(tool: Tool, home: Path, seconds: float) -> tuple[float, float, float]:
    print(f"{tool.name}: idle for {seconds:g} s …", file=sys.stderr)
    with Terminal(tool.screen, tool.environment(home)) as terminal:
        return idle(terminal, seconds)


def idle(terminal: Terminal, seconds: float) -> tuple[float, float, float]:
    """A program that is left alone once it has settled: bytes a second, per cent of a processor, megabytes."""
    terminal.until(_full)
    _settle(terminal)
    bytes_before, used_before, start = terminal.received, terminal.processor_seconds(), time.perf_counter()
    terminal.wait(seconds)
    passed = time.perf_counter() - start
    used = terminal.processor_seconds() - used_before
    return (terminal.received - bytes_before) / passed, used / passed * 100, terminal.resident_megabytes()


def _settle(terminal: Terminal) -> None:
    """Let it finish what it does in the background after a start: until 40 s pass with next to no work. What is not
    over within ten minutes is part of idling."""
    for _ in range(15):
        used = terminal.processor_seconds()
        silent = terminal.silence(40.0, limit=40.0)
        if time.perf_counter() - silent > 39 and terminal.processor_seconds() - used < 0.4:
            return


def _row(measure: str, unit: str, values: list[float], aim: str = "") -> Row:
    return Row(measure, unit, values[0], values[1] if len(values) > 1 else None, aim)


def long_sessions(ours: Tool, corpora: Corpora) -> Iterator[Row]:
    """From a key to something new on the screen, and to what was asked for; and the memory that is held then."""
    for name, home in (("400 MB", corpora.big()), ("50,000 messages", corpora.many())):
        ours.forget()
        # The second is looked through before anyone could stop it.
        yield from _jumps(ours, name, home, stops=home == corpora.big())


def _jumps(ours: Tool, name: str, home: Path, *, stops: bool) -> Iterator[Row]:
    with Terminal(ours.screen, ours.environment(home), columns=80, rows=24) as terminal:
        terminal.until(lambda lines: any("Go on, part" in line for line in lines), _LIMIT)
        terminal.silence(2.0)
        terminal.send(b"\r")
        terminal.until(_has("the very last line"))
        terminal.silence(2.0)
        yield Row(f"{name}: memory, opened", "MB", terminal.resident_megabytes())
        terminal.send(b"[e")
        terminal.until(_has("▸ Bash   make part"))
        terminal.press(b"[", 1.0)
        yield from _timed(terminal, f"{name}: previous error, far up", b"e", _has("make part 3 that fails"))
        terminal.press(b"]", 0.2)
        yield from _timed(terminal, f"{name}: next error, far down", b"e", _fails_late)
        _to_the_end(terminal)
        yield from _timed(terminal, f"{name}: first message", b"g", _said("Go on, part 1."))
        terminal.press(b"/", 0.5)
        yield from _found(terminal, f"{name}: find a word at the end", b"marzipan", "Add the marzipan")
        _to_the_end(terminal)
        terminal.press(b"/", 0.5)
        yield from _found(terminal, f"{name}: find a word at the top", b"heliotrope", "Mind the heliotrope")
        _to_the_end(terminal)
        if stops:
            terminal.press(b"/", 0.5)
            terminal.send(b"nowhere\r")
            terminal.until(_has("esc stops"))
            yield from _timed(terminal, f"{name}: stop to look for a word", b"\x1b", _lacks("esc stops"))
        terminal.press(b"\x1b", 1.0)
        yield from _timed(terminal, f"{name}: outline", b"O", _whole)
        terminal.press(b"\x1b", 1.0)
        yield from _timed(terminal, f"{name}: all edits", b"D", _has("1 of 1 file"))


def _to_the_end(terminal: Terminal) -> None:
    terminal.send(b"G")
    terminal.until(_has("the very last line"))
    terminal.silence(1.0)


def _found(terminal: Terminal, what: str, word: bytes, line: str) -> Iterator[Row]:
    """A word that is typed, then ↵: `n of m` is known when all was looked through."""
    began = time.perf_counter()
    terminal.send(word)
    said = terminal.until(_has("so far,"))
    yield Row(f"{what}: how far it is", "ms", (said - began) * 1000, None, "≤ 150")
    terminal.press(b"\r", 0.0)
    there = terminal.until(_said(line), _LIMIT)
    yield Row(f"{what}: its line", "ms", (there - began) * 1000)
    counted = terminal.until(_has("” 1 of 1"), _LIMIT)
    yield Row(f"{what}: all of it", "ms", (counted - began) * 1000)
    terminal.silence(1.0)
    yield Row(f"{what}: memory then", "MB", terminal.resident_megabytes())


def _has(text: str) -> Callable[[list[str]], bool]:
    return lambda lines: any(text in line for line in lines)


def _lacks(text: str) -> Callable[[list[str]], bool]:
    return lambda lines: all(text not in line for line in lines)


def _fails_late(lines: list[str]) -> bool:
    return any(re.search(r"make part \d{2,} that fails", line) for line in lines)


def _said(text: str) -> Callable[[list[str]], bool]:
    """Below the title of the session, which begins with its first message."""
    return lambda lines: any(text in line for line in lines[3:])


def _whole(lines: list[str]) -> bool:
    heads = [line for line in lines if "Outline ·" in line]
    return bool(heads) and "so far" not in heads[0]


def _timed(terminal: Terminal, what: str, key: bytes, there: Callable[[list[str]], bool]) -> Iterator[Row]:
    if there(terminal.look()):
        raise RuntimeError("what is waited for is on the screen already:\n" + "\n".join(terminal.lines))
    used = terminal.processor_seconds()
    began, first = terminal.answer(key, 5)
    used = terminal.processor_seconds() - used
    done = terminal.until(there, _LIMIT)
    yield Row(f"{what}: something new", "ms", None if first is None else (first - began) * 1000, None, "≤ 150")
    yield Row(f"{what}: processor until then", "ms", used * 1000)
    yield Row(f"{what}: all of it", "ms", (done - began) * 1000)
    terminal.silence(1.0)
    yield Row(f"{what}: memory then", "MB", terminal.resident_megabytes())
