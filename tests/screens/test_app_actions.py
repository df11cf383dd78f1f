"""Keys that work everywhere: help, problems, palette, themes, hints, and the way out."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.tui.palette import Palette
from hermes_tui.tui.screens.dialogs.picker import FoundRows
from hermes_tui.tui.screens.help import HelpScreen
from hermes_tui.tui.screens.main.screen import MainScreen
from hermes_tui.tui.screens.problems import ProblemsScreen
from hermes_tui.tui.widgets.page import Page
from pilots import main_of, screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


async def test_ctrl_c_says_which_key_quits_where_it_is_pressed(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("One")
    async with program(claude_home.home, keymap={"app.quit": "Q"}) as pilot:
        await pilot.press("ctrl+c")
        assert toasts(pilot) == ["Q quits the program"]
        await pilot.press("slash", "ctrl+c")  # in the box it would be typed
        assert toasts(pilot)[-1] == "ctrl+q quits the program"
        await pilot.press("escape", "A", "ctrl+c")
        assert "Q quits the program" in toasts(pilot)


async def test_problems_are_counted_and_shown(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("Damaged")
    async with program(claude_home.home) as pilot:
        await pilot.press("exclamation_mark")
        assert toasts(pilot) == ["No problems: every session that was found could be read. For lanes: L, then !"]
        with path.open("a") as file:
            file.write('{"type": "user", "message": [[[\x00\n')
        claude_home.say(path, "user", "after the damage")
        await until(pilot, lambda: "! 1 problem" in screen_text(pilot))
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, ProblemsScreen))
        text = pilot.app.screen.query_one(Page).text
        assert "Claude Code · 1 problem" in text
        assert path.name in text.replace("\n", "").replace(" ", "")
        await pilot.press("q")
        await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen))
        assert pilot.app.is_running


async def test_the_memory_of_another_agent_than_hectors_is_refused(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Clear the build")
    async with program(claude_home.home) as pilot:
        await pilot.press("H")
        said = "Only Hector's agents have a memory that can be shown; this session is of claude."
        await until(pilot, lambda: toasts(pilot) == [said])


async def test_help_shows_the_ids_that_a_keymap_names(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Clear the build")
    async with program(claude_home.home, size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        lines = screen_text(pilot).splitlines()
        (line,) = (one for one in lines if "Open the session" in one)
        assert line.split()[-1] == "list.open" and len(line) <= 80


async def test_help_is_of_the_place_one_is_in(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home, keymap={"list.open": "m"}) as pilot:
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        text = pilot.app.screen.query_one(Page).text
        assert "Session list" in text and "Transcript" not in text
        assert "m                 Open the session" in text
        await pilot.press("escape", "m")
        await until(pilot, lambda: main_of(pilot).parts.is_reading)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        text = pilot.app.screen.query_one(Page).text
        assert "Transcript" in text and "Session list" not in text
        await until(pilot, lambda: "back" in screen_text(pilot).splitlines()[-1])
        assert "keys" not in screen_text(pilot).splitlines()[-1]
        await pilot.press("question_mark")  # back, as with the first one
        await until(pilot, lambda: main_of(pilot).is_current and main_of(pilot).parts.is_reading)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.press("escape", "escape", "slash", "question_mark", "f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        assert "Search box" in pilot.app.screen.query_one(Page).text
        assert main_of(pilot).box.value == "?"


async def test_the_help_lists_no_key_that_another_takes(program: Program, claude_home: ClaudeHome) -> None:
    """Those that are typed in the box, and, on an empty machine, those that close a page."""
    async with program(claude_home.home) as pilot:
        await until(pilot, lambda: pilot.app.screen.focused is main_of(pilot).parts.empty)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        text = pilot.app.screen.query_one(Page).text
        assert "q                 Quit" in text and "Back to where you were" not in text
        await pilot.press("escape", "slash")
        await until(pilot, lambda: main_of(pilot).is_current and pilot.app.screen.focused is main_of(pilot).box)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        text = pilot.app.screen.query_one(Page).text
        assert "f1                Show the keys that work here" in text and "ctrl+c" in text
        keys = text.partition("Marks in the list")[0].splitlines()
        assert not [line for line in keys if line.split()[:1] in (["q"], ["C"], ["L"], ["?"])]


async def test_a_keymap_with_mistakes_is_told_and_not_used(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home, keymap={"list.opne": "o", "list.open": "ctrl+nokey"}) as pilot:
        (toast,) = toasts(pilot)
        assert "'list.opne'" in toast and "'ctrl+nokey'" in toast
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).parts.is_reading)


async def test_hints_are_those_of_the_focused_pane(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home, size=(160, 24)) as pilot:

        def hints() -> str:
            return screen_text(pilot).splitlines()[-1]

        await until(pilot, lambda: hints().startswith(" ↵ open  ␣ mark"))
        await pilot.press("tab")
        await until(pilot, lambda: hints().startswith(" esc back") and "open/close" in hints())
        assert "/ find" in hints() and "\\ search all" in hints()
        await pilot.press("backslash")
        await until(pilot, lambda: hints().startswith(" ↵ results  esc leave"))


async def test_quits(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    for keys in (["q"], ["ctrl+q"], ["slash", "q", "ctrl+q"], ["question_mark", "q", "q"]):
        async with program(claude_home.home) as pilot:
            await pilot.press(*keys)
            await until(pilot, lambda: pilot.app._exit)
            assert pilot.app.return_code == 0


async def test_the_palette_has_our_commands_only(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home) as pilot:
        await pilot.press("colon")
        await until(pilot, lambda: isinstance(pilot.app.screen, Palette))
        rows = pilot.app.screen.query_one(FoundRows)
        titles = {rows.item(at).title for at in range(rows.count)}
        assert "Refresh" in titles and "Quit" in titles
        assert not titles & {"Screenshot", "Maximize", "Theme"}
        await pilot.press("escape")


async def test_themes_go_round(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Any")
    async with program(claude_home.home, size=(160, 48)) as pilot:
        seen = [pilot.app.theme]
        for _ in range(4):
            await pilot.press("T")
            await pilot.pause()
            seen.append(pilot.app.theme)
            (said,) = toasts(pilot)
            assert said == f"Theme: {seen[-1]}"
        assert seen == ["hermes-dark", "hermes-light", "ansi", "high-contrast", "hermes-dark"]


async def test_no_colour(program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    claude_home.session("Any")
    async with program(claude_home.home, theme="hermes-light", size=(160, 48)) as pilot:
        assert pilot.app.theme == "no-colour"
        await pilot.press("T")
        assert toasts(pilot) == ["NO_COLOR is set, so there are no colours to choose from."]
        strip = main_of(pilot).sessions.render_line(1)
        assert all(one.style and one.style.reverse for one in strip if one.text.strip())


async def test_a_refusal_is_said_once_at_a_time(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Alone")
    async with program(claude_home.home) as pilot:
        await pilot.press("z", "z", "z", "!", "z", "!")
        await pilot.pause()
        said = toasts(pilot)
        assert len(said) == 2 == len(set(said))
