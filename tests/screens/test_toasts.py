"""Toasts go when their time is over, also where it was over before they were there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from textual.notifications import Notification
from textual.pilot import Pilot
from textual.widgets._toast import Toast, ToastHolder, ToastRack

from claude_lines import ClaudeHome
from pilots import main_of, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.mark.timeout(60)
async def test_a_toast_whose_time_is_over_before_it_is_shown_goes(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude_home.session("First things first")
    made: list[Notification] = []
    make = Toast.__init__

    def noted(toast: Toast, notification: Notification) -> None:
        made.append(notification)
        make(toast, notification)

    monkeypatch.setattr(Toast, "__init__", noted)
    async with program(claude_home.home) as pilot:
        app = main_of(pilot).app
        app.notify("Said long ago", markup=False, timeout=600)
        await until(pilot, lambda: toasts(pilot) == ["Said long ago"])
        [notice] = made
        notice.raised_at -= 610  # the process was stopped just before the toast was made
        assert notice.has_expired
        rack = app.screen.query_one(ToastRack)
        await rack.remove_children()
        await rack.mount(ToastHolder(Toast(notice)))
        await until(pilot, lambda: not app.screen.query(Toast))
