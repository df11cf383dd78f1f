"""The branches of a conversation tree, beside the one that is shown."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain

from session_adapters.text import one_line
from session_adapters.times import from_epoch
from session_adapters.transcript import Branch
from session_adapters.tree.file import TreeStore

__all__ = ["list_branches"]

_NOWHERE = -1
"""The place of a node that is not on the shown branch."""


def list_branches(
    file: TreeStore, path: Sequence[int], start: int, first: Sequence[int], messages: int
) -> tuple[Branch, ...]:
    """See `Transcript.branches`; none where there is one. `path` is the shown one, of which so many `messages` are
    loaded: those of the nodes from position `start` on, each of which begins at the message that `first` says."""
    tree = file.tree
    tips = tree.tips(file.leaf())
    if len(tips) < 2:
        return ()
    active = tree.spoken_above(file.leaf())
    shown = tree.spoken_above(path[-1]) if path else None
    place = array("q", [_NOWHERE]) * len(tree)
    for at, index in enumerate(path):
        place[index] = at
    apart = {tip: _apart(file, tip, place) for tip in tips}
    lowest = max((parting for tip, (_, parting) in apart.items() if tip != shown), default=0)
    found = []
    for tip in tips:
        own, parting = (path[lowest:], lowest) if tip == shown else apart[tip]
        labels = (file.labels.get(tree.nodes.ids[index], "") for index in chain((tip,), reversed(own)))
        times = (time for index in chain(own, (tip,)) if (time := tree.nodes.time(index)) is not None)
        begins: int | None = None  # above what is loaded
        if parting >= start + len(first):
            begins = messages
        elif parting >= start:
            begins = first[parting - start]
        branch = Branch(
            leaf_id=tree.nodes.ids[tip],
            first=begins,
            label=next(filter(None, labels), ""),
            preview=_preview(file, own),
            updated=from_epoch(max(times, default=None)),
            active=tip == active,
            shown=tip == shown,
        )
        found.append(branch)
    return tuple(found)


def _apart(file: TreeStore, tip: int, place: Sequence[int]) -> tuple[Sequence[int], int]:
    """The part of a branch that is not on the shown one, and the position on that where they part; `place` says for
    each node where it is there."""
    own: list[int] = []
    seen: set[int] = set()
    at: int | None = tip
    while at is not None and place[at] == _NOWHERE and at not in seen:
        seen.add(at)
        own.append(at)
        at = file.tree.parent(at)
    own.reverse()
    return own, place[at] + 1 if at is not None else 0


def _preview(file: TreeStore, own: Sequence[int]) -> str:
    """What the first prompt on that part says, else whatever is said first."""
    spoken = file.tree.nodes.spoken
    first = next((index for index in own if spoken[index]), None)
    chosen = next((index for index in own if spoken[index] and file.is_prompt(index)), first)
    if chosen is None:
        return ""
    try:
        with file.reading() as shown:
            return one_line(" ".join(message.content for message in shown(chosen).messages))
    except OSError:
        return ""  # `refresh` says that the file is gone
