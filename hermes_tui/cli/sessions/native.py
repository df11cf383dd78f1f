"""`hermes-tui sessions resume` and `fork`, in the agent's own CLI."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hermes_tui.cli import exit_codes, stderr, stdout
from hermes_tui.cli.home_option import manager_of
from hermes_tui.cli.sessions.session_argument import split_name, summary_named
from hermes_tui.errors import OperationRefused

if TYPE_CHECKING:
    from hermes_tui.sessions.native.plan import Obstacle, Verb

__all__ = ["fork", "resume"]


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in (
        click.option("--yes", is_flag=True, help="Start without asking, whatever the warnings."),
        click.option(
            "--cwd",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Run there instead of in the session's own directory.",
        ),
        click.option("--print", "only_print", is_flag=True, help="Print the command for a shell; start nothing."),
        click.argument("session_id", metavar="ID", required=False),
        click.argument("agent", metavar="AGENT"),
    ):
        command = decorate(command)
    return command


@click.command("resume")
@_common
@click.pass_context
def resume(context: click.Context, /, agent: str, session_id: str | None, **options: Any) -> int:
    """Resume the session ID of AGENT, in the agent's own CLI.

    `agent:id` in one word does as well, and so does the beginning of an id if no other session's begins so. The exit
    code is the program's.
    """
    return _run(context, "resume", agent, session_id, **options)


@click.command("fork")
@_common
@click.pass_context
def fork(context: click.Context, /, agent: str, session_id: str | None, **options: Any) -> int:
    """Begin a new session with what was said in the session ID of AGENT.

    It begins in the agent's own CLI, whose exit code is given on. `agent:id` in one word does as well, and so
    does the beginning of an id if no other session's begins so.
    """
    return _run(context, "fork", agent, session_id, **options)


def _run(
    context: click.Context,
    verb: Verb,
    agent: str,
    session_id: str | None,
    *,
    only_print: bool,
    cwd: Path | None,
    yes: bool,
) -> int:
    manager = manager_of(context.find_root().obj.home)
    agent, session_id = split_name(manager, agent, session_id, context)
    summary = summary_named(manager, agent, session_id)
    make = manager.resume if verb == "resume" else manager.fork
    start = make(summary.agent, summary.session_id, cwd=cwd)
    if only_print:
        stdout.write(f"{start.line}\n")
        for text in (*map(_hint, start.obstacles), *start.warnings):
            stderr.say(f"hermes-tui: {text}")
        return exit_codes.OK
    start.check(_hint)
    for warning in start.warnings:
        stderr.say(f"hermes-tui: {warning}")
    if start.warnings and not yes:
        if sys.stdin is None or not sys.stdin.isatty():
            raise OperationRefused(f"{start.verb}: nobody is there to be asked; --yes starts it all the same")
        stderr.say(start.line)
        if not click.confirm("Start it?", default=False, err=True):
            raise OperationRefused("nothing was started")
    manager.catalogue.close()
    stdout.finish()
    from hermes_tui.sessions.native.start import become

    return become(start)


def _hint(obstacle: Obstacle) -> str:
    """With the option that helps, where there is one."""
    return f"{obstacle.text} with --cwd DIR" if obstacle.kind == "directory" else obstacle.text
