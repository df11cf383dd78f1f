"""The cache file of costs.

A cache, never a truth; delete it at any time.

Two parts of MessagePack (`sealed`): the `SpendSummary`, which alone is read while nothing has changed, and the calls
of every source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import MsgspecError, Raw, Struct, msgpack

from hermes_tui.sessions.checksummed_file import forget_others, read_part, write_parts
from hermes_tui.sessions.cost.summary import SpendSummary
from session_adapters.usage import Usage

__all__ = ["SourceCalls", "load_calls", "load_sheet", "save"]

_MAGIC = b"hermes-tui costs 3\n"


class SourceCalls(Struct, frozen=True, array_like=True):
    """The calls in one source when it had that stamp."""

    agent: str
    path: str
    session_id: str
    stamp: tuple[int, ...]
    calls: Sequence[Usage]
    marks: Mapping[str, bytes] = {}
    """Session id → mark of its row in the list, for sources of many sessions."""


_ENCODER = msgpack.Encoder()
_SHEET = msgpack.Decoder(SpendSummary)
_CALLS = msgpack.Decoder(list[SourceCalls])


def load_sheet(path: Path) -> SpendSummary | None:
    """The sheet in the file; None when it is missing, damaged or of another version."""
    part = read_part(path, _MAGIC, 0)
    try:
        return None if part is None else _SHEET.decode(part)
    except (MsgspecError, ValueError, RecursionError):
        return None


def load_calls(path: Path) -> list[SourceCalls]:
    """The calls in the file; none when it is missing, damaged or of another version."""
    part = read_part(path, _MAGIC, 1)
    try:
        return [] if part is None else _CALLS.decode(part)
    except (MsgspecError, ValueError, RecursionError):
        return []


def save(path: Path, sheet: SpendSummary, calls: Sequence[SourceCalls]) -> None:
    """Replace the file, unless a sum is too large for MessagePack. Raises `OSError`."""
    try:
        encoded = _ENCODER.encode(sheet)
    except OverflowError:
        return
    kept = _ENCODER.encode([raw for one in calls if (raw := _encoded(one)) is not None])
    write_parts(path, _MAGIC, (encoded, kept))
    forget_others(path, "costs-*.msgpack")


def _encoded(calls: SourceCalls) -> Raw | None:
    """None for a source with a number too large for MessagePack: it is read anew next time."""
    try:
        return Raw(_ENCODER.encode(calls))
    except (OverflowError, TypeError, ValueError):
        return None
