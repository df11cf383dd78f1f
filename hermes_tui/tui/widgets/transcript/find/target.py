"""What is looked for in a transcript: its beginning, a message or a match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hermes_tui.tui.widgets.transcript.find.part_search import Found, first_of, match_in, place_in, shown_at
from hermes_tui.tui.widgets.transcript.jumps import next_landmark
from session_adapters.model import Message

if TYPE_CHECKING:
    from hermes_tui.sessions.landmarks import LandmarkKind
    from hermes_tui.sessions.search.within import Within

__all__ = ["EDGES", "FindTarget"]

EDGES = {1: "first match", -1: "last match"}
"""What is wanted of what is earlier on the way to the first or the last match of all."""


@dataclass(slots=True)
class FindTarget:
    """Changes while it is looked for."""

    what: str = ""
    """What is looked for in what is earlier: `first`, `landmark`, `message`, `match` or one of `EDGES`; empty for
    nothing."""
    message_id: str = ""
    """Id of the message that is wanted, or `#` and its index."""
    kind: LandmarkKind = "prompt"
    """Of the landmark."""
    times: int = 1
    """How many of them further."""
    block: str = ""
    """The block of it that is wanted; empty for any."""

    @property
    def is_far(self) -> bool:
        """Messages and matches are mostly near, where reading on keeps what is between; the others are not."""
        return self.what in ("first", "landmark")

    def found_by(self, what: str, within: Within | None, step: int) -> Found:
        """What finds it among the messages of a part: the first of them (1, 0), or the last (-1)."""
        if what == "first":
            return first_of
        if what == "message":
            return partial(place_in, message_id=self.message_id)
        if what == "landmark":
            return partial(next_landmark, kind=self.kind, step=step)
        return partial(match_in, within=within, step=step or 1)

    def place_among(self, messages: Sequence[Message], added: int, *, read_all: bool) -> int | None:
        """Which of the loaded messages, of which so many are new in front, is the one that is wanted; `read_all`:
        there are no others."""
        index = place_in(messages[:added], self.message_id)
        if index is None and read_all and self.message_id[:1] == "#" and self.message_id[1:].isdecimal():
            index = int(self.message_id[1:]) if int(self.message_id[1:]) < len(messages) else None
        return index if index is None else shown_at(messages, index)

    def not_there(self, what: str, step: int) -> str:
        """Why nobody gets to what was looked for below (1) or above (-1), in a sentence; empty where nothing is to be
        said."""
        if what == "landmark":
            return f"There is no further {self.kind} " + ("below" if step > 0 else "above")
        return "The message that was found is not in the conversation any more" if what == "message" else ""
