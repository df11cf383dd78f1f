"""Gathers what is found, conversation by conversation.

Of very many sessions that the list alone finds only the places in the list are kept: what is shown of them is a few
hundred, and each look at one of fifty thousand objects costs more than the rest of an answer.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter

from hermes_tui.sessions.search.grouping import FoundConversation
from hermes_tui.sessions.search.model import SourceMatch
from session_adapters.model import SessionSummary

__all__ = ["Gathering", "Kin", "best_first", "likely_first"]

_key, _updated = attrgetter("key"), attrgetter("updated_at")


class Kin:
    """Which sessions of a list are parts of one conversation, each by its place in the list."""

    def __init__(
        self,
        sessions: Sequence[SessionSummary],
        places: Mapping[str, int],
        root: Callable[[SessionSummary], Hashable],
    ) -> None:
        """The sessions are given newest first; `places`: unified id → place. `root` tells the conversation of one."""
        self.sessions = sessions
        self._places = places
        newest: dict[Hashable, int] = {}
        self.newest: Sequence[int] = array("L", (newest.setdefault(root(one), at) for at, one in enumerate(sessions)))
        """For each session the place of the newest one of its conversation, which stands for that."""

    def place(self, summary: SessionSummary) -> int:
        """Where the session stands in the list."""
        return self._places[summary.unified_id]


class Gathering:
    """The answer so far."""

    def __init__(self, kin: Kin, hidden: Callable[[SessionSummary], bool] | None = None) -> None:
        """`kin` tells conversations apart. Sessions that are `hidden` are left out."""
        self._kin = kin
        self._hidden = hidden
        self._made: dict[int, FoundConversation] = {}
        self._listed: list[tuple[Sequence[int], set[int]]] = []
        """Places of sessions that the list alone finds, and the conversations that have them by now."""

    def __len__(self) -> int:
        if not self._listed:
            return len(self._made)
        return len(set(self._made).union(*(map(self._kin.newest.__getitem__, places) for places, _ in self._listed)))

    def places(self) -> Sequence[int]:
        """The places in the list of all sessions that were found, in order."""
        made = (one.summary for found in self._made.values() for one in found.parts.values())
        return sorted({*chain.from_iterable(places for places, _ in self._listed), *map(self._kin.place, made)})

    def add(self, found: SourceMatch) -> None:
        """Take in what was found."""
        if self._hidden is None or not self._hidden(found.summary):
            self._conversation(self._kin.newest[self._kin.place(found.summary)]).add(found)

    def add_listed(self, places: Sequence[int]) -> None:
        """Take in sessions that were found without a look at their texts, by their places in the list, in order."""
        if self._hidden is not None:
            places = [place for place in places if not self._hidden(self._kin.sessions[place])]
        if places:
            self._listed.append((places, set()))

    def _conversation(self, newest: int) -> FoundConversation:
        found = self._made.get(newest)
        if found is None:
            found = self._made[newest] = FoundConversation()
        return found

    def newest_first(self, most: int | None = None) -> list[FoundConversation]:
        """The conversations, at most so many (None: all), the last active first."""
        for places, _ in self._listed:
            for newest in self._newest_of(places, most):
                self._conversation(newest)
        sessions, newest_of = self._kin.sessions, self._kin.newest
        for places, taken in self._listed:
            wanted = self._made.keys() - taken
            for place in places if wanted else ():
                if newest_of[place] in wanted:
                    self._made[newest_of[place]].add(SourceMatch(sessions[place]))
            taken |= wanted
        # The second time those that were active at the same moment keep their order.
        return sorted(sorted(self._made.values(), key=_key), key=_updated, reverse=True)[:most]

    def _newest_of(self, places: Sequence[int], most: int | None) -> Iterable[int]:
        """The conversations of these sessions; of more than `most` the newest, with all that are as new as the last
        of them."""
        newest_of, sessions = self._kin.newest, self._kin.sessions
        if most is None:
            return map(newest_of.__getitem__, places)
        found: dict[int, int] = {}
        """Conversation → its newest session among these."""
        for place in places:
            if (
                len(found) >= most
                and sessions[place].updated_at < sessions[next(reversed(found.values()))].updated_at
            ):
                break
            found.setdefault(newest_of[place], place)
        return found


def best_first(conversations: Iterable[FoundConversation]) -> list[FoundConversation]:
    """Those of which it is known by how well they fit, those that a schedule started behind the rest; of equals the
    one whose best message is the oldest. The others behind them as they are."""
    return sorted(conversations, key=_rank)


def likely_first(conversations: Sequence[FoundConversation]) -> list[FoundConversation]:
    """By how well they fit as far as an index tells, which no text is read for: where the words stand, and how often.
    The last active first of those that fit as well."""
    return sorted(conversations, key=lambda one: (-round(one.promise, 6), -one.updated_at.timestamp(), one.key))


def _rank(one: FoundConversation) -> tuple[bool, bool, float, tuple[bool, float], str]:
    if not one.is_ranked:
        return (True, False, 0.0, (False, 0.0), "")
    return (False, one.is_scheduled, -round(one.score, 6), one.best.first_best, one.key)
