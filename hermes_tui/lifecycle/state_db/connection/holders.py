"""Names the processes that keep a database locked, from the kernel's list.

No file of the store is opened.
"""

from __future__ import annotations

import os
from pathlib import Path

from session_adapters.proc import file_locks

__all__ = ["holder"]


def holder(path: Path, proc: Path = Path("/proc")) -> str:
    """`process 4127 (hermes)` where one other process is seen to hold a lock for writing on the database at `path`,
    or on the shared memory beside it; else `another process`."""
    files = {name: inode for name in (str(path), f"{path}-shm") if (inode := _inode(name))}
    try:
        lines = file_locks(proc)
    except OSError:
        return "another process"
    found = {pid for line in lines if (pid := _writer(line, set(files.values())))} - {os.getpid()}
    found = {pid for pid in found if _has_open(proc / str(pid) / "fd", set(files))}
    if len(found) != 1:
        return "another process"
    pid = found.pop()
    try:
        name = (proc / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return f"process {pid}"
    return f"process {pid} ({name})" if name else f"process {pid}"


def _inode(name: str) -> int:
    try:
        return Path(name).stat().st_ino
    except OSError:
        return 0


def _writer(line: str, inodes: set[int]) -> int:
    """The process in a line of `/proc/locks`, if it writes one of these files; else 0."""
    words = line.split()  # 7: POSIX ADVISORY WRITE 4127 fe:00:3801116 120 120; with `->` for one that waits
    if len(words) < 6 or words[1] not in ("POSIX", "FLOCK") or words[3] != "WRITE":
        return 0
    inode = words[5].rpartition(":")[2]
    return int(words[4]) if inode.isdigit() and int(inode) in inodes and words[4].isdigit() else 0


def _has_open(folder: Path, names: set[str]) -> bool:
    """Whether that process has one of the files open: the same inode on another disk is another file."""
    try:
        links = list(folder.iterdir())
    except OSError:
        return False  # another user's, or gone
    for link in links:
        try:
            if str(link.readlink()) in names:
                return True
        except OSError:
            continue  # closed meanwhile
    return False
