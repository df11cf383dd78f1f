"""Adds up in a process of its own, so that a screen neither stutters meanwhile nor keeps the memory that it took.

The process is told on standard input what to read, leaves the result in the file that costs are kept in, and ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hermes_tui.config import Price
from hermes_tui.platform.parent import helper_command
from session_adapters.base import Environment

__all__ = ["Task", "main", "send"]

_PATIENCE = 600.0
"""Seconds after which a process is given up."""


class Task(msgspec.Struct, frozen=True):
    """What is to be added up."""

    environment: Environment
    cache_dir: Path
    agents: tuple[str, ...]
    prices: Mapping[str, Price]


def send(task: Task) -> bool:
    """Have it done; waits. False when it could not be done that way."""
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            helper_command("hermes_tui.sessions.cost.refresh"),
            input=msgspec.json.encode(task, enc_hook=str),  # paths
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is meant for the screen
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return False
    return done.returncode == 0


def main() -> int:
    """Read a task from standard input and do it."""
    os.nice(10)
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task, dec_hook=lambda kind, text: kind(text))
    from hermes_tui.sessions.manager import SessionManager

    manager = SessionManager(task.environment, cache_dir=task.cache_dir, agents=task.agents, prices=task.prices)
    manager.costs.begin()
    manager.catalogue.refresh()
    manager.costs.sheet()
    return 0


if __name__ == "__main__":
    sys.exit(main())
