"""Filters, marks and counts by key in the session list."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from claude_lines import ClaudeHome
from hermes_tui.platform import paths
from hermes_tui.sessions.mark_store import MarkStore
from hermes_tui.tui.screens.dialogs import export, marks
from hermes_tui.tui.screens.dialogs.export import ExportScreen
from hermes_tui.tui.screens.dialogs.tags import TagsScreen
from hermes_tui.tui.screens.diff import DiffScreen
from pilots import main_of, screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def titles(pilot: Pilot[None]) -> list[str]:
    rows = main_of(pilot).sessions.rows
    return [row.conversation.title for row in rows if row.conversation is not None]


def here(pilot: Pilot[None]) -> str:
    conversation = main_of(pilot).sessions.highlighted
    return conversation.title if conversation is not None else ""


def marked(pilot: Pilot[None]) -> list[str]:
    return [one.title for one in main_of(pilot).sessions.marked]


@pytest.fixture
def eight(claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> ClaudeHome:
    """Number 8 is the newest."""
    monkeypatch.setattr(export, "ARMED_AFTER", 0.0)
    monkeypatch.setattr(marks, "ARMED_AFTER", 0.0)
    for number in range(1, 9):
        claude_home.session(f"Number {number}", project="my shop" if number % 2 else "blog")
    return claude_home


async def test_a_number_before_a_motion_repeats_it(program: Program, eight: ClaudeHome) -> None:
    async with program(eight.home) as pilot:
        for keys, expected in (
            ("5 j", "Number 3"),
            ("2 k", "Number 5"),
            ("j", "Number 4"),
            ("1 0 j", "Number 1"),
            ("2 G", "Number 7"),
            ("9 9 9 9 9 9 j", "Number 1"),
            ("G", "Number 1"),
            ("g", "Number 8"),
            ("3 z j", "Number 7"),  # another key takes the number
            ("4 slash escape j", "Number 6"),  # and so does leaving the list
        ):
            await pilot.press(*keys.split())
            await until(pilot, lambda expected=expected: here(pilot) == expected)  # type: ignore[misc]


async def test_one_key_filters_by_what_the_row_has_and_takes_it_back(program: Program, eight: ClaudeHome) -> None:
    async with program(eight.home) as pilot:
        main = main_of(pilot)
        await pilot.press("w")
        await until(pilot, lambda: titles(pilot) == [f"Number {n}" for n in (8, 6, 4, 2)])
        assert main.focused is main.sessions and main.box.value.startswith("cwd:")
        await pilot.press("a")
        await until(pilot, lambda: "agent:claude" in main.box.value)
        assert titles(pilot) == [f"Number {n}" for n in (8, 6, 4, 2)]
        await pilot.press("w")
        await until(pilot, lambda: main.box.value == "agent:claude" and len(titles(pilot)) == 8)
        await pilot.press("j", "w")  # a project with a blank in its name
        await until(pilot, lambda: titles(pilot) == [f"Number {n}" for n in (7, 5, 3, 1)])
        await pilot.press("w")
        await until(pilot, lambda: main.box.value == "agent:claude" and len(titles(pilot)) == 8)
        await pilot.press("i")
        await until(pilot, lambda: "is:live" in main.box.value and "0 of 8" in screen_text(pilot))
        await pilot.press("i", "a")
        await until(pilot, lambda: main.box.value == "" and not main.sessions.is_filtered)
        await pilot.press("n")
        await until(pilot, lambda: main.box.value == "is:unread")
        await pilot.press("escape")
        await until(pilot, lambda: not main.sessions.is_filtered and len(titles(pilot)) == 8)


async def test_marks_are_seen_and_cleared_at_once(program: Program, eight: ClaudeHome) -> None:
    async with program(eight.home) as pilot:
        await pilot.press("space", "space", "space")
        assert marked(pilot) == ["Number 8", "Number 7", "Number 6"]
        await until(pilot, lambda: "3 marked" in screen_text(pilot).splitlines()[0])
        await pilot.press("d")
        assert "3 sessions are marked; a comparison takes two." in toasts(pilot)
        await pilot.press("g", "space")
        await until(pilot, lambda: "2 marked" in screen_text(pilot).splitlines()[0])
        await pilot.press("d")
        await until(pilot, lambda: isinstance(pilot.app.screen, DiffScreen))
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await pilot.press("x")
        await until(pilot, lambda: "marked" not in screen_text(pilot).splitlines()[0])
        assert marked(pilot) == []
        await pilot.press("x")
        assert "No session is marked." in toasts(pilot)


async def test_marked_sessions_are_exported_into_one_folder(
    program: Program, eight: ClaudeHome, tmp_path: Path
) -> None:
    async with program(eight.home) as pilot:
        await pilot.press("space", "space", "space", "e")
        await until(
            pilot, lambda: isinstance(pilot.app.screen, ExportScreen) and "Export 3 sessions" in screen_text(pilot)
        )
        assert "and so for 2 more sessions" in screen_text(pilot)
        folder = tmp_path / "out" / "deep"
        pilot.app.screen.query_one("#file", Input).value = str(folder)
        await pilot.press("enter")
        await until(pilot, lambda: any("Wrote 3 of 3 sessions" in one for one in toasts(pilot)))
        files = sorted(folder.iterdir())
        assert len(files) == 3 and all(one.stat().st_mode & 0o077 == 0 for one in files)
        assert {n for n in (6, 7, 8) for one in files if f"Answer 0 to Number {n}" in one.read_text()} == {6, 7, 8}
        await pilot.press("e")  # what is there stays
        await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        pilot.app.screen.query_one("#file", Input).value = str(folder)
        await pilot.press("enter")
        await until(pilot, lambda: any("Wrote 0 of 3 sessions" in one for one in toasts(pilot)))


async def test_tags_that_cannot_be_kept_are_not_lost(program: Any, eight: ClaudeHome) -> None:
    kept = paths.state_dir() / "marks.db"
    async with program(eight.home) as pilot:
        await pilot.press("space", "space", "t")
        await until(pilot, lambda: isinstance(pilot.app.screen, TagsScreen))
        kept.mkdir(parents=True)
        await pilot.press(*"review", "enter")
        await until(pilot, lambda: "marks of sessions cannot be kept" in screen_text(pilot))
        assert isinstance(pilot.app.screen, TagsScreen) and "review" in screen_text(pilot)
        kept.rmdir()
        await pilot.press("enter")
        await until(pilot, lambda: any("Changed the tags of 2 sessions." in one for one in toasts(pilot)))


@pytest.mark.parametrize("key", ["enter", "ctrl+s"])
async def test_what_is_typed_while_tags_are_kept_is_for_the_list(
    program: Any, eight: ClaudeHome, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    change = MarkStore.change

    def slowly(*args: Any) -> object:
        time.sleep(0.5)
        return change(*args)

    monkeypatch.setattr(MarkStore, "change", slowly)
    async with program(eight.home) as pilot:
        await pilot.press("space", "space", "t")
        await until(pilot, lambda: isinstance(pilot.app.screen, TagsScreen) and "Number 7" in screen_text(pilot))
        before = here(pilot)
        await pilot.press(*"review", key, "j")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        await until(pilot, lambda: here(pilot) != before)


async def test_marked_sessions_are_tagged_together(program: Any, eight: ClaudeHome) -> None:
    async with program(eight.home) as pilot:
        await pilot.press("space", "space", "t")
        await until(pilot, lambda: isinstance(pilot.app.screen, TagsScreen) and "Number 7" in screen_text(pilot))
        await pilot.press(*"review", "space", *"old", "enter")
        await until(pilot, lambda: any("Changed the tags of 2 sessions." in one for one in toasts(pilot)))
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, TagsScreen))
        await pilot.press("minus", *"old", "enter")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))

    store = MarkStore(paths.state_dir() / "marks.db")
    try:
        assert sorted(one.tags for one in store.all().values()) == [("review",), ("review",)]
    finally:
        store.close()
