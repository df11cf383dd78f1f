"""Which conversation a session is part of, and which one that grew out of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from session_adapters.model import SessionSummary, unified_id

if TYPE_CHECKING:
    from hermes_tui.tui.widgets.session_list.conversation import Conversation

__all__ = [
    "Regrown",
    "are_related_alike",
    "first_part",
    "hang",
    "origins_of",
    "place_of_root",
    "regrown",
    "settle",
]

_GROWN = ("fork", "subagent")
"""What stands below the session that it came from."""


def first_part(session: SessionSummary, by_id: dict[str, SessionSummary]) -> str:
    """Unified id of the first known part of the conversation. A damaged store may hold circles."""
    seen = {session.session_id}
    current = session
    while current.kind == "continuation" and current.parent_id and current.parent_id not in seen:
        parent = by_id.get(unified_id(session.agent, current.parent_id))
        if parent is None:
            # A part in between is lost; the adapter may still know where it all began.
            return unified_id(session.agent, current.lineage_id or current.session_id)
        seen.add(current.parent_id)
        current = parent
    return current.unified_id


def origins_of(sessions: Iterable[SessionSummary]) -> frozenset[str]:
    """Unified ids of the sessions that forks and helpers came from."""
    return frozenset(unified_id(one.agent, one.parent_id) for one in sessions if one.kind in _GROWN and one.parent_id)


def hang(home: dict[str, Conversation]) -> dict[str, Conversation]:
    """Put each fork and helper under the conversation it came from; key → that conversation."""
    above: dict[str, Conversation] = {}
    below: dict[str, list[Conversation]] = {}
    conversations = {id(conversation): conversation for conversation in home.values()}
    for conversation in conversations.values():
        first = conversation.parts[0]
        if first.kind in _GROWN and first.parent_id:
            parent = home.get(unified_id(first.agent, first.parent_id))
            # A damaged store may say that each came from the other: a circle would have no root to be shown under.
            at = parent
            while at is not None and at is not conversation:
                at = above.get(at.key)
            if parent is not None and at is None:
                above[conversation.key] = parent
                below.setdefault(parent.key, []).append(conversation)
    for key, children in below.items():
        home[key].children = children
    return above


def settle(roots: list[Conversation]) -> None:
    """Work out activity from the leaves up, and sort every level newest first; what is pinned goes before."""
    order: list[Conversation] = []
    waiting = list(roots)
    while waiting:
        conversation = waiting.pop()
        order.append(conversation)
        waiting.extend(conversation.children)
    for conversation in reversed(order):
        _settle(conversation)
    roots.sort(key=place_of_root, reverse=True)


def _settle(conversation: Conversation) -> None:
    if conversation.children:
        conversation.children = sorted(conversation.children, key=lambda one: (one.activity, one.key), reverse=True)
        conversation.activity = max(conversation.activity, conversation.children[0].activity)
        conversation.pinned = conversation.pinned or any(child.pinned for child in conversation.children)


def place_of_root(one: Conversation) -> tuple[bool, datetime, str]:
    """What tells its place in the list: the greater stands first."""
    return one.pinned, one.activity, one.key


def are_related_alike(one: SessionSummary, other: SessionSummary) -> bool:
    """Whether they belong into the same conversation, below the same one."""
    return (one.kind, one.parent_id, one.lineage_id) == (other.kind, other.parent_id, other.lineage_id)


class Regrown(NamedTuple):
    """Conversations that were made anew."""

    home: dict[str, Conversation]
    """Unified id of any session → the conversation it is part of."""
    above: dict[str, Conversation]
    """Key of a fork or helper → the conversation it came from."""
    made: list[tuple[Conversation, Conversation]]
    """Each that was, with the one in its place."""


def regrown(
    home: Mapping[str, Conversation], above: Mapping[str, Conversation], sessions: Iterable[SessionSummary]
) -> Regrown | None:
    """With these sessions in the place of those of the same ids, which are related alike: every conversation that
    holds one, or that one grew out of, is made anew; those that were stay as they are. None where the first part of
    one would be another."""
    changed = {one.unified_id: one for one in sessions}
    depths: dict[Conversation, int] = {}
    for name in changed:
        line, one = [home[name]], above.get(home[name].key)
        while one is not None:
            line.append(one)
            one = above.get(one.key)
        depths.update(zip(reversed(line), range(len(line)), strict=True))
    found = Regrown(dict(home), dict(above), [])
    made: dict[Conversation, Conversation] = {}
    for old in sorted(depths, key=lambda one: depths[one], reverse=True):
        new = made[old] = type(old)([changed.get(part.unified_id, part) for part in old.parts])
        if new.key != old.key:
            return None
        new.children = [made.get(child, child) for child in old.children]
        _settle(new)
        found.home.update((part.unified_id, new) for part in new.parts)
        found.above.update((child.key, new) for child in new.children)
        found.made.append((old, new))
    return found
