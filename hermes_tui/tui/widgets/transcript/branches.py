"""Branches of a conversation tree: where they part, and moving between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from session_adapters.transcript import Branch, Change, Transcript

if TYPE_CHECKING:
    from hermes_tui.sessions.search.within import Within

__all__ = ["Switched", "branches_of", "next_match", "partings", "place", "switch", "switch_to"]


class Switched(NamedTuple):
    """What going to another branch did."""

    change: Change
    parting: int | None
    """Index of the first message that was not on the branch before; None when it lies above the loaded part."""


def branches_of(transcript: Transcript) -> tuple[Branch, ...]:
    """The branches, none for a conversation that has only one way. Reads the store: not for the screen's thread."""
    found = transcript.branches
    return found if len(found) > 1 else ()


def partings(branches: Sequence[Branch]) -> Mapping[int, int]:
    """Index of a message → how many other branches part before it."""
    return Counter(branch.first for branch in branches if branch.first is not None and not branch.shown)


def place(branches: Sequence[Branch]) -> str:
    """`branch 2 of 3`; empty where there is only one way."""
    at = next((at for at, branch in enumerate(branches, 1) if branch.shown), None)
    return f"branch {at} of {len(branches)}" if at is not None and len(branches) > 1 else ""


def switch_to(transcript: Transcript, message_id: str) -> Change | None:
    """Let the transcript follow a branch with that message; None where it does so already, or there is none. Reads
    the store. Raises `LookupError` when the branch is no longer there."""
    leaf_id = transcript.branch_of(message_id)
    return None if leaf_id is None else transcript.switch(leaf_id)


def switch(transcript: Transcript, step: int) -> Switched | None:
    """Let the transcript follow the branch that comes `step` after the shown one; None where there is no other.
    Reads the store. Raises `LookupError` when the branch is no longer there."""
    branches = branches_of(transcript)
    if not branches:
        return None
    at = next((at for at, branch in enumerate(branches) if branch.shown), 0)
    change = transcript.switch(branches[(at + step) % len(branches)].leaf_id)
    # The branch that was left says, now that another one is shown, where the two part.
    left = branches[at].leaf_id
    parting = next((branch.first for branch in branches_of(transcript) if branch.leaf_id == left), change.first)
    return Switched(change, parting)


def next_match(transcript: Transcript, within: Within, step: int, above: Sequence[str]) -> str | None:
    """Id of the next match on any branch, empty where there is none; None where there is one branch. `above`: ids of
    the shown messages down to the one that is left. Reads the store: not for the screen's thread."""
    if not branches_of(transcript):
        return None
    order = {id_: at for at, id_ in enumerate(above)}
    number, lowest, left = 0, -1, -1 if above or step > 0 else None
    found: list[tuple[int, str]] = []
    try:
        for _, messages in transcript.every_branch():
            found += [(number + at, messages[at].id) for at in within.places(messages)]
            for at, message in enumerate(messages, number):
                if (shown := order.get(message.id, -1)) >= lowest and shown >= 0:
                    lowest, left = shown, at
            number += len(messages)
            del messages  # before the next are read
    except OSError:
        return None  # following the file says that it is gone
    if left is None:  # up from the end
        left = number
    below, upwards = (id_ for at, id_ in found if at > left), (id_ for at, id_ in reversed(found) if at < left)
    return next(below if step > 0 else upwards, "")
