"""`hermes-tui cost report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from hermes_tui.cells import pad, width_of
from hermes_tui.cli import stderr, stdout
from hermes_tui.cli.filter_options import filter_options, source_option
from hermes_tui.cli.home_option import hurry, is_known, manager_of, mention_the_unread
from hermes_tui.display import count, dollars, safe

if TYPE_CHECKING:
    from hermes_tui.sessions.cost.report import CostBreakdown, CostSummary

__all__ = ["cost", "report"]

_GROUPS = ("agent", "model", "day", "tag", "project", "branch", "lane", "conversation", "session")
_HEAD = ("SESSIONS", "CALLS", "INPUT", "CACHED", "WRITTEN", "OUTPUT", "COST")
_OPTIONAL = (2, 5, 4, 3, 6)
"""Columns of a row that a narrow terminal does without, the least telling first."""
_GAP = "  "
_KEY_LEAST = 16


@click.group()
def cost() -> None:
    """What sessions cost."""


@cost.command("report")
@click.option("--agent", metavar="AGENT", help="Only sessions of this agent.")
@filter_options
@source_option
@click.option(
    "--group-by",
    type=click.Choice(_GROUPS),
    default="agent",
    show_default=True,
    help="A line for each agent, model, day, tag, project directory, git branch, lane, conversation (its parts and "
    "sub-agents) or session.",
)
@click.option(
    "--sort",
    type=click.Choice(("cost", "tokens", "key")),
    help="The lines with the most first, or in the order of their names.  [default: cost; days by name]",
)
@click.option("--local-days", is_flag=True, help="Days of the local time zone, not of UTC.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def report(
    context: click.Context, /, agent: str | None, tags: Sequence[str], group_by: str, as_json: bool, **options: Any
) -> None:
    """Add up what sessions cost, in US dollars.

    What an agent recorded counts first, then what agent-mux recorded; the rest is estimated, call by call, from a
    list of prices, and marked with ~. With --model, all that the sessions used counts, also of other models.
    """
    manager = manager_of(context.find_root().obj.home)
    hurry(manager, reads_again=True)
    summary = manager.total_cost(agent=agent, tags=tuple(tags) or None, group_by=group_by, **options)
    mention_the_unread(manager)
    manager.catalogue.close()
    groups = list((summary.breakdowns or {}).values())
    if as_json:
        for group in groups:
            group.sessions = ()
        stdout.write_json(summary)
    else:
        lines = _table(group_by, groups, summary, stdout.terminal_width())
        stdout.write("".join(f"{line}\n" for line in lines))
        if summary.estimated_usd:
            stderr.say("hermes-tui: ~ is an estimate from a list of prices, not what was billed")
    if agent is not None:
        is_known(agent, manager.agents)
    if summary.unpriced:
        names = ", ".join(map(safe, summary.unpriced))
        tokens = count(summary.unpriced_tokens)
        stderr.say(f"hermes-tui: no price is known for {names} ({tokens} tokens, not in the sums)")
        stderr.say("hermes-tui: a table [prices.MODEL] in config.toml sets a price")
    if left := manager.costs.left:
        stderr.say(f"hermes-tui: the calls of {left:,} older files are not added up yet; the same command goes on")
    for problem in manager.costs.problems:
        stderr.say(f"hermes-tui: {safe(problem.path)}: {safe(problem.reason)}")


def _table(group_by: str, groups: Sequence[CostBreakdown], summary: CostSummary, width: int) -> Iterator[str]:
    """A line for each group and one for the whole, no wider than `width` where that is possible."""
    rows = [(group_by.upper(), *_HEAD), *(_row(safe(one.key), one) for one in groups), _row("Total", summary)]
    widths = [max(width_of(row[column]) for row in rows) for column in range(len(rows[0]))]
    columns = list(range(len(widths)))
    for optional in _OPTIONAL:
        if sum(widths[column] + len(_GAP) for column in columns[1:]) + min(widths[0], _KEY_LEAST) <= width:
            break
        columns.remove(optional)
    rest = sum(widths[column] + len(_GAP) for column in columns[1:])
    widths[0] = max(1, min(widths[0], width - rest))
    for row in rows:
        yield _GAP.join(pad(row[column], widths[column], right=column > 0) for column in columns)


def _row(name: str, one: CostBreakdown | CostSummary) -> tuple[str, ...]:
    # Of sessions whose agent records no call at all nobody knows what was spent: that is not 0.00.
    unknown = one.session_count and not one.call_count and not one.total_usd
    spent = dollars(one.total_usd, estimated=one.estimated_usd > 0, unpriced=one.unpriced_tokens > 0)
    return (
        name,
        count(one.session_count),
        count(one.call_count),
        count(one.input_tokens),
        count(one.cached_tokens),
        count(one.cache_write_tokens),
        count(one.output_tokens),
        "—" if unknown else spent,
    )
