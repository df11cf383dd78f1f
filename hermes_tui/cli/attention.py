"""`hermes-tui attention`, `hermes-tui status` and `hermes-tui jump`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from hermes_tui.cells import fit, pad, width_of
from hermes_tui.cli import stderr, stdout
from hermes_tui.cli.home_option import environment_of, hurry, manager_of, mention_problems
from hermes_tui.display import age, safe
from hermes_tui.platform import memory_tuning, paths
from hermes_tui.sessions.jsontext import encode
from hermes_tui.sessions.mark_store import MarksUnusable

if TYPE_CHECKING:
    from hermes_tui.attention.monitor import Monitor
    from hermes_tui.attention.report import Attended
    from hermes_tui.lifecycle.lanes import Board
    from hermes_tui.sessions.manager import SessionManager
    from hermes_tui.sessions.mark_store import MarkStore

__all__ = ["attention", "jump", "monitored", "status"]

_EVERY = 2.0
"""Seconds between two looks of `--watch`."""
_WIDE = re.compile(r"\{[^{}]*:[^{}]*\d{4}")
"""A field with a width that no line has."""


@click.command()
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object with all evidence; with --watch one a line."
)
@click.option(
    "--watch",
    is_flag=True,
    help="Go on looking, every two seconds, and print all of it again when something changed.",
)
@click.option("--seen", is_flag=True, help="Count what is printed as seen: what is done needs nobody any more.")
@click.pass_context
def attention(context: click.Context, as_json: bool, watch: bool, seen: bool) -> None:
    """Say which sessions need a person, what works, and how that is known.

    Looks at the sessions that a process has open, and at those that changed in the last two days and were not seen
    since. No store is changed, and no agent is asked.
    """
    if watch:  # for days
        memory_tuning.stay_small()
        memory_tuning.settle()
    manager, monitor, marks = monitored(context)
    before: object = None  # unlike any list, so that a first look at nothing is printed as well
    said = ""
    while True:
        found = tuple(monitor.look(manager.catalogue.refresh()).by_session.values())
        told = [
            (one.session.unified_id, one.state.word, one.state.needs_person and (one.state.tool, one.state.text))
            for one in found
        ]
        if told != before:
            between = "\n" if before is not None else ""  # or nobody could tell where the later one begins
            before = told
            if as_json:
                report = {"at": datetime.now(UTC), "sessions": [_as_json(one) for one in found]}
                stdout.write(encode(report) + b"\n") if watch else stdout.write_json(report)
            else:
                lines = _lines(found, datetime.now(UTC), stdout.terminal_width())
                stdout.write(between + "".join(f"{line}\n" for line in lines))
        trouble = monitor.trouble
        try:
            for one in found if seen else ():
                marks.see(one.session.unified_id, one.session.updated_at)
        except MarksUnusable as error:
            if not watch:
                raise
            trouble = str(error)  # for days: it is tried again
        if trouble not in ("", said):
            stderr.say(f"hermes-tui: {trouble}")
        said = trouble
        if not watch:
            mention_problems(manager)
            break
        stdout.wait(_EVERY)
    manager.catalogue.close()


@click.command()
@click.option(
    "--format",
    "form",
    default="{need} need you, {working} working",
    show_default=True,
    metavar="TEXT",
    help="What to print: {need}, {working}, and each state by name ({approval}, {question}, {stuck} …).",
)
@click.pass_context
def status(context: click.Context, form: str) -> None:
    """Print one line for a status bar or a prompt: how many sessions need a person."""
    from hermes_tui.attention.shared import shared_counts, shared_file
    from hermes_tui.errors import ValidationError
    from hermes_tui.sessions.own_environment import this_machine

    # Those of the program, where it runs for this home: nothing has to be looked at.
    environment = environment_of(context.find_root().obj.home) or this_machine()
    counts = shared_counts(shared_file(environment, paths.cache_dir()))
    if counts is None:
        manager, monitor, _ = monitored(context)
        counts = monitor.look(manager.catalogue.refresh()).counts
        if monitor.trouble:
            stderr.say(f"hermes-tui: {monitor.trouble}")
        manager.catalogue.close()
    try:
        if _WIDE.search(form):
            raise ValueError("a field of a thousand columns or more")
        line = form.format_map(counts)
    except (KeyError, ValueError, IndexError, AttributeError, TypeError) as error:
        raise ValidationError(f"--format {form!r} cannot be filled in; known are {', '.join(counts)}") from error
    stdout.write(f"{line}\n")


@click.command()
@click.option(
    "--client",
    default="",
    metavar="NAME",
    help="Show it in this terminal, by tmux's name for it; without it, where a key was pressed last.",
)
@click.argument("agent", metavar="[AGENT]", required=False)
@click.argument("session_id", metavar="[ID]", required=False)
@click.pass_context
def jump(context: click.Context, agent: str | None, session_id: str | None, client: str) -> None:
    """Bring this terminal to the tmux pane in which the session ID of AGENT runs.

    Without a session: to the one that needs a person most, of those that run in a pane. `agent:id` in one word does
    as well, and so does the beginning of an id. Nothing is typed into a pane.
    """
    from hermes_tui.attention import jump as jumping
    from hermes_tui.cli.sessions.session_argument import split_name, summary_named
    from hermes_tui.errors import SessionNotFound

    manager, monitor, _ = monitored(context)
    if agent is None:
        found = monitor.look(manager.catalogue.refresh()).by_session.values()
        pid = next((one.state.pid for one in found if one.state.needs_person and one.pane is not None), None)
        if pid is None:
            raise SessionNotFound("no session that needs you runs in a tmux pane; name one: hermes-tui jump AGENT ID")
    else:
        session = summary_named(manager, *split_name(manager, agent, session_id, context))
        manager.catalogue.refresh()
        live = manager.catalogue.processes.get(session.unified_id)
        pid = live.pid if live is not None else None
    manager.catalogue.close()
    jumping.jump(pid, client=client, proc=manager.environment.proc)


def monitored(
    context: click.Context, board: Callable[[], Board] | None = None
) -> tuple[SessionManager, Monitor, MarkStore]:
    """What looks at the states of sessions; `board` as in `Monitor`."""
    from hermes_tui.attention.monitor import Monitor

    manager = manager_of(context.find_root().obj.home)
    hurry(manager)
    stuck_after = timedelta(seconds=context.find_root().obj.config().attention.stuck_seconds)
    return manager, Monitor(manager, manager.marks, stuck_after=stuck_after, board=board), manager.marks


def _lines(found: Sequence[Attended], now: datetime, width: int) -> Iterator[str]:
    """One line a session, or two where that is wider than the terminal: its id, whole, is given to other commands."""
    if not found:
        yield "Nothing needs you, and nothing is at work."
        return
    group = ""
    rows = [_row(one, now) for one in found]
    longest = max(width_of(name) for _, name, *_ in rows)
    lines = [
        "  ".join((lead, pad(name, longest), pad(title, 30), pad(doing, 40), where or "-"))
        for lead, name, title, doing, where in rows
    ]
    is_narrow = any(width_of(line) > width for line in lines)
    for one, line, (lead, name, title, doing, where) in zip(found, lines, rows, strict=True):
        if one.state.group != group:
            group = one.state.group
            yield group
        if is_narrow:
            yield fit("  ".join(part for part in (lead, title, doing) if part), width).rstrip()
            yield f"    {name}  {where}".rstrip()
        else:
            yield line


def _row(one: Attended, now: datetime) -> tuple[str, str, str, str, str]:
    """How it is and since when, its unified id, its title, what it does, and its pane."""
    state = one.state
    return (
        f"  {pad(state.word, 10)}  {pad(age(state.since, now), 4, right=True)}",
        safe(one.session.unified_id),
        safe(one.session.title),
        safe(" ".join(part for part in (state.tool, state.text) if part)),
        safe(one.pane.name) if one.pane is not None else "",
    )


def _as_json(one: Attended) -> dict[str, Any]:
    pane = one.pane
    return {
        "unifiedId": one.session.unified_id,
        "title": one.session.title,
        "cwd": one.session.cwd,
        "state": one.state.state,
        "sure": one.state.sure,
        "needsPerson": one.state.needs_person,
        "unread": one.unread,
        "since": one.state.since,
        "tool": one.state.tool,
        "text": one.state.text,
        "until": one.state.until,
        "pid": one.state.pid,
        "pane": {"socket": pane.socket, "id": pane.id, "name": pane.name} if pane is not None else None,
        "evidence": one.state.evidence,
    }
