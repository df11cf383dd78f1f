"""Where OpenClaw's stores are: state directories and the agents in each.

Names alone are looked at, but for the configuration, which may move them. Format: stores/openclaw FACTS.md «Paths».
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from session_adapters.base import Environment, Report, Source, unique
from session_adapters.model import Problem
from session_adapters.openclaw.records import ClawKey
from session_adapters.reading.damaged_places import reason_of
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.files import file_stamp, read_small
from session_adapters.reading.folders import file_source, is_folder, is_reachable, may_be_folder, status_of
from session_adapters.reading.sqlite import database_source

__all__ = [
    "AGENT",
    "DATABASE",
    "DOCUMENT",
    "FILE",
    "INDEX",
    "PACKED",
    "FileName",
    "StateDir",
    "agent_of",
    "key_sources",
    "sources_of",
    "state_dirs",
]

AGENT = "openclaw"
DATABASE, INDEX, FILE, PACKED, DOCUMENT = "database", "index", "files", "packed", "document"
"""Layouts of a `Source`."""

_LEGACY = (".clawdbot", ".moldbot", ".moltbot")
_FILE_NAME = re.compile(r"(?P<stem>.+?)\.jsonl(?:\.(?P<why>reset|deleted)\.(?P<when>[\dT:.Z-]+?))?(?P<packed>\.zst)?")
_TWIN = re.compile(r"\.trajectory$|\.checkpoint\.|\.bak")
"""Logs of requests, and copies from before a compaction or a repair."""
_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


class StateDir(NamedTuple):
    """A directory in which OpenClaw keeps everything."""

    path: Path
    profile: str | None
    layout: str
    tag: str
    """Goes before the ids of all but the first: every one has its own `agent:main:main`."""

    def tagged(self, session_id: str) -> str:
        """The id under which a session of this directory is known."""
        return f"{self.tag}/{session_id}" if self.tag else session_id


def state_dirs(environment: Environment) -> list[StateDir]:
    """Strongest first, each once; those of earlier names and other profiles only where they are."""
    home = environment.path("OPENCLAW_HOME")
    found: list[tuple[Path, str | None, str]] = []
    if environment.variables.get("OPENCLAW_STATE_DIR", "").strip():
        found.append((environment.path("OPENCLAW_STATE_DIR"), None, "OPENCLAW_STATE_DIR"))
    profile = environment.variables.get("OPENCLAW_PROFILE", "").strip()
    if profile and profile != "default" and "/" not in profile and "\x00" not in profile:
        found.append((home / f".openclaw-{profile}", profile, "profile"))
    found.append((home / ".openclaw", None, "default"))
    try:
        names = sorted(os.listdir(home))  # noqa: PTH208 - names alone
    except OSError:
        names = []
    found += [
        (home / name, name.removeprefix(".openclaw-"), "profile")
        for name in names
        if name.startswith(".openclaw-") and len(name) > len(".openclaw-")
    ]
    found += [(home / name, None, "earlier name") for name in _LEGACY if name in names]
    places: dict[str, tuple[Path, str | None, str]] = {}
    for path, of, layout in found:
        if layout == "default" or may_be_folder(path):
            places.setdefault(os.path.realpath(path), (path, of, layout))  # of links to one place the strongest
    order = list(places.values())
    first = next((place for place in order if is_folder(place[0])), order[0])
    return [
        StateDir(path, of, layout, "" if (path, of, layout) == first else of or path.name.lstrip("."))
        for path, of, layout in order
    ]


# Configuration -----------------------------------------------------------------------------------------------


class _Session(msgspec.Struct):
    store: Any = None


class _Agents(msgspec.Struct):
    list: Any = None


class _Config(msgspec.Struct):
    session: _Session | None = None
    agents: _Agents | None = None


_CONFIG = Decoder(_Config)


class _Moved(NamedTuple):
    """What the configuration moves."""

    store: str = ""
    """Template of the path of `sessions.json`."""
    agent_dirs: dict[str, str] = {}  # noqa: RUF012 - never changed


def _configured(state: StateDir, environment: Environment, report: Report) -> _Moved:
    """JSON with comments and trailing commas, as OpenClaw accepts it."""
    paths = [state.path / "openclaw.json", state.path / "clawdbot.json"]
    if environment.variables.get("OPENCLAW_CONFIG_PATH", "").strip() and not state.tag:
        paths.insert(0, environment.path("OPENCLAW_CONFIG_PATH"))
    for path in paths:
        try:
            moved = _read_config(path, file_stamp(path.stat()))
        except (FileNotFoundError, NotADirectoryError):  # not every state directory has one
            continue
        except OSError as error:
            moved = f"it cannot be read: {reason_of(error)}"
        if isinstance(moved, _Moved):
            return moved
        reason = f"{moved}; sessions that it moves elsewhere are not found"
        report(Problem(agent=AGENT, path=str(path), reason=reason))
        break
    return _Moved()


@lru_cache(maxsize=8)
def _read_config(path: Path, stamp: tuple[int, ...]) -> _Moved | str:
    """What it moves, or why that cannot be told. It is asked for with every file of a session."""
    text = read_small(path).decode("utf-8", "replace")
    try:
        config = _CONFIG.one(_COMMENT.sub(lambda found: found.group(1) or "", text).encode())
    except ValueError:
        # A file that names neither of the two moves nothing, readable or not.
        return "it is not JSON that can be read" if "agentDir" in text or '"store"' in text else _Moved()
    store = config.session.store if config.session else None
    listed = config.agents.list if config.agents else None
    dirs: dict[str, str] = {}
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict) and isinstance(item.get("id"), str) and isinstance(item.get("agentDir"), str):
            dirs[item["id"]] = item["agentDir"]
    return _Moved(store if isinstance(store, str) and "\x00" not in store else "", dirs)


# Sources -----------------------------------------------------------------------------------------------------


class FileName(NamedTuple):
    """What the name of a transcript says."""

    stem: str
    """The session's id, in a forum with `-topic-<n>` behind it."""
    why: str
    """reset or deleted; empty for one in use."""
    when: str
    packed: bool

    @classmethod
    def of(cls, name: str) -> FileName | None:
        """None for a file that is no transcript, or a twin of one."""
        found = _FILE_NAME.fullmatch(name)
        if found is None or name.startswith(".") or _TWIN.search(found["stem"]):
            return None
        return cls(found["stem"], found["why"] or "", found["when"] or "", bool(found["packed"]))


class _Walk:
    """One look at a state directory."""

    def __init__(self, state: StateDir, environment: Environment, report: Report) -> None:
        self.state = state
        self.environment = environment
        self.report = report
        self.moved = _configured(state, environment, report)

    def sources(self) -> Iterator[Source]:
        """Databases, then indexes and transcripts, then documents: `<channel>/<id>.json`."""
        agents = self._agents()
        for agent in agents:
            yield from self._database(agent)
        for folder, index in self._folders(agents):
            yield from self._transcripts(folder, index)
        folder = self.state.path / "sessions"
        found: list[tuple[str, Path]] = []
        for channel in self.names(folder):
            if channel.endswith((".json", ".jsonl")):
                continue
            names = [name for name in self.names(folder / channel) if name.endswith(".json")]
            found += [(name.removesuffix(".json"), folder / channel / name) for name in names if name[0] != "."]
        often = Counter(stem for stem, _ in found)
        for stem, path in found:
            # The same id in two channels are two sessions (spec 004 §4.2.9).
            session_id = stem if often[stem] == 1 else f"{path.parent.name}/{stem}"
            yield from self._file(path, DOCUMENT, self.state.tagged(session_id))

    def keys(self, folder: Path) -> Iterator[Source]:
        """What has keys of the files in a folder: every database, and the index there."""
        agents = self._agents()
        for agent in agents:
            yield from self._database(agent)
        for place, index in self._folders(agents):
            if place == folder:
                yield from self._file(place / index, INDEX, "")

    def _agents(self) -> list[str]:
        return list(dict.fromkeys((*self.names(self.state.path / "agents"), *self.moved.agent_dirs)))

    def _folders(self, agents: list[str]) -> Iterator[tuple[Path, str]]:
        """Where transcripts are, each with the name of its index."""
        for agent in agents:
            yield self.state.path / "agents" / agent / "sessions", "sessions.json"
        if self.moved.store:
            for agent in agents or ["main"]:
                path = self.environment.expand(self.moved.store.replace("{agentId}", agent))
                if path.is_absolute():
                    yield path.parent, path.name
        yield self.state.path / "sessions", "sessions.json"

    def _database(self, agent: str) -> Iterator[Source]:
        folder = self.state.path / "agents" / agent / "agent"
        chosen = self.moved.agent_dirs.get(agent, "")
        for place in (self.environment.expand(chosen), folder) if chosen else (folder,):
            path = place / "openclaw-agent.sqlite"
            try:
                yield database_source(
                    AGENT, path, root=str(self.state.path), layout=DATABASE, profile=self.state.profile
                )
            except (FileNotFoundError, NotADirectoryError):
                # An agent whose sessions are in files, or that has none yet.
                continue
            except (OSError, ValueError) as error:
                self.trouble(path, error)

    def _transcripts(self, folder: Path, index: str) -> Iterator[Source]:
        """The index of keys and the files of one agent. Of several files of one session that in use has its id."""
        names = self.names(folder)
        if index in names:
            yield from self._file(folder / index, INDEX, "")
        listed: list[tuple[FileName, Path]] = []
        for place in (folder, folder / "session-sqlite-import-archive", folder / "cold"):
            for name in names if place == folder else self.names(place):
                named = FileName.of(name)
                if named is not None:
                    listed.append((named, place / name))
        listed.sort(key=lambda item: item[0].when, reverse=True)  # stable: the order of places is kept
        listed.sort(key=lambda item: (item[0].stem, bool(item[0].why)))
        before = ""
        for named, path in listed:
            session_id = path.name if named.stem == before else named.stem
            before = named.stem
            yield from self._file(path, PACKED if named.packed else FILE, self.state.tagged(session_id))

    def _file(self, path: Path, layout: str, session_id: str) -> Iterator[Source]:
        status = status_of(str(path), partial(self.trouble, path))
        if status is None:
            return
        yield file_source(
            AGENT,
            str(path),
            status,
            session_id=session_id,
            root=str(self.state.path),
            layout=layout,
            profile=self.state.profile,
        )

    def names(self, folder: Path) -> list[str]:
        """What lies in a directory, sorted; nothing where there is none."""
        try:
            return sorted(os.listdir(folder))  # noqa: PTH208 - names alone
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.trouble(folder, error)
            return []

    def trouble(self, path: Path, error: Exception) -> None:
        """Report what cannot be reached."""
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        self.report(Problem(agent=AGENT, path=str(path), reason=f"it cannot be reached: {reason}"))


def sources_of(state: StateDir, environment: Environment, report: Report) -> Iterator[Source]:
    """Everything in a state directory that holds sessions. A database comes before the files it was made from."""
    walk = _Walk(state, environment, report)
    if is_reachable(state.path, walk.trouble):
        yield from walk.sources()


def key_sources(state: StateDir, environment: Environment, folder: Path) -> Iterator[Source]:
    """What has keys of the files in a folder of a state directory; no file of a session is looked at."""
    return unique(_Walk(state, environment, lambda problem: None).keys(folder))


def agent_of(path: str) -> str:
    """The agent whose sessions directory a file is in."""
    parts = Path(path).parts
    places = [at for at, part in enumerate(parts) if part == "agents"]
    return parts[places[-1] + 1] if places and places[-1] + 1 < len(parts) else ClawKey.of("").agent_id
