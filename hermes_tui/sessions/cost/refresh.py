"""Updates costs in a child process, so that the screen neither stutters nor grows."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

from hermes_tui.config import Price
from hermes_tui.platform.parent import helper_command
from session_adapters.base import Environment

__all__ = ["Task", "send"]

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
            helper_command("hermes_tui.sessions.cost.refresh_helper"),
            input=msgspec.json.encode(task, enc_hook=str),  # paths
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is meant for the screen
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return False
    return done.returncode == 0
