"""The command `hermes-tui` itself: its options, and the names of its commands."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from hermes_tui import __version__

if TYPE_CHECKING:
    from hermes_tui.config import Config

__all__ = ["COMMANDS", "Place", "Settings", "root"]


class Place(NamedTuple):
    """Where a command is and what it does, so that `--help` need not import it."""

    module: str
    attribute: str
    help: str


class Settings(NamedTuple):
    """The options before the command; every command finds them in `context.find_root().obj`."""

    home: Path | None
    mouse: bool
    theme: str | None
    read_only: bool = False

    def config(self) -> Config:
        """The user's settings with these options on top. Raises `ValidationError` for a settings file that is
        wrong; a command that needs none of them works all the same."""
        from msgspec.structs import replace

        from hermes_tui.config import load

        kept = load()
        return replace(
            kept,
            mouse=self.mouse and kept.mouse,
            theme=self.theme or kept.theme,
            read_only=self.read_only or kept.read_only,
        )


COMMANDS = {
    "demo": Place("hermes_tui.cli.demo", "demo", "Try it on made-up sessions in a temporary home."),
    "doctor": Place("hermes_tui.cli.doctor", "doctor", "Say where sessions are looked for and what cannot be read."),
    "lanes": Place("hermes_tui.cli.lanes", "lanes", "See and steer the lanes of Hermes' gateway."),
    "sessions": Place("hermes_tui.cli.sessions", "sessions", "List sessions, or print one."),
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
    envvar="HERMES_TUI_HOME",
    metavar="DIR",
    help="Look for every agent's sessions in this home directory instead of yours. [env: HERMES_TUI_HOME]",
)
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal, for selecting and copying.")
@click.option("--theme", metavar="NAME", help="Colours: a theme by name; an unknown name lists them.")
@click.option("--read-only", is_flag=True, help="Refuse every key and command that changes a gateway's lanes.")
@click.pass_context
def root(context: click.Context, home: Path | None, no_mouse: bool, theme: str | None, read_only: bool) -> int:
    """See, read and search every session of every AI agent on this machine.

    Without a command the terminal program opens. Sessions are only ever read.
    """
    context.obj = Settings(home, not no_mouse, theme, read_only)
    if context.invoked_subcommand is None:
        from hermes_tui.cli.tui import open_tui

        return open_tui(context.obj)
    return 0
