"""The line at the top: what is said beside the search box leaves it room."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from pilots import main_of, screen_text, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


@pytest.mark.parametrize("shown", [None, 4])
async def test_what_is_typed_can_be_read_on_a_narrow_screen(
    program: Program, claude_home: ClaudeHome, shown: int | None
) -> None:
    claude_home.session("mend it")
    async with program(claude_home.home, size=(80, 24)) as pilot:
        header = main_of(pilot).parts.header
        said = {"gateway": "⚕ up", "indexing": "indexing 40 %", "asking": shown is not None}
        total = "362 sessions" if shown is None else " 4 of 362"

        def is_shown() -> bool:  # the program may say meanwhile what is true here
            header.show(shown=shown, sessions=362, live=4, partial=0, problems=0, needs=5, **said)  # type: ignore[arg-type]
            return total in screen_text(pilot).splitlines()[0]

        await until(pilot, is_shown)
        assert header.box.outer_size.width >= (24 if shown is None else 40)
        assert "? 5 need you" in screen_text(pilot).splitlines()[0]


@pytest.mark.parametrize("width", [80, 120])
async def test_a_filter_by_key_can_be_read_whole(program: Program, claude_home: ClaudeHome, width: int) -> None:
    claude_home.session("mend it")
    async with program(claude_home.home, size=(width, 24)) as pilot:
        await pilot.press("a", "w")
        wanted = "agent:claude cwd:/home/dev/project"
        await until(pilot, lambda: main_of(pilot).box.value.startswith("agent:claude cwd:"))
        main_of(pilot).box.value = wanted
        await until(pilot, lambda: wanted in screen_text(pilot).splitlines()[0])
