"""Which conversation a session is part of, and which one that grew out of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from session_adapters.model import SessionSummary, unified_id

if TYPE_CHECKING:
    from hermes_tui.tui.widgets.session_list.conversation import Conversation

__all__ = ["first_part", "hang", "origins_of", "settle"]

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
        if conversation.children:
            conversation.children = sorted(
                conversation.children, key=lambda one: (one.activity, one.key), reverse=True
            )
            conversation.activity = max(conversation.activity, conversation.children[0].activity)
            conversation.pinned = conversation.pinned or any(child.pinned for child in conversation.children)
    roots.sort(key=lambda one: (one.pinned, one.activity, one.key), reverse=True)
