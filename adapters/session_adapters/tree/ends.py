"""What the list reads of a tree's file: all of a small one, the ends of a large."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from session_adapters.reading.ends import marked_lines, read_ends
from session_adapters.reading.files import open_file
from session_adapters.reading.lines import Line, lines
from session_adapters.tree.records import SHAPES
from session_adapters.tree.summary import TreeCounts

__all__ = ["HEAD", "REACH", "TAIL", "gather", "header_id", "named_id", "probe", "stem_id"]

HEAD = TAIL = 16 << 10
"""Bytes of a large file that a summary reads."""
REACH = 256 << 10
"""Bytes at each end beyond which the first prompt and the newest message are not looked for: an entry of settings
with the whole system prompt may stand before them, or a long result behind."""
_MARKS = (b'"session_info"', b'"title_change"')
"""Lines between the ends that name the session."""
_PROMPT = b'"user"'
"""Marks them, too, where the beginning holds no prompt of the session's own: a fork's come behind all it copied."""
_PROBE = 16 << 10
"""Bytes that tell whose file it is."""
_NAME = re.compile(r"\d{4}-\d\d-\d\dT[\d-]{8,}Z?_(.+)\.jsonl")
"""`<ISO time with dashes>_<id>.jsonl`."""


def gather(path: str, counts: TreeCounts, *, exact: bool) -> bool:
    """Feed a file, or its ends, to the counts; whether that was all of it. Raises `OSError`."""
    with open_file(path) as fd:
        size = os.fstat(fd).st_size
        if exact:
            _feed(counts, lines(fd, 0, size))
            return True

        def begun(new: Sequence[Line]) -> bool:
            _feed(counts, new)
            return bool(counts.first_prompt)

        ends = read_ends(fd, size, HEAD, TAIL, reach=REACH, begun=begun, ended=_has_message)
        marks = _MARKS if counts.has_own_prompt else (*_MARKS, _PROMPT)
        _feed(counts, marked_lines(fd, *ends.gap, marks))
        _feed(counts, ends.tail)
        return ends.whole


def _has_message(found: Iterable[Line]) -> bool:
    return any(shape.speaker for line in found if not line.too_long for shape in SHAPES.all(line.data)[0])


def _feed(counts: TreeCounts, found: Iterable[Line]) -> None:
    for line in found:
        counts.give(line)


def probe(path: str) -> TreeCounts | None:
    """The first lines of a file; None when they cannot be read."""
    counts = TreeCounts()
    try:
        with open_file(path) as fd:
            _feed(counts, lines(fd, 0, _PROBE))
            if counts.header is None and not counts.tree:  # the first line is longer
                _feed(counts, islice(lines(fd), 2))
    except OSError:
        return None
    return counts


def header_id(path: str) -> str | None:
    """The id that a file's header gives; empty for a file of records without header, None for another."""
    counts = probe(path)
    if counts is not None and counts.header is not None:
        return counts.header.id or stem_id(path)
    return "" if counts is not None and counts.is_document else None


def stem_id(path: str) -> str:
    """The id in the name of a session file, or else the name."""
    return named_id(path) or Path(path).stem


def named_id(path: str) -> str:
    """The id in the name of a session file; empty for one that is not named so."""
    named = _NAME.fullmatch(path, path.rfind("/") + 1)
    return named.group(1) if named else ""
