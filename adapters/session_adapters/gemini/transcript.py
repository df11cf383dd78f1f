"""A Gemini conversation opened for reading."""

from __future__ import annotations

import os
import sys
from typing import cast

from session_adapters.gemini.builder import GeminiBuilder
from session_adapters.gemini.document import feed_document
from session_adapters.model import Message
from session_adapters.reading.bounds import DOCUMENT_LIMIT
from session_adapters.reading.document import WholeTranscript
from session_adapters.reading.files import open_file, read_small
from session_adapters.transcript import Change, JsonlTranscript

__all__ = ["GeminiDocumentTranscript", "LogTranscript"]


class LogTranscript(JsonlTranscript):
    """A log, opened from its end.

    The end can be understood alone as long as nothing in it changes what stood above (a resume, a compression, a
    rewind). Where something does, everything is read.
    """

    def __init__(self, session_id: str, path: str, *, page: int) -> None:
        super().__init__("gemini", session_id, path, GeminiBuilder, page=page)

    @property
    def builder(self) -> GeminiBuilder:
        """What the messages were made with."""
        return cast(GeminiBuilder, self._builder)

    def _load(self) -> None:
        super()._load()
        if not self.complete and self.builder.replays:
            self._page = sys.maxsize
            super()._load()

    def earlier(self) -> int:
        """See `Transcript.earlier`. Each time twice as much is read as before: what comes to stand above a message
        can fill in what is missing in it."""
        before = len(self.messages)
        while not self.complete and len(self.messages) <= before:
            self._page *= 2
            try:
                self._reload()
            except OSError:
                return 0
        return max(0, len(self.messages) - before)

    def _reload(self) -> None:
        """Read from further up to the known end, not beyond it. Raises `OSError`, and then nothing has changed."""
        known = (self._builder, self._start, self._end)
        try:
            with open_file(self.path) as fd:
                if not self._continues(fd, os.fstat(fd)):
                    raise OSError(f"the file has changed: {self.path}")
                self._run(fd, self._cut(fd, known[2]), known[2])
                if self._start and self.builder.replays:
                    self._run(fd, 0, known[2])
        except OSError:
            self._builder, self._start, self._end = known
            raise
        self._builder.take_change()
        self.messages = self._builder.messages
        self.complete = self._start == 0

    def _run(self, fd: int, start: int, stop: int) -> None:
        self._builder = self._new_builder()
        self._start = self._end = start
        self._feed(fd, stop)

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        change = super().refresh()
        if self.complete or not self.builder.replays:
            return change
        self._page = sys.maxsize
        try:
            self._load()
        except OSError:
            return change
        return Change(first=0, rewritten=True)


class GeminiDocumentTranscript(WholeTranscript):
    """A document of 0.20."""

    def __init__(self, session_id: str, path: str) -> None:
        self.builder = GeminiBuilder()
        self.size = 0
        super().__init__("gemini", session_id, path)

    def read(self) -> tuple[list[Message], list[tuple[str, str]]]:
        """See `WholeTranscript.read`."""
        data = read_small(self.path, DOCUMENT_LIMIT)
        builder = GeminiBuilder()
        feed_document(data, builder)
        self.builder, self.size = builder, len(data)
        return builder.messages, builder.damaged.places()
