"""What sessions used, read by a process beside while this one makes the list of them: on two cores that takes little
longer than the list alone. For commands that do nothing else; a face has the `clerk`.

The process is a copy of this one (`fork`), so that nothing is imported twice, and ends as soon as it has told what it
found. What it does not tell is read as if there were none.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress

from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.cost.store import SourceCalls, decode_calls, encode_calls
from session_adapters.base import Adapter, Source
from session_adapters.model import Problem

__all__ = ["Beside", "start"]

_BLOCK = 1 << 20


class Beside:
    """The other process. Ask for its calls once; it ends with this one at the latest."""

    def __init__(self, pid: int, fd: int) -> None:
        self._pid = pid
        self._fd = fd

    def is_ready(self) -> bool:
        """Whether it has begun to tell, or has failed."""
        return bool(select.select((self._fd,), (), (), 0)[0])

    def calls(self) -> Sequence[SourceCalls]:
        """What it read, as of the stamp that each source had; waits for it. Nothing where it failed."""
        parts: list[bytes] = []
        try:
            while part := os.read(self._fd, _BLOCK):
                parts.append(part)
        finally:
            os.close(self._fd)
            _, status = os.waitpid(self._pid, 0)
        return decode_calls(b"".join(parts)) if status == 0 else ()


def start(adapters: Adapters) -> Beside | None:
    """Begin; None where it would not pay, or could not be done safely."""
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        return None  # elsewhere, and beside threads, the copy of a process may hang
    for name in adapters.names:
        with suppress(Exception):  # whoever makes the list says so
            adapters.get(name)
    try:
        ours, theirs = os.pipe()
    except OSError:
        return None
    try:
        pid = os.fork()
    except OSError:
        os.close(ours)
        os.close(theirs)
        return None
    if pid == 0:
        _tell(adapters, theirs)
    os.close(theirs)
    return Beside(pid, ours)


def _tell(adapters: Adapters, fd: int) -> None:
    """The life of the other process."""
    code = 1
    try:
        data = memoryview(encode_calls([one for name in adapters.names for one in _of_agent(adapters, name)]))
        while data:
            data = data[os.write(fd, data) :]
        code = 0
    finally:
        os._exit(code)  # whatever happened: nothing of the process that was copied is cleaned up or written here


def _of_agent(adapters: Adapters, name: str) -> Iterator[SourceCalls]:
    with suppress(Exception):  # whoever makes the list says so
        adapter = adapters.get(name)
        for source in adapter.sources(_unheard):
            if source.session_id and (found := _of_source(adapter, source)) is not None:
                yield found


def _of_source(adapter: Adapter, source: Source) -> SourceCalls | None:
    """None where anything is wrong with it: it is read again by the one who can say so."""
    problems: list[Problem] = []
    try:
        calls = list(adapter.usage(source, problems.append))
    except Exception:
        return None
    return None if problems else SourceCalls(source.agent, source.path, source.session_id, source.stamp, calls)


def _unheard(problem: Problem) -> None:
    """It is told by whoever makes the list."""
