"""A file that is replaced whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["replacing"]


@contextmanager
def replacing(path: Path, *, mode: int = 0o600, lasting: bool = False, over: bool = True) -> Iterator[BinaryIO]:
    """A file to write to, beside `path`, which it replaces when the block ends; after any error `path` is as before
    and nothing is left over. Whoever reads meanwhile sees all of the old or all of the new one. With `lasting` the
    new one survives a power failure too. Raises `OSError`; without `over` that is `FileExistsError` where something
    is there by now."""
    number, draft = tempfile.mkstemp(prefix=f".{path.name[:80]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            yield file
            file.flush()
            os.fchmod(number, mode)
            if lasting:
                os.fsync(number)
        _put(draft, path, over=over)
    except BaseException:
        with suppress(OSError):  # what went wrong before is what is to be told
            os.unlink(draft)  # noqa: PTH108
        raise
    if lasting:
        _sync(path.parent)


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


def _sync(directory: Path) -> None:
    """So that the new name survives as well."""
    number = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(number)
    finally:
        os.close(number)
