"""The files of one tree-shaped session, gone through for their structure: where each record stands and what it
hangs on, no text."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from session_adapters.files import Line, lines, open_file, read_at
from session_adapters.pi_records import SHAPES, SPOKEN, Shape
from session_adapters.times import parse_time
from session_adapters.tree import Node, Tree

__all__ = ["Spot", "TreeFile", "TreeShape", "is_record"]

_NO_NODES = frozenset({"title", "text", "thinking", "toolCall", "image"})
"""omp's title slot, and the blocks of a message."""
_CHECK = 64
"""Bytes before the known end that must be unchanged for a file to count as appended to."""


class Spot(NamedTuple):
    """Where a record stands."""

    file: int
    offset: int
    length: int
    nth: int = 0
    """Which record of its line: a writer that was cut off leaves several glued together (pi/FACTS.md, Traps)."""


class _Known(NamedTuple):
    """How far a file was read."""

    inode: tuple[int, int]
    end: int
    check: bytes
    unterminated: bool


class TreeShape:
    """The tree that records make, fed one at a time in the order of the files."""

    def __init__(self) -> None:
        self.tree = Tree()
        self.header: Any = None
        """The record of type `session`; None in the document's layout."""
        self.labels: dict[str, str] = {}
        """Entry id → the user's name for it."""
        self._records = 0
        self._previous: str | None = None
        self._started: float | None = None

    def take(self, record: Any) -> int | None:
        """Take in a `Shape` or `Entry`; the index of its node, None for a header and other records outside the
        tree. A record without id (version 1) hangs on the one before it."""
        number = self._records
        self._records += 1
        if record.type == "session":
            if self.header is None:
                self.header = record
                self._started = _seconds(record.timestamp) if record.parent_session else None
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
        spoken = record.type in SPOKEN or not record.type
        return self.tree.add(Node(node_id, parent, spoken, _seconds(record.timestamp)))

    def _is_node(self, record: Any) -> bool:
        """Whether a record belongs to the tree: of a damaged line, parts of a record may be left that look like
        one. Only version 1 has entries without id, only the document's layout records without type."""
        if not record.type:
            return self.header is None and bool(record.role) and record.id is not None
        if record.type in _NO_NODES:
            return False
        return record.id is not None or self.header is None or self.header.version in (None, 1)

    def leaf(self) -> int | None:
        """The end of the branch on which the agent goes on: the last record; in the document's layout the newest."""
        return self.tree.newest() if self.header is None else self.tree.last()

    def is_inherited(self, timestamp: Any) -> bool:
        """Whether an entry was copied from the session this one was forked from: copies keep their time, which
        is before that of the header."""
        moment = _seconds(timestamp)
        return self._started is not None and moment is not None and moment < self._started

    def kept_from(self, record: Any) -> int:
        """Index of the first entry that a compaction keeps; -1 when it names none that is there."""
        kept = record.first_kept_entry_id
        if kept is None and record.first_kept_entry_index is not None:
            kept = f"v1-{record.first_kept_entry_index}"
        found = self.tree.find(kept)
        return -1 if found is None else found


class TreeFile(TreeShape):
    """The structure of a session's files, kept up to date as they grow."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__()
        self.paths = list(paths)
        self.spots: list[Spot] = []
        """By index of the node."""
        self.shapes: dict[int, Shape] = {}
        """Index of the node → record, for compactions."""
        self.damaged: dict[tuple[str, int], str] = {}
        """(path, offset of the line) → reason"""
        self._prompts: set[int] = set()
        self._known: list[_Known | None] = [None] * len(self.paths)

    def read(self) -> bool:
        """Take in what stands behind the known end of each file; whether there was anything. Raises `OSError`."""
        grown = [self._read(number) for number in range(len(self.paths))]
        return any(grown)

    def _read(self, number: int) -> bool:
        known = self._known[number]
        with open_file(self.paths[number]) as fd:
            status = os.fstat(fd)
            start = known.end if known else 0
            if known and status.st_size <= start:
                return False
            end, unterminated = status.st_size, False
            for line in lines(fd, start, status.st_size):
                if is_record(line):
                    self._feed(number, line)
                    unterminated = not line.complete
                else:
                    end = line.offset
            check = read_at(fd, max(0, end - _CHECK), min(_CHECK, end))
        self._known[number] = _Known((status.st_dev, status.st_ino), end, check, unterminated)
        return end > start

    def _feed(self, number: int, line: Line) -> None:
        if line.too_long:
            self.damaged[self.paths[number], line.offset] = "the line is too long to be read"
            return
        records, lost = SHAPES.all(line.data)
        if lost:
            self.damaged[self.paths[number], line.offset] = "the line is damaged"
        for nth, shape in enumerate(records):
            index = self.take(shape)
            if index is None:
                continue
            self.spots.append(Spot(number, line.offset, len(line.data), nth))
            if shape.speaker in ("user", "human"):
                self._prompts.add(index)
            if shape.type == "compaction":
                self.shapes[index] = shape

    def damaged_at(self, spot: Spot, reason: str) -> None:
        """Note what could not be read when the text was wanted."""
        self.damaged[self.paths[spot.file], spot.offset] = reason

    def is_prompt(self, index: int) -> bool:
        """Whether the node is something the user said."""
        return index in self._prompts

    def unchanged_so_far(self) -> bool:
        """Whether every file is what was read, with perhaps more behind it. Raises `OSError`."""
        return all(self._continues(number) for number in range(len(self.paths)))

    def _continues(self, number: int) -> bool:
        known = self._known[number]
        if known is None:
            return False
        with open_file(self.paths[number]) as fd:
            status = os.fstat(fd)
            if (status.st_dev, status.st_ino) != known.inode or status.st_size < known.end:
                return False
            if read_at(fd, known.end - len(known.check), len(known.check)) != known.check:
                return False
            # A last line that was taken without its newline must now get one.
            return not (known.unterminated and status.st_size > known.end and read_at(fd, known.end, 1) != b"\n")


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


def _seconds(value: Any) -> float | None:
    moment = parse_time(value)
    return None if moment is None else moment.timestamp()
