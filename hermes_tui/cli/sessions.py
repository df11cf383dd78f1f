"""`hermes-tui sessions list` and `hermes-tui sessions show`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from hermes_tui.cli import narration, output
from hermes_tui.cli.machine import manager_of
from hermes_tui.cli.table import session_table
from hermes_tui.cli.when import when_option
from hermes_tui.errors import AgentNotFound, SessionNotFound

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager
    from session_adapters.model import Session

__all__ = ["list_", "sessions", "show"]

_FORMATS = ("markdown", "json", "jsonl")


@click.group()
def sessions() -> None:
    """List sessions, or print one."""


@sessions.command("list")
@click.argument("agent", required=False)
@click.option(
    "--since", callback=when_option, metavar="WHEN", help="Created then or later: 2026-11-21, 7d, yesterday."
)
@click.option(
    "--until", callback=when_option, metavar="WHEN", help="Created then or earlier; a day counts to its end."
)
@click.option("--model", metavar="ID", help="Only sessions that used this model.")
@click.option(
    "--tag", "tags", multiple=True, metavar="TAG", help="Only sessions with this tag; repeat for any of several."
)
@click.option("--cwd", metavar="DIR", help="Only sessions started in this directory.")
@click.option("--limit", type=int, default=100, show_default=True, metavar="N", help="At most so many.")
@click.option(
    "--sort",
    type=click.Choice(("date", "cost", "turns")),
    default="date",
    show_default=True,
    help="By creation, cost or turns.",
)
@click.option("--asc/--desc", default=False, help="Smallest or oldest first, or last.  [default: desc]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@click.pass_context
def list_(
    context: click.Context,
    /,
    agent: str | None,
    as_json: bool,
    asc: bool,
    tags: Sequence[str],
    **options: Any,
) -> None:
    """List the sessions of AGENT, or of all agents, newest first."""
    manager = manager_of(context.find_root().obj.home)
    limit = options.pop("limit")
    # One more than is shown tells whether there are more; a limit that is wrong is refused as it was given.
    asked = limit + 1 if limit >= 0 else limit
    found = manager.list(agent, tags=tags or None, sort_direction="asc" if asc else "desc", limit=asked, **options)
    more = len(found) > limit
    found = found[:limit]
    if as_json:
        output.write_json(found)
    else:
        lines = session_table(found, datetime.now(UTC), output.terminal_width())
        output.write("".join(f"{line}\n" for line in lines))
        _mention_the_rest(manager, agent, len(found) if more else 0)


def _mention_the_rest(manager: SessionManager, agent: str | None, cut: int) -> None:
    """Say on standard error what the table does not show (law 4); `cut` is after how many rows it ends early."""
    snapshot = manager.catalogue.snapshot
    if not snapshot.sessions:
        narration.say("hermes-tui: no agent has a session here; `hermes-tui doctor` says where was looked")
    if cut:
        narration.say(f"hermes-tui: only the first {cut} are shown; --limit N for more")
    problems = sum(agent in (None, problem.agent) for problem in snapshot.problems)
    if problems:
        narration.say(f"hermes-tui: {problems} could not be read or only in part; `hermes-tui doctor` says why")


@sessions.command("show")
@click.argument("agent", metavar="AGENT")
@click.argument("session_id", metavar="ID", required=False)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="markdown", show_default=True, help="How to print it."
)
@click.pass_context
def show(context: click.Context, agent: str, session_id: str | None, form: str) -> None:
    """Print the session ID of AGENT.

    `agent:id` in one word does as well, and so does the beginning of an id if no other session's begins so.
    """
    manager = manager_of(context.find_root().obj.home)
    if session_id is None:
        agent, session_id = _unified(manager, agent, context)
    manager.catalogue.saved()
    session = _get(manager, agent, session_id)
    from hermes_tui.sessions.export import export

    for part in export(session, form):
        output.write(part)


def _unified(manager: SessionManager, text: str, context: click.Context) -> tuple[str, str]:
    native = manager.resolve_native_id(text)
    if native is not None:
        return native
    agent, colon, session_id = text.partition(":")
    if colon and session_id:
        raise AgentNotFound(f"unknown agent {agent!r}; known are {', '.join(manager.agents)}")
    raise click.UsageError("give AGENT and ID, or both in one word as agent:id", context)


def _get(manager: SessionManager, agent: str, session_id: str) -> Session:
    """The session of that id, else the only one whose id begins so."""
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
