"""What can be searched in a Codex rollout, read faster than the whole conversation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain

from msgspec.structs import replace

from session_adapters.base import Report, Source
from session_adapters.batches import Batch, BatchDecoder
from session_adapters.codex.document import is_document
from session_adapters.codex.messages import CodexBuilder
from session_adapters.codex.records import LINE, Payload
from session_adapters.codex.records import Line as Record
from session_adapters.codex.rollout import Head, identified, identify
from session_adapters.files import lines, open_file
from session_adapters.following import LinesReader
from session_adapters.model import Problem, ToolCall
from session_adapters.searchable import Text, prose_of

__all__ = ["prose", "text_reader", "texts"]

_REPORTED = 10
"""Damaged lines of one file that are reported one by one."""


_RUN = 200
"""Messages after which those that are settled are handed over."""
_BATCHES = BatchDecoder(Record, LINE)
_CALL = (ToolCall(tool_call_id="", tool_name=""),)


def text_reader(source: Source) -> LinesReader | None:
    """A reader of one rollout; None for one that builds on another or does not yet say whether it does, and for what
    is no file of lines. Raises `OSError`."""
    if is_document(source.path):
        return None
    with open_file(source.path) as fd:
        head = identify(lines(fd), source.path)
    if not _stands_alone(head):
        return None
    builder = CodexBuilder(head.session_id)
    return LinesReader(source.path, head.session_id, builder, builder.settled)


def _stands_alone(head: Head) -> bool:
    return bool(head.meta.id) and not head.copied and head.meta.history_base is None


def texts(reader: LinesReader, source: Source, report: Report) -> Iterator[Text]:
    """See `Adapter.texts`."""
    try:
        for _, text in reader.read():
            yield text
    except FileNotFoundError:
        return
    except OSError as error:
        report(_unreadable(source, error))
    for offset, reason in reader.builder.damaged[:_REPORTED]:
        place = f"byte {offset}"
        report(Problem(agent="codex", path=source.path, reason=reason, place=place, session_id=source.session_id))


def _unreadable(source: Source, error: OSError) -> Problem:
    reason = f"cannot be read: {error.strerror or error}"
    return Problem(agent="codex", path=source.path, reason=reason, session_id=source.session_id)


# What was said -----------------------------------------------------------------------------------------------


class _ProseBuilder(CodexBuilder):
    """Makes the same messages of a file read from its beginning, without what the tools got and gave."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner)
        self.from_start = True

    def take(self, batch: Batch[Record]) -> None:
        """The next records."""
        for index, record in enumerate(batch.records):
            offset, number = batch.place(index)
            self.at = f"{offset}.{number}" if number else str(offset)
            self._take(record)

    def _call(self, item: Payload, kind: str, when: datetime | None) -> None:
        index = self._reply(item.id, when)
        message = self.messages[index]
        self.change(index, replace(message, tool_calls=_CALL, timestamp=when or message.timestamp))

    def _output(self, item: Payload, when: datetime | None) -> None:
        self._say("tool", item_id=item.id, when=when)


def prose(source: Source, report: Report, session_id: str | None) -> Iterator[Text] | None:
    """What was said in a rollout; None as in `text_reader`, nothing if it is not that of `session_id`. Raises
    `OSError` where it cannot be opened."""
    if is_document(source.path):
        return None
    batches = _batches(source, report)
    looked_at: list[Batch[Record]] = []
    head = identified(_records(batches, looked_at), source.path)
    if not _stands_alone(head):
        return None
    if session_id not in (None, head.session_id):
        return iter(())
    return _prose(head.session_id, chain(looked_at, batches))


def _batches(source: Source, report: Report) -> Iterator[Batch[Record]]:
    with open_file(source.path) as fd:
        try:
            yield from _BATCHES.read(fd, os.fstat(fd).st_size)
        except OSError as error:
            report(_unreadable(source, error))


def _records(batches: Iterable[Batch[Record]], taken: list[Batch[Record]]) -> Iterator[tuple[int, Record]]:
    """Records and the offsets of their lines; each batch that is begun is `taken`."""
    for batch in batches:
        taken.append(batch)
        for index, record in enumerate(batch.records):
            yield batch.place(index)[0], record


def _prose(session_id: str, batches: Iterable[Batch[Record]]) -> Iterator[Text]:
    builder = _ProseBuilder(session_id)
    for batch in batches:
        builder.take(batch)
        if len(builder.messages) >= _RUN and (settled := builder.settled()):
            yield from prose_of(session_id, builder.messages[:settled])
            builder.drop(set(range(settled)))
    yield from prose_of(session_id, builder.messages)
