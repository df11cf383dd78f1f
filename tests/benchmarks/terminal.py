"""A program in a pseudo-terminal of ours: what it shows, when, and at what cost. Linux only (reads /proc).

What the program writes is taken, dated and answered in a thread that does nothing else, and turned into a screen only
while the program is silent: a terminal that falls behind would hold back the program that is measured.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pyte

__all__ = ["Terminal"]

_TICKS = os.sysconf("SC_CLK_TCK")
_QUIET = 0.25
"""Seconds without a byte after which the screen is looked at."""
_AFTERWARDS = 10.0
"""Seconds in which what the program started ends, too."""
_LOOK = 3.0
"""Seconds after which it is looked at although the program goes on writing."""
_QUERIES: tuple[tuple[re.Pattern[bytes], bytes], ...] = (
    (re.compile(rb"\x1b\[0?c"), b"\x1b[?62;22c"),
    (re.compile(rb"\x1b\[5n"), b"\x1b[0n"),
    (re.compile(rb"\x1b\[6n"), b"\x1b[1;1R"),
    (re.compile(rb"\x1b\]10;\?"), b"\x1b]10;rgb:e0e0/e0e0/e0e0\x1b\\"),
    (re.compile(rb"\x1b\]11;\?"), b"\x1b]11;rgb:1010/1010/1010\x1b\\"),
    (re.compile(rb"\x1b\[\?u"), b"\x1b[?0u"),
    (re.compile(rb"\x1b\[14t"), b"\x1b[4;720;1280t"),
    (re.compile(rb"\x1b\[16t"), b"\x1b[6;16;8t"),
)
"""What programs ask a terminal, and an ordinary one's answers, so that none waits for a timeout."""
_MODE = re.compile(rb"\x1b\[\?(\d+)\$p")


class Terminal:
    """Runs `command` on a screen of `columns` × `rows`; ended when the block is left."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        columns: int = 160,
        rows: int = 45,
        directory: Path | None = None,
    ) -> None:
        """`directory`: where it is started; None: where we are."""
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._chunks: deque[tuple[float, bytes]] = deque()
        self._news = threading.Condition()
        self._taken: list[float] = []
        """When something came since the latest `press`."""
        self._leaving = False
        self.received = 0
        """Bytes the program wrote so far."""
        self.last = self.began = time.perf_counter()
        """When it wrote the last of them."""
        self.ended = False
        size = struct.pack("HHHH", rows, columns, columns * 8, rows * 16)
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            if directory is not None:
                os.chdir(directory)
            os.execvpe(command[0], list(command), {**environment, **terminal})
        self._thread = threading.Thread(target=self._take, name="terminal", daemon=True)
        self._thread.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        family = self.family()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        end = time.perf_counter() + 5
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.perf_counter() > end:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.02)
        # What it started may write a little longer, into a directory that is removed next.
        while any(_runs(pid) for pid in family) and time.perf_counter() < end + _AFTERWARDS:
            time.sleep(0.02)
        self._leaving = True
        self._thread.join()
        os.close(self._fd)

    # The thread --------------------------------------------------------------------------------------------

    def _take(self) -> None:
        while not self._leaving:
            if not select.select([self._fd], [], [], 0.5)[0]:
                continue
            try:
                data = os.read(self._fd, 1 << 16)
            except OSError:
                data = b""
            with self._news:
                if data:
                    self.last = time.perf_counter()
                    self._taken.append(self.last)
                    self.received += len(data)
                    self._chunks.append((self.last, data))
                else:
                    self.ended = True
                self._news.notify_all()
            if not data:
                return
            self._answer(data)

    def _answer(self, data: bytes) -> None:
        answers = [answer for query, answer in _QUERIES if query.search(data)]
        answers += [b"\x1b[?" + mode + b";0$y" for mode in _MODE.findall(data)]
        if answers:
            with suppress(OSError):  # it ended meanwhile
                os.write(self._fd, b"".join(answers))

    # For the one who measures ------------------------------------------------------------------------------

    @property
    def lines(self) -> list[str]:
        """The screen as text, as far as it was looked at."""
        # `Screen.display` fails on a wide character of which one half was written over.
        width, rows = range(self._screen.columns), range(self._screen.lines)
        return ["".join(self._screen.buffer[row][at].data for at in width).rstrip() for row in rows]

    def send(self, keys: bytes) -> None:
        """Type."""
        os.write(self._fd, keys)

    def resize(self, columns: int, rows: int) -> None:
        """Make the screen another size, and have the program told."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, columns * 8, rows * 16))

    def pass_over(self) -> None:
        """Never look at what came so far: over an hour it would be gigabytes. The screen is empty then."""
        with self._news:
            self._chunks.clear()
            self._taken.clear()
            self._screen.reset()

    def unseen(self) -> str:
        """What came since `pass_over`, with its escape sequences."""
        return b"".join(data for _, data in self._chunks).decode("utf-8", "replace")

    def press(self, keys: bytes, seconds: float = 0.6) -> tuple[float, int, list[float]]:
        """Type, and wait for so long a silence: when that was, how many bytes had come by then, and the moments at
        which more came."""
        with self._news:
            self._taken = []
            before = self.received
        began = time.perf_counter()
        self.send(keys)
        self.silence(seconds)
        with self._news:
            moments, self._taken = list(self._taken), []
        return began, before, moments

    def answer(self, keys: bytes, limit: float) -> tuple[float, float | None]:
        """Type, and wait for the first byte: when both were, None where none came within so many seconds."""
        with self._news:
            self._taken = []
        began = time.perf_counter()
        self.send(keys)
        with self._news:
            self._news.wait_for(lambda: bool(self._taken) or self.ended, limit)
            return began, self._taken[0] if self._taken else None

    def wait(self, seconds: float) -> None:
        """Let so much time pass, or less if the program ends."""
        end = time.perf_counter() + seconds
        with self._news:
            self._news.wait_for(lambda: self.ended, max(end - time.perf_counter(), 0))

    def silence(self, seconds: float = 0.4, limit: float = 60.0) -> float:
        """Wait for so long a silence, `limit` seconds at most; the moment of the last byte before it, or of the
        call where there was none."""
        called = time.perf_counter()
        with self._news:
            while not self.ended:
                now = time.perf_counter()
                left = min(max(self.last, called) + seconds, called + limit) - now
                if left <= 0:
                    break
                self._news.wait(left)
            return max(self.last, called)

    def until(self, shows: Callable[[list[str]], bool], limit: float = 60.0) -> float:
        """Wait until the screen is as wanted; when the program had written what makes it so. Raises `TimeoutError`
        with the screen's text."""
        end = time.perf_counter() + limit
        while True:
            over = self.ended or time.perf_counter() > end
            while self._chunks:
                moment, data = self._chunks.popleft()
                self._stream.feed(data)
                if shows(self.lines):
                    return moment
            if over:
                raise TimeoutError("\n".join(self.lines))
            with self._news:
                if not self._chunks and not self.ended:
                    self._news.wait(1.0)
            self.silence(_QUIET, _LOOK)

    def look(self) -> list[str]:
        """The screen with all that has come."""
        while self._chunks:
            self._stream.feed(self._chunks.popleft()[1])
        return self.lines

    def processor_seconds(self) -> float:
        """CPU time of the program and its children so far."""
        total = 0
        for pid in self.family():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except FileNotFoundError:
                continue
            total += int(fields[11]) + int(fields[12])
        return total / _TICKS

    def resident_megabytes(self) -> float:
        """Memory of the program and its children now."""
        total = 0
        for pid in self.family():
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except FileNotFoundError:
                continue
            total += sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        return total / 1024

    def family(self) -> list[int]:
        """Process ids of the program and its children."""
        found, waiting = [], [self.pid]
        while waiting:
            pid = waiting.pop()
            found.append(pid)
            for path in Path(f"/proc/{pid}/task").glob("*/children"):
                try:
                    waiting += [int(child) for child in path.read_text().split()]
                except FileNotFoundError:
                    continue
        return found


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
