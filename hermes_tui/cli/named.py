"""Sessions as they are named on a command line: `AGENT ID`, `agent:id`, or the beginning of an id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_tui.errors import AgentNotFound, SessionNotFound

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager
    from session_adapters.model import Session

__all__ = ["get_named", "split_name"]


def split_name(
    manager: SessionManager, agent: str, session_id: str | None, context: click.Context
) -> tuple[str, str]:
    """Agent and id, given apart or as `agent:id` in the first. Raises `AgentNotFound`, `click.UsageError`."""
    if session_id is not None:
        return agent, session_id
    native = manager.resolve_native_id(agent)
    if native is not None:
        return native
    name, colon, rest = agent.partition(":")
    if colon and rest:
        raise AgentNotFound(f"unknown agent {name!r}; known are {', '.join(manager.agents)}")
    raise click.UsageError("give AGENT and ID, or both in one word as agent:id", context)


def get_named(manager: SessionManager, agent: str, session_id: str) -> Session:
    """The session of that id, else the only one whose id begins so. Raises as `SessionManager.get` does."""
    try:
        return manager.get(agent, session_id)
    except SessionNotFound:
        found = manager.matches(agent, session_id) if session_id else ()
        if not found:
            raise
        if len(found) > 1:
            names = ", ".join(one.session_id for one in found[:5])
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            text = f"{agent} has several sessions whose id begins with {session_id!r}: {names}{more}"
            raise SessionNotFound(text) from None
        return manager.get(agent, found[0].session_id)
