"""A program in a pseudo-terminal of ours: what it shows, when, and at what cost. Linux only (reads /proc)."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pyte

__all__ = ["Terminal"]

_TICKS = os.sysconf("SC_CLK_TCK")
_QUERIES: tuple[tuple[bytes, bytes], ...] = (
    (rb"\x1b\[0?c", b"\x1b[?62;22c"),
    (rb"\x1b\[5n", b"\x1b[0n"),
    (rb"\x1b\[6n", b"\x1b[1;1R"),
    (rb"\x1b\]10;\?", b"\x1b]10;rgb:e0e0/e0e0/e0e0\x1b\\"),
    (rb"\x1b\]11;\?", b"\x1b]11;rgb:1010/1010/1010\x1b\\"),
    (rb"\x1b\[\?u", b"\x1b[?0u"),
    (rb"\x1b\[14t", b"\x1b[4;720;1280t"),
    (rb"\x1b\[16t", b"\x1b[6;16;8t"),
)
"""What programs ask a terminal, and an ordinary one's answers, so that none waits for a timeout."""


class Terminal:
    """Runs `command` on a screen of `columns` × `rows`; ended when the block is left."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], columns: int = 160, rows: int = 45
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.received = 0
        """Bytes the program wrote so far."""
        self.began = time.perf_counter()
        self.ended = False
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execvpe(command[0], list(command), {**environment, **terminal})
        size = struct.pack("HHHH", rows, columns, columns * 8, rows * 16)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, size)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGTERM)
        end = time.perf_counter() + 5
        while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
            if time.perf_counter() > end:
                os.kill(self.pid, signal.SIGKILL)
            self.read(0.05)
        os.close(self._fd)

    @property
    def lines(self) -> list[str]:
        """The screen as text."""
        return [line.rstrip() for line in self._screen.display]

    def send(self, keys: bytes) -> None:
        """Type."""
        os.write(self._fd, keys)

    def read(self, timeout: float) -> float | None:
        """Take what the program wrote; when that was, or None after `timeout` seconds of silence."""
        if self.ended or not select.select([self._fd], [], [], timeout)[0]:
            return None
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            data = b""
        if not data:
            self.ended = True
            return None
        moment = time.perf_counter()
        self.received += len(data)
        self._answer(data)
        self._stream.feed(data)
        return moment

    def _answer(self, data: bytes) -> None:
        answers = [answer for query, answer in _QUERIES if re.search(query, data)]
        answers += [b"\x1b[?" + mode + b";0$y" for mode in re.findall(rb"\x1b\[\?(\d+)\$p", data)]
        if answers:
            self.send(b"".join(answers))

    def until(self, shows: Callable[[list[str]], bool], limit: float = 60.0) -> float:
        """Wait until the screen is as wanted; the moment of it. Raises `TimeoutError` with the screen's text."""
        end = time.perf_counter() + limit
        while not self.ended and time.perf_counter() < end:
            moment = self.read(0.05)
            if moment is not None and shows(self.lines):
                return moment
        raise TimeoutError("\n".join(self.lines))

    def silence(self, seconds: float = 0.4, limit: float = 60.0) -> float:
        """Wait for so long a silence; the moment of the last byte before it."""
        last, end = time.perf_counter(), time.perf_counter() + limit
        while time.perf_counter() < end:
            moment = self.read(seconds)
            if moment is None:
                break
            last = moment
        return last

    def processor_seconds(self) -> float:
        """CPU time of the program and its children so far."""
        total = 0
        for pid in self._family():
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except FileNotFoundError:
                continue
            total += int(fields[11]) + int(fields[12])
        return total / _TICKS

    def resident_megabytes(self) -> float:
        """Memory of the program and its children now."""
        total = 0
        for pid in self._family():
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except FileNotFoundError:
                continue
            total += sum(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        return total / 1024

    def _family(self) -> list[int]:
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
