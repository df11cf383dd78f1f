"""Finds sessions as a command line names them: `AGENT ID`, `agent:id`, a prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hermes_tui.errors import AgentNotFound, SessionNotFound

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager
    from session_adapters.model import Session, SessionSummary

__all__ = ["get_named", "split_name", "summary_named"]


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
    """The session of that name, as `summary_named` takes it. Raises as `SessionManager.get` does."""
    found = _the_only(manager, agent, session_id)
    # Of a session that cannot be listed, reading it tells why.
    return manager.get(agent, session_id if found is None else found.session_id)


def summary_named(manager: SessionManager, agent: str, session_id: str) -> SessionSummary:
    """The session of that id or other name, else the only one whose id begins so, without its messages. Raises as
    `SessionManager.summary` does, also where only the list remembers the session."""
    found = _the_only(manager, agent, session_id) or manager.summary(agent, session_id)
    if found.gone:
        raise SessionNotFound(f"{agent} session {found.session_id!r} is gone: the store no longer has it")
    return found


def _the_only(manager: SessionManager, agent: str, name: str) -> SessionSummary | None:
    """The only session that `name` may mean; None where there is none. Raises `SessionNotFound` where there are
    several."""
    found = manager.matches(agent, name) if name else ()
    shortest = min((one.session_id for one in found), key=len, default="")
    # A helper of Copilot's has the id of its session before its own: the beginning of both means the session.
    if all(one.session_id.startswith(f"{shortest}:") for one in found if one.session_id != shortest):
        found = [one for one in found if one.session_id == shortest]
    if len(found) > 1:
        names = ", ".join(one.session_id for one in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise SessionNotFound(f"{agent} has several sessions that {name!r} may mean: {names}{more}")
    return found[0] if found else None
