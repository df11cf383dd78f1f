"""Which sessions of Claude Code a process has open, and what it waits for.

`FACTS.md`, «Live process».
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from session_adapters.activity import Step
from session_adapters.base import Environment, Liveness, Report
from session_adapters.claude.paths import SMALL, config_roots, entries_of, printable
from session_adapters.model import Problem
from session_adapters.proc import start_ticks
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import read_small
from session_adapters.reading.folders import is_new
from session_adapters.times import from_millis

__all__ = ["live_sessions", "tell_damage"]

_PID_FILE = re.compile(r"[1-9][0-9]{0,9}\.json")
_PROCESSES = 1000
"""Files of processes that are looked into; each is read at every look."""


class _Process(Struct, rename="camel"):
    """`sessions/<pid>.json`."""

    session_id: str | None = None
    proc_start: str | int | None = None
    status: str | None = None
    waiting_for: str | None = None
    status_updated_at: float | None = None
    """Milliseconds since the epoch."""


_RESTS: frozenset[Step] = frozenset(("done", "idle", "failed", "limited"))
_ASKS: frozenset[Step] = frozenset(("approval", "question"))
_STEPS: Mapping[str, frozenset[Step]] = {
    "busy": frozenset(("working",)),
    "idle": _RESTS,
    "shell": _RESTS,  # the turn is over, a command of it goes on
    "waiting": _ASKS,
}
"""By `status`, what the conversation may be at; of one that nobody knows, anything."""
_LEAVE: frozenset[Step] = frozenset(("approval",))
_ANSWER: frozenset[Step] = frozenset(("question",))
_PROCESS = Decoder(_Process)


def live_sessions(environment: Environment) -> Mapping[str, Liveness]:
    """Sessions open in a process that is still the one that wrote its file, of several the one that needs its user
    most. The keys beside are never read."""
    found: dict[str, Liveness] = {}
    for root in config_roots(environment):
        for pid, process in _processes(root.path, lambda problem: None):
            if process.session_id and _runs(environment.proc, pid, process.proc_start):
                waits_for = process.waiting_for or ""
                steps: frozenset[Step] = _STEPS.get(process.status or "", frozenset())
                if process.status == "waiting" and "permission" in waits_for:
                    steps = _LEAVE
                elif process.status == "waiting" and "input" in waits_for:
                    steps = _ANSWER
                since = from_millis(process.status_updated_at)
                one = Liveness(pid=pid, status=process.status, steps=steps, since=since, waits_for=waits_for)
                found[process.session_id] = max(found.get(process.session_id, one), one, key=_urgency)
    return found


def _urgency(one: Liveness) -> tuple[bool, bool, float]:
    """Which of several processes that have a session open is told of, the highest: who waits in one window does so
    whatever another says."""
    since = one.since.timestamp() if one.since is not None else 0.0
    return not _ASKS.isdisjoint(one.steps), "working" in one.steps, since


def tell_damage(root: Path, report: Report) -> None:
    """Report files of processes that cannot be read: once, with the list, and not at every look at processes."""
    for _ in _processes(root, report):
        pass


def _processes(root: Path, report: Report) -> Iterator[tuple[int, _Process]]:
    """What processes wrote of themselves, by their ids."""
    found = [entry for entry in entries_of(root / "sessions", report) if _PID_FILE.fullmatch(entry.name)]
    if len(found) > _PROCESSES:
        reason = f"holds {len(found):,} files of processes, of which {_PROCESSES:,} are read: which sessions are open"
        report(Problem(agent="claude", path=printable(root / "sessions"), reason=f"{reason} is not known for sure"))
    for entry in found[:_PROCESSES]:
        pid = int(entry.name.removesuffix(".json"))
        try:
            process = _PROCESS.one(read_small(entry.path, SMALL))
        except FileNotFoundError:  # it ended since the folder was listed
            continue
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
        except ValueError:
            if is_new(entry.path):
                continue  # it may be being written: the next look tells
            reason = "is damaged"
        else:
            yield pid, process
            continue
        reason = f"{reason}; whether the session of process {pid} is open is not known"
        report(Problem(agent="claude", path=printable(entry.path), reason=reason))


def _runs(proc: Path, pid: int, start: str | int | None) -> bool:
    """Whether process `pid` runs and began at `start`, in clock ticks since boot: pids are used again."""
    if not proc.is_dir():
        try:
            os.kill(pid, 0)
        except PermissionError:  # it runs, and is another user's
            return True
        except (OSError, OverflowError):  # there is none, or can be none of that number
            return False
        return True
    ticks = start_ticks(proc, pid)
    return ticks is not None and str(ticks) == str(start)
