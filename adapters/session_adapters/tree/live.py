"""Which Pi and omp sessions are open now.

Neither agent locks or holds its session file. What can be known is that a process runs in a directory; the session
taken for open is the newest of that directory, and only if its file changed after the process started.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from session_adapters.base import Liveness, Source
from session_adapters.proc import pids, started_at, words_of

__all__ = ["Process", "newest_by_directory", "process", "processes"]

_STATUS = "open in this directory"
_SLACK = 1.0
"""Seconds: the boot time that starts are counted from has no fractions."""
_LOOKED_AT = 200
"""Session files whose first lines are read at most."""


class Process(NamedTuple):
    """A running process."""

    pid: int
    words: tuple[str, ...]
    """Its command line."""
    started: float
    """Seconds since the epoch."""
    cwd: str
    parent: int
    """Id of the process that started it."""


def process(proc: Path, pid: int) -> Process | None:
    """The process with this id; None when there is none, or it is another user's."""
    folder = proc / str(pid)
    try:
        parent = int((folder / "stat").read_bytes().rpartition(b")")[2].split()[1])
        cwd = str((folder / "cwd").readlink())
    except (OSError, ValueError, IndexError):  # it ended while it was looked at, or is another user's
        return None
    started = started_at(proc, pid)
    return None if started is None else Process(pid, _words(proc, pid), started, cwd, parent)


def processes(proc: Path, wanted: Callable[[tuple[str, ...]], bool]) -> Iterator[Process]:
    """All processes that can be looked at whose command line is `wanted`."""
    for name in sorted(pids(proc)):
        if wanted(_words(proc, name)):
            found = process(proc, int(name))
            if found is not None and wanted(found.words):  # it may have become another program meanwhile
                yield found


def _words(proc: Path, pid: int | str) -> tuple[str, ...]:
    return tuple(word.decode("utf-8", "replace") for word in words_of(proc, pid))


def newest_by_directory(
    running: Iterable[Process],
    sources: Callable[[], Iterable[Source]],
    header: Callable[[Source], tuple[str, str] | None],
) -> Mapping[str, Liveness]:
    """Session ids by the rule above. `header` gives (id, directory) of a session."""
    waiting = sorted(running, key=lambda one: -one.started)
    if not waiting:
        return {}
    earliest = waiting[-1].started
    fresh = [source for source in sources() if source.modified + _SLACK >= earliest]
    found: dict[str, Liveness] = {}
    for source in sorted(fresh, key=lambda one: -one.modified)[:_LOOKED_AT]:
        known = header(source)
        if known is None or known[0] in found:
            continue
        for one in waiting:
            if one.cwd == known[1] and source.modified + _SLACK >= one.started:
                found[known[0]] = Liveness(pid=one.pid, status=_STATUS)
                waiting.remove(one)
                break
        if not waiting:
            break
    return found
