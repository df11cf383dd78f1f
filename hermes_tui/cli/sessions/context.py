"""`sessions show --context`: what the agent still sees, and how much that is."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

import click

from hermes_tui.cli import stderr
from hermes_tui.errors import ValidationError

if TYPE_CHECKING:
    from hermes_tui.config import ContextWindow
    from hermes_tui.sessions.manager import SessionManager
    from session_adapters.model import Session

__all__ = ["only_seen", "strategy_option"]


def strategy_option(context: click.Context, parameter: click.Parameter, value: str | None) -> ContextWindow | None:
    """The window that was chosen on the command line."""
    if value is None:
        return None
    from hermes_tui.sessions.context.window_choice import parse_window

    try:
        return parse_window(value)
    except ValidationError as error:
        raise click.BadParameter(str(error), context, parameter) from error


def only_seen(manager: SessionManager, session: Session, window: ContextWindow | None) -> Session:
    """The session with the messages that its agent still sees; how much that is, on standard error."""
    from msgspec.structs import replace

    from hermes_tui.sessions.context.view import context_view, gauged

    view = gauged(context_view(session.agent, session.messages, manager.context_window(session, window)))
    reason = f"; {view.reason}" if view.reason else ""
    stderr.say(f"hermes-tui: {session.agent} {view.sentence}{reason}")
    if view.note:
        stderr.say(f"hermes-tui: {view.note}")
    return replace(session, messages=tuple(compress(session.messages, view.seen)))
