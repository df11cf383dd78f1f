"""A tmux server of our own, to press keys in and read from."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import tempfile
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from support import PATIENCE
from system_programs import required_program

__all__ = ["Client", "Tmux", "until"]


class Tmux:
    """One server with one window; a context manager."""

    def __init__(self, size: tuple[int, int], command: list[str], variables: dict[str, str]) -> None:
        self._tmux = required_program("tmux")  # before anything has to be cleared up
        # Not among the other temporary files: the path of a socket has at most 103 bytes on some systems.
        self._folder = tempfile.TemporaryDirectory(prefix="tmux-", dir="/tmp")
        self.socket = Path(self._folder.name) / "s"
        self._env = {**os.environ, "TERM": "xterm-256color"}
        self._env.pop("TMUX", None)
        settings = [f"{name}={value}" for name, value in variables.items()]
        width, height = (str(number) for number in size)
        self.run(
            *("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height),
            *("env", *settings, *command),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.run("kill-server")
        self._folder.cleanup()

    def run(self, *arguments: str) -> str:
        """A tmux command; what it printed."""
        argv = [self._tmux, "-S", str(self.socket), *arguments]
        done = subprocess.run(argv, env=self._env, capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.stdout

    def text(self) -> str:
        """The pane."""
        return self.run("capture-pane", "-p")

    def keys(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self.run("send-keys", *keys)

    def type(self, text: str) -> None:
        """Send characters as they are, in one go."""
        self.run("send-keys", "-l", text)

    def until(self, *wanted: str, absent: str = "") -> str:
        """The pane, once it has all of `wanted` and not `absent`; fails with it when it never has."""
        end = time.monotonic() + PATIENCE
        while True:
            text = self.text()
            if all(words in text for words in wanted) and not (absent and absent in text):
                return text
            assert time.monotonic() < end, f"never: {wanted}, without {absent!r}\n{text}"
            time.sleep(0.05)

    def agree(self, key: str) -> None:
        """Press a key that says yes in a dialog that has just come up, again where it came too soon to be meant."""
        self.until("Cancel")
        self.type(key)
        end = time.monotonic() + PATIENCE
        while "Cancel" in (text := self.text()):
            assert time.monotonic() < end, text
            if "too soon" in text:
                time.sleep(0.6)
                self.type(key)
            time.sleep(0.05)

    @property
    def is_there(self) -> bool:
        """Whether the program runs."""
        return bool(self.run("list-sessions"))

    def until_it_ends(self) -> None:
        """Wait until the program is gone; fails when it stays."""
        end = time.monotonic() + PATIENCE
        while self.is_there:
            assert time.monotonic() < end, f"it still runs\n{self.text()}"
            time.sleep(0.02)


class Client:
    """A terminal that is attached to a server."""

    def __init__(self, tmux: Tmux, session: str) -> None:
        self._tmux = tmux
        self.shows = b""
        """All bytes that it was sent."""
        self._keys, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.name = os.ttyname(terminal)
        argv = [required_program("tmux"), "-S", str(tmux.socket), "attach-session", "-t", session]
        ends = {"stdin": terminal, "stdout": terminal, "stderr": terminal}
        env = {**os.environ, "TERM": "xterm"}
        self._process = subprocess.Popen(argv, env=env, start_new_session=True, **ends)  # type: ignore[call-overload]
        os.close(terminal)
        threading.Thread(target=self._drain, daemon=True).start()
        until(lambda: self.name in tmux.run("list-clients", "-F", "#{client_name}"))

    def _drain(self) -> None:
        try:
            while data := os.read(self._keys, 1 << 16):
                self.shows += data
        except OSError:
            pass

    def press(self, key: str) -> None:
        """Press a key, later than any before."""
        time.sleep(1.1)  # tmux counts in seconds
        before = self.shown("#{client_activity}")
        os.write(self._keys, key.encode())
        until(lambda: self.shown("#{client_activity}") != before)

    def shown(self, form: str = "#{session_name}:#{window_index}.#{pane_index}") -> str:
        """The pane that it shows."""
        lines = self._tmux.run("list-clients", "-F", f"#{{client_name}} {form}").splitlines()
        return next(line.partition(" ")[2] for line in lines if line.startswith(f"{self.name} "))

    def seen(self) -> str:
        """The text of the pane that it shows."""
        return self._tmux.run("capture-pane", "-p", "-t", self.shown("#{pane_id}"))

    def close(self) -> None:
        """Detach."""
        self._process.kill()
        self._process.wait()
        os.close(self._keys)


def until(condition: Callable[[], object]) -> None:
    """Wait until it is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
