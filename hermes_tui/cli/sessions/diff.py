"""`hermes-tui sessions diff`."""

from __future__ import annotations

import click

from hermes_tui.cli import stdout
from hermes_tui.cli.home_option import manager_of, mention_wrong_settings
from hermes_tui.cli.sessions.session_argument import get_named, split_name

__all__ = ["diff"]


@click.command("diff")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object, with every message.")
@click.pass_context
def diff(context: click.Context, a: str, b: str, as_json: bool) -> None:
    """Compare two sessions, each as agent:id, message by message.

    They may be of different agents; the beginning of an id does if no other session's begins so.
    """
    manager = manager_of(context.find_root().obj.home)
    names = [split_name(manager, name, None, context) for name in (a, b)]
    one, other = (get_named(manager, *name) for name in names)
    mention_wrong_settings(manager)
    from hermes_tui.sessions.diff.compare import diff as compared

    found = compared(one, other)
    if as_json:
        stdout.write_json(found)
        return
    from hermes_tui.sessions.diff.text import diff_lines

    for line in diff_lines(found):
        stdout.write(f"{line}\n")
