"""The history of a lane as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from hermes_tui.display import safe
from hermes_tui.lifecycle.lane_history.words import session_facts, sums

if TYPE_CHECKING:
    from hermes_tui.lifecycle.lane_history.model import LaneHistory

__all__ = ["history_lines"]


def history_lines(history: LaneHistory) -> Iterator[str]:
    """The answer first, then session by session, then the sums."""
    yield safe(history.answer)
    for one in history.sessions:
        yield ""
        yield safe(one.session_id) + (f"  “{safe(one.title)}”" if one.title else "")
        yield from (f"  {name:12} {safe(value)}" for name, value in session_facts(one, datetime.astimezone))
    totals = list(sums(history))
    if totals:
        yield ""
    yield from (f"{safe(name):14} {safe(value)}" for name, value in totals)
