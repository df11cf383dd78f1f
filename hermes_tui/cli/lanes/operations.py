"""The `hermes-tui lanes` commands that change something.

Each shows its plan, asks, applies and says what became of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from hermes_tui.cli import exit_codes, stderr, stdout
from hermes_tui.cli.lanes.listing import board_of, environment, lane_named
from hermes_tui.errors import OperationRefused, ValidationError

if TYPE_CHECKING:
    from hermes_tui.lifecycle.operations.history import OperatedOn
    from hermes_tui.lifecycle.operations.operations import Operations
    from hermes_tui.lifecycle.operations.plan import Plan, Request
    from hermes_tui.lifecycle.operations.verify import Outcome

__all__ = [
    "Command",
    "carried_out",
    "clear",
    "common_options",
    "log",
    "log_options",
    "mark",
    "operations_of",
    "prune",
    "reset",
    "resume",
    "suspend",
    "taken_back",
    "undo",
    "write_log",
]

_CODES = {
    "lost": exit_codes.LOST,
    "failed": exit_codes.LOST,
    "pending": exit_codes.PENDING,
    "interrupted": exit_codes.PENDING,
}

Command = Callable[..., int]


def common_options(command: Command) -> Command:
    """The options that all of them have."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print plan and outcome as JSON."),
        click.option("--yes", is_flag=True, help="Do it without asking."),
        click.option("--dry-run", is_flag=True, help="Only show the plan."),
        click.option("--profile", metavar="NAME", help="On this profile, where several have such a one."),
    ):
        command = option(command)
    return command


def log_options(command: Callable[..., None]) -> Callable[..., None]:
    """Those of a log."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--profile", metavar="NAME", help="Only what was done to this profile's."),
        click.option(
            "--limit", type=click.IntRange(1), default=50, show_default=True, metavar="N", help="At most so many."
        ),
    ):
        command = option(command)
    return command


@click.command("reset")
@click.argument("key")
@common_options
@click.pass_context
def reset(context: click.Context, /, key: str, profile: str | None, **options: bool) -> int:
    """Give the lane KEY a new, empty session."""
    return carried_out(context, _request(context, "reset", key, profile), **options)


@click.command("suspend")
@click.argument("key")
@common_options
@click.pass_context
def suspend(context: click.Context, /, key: str, profile: str | None, **options: bool) -> int:
    """Let the next message of the lane KEY begin a new session."""
    return carried_out(context, _request(context, "suspend", key, profile), **options)


@click.command("resume")
@click.argument("key")
@click.argument("session")
@click.option("--force", is_flag=True, help="Also a session of another chat or person.")
@common_options
@click.pass_context
def resume(
    context: click.Context, /, key: str, session: str, profile: str | None, force: bool, **options: bool
) -> int:
    """Let the lane KEY go on in another session of the same profile."""
    return carried_out(context, _request(context, "resume", key, profile, target=session, force=force), **options)


@click.command("mark")
@click.argument("key")
@click.option(
    "--reason",
    type=click.Choice(("restart_timeout", "shutdown_timeout", "restart_interrupted")),
    default="restart_timeout",
    show_default=True,
    help="Why it was interrupted.",
)
@common_options
@click.pass_context
def mark(context: click.Context, /, key: str, reason: str, profile: str | None, **options: bool) -> int:
    """Mark the lane KEY as interrupted, to keep its conversation."""
    return carried_out(context, _request(context, "mark", key, profile, reason=reason), **options)


@click.command("clear")
@click.argument("key")
@common_options
@click.pass_context
def clear(context: click.Context, /, key: str, profile: str | None, **options: bool) -> int:
    """Take the resume mark away from the lane KEY."""
    return carried_out(context, _request(context, "clear", key, profile), **options)


@click.command("prune")
@click.option("--days", type=click.IntRange(1), required=True, metavar="N", help="Without activity for longer.")
@common_options
@click.pass_context
def prune(context: click.Context, /, days: int, profile: str | None, **options: bool) -> int:
    """Drop old lanes from a profile's index; their sessions stay."""
    from hermes_tui.lifecycle.operations.plan import Request

    return carried_out(context, Request(kind="prune", profile=profile or "default", days=days), **options)


@click.command("undo")
@click.argument("operation")
@common_options
@click.pass_context
def undo(context: click.Context, /, operation: str, profile: str | None, **options: bool) -> int:
    """Take an operation back, where the store still allows it.

    `lanes log` has the ids.
    """
    return taken_back(context, operation, profile, **options)


@click.command("log")
@log_options
@click.pass_context
def log(context: click.Context, /, limit: int, profile: str | None, as_json: bool) -> None:
    """List what was done to lanes, newest first, and what became of it."""
    write_log(context, "lanes", limit, profile, as_json=as_json)


def operations_of(context: click.Context) -> Operations:
    """On the machine that the command was given, as the settings allow."""
    from hermes_tui.lifecycle.operations.operations import Operations

    return Operations(
        environment(context),
        read_only=context.find_root().obj.config().read_only,
        waiting=lambda words: stderr.say(f"hermes-tui: {words}"),
    )


def _request(context: click.Context, kind: Any, key: str, profile: str | None, **more: Any) -> Request:
    """With the whole key, where its end was given."""
    from hermes_tui.lifecycle.operations.plan import Request

    lane = lane_named(board_of(context, profile, datetime.now(UTC)), key)
    return Request(kind=kind, profile=lane.profile, key=lane.key, **more)


def carried_out(context: click.Context, request: Request, **options: bool) -> int:
    """Plan what was asked for and do it, with `common_options`; the exit code. Raises `OperationRefused`."""
    operations = operations_of(context)
    return _apply(operations, operations.plan(request), **options)


def taken_back(context: click.Context, operation: str, profile: str | None, **options: bool) -> int:
    """The same of the undoing of an operation. Raises `ValidationError` where it was on another profile."""
    operations = operations_of(context)
    plan = operations.undo(operation)
    if profile not in (None, plan.request.profile):
        raise ValidationError(f"operation {operation} was on profile {plan.request.profile!r}, not on {profile!r}")
    return _apply(operations, plan, **options)


def write_log(context: click.Context, on: OperatedOn, limit: int, profile: str | None, *, as_json: bool) -> None:
    """What was done to lanes, or to sessions, newest first, and what became of it."""
    from hermes_tui.cli.lanes.view import outcome_line

    operations = operations_of(context)
    found = operations.log(limit, profile, on)
    if as_json:
        stdout.write_json(found)
    else:
        stdout.write("".join(f"{outcome_line(one)}\n" for one in found) or "(nothing was done)\n")
    for problem in operations.history().problems:
        stderr.say(f"hermes-tui: {problem}")


def _apply(operations: Operations, plan: Plan, *, as_json: bool, yes: bool, dry_run: bool) -> int:
    """Show the plan, ask unless told not to, and apply it; the exit code. Raises `OperationRefused` unless a person
    says yes where that is asked."""
    from hermes_tui.cli.lanes.view import outcome_line, plan_lines

    if not as_json:
        stdout.write("".join(f"{line}\n" for line in plan_lines(plan)))
    if dry_run:
        if as_json:
            stdout.write_json({"plan": plan})
        return exit_codes.REFUSED if plan.refusal else exit_codes.OK
    if not plan.refusal and not yes and not operations.read_only:  # which `apply` says, whatever is answered
        if as_json or sys.stdin is None or not sys.stdin.isatty():
            raise OperationRefused(
                f"{plan.request.kind}: nobody is there to confirm the plan; --yes does it without asking"
            )
        stdout.finish()  # the plan is on the screen before the question
        if not click.confirm("Do it?", default=False, err=True):
            raise OperationRefused("nothing was changed")
    outcome: Outcome = operations.apply(plan)
    if as_json:
        stdout.write_json({"plan": plan, "outcome": outcome})
    else:
        stdout.write(f"{outcome_line(outcome)}\n")
    return _CODES.get(outcome.state, exit_codes.OK)
