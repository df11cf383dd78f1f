"""Where costs are kept between runs of the program: a cache, never a truth; delete it at any time.

Layout as that of the catalogue: a magic line, then two parts, each of a keyed digest, its length and MessagePack: the
`Sheet`, which alone is read while nothing has changed, and the calls of every source.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import MsgspecError, Raw, Struct, msgpack

from hermes_tui.paths import private_dir
from hermes_tui.sessions.cache import fingerprint
from hermes_tui.sessions.cost.sheet import Sheet
from session_adapters.usage import Usage

__all__ = ["SourceCalls", "load_calls", "load_sheet", "save"]

_MAGIC = b"hermes-tui costs 1\n"
_DIGEST = 16
_LENGTH = 8
_KEPT_DAYS = 90


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
_SHEET = msgpack.Decoder(Sheet)
_CALLS = msgpack.Decoder(list[SourceCalls])


def load_sheet(path: Path) -> Sheet | None:
    """The sheet in the file; None when it is missing, damaged or of another version."""
    part = _part(path, 0)
    try:
        return None if part is None else _SHEET.decode(part)
    except (MsgspecError, ValueError, RecursionError):
        return None


def load_calls(path: Path) -> list[SourceCalls]:
    """The calls in the file; none when it is missing, damaged or of another version."""
    part = _part(path, 1)
    try:
        return [] if part is None else _CALLS.decode(part)
    except (MsgspecError, ValueError, RecursionError):
        return []


def _part(path: Path, number: int) -> bytes | None:
    """The part of that number, if it is what was written."""
    try:
        with path.open("rb", buffering=0) as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return None
            for _ in range(number):
                header = file.read(_DIGEST + _LENGTH)
                file.seek(int.from_bytes(header[_DIGEST:], "little"), os.SEEK_CUR)
            header = file.read(_DIGEST + _LENGTH)
            length = int.from_bytes(header[_DIGEST:], "little")
            left = os.fstat(file.fileno()).st_size - file.tell()
            payload = file.read(length) if len(header) == _DIGEST + _LENGTH and length <= left else b""
    except (OSError, OverflowError, ValueError):
        return None
    return payload if len(header) == _DIGEST + _LENGTH and _digest(payload) == header[:_DIGEST] else None


def save(path: Path, sheet: Sheet, calls: Sequence[SourceCalls]) -> None:
    """Replace the file. Raises `OSError`."""
    parts = (_ENCODER.encode(sheet), _ENCODER.encode([raw for one in calls if (raw := _encoded(one)) is not None]))
    private_dir(path.parent)
    fd, temporary = tempfile.mkstemp(prefix=".costs-", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(_MAGIC)
            for part in parts:
                file.write(_digest(part) + len(part).to_bytes(_LENGTH, "little"))
                file.write(part)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
    _prune(path)


def _encoded(calls: SourceCalls) -> Raw | None:
    """None for a source with a number too large for MessagePack: it is read anew next time."""
    try:
        return Raw(_ENCODER.encode(calls))
    except (OverflowError, TypeError, ValueError):
        return None


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST, key=fingerprint()).digest()


def _prune(path: Path) -> None:
    """Forget the costs of homes that were not looked at for long."""
    limit = time.time() - _KEPT_DAYS * 86400
    for other in path.parent.glob("costs-*.msgpack"):
        with suppress(OSError):
            if other != path and other.stat().st_mtime < limit:
                other.unlink()
