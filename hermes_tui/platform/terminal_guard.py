"""Signals from the system: end, quit, interrupt, hang-up, vanished terminal.

Textual leaves them all to their defaults, which leave the terminal in a state that nobody can type into, or a
process that spins for ever on a terminal that is no more. Here each one ends the program in order; and when the
event loop cannot run because nobody reads the terminal any more, without it.
"""

from __future__ import annotations

import os
import select
import signal
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["Guard"]

_PATIENCE = 3.0
"""Seconds that an orderly end may take."""
_RESET = b"\x1b[?1000;1002;1003;1004;1006;2004l\x1b[<u\x1b[?1049l\x1b[0m\x1b[?7h\x1b[?25h"
"""Mouse, focus, paste and keyboard modes off, the usual screen and cursor on."""
_POLL = 30_000
"""Milliseconds after which a thread ends that is not wanted any more. A terminal that goes is told of at once."""


class Guard:
    """Owns SIGTERM, SIGQUIT, SIGINT and SIGHUP and watches the terminal, from `install` to `release`.

    `leave(code)` is called at most once, in any thread, and must arrange for an orderly end with that exit code:
    143 for SIGTERM, 131 for SIGQUIT, 130 for SIGINT, 129 for SIGHUP and for a terminal that is gone. If
    the process is still there `_PATIENCE` seconds later it is ended, with the terminal's mode put back.
    """

    def __init__(self, leave: Callable[[int], None], *, fd: int = 0, mode: list[Any] | None = None) -> None:
        """`mode`: the terminal's usual one; None: the one it has when the guard is installed."""
        self._leave = leave
        self._fd = fd
        self._over = threading.Event()
        self._asked = False
        self._mode = mode
        self._before: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Take the signals; from the main thread only. An ignored SIGHUP (nohup) is taken as well: without a
        terminal there is nothing to go on for."""
        try:
            self._mode = self._mode or termios.tcgetattr(self._fd)
        except (termios.error, OSError):
            self._mode = None
        for number in (signal.SIGTERM, signal.SIGQUIT, signal.SIGINT, signal.SIGHUP):
            self._before[number] = signal.signal(number, lambda which, frame: self._end(128 + which))
        threading.Thread(target=self._watch_terminal, name="terminal-watch", daemon=True).start()

    def release(self) -> None:
        """Give the signals back; the exit code is safe from a terminal that is gone. The terminal is as it was, also
        where what took it failed halfway."""
        with suppress(termios.error, OSError):  # it is gone, or it may only be read
            if self._mode is not None and termios.tcgetattr(self._fd) != self._mode:
                termios.tcsetattr(self._fd, termios.TCSANOW, self._mode)
                os.write(self._fd, _RESET)
        self._over.set()
        # Python ends with 120 when it cannot flush its output: give it somewhere to flush to.
        poller = select.poll()
        for fd in (0, 1, 2):
            poller.register(fd, 0)
        gone = [fd for fd, event in poller.poll(0) if event & (select.POLLHUP | select.POLLERR)]
        if self._asked and gone:
            null = os.open(os.devnull, os.O_RDWR)
            for fd in gone:
                os.dup2(null, fd)
            os.close(null)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _end(self, code: int) -> None:
        if self._asked:
            return
        self._asked = True
        threading.Thread(target=self._end_by_force, args=(code,), name="forced-end", daemon=True).start()
        self._leave(code)

    def _end_by_force(self, code: int) -> None:
        """The event loop may be stuck in a write that nobody takes: wait, then end without it."""
        if self._over.wait(_PATIENCE):
            return
        try:
            if self._mode is not None:
                termios.tcsetattr(self._fd, termios.TCSANOW, self._mode)
        except (termios.error, OSError):
            pass  # a terminal that is gone has no mode, and nobody to be told
        finally:
            os._exit(code)

    def _watch_terminal(self) -> None:
        """A terminal that is closed without SIGHUP shows only in `poll`. It has a thread of its own because the
        event loop may be stuck just then."""
        poller = select.poll()
        poller.register(self._fd, 0)
        while not self._over.is_set():
            if any(event & (select.POLLHUP | select.POLLERR) for _, event in poller.poll(_POLL)):
                self._end(128 + signal.SIGHUP)
                return
