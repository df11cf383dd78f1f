"""The line above the lanes: profile, gateway, and whether anything may be changed."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from hermes_tui.display import counted, safe
from hermes_tui.tui.widgets.cells import width_of
from hermes_tui.tui.widgets.lanes.states import gateway_words
from hermes_tui.tui.widgets.line import Part

if TYPE_CHECKING:
    from hermes_tui.lifecycle.lanes import Profile
    from hermes_tui.tui.workers.lane_watch import LaneNews

__all__ = ["title_parts"]

_LONG = 60
"""Columns from which words are written out."""


def title_parts(
    news: LaneNews, profile: Profile | None, now: datetime, width: int, *, read_only: bool
) -> tuple[list[Part], list[Part]]:
    """Left and right, in `width` columns. `profile` None: there is none."""
    left: list[Part] = [(" Lanes", "bright")]
    if profile is None:
        return [*left, (" · no Hermes home was found", "faint")], []
    right: list[Part] = []
    problems = len(profile.problems) + bool(news.trouble)
    if problems:
        right.append((f"! {counted(problems, 'problem')} ", "warning"))
    if width >= _LONG:
        right.append(("read-only " if read_only else "read-write ", "faint"))
    if len(news.board.profiles) > 1:
        left += [(" · profile " if width >= _LONG else " ", "faint"), (safe(profile.name), "")]
    room = width - sum(width_of(text) for text, _ in (*left, *right)) - 6
    words, style = gateway_words(profile, now, room)
    left += [(" · " if width >= _LONG else " ", "faint"), (f"⚕ {words}", style)]
    return left, right
