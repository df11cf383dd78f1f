"""Stores of one session's events in a file that is read as a whole."""

from __future__ import annotations

import os
from abc import abstractmethod

import msgspec

from session_adapters.openclaw.database.event_stores import (
    ARCHIVE_LIMIT,
    ClawEvent,
    ClawStore,
    Look,
    marks_of_lines,
    numbered_lines,
    split_lines,
)
from session_adapters.openclaw.records import DOCUMENT, ClawDocument
from session_adapters.openclaw.zstd import ZstdError, decompress
from session_adapters.reading.bounds import DOCUMENT_LIMIT
from session_adapters.reading.files import file_stamp, read_small

__all__ = ["ClawDocumentStore", "PackedShelf"]


class _FileShelf(ClawStore):
    """A file that is read as a whole."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._read: tuple[tuple[int, ...], list[bytes]] | None = None

    @abstractmethod
    def _load(self) -> list[bytes]:
        """The events."""

    def stamp(self) -> tuple[int, ...]:
        """See `ClawStore.stamp`."""
        return file_stamp(os.stat(self.path))  # noqa: PTH116 - a path as it was listed

    def _events(self) -> list[bytes]:
        stamp = self.stamp()
        if self._read is None or self._read[0] != stamp:
            self._read = stamp, self._load()
        return self._read[1]

    def look(self) -> Look:
        """See `ClawStore.look`."""
        return Look((), marks_of_lines(self._events()))

    def rows(self, start: int, count: int) -> list[ClawEvent]:
        """See `ClawStore.rows`."""
        return numbered_lines(self._events(), start, count)


class PackedShelf(_FileShelf):
    """A JSONL file packed with Zstandard."""

    place = "line"

    def _load(self) -> list[bytes]:
        try:
            packed = read_small(self.path, ARCHIVE_LIMIT)
            return split_lines(decompress(packed, ARCHIVE_LIMIT), len(packed))
        except ZstdError as error:
            raise OSError(str(error)) from error


class ClawDocumentStore(_FileShelf):
    """A session of the document's layout: one JSON file (spec 004 §4.2.9)."""

    place = "message"

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.document = ClawDocument()

    def _load(self) -> list[bytes]:
        try:
            self.document = DOCUMENT.one(read_small(self.path, DOCUMENT_LIMIT))
        except ValueError as error:
            raise OSError("it is not valid JSON of the expected kind") from error
        events: list[bytes] = []
        # The messages become a chain of records without type, the way Pi's document has them.
        for number, message in enumerate(self.document.messages or []):
            if not isinstance(message, dict):
                events.append(b"?")
                continue
            record = {**message, "id": f"message-{number}", "parentId": f"message-{number - 1}" if number else None}
            usage, cost = message.get("usage"), message.get("cost")
            if isinstance(cost, dict) and isinstance(cost.get("usd"), int | float):  # it stands beside the tokens
                record["usage"] = {**(usage if isinstance(usage, dict) else {}), "cost": cost["usd"]}
            record.pop("type", None)
            events.append(msgspec.json.encode(record))
        return events
