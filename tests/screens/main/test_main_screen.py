"""The main screen on real stores: moving, opening, filtering, following, and what it does when it cannot."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from textual import events
from textual.pilot import Pilot
from textual.screen import ModalScreen

from claude_lines import ClaudeHome
from hermes_tui.config import Config
from hermes_tui.sessions.catalogue.catalogue import Catalogue
from hermes_tui.sessions.catalogue.snapshot import Snapshot
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.help import HelpScreen
from hermes_tui.tui.screens.main.screen import MainScreen
from hermes_tui.tui.screens.main.search import SearchController
from hermes_tui.tui.widgets.line import Line
from hermes_tui.tui.widgets.search_box import LONGEST
from hermes_tui.tui.widgets.session_list.rows import Forest
from pilots import main_of, screen_text, toasts, until
from session_adapters.base import Environment
from session_adapters.transcript import Transcript

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def here(pilot: Pilot[None]) -> str:
    conversation = main_of(pilot).sessions.highlighted
    return conversation.title if conversation else ""


def laid_out(main: MainScreen, width: int) -> bool:
    return main.size.width == width and main.parts.is_wide == (width >= 120)


async def test_one_pane_at_a_time_when_narrow(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("First things first")
    claude_home.session("Second thoughts")
    async with program(claude_home.home) as pilot:
        main = main_of(pilot)
        assert here(pilot) == "Second thoughts"
        assert not main.pane.display
        for back in ("escape", "backspace", "h", "tab"):
            await pilot.press("enter")
            await until(pilot, lambda: "Answer 0 to Second thoughts" in screen_text(pilot))
            assert main.parts.is_reading and main.pane.display and not main.sessions.display
            await pilot.press(back)
            await until(pilot, lambda: main.sessions.display and not main.pane.display)
            assert main.focused is main.sessions and here(pilot) == "Second thoughts"


async def test_side_by_side_when_wide(program: Program, claude_home: ClaudeHome) -> None:
    claude_home.session("First things first")
    claude_home.session("Second thoughts")
    async with program(claude_home.home, size=(160, 48)) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "Answer 0 to Second thoughts" in screen_text(pilot))
        assert main.focused is main.sessions
        await pilot.press("down")
        await until(pilot, lambda: "Answer 0 to First things" in screen_text(pilot))
        await pilot.press("tab")
        assert main.parts.is_reading and main.sessions.display
        await pilot.press("escape")
        assert main.focused is main.sessions


async def test_resizing_changes_the_layout_and_loses_nothing(program: Program, claude_home: ClaudeHome) -> None:
    for number in range(60):
        claude_home.session(f"Session {number}")
    async with program(claude_home.home, size=(160, 48)) as pilot:
        main = main_of(pilot)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: "Answer 0 to Session 57" in screen_text(pilot))
        for width, height in [(80, 24), (40, 15), (20, 5), (3, 2), (1, 1), (160, 48)]:
            await pilot.resize_terminal(width, height)
            await until(pilot, partial(laid_out, main, width))
            assert here(pilot) == "Session 57"
            assert main.parts.is_reading
        await pilot.press("escape")
        for width, height in [(80, 24), (20, 5), (80, 24)]:
            await pilot.resize_terminal(width, height)
            await until(pilot, partial(laid_out, main, width))
            assert main.sessions.display and here(pilot) == "Session 57"
            assert "Session 57" in screen_text(pilot) or width < 40


async def test_in_a_new_size_it_looks_as_if_it_had_begun_so(program: Program, claude_home: ClaudeHome) -> None:
    for number in range(60):
        path = claude_home.session(f"Session {number}", turns=9)
    last = json.loads(path.read_text().splitlines()[-1])  # a state, which is written out where there is room
    with path.open("a") as file:
        last["message"]["id"] = "failed"
        file.write(json.dumps({**last, "uuid": "failed", "isApiErrorMessage": True}) + "\n")
    sizes = [(40, 15), (160, 48), (80, 24), (160, 48), (80, 24)]

    async def shown(pilot: Pilot[None], size: tuple[int, int]) -> str:
        main = main_of(pilot)
        await until(pilot, partial(laid_out, main, size[0]))
        await until(pilot, lambda: not main.parts.is_wide or "following" in screen_text(pilot))
        await pilot.pause()
        return screen_text(pilot)

    alone = {}
    now = datetime.now(UTC)  # time stands still: ages stay, and no costs come meanwhile
    for size in set(sizes):
        async with program(claude_home.home, size=size, now=now) as pilot:
            alone[size] = await shown(pilot, size)
    assert "✗ error" in alone[80, 24] and "✗" in alone[160, 48] and "error" not in alone[160, 48].splitlines()[2]
    async with program(claude_home.home, size=(80, 24), now=now) as pilot:
        for size in sizes:
            await pilot.resize_terminal(*size)
            assert await shown(pilot, size) == alone[size]


async def test_filter_live_and_back(program: Program, claude_home: ClaudeHome) -> None:
    for number in range(40):
        claude_home.session(f"Session n{number}x", project="blog" if number % 10 == 0 else "shop")
    async with program(claude_home.home) as pilot:
        main = main_of(pilot)
        for _ in range(25):
            await pilot.press("down")
        before = here(pilot), main.sessions.scroll_y
        await pilot.press("slash", *"blog")
        await until(pilot, lambda: " 4 of 40" in screen_text(pilot))
        await pilot.press("space", *"n30x")
        await until(pilot, lambda: " 1 of 40" in screen_text(pilot))
        assert here(pilot) == "Session n30x"
        await pilot.press("escape")
        await until(pilot, lambda: not main.sessions.is_filtered)
        assert (here(pilot), main.sessions.scroll_y) == before
        assert main.focused is main.sessions and main.box.value == ""
        await pilot.press("slash", *"blog")
        await until(pilot, lambda: " 4 of 40" in screen_text(pilot))
        await pilot.press("down", "enter")
        await until(pilot, lambda: main.focused is main.sessions)
        assert here(pilot) == "Session n20x"
        await pilot.press("escape")
        await until(pilot, lambda: not main.sessions.is_filtered)
        assert (here(pilot), main.sessions.scroll_y) == before


async def test_a_burst_of_keys_asks_a_few_times_and_a_paste_is_cut(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude_home.session("Please reset the counter")
    given: list[str] = []
    ask = SearchController.filter

    def count(search: SearchController) -> None:
        given.append(main.box.value)
        ask(search)

    monkeypatch.setattr("hermes_tui.tui.screens.main.search.TYPING_PAUSE", 0.2)
    monkeypatch.setattr(SearchController, "filter", count)
    async with program(claude_home.home) as pilot:
        main = main_of(pilot)
        main.action_filter()
        for char in "reset " * 50:
            pilot.app.post_message(events.Key("space" if char == " " else char, char))
        await until(pilot, lambda: given and given[-1] == "reset " * 50)
        assert len(given) < 100
        await until(pilot, lambda: here(pilot) == "Please reset the counter")
        main.action_keep()
        assert given[-1] == "reset " * 50
        main.action_filter()
        main.box.value = ""
        pilot.app.post_message(events.Paste("reset " * 5_000))
        await until(pilot, lambda: main.box.value == ("reset " * 5_000)[:LONGEST])
        await until(pilot, lambda: given[-1] == main.box.value)
        main.box.replace("x", 0, 0)
        assert len(main.box.value) == LONGEST
        main.box.replace("x", 0, 5)
        assert main.box.value.startswith("x reset")


async def test_what_is_typed_ahead_goes_where_it_was_meant(program: Program, claude_home: ClaudeHome) -> None:
    """Law 9: `/` and the rest arrive in one read, before any focus event was handled."""
    claude_home.session("Please reset the counter")
    claude_home.session("Something else")
    async with program(claude_home.home) as pilot:
        main = main_of(pilot)
        app = pilot.app
        for char in "/reset":
            app.post_message(events.Key("slash" if char == "/" else char, char))
        await until(pilot, lambda: main.box.value == "reset")
        await until(pilot, lambda: main.sessions.answer is not None)
        assert here(pilot) == "Please reset the counter"
        assert [row.conversation.title for row in main.sessions.rows if row.conversation] == [
            "Please reset the counter"
        ]
        assert len(app.screen_stack) == 1 and not main.parts.is_reading and not toasts(pilot)
        await pilot.press("escape")
        for char in "ry":
            app.post_message(events.Key(char, char))
        await pilot.pause()
        assert app.is_running and not toasts(pilot)
        # A dialog asks; nothing was done, by the key after it neither.
        await until(pilot, lambda: isinstance(app.screen, ModalScreen) and app.clipboard == "")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is main and main.focused is main.sessions)


async def test_keys_that_come_at_once_are_obeyed_in_their_order(program: Program, claude_home: ClaudeHome) -> None:
    """As a slow line brings them: what was typed wrong is taken back, and not what was typed then."""
    claude_home.session("Please reset the counter")
    named = {
        "<": ("backspace", "\x7f"),
        "^": ("ctrl+u", "\x15"),
        "~": ("ctrl+w", "\x17"),
        "{": ("home", None),
        "}": ("end", None),
    }
    async with program(claude_home.home) as pilot:
        main = main_of(pilot)
        for typed, expected in (
            ("/rests<<et", "reset"),
            ("^nothing^counter", "counter"),
            (" pleas~{x", "xcounter "),
            ("}^reset<<<<<<please", "please"),
        ):
            for char in typed:
                key, character = named.get(char, ("slash" if char == "/" else "space" if char == " " else char, char))
                pilot.app.post_message(events.Key(key, character))
            await pilot.pause()
            await until(pilot, lambda expected=expected: main.box.value == expected)  # type: ignore[misc]
        await until(pilot, lambda: here(pilot) == "Please reset the counter")


async def test_a_new_session_appears_and_an_open_one_grows(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("Watch me")
    async with program(claude_home.home, size=(160, 48)) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "Answer 0 to Watch me" in screen_text(pilot))
        claude_home.say(path, "assistant", "A line that came later")
        await until(pilot, lambda: "A line that came later" in screen_text(pilot))
        claude_home.say(path, "user", "A second turn")
        claude_home.say(path, "assistant", "Its answer")
        await until(pilot, lambda: "2 turns" in screen_text(pilot).splitlines()[1])
        claude_home.session("The newcomer")
        await until(pilot, lambda: "The newcomer" in screen_text(pilot))
        assert here(pilot) == "Watch me"
        path.unlink()
        await until(pilot, lambda: "gone" in screen_text(pilot))
        assert "A line that came later" in screen_text(pilot)
        await until(pilot, lambda: main.snapshot.sessions[0].gone or main.snapshot.sessions[1].gone)


async def test_an_empty_machine_says_where_it_looked(program: Program, tmp_path: Path) -> None:
    home = tmp_path / "nobody"
    home.mkdir()
    async with program(home) as pilot:
        text = screen_text(pilot)
        for words in ("No sessions here yet", "Claude Code", "~/.claude", "Hermes", "~/.hermes", "hermes-tui demo"):
            assert words in text
        assert text.splitlines()[-1].split() == [
            "?",
            "keys",
            ":",
            "palette",
            "A",
            "attention",
            "L",
            "lanes",
            "q",
            "quit",
        ]
        await pilot.resize_terminal(40, 15)
        await until(pilot, lambda: "hermes-tui doctor" not in screen_text(pilot))
        assert "hermes-tui demo" in screen_text(pilot)
        await pilot.press("G")
        await until(pilot, lambda: "hermes-tui doctor" in screen_text(pilot))
        await pilot.resize_terminal(80, 24)
        await pilot.press("slash", *"abc", "escape", "tab", "enter", "space", "question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, MainScreen))
        ClaudeHome(tmp_path / "other").session("x")  # elsewhere: changes nothing
        (tmp_path / "other" / ".claude").rename(home / ".claude")
        pilot.app.action_refresh()  # type: ignore[attr-defined]
        await until(pilot, lambda: "1 session" in screen_text(pilot))
        assert "No sessions here yet" not in screen_text(pilot)
        assert here(pilot) == "x" and main_of(pilot).focused is main_of(pilot).sessions


async def test_of_another_home_the_whole_path_is_said(tmp_path: Path) -> None:
    home = tmp_path / "them"
    home.mkdir()
    manager = SessionManager(Environment(home=home), cache_dir=tmp_path / "cache")
    app = HermesApp(manager, Config(), named_home=home)
    async with app.run_test(size=(240, 48)) as pilot:
        await until(pilot, lambda: "No sessions here yet" in screen_text(pilot))
        assert f"{home}/.claude" in screen_text(pilot)
        assert "~/.claude" not in screen_text(pilot), "that is the reader's own"


async def test_a_session_that_cannot_be_opened_says_why(program: Program, claude_home: ClaudeHome) -> None:
    path = claude_home.session("Away soon")
    async with program(claude_home.home) as pilot:
        app = cast(HermesApp, pilot.app)
        app.watch_thread.stop()
        path.unlink()
        await pilot.press("enter")
        await until(pilot, lambda: "Cannot be shown:" in screen_text(pilot))
        await pilot.press("escape")
        assert here(pilot) == "Away soon"


async def test_the_list_is_there_before_any_store_is_read(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude_home.session("Known from last time")
    async with program(claude_home.home) as pilot:
        cast(HermesApp, pilot.app).manager.catalogue.close()
    gate = threading.Event()
    refresh = Catalogue.refresh

    def late(catalogue: Catalogue, agents: Iterable[str] | None = None, **asked: Any) -> Snapshot:
        gate.wait(60)
        return refresh(catalogue, agents, **asked)

    monkeypatch.setattr(Catalogue, "refresh", late)
    async with program(claude_home.home, wait=False) as pilot:
        await until(pilot, lambda: "Known from last time" in screen_text(pilot))
        gate.set()


async def test_repeating_what_is_shown_asks_for_no_repaint(
    program: Program, claude_home: ClaudeHome, written: list[str]
) -> None:
    claude_home.session("Any")
    async with program(claude_home.home, size=(160, 48)) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "Answer 0 to Any" in screen_text(pilot))
        await pilot.pause()
        assert "Answer 0 to Any" in "".join(written)
        written.clear()
        main.apply(main.snapshot, Forest(main.snapshot.sessions))
        main.sessions.tick()
        main.status.show_detail()
        main.status.show_hints()
        detail = main.query_one("#detail", Line)
        detail.show(*detail.parts)
        await pilot.pause()
        await pilot.pause()
        assert written == []


async def test_transcripts_belong_to_one_thread(program: Program, claude_home: ClaudeHome) -> None:
    """A session that was asked for and left again is never shown over the later one."""
    claude_home.session("One")
    claude_home.session("Two")
    async with program(claude_home.home, size=(160, 48)) as pilot:
        main = main_of(pilot)
        await until(pilot, lambda: "Answer 0 to Two" in screen_text(pilot))
        for _ in range(5):
            await pilot.press("down", "up")
        await pilot.press("down")
        await until(pilot, lambda: "Answer 0 to One" in screen_text(pilot))
        summary = main.pane.summary
        assert summary is not None and summary.title == "One"
        assert isinstance(main.transcript.shown, Transcript)
