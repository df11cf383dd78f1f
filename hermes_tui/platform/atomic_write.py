"""A file that is replaced whole or not at all."""

from __future__ import annotations

import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["owner_kept", "replacing", "sweep"]


@contextmanager
def replacing(
    path: Path,
    *,
    mode: int = 0o600,
    owner: tuple[int, int] | None = None,
    lasting: bool = False,
    over: bool = True,
) -> Iterator[BinaryIO]:
    """A file to write to, beside `path`, which it replaces when the block ends; after any error `path` is as before
    and nothing is left over. Whoever reads meanwhile sees all of the old or all of the new one. With `lasting` the
    new one survives a power failure too. `owner` (user and group) None: whoever runs this. Raises `OSError`; without
    `over` that is `FileExistsError` where something is there by now."""
    sweep(path)
    number, draft = _draft(path)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            if owner is not None and owner != (os.fstat(number).st_uid, os.fstat(number).st_gid):
                os.fchown(number, *owner)
            os.fchmod(number, mode)
            if lasting:
                os.fsync(number)
            _put(draft, path, over=over)  # before its lock is gone
    except BaseException:
        with suppress(OSError):  # what went wrong before is what is to be told
            os.unlink(draft)  # noqa: PTH108
        raise
    if lasting:
        # The folder, too, so that the new name survives as well.
        folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def owner_kept(status: os.stat_result) -> tuple[int, int] | None:
    """The owner that a file shall have which takes the place of that one: only root can give one away."""
    return (status.st_uid, status.st_gid) if os.geteuid() == 0 else None


def sweep(path: Path) -> None:
    """Remove what processes left over that were killed while they replaced `path`. One that still lives holds the
    lock of its file, which ends with it, however it ends."""
    ours = re.compile(rf"{re.escape(_prefix(path))}[a-z0-9_]{{8}}\.part")
    try:
        names = [name for name in os.listdir(path.parent) if ours.fullmatch(name)]  # noqa: PTH208 - names alone
    except OSError:
        return
    for name in names:
        with suppress(OSError):  # gone meanwhile, or none that can be locked
            number = os.open(path.parent / name, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stat.S_ISREG(os.fstat(number).st_mode):
                    (path.parent / name).unlink()
            finally:
                os.close(number)


def _prefix(path: Path) -> str:
    return f".{path.name[:80]}."


def _draft(path: Path) -> tuple[int, str]:
    """A new file that nobody sweeps away."""
    while True:
        number, draft = tempfile.mkstemp(prefix=_prefix(path), suffix=".part", dir=path.parent)
        with suppress(OSError):  # a file system without locks, where nothing is swept
            fcntl.flock(number, fcntl.LOCK_EX)
        if os.fstat(number).st_nlink:  # else it was swept before it was locked
            return number, draft
        os.close(number)


def _put(draft: str, path: Path, *, over: bool) -> None:
    """Both are in one directory, so that it happens at once."""
    if not over:
        try:
            os.link(draft, path)  # unlike a rename, never over a file that came meanwhile
        except FileExistsError:
            raise
        except OSError:
            pass  # a file system without hard links
        else:
            os.unlink(draft)  # noqa: PTH108
            return
    os.replace(draft, path)  # noqa: PTH105
