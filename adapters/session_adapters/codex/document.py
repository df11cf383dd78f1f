"""Codex' oldest rollouts (TypeScript, until 2025-05): `rollout-<date>-<uuid>.json`, one JSON document
`{session, items}` that is written anew as a whole (stores/codex FACTS.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from session_adapters.base import SessionMissing, SessionUnreadable
from session_adapters.codex.messages import CodexBuilder
from session_adapters.model import Problem
from session_adapters.reading.bounds import DOCUMENT_LIMIT
from session_adapters.reading.files import Decoder, Line, file_stamp, read_small
from session_adapters.transcript import Change, Transcript

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


class CodexDocumentTranscript(Transcript):
    """Such a rollout; `refresh` reads it again when it changed."""

    def __init__(self, session_id: str, path: str) -> None:
        super().__init__("codex", session_id, path)
        self.complete = True
        self.builder = CodexBuilder(session_id)
        self._stamp: tuple[int, ...] = ()
        try:
            self._load()
        except FileNotFoundError as error:
            raise SessionMissing(f"codex session {session_id}: {path} is not there any more") from error
        except (OSError, ValueError) as error:
            raise SessionUnreadable(f"cannot read {path}: {error}") from error

    def _load(self) -> None:
        stamp = file_stamp(Path(self.path).stat())
        builder = CodexBuilder(self.session_id)
        for line in document_lines(self.path):
            builder.feed(line)
        self._stamp, self.builder, self.messages = stamp, builder, builder.messages
        self.problems = builder.damaged.problems("codex", self.path, self.session_id, unit="item")

    def earlier(self) -> int:
        """See `Transcript.earlier`."""
        return 0

    def refresh(self) -> Change:
        """See `Transcript.refresh`."""
        try:
            if file_stamp(Path(self.path).stat()) == self._stamp:
                return Change()
            self._load()
        except FileNotFoundError:
            return Change(gone=True)
        except (OSError, ValueError) as error:
            reason = f"cannot be read now: {error}"
            self.problems = [Problem(agent="codex", path=self.path, reason=reason, session_id=self.session_id)]
            return Change()
        return Change(first=0, rewritten=True)
