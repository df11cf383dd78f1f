"""Filters alone, typed into the search box: they narrow the list and leave it a tree."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.tui.screens.main.screen import MainScreen
from pilots import main_of, screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def listed(main: MainScreen) -> list[str]:
    """Native ids of all parts of the rows."""
    rows = (row.conversation for row in main.sessions.rows if row.conversation is not None)
    return sorted(part.session_id for one in rows for part in one.parts)


def laid_out(main: MainScreen, size: tuple[int, int]) -> bool:
    return main.size == size and main.parts.is_wide == (size[0] >= 120)


async def search(pilot: Pilot[None], text: str) -> None:
    main = main_of(pilot)
    main.search_for(text)
    await until(
        pilot, lambda: (now := main.search.results.snapshot) is not None and now.done and now.query.text == text
    )


@pytest.fixture
def claude_files(store: Callable[..., Path]) -> Path:
    """A home with every session of the sample store; what each is, is told from the files."""
    return store("claude", "home")


def ids_of(home: Path) -> tuple[set[str], set[str], set[str]]:
    """All sessions, the sub-agents among them, and who called these, by the names of their files."""
    files = [path for path in (home / ".claude" / "projects").rglob("*.jsonl") if path.stat().st_size]
    helpers = {path.stem for path in files if path.parent.name == "subagents"}
    main = {path.stem for path in files if path.parent.name != "subagents"}
    talks = {
        path.stem
        for path in files
        if any(json.loads(line).get("type") in ("user", "assistant") for line in path.read_text().splitlines())
    }
    callers = {path.parents[1].name for path in files if path.stem in helpers & talks}
    return (main | helpers) & talks, helpers & talks, callers


async def test_a_filter_leaves_all_that_pass_it_as_a_tree(program: Program, claude_files: Path) -> None:
    every, helpers, parents = ids_of(claude_files)
    async with program(claude_files, size=(100, 40)) as pilot:
        main = main_of(pilot)
        await search(pilot, "agent:claude")
        assert listed(main) == sorted(every)
        assert f" {len(every)} of {len(every)} sessions" in screen_text(pilot).splitlines()[0]
        await search(pilot, "is:subagent")
        assert listed(main) == sorted(helpers | parents)
        assert f" {len(helpers)} of {len(every)} sessions" in screen_text(pilot).splitlines()[0]
        assert main.sessions.highlighted is not None and main.sessions.highlighted.tip.session_id in helpers


async def test_the_keys_that_fold_work_on_it(program: Program, claude_files: Path) -> None:
    async with program(claude_files, size=(100, 40)) as pilot:
        main = main_of(pilot)
        await search(pilot, "is:fork")
        forks = [one.session_id for one in main.snapshot.sessions if one.kind == "fork"]
        before = listed(main)
        assert set(forks) < set(before)
        await pilot.press("enter", "left", "z")  # from the box to the list, to its parent, fold
        assert len(listed(main)) == len(before) - 1
        await pilot.press("right")
        assert listed(main) == before
        await pilot.press("Z")
        assert not set(forks) & set(listed(main))
        await pilot.press("Z")
        assert listed(main) == before
        await pilot.press("slash")
        await search(pilot, "project")
        await pilot.press("enter", "z")
        await until(pilot, lambda: any("stands in a row of its own" in said for said in toasts(pilot)))


async def test_more_than_a_hundred_are_all_listed(program: Program, claude_home: ClaudeHome) -> None:
    for number in range(230):
        claude_home.session(f"Walk {number}")
    async with program(claude_home.home, size=(160, 30)) as pilot:
        main = main_of(pilot)
        await search(pilot, "model:sonnet")
        assert len(listed(main)) == 230 and "230 of 230 sessions" in screen_text(pilot)
        await pilot.press("enter", "end")
        await until(pilot, lambda: "Walk 0" in main.preview.text)
        await pilot.press("enter")
        await until(pilot, lambda: main.parts.is_reading and "Answer 0 to Walk 0" in screen_text(pilot))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not main.sessions.is_filtered)


@pytest.mark.parametrize("text", ["agent:claude", "Walk Answer"])
async def test_another_size_keeps_query_results_and_cursor(
    program: Program, claude_home: ClaudeHome, text: str
) -> None:
    for number in range(30):
        claude_home.session(f"Walk {number}")
    async with program(claude_home.home, size=(160, 40)) as pilot:
        main = main_of(pilot)
        await search(pilot, text)
        await pilot.press("enter", "down", "down")
        here, found = main.sessions.highlighted, listed(main)
        assert here is not None and len(found) == 30
        for width, height in [(80, 24), (60, 20), (119, 30), (120, 30), (40, 15), (160, 40)]:
            await pilot.resize_terminal(width, height)
            await until(pilot, partial(laid_out, main, (width, height)))
            top, *below = screen_text(pilot).splitlines()
            assert text in top and " 30 of 30" in top
            now = main.sessions.highlighted
            assert listed(main) == found and now is not None and now.key == here.key
            assert any(here.title in line for line in below)
