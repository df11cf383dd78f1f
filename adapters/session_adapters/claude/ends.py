"""A Claude Code transcript summed up in a glance, by its beginning and its end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from session_adapters.claude.records import BRIEF
from session_adapters.claude.summary import ClaudeSurvey
from session_adapters.reading.ends import marked_lines, read_ends
from session_adapters.reading.files import Line, is_whole, lines

__all__ = ["REACH", "Part", "ends", "feed_all"]

REACH = 1 << 20
"""Bytes at each end beyond which an unusual file is not searched for its first prompt or newest message."""

_MARKS = (b'-title"',)
"""Lines between them that name the session: custom-title, ai-title."""

Part = Literal["whole", "ends", "head"]
"""What was read: `head` means that the newest message is not among it."""


def ends(fd: int, size: int, survey: ClaudeSurvey, *, head: int, tail: int, reach: int = REACH) -> Part:
    """Feed the beginning and the end of a file to `survey`; which part of it that was.

    Reads on from the beginning until there is a prompt, a directory and, behind all that was copied, a reply of the
    session's own, and back from the end until there is a message. What was copied is read however long it is, since
    it tells the parent; of others at most `reach` bytes are read at either end.
    """

    def begun(new: Iterable[Line]) -> bool:
        _feed(new, survey)
        return survey.introduced

    def ended(new: Iterable[Line]) -> bool:
        return any(_is_message(line) for line in new)

    found = read_ends(fd, size, head, tail, reach=reach, begun=begun, ended=ended)
    position, stop = found.gap
    if survey.is_whole or (survey.copied and not survey.introduced):
        for line in lines(fd, position, stop):
            if survey.introduced and not survey.is_whole:
                break
            survey.give(line)
            position = line.offset + len(line.data) + 1
    _feed(marked_lines(fd, position, stop, _MARKS), survey)
    _feed(found.tail, survey)
    return "whole" if position >= stop else "ends" if found.ended else "head"


def feed_all(fd: int, start: int, stop: int | None, survey: ClaudeSurvey) -> int:
    """Feed every line from `start`; where reading stopped. A torn last line waits to be finished."""
    return _feed(lines(fd, start, stop), survey, start)


def _feed(found: Iterable[Line], survey: ClaudeSurvey, start: int = 0) -> int:
    end = start
    for line in found:
        if not line.complete and (line.too_long or not is_whole(line.data)):
            break
        survey.give(line)
        end = line.offset + len(line.data)
    return end


def _is_message(line: Line) -> bool:
    if line.too_long or b'"timestamp"' not in line.data:
        return False
    found = BRIEF.all(line.data)[0]
    return any(record.timestamp is not None and record.kind in ("user", "assistant") for record in found)
