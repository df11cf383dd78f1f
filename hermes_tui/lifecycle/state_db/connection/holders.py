"""Names the processes that keep a database locked, from the kernel's list.

No file of the store is opened.
"""

from __future__ import annotations

import os
from pathlib import Path

from session_adapters.proc import file_locks, open_files

__all__ = ["holder"]


def holder(path: Path, proc: Path = Path("/proc")) -> str:
    """`process 4127 (hermes)` where one other process is seen to hold a lock for writing on the database at `path`,
    or on the shared memory beside it; else `another process`."""
    files = {name: inode for name in (str(path), f"{path}-shm") if (inode := _inode(name))}
    try:
        locks = file_locks(proc)
    except OSError:  # no /proc: nobody can be named
        return "another process"
    inodes = set(files.values())
    writers = (one for one in locks if one.kind in ("POSIX", "FLOCK") and one.access == "WRITE")
    found = {one.pid for one in writers if one.inode in inodes} - {0, os.getpid()}
    # The same inode on another disk is another file.
    found = {pid for pid in found if any(name in files for name in open_files(proc, pid))}
    if len(found) != 1:  # of several, nobody can tell which one is in the way
        return "another process"
    pid = found.pop()
    try:
        name = (proc / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:  # it ended, but it did hold the lock
        return f"process {pid}"
    return f"process {pid} ({name})" if name else f"process {pid}"


def _inode(name: str) -> int:
    try:
        return Path(name).stat().st_ino
    except OSError:  # not there: no lock has inode 0
        return 0
