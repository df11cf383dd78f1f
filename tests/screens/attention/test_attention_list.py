"""The list says of each session how it is, and what came since it was looked at."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from textual.pilot import Pilot

from claude_lines import ClaudeHome
from pilots import screen_text, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


async def test_a_session_that_waits_says_so_in_its_row_and_below(program: Program, claude_home: ClaudeHome) -> None:
    one = claude_home.session("remove it").stem
    claude_home.process(one, "busy")
    async with program(claude_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: "● working" in screen_text(pilot))
        claude_home.process(one, "waiting", waitingFor="permission prompt")
        await until(pilot, lambda: "⚑ approval" in screen_text(pilot).splitlines()[-2])
        row = next(line for line in screen_text(pilot).splitlines() if "remove it" in line)
        assert "cc⚑ remove it" in row and row.rstrip().endswith("⚑ approval")


async def test_a_search_for_who_waits_follows_what_they_do(program: Program, claude_home: ClaudeHome) -> None:
    one, two = claude_home.session("remove it").stem, claude_home.session("draw totals").stem
    claude_home.process(one, "waiting", waitingFor="permission prompt")
    async with program(claude_home.home, size=(80, 24), attention=True) as pilot:
        await until(pilot, lambda: "⚑ approval" in screen_text(pilot))
        await pilot.press("slash", *"is:waiting", "enter")
        await until(pilot, lambda: "need you" in screen_text(pilot) and "draw totals" not in screen_text(pilot))
        assert "remove it" in screen_text(pilot)
        claude_home.process(one, "busy")
        await until(pilot, lambda: "Nothing found" in screen_text(pilot))
        claude_home.process(two, "waiting", waitingFor="permission prompt")
        await until(pilot, lambda: "draw totals" in screen_text(pilot))
        assert "remove it" not in screen_text(pilot)
