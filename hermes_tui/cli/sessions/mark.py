"""`hermes-tui sessions mark`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from hermes_tui.cli import stderr, stdout
from hermes_tui.cli.home_option import hurry, manager_of
from hermes_tui.cli.sessions.session_argument import split_name, summary_named
from hermes_tui.display import PIN, safe
from hermes_tui.errors import SessionNotFound

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager
    from hermes_tui.sessions.marks import OwnMarks

__all__ = ["mark"]


@click.command("mark")
@click.argument("sessions", nargs=-1, metavar="[AGENT ID]")
@click.option("--pin/--unpin", "pinned", default=None, help="Keep it at hand: `is:pinned`, on top of the list.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Add a tag: a short word; repeat for several.")
@click.option("--untag", "untags", multiple=True, metavar="TAG", help="Take a tag of yours away; repeat for several.")
@click.option("--note", metavar="TEXT", help="Note this of it; - reads the note from standard input, '' drops it.")
@click.option("--name", metavar="TEXT", help="Call it so in place of its title; '' drops the name.")
@click.option("--clear", is_flag=True, help="Take all marks of yours away first.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
@click.pass_context
def mark(
    context: click.Context,
    /,
    sessions: Sequence[str],
    pinned: bool | None,
    tags: Sequence[str],
    untags: Sequence[str],
    note: str | None,
    name: str | None,
    clear: bool,
    as_json: bool,
) -> None:
    """Pin, tag, name or annotate sessions.

    All of them or, where that fails, none. Says how they are marked then. Without an option nothing is changed;
    without a session too, all are listed that are marked, also those that are gone. Marks are yours: they are kept by
    this program, and no agent's store is touched.
    """
    changes = clear or pinned is not None or tags or untags or note is not None or name is not None
    if changes and not sessions:
        raise click.UsageError("give AGENT and ID, or both in one word as agent:id", context)
    manager = manager_of(context.find_root().obj.home)
    hurry(manager)
    # Two words without a colon in the first are one session.
    if len(sessions) == 2 and manager.resolve_native_id(sessions[0]) is None:
        names = [split_name(manager, sessions[0], sessions[1], context)]
    else:
        names = [split_name(manager, one, None, context) for one in sessions]
    named = [_unified_id(manager, agent, id_) for agent, id_ in names]
    manager.catalogue.refresh()
    found = manager.marks.all()
    if changes:
        from hermes_tui.sessions.marks import MAX_NOTE, MarkChange

        text = note
        if note == "-":  # standard input, no more of it than shows that it is too much
            typed = sys.stdin.buffer.read(4 * MAX_NOTE + 4) if sys.stdin is not None else b""
            text = typed.decode("utf-8", "replace")
        change = MarkChange(pinned=pinned, tag=tuple(tags), untag=tuple(untags), note=text, name=name, clear=clear)
        found = manager.marks.change(named, change)
        manager.catalogue.refresh_marks()
    rows = [_record(manager, one, found.get(one)) for one in named or sorted(found)]
    if as_json:
        stdout.write_json(rows)
    else:
        stdout.write("".join(f"{line}\n" for row in rows for line in _lines(row)))
        if not rows:
            stderr.say("hermes-tui: no session is marked; `hermes-tui sessions mark AGENT ID --pin` does that")


def _unified_id(manager: SessionManager, agent: str, session_id: str) -> str:
    """Of the session of that name, or of one that is gone and was marked."""
    try:
        return summary_named(manager, agent, session_id).unified_id
    except SessionNotFound:
        unified = manager.resolve_unified_id(agent, session_id)
        if unified not in manager.marks.all():
            raise
        return unified


def _record(manager: SessionManager, unified_id: str, marks: OwnMarks | None) -> dict[str, Any]:
    from hermes_tui.sessions.marks import NO_MARKS

    marks = marks or NO_MARKS
    agent, _, session_id = unified_id.partition(":")
    session = manager.catalogue.summary(agent, session_id)
    agent_title = "" if session is None else session.title if session.agent_title is None else session.agent_title
    return {
        "unifiedId": unified_id,
        "title": marks.name or agent_title,
        "agentTitle": agent_title,
        "here": session is not None and not session.gone,
        "pinned": marks.pinned,
        "tags": marks.tags,
        "note": marks.note,
        "name": marks.name,
    }


def _lines(row: dict[str, Any]) -> Iterator[str]:
    """A session and, below it, its marks."""
    title = safe(row["title"]) or "untitled"
    yield f"{PIN if row['pinned'] else ' '} {safe(row['unifiedId'])}  {title}{'' if row['here'] else '  (not here)'}"
    if row["name"] and row["agentTitle"]:
        yield f"    the agent's title: {safe(row['agentTitle'])}"
    if row["tags"]:
        yield "    " + " ".join(f"#{safe(tag)}" for tag in row["tags"])
    for line in row["note"].splitlines():
        yield f"    {safe(line)}".rstrip()
