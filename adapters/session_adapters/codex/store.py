"""Where Codex keeps its sessions, what users named them, which are open now.

Format: stores/codex FACTS.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path

import apsw
from msgspec import Struct

from session_adapters.base import Environment, Liveness, Report, Root, Source
from session_adapters.codex.rollout import is_rollout, is_uuid, name_id
from session_adapters.model import Problem
from session_adapters.proc import flocks, open_files, pids, start_of
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import file_stamp, open_file
from session_adapters.reading.folders import file_source, is_folder, names_in, status_of
from session_adapters.reading.lines import lines
from session_adapters.reading.sqlite import DatabaseMissing, DatabaseUnreadable, database_stamp, read_database
from session_adapters.reading.sqlite_rows import LISTED_LIMIT, RowReader, columns

__all__ = ["ARCHIVED", "ThreadNames", "codex_home", "codex_roots", "held_locks", "list_sources", "open_rollouts"]

ARCHIVED = "archived"
"""Layout of what `codex archive` moved away."""
_DEPTH = 8
_STATE = re.compile(r"state_([0-9]{1,6})\.sqlite")


def codex_home(environment: Environment) -> Path:
    """`$CODEX_HOME` or `~/.codex`."""
    return environment.path("CODEX_HOME", ".codex")


def codex_roots(environment: Environment) -> tuple[Root, ...]:
    """Dated, flat and spec 004's files in `sessions`; flat ones in `archived_sessions`."""
    home = codex_home(environment)
    places = ((home / "sessions", "sessions"), (home / "archived_sessions", ARCHIVED))
    return tuple(Root(path=path, layout=layout, exists=is_folder(path)) for path, layout in places)


def list_sources(root: Root, report: Report) -> Iterator[Source]:
    """The rollouts below `root`. Compressed ones are reported: they cannot be read."""
    folder, deep = str(root.path), list[str]()
    for entry in _files(folder, report, 0, set(), deep):
        name = entry.name
        if name.endswith(".jsonl.zst"):
            reason = "compressed, not read; `codex` itself can open it"
            report(Problem(agent="codex", path=entry.path, reason=reason, session_id=name_id(name[:-4])))
            continue
        if not name.endswith(".jsonl") and not (name.endswith(".json") and is_rollout(name)):
            continue
        status = status_of(entry.path, partial(_unseen, report, entry.path))
        if status is None:
            continue
        yield file_source(
            "codex",
            entry.path,
            status,
            session_id=name_id(entry.path),
            root=folder,
            layout=root.layout if is_rollout(name) or root.layout == ARCHIVED else "document",
        )
    if deep:
        others = f", like {len(deep) - 1:,} more" if len(deep) > 1 else ""
        report(
            Problem(agent="codex", path=deep[0], reason=f"not read: it lies more than {_DEPTH} folders deep{others}")
        )


def _unseen(report: Report, path: str, error: OSError) -> None:
    report(Problem(agent="codex", path=path, reason=f"cannot be looked at: {error.strerror or error}"))


def _files(
    folder: str, report: Report, depth: int, seen: set[tuple[int, int]], deep: list[str]
) -> Iterator[os.DirEntry[str]]:
    """All files below `folder`; a folder that links lead to twice is read once. Those that lie too deep go to
    `deep`."""
    try:
        status = os.stat(folder)  # noqa: PTH116 - of a path that scandir gave
        with os.scandir(folder) as found:
            entries = sorted(found, key=attrgetter("name"))
    except FileNotFoundError:  # removed since the folder above was listed
        return
    except OSError as error:
        report(Problem(agent="codex", path=str(folder), reason=f"cannot be listed: {error.strerror or error}"))
        return
    if (status.st_dev, status.st_ino) in seen:
        return
    if depth > _DEPTH:
        deep.append(folder)
        return
    if depth and _leads_up(folder):
        reason = "a link to a folder around these sessions, with other programs' files in it; not followed"
        report(Problem(agent="codex", path=folder, reason=reason))
        return
    seen.add((status.st_dev, status.st_ino))
    for entry in entries:
        try:
            is_folder = entry.is_dir()
        except OSError:
            is_folder = False
        if is_folder:
            yield from _files(entry.path, report, depth + 1, seen, deep)
        else:
            yield entry


def _leads_up(folder: str) -> bool:
    """Whether it is a link to a folder that it lies in, as one to `/` is."""
    if not os.path.islink(folder):  # noqa: PTH114 - asked of every folder at every look
        return False
    return Path(folder).parent.resolve().is_relative_to(Path(folder).resolve())


class _Name(Struct):
    """A line of `session_index.jsonl`; the last one per id holds."""

    id: str | None = None
    thread_name: str | None = None


_NAME = Decoder(_Name)


class _Thread(Struct):
    """A row of `threads`."""

    id: str
    name: str


_THREADS = RowReader(_Thread, limit=LISTED_LIMIT)


class ThreadNames:
    """The names given by `/rename`: lines of `session_index.jsonl`, and rows of `state_<n>.sqlite`, which has some
    that the lines lack. Read again when the file or the database has changed."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, ...], Mapping[str, str], Sequence[str]]] = {}

    def read(self, environment: Environment, report: Report) -> Mapping[str, str]:
        """Session id → name. The lines count before the rows."""
        home = codex_home(environment)
        index = self._read(home / "session_index.jsonl", lambda path: file_stamp(path.stat()), _read_lines, report)
        has_own = environment.variables.get("CODEX_SQLITE_HOME", "").strip()
        folder = environment.path("CODEX_SQLITE_HOME") if has_own else home
        names = names_in(folder, lambda path, error: None)  # where the sessions are it is said
        # The number grows with the agent's versions: the newest that was here keeps its names in the largest.
        found = [(int(match[1]), match[0]) for name in names if (match := _STATE.fullmatch(name))]
        rows = self._read(folder / max(found)[1], database_stamp, _read_rows, report) if found else {}
        return {**rows, **index}

    def _read(
        self,
        path: Path,
        look: Callable[[Path], tuple[int, ...]],
        read: Callable[[Path], tuple[Mapping[str, str], Sequence[str]]],
        report: Report,
    ) -> Mapping[str, str]:
        try:
            stamp = look(path)
            known = self._known.get(str(path))
            if known is None or known[0] != stamp:
                known = self._known[str(path)] = (stamp, *read(path))
        except (FileNotFoundError, NotADirectoryError, DatabaseMissing):
            return {}
        except (OSError, DatabaseUnreadable) as error:
            reason = f"names of sessions cannot be read: {getattr(error, 'strerror', None) or error}"
            report(Problem(agent="codex", path=str(path), reason=reason))
            return {}
        for reason in known[2]:
            report(Problem(agent="codex", path=str(path), reason=reason))
        return known[1]


def _read_rows(path: Path) -> tuple[dict[str, str], list[str]]:
    def read(connection: apsw.Connection) -> tuple[dict[str, str], list[str]]:
        have = columns(connection, "threads")
        if not {"id", "name"} <= have:
            return {}, ["names of sessions cannot be read: its table threads has no columns id and name"]
        lost: list[str] = []
        query = f"SELECT {_THREADS.select(have)} FROM threads WHERE octet_length(name) > 0 ORDER BY rowid DESC"  # noqa: S608
        rows = _THREADS.listed(
            connection.execute(query), "threads", lambda place, reason: lost.append(f"{place}: {reason}")
        )
        return {row.id: row.name for row in rows if row.id and row.name}, lost

    return read_database(path, read)


def _read_lines(path: Path) -> tuple[dict[str, str], list[str]]:
    names: dict[str, str] = {}
    damaged = 0
    with open_file(path) as fd:
        for line in lines(fd):
            records, lost = _NAME.all(line.data)
            damaged += (lost or bool(line.too_long)) and line.complete
            for record in records:
                if record.id and record.thread_name is not None:
                    names[record.id] = record.thread_name
    return names, [f"{damaged} damaged lines with names of sessions"] if damaged else []


# Processes --------------------------------------------------------------------------------------------------


def held_locks(home: Path, proc: Path) -> Mapping[str, Liveness]:
    """Session ids whose lock file under `home` is locked by a process. Locks are matched by device and inode; where
    a file system shows another device number than `stat` does, the process must have the lock file open."""
    files: dict[int, tuple[str, Path, os.stat_result]] = {}
    try:
        entries = sorted((home / "thread-writer-locks").iterdir())
    except OSError:  # older versions have no locks
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
        if lock.device == device or os.path.realpath(path) in open_files(proc, lock.pid):
            found[session_id] = Liveness(pid=lock.pid)
    return found


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
