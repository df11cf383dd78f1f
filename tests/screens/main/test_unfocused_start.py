"""The program in a window that has not the focus yet: who comes to it has the keys at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.tui.app import HermesApp
from pilots import main_of, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.fixture
def unfocused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal says so before the first screen is there, as tmux does of a window that nobody looks at."""
    made = HermesApp.__init__

    def begin(self: HermesApp, *arguments: Any, **named: Any) -> None:
        made(self, *arguments, **named)
        self.set_reactive(HermesApp.app_focus, False)

    monkeypatch.setattr(HermesApp, "__init__", begin)


@pytest.mark.usefixtures("unfocused")
@pytest.mark.parametrize("event", [events.AppFocus(), events.Key("j", "j")])
async def test_the_list_has_the_keys(program: Program, claude_home: ClaudeHome, event: events.Event) -> None:
    """When somebody comes, and when a key is pressed though the terminal says that nobody did."""
    claude_home.session("draw totals")
    async with program(claude_home.home) as pilot:
        assert pilot.app.focused is None
        pilot.app.post_message(event)
        await until(pilot, lambda: pilot.app.focused is main_of(pilot).sessions)


async def test_a_screen_has_the_keys_that_was_put_up_meanwhile(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("draw totals")
    async with program(claude_home.home) as pilot:
        pilot.app.post_message(events.AppBlur())
        await until(pilot, lambda: pilot.app.focused is None)
        await pilot.app.run_action("attention")
        await until(pilot, lambda: bool(pilot.app.screen.query("AttentionTable")))
        pilot.app.post_message(events.AppFocus())
        await until(pilot, lambda: pilot.app.focused is pilot.app.screen.query("AttentionTable").first())
