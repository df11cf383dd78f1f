"""Gives the terminal to another program until it ends, then restores its modes.

Run as a module it is the whole of a window: `python -P -m hermes_tui.platform.terminal_handoff PROGRAM ARG…` stays
until its program's last words have been read. tmux could keep such a window itself (`remain-on-exit failed`), but
where it is built with libutempter it now and then never learns that the program has ended, and keeps the window for
ever.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["run_here"]

_CAUGHT = (signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD)
"""The program's own, and that which tells of its end."""
_RESET = b"\x1b[?1000;1002;1003;1006;2004;1l\x1b>\x1b[0m\x1b[?25h"
"""Mouse, bracketed paste, application keys and colours off, cursor on: what a killed program leaves behind."""


def run_here(
    argv: Sequence[str],
    program: str,
    *,
    cwd: Path | None = None,
    variables: Mapping[str, str] | None = None,
    patience: float = 0.0,
    afterwards: str = "",
) -> int:
    """Run `program` as `argv` (never a shell's line); its exit code, negative for a signal.

    While it runs Ctrl-C and Ctrl-\\ are its own. One that fails within `patience` seconds is left to be read until
    Enter, which `afterwards` says what it does ("returns to hermes-tui"). Raises `OSError` or `ValueError` where the
    program cannot be started.
    """
    # Caught and passed over, not ignored: what is ignored, the program would inherit.
    before = {number: signal.signal(number, lambda which, frame: None) for number in _CAUGHT}
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])  # whoever started us may have kept it back
    try:
        mode: list[Any] | None = termios.tcgetattr(0)
    except (termios.error, OSError):  # no terminal, so there is no mode to be put back
        mode = None
    began = time.monotonic()
    try:
        with _signals_wake() as wait:
            child = subprocess.Popen(list(argv), executable=program, cwd=cwd, env=variables)  # noqa: S603  (no shell)
            while (code := child.poll()) is None:
                wait()
        # Before its words are read, too: in the mode that it left, Enter may not be a newline.
        _restore(mode)
        if code and time.monotonic() - began < patience:
            _let_read(argv[0], code, afterwards)
        return code
    finally:
        _restore(mode)
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _signals_wake() -> Iterator[Callable[..., Sequence[int]]]:
    """What waits for a signal, or for something to read in the descriptors that it is given, and tells which have it.

    The system may give a signal to any thread, and Python's handlers run in this one: it must not sleep on.
    """
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    before = signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def wait(*fds: int) -> Sequence[int]:
        ready, _, _ = select.select([woken, *fds], [], [])
        if woken in ready:
            os.read(woken, 1024)
        return ready

    try:
        yield wait
    finally:
        signal.set_wakeup_fd(before)
        os.close(wake)
        os.close(woken)


def _restore(mode: list[Any] | None) -> None:
    """The terminal's mode as it was; keys that the program left unread are not ours, and could do harm here."""
    if mode is None:
        return
    try:
        termios.tcsetattr(0, termios.TCSAFLUSH, mode)
        os.write(1, _RESET)
    except (termios.error, OSError):
        pass  # a terminal that is gone: whoever called notices by itself


def _let_read(name: str, code: int, afterwards: str) -> None:
    """Its last words are on the screen; wait for Enter before they are gone."""
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    try:
        os.write(1, f"\r\n[{name} {how}; Enter {afterwards}]".encode())
        with _signals_wake() as wait:
            while 0 not in wait(0) or os.read(0, 1024)[-1:] not in (b"\n", b""):
                pass
    except OSError:
        pass  # nobody is there to press it


def _window(words: Sequence[str]) -> int:
    """Be a window's program; the exit code."""
    name = Path(words[0]).name
    try:
        code = run_here([name, *words[1:]], words[0], patience=float("inf"), afterwards="closes this window")
    except (OSError, ValueError) as error:
        print(f"{name} cannot be started: {getattr(error, 'strerror', None) or error}", file=sys.stderr)
        _let_read(name, 127, "closes this window")
        return 127
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(_window(sys.argv[1:]))
