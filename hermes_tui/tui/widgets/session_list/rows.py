"""The rows of the session list, computed without a screen.

Sessions → conversations → rows.

`Forest` joins the parts of one conversation and hangs forks and helpers under where they came from; made once per
snapshot, in the reader's thread. `Forest.rows` lays it out for one filter and one set of unfolded conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from hermes_tui.changes import differences
from hermes_tui.clock import Clock
from hermes_tui.tui.widgets.session_list.conversation import Conversation, ListRow
from hermes_tui.tui.widgets.session_list.family import (
    are_related_alike,
    first_part,
    hang,
    origins_of,
    place_of_root,
    regrown,
    settle,
)
from hermes_tui.tui.widgets.session_list.headings import Headings
from hermes_tui.tui.widgets.session_list.order import Order, grouped, sorted_by
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from hermes_tui.tui.widgets.states import State
from session_adapters.model import Cost, SessionSummary

__all__ = [
    "Forest",
    "ListedPart",
]

_FEW = 100
"""Conversations that are put in their places one by one: of more it is as quick to sort all."""
_USUAL = Order()
_NO_STATES = ShownStates()


class ListedPart(NamedTuple):
    """A session as a part of its conversation, which the list shows as a whole."""

    summary: SessionSummary
    number: int = 1
    of: int = 1
    whole: Cost | None = None
    """What all parts cost."""
    state: State | None = None
    """How it is, where that is known."""

    def __str__(self) -> str:
        return f"part {self.number} of {self.of}" if self.of > 1 else ""


class Forest:
    """All conversations of a snapshot, the pinned ones first, then the newest."""

    def __init__(self, sessions: Iterable[SessionSummary] = (), before: Forest | None = None) -> None:
        """`before`: that of a moment ago. What is as it was there is the same conversation still, unless it is among
        others that differ, and has something below it: with each line that an agent adds thousands would be made
        anew."""
        self.sessions = tuple(sessions)
        """What it was made of."""
        self._newest: Sequence[Conversation] | None = None
        self.by_session: Mapping[str, Conversation] = {}
        """Unified id of any session → the conversation it is part of."""
        self.above: Mapping[str, Conversation] = {}
        """Key of a fork or helper → the conversation it came from."""
        self.roots: list[Conversation] = []
        """Those that came from none, in the order of the list."""
        if before is None or not self._go_on(before):
            self._begin(before)
        self._sorted: tuple[Order, Sequence[Conversation]] = (_USUAL, self.roots)
        """The roots in the order that was asked for last."""

    def _go_on(self, before: Forest) -> bool:
        """Take over what is there, where only a few sessions are others, each related as it was; else False."""
        gone, new = differences(before.sessions, self.sessions)
        old = {one.unified_id: one for one in gone}
        if not len(old) == len(gone) == len(new) <= min(_FEW, len(before)):
            return False
        if not all(one.unified_id in old and are_related_alike(old[one.unified_id], one) for one in new):
            return False
        found = regrown(before.by_session, before.above, new)
        if found is None:
            return False
        self.by_session, self.above, made = found
        of_roots = [(one, other) for one, other in made if other.key not in self.above]
        self.roots = _replaced(before.roots, of_roots, place_of_root)
        self._newest = _replaced(before.newest, made, _place_by_itself)
        return True

    def _begin(self, before: Forest | None) -> None:
        by_id = {session.unified_id: session for session in self.sessions}
        old: Mapping[str, Conversation] = before.by_session if before is not None else {}
        groups: dict[str, list[SessionSummary]] = {}
        for session in by_id.values():
            groups.setdefault(first_part(session, by_id), []).append(session)
        home: dict[str, Conversation] = {}
        origins = origins_of(by_id.values()) if old else frozenset()
        for key, parts in groups.items():
            conversation = old.get(key)
            if conversation is None or not conversation.is_just(parts) or key in origins:
                conversation = Conversation(parts)
            for part in parts:
                home[part.unified_id] = conversation
        self.by_session, self.above = home, hang(home)
        self.roots = [one for one in dict.fromkeys(home.values()) if one.key not in self.above]
        settle(self.roots)

    def __len__(self) -> int:
        return len(self.by_session)

    def part(self, unified: str) -> ListedPart | None:
        """The session of this unified id, if there is one."""
        home = self.by_session.get(unified)
        if home is None:
            return None
        at, summary = next((at, one) for at, one in enumerate(home.parts, 1) if one.unified_id == unified)
        return ListedPart(summary, at, len(home.parts), home.cost)

    def prepare(self, order: Order = _USUAL) -> Forest:
        """Work out what a search looks in, and the order of the list: in the thread that reads, not at the first key.
        Itself."""
        for conversation in self.newest:
            _ = conversation.haystack
        self._in_order(order)
        return self

    def _in_order(self, order: Order) -> Sequence[Conversation]:
        if self._sorted[0] != order:
            self._sorted = order, sorted_by(order, self.roots)
        return self._sorted[1]

    @property
    def newest(self) -> Sequence[Conversation]:
        """All conversations, those that came from others among them, by when they themselves were active last."""
        if self._newest is None:
            every = dict.fromkeys(self.by_session.values())
            self._newest = sorted(every, key=_place_by_itself, reverse=True)
        return self._newest

    def containing(self, words: Sequence[str]) -> Sequence[Conversation]:
        """Those of the newest that have all these characters (lower case) in a title, the project, the agent or an
        id."""
        found = self.newest
        for word in sorted(words, key=len, reverse=True):
            found = [one for one in found if word in one.haystack]
        return found

    def way_to(self, sessions: Iterable[str]) -> frozenset[str]:
        """Keys of the conversations that hold one of these sessions (unified ids), and of all above them."""
        found: set[str] = set()
        for unified in sessions:
            one = self.by_session.get(unified)
            while one is not None and one.key not in found:
                found.add(one.key)
                one = self.above.get(one.key)
        return frozenset(found)

    def rows(
        self,
        clock: Clock,
        unfolded: Collection[str] = (),
        only: Collection[str] | None = None,
        order: Order = _USUAL,
        states: ShownStates = _NO_STATES,
    ) -> list[ListRow]:
        """The lines to show, of the conversations with these keys alone where `only` is given. `states` are for
        headings that tell of them."""
        rows: list[ListRow] = []
        heading = ""
        roots = self._in_order(order)
        if only is not None:
            roots = [root for root in roots if root.key in only]
        # What is pinned stands above the others in every order.
        pinned = [root for root in roots if root.pinned]
        others = [root for root in roots if not root.pinned] if pinned else roots
        usual = order.is_usual
        groups = Headings(clock).under(others) if usual else grouped(order, others, clock, states).items()
        for label, group in chain([("pinned", pinned)] if pinned else (), groups):
            if label != heading:
                heading = label
                rows.append(ListRow(label, names=not rows))
            for root in group:
                if root.children:
                    _lay_out(rows, root, unfolded, only, order)
                else:
                    if root.row is None:
                        root.row = ListRow("", root)
                    rows.append(root.row)
        return rows


def _place_by_itself(one: Conversation) -> tuple[datetime, str]:
    return one.tip.updated_at, one.key


def _replaced(
    before: Sequence[Conversation],
    made: Iterable[tuple[Conversation, Conversation]],
    place: Callable[[Conversation], Any],
) -> list[Conversation]:
    """Each that was made anew in its own place, and not where the other stood; the greatest `place` comes first."""
    found = list(before)
    for old, new in made:
        found.remove(old)
        low, high, own = 0, len(found), place(new)
        while low < high:
            middle = (low + high) // 2
            if place(found[middle]) < own:
                high = middle
            else:
                low = middle + 1
        found.insert(low, new)
    return found


def _lay_out(
    rows: list[ListRow], root: Conversation, unfolded: Collection[str], only: Collection[str] | None, order: Order
) -> None:
    """Append `root` and what is unfolded below it. A stack, not recursion: forks of forks may go deep."""
    stack: list[tuple[Conversation, str, str]] = [(root, "", "")]
    while stack:
        conversation, own, below = stack.pop()
        children: Sequence[Conversation] = conversation.children
        if only is not None:
            children = [child for child in children if child.key in only]
        opened = conversation.key in unfolded
        if opened:
            children = sorted_by(order, children)
        rows.append(ListRow(conversation=conversation, guide=own, unfolded=opened if children else None))
        last = len(children) - 1
        for index in range(last, -1, -1) if opened else ():
            end = index == last
            stack.append((children[index], below + ("└ " if end else "├ "), below + ("  " if end else "│ ")))
