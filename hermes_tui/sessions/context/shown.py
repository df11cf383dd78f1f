"""What is shown of the context of a session, without all its messages."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from hermes_tui.display import compact
from hermes_tui.sessions.context.view import context_view, gauged
from session_adapters.model import Session

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager

__all__ = ["ShownContext", "shown_context"]


class ShownContext(NamedTuple):
    """Small enough to be sent by the process that read the session."""

    session: Session
    """Without its messages."""
    strategy: str
    """By what some are kept; empty where all are."""
    sentence: str
    """What is kept."""
    note: str
    """What else is to be said of that; may be empty."""
    kept: int
    """Messages that the agent has before it."""
    last: tuple[tuple[str, str], ...]
    """Of the last of them who speaks, and how it begins."""


def shown_context(manager: SessionManager, agent: str, session_id: str, most: int, length: int) -> ShownContext:
    """What the agent has before it, with `most` messages and `length` characters of each. Raises as
    `SessionManager.context` does."""
    session = manager.get(agent, session_id)
    view = gauged(context_view(agent, session.messages, manager.context_window(session)))
    kept = list(compress(session.messages, view.seen))
    last = tuple(
        (
            one.role if one.kind == "message" else one.kind,
            compact(one.content or (one.tool_calls[0].tool_name if one.tool_calls else ""), length),
        )
        for one in kept[-most:]
    )
    return ShownContext(replace(session, messages=()), view.reason, view.sentence, view.note, len(kept), last)
