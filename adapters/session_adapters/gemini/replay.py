"""Which of what was recorded still stands.

A session's log says what happened, not what the conversation is: messages are rewritten, the whole list is replaced
(on resume, after compression, when a turn failed), and the end is taken back. Nothing that was said is thrown away
here: what no longer stands keeps its place and is marked as rewound or compacted. Its tokens were spent all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from session_adapters.gemini.turns import Turn, is_context, merged
from session_adapters.growing.hashes import Hashes
from session_adapters.model import Visibility

__all__ = ["Replay", "ReplayedTurn"]


class ReplayedTurn:
    """A turn, and whether it stands."""

    __slots__ = ("count", "first", "state", "turn")

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.state: Visibility = "live"
        self.first = 0
        """Index of the first message made of it; the builder's."""
        self.count = 0
        """How many messages were made of it; the builder's."""


class Replay:
    """Takes in the records of one session in the order of the log."""

    def __init__(self) -> None:
        self.entries: list[ReplayedTurn] = []
        """All that was said, in the order in which it is shown."""
        self._known: dict[str, ReplayedTurn] = {}
        self._view: dict[str, ReplayedTurn] = {}
        """What stands, in order, by the id that the agent has for it now."""
        self._answers: dict[str, ReplayedTurn] = {}
        """Id of a call → the turn that brought its result."""
        self._resuming = False
        self._pending: list[Turn] | None = None
        self._gone = Hashes()
        """Of all names of turns that were let go of."""
        self._gone_answers = Hashes()
        """Of the calls that those answered."""
        self._gone_calls = Hashes()
        """Of the calls in them that nothing has answered."""
        self.goes_back = False
        """A record changed what was let go of."""

    def header(self) -> None:
        """A process began to write."""
        self._resuming = True

    def lost(self) -> None:
        """A record could not be read: it may have been the one that restored the conversation after a resume."""
        self._pending = None

    def message(self, turn: Turn) -> tuple[ReplayedTurn | None, bool]:
        """A message record: its entry, and whether it is a new one at the end; None when more has changed."""
        settled = self._settle()
        self._resuming = False
        self.goes_back = (
            self.goes_back
            or hash(turn.id) in self._gone
            or any(hash(one.tool_call_id) in self._gone_calls for one in turn.results)
        )
        known = self._known.get(turn.id)
        # It may once have had this id and still stand, under another.
        entry = self._view.get(turn.id) or (known if known is not None and known.state == "live" else None)
        if entry is not None:
            entry.turn = merged(entry.turn, turn, restored=False)
            self._note(entry)
            return (None if settled else entry), False
        if known is not None:  # said again after it was taken back
            self.entries.remove(known)
            turn = merged(known.turn, turn, restored=False)
            settled = True
        entry = ReplayedTurn(turn)
        self.entries.append(entry)
        self._known[turn.id] = self._view[turn.id] = entry
        self._note(entry)
        return (None if settled else entry), True

    def replace(self, turns: Sequence[Turn]) -> bool:
        """The list of messages was replaced; whether that changed anything already.

        A resume first replaces it with the description of the workspace alone, then with the history. Between the
        two the conversation is not gone, and what stands waits for the second.
        """
        self.goes_back = self.goes_back or bool(self._gone)
        begins = self._resuming and bool(self._view) and all(map(is_context, turns))
        self._pending = list(turns) if begins else None
        if not begins:
            self._resuming = False
            self._apply(turns)
        return not begins

    def rewind(self, turn_id: str) -> None:
        """A message and all after it were taken back; with an id that is not there, all were (as the agent does)."""
        self._settle()
        self.goes_back = self.goes_back or (bool(self._gone) and turn_id not in self._view)
        ids = list(self._view)
        at = ids.index(turn_id) if turn_id in self._view else 0
        dropped = [self._view.pop(one) for one in ids[at:]]
        self._retire(dropped, "rewound")

    def is_answered(self, call_id: str) -> bool:
        """Whether a turn that was let go of brought the result of the call."""
        return hash(call_id) in self._gone_answers

    def before(self, kept: int) -> int:
        """How many messages were made of all turns but the last, of which the next records speak in most sessions."""
        return sum(entry.count for entry in self.entries[: self._cut(kept)])

    def let_go(self, kept: int) -> None:
        """Forget those turns: `goes_back` says where a record speaks of one of them."""
        cut, number = self._cut(kept), self.before(kept)
        done = {id(entry): entry for entry in self.entries[:cut]}
        for entry in done.values():
            for call in entry.turn.calls:
                if call.tool_call_id not in self._answers:
                    self._gone_calls.add(hash(call.tool_call_id))
        for names, gone in ((self._known, self._gone), (self._view, self._gone), (self._answers, self._gone_answers)):
            for name in [name for name, entry in names.items() if id(entry) in done]:
                del names[name]
                gone.add(hash(name))
        self.entries = self.entries[cut:]
        for entry in self.entries:
            entry.first -= number

    def _cut(self, kept: int) -> int:
        """How many turns stand before the last ones, and before the calls whose results those brought: either is
        made anew with the other."""
        if self._pending is not None:
            return 0
        cut = max(0, len(self.entries) - kept)
        wanted = self._answered_by(cut, len(self.entries))
        for at in range(cut - 1, -1, -1):
            if wanted and any(call.tool_call_id in wanted for call in self.entries[at].turn.calls):
                wanted |= self._answered_by(at, cut)
                cut = at
        return cut

    def _answered_by(self, start: int, stop: int) -> set[str]:
        found = ((result.tool_call_id, one) for one in self.entries[start:stop] for result in one.turn.results)
        return {call_id for call_id, one in found if self._answers.get(call_id) is one}

    def _settle(self) -> bool:
        pending, self._pending = self._pending, None
        if pending is not None:
            self._apply(pending)
        return pending is not None

    def _note(self, entry: ReplayedTurn) -> None:
        for result in entry.turn.results:
            self._answers.setdefault(result.tool_call_id, entry)

    # Replacing ---------------------------------------------------------------------------------------------

    def _apply(self, turns: Sequence[Turn]) -> None:
        """Find what of the new list was said before, by id or, at the end of a compressed conversation, by what it
        says; put the rest where it belongs, and retire what is left over."""
        before = self._view
        places = {id(entry): index for index, entry in enumerate(self.entries)}
        listed = {turn.id: turn for turn in turns}
        pairs = self._pair(listed, places)
        view: dict[str, ReplayedTurn] = {}
        snapshot = False
        for turn_id, turn in listed.items():
            if turn_id not in pairs:
                pairs[turn_id] = ReplayedTurn(turn)
                snapshot = snapshot or turn.is_snapshot
                self._note(pairs[turn_id])
            entry = pairs[turn_id]
            if entry.turn.id == turn_id:
                entry.turn = merged(entry.turn, turn, restored=True)
            entry.state = "live"
            view[turn_id] = self._known[turn_id] = entry
        self._order([pairs[turn_id] for turn_id in listed], places)
        self._view = view
        self._retire(before.values(), "compacted" if snapshot else "rewound")

    def _pair(self, listed: dict[str, Turn], places: dict[int, int]) -> dict[str, ReplayedTurn]:
        """New id → the entry that says the same; nothing for what is new."""
        alike: dict[object, list[ReplayedTurn]] = {}
        for turn_id, entry in self._view.items():
            if turn_id not in listed:
                alike.setdefault(entry.turn.mark, []).append(entry)
        pairs: dict[str, ReplayedTurn] = {}
        limit = len(self.entries)
        for turn_id, turn in reversed(listed.items()):
            found = self._known.get(turn_id)
            if found is None:
                candidates = alike.get(turn.mark, [])
                while candidates and places[id(candidates[-1])] >= limit:
                    candidates.pop()
                if candidates:
                    found = candidates.pop()
                elif turn.only_results:
                    # Restoring writes results twice, once under another id (FACTS.md): they are one entry.
                    answered = [self._answers.get(result.tool_call_id) for result in turn.results]
                    found = answered[0] if all(answered) else None
            if found is not None:
                pairs[turn_id] = found
                limit = min(limit, places.get(id(found), limit))
        return pairs

    def _order(self, wanted: Sequence[ReplayedTurn], places: dict[int, int]) -> None:
        """Put new entries before the known one that follows them, and known ones that moved where they now are."""
        before: dict[int | None, list[ReplayedTurn]] = {}
        anchor: ReplayedTurn | None = None
        limit = len(self.entries)
        moved: set[int] = set()
        seen: set[int] = set()
        for entry in reversed(wanted):
            if id(entry) in seen:
                continue
            seen.add(id(entry))
            place = places.get(id(entry))
            if place is not None and place < limit:
                anchor, limit = entry, place
                continue
            if place is not None:
                moved.add(id(entry))
            before.setdefault(id(anchor) if anchor else None, []).append(entry)
        if not before:
            return
        ordered: list[ReplayedTurn] = []
        for entry in self.entries:
            if id(entry) not in moved:
                ordered.extend(reversed(before.get(id(entry), ())))
                ordered.append(entry)
        self.entries = [*ordered, *reversed(before.get(None, ()))]

    def _retire(self, entries: Iterable[ReplayedTurn], state: Visibility) -> None:
        standing = {id(entry) for entry in self._view.values()}
        for entry in entries:
            if id(entry) not in standing:
                entry.state = state
