"""`hermes-tui sessions list` and `show`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hermes_tui.cli import narration, output
from hermes_tui.cli.machine import manager_of
from hermes_tui.cli.sessions.context import only_seen, strategy_option
from hermes_tui.cli.sessions.diff import diff
from hermes_tui.cli.sessions.export import export
from hermes_tui.cli.sessions.named import get_named, split_name
from hermes_tui.cli.sessions.native import fork, resume
from hermes_tui.cli.sessions.search import browse, search, window_lines, window_records
from hermes_tui.cli.sessions.table import session_table
from hermes_tui.cli.when import when_option
from hermes_tui.errors import ValidationError

if TYPE_CHECKING:
    from hermes_tui.config import ContextWindow
    from hermes_tui.sessions.manager import SessionManager

__all__ = ["list_", "sessions", "show"]

_FORMATS = ("markdown", "json", "jsonl")
_READING = 2.5
"""Seconds of the processor's time that a list spends on files it does not know: 25,000 of them, each run."""


@click.group()
def sessions() -> None:
    """List, search, print, export, compare, resume and fork sessions."""


@sessions.command("list")
@click.argument("agent", required=False)
@click.option("--agent", "named", metavar="AGENT", help="The same as AGENT.")
@click.option(
    "--since", callback=when_option, metavar="WHEN", help="Created then or later: 2026-11-21, 7d, yesterday."
)
@click.option(
    "--until", callback=when_option, metavar="WHEN", help="Created then or earlier; a day counts to its end."
)
@click.option("--model", metavar="ID", help="Only sessions that used this model; reads all in full.")
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
    help="By creation, cost or turns; for cost and turns, every session is read in full.",
)
@click.option("--asc/--desc", default=False, help="Smallest or oldest first, or last.  [default: desc]")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@click.pass_context
def list_(
    context: click.Context,
    /,
    agent: str | None,
    named: str | None,
    as_json: bool,
    asc: bool,
    tags: Sequence[str],
    **options: Any,
) -> None:
    """List the sessions of AGENT, or of all agents, newest first.

    For the table only their metadata is read: a cost is shown where the agent recorded it or it was added up before.
    With --json those that are printed are read in full.
    """
    if agent and named and agent != named:
        raise ValidationError(f"one agent can be asked for, not {agent!r} and {named!r}")
    agent = agent or named
    manager = manager_of(context.find_root().obj.home)
    limit = options.pop("limit")
    # One more than is shown tells whether there are more; a limit that is wrong is refused as it was given.
    asked = limit + 1 if limit >= 0 else limit
    options.update(tags=tags or None, sort_direction="asc" if asc else "desc", limit=asked)
    found = manager.list(agent, seconds=_READING, **options)
    _mention_the_unread(manager)
    more = len(found) > limit
    found = found[:limit]
    if as_json:
        output.write_json(manager.exact(found))
    else:
        pending = manager.pending_costs(found)
        lines = session_table(found, datetime.now(UTC), output.terminal_width(), pending)
        output.write("".join(f"{line}\n" for line in lines))
        _mention_the_rest(manager, agent, len(found) if more else 0, len(pending))


def _mention_the_unread(manager: SessionManager) -> None:
    if unread := manager.catalogue.snapshot.unread:
        what = f"{unread:,} older files are not read yet and their sessions are missing here"
        narration.say(f"hermes-tui: {what}; the same command goes on")


def _mention_the_rest(manager: SessionManager, agent: str | None, cut: int, pending: int) -> None:
    """Say on standard error what the table does not show (law 4); `cut` is after how many rows it ends early,
    `pending` how many of the costs are not known yet."""
    snapshot = manager.catalogue.snapshot
    if not snapshot.sessions:
        narration.say("hermes-tui: no agent has a session here; `hermes-tui doctor` says where was looked")
    if cut:
        narration.say(f"hermes-tui: only the first {cut} are shown; --limit N for more")
    if pending:
        narration.say(
            f"hermes-tui: {pending} of these costs not added up yet (…); `hermes-tui cost report` does that"
        )
    problems = sum(agent in (None, problem.agent) for problem in snapshot.problems)
    if problems:
        narration.say(f"hermes-tui: {problems} could not be read or only in part; `hermes-tui doctor` says why")


@sessions.command("show")
@click.argument("agent", metavar="AGENT")
@click.argument("session_id", metavar="ID", required=False)
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), default="markdown", show_default=True, help="How to print it."
)
@click.option("--around", metavar="MESSAGE", help="Only this message and those around it.")
@click.option(
    "--window", type=click.IntRange(0), default=10, show_default=True, metavar="N", help="So many on each side."
)
@click.option("--context", "seen", is_flag=True, help="Only what the agent still sees of it; says how much.")
@click.option(
    "--strategy",
    callback=strategy_option,
    metavar="NAME[:N]",
    help="With --context: as through buffer_window:N messages, token_window:N tokens or summary_buffer[:N].",
)
@click.pass_context
def show(
    context: click.Context,
    /,
    agent: str,
    session_id: str | None,
    form: str,
    around: str | None,
    window: int,
    seen: bool,
    strategy: ContextWindow | None,
) -> None:
    """Print the session ID of AGENT.

    `agent:id` in one word does as well, and so does the beginning of an id if no other session's begins so.
    """
    if around is None and context.get_parameter_source("window") == ParameterSource.COMMANDLINE:
        raise click.UsageError("--window goes with --around MESSAGE", context)
    manager = manager_of(context.find_root().obj.home)
    agent, session_id = split_name(manager, agent, session_id, context)
    session = get_named(manager, agent, session_id)
    if around is not None:
        found = manager.searches.scroll(session, around, window)
        if form == "markdown":
            output.write("".join(f"{line}\n" for line in window_lines(found, datetime.now(UTC))))
        elif form == "jsonl":
            output.write(b"".join(window_records(found)))
        else:
            output.write_json(found)
        return
    if seen or strategy is not None:
        session = only_seen(manager, session, strategy)
    from hermes_tui.sessions import export as documents

    for part in documents.export(session, form):
        output.write(part)


sessions.add_command(browse)
sessions.add_command(export)
sessions.add_command(search)
sessions.add_command(diff)
sessions.add_command(resume)
sessions.add_command(fork)
