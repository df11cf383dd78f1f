"""A match on a branch that the agent left: the preview says so, and opening it shows that branch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from textual.pilot import Pilot

from hermes_tui.tui.screens.main.screen import MainScreen
from pi_lines import answered, asked, write_pi
from pilots import go_on, main_of, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]

LEFT = (asked(1, None), answered(2, 1), asked(3, 2, "where does the quokka live"), answered(4, 3))
STAYED = (asked(5, 2, "where does the heron live"), answered(6, 5))


async def searched(pilot: Pilot[None], text: str) -> MainScreen:
    """Type it and wait for the complete answer."""
    main = main_of(pilot)
    main.action_filter()
    main.search_for(text)

    def answered_in_full() -> bool:
        shown = main.search.results.snapshot
        return shown is not None and shown.done and shown.query.text == text

    await until(pilot, answered_in_full)
    return main


def cursor_says(main: MainScreen) -> str:
    """The message under the cursor; empty on the way there."""
    pane = main.pane
    return pane.message.content if pane.message is not None and main.transcript.is_settled else ""


async def test_opening_it_shows_its_branch(tmp_path: Path, program: Program) -> None:
    home = tmp_path / "home"
    write_pi(home, "parted", *LEFT, *STAYED)
    async with program(home, size=(160, 48)) as pilot:
        main = await searched(pilot, "quokka")
        await until(pilot, lambda: "on another branch" in main.preview.text)
        main.action_keep()
        await pilot.press("enter")
        await until(pilot, lambda: cursor_says(main) == "where does the quokka live")
        assert [message.content for message in main.pane.messages][-1] == "answer 4"
        assert "branch 1 of 2" in str(main.pane.border_subtitle)
        await pilot.press("b")
        await until(pilot, lambda: [one.content for one in main.pane.messages][-1] == "answer 6")


async def test_the_next_match_is_gone_to_on_whichever_branch_it_is(tmp_path: Path, program: Program) -> None:
    home = tmp_path / "home"
    write_pi(home, "parted", *LEFT, *STAYED)
    write_pi(home, "newer", asked(21, None, "a quokka again"), answered(22, 21))
    async with program(home) as pilot:
        main = await searched(pilot, "quokka")
        main.action_keep()
        await pilot.press("g", "enter")
        await until(pilot, lambda: "quokka" in cursor_says(main))
        first = cursor_says(main)
        both = {"where does the quokka live", "a quokka again"}
        await go_on(pilot, "n", lambda: {first, cursor_says(main)} == both)
