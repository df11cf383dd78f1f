"""A tmux server of our own, to press keys in and read from."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

from support import PATIENCE
from system_programs import required_program

__all__ = ["Tmux"]


class Tmux:
    """One server with one window; a context manager."""

    def __init__(self, size: tuple[int, int], command: list[str], variables: dict[str, str]) -> None:
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
        argv = [required_program("tmux"), "-S", str(self.socket), *arguments]
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
