"""`hermes-tui sessions export`."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hermes_tui.cli import exit_codes, stderr, stdout
from hermes_tui.cli.home_option import manager_of, mention_wrong_settings
from hermes_tui.cli.sessions.redact_option import redact_option, say_masked
from hermes_tui.cli.sessions.session_argument import get_named, split_name

if TYPE_CHECKING:
    from hermes_tui.redact.redactor import Redactor
    from hermes_tui.sessions.manager import SessionManager
    from session_adapters.model import Session

__all__ = ["export"]

_FORMATS = ("markdown", "html", "json", "jsonl", "patch")
_STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Whatever that is: a file that it was directed into is no file to be replaced."""


@click.command("export")
@click.argument("agent", metavar="AGENT")
@click.argument("session_id", metavar="ID", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    help="What to write.  [default: as FILE ends, else markdown]",
)
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write there instead of to standard output, whole or not at all, readable by you alone.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@redact_option
@click.option("--lineage", is_flag=True, help="All sessions of the same conversation, oldest first.")
@click.pass_context
def export(
    context: click.Context,
    agent: str,
    session_id: str | None,
    form: str | None,
    target: Path | None,
    force: bool,
    redactor: Redactor | None,
    lineage: bool,
) -> int:
    """Write the session ID of AGENT as a document.

    `agent:id` in one word does as well, and so does the beginning of an id if no other session's begins so.
    """
    manager = manager_of(context.find_root().obj.home)
    agent, session_id = split_name(manager, agent, session_id, context)
    session = get_named(manager, agent, session_id)
    mention_wrong_settings(manager)
    from hermes_tui.sessions.export import SUFFIXES, export_lineage
    from hermes_tui.sessions.export import export as written
    from hermes_tui.sessions.export.chapters import Chapters
    from hermes_tui.sessions.export.images import inline_images

    images = inline_images(manager.open)
    ends = {suffix: name for name, suffix in SUFFIXES.items()}
    chosen = form or (ends.get(target.suffix.lower(), "markdown") if target is not None else "markdown")
    chapters = Chapters(_parts(manager, session) if lineage else ())
    if lineage:
        parts = export_lineage(chapters, chosen, redactor=redactor, images=images)
    else:
        parts = written(session, chosen, redactor=redactor, images=images)
    if target is None or str(target) in _STANDARD_OUTPUT:
        if chosen == "patch" and sys.stdout is not None and sys.stdout.isatty():
            from hermes_tui.sessions.export.plain import plain

            # The text of files is written as it is, but for a terminal, on which it could act.
            parts = (plain(part.decode("utf-8", "replace")).encode() for part in parts)
        for part in parts:
            stdout.write(part)
    else:
        _write(target, parts, force=force)
    say_masked(redactor)
    for error in chapters.lost:
        stderr.say(f"hermes-tui: left out: {error}")
    return exit_codes.FAILURE if chapters.lost else exit_codes.OK


def _parts(manager: SessionManager, session: Session) -> Iterator[Callable[[], Session]]:
    """What reads each part of the lineage; the one that is there already is not read again."""
    for one in manager.lineage(session.agent, session.session_id):
        there = one.session_id == session.session_id
        yield (lambda: session) if there else partial(manager.get, one.agent, one.session_id)


def _write(target: Path, parts: Iterator[bytes], *, force: bool) -> None:
    from hermes_tui.display import size
    from hermes_tui.sessions.export.target import expanded, pour, write_file

    try:
        mode = expanded(target).stat().st_mode
    except OSError:
        mode = 0  # `write_file` says why
    # A pipe or a terminal is no file, but something behind which somebody reads.
    read = stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)
    written = pour(target, parts) if read else write_file(target, parts, replace=force)
    stderr.say(f"hermes-tui: wrote {target} ({size(written)})")
