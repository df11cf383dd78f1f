"""Finds a query inside one conversation: its messages, and words to highlight."""

from __future__ import annotations

from collections.abc import Sequence

from hermes_tui.sessions.query.query import Query
from hermes_tui.sessions.query.tree import TextUnit
from hermes_tui.sessions.scan import fields_of
from hermes_tui.sessions.words import Span
from session_adapters.model import Message, SessionSummary
from session_adapters.reading.searchable import texts_of

__all__ = ["Within", "place_of"]

_FIRST = 64
"""Messages that are looked at together at first; each time four times as many."""


class Within:
    """A query and one session. Any thread may ask."""

    def __init__(self, query: Query, summary: SessionSummary) -> None:
        self.query = query
        self._session_id = summary.session_id
        self._search = query.for_session(summary)
        self.has_places = self._search.decided is None and not self._search.forbids
        """There is something to be looked for in texts."""

    def spans(self, text: str) -> list[Span]:
        """The words that were looked for; merged, in order."""
        return self._search.spans(TextUnit(text)) if self.has_places else []

    def next(self, messages: Sequence[Message], at: int, step: int) -> int | None:
        """The nearest message with a match below (`step` 1) or above (-1) index `at`; a result that its call shows
        counts as the call."""
        if not self.has_places:
            return None
        size, begin = _FIRST, at + step
        while 0 <= begin < len(messages):
            first, stop = (
                (begin, min(len(messages), begin + size)) if step > 0 else (max(0, begin - size + 1), begin + 1)
            )
            found = self._matching(messages, first, stop)
            for index in found if step > 0 else reversed(found):
                place = place_of(messages, index)
                if (place - at) * step > 0:
                    return place
            begin, size = (stop, size * 4) if step > 0 else (first - 1, size * 4)
        return None

    def places(self, messages: Sequence[Message]) -> list[int]:
        """The messages with a match, as `next` comes to them."""
        if not self.has_places:
            return []
        return sorted({place_of(messages, index) for index in self._matching(messages, 0, len(messages))})

    def _matching(self, messages: Sequence[Message], first: int, stop: int) -> list[int]:
        found: list[int] = []
        for index, text in enumerate(texts_of(self._session_id, messages, first, stop), first):
            if text.visibility == "rewound":
                continue
            if any(self._search.matches(TextUnit(said, text.role, text.names)) for _, said in fields_of(text)):
                found.append(index)
        return found


def place_of(messages: Sequence[Message], index: int) -> int:
    """Which message shows the one with this index: for a result that its call shows, that of the call."""
    result = messages[index].tool_result
    if result is None or not result.linked:
        return index
    for at in range(index - 1, -1, -1):
        if any(call.tool_call_id == result.tool_call_id for call in messages[at].tool_calls):
            return at
    return index
