"""The catalogue's file: what was read last time, so that only what changed must be read again.

A cache, never a truth: delete it at any time. A damaged file, or one of another version of this program, counts as
absent. Layout: a magic line, a 16-byte BLAKE2b digest keyed with the fingerprint, then MessagePack: a list of
`Entry`. Mode 0600 in a directory of mode 0700, replaced atomically.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

import session_adapters
from hermes_tui import __version__
from hermes_tui.paths import private_dir
from session_adapters.base import Environment, Source
from session_adapters.model import Problem, SessionSummary

__all__ = ["Entry", "cache_name", "load", "save"]

_MAGIC = b"hermes-tui catalogue 1\n"
_DIGEST = 16
_KEPT_DAYS = 90
"""A catalogue of another home (a demo's, say) that was not used for so long is deleted."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one source held when it had that stamp."""

    source: Source
    summaries: tuple[SessionSummary, ...] = ()
    """As read; relations to other sessions are not in them."""
    problems: tuple[Problem, ...] = ()
    exact: bool = False
    """Read in full."""
    failed: bool = False
    """The adapter itself failed: not written to the file, so that the next process tries again."""


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(list[Entry])


def cache_name(environment: Environment) -> str:
    """A file name for one home and one set of variables that move stores: two homes never share a catalogue."""
    moved = sorted(
        (name, value)
        for name, value in environment.variables.items()
        if name.endswith(("_HOME", "_DIR")) and name not in ("JAVA_HOME", "XDG_RUNTIME_DIR")
    )
    text = repr((str(environment.home), moved)).encode("utf-8", "surrogateescape")
    return f"catalogue-{hashlib.blake2b(text, digest_size=6).hexdigest()}.msgpack"


def load(path: Path) -> list[Entry]:
    """The entries in the file; none when it is missing, damaged or of another version."""
    try:
        data = path.read_bytes()
    except OSError:
        return []  # `save` reports what is wrong with the place, and reading works without
    start = len(_MAGIC) + _DIGEST
    if not data.startswith(_MAGIC) or data[len(_MAGIC) : start] != _digest(memoryview(data)[start:]):
        return []
    try:
        return _DECODER.decode(memoryview(data)[start:])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []


def save(path: Path, entries: Iterable[Entry]) -> None:
    """Replace the file. Raises `OSError`."""
    payload = _ENCODER.encode(_encodable(entries))
    private_dir(path.parent)
    fd, temporary = tempfile.mkstemp(prefix=".catalogue-", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(_MAGIC + _digest(payload))
            file.write(payload)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
    _prune(path)


def _encodable(entries: Iterable[Entry]) -> Sequence[msgspec.Raw]:
    """Each entry encoded on its own: one with a number too large for MessagePack is read anew next time."""
    encoded: list[msgspec.Raw] = []
    for entry in entries:
        if entry.failed:
            continue
        with suppress(OverflowError, TypeError, ValueError, RecursionError):
            encoded.append(msgspec.Raw(_ENCODER.encode(entry)))
    return encoded


def _digest(payload: bytes | memoryview) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST, key=_fingerprint()).digest()


def _fingerprint() -> bytes:
    """Changes with the version, and with any change of the readers in a checkout."""
    newest = max((file.stat().st_mtime_ns for file in Path(session_adapters.__path__[0]).glob("*.py")), default=0)
    return f"{__version__} {newest}".encode()[:64]


def _prune(path: Path) -> None:
    limit = time.time() - _KEPT_DAYS * 86400
    for other in path.parent.glob("catalogue-*.msgpack"):
        with suppress(OSError):
            if other != path and other.stat().st_mtime < limit:
                other.unlink()
