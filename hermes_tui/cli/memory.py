"""`hermes-tui memory`: what the long-term memory of Hector's agents holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import asdict

from hermes_tui.cells import pad, width_of
from hermes_tui.cli import stderr, stdout
from hermes_tui.cli.exit_codes import FAILURE, OK
from hermes_tui.cli.home_option import environment_of
from hermes_tui.display import safe
from hermes_tui.errors import HermesTuiError, ValidationError

if TYPE_CHECKING:
    from hermes_tui.memory.configuration import MemoryConfiguration
    from hermes_tui.memory.longterm.memory import LongTermMemory
    from hermes_tui.memory.longterm.protocols import MemoryPoint

__all__ = ["list_points", "memory", "recall", "stats"]

_GAP = "  "
_config = click.option(
    "--config",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Hector's configuration. Without it: config.yaml, hector.yaml or .hector/config.yaml at home.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def memory() -> None:
    """See what the long-term memory of Hector's agents holds.

    Which memory an agent has stands in Hector's configuration. Nothing in it is changed.
    """


@memory.command("list")
@click.argument("agent")
@click.argument("session")
@click.option("--limit", type=click.IntRange(0), default=50, show_default=True, metavar="N", help="At most so many.")
@_config
@_json
@click.pass_context
def list_points(
    context: click.Context, agent: str, session: str, limit: int, path: Path | None, as_json: bool
) -> None:
    """List what is kept of a session of an agent, the newest first."""
    with _opened(context, agent, path) as long_term:
        points = long_term.newest(agent, session, limit)
        if not points:
            _say_nothing_is_kept(long_term, agent, session)
    if as_json:
        stdout.write_json([asdict(one) for one in points])
    else:
        _print(("TIME", "ROLE", "TEXT"), [(_time(one), one.role, one.content) for one in points])


@memory.command()
@click.argument("agent")
@click.argument("session")
@click.argument("question")
@click.option("--limit", type=click.IntRange(0), default=5, show_default=True, metavar="N", help="At most so many.")
@_config
@_json
@click.pass_context
def recall(
    context: click.Context, agent: str, session: str, question: str, limit: int, path: Path | None, as_json: bool
) -> None:
    """Ask what an agent would recall in a session, the nearest first, with scores.

    The question goes to the embedder that the configuration names; without one, to a model on this machine.
    """
    with _opened(context, agent, path) as long_term:
        found = long_term.recall(agent, session, question, limit)
        if not found:
            _say_nothing_is_kept(long_term, agent, session)
    if as_json:
        stdout.write_json([{"score": one.score, **asdict(one.point)} for one in found])
    else:
        rows = [(f"{one.score:.3f}", _time(one.point), one.point.role, one.point.content) for one in found]
        _print(("SCORE", "TIME", "ROLE", "TEXT"), rows)


@memory.command()
@_config
@_json
@click.pass_context
def stats(context: click.Context, path: Path | None, as_json: bool) -> int:
    """Say how much each agent keeps, and where.

    A memory that cannot be read is named, with the reason, and the exit code is 1.
    """
    from hermes_tui.memory.components import MemoryComponents

    configuration = _configuration(context, path)
    rows: list[dict[str, Any]] = []
    components = MemoryComponents(configuration, read_only=True)
    try:
        for agent in configuration.agents:
            try:
                long_term = components.long_term(agent)
                found = None if long_term is None else long_term.stats(agent)
            except HermesTuiError as error:  # one dead server hides no other agent's memory
                rows.append({"agent": agent, "problem": str(error)})
            else:
                rows.append({"agent": agent, **(asdict(found) if found is not None else {})})
    finally:
        components.shutdown()
    if as_json:
        stdout.write_json(rows)
    else:
        _print(("AGENT", "POINTS", "EMBEDDER", "STORE"), [_row(one) for one in rows])
    problems = [one for one in rows if "problem" in one]
    for one in problems:
        stderr.say(f"hermes-tui: {safe(one['agent'])}: {safe(one['problem'])}")
    return FAILURE if problems else OK


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    """What is known of the memory of one agent."""
    if "points" in one:
        return (one["agent"], f"{one['points']:,}", one["embedder"], one["store"])
    count, why = ("?", "cannot be read") if "problem" in one else ("—", "no long-term memory")
    return (one["agent"], count, why, "")


@contextmanager
def _opened(context: click.Context, agent: str, path: Path | None) -> Iterator[LongTermMemory]:
    """The long-term memory of an agent, for as long as it is needed. Raises `ValidationError`."""
    from hermes_tui.memory.components import MemoryComponents

    configuration = _configuration(context, path)
    if agent not in configuration.agents:
        known = ", ".join(configuration.agents)
        raise ValidationError(f"the configuration has no agent {agent!r}; known are {known}")
    components = MemoryComponents(configuration, read_only=True)
    try:
        long_term = components.long_term(agent)
        if long_term is None:
            raise ValidationError(f"the agent {agent!r} has no long-term memory: memory.longterm is not configured")
        yield long_term
    finally:
        components.shutdown()


def _say_nothing_is_kept(long_term: LongTermMemory, agent: str, session: str) -> None:
    """Of a mistyped session there is nothing, and nothing else would tell why."""
    if not long_term.stats(agent, session).points:
        stderr.say(f"hermes-tui: nothing is kept of a session {safe(session)!r} of {safe(agent)}")


def _configuration(context: click.Context, path: Path | None) -> MemoryConfiguration:
    """Raises `ValidationError`."""
    from hermes_tui.memory.configuration import own_configuration, read_configuration
    from hermes_tui.sessions.own_environment import own_environment

    environment = environment_of(context.find_root().obj.home) or own_environment()
    if path is not None:
        return read_configuration(path, environment.variables)
    found = own_configuration(environment)
    if found is None:
        raise ValidationError("there is no configuration of Hector's at home; name it with --config")
    return found[1]


def _time(point: MemoryPoint) -> str:
    """Local; nothing for a point that Hector itself wrote without one."""
    return point.time.astimezone().strftime("%Y-%m-%d %H:%M") if point.time is not None else ""


def _print(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table no wider than the terminal; the last column gives way."""
    table = [tuple(heading), *(tuple(safe(" ".join(cell.split())) for cell in row) for row in rows)]
    widths = [max(width_of(row[column]) for row in table) for column in range(len(heading))]
    rest = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    widths[-1] = max(10, min(widths[-1], stdout.terminal_width() - rest))
    for row in table:
        stdout.write(_GAP.join(pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")
