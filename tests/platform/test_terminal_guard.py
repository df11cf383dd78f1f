"""The end that needs nobody's help: an event loop that is stuck on a terminal that is gone."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
import time
import tty

import pytest

from hermes_tui.platform.terminal_guard import Guard

STUCK = """
import time
from hermes_tui.platform.terminal_guard import Guard
guard = Guard(lambda code: None)   # a loop that never comes round to it
guard.install()
print("ready", flush=True)
while True:
    time.sleep(60)
"""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_stuck_loop_and_a_terminal_that_is_gone(unbuffered: str) -> None:
    """Whatever the system says to putting the mode of such a terminal back, the process ends."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,  # nobody sends SIGHUP
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    try:
        os.close(slave)
        seen = b""
        while b"ready" not in seen:
            seen += os.read(master, 1024)
        time.sleep(0.2)
        os.close(master)
        assert process.wait(timeout=180) == 129
    finally:
        process.kill()
        process.wait()


def test_a_start_that_failed_halfway_leaves_the_terminal_as_it_was() -> None:
    """No thread may be started any more, say, once the mode is set and before anything could put it back."""
    master, slave = pty.openpty()
    try:
        before = termios.tcgetattr(slave)
        guard = Guard(lambda code: None, fd=slave)
        guard.install()
        tty.setraw(slave)
        guard.release()
        assert termios.tcgetattr(slave) == before
        assert b"\x1b[?1049l" in os.read(master, 1024)
        guard = Guard(lambda code: None, fd=slave)
        guard.install()
        guard.release()
        os.write(slave, b"nothing else")
        assert os.read(master, 1024) == b"nothing else"
    finally:
        os.close(master)
        os.close(slave)
