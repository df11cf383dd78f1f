"""Which Codex sessions a process has open (stores/codex FACTS.md).

Since 0.149 the writer holds an flock on `thread-writer-locks/<uuid>.lock`; after SIGKILL the file stays without it.
Older versions only keep the rollout open. Locks are seen in `/proc/locks` and never taken.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from session_adapters.base import Liveness
from session_adapters.codex.rollout import is_uuid, name_id
from session_adapters.proc import flocks, open_files, pids, start_of

__all__ = ["held_locks", "open_rollouts"]


def held_locks(home: Path, proc: Path) -> Mapping[str, Liveness]:
    """Session ids whose lock file under `home` is locked by a process. Locks are matched by device and inode; where
    a file system shows another device number than `stat` does, the process must have the lock file open."""
    files: dict[int, tuple[str, Path, os.stat_result]] = {}
    try:
        entries = sorted((home / "thread-writer-locks").iterdir())
    except OSError:
        return {}
    for path in entries:
        if path.suffix == ".lock" and is_uuid(path.stem):
            try:
                status = path.stat()
            except OSError:
                continue  # removed meanwhile: its session was closed
            files[status.st_ino] = (path.stem, path, status)
    found: dict[str, Liveness] = {}
    for lock in flocks(proc) if files else ():
        known = files.get(lock.inode)
        if known is None:
            continue
        session_id, path, status = known
        device = (os.major(status.st_dev), os.minor(status.st_dev))
        if lock.device == device or _has_open(proc, lock.pid, path):
            found[session_id] = Liveness(pid=lock.pid)
    return found


def _has_open(proc: Path, pid: int, path: Path) -> bool:
    wanted = os.path.realpath(path)
    return any(target == wanted for target in open_files(proc, pid))


def open_rollouts(folders: list[Path], proc: Path) -> Mapping[str, Liveness]:
    """Session ids whose rollout in one of `folders` a process named codex has open."""
    prefixes = tuple(os.path.realpath(folder) + os.sep for folder in folders)
    found: dict[str, Liveness] = {}
    for process in pids(proc):
        if not start_of(f"{proc}/{process}/comm").startswith(b"codex"):
            continue
        for target in open_files(proc, int(process)):
            if target.startswith(prefixes) and is_uuid(name_id(target)):
                found[name_id(target)] = Liveness(pid=int(process))
    return found
