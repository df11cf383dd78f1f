"""What can be searched in a Codex rollout, read faster than the whole conversation."""

from __future__ import annotations

from collections.abc import Iterator

from session_adapters.base import Report, Source
from session_adapters.codex.document import is_document
from session_adapters.codex.messages import CodexBuilder
from session_adapters.codex.rollout import RolloutHead, identify
from session_adapters.model import Problem
from session_adapters.reading.damage import REPORTED
from session_adapters.reading.files import lines, open_file
from session_adapters.reading.follower import LinesReader
from session_adapters.reading.searchable import Text

__all__ = ["text_reader", "texts"]


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
        reason = f"cannot be read: {error.strerror or error}"
        report(Problem(agent="codex", path=source.path, reason=reason, session_id=source.session_id))
    damaged = reader.builder.damaged
    for problem in damaged.problems("codex", source.path, source.session_id, limit=REPORTED):
        report(problem)
