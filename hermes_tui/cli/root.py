"""The command `hermes-tui` itself: its options, and the names of its commands."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import click

from hermes_tui import __version__
from hermes_tui.cli.settings import HOME_VARIABLE, Settings

__all__ = ["COMMANDS", "CommandPlace", "root"]


class CommandPlace(NamedTuple):
    """Where a command is and what it does, so that `--help` need not import it."""

    module: str
    attribute: str
    help: str


COMMANDS = {
    "attention": CommandPlace("hermes_tui.cli.attention", "attention", "Say which sessions need a person now."),
    "cost": CommandPlace("hermes_tui.cli.cost", "cost", "Say what sessions cost."),
    "demo": CommandPlace("hermes_tui.cli.demo", "demo", "Try it on made-up sessions in a temporary home."),
    "doctor": CommandPlace(
        "hermes_tui.cli.doctor", "doctor", "Say where sessions are looked for and what cannot be read."
    ),
    "hermes": CommandPlace("hermes_tui.cli.hermes.sessions", "hermes", "Manage what is Hermes' own: its sessions."),
    "index": CommandPlace("hermes_tui.cli.index", "index", "See, rebuild or delete the search index."),
    "jump": CommandPlace("hermes_tui.cli.attention", "jump", "Go to the tmux pane in which a session runs."),
    "lanes": CommandPlace("hermes_tui.cli.lanes.commands", "lanes", "See and steer the lanes of Hermes' gateway."),
    "mcp": CommandPlace("hermes_tui.cli.agent_tools", "mcp", "Let agents search sessions: an MCP server on stdio."),
    "memory": CommandPlace("hermes_tui.cli.memory", "memory", "See what Hector's agents keep in long-term memory."),
    "sessions": CommandPlace(
        "hermes_tui.cli.sessions.commands",
        "sessions",
        "List, search, print, export, compare and go on with sessions.",
    ),
    "skill": CommandPlace("hermes_tui.cli.agent_tools", "skill", "Print a SKILL.md: these commands, for agents."),
    "status": CommandPlace("hermes_tui.cli.attention", "status", "Print one line for a status bar."),
}


class _Commands(click.Group):
    """Imports a command when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        command: click.Command = getattr(import_module(place.module), place.attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.help) for name, place in sorted(COMMANDS.items())])


@click.group(
    cls=_Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="hermes-tui", message="%(prog)s %(version)s")
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    envvar=HOME_VARIABLE,
    metavar="DIR",
    help="Look for every agent's sessions in this home directory instead of yours. [env: HERMES_TUI_HOME]",
)
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal, for selecting and copying.")
@click.option("--theme", metavar="NAME", help="Colours: a theme by name; an unknown name lists them.")
@click.option(
    "--read-only", is_flag=True, help="Refuse every key and command that changes Hermes' lanes or sessions."
)
@click.option("--no-index", is_flag=True, help="Make and use no search index: search the sessions themselves.")
@click.pass_context
def root(
    context: click.Context, home: Path | None, no_mouse: bool, theme: str | None, read_only: bool, no_index: bool
) -> int:
    """See, read and search every session of every AI agent on this machine.

    Without a command the terminal program opens. Sessions are only ever read.
    """
    context.obj = Settings(home, not no_mouse, theme, read_only, not no_index)
    if context.invoked_subcommand is None:
        from hermes_tui.cli.tui import open_tui

        return open_tui(context.obj)
    return 0
