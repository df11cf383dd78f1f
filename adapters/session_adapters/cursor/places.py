"""Where Cursor's stores are, and what lies in them by name alone (FACTS.md «Four separate stores»)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from session_adapters.base import Environment, Root, Source
from session_adapters.files import file_stamp, open_file, read_at
from session_adapters.sqlite import database_source
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
    roots = [Root(path=path, layout=_LAYOUTS, exists=path.is_dir()) for path in data]
    roots += [Root(path=path, layout="globalStorage, workspaceStorage", exists=path.is_dir()) for path in users]
    kept = {*data[:-2], environment.home / ".cursor", users[0]}
    return [root for root in roots if root.exists or root.path in kept]


def all_sources(environment: Environment, trouble: Trouble) -> Iterator[Source]:
    """Every store, by `stat` alone. A chat of the CLI and the transcript that it writes beside it are one source, in
    the chat's name; its stamp is that of both."""
    for folder in data_folders(environment):
        written = list(transcripts(folder, trouble))
        beside = {one.session_id: one for one in reversed(written) if not is_helper(one)}
        paired: set[str] = set()
        for chat in _chats(folder, trouble):
            same = beside.get(chat.session_id)
            if same is not None:
                paired.add(chat.session_id)
                chat = replace(chat, stamp=(*chat.stamp, *same.stamp), modified=max(chat.modified, same.modified))
            yield chat
        yield from (one for one in written if one.session_id not in paired or is_helper(one))
        yield from _databases([folder / "sessions" / "sessions.db"], folder, DOCUMENT, trouble)
    for folder in user_folders(environment):
        shared = folder / "globalStorage" / "state.vscdb"
        yield from _databases([shared, *workspace_databases(folder, trouble)], folder, EDITOR, trouble)


def _chats(folder: Path, trouble: Trouble) -> Iterator[Source]:
    for place in _names(folder / "chats", trouble):
        for name in _names(folder / "chats" / place, trouble):
            path = folder / "chats" / place / name / "store.db"
            for source in _databases([path], folder, CHAT, trouble):
                meta = _stat(path.with_name("meta.json"))
                stamp = source.stamp if meta is None else (*source.stamp, *file_stamp(meta))
                yield replace(source, session_id=scrub(name), stamp=stamp)


def _databases(paths: Iterable[Path], root: Path, layout: str, trouble: Trouble) -> Iterator[Source]:
    for path in paths:
        try:
            yield database_source(AGENT, path, root=str(root), layout=layout)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            trouble(path, error)


def workspace_databases(user: Path, trouble: Trouble) -> list[Path]:
    """The database of each workspace of the editor, whether there is one or not."""
    storage = user / "workspaceStorage"
    return [storage / name / "state.vscdb" for name in _names(storage, trouble)]


# Transcripts -------------------------------------------------------------------------------------------------


def transcripts(folder: Path, trouble: Trouble) -> Iterator[Source]:
    """Every agent transcript; of several of one project with the same id that of the newest layout."""
    projects = folder / "projects"
    for project in _names(projects, trouble):
        place = projects / project / "agent-transcripts"
        names = _names(place, trouble)
        files = {name for name in names if name.endswith((".jsonl", ".txt"))}
        seen: set[str] = set()
        for name in (name for name in names if name not in files):
            for inner in _names(place / name, trouble):
                if inner.endswith(".jsonl"):
                    yield from _file(place / name / inner, folder, seen, trouble)
            for inner in _names(place / name / SUBAGENTS, trouble):
                if inner.endswith(".jsonl"):
                    yield from _file(place / name / SUBAGENTS / inner, folder, set(), trouble)
        for name in sorted(files, key=lambda name: (not name.endswith(".jsonl"), name)):
            yield from _file(place / name, folder, seen, trouble)
    for early in _EARLY:
        for name in _names(folder / early, trouble):
            if name.endswith(".jsonl"):
                yield from _file(folder / early / name, folder, set(), trouble)


def _file(path: Path, root: Path, seen: set[str], trouble: Trouble) -> Iterator[Source]:
    if path.name.startswith(".") or path.stem in seen:
        return
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        trouble(path, error)
        return
    seen.add(path.stem)
    yield Source(
        agent=AGENT,
        path=str(path),
        stamp=file_stamp(status),
        session_id=scrub(path.stem),
        root=str(root),
        layout=TEXT if path.suffix == ".txt" else LINES,
        size=status.st_size,
        modified=status.st_mtime,
    )


def is_helper(source: Source) -> bool:
    """Whether it is the transcript of a sub-agent."""
    return Path(source.path).parent.name == SUBAGENTS


# Directories -------------------------------------------------------------------------------------------------


def uri_path(uri: str | None) -> str | None:
    """The path in a `file://` or `vscode-remote://` URI; None for anything else."""
    try:
        parts = urlsplit(uri or "")
    except ValueError:
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
    for project in _names(folder / "projects", lambda path, error: None):
        if directory := logged_directory(folder / "projects" / project):
            yield directory


def _names(folder: Path, trouble: Trouble) -> list[str]:
    """What lies in a directory, sorted; nothing where there is none."""
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names alone
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        trouble(folder, error)
        return []


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None  # reading it says why
