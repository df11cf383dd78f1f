"""The log of unexpected errors: never a transcript or a secret.

What failed and where in our code.

A file in the user's state directory, mode 0600, at most two of 256 kB. It is made when there is something to write.
"""

from __future__ import annotations

import os
import traceback
from datetime import UTC, datetime
from pathlib import Path

from hermes_tui import __version__
from hermes_tui.platform import paths
from hermes_tui.platform.own_files import open_own

__all__ = ["write_failure"]

_LIMIT = 256 * 1024  # bytes, then it is `.log.1`, and the one before goes
_FRAMES = 60
"""The innermost ones; enough for any error but endless recursion."""


def write_failure(error: BaseException) -> Path | None:
    """Note an unexpected error; the file it was noted in, None when there is no place to write.

    The exception's own text is left out: it may quote what was read. Its type and the places in the code do not.
    """
    path = paths.log_file()
    try:
        paths.private_dir(path.parent)
        if path.is_file() and path.stat().st_size > _LIMIT:
            path.replace(path.with_suffix(".log.1"))
        fd = open_own(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as file:
            when = datetime.now(UTC).isoformat(timespec="seconds")
            parts = [f"{when} hermes-tui {__version__}\n"]
            current: BaseException | None = error
            seen: set[int] = set()  # errors may be each other's causes in a circle
            while current is not None and id(current) not in seen:
                seen.add(id(current))
                parts.append(f"{type(current).__module__}.{type(current).__qualname__}\n")
                frames = traceback.extract_tb(current.__traceback__, limit=-_FRAMES)
                parts.extend(f"  {frame.filename}:{frame.lineno} {frame.name}\n" for frame in frames)
                current = current.__cause__ or current.__context__
            file.write("".join(parts) + "\n")
    except OSError:  # the disk is full or read-only: the error itself is told all the same
        return None
    return path
