"""The orders and groups of the session list: sort keys and headings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec import Struct, structs

from hermes_tui.display import safe
from hermes_tui.tui.widgets.session_list.headings import Headings

if TYPE_CHECKING:
    from hermes_tui.clock import Clock
    from hermes_tui.tui.widgets.session_list.conversation import Conversation
    from hermes_tui.tui.widgets.session_list.shown_states import ShownStates

__all__ = ["FIELDS", "GROUPINGS", "Field", "Grouping", "Order", "grouped", "sorted_by"]

Field = Literal["time", "cost", "tokens", "turns", "project", "agent", "size"]
Grouping = Literal["day", "project", "agent", "state", "none"]
FIELDS: tuple[Field, ...] = get_args(Field)
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)

_WORDS: Mapping[str, tuple[str, str]] = {
    "time": ("newest first", "oldest first"),
    "cost": ("dearest first", "cheapest first"),
    "tokens": ("most tokens first", "fewest tokens first"),
    "turns": ("most turns first", "fewest turns first"),
    "project": ("projects A to Z", "projects Z to A"),
    "agent": ("agents A to Z", "agents Z to A"),
    "size": ("largest first", "smallest first"),
}
"""What a list in that order is, and in the opposite one."""


class Order(Struct, frozen=True):
    """How the list is sorted, and under which headings."""

    field: Field = "time"
    reverse: bool = False
    """Against the usual direction: oldest, cheapest, smallest first, Z before A."""
    group: Grouping = "day"

    @property
    def words(self) -> str:
        """`dearest first`."""
        return _WORDS[self.field][self.reverse]

    @property
    def is_usual(self) -> bool:
        """The newest first, under days."""
        return self == Order()

    def by(self, field: Field) -> Order:
        """Sorted by `field`; by the same once more, in the opposite direction. Days are headings of times only,
        unless they are asked for later."""
        if field == self.field:
            return structs.replace(self, reverse=not self.reverse)
        group: Grouping = self.group
        if group in ("day", "none"):
            group = "day" if field == "time" else "none"
        return Order(field, group=group)

    def under(self, group: Grouping) -> Order:
        """With these headings."""
        return structs.replace(self, group=group)


_VALUES: Mapping[str, Callable[[Conversation], Any]] = {
    "time": lambda one: one.activity,
    "cost": lambda one: cost.total_usd if (cost := one.cost) is not None else None,
    "tokens": lambda one: tokens.total if (tokens := one.tokens) is not None and tokens.total else None,
    "turns": lambda one: one.turns,
    "project": lambda one: one.project.lower() or None,
    "agent": lambda one: one.tip.agent,
    "size": lambda one: sum(part.size for part in one.parts) or None,
}
"""None: not known, which comes last in both directions."""
_UPWARDS = ("project", "agent")
"""What usually begins with the least."""


def sorted_by(order: Order, conversations: Sequence[Conversation]) -> Sequence[Conversation]:
    """The conversations, which come newest first, in another order; equal ones stay newest first."""
    if order.field == "time":
        return conversations[::-1] if order.reverse else conversations
    value = _VALUES[order.field]
    known: list[tuple[Any, Conversation]] = []
    unknown: list[Conversation] = []
    for one in conversations:
        if (found := value(one)) is None:
            unknown.append(one)
        else:
            known.append((found, one))
    known.sort(key=lambda pair: pair[0], reverse=order.reverse is (order.field in _UPWARDS))
    return [*(one for _, one in known), *unknown]


def grouped(
    order: Order, conversations: Iterable[Conversation], clock: Clock, states: ShownStates
) -> Mapping[str, Sequence[Conversation]]:
    """Heading → what stands under it. `conversations` are in that order; groups come in the order of their first, but
    days and states in their own."""
    every = list(conversations)
    groups: dict[str, list[Conversation]] = {}
    if order.group == "day":
        headings = Headings(clock)
        newest = sorted(every, key=_VALUES["time"], reverse=True)  # as headings want it
        labels = {one.key: headings.of(one.activity) for one in newest}
        if order.field != "time":
            groups = {label: [] for label in labels.values()}
        label_of: Callable[[Conversation], str] = lambda one: labels[one.key]  # noqa: E731
    elif order.group == "state":
        # By what is folded below it, too: that stands under no heading of its own.
        groups = {states.group(one): [] for one in sorted(map(states.foremost, every), key=states.rank)}
        label_of = lambda one: states.group(states.foremost(one))  # noqa: E731
    elif order.group == "project":
        label_of = lambda one: safe(one.project) or "no project"  # noqa: E731
    elif order.group == "agent":
        label_of = lambda one: one.tip.agent  # noqa: E731
    else:
        label_of = lambda one: order.words  # noqa: E731
    for one in every:
        groups.setdefault(label_of(one), []).append(one)
    return groups
