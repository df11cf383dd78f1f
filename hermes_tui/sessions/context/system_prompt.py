"""The system prompt that a session began with, where its agent keeps it."""

from __future__ import annotations

from hermes_tui.errors import CapabilityError, ParseError, SessionNotFound
from session_adapters.hermes import system_prompt as hermes
from session_adapters.model import SessionMissing, SessionSummary, SessionUnreadable

__all__ = ["system_prompt"]


def system_prompt(session: SessionSummary) -> str:
    """As the agent wrote it: not safe for a terminal; empty where none is kept. Raises `CapabilityError` for an agent
    that keeps none, `SessionNotFound`, `ParseError`."""
    if session.agent != "hermes":
        raise CapabilityError(f"only Hermes keeps system prompts, and this is a session of {session.agent}")
    try:
        return hermes.system_prompt(session.path, session.session_id)
    except SessionMissing as error:
        raise SessionNotFound(str(error)) from error
    except SessionUnreadable as error:
        raise ParseError(str(error)) from error
