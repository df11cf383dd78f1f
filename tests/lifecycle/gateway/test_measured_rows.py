"""What a whole gateway was measured to do with our operations: which test holds each row, in both directions.

A row is what one does, and what the gateway makes of it at the lane's next message. `holds`: what is promised there
comes true. `refused`: what would not is refused, or said in the plan; done by hand it is lost. `restarts` are rows
of `test_real_gateway_restarts`, the others tests of `test_real_gateway`; all run on the real program.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from lifecycle.gateway import test_real_gateway as live
from lifecycle.gateway import test_real_gateway_restarts as restarts


class Measured(NamedTuple):
    """One row."""

    step: str
    holds: tuple[Callable[..., Any], ...]
    refused: tuple[Callable[..., Any], ...]


ROWS = (
    Measured(
        "live reset: a fresh session",
        (live.test_a_reset_gives_the_next_message_a_fresh_session,),
        (live.test_a_reset_gives_the_next_message_a_fresh_session,),
    ),
    Measured(
        "live resume into an earlier session of the lane: it goes on there",
        (
            live.test_a_resume_leads_back_into_an_earlier_session,
            live.test_each_outcome_is_settled_by_the_message_after_it,
        ),
        (live.test_a_session_without_messages_is_not_resumed,),
    ),
    Measured(
        "live suspend, taken back before the message: the old context",
        (live.test_what_is_undone_before_the_message_has_no_effect, live.test_a_resume_is_undone_before_the_message),
        (live.test_a_reset_that_the_end_of_a_turn_has_carried_out_is_not_undone,),
    ),
    Measured(
        "live suspend, a message: fresh",
        (live.test_a_suspended_lane_begins_anew,),
        (restarts.suspend_then_resume,),
    ),
    Measured(
        "a group, one person's lane reset: the others untouched",
        (live.test_others_in_the_group_are_left_alone,),
        (live.test_others_in_the_group_are_left_alone,),
    ),
    Measured(
        "reset during a turn: that ends in the old session, and so does what is sent before its end",
        (live.test_a_reset_during_a_turn_takes_effect_after_its_end,),
        (live.test_a_reset_that_the_end_of_a_turn_has_carried_out_is_not_undone,),
    ),
    Measured(
        "reset, then /status or /retry: it stays pending, and holds",
        (live.test_a_command_leaves_a_pending_reset,),
        (live.test_what_the_gateway_has_in_memory_cannot_be_set,),
    ),
    Measured(
        "reset, then /undo or /new: Hermes asks to confirm, it stays pending, and holds",
        (live.test_a_command_that_asks_to_be_confirmed_leaves_it_too,),
        (live.test_a_reset_that_the_end_of_a_turn_has_carried_out_is_not_undone,),
    ),
    Measured(
        "reset beside a halted gateway: holds once it goes on",
        (live.test_a_reset_beside_a_halted_gateway_holds_once_it_goes_on,),
        (live.test_a_reset_beside_a_halted_gateway_holds_once_it_goes_on,),
    ),
    Measured(
        "offline reset, suspend, mark, resume, then a start: hold; within two minutes of a crash it writes by itself",
        (
            *(restarts.reset, restarts.reset_and_undo, restarts.suspend, restarts.mark, restarts.clear),
            *(restarts.resume, restarts.prune, restarts.offline_resume_where_the_daily_reset_is_due),
            *(restarts.crash, restarts.reset_after_a_crash, restarts.suspend_after_a_crash),
        ),
        (
            restarts.reset_after_a_crash,
            restarts.resume_before_a_crash,
            live.test_what_the_gateway_has_in_memory_cannot_be_set,
        ),
    ),
    Measured(
        "a pending live reset, a crash or a stop, a start: holds",
        (restarts.pending_reset, restarts.pending_suspend, restarts.pending_resume),
        (restarts.resume_before_a_crash,),
    ),
    Measured(
        "live resume while a reset is due, or while the lane is suspended: lost",
        (
            live.test_a_reset_where_the_policy_is_due_is_fresh_either_way,
            live.test_a_resume_is_lost_to_a_policy_that_comes_due_before_the_message,
        ),
        (
            live.test_a_resume_where_the_policy_is_due_is_not_promised,
            live.test_settings_that_the_running_gateway_has_not_read_are_not_relied_on,
            restarts.resume_where_the_daily_reset_is_due,
            restarts.suspend_then_resume,
        ),
    ),
    Measured(
        "live resume into the lane's own session after the watcher ended it: reset, though the ids are equal",
        (live.test_each_outcome_is_settled_by_the_message_after_it,),
        (live.test_a_session_that_the_watcher_ended_is_not_resumed,),
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=[row.step for row in ROWS])
def test_each_row_is_held(row: Measured) -> None:
    taken = {*restarts.STOPPED, *restarts.KILLED}
    for one in (*row.holds, *row.refused):
        if inspect.isgeneratorfunction(one):
            assert one in taken, f"{one.__name__} is a row that no restart takes"
        else:
            assert one.__name__.startswith("test_") and one.__module__ == live.__name__


def test_each_test_on_the_whole_gateway_is_in_a_row() -> None:
    named = {one for row in ROWS for one in (*row.holds, *row.refused)}
    tests = {one for name, one in vars(live).items() if name.startswith("test_") and inspect.isfunction(one)}
    assert tests | {*restarts.STOPPED, *restarts.KILLED} == named
