"""Asks what lies at a place, also where a directory on the way is closed to us.

`Path.is_dir` and `Path.exists` raise then, and so a place that cannot be reached would hide all others.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from msgspec.structs import replace

from session_adapters.base import Report, Source
from session_adapters.model import Problem
from session_adapters.reading.damaged_places import REPORTED, Damage
from session_adapters.reading.files import file_stamp
from session_adapters.reading.lines import PATIENCE

__all__ = [
    "SmallFiles",
    "file_source",
    "is_directory",
    "is_file",
    "is_folder",
    "is_new",
    "is_reachable",
    "may_be_folder",
    "names_in",
    "problem_in",
    "renewed",
    "report_damage",
    "status_of",
]


@runtime_checkable
class SmallFiles(Protocol):
    """An adapter whose agent keeps small files beside its sessions that no listing opens."""

    def check_files(self, report: Report) -> None:
        """Report those that are damaged: `doctor` asks."""


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


def is_new(path: str | Path) -> bool:
    """Whether it was written to lately, and so may be half written, or went meanwhile."""
    try:
        return time.time() - os.stat(path).st_mtime < PATIENCE  # noqa: PTH116  (a path as it was listed)
    except OSError:
        return True


def may_be_folder(path: Path) -> bool:
    """Whether it is a directory, or nobody can tell: then it is to be tried, and reported."""
    unknown: list[OSError] = []
    is_reachable(path, lambda _, error: unknown.append(error))
    return bool(unknown) or is_folder(path)


def status_of(path: str, trouble: Callable[[OSError], None]) -> os.stat_result | None:
    """What the system says of a file; None where it is gone, or where `trouble` is told why nobody can tell."""
    try:
        return os.stat(path)  # noqa: PTH116  (asked of every file at every look)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        trouble(error)
        return None


def file_source(agent: str, path: str, status: os.stat_result, **told: Any) -> Source:
    """The source for a file, with what its place tells."""
    stamp = file_stamp(status)
    return Source(agent=agent, path=path, stamp=stamp, size=status.st_size, modified=status.st_mtime, **told)


def renewed(source: Source) -> Source | None:
    """The source as its file is now; None where only a listing can tell: it is of more than one file, or the file is
    empty, gone, or another one."""
    status = status_of(source.path, lambda error: None)
    stamp = file_stamp(status) if status is not None and status.st_size and stat.S_ISREG(status.st_mode) else ()
    if status is None or len(stamp) != len(source.stamp) or stamp[:2] != source.stamp[:2]:
        return None
    return replace(source, stamp=stamp, size=status.st_size, modified=status.st_mtime)


def is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file or a link to one."""
    try:
        return entry.is_file()
    except OSError:  # a circle of links, or in a folder that may not be entered
        return False


def is_directory(entry: os.DirEntry[str]) -> bool:
    """Whether it is a directory or a link to one."""
    try:
        return entry.is_dir()
    except OSError:  # a circle of links, or in a folder that may not be entered
        return False


def names_in(folder: str | Path, trouble: Callable[[Path, OSError], None]) -> list[str]:
    """What lies in a directory, sorted; nothing where there is none. `trouble` is told of one that cannot be read."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names alone
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        trouble(Path(folder), error)
        return []


def problem_in(source: Source, reason: str, place: str = "", session_id: str = "") -> Problem:
    """A problem of a source; `session_id` is one that its path does not tell."""
    return Problem(
        agent=source.agent,
        path=source.path,
        reason=reason,
        place=place,
        session_id=session_id or source.session_id,
    )


def report_damage(
    source: Source, damaged: Damage, report: Report, *, unit: str = "byte", session_id: str = ""
) -> None:
    """Report the first of the damaged places, and how many more there are."""
    wanted = session_id or source.session_id
    for problem in damaged.problems(source.agent, source.path, wanted, unit=unit, limit=REPORTED):
        report(problem)
