"""`hermes-tui demo`."""

from __future__ import annotations

from pathlib import Path

import click

__all__ = ["demo"]


@click.command()
@click.option("--static", is_flag=True, help="Fixed data and a fixed clock, for pictures.")
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the made-up home to this new or empty directory and keep it.",
)
@click.option("--no-open", is_flag=True, help="Only write the made-up home; do not open the program.")
@click.pass_context
def demo(context: click.Context, /, static: bool, home: Path | None, no_open: bool) -> int:
    """Try the program on made-up sessions.

    A small home with stores of every agent is written to a temporary directory, in the agents' own formats; your own
    stores are not touched.
    """
    if not no_open:  # before a home is written that could not be shown
        from hermes_tui.cli.tui import require_terminal

        require_terminal()
    from hermes_tui.demo import run_demo

    config = context.find_root().obj.config()
    return run_demo(config, static=static, home=home, open_tui=not no_open)
