"""The catalogue's file: what was read last time, so that only what changed must be read again.

A cache, never a truth: delete it at any time. A damaged file, or one of another version of this program, counts as
absent. Layout: a magic line, then two parts, each of a 16-byte BLAKE2b digest keyed with the fingerprint, its length
(8 bytes, little-endian) and MessagePack: a list of `Entry`, and a `Picture`, which alone is read for the first
picture. Mode 0600 in a directory of mode 0700, replaced atomically.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

import session_adapters
from hermes_tui import __version__
from hermes_tui.paths import private_dir
from session_adapters.base import Environment, Source
from session_adapters.model import Problem, SessionSummary
from session_adapters.registry import BUILT_IN

__all__ = ["Entry", "Picture", "cache_name", "fingerprint", "load", "load_picture", "save"]

_MAGIC = b"hermes-tui catalogue 2\n"
_DIGEST = 16
_LENGTH = 8
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


class Picture(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was shown last: enough for a first picture without any adapter."""

    sessions: tuple[SessionSummary, ...] = ()
    """With their relations, newest first; nothing of processes."""
    labels: Mapping[str, tuple[str, str]] = {}
    """Agent name → label and badge, of all agents there were."""


_ENCODER = msgspec.msgpack.Encoder()
_ENTRIES = msgspec.msgpack.Decoder(list[msgspec.Raw])
_ENTRY = msgspec.msgpack.Decoder(Entry)
_PICTURE = msgspec.msgpack.Decoder(Picture)
_NOTHING = Picture()
_SUFFIXES = ("_HOME", "_DIR")
"""How variables that move stores usually end."""
_OWN_SUFFIXES = ("_PATH", "_DSN", "_DB", "_PROFILE")
"""And those of the agents we know; other programs' names end so, too, and change from shell to shell."""
_OWN = tuple(f"{name.upper()}_" for name in BUILT_IN)
_NOT_STORES = frozenset({"JAVA_HOME", "PYENV_DIR", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"})
"""Variables that are named like places of stores and are none. Some change with the working directory."""


def cache_name(environment: Environment) -> str:
    """A file name for one home and one set of variables that move stores: two homes never share a catalogue."""
    moved = sorted(
        (name, value)
        for name, value in environment.variables.items()
        if name not in _NOT_STORES
        and (
            name.endswith(_SUFFIXES) or name == "APPDATA" or (name.startswith(_OWN) and name.endswith(_OWN_SUFFIXES))
        )
    )
    text = repr((str(environment.home), moved)).encode("utf-8", "surrogateescape")
    return f"catalogue-{hashlib.blake2b(text, digest_size=6).hexdigest()}.msgpack"


def load(path: Path, picture: Picture = _NOTHING) -> list[Entry]:
    """The entries in the file; none when it is missing, damaged or of another version. A summary that equals the
    one in `picture` is that one, so that it is not in memory twice."""
    try:
        with path.open("rb", buffering=0) as file:
            part = _part(file) if file.read(len(_MAGIC)) == _MAGIC else None
        if part is None:
            return []
        shown = {one.unified_id: one for one in picture.sessions}
        return [_entry(raw, shown) for raw in _ENTRIES.decode(part)]
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return []  # `save` reports what is wrong with the place, and reading works without


def _entry(raw: msgspec.Raw, shown: Mapping[str, SessionSummary]) -> Entry:
    entry = _ENTRY.decode(raw)
    same = (shown.get(one.unified_id) for one in entry.summaries)
    summaries = tuple(one if other != one else other for one, other in zip(entry.summaries, same, strict=True))
    msgspec.structs.force_setattr(entry, "summaries", summaries)
    return entry


def load_picture(path: Path) -> Picture | None:
    """The picture in the file, without reading the entries; None when it is missing, damaged or of another
    version."""
    try:
        with path.open("rb", buffering=0) as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return None
            entries = int.from_bytes(file.read(_DIGEST + _LENGTH)[_DIGEST:], "little")
            file.seek(min(entries, os.fstat(file.fileno()).st_size), os.SEEK_CUR)
            part = _part(file)
        return None if part is None else _PICTURE.decode(part)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _part(file: BinaryIO) -> bytes | None:
    """The part that begins here; None when it is not what was written."""
    header = file.read(_DIGEST + _LENGTH)
    length = int.from_bytes(header[_DIGEST:], "little")
    left = os.fstat(file.fileno()).st_size - file.tell()
    if len(header) != _DIGEST + _LENGTH or length > left:
        return None
    payload = file.read(length)
    return payload if _digest(payload) == header[:_DIGEST] else None


def save(path: Path, entries: Iterable[Entry], picture: Picture = _NOTHING) -> None:
    """Replace the file. Raises `OSError`."""
    parts = (_ENCODER.encode(_encodable(entries)), _encoded_picture(picture))
    private_dir(path.parent)
    fd, temporary = tempfile.mkstemp(prefix=".catalogue-", dir=path.parent)  # mode 0600
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


def _encoded_picture(picture: Picture) -> bytes:
    """The picture encoded; a session that cannot be is missing in the first picture and nowhere else."""
    try:
        return _ENCODER.encode(picture)
    except (OverflowError, TypeError, ValueError, RecursionError):
        sessions = tuple(filter(_is_encodable, picture.sessions))
        return _ENCODER.encode(Picture(sessions=sessions, labels=picture.labels))


def _is_encodable(value: object) -> bool:
    try:
        _ENCODER.encode(value)
    except (OverflowError, TypeError, ValueError, RecursionError):
        return False
    return True


def _encodable(entries: Iterable[Entry]) -> Sequence[msgspec.Raw]:
    """Each entry encoded on its own: one with a number too large for MessagePack is read anew next time."""
    encoded: list[msgspec.Raw] = []
    for entry in entries:
        if entry.failed:
            continue
        with suppress(OverflowError, TypeError, ValueError, RecursionError):
            encoded.append(msgspec.Raw(_ENCODER.encode(entry)))
    return encoded


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=_DIGEST, key=fingerprint()).digest()


def fingerprint() -> bytes:
    """Changes with the version, and with any change of the readers in a checkout."""
    return f"{__version__} {_newest(session_adapters.__path__[0])}".encode()[:64]


def _newest(folder: str) -> int:
    """Newest change of a Python file below `folder`, in nanoseconds."""
    with os.scandir(folder) as found:
        entries = list(found)
    times = [entry.stat().st_mtime_ns for entry in entries if entry.name.endswith(".py")]
    folders = (entry.path for entry in entries if entry.is_dir() and entry.name != "__pycache__")
    return max((*times, *map(_newest, folders)), default=0)


def _prune(path: Path) -> None:
    limit = time.time() - _KEPT_DAYS * 86400
    for other in path.parent.glob("catalogue-*.msgpack"):
        with suppress(OSError):
            if other != path and other.stat().st_mtime < limit:
                other.unlink()
