"""Which lanes are shown, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

if TYPE_CHECKING:
    from hermes_tui.lifecycle.lanes import Lane
    from hermes_tui.tui.widgets.lanes.columns import LaneRow

__all__ = ["LANE_FIELDS", "LaneField", "LaneOrder", "arranged", "fits"]

LaneField = Literal["last", "tokens", "chat", "state", "resets"]
LANE_FIELDS: tuple[LaneField, ...] = get_args(LaneField)

_WORDS: Mapping[LaneField, tuple[str, str]] = {
    "last": ("latest active first", "longest silent first"),
    "tokens": ("most tokens first", "fewest tokens first"),
    "chat": ("chats A to Z", "chats Z to A"),
    "state": ("busy and waiting first", "busy and waiting last"),
    "resets": ("next reset first", "next reset last"),
}
"""What the table in that order is, and in the opposite one."""
_STATES = ("suspended", "resume pending", "unreadable", "unknown", "expired", "ended", "compressed", "no session")
"""After the busy ones, what is most telling; live lanes are the last."""
_FALLING = ("last", "tokens")


class LaneOrder(NamedTuple):
    """How the table is sorted."""

    field: LaneField = "last"
    reverse: bool = False

    @property
    def words(self) -> str:
        """`most tokens first`."""
        return _WORDS[self.field][self.reverse]

    def by(self, field: LaneField) -> LaneOrder:
        """Sorted by `field`; by the same once more, in the opposite direction."""
        return LaneOrder(field, not self.reverse if field == self.field else False)


def arranged(lanes: Iterable[Lane], order: LaneOrder, is_busy: Callable[[Lane], bool]) -> list[Lane]:
    """In that order; equals the latest active first."""
    never = datetime.min.replace(tzinfo=UTC)
    found = sorted(lanes, key=lambda lane: lane.last_active or never, reverse=True)
    keys: Mapping[LaneField, Callable[[Lane], Any]] = {
        "last": lambda lane: lane.last_active or never,
        "tokens": lambda lane: lane.context_tokens or lane.input_tokens + lane.output_tokens,
        "chat": lambda lane: (lane.platform, lane.chat.lower()),
        "state": lambda lane: (
            not is_busy(lane),
            _STATES.index(lane.state) if lane.state in _STATES else len(_STATES),
        ),
        "resets": lambda lane: (lane.next_reset is None, lane.next_reset or never),
    }
    return sorted(found, key=keys[order.field], reverse=(order.field in _FALLING) is not order.reverse)


def fits(lane: Lane, row: LaneRow, text: str) -> bool:
    """Whether the lane has every word of `text`: in its line, its key or the title of its session."""
    haystack = " ".join((*row.texts, lane.key, lane.title)).lower()
    return all(word in haystack for word in text.lower().split())
