"""`hermes-tui sessions list`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from hermes_tui.cli import stderr, stdout
from hermes_tui.cli.filter_options import filter_options, source_option
from hermes_tui.cli.home_option import hurry, manager_of, mention_the_unread
from hermes_tui.cli.sessions.table import session_table
from hermes_tui.errors import ValidationError

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager
    from session_adapters.model import SessionSummary

__all__ = ["list_"]


@click.command("list")
@click.argument("agent", required=False)
@click.option("--agent", "named", metavar="AGENT", help="The same as AGENT.")
@filter_options
@source_option
@click.option("--pinned", is_flag=True, help="Only sessions that you pinned.")
@click.option("--cwd", metavar="DIR", help="Only sessions started in this directory.")
@click.option("--limit", type=int, default=100, show_default=True, metavar="N", help="At most so many.")
@click.option(
    "--sort",
    type=click.Choice(("date", "cost", "turns", "tokens")),
    default="date",
    show_default=True,
    help="By creation, cost, turns or tokens; for all but the first, every session is read in full.",
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
    With --json those that are printed are read in full (of very many as many as a few seconds suffice for), with
    --model all.
    """
    if agent and named and agent != named:
        raise ValidationError(f"one agent can be asked for, not {agent!r} and {named!r}")
    agent = agent or named
    manager = manager_of(context.find_root().obj.home)
    hurry(manager, reads_again=as_json)
    limit = options.pop("limit")
    # One more than is shown tells whether there are more; a limit that is wrong is refused as it was given.
    asked = limit + 1 if limit >= 0 else limit
    options.update(tags=tags or None, sort_direction="asc" if asc else "desc", limit=asked)
    found = manager.list(agent, **options)
    mention_the_unread(manager)
    more = len(found) > limit
    found = found[:limit]
    if as_json:
        rows = manager.exact(found)
        stdout.write_json(rows)
        _mention_the_inexact(rows, len(manager.pending_costs(rows)))
    else:
        pending = manager.pending_costs(found)
        tokens = options["sort"] == "tokens"
        lines = session_table(found, datetime.now(UTC), stdout.terminal_width(), pending, tokens=tokens)
        stdout.write("".join(f"{line}\n" for line in lines))
        _mention_the_rest(manager, agent, len(found) if more else 0, len(pending))


def _mention_the_inexact(rows: Sequence[SessionSummary], pending: int) -> None:
    """Say on standard error what the rows lack (law 4); of `pending` of them the cost."""
    if partial := sum(one.partial for one in rows):
        stderr.say(f"hermes-tui: {partial:,} of these are read at their ends only: their figures are lower bounds")
    if pending:
        stderr.say(f"hermes-tui: the cost of {pending:,} of these is not added up yet; the same command goes on")


def _mention_the_rest(manager: SessionManager, agent: str | None, cut: int, pending: int) -> None:
    """Say on standard error what the table does not show (law 4); `cut` is after how many rows it ends early,
    `pending` how many of the costs are not known yet."""
    snapshot = manager.catalogue.snapshot
    if not snapshot.sessions:
        stderr.say("hermes-tui: no agent has a session here; `hermes-tui doctor` says where was looked")
    if cut:
        stderr.say(f"hermes-tui: only the first {cut} are shown; --limit N for more")
    if pending:
        stderr.say(f"hermes-tui: {pending} of these costs not added up yet (…); `hermes-tui cost report` does that")
    problems = sum(agent in (None, problem.agent) for problem in snapshot.problems)
    if problems:
        stderr.say(f"hermes-tui: {problems} could not be read or only in part; `hermes-tui doctor` says why")
