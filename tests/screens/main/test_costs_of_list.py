"""Costs come into the list as it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.sessions.cost.service import CostDesk
from pilots import main_of, screen_text, until
from session_adapters.model import SessionSummary

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


async def test_one_list_is_made_at_a_time(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Costs came in while sessions changed: two lists of thousands of sessions were made beside the one that is
    shown, and the memory for both was never given back."""
    monkeypatch.setattr("hermes_tui.tui.workers.cost_refresh.FIRST_AFTER", 0.0)
    under_way, go_on = threading.Event(), threading.Event()
    at_work: list[str] = []
    most: list[int] = []
    shown = CostDesk.shown

    def slow(desk: CostDesk, sessions: Sequence[SessionSummary]) -> list[SessionSummary]:
        name = threading.current_thread().name
        at_work.append(name)
        most.append(len(at_work))
        if name == "cost_refresh":
            under_way.set()
            assert go_on.wait(60)
        try:
            return shown(desk, sessions)
        finally:
            at_work.remove(name)

    monkeypatch.setattr(CostDesk, "shown", slow)
    claude_home.session("draw totals")
    async with program(claude_home.home, size=(120, 40)) as pilot:
        catalogue = main_of(pilot).parts.program.manager.catalogue
        await until(pilot, under_way.is_set)
        claude_home.session("remove it")
        await until(pilot, lambda: len(catalogue.snapshot.sessions) == 2)
        await pilot.pause(0.5)  # long enough for another thread to begin; too short, it could not fail
        go_on.set()
        await until(pilot, lambda: "remove it" in screen_text(pilot))
        assert max(most) == 1
