"""A pseudo-terminal to run the real program in: what goes in, what comes out, and how it can go wrong."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pyte

from support import PATIENCE

__all__ = ["Terminal"]

_ANSWERS = {
    b"\x1b[c": b"\x1b[?62;22c",
    b"\x1b[?2026$p": b"\x1b[?2026;2$y",
    b"\x1b[6n": b"\x1b[1;1R",
}


class Terminal:
    """The program in a terminal of its own, with a screen that is kept by `pyte`."""

    def __init__(
        self,
        argv: list[str],
        *,
        home: Path,
        size: tuple[int, int] = (80, 24),
        variables: Mapping[str, str] | None = None,
        controlling: bool = True,
    ) -> None:
        """`controlling` False: the terminal is not the one that sends SIGHUP when it goes."""
        self.received = bytearray()
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self.status: int | None = None
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.before = termios.tcgetattr(slave)
        environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            **(variables or {}),
        }
        self.pid = os.fork()
        if self.pid == 0:
            self._child(slave, argv, environment, controlling)
        self.slave = slave

    def _child(self, slave: int, argv: list[str], environment: Mapping[str, str], controlling: bool) -> None:
        try:
            os.close(self.master)
            os.setsid()
            if controlling:
                fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for fd in (0, 1, 2):
                os.dup2(slave, fd)
            os.closerange(3, 256)
            os.execve(argv[0], argv, dict(environment))
        except BaseException as error:
            sys.__stderr__.write(f"{error}\n") if sys.__stderr__ else None
        finally:
            os._exit(127)

    @property
    def text(self) -> str:
        """What the screen shows."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def pump(self, seconds: float) -> int:
        """Read for that long; how many bytes came."""
        end = time.monotonic() + seconds
        count = 0
        while (left := end - time.monotonic()) > 0:
            count += self._read(left)
        return count

    def _read(self, seconds: float) -> int:
        ready, _, _ = select.select([self.master], [], [], max(0.0, min(seconds, 0.05)))
        if not ready:
            return 0
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return 0  # nobody has the other end any more
        self.received += data
        for question, answer in _ANSWERS.items():
            if question in data:
                os.write(self.master, answer)
        # pyte does not know the kitty protocol's sequences and would print them.
        self._stream.feed(re.sub(rb"\x1b\[[<>=][0-9;]*[a-z]", b"", data))
        return len(data)

    def until(self, condition: str | Callable[[], object]) -> None:
        """Read until the screen has that text, or the condition holds; fails with the screen when it never does."""
        end = time.monotonic() + PATIENCE
        while not (condition in self.text if isinstance(condition, str) else condition()):
            assert time.monotonic() < end, f"never so: {condition!r}\n{self.text}"
            self._read(0.05)

    def quiet(self, seconds: float = 0.6) -> None:
        """Read until nothing has come for that long."""
        end = time.monotonic() + PATIENCE
        while self.pump(seconds):
            assert time.monotonic() < end, "it never stops writing"

    def send(self, keys: str) -> None:
        """Everything in one write."""
        os.write(self.master, keys.encode())

    def mode(self) -> list[object]:
        """The terminal's mode as the program has left it."""
        return termios.tcgetattr(self.slave)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        os.kill(self.pid, number)

    def wait(self, *, read: bool = True, again: str = "") -> int:
        """The exit status as a shell has it; fails when it never comes. `again` are keys that are sent every second
        until then: Ctrl-C does not end a read of Python's that begins just after it."""
        end = time.monotonic() + PATIENCE
        pressed = time.monotonic()
        while self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self.status = code if code >= 0 else 128 - code
                break
            assert time.monotonic() < end, f"still running after {PATIENCE} s\n{self.text}"
            if again and time.monotonic() > pressed + 1:
                self.send(again)
                pressed = time.monotonic()
            if read:
                self._read(0.02)
            else:
                time.sleep(0.02)
        if read:
            while self._read(0.05):
                pass
        return self.status

    def hang_up(self) -> None:
        """Close the terminal, as when the window is closed or the line is cut."""
        for name in ("master", "slave"):
            fd = getattr(self, name)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)

    def close(self) -> None:
        """End whatever is left."""
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.hang_up()
