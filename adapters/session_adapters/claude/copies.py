"""Which records of a Claude Code transcript are copies of another session's."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from session_adapters.claude.line_types import CONVERSATION
from session_adapters.claude.records import ForkedFrom, LineHead
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.lines import lines
from session_adapters.times import parse_time

__all__ = ["NO_COPIES", "Copies", "is_old", "read_copies"]

_DECODER = Decoder(LineHead)
_SPANS = (16 << 10, 1 << 20)
"""Bytes at the beginning of a file in which its first records are looked for."""


class Copy(Protocol):
    """What of a record tells that it is a copy."""

    uuid: str | None
    timestamp: str | int | float | None
    forked_from: ForkedFrom | str | None


class Copies(NamedTuple):
    """Tells copies by the three ways in which Claude Code makes them (`FACTS.md`, «Forks»).

    `/branch` names the parent on each. `--fork-session` leaves them the time they had, which is before that of the
    prompt that the file begins with. `--resume` of 1.0.x gives all of them one time, to the millisecond.
    """

    before: datetime | None = None
    at: str | None = None

    @property
    def is_restamped(self) -> bool:
        """Whether copies have the time at which they were made."""
        return self.at is not None

    def has(self, record: Copy) -> bool:
        """Whether the record is a copy."""
        if record.uuid is None:
            return False
        if record.forked_from is not None:
            return True
        if self.before is not None:
            moment = parse_time(record.timestamp)
            return moment is not None and moment < self.before
        return self.at is not None and record.timestamp == self.at


NO_COPIES = Copies()


def is_old(version: str | None) -> bool:
    """Whether it is a version that kept helpers inside the main file, and gave copies new uuids."""
    return version is not None and version.startswith(("0.", "1."))


def read_copies(fd: int, size: int) -> Copies:
    """What the first records of a file tell. Raises `OSError`."""
    for span in _SPANS:
        found = _copies(fd, min(size, span))
        if found is not None or span >= size:
            return found or NO_COPIES
    return NO_COPIES


def _copies(fd: int, stop: int) -> Copies | None:
    """None where the records that would tell are not among those before the byte `stop`."""
    queued: datetime | None = None
    first: LineHead | None = None
    for line in lines(fd, 0, stop):
        for record in _DECODER.all(line.data)[0] if not line.too_long else ():
            if record.type == "queue-operation" and first is None:
                queued = queued or parse_time(record.timestamp)
            elif record.type not in CONVERSATION or record.uuid is None or record.is_sidechain:
                continue
            elif first is None:
                first = record
                moment = parse_time(record.timestamp)
                if queued is not None and moment is not None and moment < queued:
                    return Copies(before=queued)
                if not is_old(record.version):
                    return NO_COPIES
            elif record.type == "assistant":
                # A prompt and a reply have the same time only where both were given it with the copy.
                same = isinstance(first.timestamp, str) and record.timestamp == first.timestamp
                return Copies(at=record.timestamp) if same and isinstance(record.timestamp, str) else NO_COPIES
    return None
