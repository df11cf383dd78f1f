"""`hermes-tui mcp` and `hermes-tui skill`: what agents use of this program."""

from __future__ import annotations

import os
import sys
import threading
from datetime import date, datetime, timedelta
from pathlib import Path

import click

from hermes_tui.cli import exit_codes, stdout
from hermes_tui.cli.filter_options import since_option
from hermes_tui.cli.home_option import environment_of
from hermes_tui.errors import ValidationError
from session_adapters.registry import install_command

__all__ = ["mcp", "skill"]

_READING = 1.0
"""Seconds of the processor's time in which files are read that nothing is known of, before each answer."""


@click.command()
@click.option(
    "--agents", "agents", metavar="NAME,…", help="Show sessions of these agents alone: claude,codex. Without it: all."
)
@click.option(
    "--cwd",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="Show only sessions that were started in this directory or below it.",
)
@since_option
@click.option("--no-redact", is_flag=True, help="Give keys, tokens and passwords as they stand in sessions.")
@click.pass_context
def mcp(
    context: click.Context, agents: str | None, cwd: Path | None, since: datetime | date | None, no_redact: bool
) -> None:
    """Serve agents on standard input and output (Model Context Protocol).

    The tools session_search, session_overview and sessions_now, and sessions as resources. Nothing is written but
    our own list and index. Needs the extra `mcp`: started without it, it says how to install that.
    """
    from hermes_tui.mcp.scope import Scope
    from hermes_tui.mcp.tools import AgentTools
    from hermes_tui.platform.memory_tuning import stay_small
    from hermes_tui.sessions.manager import SessionManager
    from hermes_tui.sessions.own_environment import this_machine

    if sys.stdout is None:  # started with standard output closed
        raise stdout.PipeClosed
    if sys.stdin is None:  # no client is there
        return
    stay_small()  # before there are threads
    settings = context.find_root().obj
    config = settings.config()
    environment = environment_of(settings.home) or this_machine()
    names = None if agents is None else [name.strip() for name in agents.split(",") if name.strip()]
    manager = SessionManager(environment, agents=names, indexed=config.index)
    manager.catalogue.seconds = _READING
    scope = Scope(manager, cwd=cwd, since=since)
    stuck_after = timedelta(seconds=config.attention.stuck_seconds)
    tools = AgentTools(manager, scope, redact=not no_redact, stuck_after=stuck_after)
    # While the SDK is imported, and the client asks what there is.
    getting_ready = threading.Thread(target=tools.get_ready, name="get ready", daemon=True)
    getting_ready.start()
    try:
        from hermes_tui.mcp.server import serve

        serve(tools, scope)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise  # a module of ours that is missing is a fault, and no extra helps
        raise ValidationError(f"the protocol's SDK is not installed: {install_command('mcp')}") from error
    except OSError as error:
        raise stdout.trouble(error) from error
    except KeyboardInterrupt:
        # Before it serves. Not after what gets ready, which may take long; SIGTERM loses no more.
        os._exit(exit_codes.INTERRUPTED)
    finally:
        getting_ready.join()
        manager.catalogue.close()
        manager.index.close()


@click.command()
def skill() -> None:
    """Print a SKILL.md that teaches an agent the commands of this program.

    For agents that use a shell; unlike the MCP server it costs no context until it is read.
    """
    stdout.write(Path(__file__).parents[1].joinpath("mcp", "SKILL.md").read_bytes())
