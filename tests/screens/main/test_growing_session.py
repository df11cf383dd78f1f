"""What a session that grows for weeks takes in memory: what is on the screen, not what was ever written."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import rich.cells
from rich.segment import Segment
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.tui.drawing_caches import clear_up
from hermes_tui.tui.widgets.transcript.layout.block_writer import OPEN
from pilots import main_of, screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]

WIDE = (160, 48)
LONG = 60_000
ROUNDS, EACH = 10, 10
"""Six megabytes in all."""
BOUND = 4_000_000
DRAWN = 1000
"""Texts that are remembered as they were drawn: two screens full."""

LEFT = 500
"""Objects in cycles that may come about while one looks."""


def kept(pilot: Pilot[None]) -> int:
    """Characters of all messages that the transcript has."""
    return sum(len(one.content) for one in main_of(pilot).pane.messages)


def remembered() -> int:
    """Entries in all caches of what Rich does with texts: their widths, their two halves. Not the tables of widths,
    which it reads once."""
    members = (*vars(rich.cells).values(), *(getattr(one, "__func__", one) for one in vars(Segment).values()))
    caches = {one for one in filter(callable, members) if hasattr(one, "cache_info")}
    return sum(one.cache_info().currsize for one in caches if one.cache_info().maxsize is not None)


async def write(pilot: Pilot[None], home: ClaudeHome, path: Path, number: int) -> None:
    """Six hundred kilobytes, and what the reader tells when it sees them."""
    for _ in range(EACH - 1):
        home.say(path, "assistant", "word " * (LONG // 5))
    home.say(path, "user", f"Prompt number {number}")
    main = main_of(pilot)
    assert main.transcript.shown is not None
    main.transcript.grown(main.transcript.shown)


async def test_what_is_above_the_end_is_let_go_and_read_again(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("First things first")
    async with program(claude_home.home, size=WIDE) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "Answer 0 to First things" in screen_text(pilot))
        for number in range(ROUNDS):
            await until(pilot, lambda: main.transcript.is_settled)
            await write(pilot, claude_home, path, number)
            await until(pilot, lambda: f"Prompt number {number}" in screen_text(pilot))  # noqa: B023
        await until(pilot, lambda: kept(pilot) < BOUND)
        assert main.pane.following and not main.pane.view.complete
        await pilot.press("enter", "g")  # the beginning alone, without what is between
        await until(pilot, lambda: "Answer 0 to First things" in screen_text(pilot))
        assert kept(pilot) < BOUND and "more below, G goes to the end" in str(main.pane.border_subtitle)
        while main.pane.view.is_cut:
            await pilot.press(*["pagedown"] * 40)
            await until(pilot, lambda: main.transcript.is_settled)
        seen = [one.content for one in main.pane.messages]
        assert seen[:2] == ["First things first", "Answer 0 to First things first"]
        assert [one for one in seen if one.startswith("Prompt number")] == [
            f"Prompt number {number}" for number in range(ROUNDS)
        ]
        assert sum(map(len, seen)) > ROUNDS * (EACH - 1) * LONG


async def test_who_reads_above_the_end_keeps_what_is_read_alone(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("First things first", turns=80)
    async with program(claude_home.home, size=WIDE) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "Answer 79 to First things" in screen_text(pilot))
        await pilot.press("enter", "g")
        await until(pilot, lambda: "Answer 0 to First things" in screen_text(pilot))
        seen = main.pane.message
        for number in range(ROUNDS):
            await write(pilot, claude_home, path, number)
            await until(pilot, lambda: main.transcript.is_settled)
        assert kept(pilot) < BOUND
        assert main.pane.message == seen
        assert "more came below" in str(main.pane.border_subtitle)
        await pilot.press("G")
        await until(pilot, lambda: f"Prompt number {ROUNDS - 1}" in screen_text(pilot))
        assert "more came below" not in str(main.pane.border_subtitle)


async def test_what_was_opened_stays_open(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("First things first")
    async with program(claude_home.home, size=WIDE) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "Answer 0 to First things" in screen_text(pilot))
        view, summary = main.pane.view, main.pane.summary
        assert summary is not None
        view.set_levels(1, {"think": OPEN})
        main.pane.show(summary, main_of(pilot).parts.program.manager.open("claude", path.stem))
        assert main.pane.view is not view
        assert main.pane.view.column.entries[1].levels == {"think": OPEN}


async def test_what_was_drawn_of_lines_out_of_sight_is_let_go(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("First things first")
    async with program(claude_home.home, size=WIDE) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "Answer 0 to First things" in screen_text(pilot))
        for number in range(ROUNDS):
            for line in range(EACH * 4):
                claude_home.say(path, "assistant", " ".join(f"word{number}-{line}-{word}" for word in range(100)))
            claude_home.say(path, "user", f"Prompt number {number}")
            assert main.transcript.shown is not None
            main.transcript.grown(main.transcript.shown)
            await until(pilot, lambda: f"Prompt number {number}" in screen_text(pilot))  # noqa: B023
            for _ in range(4):
                await pilot.press("pageup")
            await pilot.press("G")
        assert remembered() > DRAWN
        clear_up()
        assert not remembered()
        await pilot.press("g", "G")
        await until(pilot, lambda: f"Prompt number {ROUNDS - 1}" in screen_text(pilot))


async def test_screens_that_were_left_are_let_go(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("First things first")
    async with program(claude_home.home, size=WIDE) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "Answer 0 to First things" in screen_text(pilot))
        gc.disable()  # what Python looks at by itself depends on all that ran before
        try:
            for key in ("question_mark", "y", "question_mark", "y"):
                await pilot.press(key)
                await until(pilot, lambda: pilot.app.screen is not main)
                await pilot.press("escape")
                await until(pilot, lambda: pilot.app.screen is main)
            await pilot.pause()
            clear_up()
            assert gc.collect() < LEFT
        finally:
            gc.enable()


async def test_keys_that_are_refused_leave_nothing_behind(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("First things first")
    async with program(claude_home.home, size=WIDE) as pilot:
        app = main_of(pilot).app
        for _ in range(40):
            app.notify("This key does nothing here", markup=False)
            await pilot.pause()
        assert toasts(pilot) == ["This key does nothing here"]
        assert len(app.screen.query("Toast")) <= 2
        assert len(app.screen.query("ToastHolder")) <= 4
