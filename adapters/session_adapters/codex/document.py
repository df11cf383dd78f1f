"""Reads Codex' oldest rollouts: one JSON document per session.

TypeScript, until 2025-05: `rollout-<date>-<uuid>.json`, `{session, items}`, written anew as a whole. Format:
stores/codex FACTS.md.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from session_adapters.codex.messages import CodexBuilder
from session_adapters.model import Message
from session_adapters.reading.bounds import DOCUMENT_LIMIT
from session_adapters.reading.decoding import Decoder
from session_adapters.reading.document import WholeTranscript
from session_adapters.reading.files import read_small
from session_adapters.reading.lines import Line

__all__ = ["CodexDocumentTranscript", "document_lines", "is_document"]


class _Document(Struct):
    session: dict[str, Any]
    items: list[Any] = []


_DECODER = Decoder(_Document)


def is_document(path: str) -> bool:
    """Whether the name is one of these."""
    return path.endswith(".json")


def document_lines(path: str) -> list[Line]:
    """The header and the items, as lines of the generation after it. Raises `OSError`, `ValueError`."""
    document = _DECODER.one(read_small(path, DOCUMENT_LIMIT))
    records = (document.session, *document.items)
    return [Line(number, msgspec.json.encode(record)) for number, record in enumerate(records)]


class CodexDocumentTranscript(WholeTranscript):
    """Such a rollout."""

    def __init__(self, session_id: str, path: str) -> None:
        self.builder = CodexBuilder(session_id)
        super().__init__("codex", session_id, path)

    def read(self) -> tuple[list[Message], list[tuple[str, str]]]:
        """See `WholeTranscript.read`."""
        builder = CodexBuilder(self.session_id)
        for line in document_lines(self.path):
            builder.feed(line)
        self.builder = builder
        return builder.messages, builder.damaged.places(unit="item")
