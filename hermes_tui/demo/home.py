"""A whole home for the demo: every agent's store, and the few files of `/proc` that tell which of them are live."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from hermes_tui.demo import claude, codex, copilot, cursor, gemini, hector, hermes, omp, openclaw, opencode, pi
from hermes_tui.errors import ValidationError
from session_adapters.base import Environment

__all__ = ["MARKER", "environment_of", "prepare", "write_home"]

MARKER = ".hermes-tui-demo"
"""Stands in every demo home, so that only a demo home is ever overwritten."""

_AGENTS = (claude, codex, copilot, cursor, gemini, hector, hermes, omp, openclaw, opencode, pi)
_STORES = (".claude", ".codex", ".copilot", ".cursor", ".gemini", ".hector", ".hermes", ".omp", ".openclaw", ".pi")
_PARTS = (*_STORES, ".cache", ".config", ".local", "Library", "proc")
"""What a demo home consists of: the stores, our own files made while it runs, the process table."""


def environment_of(home: Path) -> Environment:
    """The machine that has only this home: no variable of the user's, and the demo's own process table."""
    return Environment(home=home, variables={}, proc=home / "proc")


def prepare(home: Path) -> None:
    """Make `home` an empty directory: a new one, an empty one, or a former demo home whose parts are removed.

    Raises `ValidationError` for any other, `OSError` where the system does not let us.
    """
    if home.exists() and not home.is_dir():
        raise ValidationError(f"{home} is not a directory; name one that is empty or not there yet")
    if home.is_dir() and any(home.iterdir()) and not (home / MARKER).is_file():
        raise ValidationError(
            f"{home} is not empty and no demo home; name a directory that is empty or not there yet"
        )
    home.mkdir(parents=True, exist_ok=True)
    for name in _PARTS:
        if (home / name).is_dir() and not (home / name).is_symlink():
            shutil.rmtree(home / name)
    (home / MARKER).write_text("Made by `hermes-tui demo`. It may be removed at any time.\n")


def write_home(home: Path, now: datetime) -> None:
    """Write all stores as they would be at `now` into `home`, which must be prepared."""
    for agent in _AGENTS:
        agent.write(home, now)
    _process_table(home, now)


def _process_table(home: Path, now: datetime) -> None:
    """The gateway, up for three days and holding its lock, and the agents that have a session open."""
    ticks = os.sysconf("SC_CLK_TCK")
    started = now - timedelta(days=3, hours=4)
    _process(home, hermes.GATEWAY_PID, "hermes", hermes.GATEWAY_START, command=hermes.gateway_command(home, now))
    _process(home, claude.LIVE_PID, "claude", claude.LIVE_START)
    _process(home, codex.LIVE_PID, "codex", codex.LIVE_START)
    _process(home, copilot.LIVE_PID, "copilot", copilot.LIVE_START)
    _process(home, pi.LIVE_PID, "pi", pi.LIVE_START, cwd=pi.LIVE_CWD)
    boot = int(started.timestamp() - hermes.GATEWAY_START / ticks)
    (home / "proc" / "stat").write_text(f"cpu  0 0 0 0\nbtime {boot}\n")
    held = {hermes.GATEWAY_PID: home / ".hermes" / "gateway.lock", codex.LIVE_PID: codex.lock_path(home, now)}
    held[copilot.LIVE_PID] = copilot.hold_path(home)
    rows = (f"{number}: {_flock(pid, path)}" for number, (pid, path) in enumerate(held.items(), 1))
    for pid, path in held.items():
        (home / "proc" / str(pid) / "fd").mkdir()
        (home / "proc" / str(pid) / "fd" / "7").symlink_to(path.resolve())
    (home / "proc" / "locks").write_text("".join(rows))


def _flock(pid: int, path: Path) -> str:
    """A line of `/proc/locks` without its number."""
    lock = path.stat()
    place = f"{os.major(lock.st_dev):02x}:{os.minor(lock.st_dev):02x}:{lock.st_ino}"
    return f"FLOCK  ADVISORY  WRITE {pid} {place} 0 EOF\n"


def _process(
    home: Path, pid: int, name: str, start: int, cwd: str = "/home/dev", command: Sequence[str] = ()
) -> None:
    """A process with a command line, of one word if no other is given."""
    folder = home / "proc" / str(pid)
    folder.mkdir(parents=True)
    fields = ["S", "1", *["0"] * 17, str(start), *["0"] * 30]  # the start is field 22; pid and name are 1 and 2
    (folder / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")
    (folder / "comm").write_text(f"{name}\n")
    (folder / "cmdline").write_text("".join(f"{word}\0" for word in command or (name,)))
    (folder / "cwd").symlink_to(cwd)
