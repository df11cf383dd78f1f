"""What can be searched in a Codex rollout, read faster than the whole conversation."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain

from session_adapters.base import Report, Source
from session_adapters.codex.document import is_document
from session_adapters.codex.messages import CodexBuilder
from session_adapters.codex.rollout import RolloutHead, identify
from session_adapters.codex.speech import Speech, SpokenLine
from session_adapters.model import Problem
from session_adapters.reading.batches import Batch, BatchDecoder
from session_adapters.reading.damage import REPORTED
from session_adapters.reading.files import Decoder, Line, lines, open_file
from session_adapters.reading.follower import LinesReader
from session_adapters.reading.searchable import Text

__all__ = ["prose", "text_reader", "texts"]

_BATCHES = BatchDecoder(SpokenLine, Decoder(SpokenLine))


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


def _stands_alone(head: RolloutHead) -> bool:
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
    damaged = reader.builder.damaged
    for problem in damaged.problems("codex", source.path, source.session_id, limit=REPORTED):
        report(problem)


def _unreadable(source: Source, error: OSError) -> Problem:
    reason = f"cannot be read: {error.strerror or error}"
    return Problem(agent="codex", path=source.path, reason=reason, session_id=source.session_id)


# What was said -----------------------------------------------------------------------------------------------


def prose(source: Source, report: Report, session_id: str | None) -> Iterator[Text] | None:
    """What was said in a rollout; None as in `text_reader`, nothing if it is not that of `session_id`. Raises
    `OSError` where it cannot be opened."""
    if is_document(source.path):
        return None
    batches = _batches(source, report)
    looked_at: list[Batch[SpokenLine]] = []
    head = identify(_first_lines(batches, looked_at), source.path)
    if not _stands_alone(head):
        return None
    if session_id not in (None, head.session_id):
        return iter(())
    return _prose(Speech(head.session_id), chain(looked_at, batches))


def _batches(source: Source, report: Report) -> Iterator[Batch[SpokenLine]]:
    with open_file(source.path) as fd:
        try:
            yield from _BATCHES.read(fd, os.fstat(fd).st_size)
        except OSError as error:
            report(_unreadable(source, error))


def _first_lines(batches: Iterable[Batch[SpokenLine]], taken: list[Batch[SpokenLine]]) -> Iterator[Line]:
    """The lines of a rollout; each batch that is begun is `taken`."""
    for batch in batches:
        taken.append(batch)
        for offset, data in batch.lines():
            yield Line(offset, data)


def _prose(speech: Speech, batches: Iterable[Batch[SpokenLine]]) -> Iterator[Text]:
    for batch in batches:
        yield from speech.take(batch)
    yield from speech.rest()
