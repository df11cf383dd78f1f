"""Tells the indexer which sources changed, a line at a time over a pipe.

An empty line says that any may have. The other end of the pipe is closed when nobody is there any more.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence

import msgspec

from hermes_tui.sessions.index.source_state import Key, key_of
from session_adapters.base import Source

__all__ = ["Ear", "tell"]

_MOST = select.PIPE_BUF
"""Bytes of a line: so many are written at once or not at all, also where the reader is slow."""
_TOGETHER = 4
"""Sources in a line, at most."""
_NAMED = 32
"""Sources that are told one by one: of more, all are looked at."""
_SOURCES = msgspec.json.Decoder(list[Source])


def tell(pipe: int, sources: Sequence[Source]) -> None:
    """Say that `sources` were written to; with none, or more than can be named, that any may have been. Raises
    `OSError`, also where the reader has not got round to what it was told before."""
    parts = [sources[at : at + _TOGETHER] for at in range(0, len(sources), _TOGETHER)]
    try:
        lines = [msgspec.json.encode(part) for part in parts] if len(sources) <= _NAMED else []
    except UnicodeEncodeError:  # paths may be any bytes
        lines = []
    if not lines or any(len(line) >= _MOST for line in lines):
        lines = [b""]
    for line in lines:
        os.write(pipe, b"%b\n" % line)


class Ear:
    """The reader's end."""

    def __init__(self, pipe: int | None) -> None:
        """None where nobody tells anything."""
        self._pipe = pipe
        self._gone = False
        self._rest = b""
        self._all = False
        self._told: dict[Key, Source] = {}

    def gone(self) -> bool:
        """Whether there is nobody any more who told something."""
        self._listen(0)
        return self._gone

    def called(self) -> bool:
        """Whether something was told that was not waited for yet, or it is time to end."""
        return self.gone() or self._all or bool(self._told)

    def wait(self, seconds: float) -> Sequence[Source] | None:
        """Wait so long to be told something: the sources that were written to, none if any may have been. None when
        it is time to end."""
        if not self._all and not self._told:
            self._listen(seconds)
        if self._gone or not (self._all or self._told):
            return None
        told = () if self._all else tuple(self._told.values())
        self._all = False
        self._told.clear()
        return told

    def _listen(self, seconds: float) -> None:
        if self._pipe is None or self._gone or not select.select([self._pipe], [], [], seconds)[0]:
            return
        while True:
            data = os.read(self._pipe, 1 << 16)
            self._gone = not data
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                try:
                    self._told.update((key_of(source), source) for source in _SOURCES.decode(line))
                except msgspec.MsgspecError:  # an empty line, above all
                    self._all = True
            if self._gone or not self._rest:
                break
