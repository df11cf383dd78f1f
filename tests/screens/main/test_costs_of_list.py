"""Costs come into the list as it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.cost.service import CostDesk
from hermes_tui.sessions.cost.summary import SpendSummary
from hermes_tui.tui.screens.main.screen import MainScreen
from hermes_tui.tui.widgets.session_list.rows import Forest
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

    def slow(desk: CostDesk, sessions: Sequence[SessionSummary]) -> tuple[SessionSummary, ...]:
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


async def test_a_list_is_not_laid_out_again_where_costs_are_as_they_were(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fifty thousand sessions each start took half a second to lay out the list that was there."""
    monkeypatch.setattr("hermes_tui.tui.workers.cost_refresh.FIRST_AFTER", 0.0)
    added_up = threading.Event()
    shown: list[Snapshot] = []
    book, apply = CostDesk.book, MainScreen.apply

    def note_sum(desk: CostDesk) -> SpendSummary:
        found = book(desk)
        added_up.set()
        return found

    def note_list(screen: MainScreen, snapshot: Snapshot, forest: Forest) -> None:
        shown.append(snapshot)
        apply(screen, snapshot, forest)

    monkeypatch.setattr(CostDesk, "book", note_sum)
    monkeypatch.setattr(MainScreen, "apply", note_list)
    claude_home.session("draw totals")
    for _ in range(2):
        added_up.clear()
        shown.clear()
        async with program(claude_home.home, size=(120, 40)) as pilot:
            await until(pilot, added_up.is_set)
            await pilot.pause(0.5)  # long enough for a list to be shown
    assert shown[-1].sessions[0].cost is not None
    assert len({(one.version, tuple(map(id, one.sessions))) for one in shown}) == len(shown), "some list twice"
