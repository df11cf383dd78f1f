"""The JSON trees from before the databases (stores/opencode FACTS.md, «Paths»).

* to 0.5: `project/<directory>/storage/session/{info,message,part}`, parts under their session and message;
* 0.6 to 1.1: `storage/session/<project>/<session>.json`, `storage/message/<session>/`, `storage/part/<message>/`.

1.2 takes them into its database and leaves them where they are; 1.18 does not look at them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from session_adapters.base import Source
from session_adapters.model import Message
from session_adapters.opencode.messages import messages_of
from session_adapters.opencode.records import MESSAGE, PART, OpenCodeMessage, PartRecord
from session_adapters.opencode.schema import facts_of_info
from session_adapters.opencode.units import (
    CONTENT_LIMIT,
    Generation,
    OpenCodeFacts,
    OpenCodeReader,
    OpenCodeStore,
    OpenCodeUnit,
    SessionGone,
    revised,
)
from session_adapters.reading.files import file_stamp, read_small
from session_adapters.reading.folders import names_in

__all__ = ["SessionFiles", "TreeReader", "TreeShelf", "tree_sources"]

T = TypeVar("T")
_Trouble = Callable[[Path, OSError], None]


class SessionFiles(NamedTuple):
    """Where the files of one session are."""

    info: Path
    messages: Path
    parts: Path
    """Above the directory named after a message."""
    generation: Generation

    @classmethod
    def of(cls, info: str | Path) -> SessionFiles:
        """By the place of the session's own file, which was listed."""
        path = Path(info)
        session_id = path.stem
        if path.parent.name == "info":
            storage = path.parent.parent
            return cls(path, storage / "message" / session_id, storage / "part" / session_id, "project")
        storage = path.parent.parent.parent
        return cls(path, storage / "message" / session_id, storage / "part", "json")

    @property
    def place(self) -> str:
        """The project, as the directory above names it."""
        return self.info.parents[3].name if self.generation == "project" else self.info.parent.name


def tree_sources(agent: str, root: Path, trouble: _Trouble) -> Iterator[Source]:
    """A source for each session in the trees below `root`; nothing is opened."""
    for project in names_in(root / "storage" / "session", trouble):
        yield from _infos(agent, root, root / "storage" / "session" / project, trouble)
    for project in names_in(root / "project", trouble):
        yield from _infos(agent, root, root / "project" / project / "storage" / "session" / "info", trouble)


def _infos(agent: str, root: Path, folder: Path, trouble: _Trouble) -> Iterator[Source]:
    for name in names_in(folder, trouble):
        if not name.endswith(".json") or name.startswith("."):
            continue
        tree = SessionFiles.of(folder / name)
        try:
            status = tree.info.stat()
        except FileNotFoundError:  # removed since the folder was listed
            continue
        except OSError as error:
            trouble(tree.info, error)
            continue
        stamp, modified = file_stamp(status), status.st_mtime
        try:  # the directory changes with each message that is added
            added = tree.messages.stat()
            stamp, modified = (*stamp, added.st_mtime_ns), max(modified, added.st_mtime)
        except OSError:  # no message was written yet
            pass
        yield Source(
            agent=agent,
            path=str(tree.info),
            stamp=stamp,
            session_id=tree.info.stem,
            root=str(root),
            layout=tree.generation,
            size=status.st_size,
            modified=modified,
        )


class TreeReader(OpenCodeReader):
    """One session in a tree of files. Messages are small and are all read, to know their order; parts are read
    with the messages that are wanted."""

    def __init__(self, tree: SessionFiles, facts: OpenCodeFacts) -> None:
        super().__init__(facts)
        self._tree = tree
        self._records: dict[str, OpenCodeMessage] = {}

    def units(self, most: int = 0) -> list[OpenCodeUnit]:
        """See `OpenCodeReader.units`: all, for only what is in them tells their order."""
        found: list[OpenCodeUnit] = []
        for name in self.names():
            unit = self.unit(name)
            if unit is not None:
                found.append(unit)
        found.sort(key=lambda unit: (unit.created or 0, unit.id))
        return list(revised(found, self.facts))

    def names(self) -> list[str]:
        """The names of the message files, which sort by when they were made."""
        return [name for name in names_in(self._tree.messages, self._trouble) if name.endswith(".json")]

    def unit(self, name: str) -> OpenCodeUnit | None:
        """The unit in a message file; None when nothing can be had of it."""
        path = self._tree.messages / name
        record, stamp = self._load(path, MESSAGE.one), _stamp(path)
        if record is None:
            return None
        key = name.removesuffix(".json")
        self._records[key] = record
        created = record.time.created if record.time else None
        folder = self._tree.parts / key
        parts = tuple((part, *_stamp(folder / part)) for part in names_in(folder, self._trouble))
        return OpenCodeUnit(key, "file", created, (stamp, parts))

    def contents(self, units: Sequence[OpenCodeUnit]) -> dict[str, list[Message]]:
        """See `OpenCodeReader.contents`."""
        found: dict[str, list[Message]] = {}
        for unit in units:
            record = self._records.get(unit.id) or self._load(self._tree.messages / f"{unit.id}.json", MESSAGE.one)
            if record is not None:
                found[unit.id] = messages_of(unit.id, record, self.parts(unit))
        return found

    def light(self, unit: OpenCodeUnit) -> list[Message]:
        """The messages of a unit without its parts: no text, no calls."""
        record = self._records.get(unit.id)
        return messages_of(unit.id, record, ()) if record is not None else []

    def parts(self, unit: OpenCodeUnit) -> list[PartRecord]:
        """The parts of a message, in the order of their ids."""
        folder = self._tree.parts / unit.id
        names = [name for name in names_in(folder, self._trouble) if name.endswith(".json")]
        parts = (self._load(folder / name, PART.one) for name in names)
        return [part for part in parts if part is not None]

    def _load(self, path: Path, decode: Callable[[bytes], T]) -> T | None:
        try:
            return decode(read_small(path, CONTENT_LIMIT))
        except FileNotFoundError:
            return None  # removed since it was listed
        except OSError as error:
            self._trouble(path, error)
        except ValueError:
            self._note(path, "it is not valid JSON")
        return None

    def _trouble(self, path: Path, error: OSError) -> None:
        self._note(path, f"it cannot be read: {error.strerror or error}")

    def _note(self, path: Path, reason: str) -> None:
        try:
            place = str(path.relative_to(self._tree.info.parents[2]))
        except ValueError:
            place = str(path)
        self.lost.add(place, reason)


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        return file_stamp(path.stat())
    except OSError:  # not there: no stamp of a file equals that
        return ()


class TreeShelf(OpenCodeStore):
    """The files of one session."""

    def __init__(self, path: str) -> None:
        self.path = path

    def stamp(self) -> tuple[Any, ...]:
        """See `OpenCodeStore.stamp`."""
        return ()

    def reader(self, session_id: str) -> TreeReader:
        """A reader for the session. Raises `SessionGone`, `OSError`, and `ValueError` for a damaged file."""
        tree = SessionFiles.of(self.path)
        if tree.info.stem != session_id:
            raise SessionGone(session_id)
        try:
            data = read_small(tree.info, CONTENT_LIMIT)
        except FileNotFoundError as error:
            raise SessionGone(session_id) from error
        return TreeReader(tree, facts_of_info(data, tree.generation, session_id, tree.place))

    def visit(self, session_id: str, work: Callable[[OpenCodeReader], T]) -> T:
        """See `OpenCodeStore.visit`."""
        return work(self.reader(session_id))
