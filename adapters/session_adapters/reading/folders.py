"""Asks whether a directory is there, also where one on the way is closed to us.

`Path.is_dir` and `Path.exists` raise then, and so a place that cannot be reached would hide all others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

__all__ = ["is_folder", "is_reachable", "may_be_folder"]


def is_folder(path: str | Path) -> bool:
    """Whether there is a directory that can be reached. Whoever lists it reports one that cannot."""
    return os.path.isdir(path)  # noqa: PTH112


def is_reachable(path: Path, trouble: Callable[[Path, OSError], None]) -> bool:
    """Whether something is there. `trouble` is told where nobody can tell, once for all that may lie in it."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        trouble(path, error)
        return False
    return True


def may_be_folder(path: Path) -> bool:
    """Whether it is a directory, or nobody can tell: then it is to be tried, and reported."""
    unknown: list[OSError] = []
    is_reachable(path, lambda _, error: unknown.append(error))
    return bool(unknown) or is_folder(path)
