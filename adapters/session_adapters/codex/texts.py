"""Search texts of a Codex rollout, without building the conversation."""

from __future__ import annotations

from session_adapters.base import Source
from session_adapters.codex.document import is_document
from session_adapters.codex.messages import CodexBuilder
from session_adapters.codex.rollout import identify
from session_adapters.reading.files import lines, open_file
from session_adapters.reading.follower import LinesReader

__all__ = ["text_reader"]


def text_reader(source: Source) -> LinesReader | None:
    """A reader of one rollout; None for one that builds on another or does not yet say whether it does, and for what
    is no file of lines. Raises `OSError`."""
    if is_document(source.path):
        return None
    with open_file(source.path) as fd:
        head = identify(lines(fd), source.path)
    if not head.meta.id or head.copied or head.meta.history_base is not None:
        return None
    return LinesReader(source.path, head.session_id, CodexBuilder(head.session_id))
