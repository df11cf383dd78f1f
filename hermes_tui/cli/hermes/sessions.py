"""`hermes-tui hermes sessions`: rename, end, reopen, delete, clear, prune.

Each shows its plan, asks, applies and says what became of it, as `lanes` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hermes_tui.cli.lanes.listing import environment
from hermes_tui.cli.lanes.operations import Command, carried_out, common_options, log_options, taken_back, write_log
from hermes_tui.errors import SessionNotFound

if TYPE_CHECKING:
    from hermes_tui.lifecycle.operations.plan import Request

__all__ = ["hermes"]


@click.group()
def hermes() -> None:
    """Manage what is Hermes' own: its sessions."""


@hermes.group("sessions")
def sessions() -> None:
    """Rename, end, reopen, delete, clear and prune sessions of Hermes.

    What is deleted is copied first, for `undo`. A session that a lane of a running gateway is in, or that is open in
    a terminal, is left alone. What changes something ends with 10 where it was refused.
    """


_Option = tuple[tuple[str, ...], dict[str, Any]]


def _text(name: str, metavar: str, words: str, *other: str) -> _Option:
    return (f"--{name}", *other), {"default": "", "metavar": metavar, "help": words}


def _bounds(name: str, words: str, kind: type[int | float] = int) -> tuple[_Option, _Option]:
    at_least, at_most = (((f"--{one}-{name}",), {"type": kind, "metavar": "N"}) for one in ("min", "max"))
    at_least[1]["help"], at_most[1]["help"] = f"{words} or more.", f"{words} or fewer."
    return at_least, at_most


_FILTERS: tuple[_Option, ...] = (
    _text("older-than", "AGE", "Begun before.", "--before"),
    _text("newer-than", "AGE", "Begun then or later.", "--after"),
    (("--empty",), {"is_flag": True, "help": "Without a message."}),
    (
        ("--keep-last",),
        {"type": click.IntRange(0), "default": 0, "metavar": "N", "help": "Leave the N of them that began last."},
    ),
    _text("source", "NAME", "Only of this source: cli, telegram, cron …"),
    _text("title", "TEXT", "With TEXT in the title."),
    _text("end-reason", "WORD", "Ended for that reason."),
    _text("user", "ID", "Of this user."),
    _text("chat-id", "ID", "Of this chat."),
    _text("chat-type", "WORD", "Of this type of chat: dm, group …"),
    _text("cwd", "DIR", "In this directory or below."),
    _text("branch", "TEXT", "With TEXT in the git branch."),
    _text("model", "TEXT", "With TEXT in the model."),
    _text("provider", "NAME", "Billed by this provider."),
    *_bounds("messages", "N messages"),
    *_bounds("tokens", "N tokens, input and output,"),
    *_bounds("cost", "N USD", float),
    *_bounds("tool-calls", "N tool calls"),
    (("--include-archived",), {"is_flag": True, "help": "Archived ones too."}),
)

_force = click.option("--force", is_flag=True, help="Also a session that is open in a terminal.")


@sessions.command("rename")
@click.argument("session")
@click.argument("title")
@common_options
@click.pass_context
def rename(context: click.Context, /, session: str, title: str, profile: str | None, **options: bool) -> int:
    """Give SESSION the title TITLE; an empty one takes it away."""
    return carried_out(context, _request(context, "rename", session, profile, title=title), **options)


@sessions.command("end")
@click.argument("session")
@click.option("--reason", default="user_exit", show_default=True, metavar="WORD", help="Why, as Hermes notes it.")
@_force
@common_options
@click.pass_context
def end(
    context: click.Context, /, session: str, reason: str, force: bool, profile: str | None, **options: bool
) -> int:
    """End SESSION."""
    return carried_out(context, _request(context, "end", session, profile, reason=reason, force=force), **options)


@sessions.command("reopen")
@click.argument("session")
@_force
@common_options
@click.pass_context
def reopen(context: click.Context, /, session: str, force: bool, profile: str | None, **options: bool) -> int:
    """Open SESSION again that has ended."""
    return carried_out(context, _request(context, "reopen", session, profile, force=force), **options)


@sessions.command("delete")
@click.argument("session")
@_force
@common_options
@click.pass_context
def delete(context: click.Context, /, session: str, force: bool, profile: str | None, **options: bool) -> int:
    """Delete SESSION with its messages and the helpers that worked for it."""
    return carried_out(context, _request(context, "delete", session, profile, force=force), **options)


@sessions.command("clear")
@click.argument("session")
@_force
@common_options
@click.pass_context
def clear(context: click.Context, /, session: str, force: bool, profile: str | None, **options: bool) -> int:
    """Delete the messages of SESSION, and keep it."""
    return carried_out(context, _request(context, "clear-messages", session, profile, force=force), **options)


def _filters(command: Command) -> Command:
    """The options of `prune` that say which sessions."""
    for names, options in reversed(_FILTERS):
        command = click.option(*names, **options)(command)
    return command


@sessions.command("prune")
@_filters
@common_options
@click.pass_context
def prune(
    context: click.Context, /, profile: str | None, as_json: bool, yes: bool, dry_run: bool, **wanted: Any
) -> int:
    """Delete sessions that have ended: those that fit all that is asked for.

    The filters are those of `hermes sessions prune`, and `--empty` and `--keep-last`. Archived ones stay. An AGE is
    90 (days), 5h, 2d, 1w or a date.
    """
    from hermes_tui.lifecycle.operations.plan import Request
    from hermes_tui.lifecycle.state_db.pruning import PruneFilter

    request = Request(kind="prune-sessions", profile=profile or "default", matching=PruneFilter(**wanted))
    return carried_out(context, request, as_json=as_json, yes=yes, dry_run=dry_run)


@sessions.command("undo")
@click.argument("operation")
@common_options
@click.pass_context
def undo(context: click.Context, /, operation: str, profile: str | None, **options: bool) -> int:
    """Take an operation back, where the store still allows it.

    `hermes sessions log` has the ids.
    """
    return taken_back(context, operation, profile, **options)


@sessions.command("log")
@log_options
@click.pass_context
def log(context: click.Context, /, limit: int, profile: str | None, as_json: bool) -> None:
    """List what was done to sessions, newest first, and what became of it."""
    write_log(context, "sessions", limit, profile, as_json=as_json)


def _request(context: click.Context, kind: Any, session: str, profile: str | None, **more: Any) -> Request:
    """With the whole id, where its beginning was given. Raises `SessionNotFound`."""
    from hermes_tui.lifecycle.gateway.homes import home_of
    from hermes_tui.lifecycle.operations.plan import Request
    from hermes_tui.lifecycle.state_db.database import SessionDB

    home = home_of(environment(context), profile or "default")
    session = session.removeprefix("hermes:")
    with SessionDB(home.database, read_only=True) as db:
        found = db.resolve_session_id(session)
    if found is None:
        raise SessionNotFound(f"{home.database} has no session {session!r}, or several whose ids begin so")
    return Request(kind=kind, profile=home.profile, session=found, **more)
