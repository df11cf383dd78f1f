"""What the session list shows in the place of all conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hermes_tui.tui.widgets.session_list.conversation import ListRow

__all__ = ["ListPosition", "ShownAnswer"]


class ShownAnswer(NamedTuple):
    """What a search has found, to be shown in the place of all conversations."""

    rows: Sequence[ListRow]
    find: Callable[[str], Sequence[tuple[int, int]]]
    """The characters of a title that are to be lit."""


class ListPosition(NamedTuple):
    """The place before a filter, to come back to."""

    key: str
    row: int
    scroll: float
    unfolded: frozenset[str]
