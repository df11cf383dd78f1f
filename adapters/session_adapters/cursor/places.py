"""Where Cursor's stores are, by name alone.

Format: FACTS.md «Four separate stores».
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from session_adapters.base import Environment, Root, Source
from session_adapters.reading.files import file_stamp, open_file, read_at
from session_adapters.reading.folders import file_source, is_folder, is_reachable, names_in, status_of
from session_adapters.reading.sqlite import database_source
from session_adapters.text import scrub

__all__ = [
    "AGENT",
    "CHAT",
    "DOCUMENT",
    "EDITOR",
    "LINES",
    "TEXT",
    "all_sources",
    "data_folders",
    "folder_of_chats",
    "found_roots",
    "is_helper",
    "log_directories",
    "logged_directory",
    "transcripts",
    "uri_path",
    "user_folders",
    "workspace_databases",
]

AGENT = "cursor"
CHAT, LINES, TEXT, EDITOR, DOCUMENT = "chat", "transcript", "text", "editor", "document"
"""Layouts of sources."""

SUBAGENTS = "subagents"
_LAYOUTS = "chats, projects/*/agent-transcripts, sessions"
_EARLY = ("agent-sessions", "conversations", "sessions")
"""Where transcripts lay before 2026, if at all."""
_LOG_BYTES = 64 << 10
_LOGGED = re.compile(rb"workspacePath=([^\r\n]+?)(?=\s+\w+=|\s*[\r\n]|\s*\Z)")
_DRIVE = re.compile(r"/[A-Za-z]:")

Trouble = Callable[[Path, OSError], None]


def data_folders(environment: Environment) -> list[Path]:
    """Where the CLI may keep its data: what a variable names, then the usual places."""
    named = [environment.variables.get(name, "").strip() for name in ("CURSOR_DATA_DIR", "CURSOR_CONFIG_DIR")]
    usual = [environment.path("XDG_CONFIG_HOME", ".config") / "cursor", environment.home / ".cursor"]
    return list(dict.fromkeys([*(environment.expand(value) for value in named if value), *usual]))


def user_folders(environment: Environment) -> list[Path]:
    """Where the editor may keep its state: Linux, macOS, Windows."""
    found = [
        environment.path("XDG_CONFIG_HOME", ".config") / "Cursor" / "User",
        environment.home / "Library" / "Application Support" / "Cursor" / "User",
    ]
    if roaming := environment.variables.get("APPDATA", "").strip():
        found.append(environment.expand(roaming) / "Cursor" / "User")
    return list(dict.fromkeys(found))


def found_roots(environment: Environment) -> list[Root]:
    """The places for `Adapter.roots`: those that exist, and the usual one of the CLI and of the editor."""
    data, users = data_folders(environment), user_folders(environment)
    roots = [Root(path=path, layout=_LAYOUTS, exists=is_folder(path)) for path in data]
    roots += [Root(path=path, layout="globalStorage, workspaceStorage", exists=is_folder(path)) for path in users]
    kept = {*data[:-2], environment.home / ".cursor", users[0]}
    return [root for root in roots if root.exists or root.path in kept]


def all_sources(environment: Environment, trouble: Trouble, wanted: str | None = None) -> Iterator[Source]:
    """Every store, by `stat` alone; of those that hold one session only the ones of the `wanted` session, if any. A
    chat of the CLI and the transcript that it writes beside it are one source, in the chat's name; its stamp is that
    of both."""
    for folder in data_folders(environment):
        if not is_reachable(folder, trouble):
            continue
        written = list(transcripts(folder, trouble, wanted))
        beside = {one.session_id: one for one in reversed(written) if not is_helper(one)}
        paired: set[str] = set()
        for chat in _chats(folder, trouble, wanted):
            same = beside.get(chat.session_id)
            if same is not None:
                paired.add(chat.session_id)
                chat = replace(chat, stamp=(*chat.stamp, *same.stamp), modified=max(chat.modified, same.modified))
            yield chat
        yield from (one for one in written if one.session_id not in paired or is_helper(one))
        yield from _databases([folder / "sessions" / "sessions.db"], folder, DOCUMENT, trouble)
    for folder in user_folders(environment):
        if not is_reachable(folder, trouble):
            continue
        shared = folder / "globalStorage" / "state.vscdb"
        yield from _databases([shared, *workspace_databases(folder, trouble)], folder, EDITOR, trouble)


def _chats(folder: Path, trouble: Trouble, wanted: str | None) -> Iterator[Source]:
    # Text from here on: there may be ten thousand of them, and a `Path` costs as much as a look at the disk.
    chats = f"{folder}/chats"
    for place in names_in(chats, trouble):
        for name in names_in(f"{chats}/{place}", trouble):
            if wanted not in (None, scrub(name)):
                continue
            chat = f"{chats}/{place}/{name}"
            for source in _databases([f"{chat}/store.db"], folder, CHAT, trouble):
                try:
                    stamp = (*source.stamp, *file_stamp(os.stat(f"{chat}/meta.json")))  # noqa: PTH116 - as above
                except OSError:
                    stamp = source.stamp  # there is none, or reading it says why
                yield replace(source, session_id=scrub(name), stamp=stamp)


def _databases(paths: Iterable[str | Path], root: Path, layout: str, trouble: Trouble) -> Iterator[Source]:
    for path in paths:
        try:
            yield database_source(AGENT, path, root=str(root), layout=layout)
        except (FileNotFoundError, NotADirectoryError):  # not every version of Cursor has each of them
            continue
        except OSError as error:
            trouble(Path(path), error)


def workspace_databases(user: Path, trouble: Trouble) -> list[Path]:
    """The database of each workspace of the editor, whether there is one or not."""
    storage = user / "workspaceStorage"
    return [storage / name / "state.vscdb" for name in names_in(storage, trouble)]


# Transcripts -------------------------------------------------------------------------------------------------


def transcripts(folder: Path, trouble: Trouble, wanted: str | None = None) -> Iterator[Source]:
    """Every agent transcript, or those of the `wanted` session; of several of one project with the same id that of
    the newest layout."""
    for path in _newest(folder, trouble):
        if wanted is not None and wanted != scrub(_stem(path)):
            continue
        status = status_of(path, partial(trouble, Path(path)))
        if status is not None:
            layout = TEXT if path.endswith(".txt") else LINES
            yield file_source(AGENT, path, status, session_id=_stem(path), root=str(folder), layout=layout)


def _newest(folder: Path, trouble: Trouble) -> Iterator[str]:
    projects = f"{folder}/projects"
    for project in names_in(projects, trouble):
        seen: set[str] = set()
        for path in _of_project(f"{projects}/{project}/agent-transcripts", trouble):
            if _is_helpers(path):
                yield path
            elif (stem := _stem(path)) not in seen:
                seen.add(stem)
                yield path
    for early in _EARLY:
        place = f"{folder}/{early}"
        yield from (f"{place}/{name}" for name in names_in(place, trouble) if _is_lines(name))


def _of_project(place: str, trouble: Trouble) -> Iterator[str]:
    """The files of a project, newest layout first."""
    names = names_in(place, trouble)
    for name in names:
        if not name.endswith((".jsonl", ".txt")):
            for folder in (f"{place}/{name}", f"{place}/{name}/{SUBAGENTS}"):
                yield from (f"{folder}/{inner}" for inner in names_in(folder, trouble) if _is_lines(inner))
    yield from (f"{place}/{name}" for name in names if _is_lines(name))
    yield from (f"{place}/{name}" for name in names if name.endswith(".txt") and not name.startswith("."))


def _stem(path: str) -> str:
    return path[path.rfind("/") + 1 : path.rfind(".")]


def _is_lines(name: str) -> bool:
    return name.endswith(".jsonl") and not name.startswith(".")


def is_helper(source: Source) -> bool:
    """Whether it is the transcript of a sub-agent."""
    return _is_helpers(source.path)


def _is_helpers(path: str) -> bool:
    return path.rpartition("/")[0].endswith(f"/{SUBAGENTS}")


# Directories -------------------------------------------------------------------------------------------------


def folder_of_chats(directory: str) -> str:
    """The name of the folder for chats held in a directory."""
    return hashlib.md5(directory.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def uri_path(uri: str | None) -> str | None:
    """The path in a `file://` or `vscode-remote://` URI; None for anything else."""
    try:
        parts = urlsplit(uri or "")
    except ValueError:  # brackets that are no IPv6 address
        return None
    if parts.scheme not in ("file", "vscode-remote") or not parts.path:
        return None
    path = unquote(parts.path)
    return path[1:] if _DRIVE.match(path) else path


def logged_directory(project: Path) -> str | None:
    """The directory that a project's log names. The project's own name is cut and not to be undone."""
    try:
        with open_file(project / "worker.log") as fd:
            found = _LOGGED.search(read_at(fd, 0, _LOG_BYTES))
    except OSError:
        return None  # most projects have no log
    return found[1].decode("utf-8", "replace") if found else None


def log_directories(folder: Path) -> Iterator[str]:
    """The directories of all projects whose logs name them."""
    for project in names_in(folder / "projects", lambda path, error: None):
        if directory := logged_directory(folder / "projects" / project):
            yield directory
