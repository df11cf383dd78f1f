"""`hermes-tui sessions list`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from hermes_tui.cli import stderr, stdout
from hermes_tui.cli.filter_options import filter_options, source_option
from hermes_tui.cli.home_option import hurry, manager_of, mention_problems, mention_the_unread, mention_wrong_settings
from hermes_tui.cli.sessions.table import session_table
from hermes_tui.errors import ValidationError

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
        # What the rows lack is said on standard error (law 4).
        unknown = len(manager.pending_costs(rows))
        if partial := sum(one.partial for one in rows):
            ends = f"{partial:,} of these are read at their ends only"
            stderr.say(f"hermes-tui: {ends}: their figures are lower bounds")
        if unknown:
            stderr.say(f"hermes-tui: the cost of {unknown:,} of these is not added up yet; the same command goes on")
    else:
        pending = manager.pending_costs(found)
        tokens = options["sort"] == "tokens"
        lines = session_table(found, datetime.now(UTC), stdout.terminal_width(), pending, tokens=tokens)
        stdout.write("".join(f"{line}\n" for line in lines) if found or not more else "")
        # And what the table does not show.
        if not manager.catalogue.snapshot.sessions:
            stderr.say("hermes-tui: no agent has a session here; `hermes-tui doctor` says where was looked")
        if more:
            shown = f"only the first {len(found)} are shown" if found else "--limit 0 shows none"
            stderr.say(f"hermes-tui: {shown}; --limit N for more")
        if pending:
            late = f"{len(pending)} of these costs not added up yet (…)"
            stderr.say(f"hermes-tui: {late}; `hermes-tui cost report` does that")
    mention_problems(manager, agent)
    mention_wrong_settings(manager)
