"""Finding inside the open session: `/`, from match to match and round, how many there are, and back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest
from textual import events
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.tui.screens.help import HelpScreen
from hermes_tui.tui.screens.main.screen import MainScreen
from hermes_tui.tui.widgets.page import Page
from hermes_tui.tui.widgets.session_list.widget import SessionList
from pilots import main_of, screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def content(main: MainScreen) -> str:
    """What the message under the cursor says."""
    return main.pane.message.content if main.pane.message is not None else ""


def below(main: MainScreen) -> str:
    """What stands in the lower border of the transcript."""
    return str(main.pane.border_subtitle)


def is_at(main: MainScreen, text: str, words: str) -> bool:
    """The cursor is on a message with this text, and the border has these words."""
    return text in content(main) and words in below(main)


async def read(pilot: Pilot[None]) -> MainScreen:
    """Open the first session."""
    await pilot.press("g", "enter")
    main = main_of(pilot)
    await until(pilot, lambda: main.parts.is_reading and main.pane.message is not None)
    return main


async def find(pilot: Pilot[None], text: str, expected: str) -> MainScreen:
    """Type it in the open session and keep it."""
    main = main_of(pilot)
    await pilot.press("slash", *text)
    await until(pilot, lambda: main.pane.find_bar.box.value == text and expected in below(main))
    await pilot.press("enter")
    await until(pilot, lambda: main.focused is main.pane)
    return main


def walk_at_the_lake(home: ClaudeHome) -> None:
    """A session with three herons."""
    path = home.session("A walk at the lake")
    for number in range(30):
        heron = f" Heron {number}." if number in (4, 11, 25) else ""
        home.say(path, "assistant", f"We went past {number}.{heron}")


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
async def test_from_match_to_match_and_round(
    program: Program, claude_home: ClaudeHome, size: tuple[int, int]
) -> None:
    walk_at_the_lake(claude_home)
    async with program(claude_home.home, size=size) as pilot:
        main = await read(pilot)
        await find(pilot, "heron", "“heron” 3 of 3")
        assert "Heron 25." in content(main) and "n match" in screen_text(pilot).splitlines()[-1]
        for key, place, words in (
            ("n", 4, "“heron” 1 of 3 · on from the top"),
            ("n", 11, "“heron” 2 of 3 ·"),
            ("N", 4, "“heron” 1 of 3 ·"),
            ("N", 25, "“heron” 3 of 3 · on from the end"),
        ):
            await pilot.press(key)
            await until(pilot, partial(is_at, main, f"Heron {place}.", words))
        assert "on from" in below(main) and not toasts(pilot)
        await pilot.press("n", "n")
        await until(pilot, lambda: "“heron” 2 of 3" in below(main) and "on from" not in below(main))
        await pilot.press("escape")
        await until(pilot, lambda: "heron" not in below(main))
        assert main.parts.is_reading and "n match" not in screen_text(pilot).splitlines()[-1]
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(main.focused, SessionList))


async def test_what_is_typed_ahead_is_found_and_harms_nothing(program: Program, claude_home: ClaudeHome) -> None:
    """`/reset` in one read of the terminal: no letter of it is a key of the transcript."""
    path = claude_home.session("Counter")
    claude_home.say(path, "assistant", "I shall reset it.")
    async with program(claude_home.home) as pilot:
        main = await read(pilot)
        for char in "/reset":
            pilot.app.post_message(events.Key("slash" if char == "/" else char, char))
        await until(pilot, lambda: main.pane.find_bar.box.value == "reset" and "1 of 1" in below(main))
        assert len(pilot.app.screen_stack) == 1
        await pilot.press("enter", "n")
        await until(pilot, lambda: toasts(pilot) == ["There is no other match in this session"])


async def test_leaving_the_box_goes_back_to_the_line(program: Program, claude_home: ClaudeHome) -> None:
    walk_at_the_lake(claude_home)
    async with program(claude_home.home) as pilot:
        main = await read(pilot)
        await pilot.press("k", "k", "k")
        before = main.pane.view.bookmark()
        await pilot.press("slash", *"heron")
        await until(pilot, lambda: "Heron 25." in content(main))
        await pilot.press("escape")
        await until(pilot, lambda: main.pane.view.bookmark() == before and "heron" not in below(main))
        assert main.focused is main.pane
        await pilot.press("slash", *"heron", "enter")
        await until(pilot, lambda: "of 3" in below(main))
        await pilot.press("escape", "G", "slash", "enter")  # alone it finds the last words again
        await until(pilot, lambda: "“heron” 3 of 3" in below(main))
        await pilot.press("slash", *"walrus")
        await until(pilot, lambda: "“walrus” is not in this session" in below(main))
        await pilot.press("enter", "n")
        await until(pilot, lambda: toasts(pilot) == ["“walrus” is not in this session"])


async def test_each_letter_is_looked_for_from_where_it_began(program: Program, claude_home: ClaudeHome) -> None:
    """What was typed in passing is found, too: where it does not go on as typed, nobody is left there."""
    path = claude_home.session("A walk at the lake")
    for said in ("A heron.", "Here we rest.", "A heron.", "We are home.", "And this is the end of it."):
        claude_home.say(path, "assistant", said)
    async with program(claude_home.home) as pilot:
        main = await read(pilot)
        before = main.pane.view.bookmark()
        await pilot.press("slash", *"her")
        await until(pilot, lambda: content(main) == "A heron.")
        await pilot.press(*"ez")
        await until(pilot, lambda: "“herez” is not in this session" in below(main))
        await until(pilot, lambda: main.pane.view.bookmark() == before)
        await pilot.press("backspace")
        await until(pilot, lambda: is_at(main, "Here we rest.", "“here” 1 of 1"))
        await pilot.press("home", "ctrl+k")
        await until(pilot, lambda: main.pane.view.bookmark() == before and "here" not in below(main))


async def test_a_pattern_that_is_none_is_said_to_be(program: Program, claude_home: ClaudeHome) -> None:
    """What is not there as a text may be there as the pattern that was meant."""
    claude_home.session("beta12 and beta123 and (beta")
    async with program(claude_home.home) as pilot:
        main = await read(pilot)
        for typed, said in (
            ("/beta12(?=3)/", "/beta12(?=3)/ is no regular expression"),
            ("/)/", "/)/ is no regular expression"),
            ("/(beta/", "“/(beta/” as text: "),
        ):
            await pilot.press("slash")
            main.pane.find_bar.box.value = typed
            await until(pilot, lambda said=said: said in below(main))  # type: ignore[misc]
            await pilot.press("escape")


async def test_a_search_of_all_is_lit_again_afterwards(program: Program, claude_home: ClaudeHome) -> None:
    walk_at_the_lake(claude_home)
    async with program(claude_home.home) as pilot:
        main = main_of(pilot)
        main.search_for("past")
        await until(pilot, lambda: main.search.total == 1)
        await pilot.press("enter", "enter")
        await until(pilot, lambda: main.parts.is_reading and main.pane.finder.within is not None)
        searched = main.pane.finder.within
        await find(pilot, "heron", "of 3")
        assert main.pane.finder.within is not searched
        await pilot.press("escape")
        await until(pilot, lambda: main.pane.finder.within is searched)
        await pilot.press("backslash")
        await until(pilot, lambda: main.focused is main.box)


async def test_what_is_said_meanwhile_is_counted(program: Program, claude_home: ClaudeHome) -> None:
    walk_at_the_lake(claude_home)
    async with program(claude_home.home) as pilot:
        main = await read(pilot)
        await find(pilot, "heron", "3 of 3")
        (path,) = claude_home.home.rglob("*.jsonl")
        claude_home.say(path, "assistant", "One more heron.")
        await until(pilot, lambda: "“heron” 3 of 4" in below(main))
        await pilot.press("n")
        await until(pilot, lambda: "“heron” 4 of 4" in below(main))


def long_walk(home: ClaudeHome, *said: str | int) -> None:
    """A session with these messages; a number stands for so many long ones."""
    path = home.session("A long walk")
    for one in said:
        if isinstance(one, str):
            home.say(path, "assistant", one)
        else:
            for number in range(one):
                home.say(path, "assistant", f"We went on past {number}, " + "and on, " * 600)


async def test_all_of_a_long_session_is_counted_and_little_of_it_loaded(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The view goes to the beginning when one goes round, and `esc` stops that."""
    long_walk(claude_home, "The first heron.", 1_500, "The last heron.")
    async with program(claude_home.home) as pilot:
        main = await read(pilot)
        await pilot.press("slash", *"heron")
        await until(pilot, lambda: "“heron” 2 of 2" in below(main))
        assert len(main.pane.messages) < 400
        transcript, may_read = main.pane.opened.transcript, threading.Event()
        assert transcript is not None
        earlier = transcript.earlier
        monkeypatch.setattr(transcript, "earlier", lambda: earlier() if may_read.wait(30) else 0)
        await pilot.press("enter", "n")
        await until(pilot, lambda: "reading what is earlier, esc stops" in below(main))
        await pilot.press("escape")
        may_read.set()
        await until(pilot, lambda: not main.pane.finder.needs_earlier and not main.pane.opened.loading)
        assert not main.pane.view.complete and "“heron” 2 of 2" in below(main)
        await pilot.press("n")
        await until(pilot, lambda: "The first heron." in content(main) and "“heron” 1 of 2" in below(main))


async def test_a_long_session_is_not_read_again_for_what_is_known_of_it(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_walk(claude_home, 500, "The only heron.")
    async with program(claude_home.home) as pilot:
        main = await read(pilot)
        await pilot.press("slash", *"heron")
        await until(pilot, lambda: "“heron” 1 of 1" in below(main))
        transcript, read_again = main.pane.opened.transcript, list[int]()
        assert transcript is not None and not transcript.complete

        def part(step: int) -> None:
            read_again.append(step)

        def earlier() -> int:
            read_again.append(-1)
            return 0

        monkeypatch.setattr(transcript, "earlier", earlier)
        monkeypatch.setattr(transcript, "part", part)
        await pilot.press("enter", "N")
        await until(pilot, lambda: toasts(pilot) == ["There is no other match in this session"])
        await pilot.press("slash", *"walrus")
        await until(pilot, lambda: "“walrus” is not in this session" in below(main))
        await pilot.press("enter")
        await until(pilot, lambda: main.focused is main.pane and not main.pane.finder.is_seeking)
        assert main.pane.following and not read_again


async def test_counting_leaves_the_processor_to_what_goes_to_a_match(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_walk(claude_home, "The first heron.", 1_500)
    async with program(claude_home.home) as pilot:
        main = await read(pilot)
        transcript, counts, looks = main.pane.opened.transcript, threading.Event(), threading.Event()
        assert transcript is not None
        load_part, stream = type(transcript).load_part, transcript.stream()
        assert stream is not None
        monkeypatch.setattr(
            type(transcript), "load_part", lambda self, step: looks.wait(30) and load_part(self, step)
        )
        monkeypatch.setattr(transcript, "stream", lambda: (one for one in stream if counts.wait(30)))
        await pilot.press("slash", *"heron", "enter")
        await until(pilot, lambda: "looking for it" in below(main))
        counts.set()
        await pilot.pause(0.5)
        assert "“heron” 0 so far, 0 % read" in below(main)
        looks.set()
        await until(pilot, lambda: "The first heron." in content(main) and "“heron” 1 of 1" in below(main))


async def test_the_help_says_which_key_looks_where(program: Program, claude_home: ClaudeHome) -> None:
    walk_at_the_lake(claude_home)
    async with program(claude_home.home) as pilot:

        async def told() -> dict[str, str]:
            await pilot.press("f1")
            await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen) and pilot.app.screen.query(Page))
            found = {one.label: one.text for one in pilot.app.screen.query_one(Page).blocks if one.label}
            await pilot.press("escape")
            return found

        assert (await told())["/"] == "Search all sessions"
        await read(pilot)
        here = await told()
        assert (here["/"], here["\\"]) == ("Find in this session", "Search all sessions, also from one")
