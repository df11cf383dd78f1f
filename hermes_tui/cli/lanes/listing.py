"""`hermes-tui lanes list`, `show` and `history`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from hermes_tui.cli import stderr, stdout
from hermes_tui.cli.home_option import environment_of
from hermes_tui.errors import LaneNotFound, ValidationError
from hermes_tui.sessions.own_environment import own_environment
from session_adapters.base import Environment

if TYPE_CHECKING:
    from hermes_tui.attention.states import SessionState
    from hermes_tui.lifecycle.lanes import Board, Lane

__all__ = ["board_of", "environment", "history", "lane_named", "list_", "show"]

_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def environment(context: click.Context) -> Environment:
    """The machine that `--home` names, else this one."""
    return environment_of(context.find_root().obj.home) or own_environment()


@click.command("list")
@click.option("--profile", metavar="NAME", help="Only this profile's.")
@_json_option
@click.pass_context
def list_(context: click.Context, profile: str | None, as_json: bool) -> None:
    """List every lane, the latest active first, with its gateway.

    Of one in a turn also at what, since when, and what waits behind it where the gateway writes that down.
    """
    from hermes_tui.cli.lanes.view import board_lines

    now = datetime.now(UTC)
    found = board_of(context, profile, now)
    turns = _turns(context, found)
    if as_json:
        where = {"noHome": found.no_home} if found.no_home else {}
        lanes_ = [_with_turn(lane, turns.get((lane.profile, lane.key))) for lane in found.lanes]
        stdout.write_json({"profiles": found.profiles, "lanes": lanes_} | where)
    else:
        stdout.write("".join(f"{line}\n" for line in board_lines(found, turns, now, stdout.terminal_width())))
    for problem in found.problems:
        stderr.say(f"hermes-tui: {problem}")


@click.command("show")
@click.argument("key")
@click.option("--profile", metavar="NAME", help="The lane's profile, where several have one of that key.")
@_json_option
@click.pass_context
def show(context: click.Context, key: str, profile: str | None, as_json: bool) -> None:
    """Show everything that is known about the lane KEY.

    Its session, flags, tokens, reset policy and earlier sessions. The end of a key does if no other lane's ends so.
    """
    from hermes_tui.cli.lanes.view import lane_lines

    now = datetime.now(UTC)
    board = board_of(context, profile, now)
    lane = lane_named(board, key)
    turn = _turns(context, board).get((lane.profile, lane.key))
    if as_json:
        stdout.write_json(_with_turn(lane, turn))
    else:
        stdout.write("".join(f"{line}\n" for line in lane_lines(lane, turn, now)))
    # Without its database the lane has no messages, and no tokens, that could be counted.
    store = next(one for one in board.profiles if one.name == lane.profile)
    for said in (*store.notes, *store.problems):
        stderr.say(f"hermes-tui: {said}")


@click.command("history")
@click.argument("key")
@click.option("--profile", metavar="NAME", help="The lane's profile, where several have one of that key.")
@_json_option
@click.pass_context
def history(context: click.Context, key: str, profile: str | None, as_json: bool) -> None:
    """Say why the lane KEY forgot, and what sessions it had.

    Of every session, the present one first: why it ended, what the next one knew of it, which messages
    had to wait, and what it cost; by person and by day. The end of a key does if no other lane's ends so.
    """
    from hermes_tui.cli.lanes.history_view import history_lines
    from hermes_tui.lifecycle.lane_history.history import lane_history

    now = datetime.now(UTC)
    lane = lane_named(board_of(context, profile, now), key)
    found = lane_history(environment(context), lane, now)
    if as_json:
        stdout.write_json(found)
        return
    stdout.write("".join(f"{line}\n" for line in history_lines(found)))
    for note in found.notes:
        stderr.say(f"hermes-tui: {note}")


def _turns(context: click.Context, board: Board) -> Mapping[tuple[str, str], SessionState]:
    """Of lanes that are in one; no session is looked at where no gateway runs."""
    if not any(one.gateway.state == "running" for one in board.profiles):
        return {}
    from hermes_tui.attention.lane_turns import turns_of
    from hermes_tui.cli.attention import monitored

    manager, monitor, _ = monitored(context, lambda: board)
    report = monitor.look(manager.catalogue.refresh(["hermes"]))
    manager.catalogue.close()
    return turns_of(board, report)


def _with_turn(lane: Lane, turn: SessionState | None) -> object:
    import msgspec

    return lane if turn is None else {**msgspec.to_builtins(lane), "turn": turn}


def board_of(context: click.Context, profile: str | None, now: datetime) -> Board:
    """All profiles and lanes, or one profile's. Raises `ValidationError` for a profile that there is not."""
    from msgspec.structs import replace

    from hermes_tui.lifecycle.gateway.homes import no_profile_words
    from hermes_tui.lifecycle.lanes import board

    found = board(environment(context), now)
    if profile is None:
        return found
    names = [one.name for one in found.profiles]
    if profile not in names and not names:
        raise ValidationError(found.no_home)
    if profile not in names:
        raise ValidationError(no_profile_words(environment(context), profile, names))
    return replace(
        found,
        profiles=tuple(one for one in found.profiles if one.name == profile),
        lanes=tuple(one for one in found.lanes if one.profile == profile),
    )


def lane_named(found: Board, text: str) -> Lane:
    """The lane of that key, else the only one whose key ends so. Raises `LaneNotFound`."""
    lanes_ = found.lanes
    matching = [one for one in lanes_ if one.key == text]
    matching = matching or [one for one in lanes_ if text and one.key.endswith((f":{text}", f";{text}"))]
    if len(matching) == 1:
        return matching[0]
    if not found.profiles:
        raise LaneNotFound(found.no_home)
    if not matching:
        unread = f"; but not everything could be read: {found.problems[0]}" if found.problems else ""
        raise LaneNotFound(f"there is no lane {text!r}; `hermes-tui lanes list` shows those that there are{unread}")
    places = ", ".join(f"{one.key} (profile {one.profile})" for one in matching)
    raise LaneNotFound(f"several lanes are meant by {text!r}: {places}; give the whole key, and --profile")
