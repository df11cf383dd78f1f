"""Where Gemini CLI keeps its sessions, and which project they belong to.

Format: FACTS.md, «Paths».
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from session_adapters.base import Environment, Report, Root, Source
from session_adapters.model import Problem
from session_adapters.reading.damaged_places import reason_of
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import file_stamp, read_small
from session_adapters.reading.folders import file_source, is_folder, status_of
from session_adapters.text import scrub

__all__ = [
    "DOCUMENT",
    "Projects",
    "gemini_home",
    "gemini_roots",
    "list_sources",
    "may_hold",
    "name_of",
    "parent_id",
    "project_folder",
]

CHAT = "chats"
HELPER = "helper"
DOCUMENT = "document"
"""Layout of spec 004."""
_HASH = re.compile(r"[0-9a-f]{64}")
_SMALL = 1 << 20
_SHORT = re.compile(r"session-\d{4}-\d\d-\d\dT\d\d-\d\d-(.+)\.jsonl?")


DOCUMENTS = "<id>.jsonl"
"""Layout of a root."""


def gemini_home(environment: Environment) -> Path:
    """`.gemini` in the home directory, or in `$GEMINI_CLI_HOME`, which stands for it."""
    value = environment.variables.get("GEMINI_CLI_HOME", "").strip()
    return (environment.expand(value) if value else environment.home) / ".gemini"


def gemini_roots(environment: Environment) -> tuple[Root, ...]:
    """The real place and that of spec 004."""
    home = gemini_home(environment)
    places = ((home / "tmp", "*/chats/session-*.jsonl"), (home / "sessions", DOCUMENTS))
    return tuple(Root(path=path, layout=layout, exists=is_folder(path)) for path, layout in places)


def list_sources(root: Root, report: Report) -> Iterator[Source]:
    """Every session file under a root. Empty ones are no sessions: Gemini leaves such behind.

    0.40 copies a project's files from the folder named by a hash to the one named by a slug: the latter come first,
    and of a document that goes on as a log the log.
    """
    if root.layout == DOCUMENTS:
        for entry in _entries(root.path, report):
            if not _is_folder(entry):
                yield from _source(entry, root.path, DOCUMENT, report)
        return
    projects = [entry for entry in _entries(root.path, report) if _is_folder(entry)]
    for project in sorted(projects, key=lambda entry: _HASH.fullmatch(entry.name) is not None):
        folder = Path(project.path) / "chats"
        for entry in sorted(_entries(folder, report), key=lambda entry: (entry.name.endswith(".json"), entry.name)):
            if _is_folder(entry):
                for helper in _entries(Path(entry.path), report):
                    yield from _source(helper, root.path, HELPER, report)
            else:
                yield from _source(entry, root.path, CHAT, report)


def parent_id(source: Source) -> str | None:
    """The session whose helper this is: its files are in a folder of that name."""
    return scrub(Path(source.path).parent.name) if source.layout == HELPER else None


def may_hold(source: Source, session_id: str) -> bool:
    """Whether the name of the file fits: that of a chat has the first eight characters of the id alone."""
    if source.layout != CHAT:
        return source.session_id == session_id
    short = _SHORT.fullmatch(Path(source.path).name)
    return (short is not None and short[1] == session_id[:8]) or name_of(source) == session_id


def name_of(source: Source) -> str:
    """The name of the file: what is left of the id when the header of a chat is lost."""
    return scrub(Path(source.path).stem)


def project_folder(source: Source) -> Path | None:
    """`tmp/<slug or hash>`."""
    if source.layout == DOCUMENT:
        return None
    return Path(source.path).parents[2 if source.layout == HELPER else 1]


def _source(entry: os.DirEntry[str], root: Path, layout: str, report: Report) -> Iterator[Source]:
    if not entry.name.endswith((".jsonl", ".json")):
        return
    status = status_of(
        entry.path, lambda error: report(_problem(entry.path, f"cannot be looked at: {error.strerror or error}"))
    )
    if status is not None and (status.st_size or not stat.S_ISREG(status.st_mode)):
        yield file_source(
            "gemini",
            entry.path,
            status,
            session_id="" if layout == CHAT else entry.name.rpartition(".")[0],
            root=str(root),
            layout=layout,
        )


def _entries(folder: Path, report: Report) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    except OSError as error:
        report(_problem(str(folder), f"the folder cannot be read: {error.strerror or error}"))
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a circle of links, or in a folder that may not be entered
        return False


def _problem(path: str, reason: str) -> Problem:
    return Problem(agent="gemini", path=path, reason=reason)


_ROOT = ".project_root"


class _Registry(Struct):
    """`projects.json`."""

    projects: dict[str, str] = {}


_REGISTRY = Decoder(_Registry)


class Projects:
    """Which directory a folder of `tmp` belongs to."""

    def __init__(self) -> None:
        self._known: tuple[object, Mapping[str, str], Mapping[str, str]] = (None, {}, {})
        self._roots: dict[str, tuple[tuple[int, ...], str | None]] = {}
        """Folder → stamp of its `.project_root` and what stands in it: thousands of sessions share one."""

    def directory(self, home: Path, folder: Path) -> str | None:
        """By `.project_root`, else by `projects.json`, else, for a folder named by a hash, by hashing the directories
        that are known from these."""
        stamp = _stamp(folder / _ROOT)
        known, root = self._roots.get(str(folder), ((), None))
        if stamp and known != stamp:
            root = _project_root(folder, {})
            self._roots[str(folder)] = (stamp, root)
        return (root if stamp else None) or self._names(home)[0].get(folder.name)

    def lost(self, home: Path, folder: Path) -> list[str]:
        """Why a directory is not known, where files that may name it cannot be read."""
        paths = () if self.directory(home, folder) else (str(folder / _ROOT), str(home / "projects.json"))
        lost = self._names(home)[1]
        return [f"{path} cannot be read: {lost[path]}" for path in paths if path in lost]

    def faults(self, home: Path) -> Iterator[Problem]:
        """The files that name directories and cannot be used, whether or not another says the same."""
        for path, reason in self._names(home)[1].items():
            yield _problem(path, f"cannot be used: {reason}; the directories of some sessions may not be known")

    def _names(self, home: Path) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Slug or hash → directory, and file → why it cannot be read; made again when a project was added."""
        stamp = tuple(_stamp(path) for path in (home / "projects.json", home / "tmp"))
        if self._known[0] == stamp:
            return self._known[1:]
        slugs: dict[str, str] = {}
        registry: dict[str, str] = {}
        lost: dict[str, str] = {}
        path = home / "projects.json"
        try:
            registry = _REGISTRY.one(read_small(path, _SMALL)).projects
        except FileNotFoundError:  # a Gemini CLI whose folders are named by hashes
            pass
        except OSError as error:  # the directory is then taken from the other sources
            lost[str(path)] = reason_of(error)
        except ValueError:
            lost[str(path)] = "it is no JSON as Gemini CLI writes it"
        for directory, slug in registry.items():
            slugs.setdefault(slug, directory)
        known = set(registry)
        for entry in _entries(home / "tmp", lambda problem: None):
            if not _HASH.fullmatch(entry.name) and (root := _project_root(Path(entry.path), lost)):
                known.add(root)
        hashes = {hashlib.sha256(directory.encode()).hexdigest(): directory for directory in known}
        self._known = (stamp, slugs | hashes, lost)
        return self._known[1:]


def _project_root(folder: Path, lost: dict[str, str]) -> str | None:
    try:
        text = read_small(folder / _ROOT, _SMALL).decode("utf-8", "replace").strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        lost[str(folder / _ROOT)] = reason_of(error)
        return None
    if text.startswith("/") and "\n" not in text and "\0" not in text:
        return text
    lost[str(folder / _ROOT)] = "it names no directory"
    return None


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
        return (*file_stamp(status), status.st_ctime_ns)  # who may read it may have changed
    except OSError:
        return ()
