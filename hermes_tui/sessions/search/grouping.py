"""Groups matches by conversation, each place once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from hermes_tui.sessions.search.model import Match, SourceMatch
from hermes_tui.sessions.search.relevance import of_place, of_session
from session_adapters.model import EPOCH, SessionSummary
from session_adapters.reading.searchable import Text

__all__ = ["FoundConversation", "FoundPart", "best_of", "root_of"]

_UNKNOWN = 0.3
"""The score of a place whose words are in no text that is shown."""
_SCHEDULED = ("cron",)
"""What `SessionSummary.source` says where a schedule started a session."""


class FoundPart:
    """A session of a conversation, and where in it something was found."""

    def __init__(self, summary: SessionSummary) -> None:
        self.summary = summary
        self._places: dict[tuple[str, str], Match] = {}
        self._total = 0
        self._score: float | None = None
        self._guesses = False
        """Some places are guessed."""
        self._compared = False
        self._read: tuple[Match, Text] | None = None

    def compare(self, found: SourceMatch) -> None:
        """Take in all that is in its texts, in the place of what an index said of them."""
        self._places = {key: one for key, one in self._places.items() if one.field == "title" or one.guessed}
        self._total = 0
        self._compared = True
        self.add(found)

    def add(self, found: SourceMatch) -> None:
        """Take in what was found; a place that was known keeps the better knowledge."""
        self._score = None
        for match in found.matches:
            if (match.guessed or self._guesses) and not self._makes_sure(match):
                continue
            key = match.key
            self._guesses = self._guesses or match.guessed
            known = self._places.get(key)
            if known is None or known.score is None:
                self._places[key] = match
        if any(match.field != "title" for match in found.matches):
            self._total = max(self._total, found.total)

    def _makes_sure(self, match: Match) -> bool:
        """A message of which it is known where its words are stands in the place of a guess, never beside one."""
        if not match.message_id:
            return True
        known = [self._places.get((match.message_id, field)) for field in ("prose", "tool")]
        if match.guessed:
            return not any(known)
        for one in known:
            if one is not None and one.guessed:
                del self._places[one.key]
        return True

    @property
    def places(self) -> Sequence[Match]:
        """All that is known."""
        return tuple(self._places.values())

    @property
    def total(self) -> int:
        """Places, the title among them."""
        return max(self._known, len(self._places))

    @property
    def _known(self) -> int:
        """As `total`, without guesses: how well a session fits depends on none, for an index leaves more of them than
        reading does."""
        return self._total + (("", "title") in self._places)

    @property
    def unscored(self) -> bool:
        """There are places of which it is not known how well they fit."""
        return not self._compared and any(one.score is None and not one.guessed for one in self._places.values())

    @property
    def unread(self) -> bool:
        """As `unscored`, or it is not known in which messages they are."""
        return self.unscored or (not self._compared and any(one.key[0] == "" for one in self._in_texts))

    @property
    def lacks_best(self) -> bool:
        """There are places in texts, and of none it is known how well it fits."""
        return self.unscored and all(one.score is None for one in self._in_texts)

    @property
    def is_ranked(self) -> bool:
        """It is known how well it fits, or nothing was looked for in texts."""
        every = self._places.values()
        return not every or any(one.score is not None or one.guessed for one in every)

    @property
    def _in_texts(self) -> Sequence[Match]:
        return [one for one in self._places.values() if one.field != "title"]

    @property
    def first_best(self) -> tuple[bool, float]:
        """Of those that fit best, whether nobody asked it, and when the first was written; 0 where that is not
        known."""
        best = round(self.score, 6)
        equal = [one for one in self._places.values() if round(one.score or 0.0, 6) == best]
        return not any(one.role == "user" for one in equal), min((one.time or 0.0 for one in equal), default=0.0)

    @property
    def score(self) -> float:
        """How well the session fits, 0 to 1; 0 where nothing was looked at."""
        if self._score is None:
            known = [one.score for one in self._places.values() if one.score is not None]
            self._score = max(known, default=_UNKNOWN if self._places else 0.0)
        return self._score

    @property
    def promise(self) -> float:
        """How well it may fit by where the words stand and how often, without a look at the texts."""
        known = (of_place(one.field, one.role) for one in self._places.values() if not one.guessed)
        return of_session(max(known, default=0.0), self._known)

    @property
    def anchor(self) -> Match | None:
        """The place that fits best, the newest of equals; one in a message rather than the title."""
        return max(self._places.values(), key=_fitness, default=None)

    def note(self, match: Match, text: Text) -> None:
        """Keep the message in which a place is, if it is the best one so far."""
        if self._read is None or _fitness(match) > _fitness(self._read[0]):
            self._read = match, text

    def read(self, match: Match) -> Text | None:
        """The message that was kept, if the place is in it."""
        return self._read[1] if self._read is not None and self._read[0].key == match.key else None

    @property
    def newest(self) -> float:
        """When the newest place was written, else when the session last was."""
        times = [one.time for one in self._places.values() if one.time]
        return max(times, default=self.summary.updated_at.timestamp())


def _fitness(match: Match) -> tuple[bool, bool, float, bool, float, int]:
    """The larger, the rather a place is the one to be shown; the newest of equals."""
    return (
        match.field != "title",
        not match.guessed,
        round(match.score or 0.0, 6),
        match.field == "prose",
        match.time or 0.0,
        match.place or 0,
    )


class FoundConversation:
    """All parts of a conversation (its lineage) that were found.

    They are put together when they are asked for: while somebody types, most conversations are only counted.
    """

    def __init__(self, found: Iterable[SourceMatch] = ()) -> None:
        self._found: list[SourceMatch] = []
        self._parts: dict[str, FoundPart] | None = None
        self.updated_at = EPOCH
        """When it was last active, as far as it was found."""
        self.key = ""
        """A name for a total order: the least of its parts' ids."""
        for one in found:
            self.add(one)

    def add(self, found: SourceMatch) -> None:
        """Take in what was found in a part of it."""
        summary = found.summary
        self._found.append(found)
        if summary.updated_at > self.updated_at:
            self.updated_at = summary.updated_at
        if not self.key or summary.unified_id < self.key:
            self.key = summary.unified_id
        if self._parts is not None:
            _put(self._parts, found)

    def copy(self) -> FoundConversation:
        """As it is now. Another thread may add to it meanwhile."""
        return FoundConversation(tuple(self._found))

    @property
    def parts(self) -> Mapping[str, FoundPart]:
        """By native id of the session."""
        if self._parts is None:
            self._parts = {}
            for one in self._found:
                _put(self._parts, one)
        return self._parts

    @property
    def root(self) -> tuple[str, str]:
        """See `root_of`."""
        return root_of(self._found[0].summary)

    @property
    def best(self) -> FoundPart:
        """The part that fits best, the newest of equals."""
        if len(self.parts) == 1:
            return next(iter(self.parts.values()))
        return max(self.parts.values(), key=lambda one: (one.score, one.summary.updated_at, one.summary.session_id))

    @property
    def score(self) -> float:
        """That of its best part."""
        return max(part.score for part in self.parts.values())

    @property
    def is_ranked(self) -> bool:
        """It is known how well some part fits."""
        return any(part.is_ranked for part in self.parts.values())

    @property
    def is_scheduled(self) -> bool:
        """A schedule started it, and nobody took part: there are many such, which say the same again and again."""
        return all(part.summary.source in _SCHEDULED for part in self.parts.values())

    @property
    def promise(self) -> float:
        """That of its best part."""
        return max(part.promise for part in self.parts.values())

    @property
    def total(self) -> int:
        """Places in all parts."""
        return sum(part.total for part in self.parts.values())


def root_of(summary: SessionSummary) -> tuple[str, str]:
    """Tells the conversation of a session: its agent, and the native id of its first part."""
    return summary.agent, summary.lineage_id or summary.session_id


def best_of(found: Iterable[tuple[SessionSummary, float]], most: int | None) -> Collection[str]:
    """The unified ids of the sessions, at most `most`, that fit best, by how well each does."""
    each = {one.unified_id: (one.source in _SCHEDULED, -score) for one, score in found}
    return each if most is None or len(each) <= most else frozenset(sorted(each, key=each.__getitem__)[:most])


def _put(parts: dict[str, FoundPart], found: SourceMatch) -> None:
    part = parts.get(found.summary.session_id)
    if part is None:
        part = parts[found.summary.session_id] = FoundPart(found.summary)
    part.add(found)
