"""The line above the lanes: profile, gateway, and whether anything may be changed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from hermes_tui.cells import width_of
from hermes_tui.display import counted, safe
from hermes_tui.tui.widgets.lanes.states import gateway_words
from hermes_tui.tui.widgets.line import Part

if TYPE_CHECKING:
    from hermes_tui.lifecycle.lanes import Profile
    from hermes_tui.tui.workers.lane_watch import LaneNews

__all__ = ["WIDE", "title_parts"]

_LONG = 60
"""Columns from which words are written out."""
WIDE = 120
"""Columns from which what waits, and the order, is told in words."""


def title_parts(
    news: LaneNews, profile: Profile | None, now: datetime, width: int, *, read_only: bool, arrangement: str = ""
) -> tuple[list[Part], list[Part]]:
    """Left and right, in `width` columns. `profile` None: there is none. `arrangement`: how many lanes are left by a
    filter, and in which order they stand, where that is not the usual."""
    left: list[Part] = [(" Lanes", "bright")]
    if profile is None:
        return [*left, (" · no Hermes home was found", "faint")], []
    right: list[Part] = []
    problems = len(profile.problems) + bool(news.trouble)
    if problems:
        right.append((f"! {counted(problems, 'problem')} ", "warning"))
    waiting = sum(
        (lane.profile, lane.key) in news.notices and news.notices[lane.profile, lane.key].outcome.state == "pending"
        for lane in news.board.lanes
        if lane.profile == profile.name
    )
    queued = sum(lane.queued or 0 for lane in news.board.lanes if lane.profile == profile.name)
    for number, what in ((waiting, "change"), (queued, "message")):
        if number:
            words = f"{counted(number, what)} {'waits' if number == 1 else 'wait'}" if width >= WIDE else str(number)
            right.append((f"◷ {words} ", "accent"))
    if arrangement and width >= _LONG:
        right.append((f"{safe(arrangement)} ", "bright"))
    if width >= _LONG:
        right.append(("read-only " if read_only else "read-write ", "faint"))
    if len(news.board.profiles) > 1:
        left += [(" · profile " if width >= _LONG else " ", "faint"), (safe(profile.name), "")]
    # 6: ` · ⚕ ` before it, and a blank behind it.
    room = width - sum(width_of(text) for text, _ in (*left, *right)) - 6
    words, style = gateway_words(profile, now, room)
    left += [(" · " if width >= _LONG else " ", "faint"), (f"⚕ {words}", style)]
    return left, right
