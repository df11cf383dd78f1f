"""The tmux panes of this user: whose session runs in which.

Only asks tmux, never types into a pane. Every server of the user is asked, each by its socket, within a second.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

__all__ = ["Pane", "is_real", "list_panes", "pane_of", "parents_of", "socket_folder"]

_SECONDS = 1.0  # a server that hangs must not hold up the look at sessions
_SERVERS = 8  # each is asked by a process of its own, at every look
_FIELDS = (
    "pane_pid",
    "pane_id",
    "pane_tty",
    "session_name",
    "window_index",
    "pane_index",
    "pane_dead",
    "pane_title",
)
_BETWEEN = "\x1f"
_FORMAT = _BETWEEN.join(f"#{{{name}}}" for name in _FIELDS)
_DEEPEST = 64
"""Ancestors of a process that are looked at."""


class Pane(NamedTuple):
    """A pane of a tmux server."""

    socket: str
    pid: int
    """Of the program that was started in it."""
    id: str
    """`%5`."""
    tty: str
    session: str
    window: str
    number: str
    title: str

    @property
    def name(self) -> str:
        """As tmux addresses it: `main:2.1`."""
        return f"{self.session}:{self.window}.{self.number}"


def socket_folder(variables: Mapping[str, str]) -> Path:
    """Where tmux has the sockets of a user's servers; one that was begun with `-S` may have it anywhere."""
    return Path(variables.get("TMUX_TMPDIR") or "/tmp") / f"tmux-{os.getuid()}"  # noqa: S108 - tmux' own place


def list_panes(variables: Mapping[str, str] | None = None) -> Sequence[Pane]:
    """All panes that live, of every server; none where tmux is not installed or none runs."""
    variables = os.environ if variables is None else variables
    tmux = shutil.which("tmux", path=variables.get("PATH"))
    if tmux is None:
        return ()
    own = variables.get("TMUX", "").partition(",")[0]
    try:
        listed = sorted(entry.path for entry in os.scandir(socket_folder(variables)) if entry.name)
    except OSError:
        listed = []
    # The server that we are in comes first: it is asked however many there are.
    sockets = list(dict.fromkeys(one for one in (own, *listed) if one))[:_SERVERS]
    return [pane for socket in sockets for pane in _ask(tmux, socket)]


def _ask(tmux: str, socket: str) -> Iterator[Pane]:
    # -u: where the locale is not UTF-8 it would print `_` for what separates fields, and for signs in titles.
    argv = [tmux, "-u", "-S", socket, "list-panes", "-a", "-F", _FORMAT]
    try:
        found = subprocess.run(argv, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)  # noqa: S603 - argv, and no shell
    except (OSError, subprocess.TimeoutExpired):
        return  # no server behind that socket, or one that does not answer
    for line in found.stdout.decode("utf-8", "replace").splitlines():
        parts = line.split(_BETWEEN, len(_FIELDS) - 1)  # the title, which comes last, may hold anything
        if len(parts) == len(_FIELDS) and parts[0].isdigit() and parts[6] != "1":
            pid, pane, tty, session, window, number, _, title = parts
            yield Pane(socket, int(pid), pane, tty, session, window, number, title)


def pane_of(pid: int, panes: Sequence[Pane], proc: Path = Path("/proc")) -> Pane | None:
    """The pane in which a process runs: the one whose program is among its ancestors, else the one with its tty."""
    by_pid = {pane.pid: pane for pane in panes}
    line = (pid, *parents_of(proc, pid))
    found = next((by_pid[one] for one in line if one in by_pid), None)
    if found is not None:
        return found
    terminals = (facts[1] for one in line if (facts := _parent_and_terminal(proc, one)) is not None)
    terminal = next((one for one in terminals if one), 0)
    for pane in panes if terminal else ():
        with suppress(OSError):  # the pane was closed
            if Path(pane.tty).stat().st_rdev == terminal:
                return pane
    return None


def parents_of(proc: Path, pid: int) -> Sequence[int]:
    """The process that started a process, the one that started that, and so on, but for the first of all."""
    found: list[int] = []
    while len(found) < _DEEPEST:
        facts = _parent_and_terminal(proc, pid)
        if facts is None or facts[0] <= 1:
            break
        pid = facts[0]
        found.append(pid)
    return found


def is_real(proc: Path) -> bool:
    """Whether this is the machine's own table of processes: a made-up one may have the number of a real process."""
    return proc == Path("/proc")


def _parent_and_terminal(proc: Path, pid: int) -> tuple[int, int] | None:
    """Fields 4 and 7 of `/proc/PID/stat`; the name before them may hold anything."""
    try:
        fields = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[1]), int(fields[4])
    except (OSError, ValueError, IndexError):  # it ended while it was looked at
        return None
