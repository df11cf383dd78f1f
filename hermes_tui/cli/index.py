"""`hermes-tui index status`, `rebuild` and `clear`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from hermes_tui.cli import exit_codes, stderr, stdout
from hermes_tui.cli.home_option import manager_of
from hermes_tui.display import safe
from hermes_tui.errors import StoreError, ValidationError

if TYPE_CHECKING:
    from hermes_tui.sessions.index.service import IndexService, Progress

__all__ = ["clear", "index", "rebuild", "status"]

_LOOK = 2.0
"""Seconds between two lines that say how far it is."""
_STATES = {
    "absent": "there is none yet; it is made when something is searched for",
    "impossible": "there is none: the sessions themselves are searched",
    "complete": "complete",
    "growing": "being made: what it lacks is searched in the sessions themselves",
    "partial": "incomplete: what it lacks is searched in the sessions themselves",
    "unusable": "cannot be used: the sessions themselves are searched",
    "off": "switched off: the sessions themselves are searched",
}


@click.group()
def index() -> None:
    """The search index: a cache that can be deleted at any time."""


@index.command("status")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def status(context: click.Context, as_json: bool) -> None:
    """Say how far the index is, where it is and how large."""
    _show(_service(context), as_json)


@index.command("rebuild")
@click.option("--json", "as_json", is_flag=True, help="Print JSON when it is done.")
@click.pass_context
def rebuild(context: click.Context, as_json: bool) -> int:
    """Make the index anew, and wait for it."""
    service = _service(context)
    if not service.on:
        raise ValidationError("the index is switched off, by --no-index or in the settings: there is none to make")
    _clear(service)
    service.poke(follow=False, patient=True)  # a search may have begun one since
    while not service.wait(_LOOK):
        progress = service.progress()
        if progress.sources:
            stderr.say(f"{_share(progress.prose, progress.sources)}, {_share(progress.everything, progress.sources)}")
    progress = _show(service, as_json)
    return exit_codes.OK if progress.state == "complete" else exit_codes.FAILURE


@index.command("clear")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def clear(context: click.Context, as_json: bool) -> None:
    """Delete the index; the next search has it made again."""
    service = _service(context)
    _clear(service)
    _show(service, as_json)


def _service(context: click.Context) -> IndexService:
    settings = context.find_root().obj
    return manager_of(settings.home, indexed=settings.config().index).index


def _clear(service: IndexService) -> None:
    try:
        if service.clear():
            return
    except OSError as error:
        raise StoreError(
            f"the index {str(service.path)!r} cannot be deleted: {error.strerror or error}; see to that and try again"
        ) from error
    raise StoreError("another program is making the index and did not end when it was asked to; close it, or wait")


def _show(service: IndexService, as_json: bool) -> Progress:
    progress = service.progress()
    if as_json:
        stdout.write_json(progress)
    else:
        stdout.write("".join(f"{line}\n" for line in _lines(progress)))
    return progress


def _lines(progress: Progress) -> Iterator[str]:
    state: str = progress.state
    if progress.running and state in ("absent", "partial"):
        state = "growing"
    elif progress.trouble and state == "absent":
        state = "impossible"
    yield f"index     {_STATES[state]}"
    if progress.sources:
        yield f"said      {_share(progress.prose, progress.sources)}"
        yield f"tools     {_share(progress.everything, progress.sources)}"
        yield f"messages  {progress.messages:,}"
    if progress.failed:
        yield f"unread    {progress.failed:,}; `hermes-tui doctor` says why"
    if progress.left_out:
        named = f"{progress.left_out:,} with paths that are no UTF-8, which searches read: {progress.left_out_path}"
        yield f"left out  {safe(named)}"
    yield f"indexer   {'at work' if progress.running else 'not running'}"
    if progress.trouble:
        yield f"trouble   {safe(progress.trouble)}"
    yield f"file      {safe(progress.path)}" + (f" ({progress.size / 1e6:,.1f} MB)" if progress.size else "")


def _share(done: int, of: int) -> str:
    return f"{done:,} of {of:,} session files"
