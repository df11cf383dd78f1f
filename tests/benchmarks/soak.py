"""`make soak`: runs the real program in a pseudo-terminal for long, and counts what it keeps.

Ten agents write beside it, ten change their states, sessions come and go.

    PYTHONPATH=tests:tests/helpers python -m benchmarks.soak [--minutes 60] [--rate 20] [--keys 6] [--seed N]

A day in an hour: random keys, several in one write, as many as somebody presses who presses one every four seconds
by day and by night (`--keys 24` is more than the program can answer on a slow machine: what it makes for them piles
up); other sizes of the terminal, SIGSTOP and SIGCONT. Once a minute it is brought back to the list, and its memory,
threads and descriptors are counted. At the end `q` must end it at once, with nothing in the log. `--quiet` presses no
keys: one session after the other is left open while all grow. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.attention import Changes
from benchmarks.terminal import Terminal
from benchmarks.writers import writers_in
from hermes_tui.demo.home import prepare, write_home

_NAMED = (
    *[b"\r"] * 10, *[b"\x1b"] * 8, b"\x1b[A", b"\x1b[B", b"\x1b[C", b"\x1b[D", b"\x1b[5~", b"\x1b[6~", b"\x1b[H",
    b"\x1b[F", b"\t", b"\x1b[Z", b"\x7f", b"\x1b[3~", b"\x12", b"\x13", b"\x15", b"\x04", b"\x17", b"\x1bOP",
    b"\x1b[15~", b" ",
)  # fmt: skip
_CHARACTERS = [bytes([code]) for code in range(33, 127) if chr(code) not in "pqv:"]
"""Without those that quit, that hand the terminal to another program, and the palette, which has both."""
_SIZES = ((80, 24), (40, 15), (120, 40), (160, 48), (200, 60), (20, 5))
_USUAL = (120, 40)
_BRAND = "hermes-tui"
"""Stands above the list, and above nothing else."""
_LONGEST = 300.0
"""Seconds in which it must come back to the list."""
_WARM = 10
"""Minutes after which memory must be flat."""
_READINGS, _APART = 16, 0.25
"""How often its memory is read for a sample, and seconds between."""


class Sample(NamedTuple):
    """The program at rest."""

    minute: float
    resident: float
    """Megabytes of the program itself, the least of some seconds: ten agents write beside it, and with each look at
    them it takes some for a moment."""
    family: float
    """The same and what its children have for themselves. Not their part of shared pages: what else on the machine
    runs Python, or ends, would make that less, or more."""
    largest: float
    """The most of these seconds, of the program itself."""
    threads: int
    descriptors: int
    """Without the pipe to each child and the files of the index, of which a bounded number of connections is kept."""
    children: int
    written: int
    """Lines the agents have written so far."""
    keys: int


class Soak:
    """One run."""

    def __init__(self, terminal: Terminal, home: Path, given: argparse.Namespace) -> None:
        self._terminal = terminal
        self._given = given
        self._chance = random.Random(given.seed)
        self._writers = writers_in(home, given.rate)
        self.changes = Changes(home, random.Random(given.seed))
        self._keys = 0
        self._latest: deque[bytes] = deque(maxlen=40)
        self._began = time.monotonic()
        self.samples: list[Sample] = []

    def run(self) -> None:
        """Until the minutes are over. Raises `RuntimeError` where the program or an agent ended."""
        self._rest()
        self._sample()
        self._writers.start()
        self.changes.start()
        minute = 0
        while minute < self._given.minutes:
            minute += 1
            while time.monotonic() - self._began < minute * 60 - 10:
                self._quiet() if self._given.quiet else self._burst()
                self._check()
            self._rest()
            self._sample()
        self._writers.stop()
        self.changes.stop()

    def _check(self) -> None:
        if self._terminal.ended:
            keys = b" ".join(self._latest).decode("latin-1")
            said = self._terminal.unseen()[-1000:]
            ended = os.waitid(os.P_PID, self._terminal.pid, os.WEXITED | os.WNOWAIT)
            how = "exit code" if ended is not None and ended.si_code == os.CLD_EXITED else "signal"
            raise RuntimeError(
                f"the program ended with {how} {ended.si_status if ended else 0} after {self._keys} keys, "
                f"the last {keys!r}: {said!r}"
            )
        if self._writers.failure is not None:
            raise RuntimeError(f"an agent cannot write: {self._writers.failure!r}")
        self._terminal.pass_over()

    def _send(self, *keys: bytes) -> None:
        self._keys += len(keys)
        self._latest.extend(keys)
        self._terminal.send(b"".join(keys))

    def _quiet(self) -> None:
        self._send(b"\x1b[H", *[b"j"] * (self._keys // 10 % 10))
        self._terminal.wait(5.0)

    def _burst(self) -> None:
        chance = self._chance
        keys = [
            chance.choice(_CHARACTERS) if chance.random() < 0.7 else chance.choice(_NAMED)
            for _ in range(chance.randint(1, 5))
        ]
        self._send(*keys)
        if chance.random() < 0.02:
            self._terminal.resize(*chance.choice(_SIZES))
        if chance.random() < 0.01:
            os.kill(self._terminal.pid, signal.SIGSTOP)
            self._send(b"j", b"k")
            self._terminal.wait(0.2)
            os.kill(self._terminal.pid, signal.SIGCONT)
        share = len(keys) / self._given.keys
        self._terminal.wait(share * chance.choice((0.0, 0.1, 0.4, 3.5)))

    def _rest(self) -> None:
        """Back to the list, on its newest session, at the usual size. On a busy machine the program is far behind the
        keys, and would be counted in the middle of them: none is pressed until it shows the list. Raises
        `RuntimeError` where it does not."""
        end = time.monotonic() + _LONGEST
        while True:
            for _ in range(12):
                self._send(b"\x1b")
                self._terminal.wait(0.3)
            shown = self._shown()
            if _BRAND in shown.partition("\n")[0]:
                break
            self._check()
            if time.monotonic() > end:
                raise RuntimeError(f"it does not come back to the list, but shows:\n{shown}")
        if not self._given.quiet:
            self._send(b"\x1b[H")
        self._terminal.wait(2.0)
        self._check()

    def _sample(self) -> None:
        pid = self._terminal.pid
        own, all_together = list[float](), list[float]()
        for _ in range(_READINGS):
            self._terminal.wait(_APART)
            family = self._terminal.family()
            others = (_kilobytes(Path(f"/proc/{one}/status"), "RssAnon") for one in family if one != pid)
            own.append(_kilobytes(Path(f"/proc/{pid}/status"), "VmRSS") / 1024)
            all_together.append(own[-1] + sum(others) / 1024)
        self.samples.append(
            Sample(
                (time.monotonic() - self._began) / 60,
                min(own),
                min(all_together),
                max(own),
                len(list(Path(f"/proc/{pid}/task").iterdir())),
                _descriptors(pid) - (len(family) - 1),
                len(family) - 1,
                self._writers.written,
                self._keys,
            )
        )
        print("{:6.1f} {:9.1f} {:9.1f} {:9.1f} {:8} {:12} {:9} {:9,} {:9,}".format(*self.samples[-1]), flush=True)

    def misjudged(self, argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
        """What is wrong, now that nothing changes any more: `attention` beside what is true, the header beside it.
        What time alone tells (a session that is silent for long) the program looks for four times a minute."""
        self._rest()
        for seconds in (0.0, 20.0):
            time.sleep(seconds)
            found = subprocess.run([*argv, "attention", "--json"], env=environment, check=True, capture_output=True)
            sessions = json.loads(found.stdout)["sessions"]
            needs = sum(one["needsPerson"] for one in sessions)
            header = next((line for line in self._shown().splitlines() if _BRAND in line), "")
            said = re.search(r"\? ([\d,]+) needs? you", header)
            if (int(said[1].replace(",", "")) if said else 0) == needs:
                break
            print(f"{needs} need somebody; the header: {header.strip()[-80:]}")
        wrong = self.changes.wrong({one["unifiedId"]: one["state"] for one in sessions})
        print(f"{self.changes.count} changes of states; {needs} need somebody; the header: {header.strip()[-80:]}")
        if (int(said[1].replace(",", "")) if said else 0) != needs:
            wrong.append(f"the header is {header!r} where {needs} need somebody")
        return wrong

    def quit(self) -> tuple[float, int]:
        """Milliseconds from `q` to the end, and the exit code."""
        self._send(b"\x1b", b"\x1b", b"\x1b")
        self._terminal.wait(1.0)
        began = time.perf_counter()
        self._send(b"q")
        while (ended := os.waitid(os.P_PID, self._terminal.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)) is None:
            if time.perf_counter() - began > 10:
                raise RuntimeError(f"`q` does not end the program, which shows:\n{self._shown()}")
            time.sleep(0.005)
        return (time.perf_counter() - began) * 1000, ended.si_status

    def _shown(self) -> str:
        """The screen, which the program draws anew for another size."""
        self._terminal.resize(_USUAL[0] - 1, _USUAL[1])
        self._terminal.wait(1.0)
        self._terminal.pass_over()
        self._terminal.resize(*_USUAL)
        with suppress(TimeoutError):
            self._terminal.until(lambda lines: False, limit=2.0)
        return "\n".join(self._terminal.lines)


def _kilobytes(path: Path, field: str) -> int:
    try:
        return sum(int(line.split()[1]) for line in path.read_text().splitlines() if line.startswith(f"{field}:"))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _descriptors(pid: int) -> int:
    """Without those of the index."""
    found = 0
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += "/index-" not in str(path.readlink())
    return found


def _judge(samples: list[Sample]) -> list[str]:
    """What is not as it should be: memory that grows after ten minutes (after a third of a shorter run) by more than
    5 %, more threads or descriptors than then: some threads begin with the screen that needs them."""
    minutes = samples[-1].minute
    settled = [one for one in samples if one.minute >= min(_WARM, minutes / 3)]
    early, late = settled[: max(len(settled) // 3, 1)], settled[-max(len(settled) // 3, 1) :]
    wrong = []
    for name in ("resident", "family"):
        before, after = (statistics.median(getattr(one, name) for one in part) for part in (early, late))
        said = f"{name}: {before:.1f} MB, then {after:.1f} MB ({(after / before - 1) * 100:+.1f} %)"
        print(said)
        if after > before * 1.05:
            wrong.append(said)
    for name in ("threads", "descriptors"):
        first, last = (min(getattr(one, name) for one in part) for part in (settled[:3], samples[-3:]))
        print(f"{name}: {first}, at the end {last}")
        if last > first:
            wrong.append(f"{name}: {first}, at the end {last}")
    return wrong


def _environment(scratch: Path, home: Path) -> dict[str, str]:
    """Nothing on the path that a key could start; our own files below `scratch`."""
    places = {name: str(scratch / name) for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
    kept = {name: os.environ[name] for name in os.environ if name.startswith(("LANG", "PYTHON", "MALLOC_"))}
    path = str(scratch / "nothing")
    return {**kept, **places, "XDG_STATE_HOME": str(scratch / "state"), "HOME": str(home), "PATH": path}


def main() -> int:
    """Run and judge."""
    parser = argparse.ArgumentParser(prog="benchmarks.soak", description="Run the program for long; count memory.")
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--rate", type=float, default=20.0, help="lines a second, over ten agents")
    parser.add_argument("--keys", type=float, default=6.0, help="keys a second, on the average")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--quiet", action="store_true", help="press no random keys")
    parser.add_argument("--program", default=str(Path(sys.executable).with_name("hermes-tui")))
    given = parser.parse_args()
    print(f"{given.minutes} minutes, {given.rate:g} lines and {given.keys:g} keys a second, seed {given.seed}")
    print("minute  resident   family  largest  threads  descriptors  children     lines      keys")
    with tempfile.TemporaryDirectory(prefix="hermes-tui-soak-", ignore_cleanup_errors=True) as folder:
        scratch, home = Path(folder), Path(folder) / "home"
        prepare(home)
        write_home(home, datetime.now(UTC))
        command = (*given.program.split(), "--home", str(home))
        with Terminal(command, _environment(scratch, home), *_USUAL, directory=scratch) as terminal:
            terminal.silence(3.0)
            soak = Soak(terminal, home, given)
            wrong: list[str] = []
            try:
                soak.run()
                wrong += soak.misjudged(command, _environment(scratch, home))
                milliseconds, code = soak.quit()
            except RuntimeError as error:
                wrong.append(str(error))
            else:
                print(f"`q` ended it in {milliseconds:.0f} ms with exit code {code}")
                wrong += _judge(soak.samples)
                wrong += [f"exit code {code}"] if code else []
            soak.changes.end()
        logs = [path for path in (scratch / "state").rglob("*.log") if path.stat().st_size]
        wrong += [f"{path.name}:\n{path.read_text()}" for path in logs]
    for one in wrong:
        print(f"WRONG: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
