"""Explains why indexing is stuck.

The word is in the indexer's lock file: there is no other file that a full disk cannot keep from being written, for
its room is taken before the work begins.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path

import apsw

from hermes_tui.platform.own_files import read_own

__all__ = ["LEAST_ROOM", "leave_word", "reason_of", "trouble_at"]

_ROOM = 512
"""Bytes of the word, blanks at its end included."""
LEAST_ROOM = 64 << 10
"""Bytes of room below which nothing can be written that is worth it."""
_FULL = "the disk is full"


def reason_of(error: OSError | apsw.Error) -> str:
    """What kept an index from being written."""
    if isinstance(error, apsw.FullError) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return _FULL
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def leave_word(held: int, reason: str) -> None:
    """Write into the lock file that is held why the index could not be written; nothing once it can."""
    with suppress(OSError):  # no room for as much as that: who reads it sees so
        os.pwrite(held, reason.encode("utf-8", "replace")[:_ROOM].ljust(_ROOM), 0)


def trouble_at(path: Path, lock: Path) -> str:
    """Why no index can be written at `path`, or could not when that was last tried; empty where nothing is known."""
    directory = path.parent
    if reason := _of_place(directory):
        return _sentence("cannot", reason, directory)
    try:
        reason = read_own(lock)[:_ROOM].decode("utf-8", "replace").strip()
    except OSError:  # there is none yet, or it is not ours
        return ""
    return _sentence("could not", reason, directory) if reason else ""


def _sentence(could: str, reason: str, directory: Path) -> str:
    way_out = "make room" if reason == _FULL else "see to that"
    said = f"the index {could} be written in {directory}: {reason}"
    return f"{said}; {way_out}, or set XDG_CACHE_HOME to another directory"


def _of_place(directory: Path) -> str:
    there = next(one for one in (directory, *directory.parents) if _is_there(one))
    if not os.path.isdir(there):  # noqa: PTH112 - Path.is_dir raises where a link leads nobody
        return f"{there} is not a directory"
    if not os.access(there, os.W_OK | os.X_OK):
        return "the file system is read-only" if _is_fixed(there) else f"{there} may not be written to"
    try:
        place = os.statvfs(there)
    except OSError as error:
        return error.strerror or str(error)
    return _FULL if place.f_blocks and place.f_bavail * place.f_frsize < LEAST_ROOM else ""


def _is_there(path: Path) -> bool:
    """Also where it cannot be entered."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return path.parent == path  # the directory that cannot be entered is what is in the way
    return True


def _is_fixed(directory: Path) -> bool:
    try:
        return bool(os.statvfs(directory).f_flag & os.ST_RDONLY)
    except OSError:
        return False
