"""What sessions used, read by a process beside while this one makes the list of them: on two cores that takes little
longer than the list alone. For commands that do nothing else; a face has the `clerk`.

The process is a copy of this one (`fork`), so that nothing is imported twice, and ends as soon as it has told what it
found. What it does not tell is read as if there were none.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

import msgspec

from hermes_tui.platform.parent import end_with_parent
from hermes_tui.sessions.adapters import Adapters
from hermes_tui.sessions.cost.prices import Prices
from hermes_tui.sessions.cost.rates import Tariff
from hermes_tui.sessions.cost.store import SourceCalls, decode_calls, encode_calls
from session_adapters.base import Adapter, Source
from session_adapters.model import Problem

__all__ = ["Beside", "start"]

_BLOCK = 1 << 20


class _Told(msgspec.Struct, array_like=True):
    """What the process says before it ends."""

    calls: msgspec.Raw
    tariffs: dict[str, Tariff | None] = {}


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Told)


class Beside:
    """The other process. Ask for its calls once; it ends with this one at the latest."""

    def __init__(self, pid: int, fd: int, *, looks_up: bool) -> None:
        self.looks_up = looks_up
        """It asks for prices too."""
        self._pid = pid
        self._fd = fd

    def is_ready(self) -> bool:
        """Whether it has begun to tell, or has failed."""
        return bool(select.select((self._fd,), (), (), 0)[0])

    def calls(self, prices: Prices) -> Sequence[SourceCalls]:
        """What it read, as of the stamp that each source had; waits for it. Nothing where it failed. `prices` come to
        know what it looked up."""
        parts: list[bytes] = []
        try:
            while part := os.read(self._fd, _BLOCK):
                parts.append(part)
        finally:
            os.close(self._fd)
            _, status = os.waitpid(self._pid, 0)
        if status != 0:
            return ()
        told = _DECODER.decode(b"".join(parts))
        prices.found.update(told.tariffs)
        return decode_calls(bytes(told.calls))


def start(adapters: Adapters, prices: Prices | None) -> Beside | None:
    """Begin; None where it would not pay, or could not be done safely. With `prices` the process looks up also what
    the models cost that it meets: for one that has longer to make the list than this takes."""
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        return None  # elsewhere, and beside threads, the copy of a process may hang
    for name in adapters.names:
        with suppress(Exception):  # whoever makes the list says so
            adapters.get(name)
    try:
        ours, theirs = os.pipe()
    except OSError:
        return None
    # Ctrl-C between here and there would have the copy end as if it were this process.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    parent = os.getpid()
    try:
        pid = os.fork()
        if pid == 0:
            _tell(adapters, prices, theirs, mask, parent)
    except OSError:
        os.close(ours)
        os.close(theirs)
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    os.close(theirs)
    return Beside(pid, ours, looks_up=prices is not None)


def _tell(adapters: Adapters, prices: Prices | None, fd: int, mask: Iterable[int], parent: int) -> None:
    """The life of the other process. `mask`: the signals that may not interrupt it."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        end_with_parent(parent)
        found = [one for name in adapters.names for one in _of_agent(adapters, name)]
        told = _Told(msgspec.Raw(encode_calls(found)))
        if prices is not None:
            for model, provider in {
                (call.model, call.provider) for one in found for call in one.calls if call.usd is None
            }:
                prices.of(model, provider)
            told.tariffs = prices.found
        data = memoryview(_ENCODER.encode(told))
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
