"""The command `hermes-tui` itself: its options, and the names of its commands."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

from hermes_tui import __version__
from hermes_tui.cli.settings import HOME_VARIABLE, Settings

__all__ = ["COMMANDS", "CommandPlace", "LazyGroup", "root"]


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
        "List, search, print, export, compare, mark, resume and fork sessions.",
    ),
    "skill": CommandPlace("hermes_tui.cli.agent_tools", "skill", "Print a SKILL.md: these commands, for agents."),
    "status": CommandPlace("hermes_tui.cli.attention", "status", "Print one line for a status bar."),
}


class LazyGroup(click.Group):
    """Knows where its commands are, and imports none but the one that is run."""

    def __init__(self, *args: Any, places: Mapping[str, tuple[str, str]], **attributes: Any) -> None:
        """`places`: name → module, and what the command is called there."""
        super().__init__(*args, **attributes)
        self._places = places

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return sorted(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; None where there is none."""
        if cmd_name not in self._places:
            return None
        module, attribute = self._places[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; it looks for what a mistyped name was meant for among imported commands alone."""
        name = args[0]
        if name in self._places or name.startswith("-") or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        near = get_close_matches(name, self._places, 1)
        raise click.UsageError(f"No such command {name!r}." + (f" Did you mean {near[0]!r}?" if near else ""), ctx)


class _Commands(LazyGroup):
    """Lists its commands without importing them."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.help) for name, place in sorted(COMMANDS.items())])


@click.group(
    cls=_Commands,
    places={name: place[:2] for name, place in COMMANDS.items()},
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
