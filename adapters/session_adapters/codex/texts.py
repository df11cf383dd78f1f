"""What can be searched in a Codex rollout, read faster than the whole conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Raw

from session_adapters.base import Report, Source
from session_adapters.codex.document import is_document
from session_adapters.codex.messages import CodexBuilder
from session_adapters.codex.records import LINE, Payload
from session_adapters.codex.records import Line as Record
from session_adapters.codex.rollout import identify
from session_adapters.files import RecordDecoder, lines, open_file
from session_adapters.following import LinesReader
from session_adapters.model import Problem
from session_adapters.searchable import Text

__all__ = ["text_reader", "texts"]

_REPORTED = 10
"""Damaged lines of one file that are reported one by one."""


class _QuickPayload(Payload):
    """A payload of which the tools' part is passed over."""

    arguments: Raw = Raw()
    input: Raw = Raw()
    output: Raw = Raw()


class _QuickLine(Record):
    payload: _QuickPayload | None = None
    arguments: Raw = Raw()
    input: Raw = Raw()
    output: Raw = Raw()


class _ProseBuilder(CodexBuilder):
    """Makes the same messages, without what the tools got and gave."""

    decoder: ClassVar[RecordDecoder[Record]] = LINE.quick(_QuickLine)


def text_reader(source: Source, *, prose_only: bool = False) -> LinesReader | None:
    """A reader of one rollout; None for one that builds on another or does not yet
    say whether it does, and for what is no file of lines. Raises `OSError`."""
    if is_document(source.path):
        return None
    with open_file(source.path) as fd:
        head = identify(lines(fd), source.path)
    if not head.meta.id or head.copied or head.meta.history_base is not None:
        return None
    builder = _ProseBuilder(head.session_id) if prose_only else CodexBuilder(head.session_id)
    return LinesReader(source.path, head.session_id, builder, builder.settled)


def texts(reader: LinesReader, source: Source, report: Report, *, prose_only: bool = False) -> Iterator[Text]:
    """See `Adapter.texts`."""
    try:
        if prose_only:
            yield from reader.prose()
            return
        for _, text in reader.read():
            yield text
    except FileNotFoundError:
        return
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        report(Problem(agent="codex", path=source.path, reason=reason, session_id=source.session_id))
    for offset, reason in reader.builder.damaged[:_REPORTED]:
        place = f"byte {offset}"
        report(Problem(agent="codex", path=source.path, reason=reason, place=place, session_id=source.session_id))
