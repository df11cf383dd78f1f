"""Files of ours that another program shows: private, and removed later.

A program that is started beside ours reads its file at some time after that, and nobody is told when it is done: such
a file stays until the program ends, or one that runs a day later finds it.
"""

from __future__ import annotations

import atexit
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from hermes_tui.platform.paths import cache_dir, private_dir

__all__ = ["file_to_show"]

_KEPT = 24 * 3600.0
"""Seconds after which a file is removed whose program was killed."""


def file_to_show(data: bytes, ending: str) -> Path:
    """A new file with these bytes, for its owner alone; gone when this program ends, if not before. Raises
    `OSError`."""
    folder = private_dir(cache_dir() / "opened")
    before = time.time() - _KEPT
    for one in folder.glob("image-*"):
        with suppress(OSError):  # gone meanwhile, or nobody's
            if one.lstat().st_mtime < before:
                one.unlink()
    number, name = tempfile.mkstemp(prefix="image-", suffix=ending, dir=folder)
    path = Path(name)
    atexit.register(path.unlink, missing_ok=True)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
