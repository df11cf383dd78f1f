"""Scans the files of one tree for its structure, without text.

Where each record stands and what its parent is.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from session_adapters.growing.file import GrowingFile
from session_adapters.model import Message
from session_adapters.reading.damaged_places import Damage
from session_adapters.reading.files import open_file, read_at
from session_adapters.reading.lines import Line, line_start, lines
from session_adapters.times import parse_seconds
from session_adapters.tree.messages import messages_of
from session_adapters.tree.nodes import TreeNode
from session_adapters.tree.paths import Tree
from session_adapters.tree.records import ENTRIES, SHAPES, SPOKEN, Shape, TreeEntry, is_speaker

__all__ = ["Shown", "Spot", "Spots", "TreeFile", "TreeShape", "TreeStore", "is_record"]

_HEADER = 64 << 10
"""Bytes in which the header of a file ends."""
_NO_NODES = frozenset({"title", "text", "thinking", "toolCall", "image"})
"""omp's title slot, and the blocks of a message."""


class Spot(NamedTuple):
    """Where a record stands."""

    file: int
    offset: int
    length: int
    nth: int = 0
    """Which record of its line: a writer that was cut off leaves several glued together (pi/FACTS.md, Traps)."""


class Spots:
    """Those of all nodes, by their index: in columns, for an object for each would be kept as long as the session."""

    def __init__(self) -> None:
        self._columns = (array("I"), array("q"), array("q"), array("I"))

    def __len__(self) -> int:
        return len(self._columns[0])

    def __getitem__(self, index: int) -> Spot:
        return Spot(*(column[index] for column in self._columns))

    def length(self, index: int) -> int:
        """How long the record of that node is."""
        return self._columns[2][index]

    def append(self, spot: Spot) -> None:
        """Take in that of the next node."""
        for column, value in zip(self._columns, spot, strict=True):
            column.append(value)

    def keep_last(self) -> None:
        """Forget all but the last."""
        for column in self._columns:
            del column[:-1]


class Shown(NamedTuple):
    """What a record shows as."""

    messages: Sequence[Message] = ()
    facts: Mapping[str, Any] = MappingProxyType({})
    """Further `ToolCall` fields of the call that it answers."""


class TreeShape:
    """The tree that records make, fed one at a time in the order of the files."""

    spoken_types: ClassVar[frozenset[str]] = SPOKEN
    """Types of records that show in the conversation."""
    needs_times: ClassVar[bool] = True
    """Whether the nodes of a session with a header have their times; the leaf of those without depends on them."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.header: Any = None
        """The record of type `session`; None in the document's layout."""
        self.led_away = False
        """A record names another one as the place to go on from that is not there."""
        self.labels: dict[str, str] = {}
        """Entry id → the user's name for it."""
        self._records = 0
        self._previous: str | None = None
        self._started: float | None = None

    def take(self, record: Any) -> int | None:
        """Take in a `Shape` or `TreeEntry`; the index of its node, None for a header and other records outside the
        tree. A record without id (version 1) hangs on the one before it."""
        number = self._records
        self._records += 1
        if record.type == "session":
            if self.header is None:
                self.header = record
                self._started = parse_seconds(record.timestamp) if record.parent_session else None
            return None
        if not self._is_node(record):
            return None
        if record.id is None:
            node_id, parent = f"v1-{number}", self._previous
        else:
            node_id, parent = record.id, record.parent_id
        self._previous = node_id
        if record.type == "label" and record.target_id:
            self.labels[record.target_id] = record.label or ""
        held = record.message is not None and bool(record.message.role)
        spoken = record.type in self.spoken_types or not record.type or held or is_speaker(record.role)
        seconds = parse_seconds(record.timestamp) if self.needs_times or self.header is None else None
        return self.tree.add(TreeNode(node_id, parent, spoken, seconds))

    def _is_node(self, record: Any) -> bool:
        """Whether a record belongs to the tree: of a damaged line, parts of a record may be left that look like
        one. Only version 1 has entries without id, only the document's layout records without type."""
        if not record.type:
            return bool(record.role) and record.id is not None
        if record.type in _NO_NODES:
            return False
        return record.id is not None or self.header is None or self.header.version in (None, 1)

    def leaf(self) -> int | None:
        """The end of the branch on which the agent goes on: the last record; in the document's layout the newest."""
        return self.tree.newest() if self.header is None else self.tree.last()

    def is_inherited(self, timestamp: Any) -> bool:
        """Whether an entry was copied from the session this one was forked from: copies keep their time, which
        is before that of the header."""
        if self._started is None:
            return False
        moment = parse_seconds(timestamp)
        return moment is not None and moment < self._started

    def keep_last(self) -> None:
        """Forget every node but the last, which is the first then."""
        nodes = self.tree.nodes
        self.tree = Tree()
        if len(nodes):
            self.tree.add(nodes[len(nodes) - 1])
        self.labels.clear()

    def show(self, entry: TreeEntry, node_id: str) -> Shown:
        """What an entry that is a node shows as."""
        return Shown(messages_of(entry, node_id, inherited=self.is_inherited(entry.timestamp)))

    def kept_from(self, record: Any) -> int:
        """Index of the first entry that a compaction keeps; -1 when it names none that is there."""
        kept = record.first_kept_entry_id
        if kept is None and record.first_kept_entry_index is not None:
            kept = f"v1-{record.first_kept_entry_index}"
        found = self.tree.find(kept)
        return -1 if found is None else found


class TreeStore(TreeShape, ABC):
    """The structure of a session that is kept up to date, and the way to what its nodes say."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__()
        self.paths = list(paths)
        self.unit = "byte"
        """What the offsets of damaged places count, for a `Problem`."""
        self.spots = Spots()
        self.shapes: dict[int, Shape] = {}
        """Index of the node → record, for compactions."""
        self.damaged = [Damage() for _ in self.paths]
        """By offset, of each path."""
        self.is_end = False
        """There is more before it that is not read."""
        self._unshown: set[int] = set()
        self._prompts = bytearray()
        """Of each node whether it is one."""

    @abstractmethod
    def read(self) -> bool:
        """Take in what stands behind the known end; whether there was anything. Raises `OSError`."""

    @abstractmethod
    def unchanged_so_far(self) -> bool:
        """Whether the store is what was read, with perhaps more behind it. Raises `OSError`."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Callable[[int], Shown]]:
        """Within it: from the index of a node to what it shows as. Raises `OSError`, and so may the function."""

    def note(self, shape: Shape, spot: Spot) -> None:
        """Take in a record that stands at `spot`."""
        index = self.take(shape)
        if index is None:
            return
        self.spots.append(spot)
        self._prompts.append(shape.speaker in ("user", "human"))
        if shape.type == "compaction":
            self.shapes[index] = shape

    def keep_last(self) -> None:
        """See `TreeShape.keep_last`."""
        super().keep_last()
        self.spots.keep_last()
        self.shapes.clear()
        self._unshown.clear()
        del self._prompts[:-1]

    def shown(self, index: int, found: Sequence[TreeEntry]) -> Shown:
        """What the node shows as, by the entries that were found where it stands."""
        spot, node_id = self.spots[index], self.tree.nodes.ids[index]
        named = [entry for entry in found if entry.id == node_id] or found[spot.nth :]
        if not named:
            if index not in self._unshown:
                self._unshown.add(index)
                self.damaged[spot.file].add(spot.offset, "the record has fields of other types than expected")
            return Shown()
        return self.show(named[0], node_id)

    def is_prompt(self, index: int) -> bool:
        """Whether the node is something the user said."""
        return bool(self._prompts[index])


class TreeFile(TreeStore):
    """The structure of a session's files, kept up to date as they grow."""

    def __init__(self, paths: Sequence[str], end: int = 0) -> None:
        """`end`: bytes at the end of each file that are read, besides its header; 0 for all."""
        super().__init__(paths)
        self._files: list[GrowingFile | None] = [None] * len(self.paths)
        self._end = end

    def read(self) -> bool:
        """Take in what stands behind the known end of each file; whether there was anything. Raises `OSError`."""
        grown = [self._read(number) for number in range(len(self.paths))]
        return any(grown)

    def _read(self, number: int) -> bool:
        with open_file(self.paths[number]) as fd:
            size = os.fstat(fd).st_size
            # omp writes its title over the beginning
            file = self._files[number] or GrowingFile(fd, self._begin(fd, size), head=0)
            start = file.end
            if size <= start:
                return False
            for line in file.new(fd, size):
                if not is_record(line):
                    file.leave(fd, line)
                    break
                if line.too_long:
                    self.damaged[number].skip(line)
                    continue
                records, lost = SHAPES.all(line.data)
                if lost:
                    self.damaged[number].add(line.offset, "the line is damaged")
                for nth, shape in enumerate(records):
                    self.note(shape, Spot(number, line.offset, len(line.data), nth))
        self._files[number] = file
        return file.end > start

    def _begin(self, fd: int, size: int) -> int:
        """Where the lines begin that are read; those before are passed over only behind a header."""
        if not 0 < self._end < size:
            return 0
        shapes = (one for line in islice(lines(fd, 0, _HEADER), 2) for one in SHAPES.all(line.data)[0])
        header = next((shape for shape in shapes if shape.type == "session"), None)
        start = line_start(fd, size - self._end)
        if header is None or start == 0:
            return 0
        self.take(header)
        self.is_end = True
        return start

    @contextmanager
    def reading(self) -> Iterator[Callable[[int], Shown]]:
        """See `TreeStore.reading`."""
        with ExitStack() as stack:
            files: dict[int, int] = {}

            def read(index: int) -> Shown:
                if not self.tree.nodes.spoken[index]:
                    return Shown()
                spot = self.spots[index]
                if spot.file not in files:
                    files[spot.file] = stack.enter_context(open_file(self.paths[spot.file]))
                found, _ = ENTRIES.all(read_at(files[spot.file], spot.offset, spot.length))
                return self.shown(index, found)

            yield read

    def unchanged_so_far(self) -> bool:
        """Whether every file is what was read, with perhaps more behind it. Raises `OSError`."""
        for path, file in zip(self.paths, self._files, strict=True):
            if file is None:
                return False
            with open_file(path) as fd:
                if not file.goes_on(fd, os.fstat(fd)):
                    return False
        return True


def is_record(line: Line) -> bool:
    """False for a last line without newline that a writer is in the middle of."""
    if line.complete or line.too_long:
        return True
    if not line.data.rstrip(b"\x00 \t\r").endswith(b"}"):
        return False
    try:
        SHAPES.one(line.data)
    except ValueError:
        return False
    return True
