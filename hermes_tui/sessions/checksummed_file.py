"""A cache file of checksummed parts that can be read one by one.

Each part is a 16-byte BLAKE2b digest of its CRC-32, keyed with the fingerprint, its length (8 bytes, little-endian)
and its bytes. A file that is missing, damaged, of another version of this program or not ours alone counts as absent.
Mode 0600 in a directory of mode 0700, replaced whole.
"""

from __future__ import annotations

import hashlib
import os
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import session_adapters
from hermes_tui import __version__
from hermes_tui.platform.atomic_write import replacing
from hermes_tui.platform.own_files import open_own
from hermes_tui.platform.paths import private_dir

__all__ = ["fingerprint", "forget_others", "read_part", "read_parts", "write_parts"]

_DIGEST = 16
_LENGTH = 8
_KEPT_DAYS = 90


def read_part(path: Path, magic: bytes, number: int) -> bytes | None:
    """The part of that number, counted from 0; None when it is not there as it was written. Raises nothing: whoever
    writes is told what is wrong with the place, and reading works without."""
    return next(read_parts(path, magic, number), None)


def read_parts(path: Path, magic: bytes, first: int = 0) -> Iterator[bytes | None]:
    """The parts from that number on, one in memory at a time; None for each that is not there as it was written, and
    one None for all behind a length that cannot be, or behind zeros. Raises nothing."""
    try:
        with os.fdopen(open_own(path), "rb", buffering=0) as file:
            if file.read(len(magic)) != magic:
                return
            size, number = os.fstat(file.fileno()).st_size, 0
            while len(header := file.read(_DIGEST + _LENGTH)) == _DIGEST + _LENGTH:
                length = int.from_bytes(header[_DIGEST:], "little")
                if length > size - file.tell():
                    yield None
                    return
                if number < first:
                    file.seek(length, os.SEEK_CUR)
                else:
                    payload = file.read(length)
                    is_whole = _digest(payload) == header[:_DIGEST]
                    yield payload if is_whole else None
                    del payload  # before the next one is read
                    if not (is_whole or length):  # zeros, of which a sparse file may have a terabyte
                        return
                number += 1
    except OSError:  # only caches are kept so: what is missing is made again
        return


def write_parts(path: Path, magic: bytes, parts: Iterable[bytes | bytearray]) -> None:
    """Replace the file. Raises `OSError`."""
    private_dir(path.parent)
    with replacing(path) as file:
        file.write(magic)
        for part in parts:
            file.write(_digest(part) + len(part).to_bytes(_LENGTH, "little"))
            file.write(part)
            del part  # before the next one is made


def forget_others(path: Path, pattern: str) -> None:
    """Delete the files beside `path` that are named like it and were not written for 90 days: those of other homes, a
    demo's say."""
    limit = time.time() - _KEPT_DAYS * 86400
    for other in path.parent.glob(pattern):
        with suppress(OSError):
            if other != path and other.stat().st_mtime < limit:
                other.unlink()


def _digest(payload: bytes | bytearray) -> bytes:
    # Against damage, not against people. Of 15 MB, which a search waits for, a digest would take 11 ms, this takes 2.
    checksum = zlib.crc32(payload).to_bytes(4, "little")
    return hashlib.blake2b(checksum, digest_size=_DIGEST, key=fingerprint()).digest()


def fingerprint() -> bytes:
    """Changes with the version, and with any change of the readers in a checkout."""
    return f"{__version__} {_newest(session_adapters.__path__[0])}".encode()[:64]


@cache
def _newest(folder: str) -> int:
    """Newest change of a Python file below `folder`, in nanoseconds, as it was when this process first looked: what
    is changed later is not the code that runs here."""
    with os.scandir(folder) as found:
        entries = list(found)
    times = [entry.stat().st_mtime_ns for entry in entries if entry.name.endswith(".py")]
    folders = (entry.path for entry in entries if entry.is_dir() and entry.name != "__pycache__")
    return max((*times, *map(_newest, folders)), default=0)
