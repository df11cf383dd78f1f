"""What was said in sources that the index has nothing of, read ahead by a process beside while this one writes: on
two cores it takes little longer than one of the two.

The process is a copy of this one (`fork`), so that nothing is imported twice. It reads the sources in their order,
and nothing else: what it does not tell, however it ended, is read by this one.
"""

from __future__ import annotations

import fcntl
import marshal
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import IntEnum
from typing import BinaryIO

from hermes_tui.platform.parent import end_with_parent
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.index.writing.documents import Said, keyed, said
from session_adapters.base import Source
from session_adapters.model import Problem

__all__ = ["Ahead", "Run", "Untold", "start"]

_WORTH = 8 << 20
"""Bytes of sources for which a process pays."""
_SENT = 256 << 10
"""Bytes of words that are told at once."""
_ROOM = 1 << 20
"""Bytes that the process may be ahead, where the system lets it: without, it would wait for this one at each step."""
_LENGTH = 8
_PLAIN = 2
"""Version of `marshal` that looks for no references."""

Run = tuple[str, list[Said]]
"""What was said in one session, or in the next part of it, by its native id."""


class _State(IntEnum):
    MORE = 0
    """Of the same source comes more."""
    WHOLE = 1
    UNTOLD = 2
    """It could not be read, or not so."""


_Entry = tuple[int, int, list[Run]]
"""Number of a source, state and what was said in it."""


class Untold(Exception):
    """A source is to be read by this process: the other one could not, or is no more."""


class Ahead:
    """The other process. Ask for its sources in the order that it was given."""

    def __init__(self, pid: int, file: BinaryIO) -> None:
        self._pid = pid
        self._file = file
        self._entries: Iterator[_Entry] = self._told()

    def said(self, number: int) -> Iterator[Run]:
        """What was said in the source of that number. Raises `Untold`, maybe after a part."""
        for at, state, runs in self._entries:
            if at < number:
                continue  # the rest of one that was not wanted
            if state == _State.UNTOLD:
                break
            yield from runs
            if state == _State.WHOLE:
                return
        raise Untold

    def close(self) -> None:
        """End it."""
        self._entries = iter(())
        self._file.close()
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _told(self) -> Iterator[_Entry]:
        while len(header := self._file.read(_LENGTH)) == _LENGTH:
            size = int.from_bytes(header, "little")
            data = self._file.read(size)
            if len(data) < size:
                return
            yield from marshal.loads(data)  # noqa: S302 - made by a copy of this process


def start(adapters: Adapters, sources: Sequence[Source]) -> Ahead | None:
    """Begin to read; None where it would not pay, or could not be done safely."""
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        return None  # elsewhere, and beside threads, the copy of a process may hang
    if sum(source.size for source in sources) < _WORTH:
        return None
    try:
        ours, theirs = os.pipe()
    except OSError:
        return None
    with suppress(OSError):
        fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, _ROOM)
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        os.close(ours)
        os.close(theirs)
        return None
    if pid == 0:
        _live(adapters, sources, theirs, parent)
    os.close(theirs)
    return Ahead(pid, os.fdopen(ours, "rb", _SENT))


def _live(adapters: Adapters, sources: Sequence[Source], fd: int, parent: int) -> None:
    """The life of the other process."""
    code = 1
    try:
        _let_go(fd)
        end_with_parent(parent)  # whoever writes into a pipe that nobody reads ends, but not who only reads
        _Teller(fd).tell(adapters, sources)
        code = 0
    finally:
        os._exit(code)  # whatever happened: nothing of the process that was copied is cleaned up or written here


def _let_go(fd: int) -> None:
    """Close all that is not ours: the lock above all, which is held for as long as anybody has it open."""
    os.closerange(3, fd)
    os.closerange(fd + 1, os.sysconf("SC_OPEN_MAX"))
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)


class _Teller:
    """Reads, and writes what it finds into a pipe."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._entries: list[_Entry] = []
        self._size = 0

    def tell(self, adapters: Adapters, sources: Sequence[Source]) -> None:
        """All of them, in their order."""
        for number, source in enumerate(sources):
            for state, runs, size in _guarded(adapters, source):
                self._entries.append((number, state, runs))
                self._size += size
                if self._size >= _SENT:
                    self._send()
        self._send()

    def _send(self) -> None:
        data = marshal.dumps(self._entries, _PLAIN)
        self._entries.clear()
        self._size = 0
        rest = memoryview(len(data).to_bytes(_LENGTH, "little") + data)
        while rest:
            rest = rest[os.write(self._fd, rest) :]


class _Unfit(Exception):
    """A source that only the one can read who looks up what there was of it, or who can say what is wrong with it."""


_Part = tuple[int, list[Run], int]
"""State, what was said, and how many bytes that is."""


def _guarded(adapters: Adapters, source: Source) -> Iterator[_Part]:
    try:
        yield from _parts(adapters, source)
    except Exception:  # met again, and said, by who reads it instead
        yield int(_State.UNTOLD), [], 0


def _parts(adapters: Adapters, source: Source) -> Iterator[_Part]:
    """What was said in a source, a part at a time. Raises what its adapter raises."""
    problems: list[Problem] = []
    met = set[str]()
    native: str | None = None
    rows: list[Said] = []
    runs: list[Run] = []
    size = 0
    texts = adapters.get(source.agent).texts(source, problems.append, prose_only=True)
    for key, second, text in keyed(source, texts):
        if text.session_id != native:
            native = text.session_id
            if native in met:
                raise _Unfit
            met.add(native)
            rows = []
            runs.append((native, rows))
        one = said(key, second, text)
        if one is not None:
            rows.append(one)
            size += len(one[-1])
            if size >= _SENT:
                yield int(_State.MORE), runs, size
                rows = []
                runs, size = [(native, rows)], 0
    if problems and not met:
        raise _Unfit
    yield int(_State.WHOLE), runs, size
