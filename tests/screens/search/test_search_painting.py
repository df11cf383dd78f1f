"""What a key of a search costs the terminal: counted, not timed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip

from claude_lines import ClaudeHome
from hermes_tui.sessions.search.model import SearchCoverage
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.main import search as searching
from hermes_tui.tui.screens.main.screen import MainScreen
from hermes_tui.tui.widgets.session_list.conversation import ListRow
from hermes_tui.tui.widgets.session_list.list_columns import RowTexts
from hermes_tui.tui.widgets.session_list.list_view import SessionLines
from pilots import drawn, screen_text, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


class Counts:
    """Layouts of the screen, lines that the list drew, and strips that were made for them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.layouts = 0
        self.lines: list[int] = []
        self.strips = 0
        line, strip = SessionLines.render_line, SessionLines.strip

        def drawn(sessions: SessionLines, y: int) -> Any:
            self.lines.append(y)
            return line(sessions, y)

        def made(sessions: SessionLines, *looks: Any) -> Strip:
            self.strips += 1
            return strip(sessions, *looks)

        monkeypatch.setattr(SessionLines, "strip", made)
        monkeypatch.setattr(SessionLines, "render_line", drawn)

    def watch(self, screen: Screen[Any]) -> None:
        """Forget what was counted, and count layouts of this screen."""

        def laid_out(_: Screen[Any]) -> None:
            self.layouts += 1

        self.forget()
        screen.screen_layout_refresh_signal.subscribe(screen, laid_out, immediate=True)

    def forget(self) -> None:
        """From here on."""
        self.layouts, self.lines, self.strips = 0, [], 0


def main_of(pilot: Pilot[None]) -> MainScreen:
    return cast(HermesApp, pilot.app).main


async def press(pilot: Pilot[None], key: str, text: str) -> None:
    """A key in the box, and the complete answer with what there is to see of it."""
    main = main_of(pilot)
    await pilot.press(key)
    await until(pilot, lambda: (shown := main.search.results.snapshot) and shown.done and shown.query.text == text)
    main.search.results.previews.look_closer()
    await until(pilot, lambda: main.search.results.previews.is_settled)


def only_complete_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else there is to do on the machine, no part of an answer is shown before all of it."""
    monkeypatch.setattr(searching, "GATHERING", 600.0)
    monkeypatch.setattr(searching, "PATIENCE", 600.0)


def herons(home: ClaudeHome) -> None:
    """Sixty sessions of herons; the older half of them of heronries."""
    for number in range(60):
        path = home.session(f"Walk {number}")
        home.say(path, "assistant", "A heronry." if number < 30 else "A heron.")


async def test_a_longer_or_shorter_answer_is_no_new_layout(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    herons(claude_home)
    only_complete_answers(monkeypatch)
    counts = Counts(monkeypatch)
    async with program(claude_home.home, size=(80, 24)) as pilot:
        main = main_of(pilot)
        await pilot.press("slash", "h", "e", "r", "o")
        await press(pilot, "n", "heron")
        assert main.sessions.virtual_size.height == len(main.sessions.rows) > 100
        counts.watch(main)
        await press(pilot, "r", "heronr")
        assert main.search.total == 30
        assert main.sessions.virtual_size.height == len(main.sessions.rows) < 70
        await press(pilot, "backspace", "heron")
        assert main.search.total == 60
        assert counts.layouts == 0


async def test_the_first_answer_is_no_new_layout(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    herons(claude_home)
    monkeypatch.setattr(SearchCoverage, "__str__", lambda coverage: "indexed 100 %")
    only_complete_answers(monkeypatch)
    counts = Counts(monkeypatch)
    async with program(claude_home.home, size=(80, 24)) as pilot:
        main = main_of(pilot)
        box = main.box.region
        await pilot.press("slash")
        await until(pilot, lambda: main.box.region.width > box.width)
        counts.watch(main)
        await press(pilot, "h", "h")
        assert main.search.total == 60
        assert "60 of 60" in screen_text(pilot)
        assert counts.layouts == 0
        await pilot.press("escape")
        await until(pilot, lambda: main.box.region == box)


async def test_only_lines_that_look_different_are_drawn(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    herons(claude_home)
    only_complete_answers(monkeypatch)
    counts = Counts(monkeypatch)
    async with program(claude_home.home, size=(80, 24)) as pilot:
        main = main_of(pilot)
        await pilot.press("slash", "h", "e", "r")
        await press(pilot, "o", "hero")
        # Found are the same newest sessions, and the rows of some older ones are gone.
        before = screen_text(pilot).splitlines()
        counts.forget()
        await press(pilot, "n", "heron")
        drawn = set(counts.lines)
        assert counts.strips == len(counts.lines)
        after = screen_text(pilot).splitlines()
        top = main.sessions.region.y
        snippets = {y for y in range(main.sessions.size.height) if "A heron" in after[top + y]}
        assert before != after and snippets
        # The heading says how they are ordered, which is known at the end.
        assert drawn <= {0} | snippets


async def test_what_stands_in_a_line_is_worked_out_once(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To be compared with what is there; then it is drawn as it was found."""
    herons(claude_home)
    only_complete_answers(monkeypatch)
    drawing: list[int] = []
    again: list[int] = []
    line, parts = SessionLines.render_line, RowTexts.parts

    def drawn(sessions: SessionLines, y: int) -> Strip:
        drawing.append(y)
        try:
            return line(sessions, y)
        finally:
            drawing.pop()

    def made(writer: RowTexts, row: ListRow, *, on_cursor: bool = False) -> list[tuple[str, str]]:
        again.extend(drawing)
        return parts(writer, row, on_cursor=on_cursor)

    async with program(claude_home.home, size=(80, 24)) as pilot:
        await pilot.press("slash", "h", "e", "r", "o")
        await press(pilot, "n", "heron")
        monkeypatch.setattr(SessionLines, "render_line", drawn)
        monkeypatch.setattr(RowTexts, "parts", made)
        await press(pilot, "r", "heronr")
        await press(pilot, "backspace", "heron")
        assert not again and "heron" in screen_text(pilot)
        await pilot.press("enter", "end", "home")
        await pilot.pause()
        assert "Walk 59" in screen_text(pilot)


async def test_the_view_stays_within_a_shorter_answer(program: Program, claude_home: ClaudeHome) -> None:
    herons(claude_home)
    async with program(claude_home.home, size=(80, 24)) as pilot:
        main = main_of(pilot)
        await pilot.press("slash", "h", "e", "r", "o")
        await press(pilot, "n", "heron")
        main.sessions.action_last()
        await pilot.pause()
        assert main.sessions.scroll_y > 70
        bar = main.sessions.vertical_scrollbar
        await press(pilot, "r", "heronr")
        assert main.sessions.scroll_y == 0 and bar.window_virtual_size == len(main.sessions.rows)
        assert bar.position == 0
        assert "Walk 29" in screen_text(pilot)


async def test_a_text_longer_than_the_box_scrolls_in_it(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("Alpha")
    async with program(claude_home.home, size=(80, 24)) as pilot:
        main = main_of(pilot)

        def header() -> str:
            return screen_text(pilot).splitlines()[0]

        main.search_for(" ".join(f"word{number}" for number in range(40)))
        await until(pilot, lambda: "word39" in header() and "word0 " not in header())
        await pilot.press("home")
        await until(pilot, lambda: "word0 word1" in header() and "word39" not in header())
        await pilot.press("end", "!")
        await until(pilot, lambda: "word39!" in header())
        await pilot.press("ctrl+u", "x")
        await until(pilot, lambda: " x " in header() and "word" not in header())


async def test_the_lines_below_results_outlast_the_time_in_which_the_list_is_hidden(
    program: Program, claude_home: ClaudeHome
) -> None:
    herons(claude_home)
    async with program(claude_home.home, size=(80, 24)) as pilot:
        main = main_of(pilot)
        await pilot.press("slash", "h", "e", "r", "o")
        await press(pilot, "n", "heron")
        await pilot.press("enter", "enter")
        await until(pilot, lambda: main.parts.is_reading and not main.sessions.size)
        main.search.sessions_changed()  # as when a session is written to meanwhile
        assert [row.snippet for row in main.sessions.rows[:3]][-1] is not None
        await pilot.press("escape")
        await until(pilot, lambda: "A heron." in screen_text(pilot))


async def test_the_title_of_what_was_found_looks_like_that_of_a_transcript(
    program: Program, claude_home: ClaudeHome
) -> None:
    claude_home.session("Alpha centauri")
    async with program(claude_home.home, size=(160, 40)) as pilot:
        main = main_of(pilot)

        def look_of_title() -> tuple[object, object]:
            """Colours of the title in the frame beside the list."""
            line = [one for strip in [drawn(pilot.app)[1]] for one in strip]
            found = next(one for one in line if "Alpha centauri" in one.text)
            assert found.style is not None
            return found.style.color, found.style.bgcolor

        await until(pilot, lambda: "Answer 0" in screen_text(pilot))
        transcript = look_of_title()
        main.search_for("centauri")
        await until(pilot, lambda: "Goal" in main.preview.text)
        await pilot.pause()
        assert look_of_title() == transcript
        frame = main.preview.styles.border_top[1].rich_color
        assert transcript[0] != frame
