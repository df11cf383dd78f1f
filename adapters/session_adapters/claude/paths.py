"""Where Claude Code keeps its sessions, and what small files stand beside them.

`FACTS.md`, «Paths». The name of a project's folder is not reversible and two directories can share one: a session's
directory is taken from its records, never from the folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from session_adapters.base import Environment, Report, Root, Source
from session_adapters.model import Problem
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import read_small
from session_adapters.reading.folders import file_source, is_directory, is_folder, may_be_folder

__all__ = [
    "SMALL",
    "HelperMeta",
    "config_roots",
    "custom_title",
    "entries_of",
    "helper_meta",
    "is_helper",
    "list_sources",
    "parent_folder",
    "printable",
]

T = TypeVar("T")

_DEPTH = 6
"""Folders below `subagents/` (2.1.x has `workflows/<name>/`)."""
SMALL = 256 << 10
"""Bytes of the files beside that are read."""


class HelperMeta(Struct, rename="camel"):
    """`agent-<id>.meta.json` beside a helper's transcript (2.1.x)."""

    agent_type: str | None = None
    description: str | None = None
    tool_use_id: str | None = None


class _Sidecar(Struct, rename="camel"):
    """`<uuid>/custom-title.json`."""

    custom_title: str | None = None


_META = Decoder(HelperMeta)
_SIDECAR = Decoder(_Sidecar)


def config_roots(environment: Environment) -> list[Root]:
    """`$CLAUDE_CONFIG_DIR`, which replaces every other place, or `~/.claude` and, from very old installations,
    `~/.config/claude` where it exists."""
    paths = [environment.path("CLAUDE_CONFIG_DIR", ".claude")]
    if not environment.variables.get("CLAUDE_CONFIG_DIR", "").strip():
        old = environment.home / ".config" / "claude"
        if may_be_folder(old):
            paths.append(old)
    return [Root(path=path, layout="projects/*/*.jsonl", exists=is_folder(path)) for path in paths]


def list_sources(root: Path, report: Report, named: str | None = None) -> Iterator[Source]:
    """Every transcript under `root`, or those that are `named` so: of others no file is looked at. Zero bytes are no
    session: the agent leaves such files behind."""
    top = str(root)
    for project in entries_of(root / "projects", report):
        if not is_directory(project):
            continue
        entries = entries_of(project.path, report)
        entries.reverse()
        while entries:  # each is let go of once it was looked at: there may be tens of thousands
            entry = entries.pop()
            if entry.name.endswith(".jsonl"):
                if named not in (None, _id_of(entry)):
                    continue
                # Helpers of 2.0.x stand beside the sessions, later ones in the folder of their session.
                layout = "helper-beside" if entry.name.startswith("agent-") else "session"
                if source := _source(entry, top, layout, report):
                    yield source
            elif is_directory(entry):
                yield from _helpers(f"{entry.path}/subagents", top, report, named, _DEPTH)


def _helpers(folder: str, root: str, report: Report, named: str | None, depth: int) -> Iterator[Source]:
    for entry in entries_of(folder, report):
        if entry.name.endswith(".jsonl"):
            is_meant = entry.name.startswith("agent-") and named in (None, _id_of(entry))
            if is_meant and (source := _source(entry, root, "helper-below", report)):
                yield source
        elif depth and is_directory(entry):
            yield from _helpers(entry.path, root, report, named, depth - 1)


def entries_of(folder: Path | str, report: Report) -> list[os.DirEntry[str]]:
    """What is in `folder`, sorted by name; nothing when there is no such folder."""
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=attrgetter("name"))
    except FileNotFoundError:
        return []
    except OSError as error:
        reason = f"the folder cannot be read: {error.strerror or error}"
        report(Problem(agent="claude", path=printable(folder), reason=reason))
        return []


def _source(entry: os.DirEntry[str], root: str, layout: str, report: Report) -> Source | None:
    reason = ""
    try:
        status = entry.stat()
        if not stat.S_ISREG(status.st_mode):
            reason = "is not a regular file"
    except FileNotFoundError:
        if not entry.is_symlink():
            return None  # gone since the folder was listed
        reason = "is a link to a file that is not there"
    except OSError as error:
        reason = f"cannot be looked at: {error.strerror or error}"
    if reason:
        report(
            Problem(agent="claude", path=printable(entry.path), reason=reason, session_id=printable(entry.name[:-6]))
        )
        return None
    if not status.st_size:
        return None
    return file_source("claude", entry.path, status, session_id=_id_of(entry), root=root, layout=layout)


def _id_of(entry: os.DirEntry[str]) -> str:
    return printable(entry.name.removesuffix(".jsonl"))


def printable(path: str | Path) -> str:
    """A path that can be encoded, whatever bytes its name has."""
    text = os.fspath(path)
    return text if text.isascii() else os.fsencode(text).decode("utf-8", "replace")


def is_helper(source: Source) -> bool:
    """Whether the file is a sub-agent's own conversation."""
    return source.layout.startswith("helper")


def parent_folder(source: Source) -> str | None:
    """Native id of the session whose folder a helper's file is in; None for the layout of 2.0.x."""
    if source.layout != "helper-below":
        return None
    parts = Path(source.path).parts
    return parts[len(parts) - 1 - parts[::-1].index("subagents") - 1] if "subagents" in parts else None


def helper_meta(source: Source, report: Report) -> HelperMeta:
    """What `.meta.json` says of a helper; empty where there is none or it is damaged."""
    found = _beside(source, ".meta.json", _META, report)
    return found if found is not None else HelperMeta()


def custom_title(source: Source, report: Report) -> str:
    """The title in the session's own folder; empty where there is none. It repeats a line of the transcript."""
    found = _beside(source, "/custom-title.json", _SIDECAR, report)
    return (found.custom_title or "") if found is not None else ""


def _beside(source: Source, suffix: str, decoder: Decoder[T], report: Report) -> T | None:
    """A small file beside a transcript; None where there is none or it cannot be read."""
    path = source.path.removesuffix(".jsonl") + suffix
    try:
        return decoder.one(read_small(path, SMALL))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
    except ValueError:
        reason = "is damaged: a title may be missing"
    report(Problem(agent="claude", path=printable(path), reason=reason, session_id=source.session_id))
    return None
