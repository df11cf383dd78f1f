"""A tmux server of our own, to press keys in and read from."""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from pathlib import Path

__all__ = ["Tmux"]


class Tmux:
    """One server with one window, of our own."""

    def __init__(self, folder: Path, size: tuple[int, int], command: list[str], variables: dict[str, str]) -> None:
        self._name = uuid.uuid4().hex
        self._env = {**os.environ, "TMUX_TMPDIR": str(folder), "TERM": "xterm-256color"}
        self._env.pop("TMUX", None)
        settings = [f"{name}={value}" for name, value in variables.items()]
        width, height = (str(number) for number in size)
        self.run(
            *("-f", "/dev/null", "new-session", "-d", "-x", width, "-y", height),
            *("env", *settings, *command),
        )

    def run(self, *arguments: str) -> str:
        """A tmux command; what it printed."""
        argv = ["tmux", "-L", self._name, *arguments]
        done = subprocess.run(argv, env=self._env, capture_output=True, text=True, timeout=20, check=False)
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

    def until(self, *wanted: str, absent: str = "", seconds: float = 30.0) -> str:
        """The pane, once it has all of `wanted` and not `absent`; fails with it when it never has."""
        end = time.monotonic() + seconds
        while True:
            text = self.text()
            if all(words in text for words in wanted) and not (absent and absent in text):
                return text
            assert time.monotonic() < end, f"never: {wanted}, without {absent!r}\n{text}"
            time.sleep(0.05)

    @property
    def is_there(self) -> bool:
        """Whether the program runs."""
        return bool(self.run("list-sessions"))
