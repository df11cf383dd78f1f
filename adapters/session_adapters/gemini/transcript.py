"""A Gemini document opened for reading."""

from __future__ import annotations

from session_adapters.gemini.builder import GeminiBuilder
from session_adapters.gemini.document import feed_document
from session_adapters.model import Message
from session_adapters.reading.bounds import DOCUMENT_LIMIT
from session_adapters.reading.document import WholeTranscript
from session_adapters.reading.files import read_small

__all__ = ["GeminiDocumentTranscript"]


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
