"""Where Copilot CLI keeps its sessions, and which a process has open.

Format: FACTS.md, «Paths».

`session-store.db` repeats what the events say, can be absent and lags behind after a crash; it is not opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from session_adapters.base import Environment, Liveness, Report, Root, Source
from session_adapters.model import Problem
from session_adapters.proc import flocks, open_files
from session_adapters.reading.files import file_stamp
from session_adapters.reading.folders import is_directory, is_folder, may_be_folder
from session_adapters.text import scrub

__all__ = [
    "DOCUMENT",
    "EVENTS",
    "FLAT",
    "HISTORY",
    "copilot_homes",
    "copilot_roots",
    "list_sources",
    "live_sessions",
    "rank",
]

EVENTS = "session-state/<id>/events.jsonl"
FLAT = "session-state/<id>.jsonl"
HISTORY = "history-session-state/session_<id>_<ms>.json"
DOCUMENT = "sessions/<id>.json"

_HISTORY_NAME = re.compile(r"session_(.+)_\d+\.json")
_HOLD = re.compile(r"inuse\.([1-9][0-9]{0,9})\.hold")


def copilot_homes(environment: Environment) -> list[Path]:
    """`$COPILOT_HOME`, or `~/.copilot` and, from versions until 0.0.42x, `$XDG_STATE_HOME/.copilot` if it exists."""
    homes = [environment.path("COPILOT_HOME", ".copilot")]
    state = environment.variables.get("XDG_STATE_HOME", "").strip()
    if state and not environment.variables.get("COPILOT_HOME", "").strip():
        older = environment.expand(state) / ".copilot"
        homes += [older] if may_be_folder(older) else []
    return homes


def copilot_roots(environment: Environment) -> list[Root]:
    """The agent's own folders and the document's."""
    places = [
        (home / folder, layout)
        for home in copilot_homes(environment)
        for folder, layout in (("session-state", EVENTS), ("history-session-state", HISTORY))
    ]
    places.append((environment.path("XDG_CONFIG_HOME", ".config") / "github-copilot" / "sessions", DOCUMENT))
    return [Root(path=path, layout=layout, exists=is_folder(path)) for path, layout in places]


def list_sources(root: Root, report: Report) -> Iterator[Source]:
    """Every session file under `root`. Zero bytes are no session: a resume leaves such files behind."""
    try:
        with os.scandir(root.path) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return
    except OSError as error:
        report(_problem(str(root.path), f"the folder cannot be read: {error.strerror or error}"))
        return
    for entry in entries:
        path, layout, session_id = entry.path, root.layout, ""
        # What begins with a dot is no session: Copilot keeps its `.session-operation-locks` here, too.
        if root.layout == EVENTS and not entry.name.startswith("."):
            if entry.name.endswith(".jsonl"):
                layout, session_id = FLAT, entry.name.removesuffix(".jsonl")
            elif is_directory(entry):
                path, session_id = os.path.join(entry.path, "events.jsonl"), entry.name  # noqa: PTH118 - per session
        elif root.layout == HISTORY and (match := _HISTORY_NAME.fullmatch(entry.name)):
            session_id = match[1]
        elif root.layout == DOCUMENT and entry.name.endswith(".json"):
            session_id = entry.name.removesuffix(".json")
        source = _file(path, layout, scrub(session_id), root, report) if session_id else None
        if source is not None:
            yield source


def _file(path: str, layout: str, session_id: str, root: Root, report: Report) -> Source | None:
    reason = ""
    try:
        status = os.stat(path)  # noqa: PTH116 - called for every session
        if not stat.S_ISREG(status.st_mode):
            reason = "is not a regular file"
    except FileNotFoundError:
        return None  # a session without a word, or gone since the folder was listed
    except OSError as error:
        reason = f"cannot be looked at: {error.strerror or error}"
    if reason:
        report(_problem(path, reason, session_id))
        return None
    if not status.st_size:
        return None
    workspace: tuple[int, ...] = ()
    if layout == EVENTS:
        try:
            beside = os.stat(path.removesuffix("events.jsonl") + "workspace.yaml")  # noqa: PTH116
            workspace = (beside.st_size, beside.st_mtime_ns)  # a session is renamed there alone
        except OSError:
            pass  # none that can be looked at: the events alone make the stamp
    return Source(
        agent="copilot",
        path=path,
        stamp=(*file_stamp(status), *workspace),
        session_id=session_id,
        root=str(root.path),
        layout=layout,
        size=status.st_size,
        modified=status.st_mtime,
    )


def _problem(path: str, reason: str, session_id: str = "") -> Problem:
    return Problem(agent="copilot", path=path, reason=reason, session_id=session_id)


def rank(layout: str, size: int, path: str) -> tuple[int, int, str]:
    """Of several copies of a session the newest layout counts, and there the larger file."""
    return ((DOCUMENT, HISTORY, FLAT, EVENTS).index(layout), size, path)


def live_sessions(environment: Environment) -> Mapping[str, Liveness]:
    """Sessions whose `inuse.<pid>.hold` the process `pid` has locked; both files stay after a crash, unlocked.
    Asks the few processes that hold a lock what they have open, rather than thousands of folders what is in them."""
    roots = tuple(
        os.path.realpath(home / "session-state") + os.sep for home in copilot_homes(environment) if is_folder(home)
    )
    held: dict[int, set[int]] = {}
    for lock in flocks(environment.proc) if roots else ():
        held.setdefault(lock.pid, set()).add(lock.inode)
    found: dict[str, Liveness] = {}
    for pid, inodes in held.items():
        for target in open_files(environment.proc, pid):
            folder, _, name = target.rpartition(os.sep)
            hold = _HOLD.fullmatch(name)
            if hold is None or int(hold[1]) != pid or not target.startswith(roots):
                continue
            try:
                inode = os.stat(target).st_ino  # noqa: PTH116
            except OSError:
                continue  # closed meanwhile
            if inode in inodes:
                found[scrub(folder.rpartition(os.sep)[2])] = Liveness(pid=pid)
    return found
