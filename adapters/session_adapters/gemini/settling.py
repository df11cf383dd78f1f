"""From where on a log only adds to what stands, or changes its last turns."""

from __future__ import annotations

from collections.abc import Iterable

from session_adapters.gemini.records import BRIEF, GeminiRecord, record_place
from session_adapters.gemini.turns import turn_of
from session_adapters.growing.hashes import Hashes
from session_adapters.reading.lines import Line

__all__ = ["settles_from"]


class _Ahead:
    """The turns that were met."""

    def __init__(self) -> None:
        self.last: dict[int, set[int]] = {}
        """The last ones since something was taken back, and the calls of each."""
        self.asked: set[int] = set()
        """Those of these calls that have no result."""
        self.before = Hashes()
        """All others, and those of their calls that had none."""

    def met(self, record: GeminiRecord, place: str, kept: int) -> bool:
        """Take in a message; whether it speaks of a turn that is not among the last, `kept` ones."""
        turn = turn_of(record, place, glance=True)  # only ids are looked at
        name, results = hash(turn.id), [hash(result.tool_call_id) for result in turn.results]
        self.asked.difference_update(results)
        calls = {hash(call.tool_call_id) for call in turn.calls}
        if name in self.before:
            for call in calls:
                self.before.add(call)
            return True
        self.asked |= calls
        self.last.setdefault(name, set()).update(calls)
        if len(self.last) > kept:
            self._leave(next(iter(self.last)))  # the one that was met first
        return any(one in self.before for one in results)

    def taken_back(self, listed: Iterable[GeminiRecord], place: str) -> None:
        """The order of turns may be another now: to speak of any that was met is to speak of one long before."""
        for record in listed:
            self.met(record, place, 0)
        while self.last:
            self._leave(next(iter(self.last)))

    def _leave(self, name: int) -> None:
        self.before.add(name)
        for call in self.asked & self.last.pop(name):
            self.before.add(call)
            self.asked.remove(call)


def settles_from(found: Iterable[Line], kept: int) -> int:
    """The byte behind the last record that takes something back, or speaks of a turn that is not among the last,
    `kept` ones or brings the result of a call there."""
    ahead, settling = _Ahead(), 0
    for line in found:
        for number, record in enumerate(BRIEF.all(line.data)[0]):
            place = record_place(line.offset, number)
            if record.is_message:
                changes = ahead.met(record, place, kept)
            else:
                listed = record.messages if record.update is None else record.update.messages
                changes = record.rewind_to is not None or listed is not None
                if changes:
                    ahead.taken_back(listed or (), place)
            if changes:
                settling = line.offset + 1
    return settling
