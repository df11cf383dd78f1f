"""The headings of the session list: under which a session's day stands."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from hermes_tui.clock import Clock
from session_adapters.model import EPOCH

if TYPE_CHECKING:
    from hermes_tui.tui.widgets.session_list.conversation import Conversation

__all__ = ["Headings", "day_heading"]


def day_heading(day: date, today: date) -> str:
    """Under which heading a day stands: today, yesterday, this week, last week, else its month."""
    return _recent(day, today) or f"{day:%B} {day.year}"


def _recent(day: date, today: date) -> str:
    """Empty for a day that stands under its month."""
    ago = (today - day).days
    if ago <= 0:
        return "today"
    if ago == 1:
        return "yesterday"
    monday = today - timedelta(days=today.weekday())
    if day >= monday:
        return "this week"
    if day >= monday - timedelta(days=7):
        return "last week"
    return ""


class Headings:
    """Headings for moments that come newest first: worked out once per day or month rather than per row."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._today = clock.local(clock.now()).date()
        self._label = ""
        self._since = datetime.max.replace(tzinfo=UTC)
        """Up to which moment `_label` stands, at least."""

    def of(self, moment: datetime) -> str:
        """That of a moment no newer than the one before."""
        if moment >= self._since:
            return self._label
        if moment <= EPOCH:
            self._label, self._since = "no date", datetime.min.replace(tzinfo=UTC)
            return self._label
        local = self._clock.local(moment)
        day = local.date()
        self._label = day_heading(day, self._today)
        # Midnight of the reader's day; of a month that of its second day, for clocks may be changed in between.
        is_month = day.day > 2 and not _recent(day, self._today)
        self._since = local.replace(day=2 if is_month else day.day, hour=0, minute=0, second=0, microsecond=0)
        return self._label

    def under(self, conversations: Sequence[Conversation]) -> Iterator[tuple[str, Sequence[Conversation]]]:
        """Headings, each with what stands under it, of conversations that come newest first; one may come again.
        Where the next begins is looked for in halves: of thousands hardly any is asked for its day."""
        at = 0
        while at < len(conversations):
            label = self.of(conversations[at].activity)
            end = bisect_left(conversations, True, at + 1, key=lambda one: one.activity < self._since)
            yield label, conversations[at:end]
            at = end
