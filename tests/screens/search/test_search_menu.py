"""The menu of what can be searched for again: saving and removing in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import cast

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from hermes_tui.platform.locks import take
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.dialogs.search_menu import Offers, SearchMenu
from hermes_tui.tui.screens.main.screen import MainScreen
from hermes_tui.tui.state.recent_searches import Recent
from hermes_tui.tui.state.saved_searches import Saved
from pilots import screen_text, toasts, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


def main_of(pilot: Pilot[None]) -> MainScreen:
    return cast(HermesApp, pilot.app).main


async def opened(pilot: Pilot[None]) -> None:
    await pilot.press("ctrl+r")
    await until(pilot, lambda: isinstance(pilot.app.screen, SearchMenu) and "Search again" in screen_text(pilot))


async def left(pilot: Pilot[None]) -> None:
    await pilot.press("escape")
    await until(pilot, lambda: not isinstance(pilot.app.screen, SearchMenu))


def line(pilot: Pilot[None], words: str) -> str:
    """The line of the menu with these words, without its frame and with single blanks."""
    (found,) = [one for one in screen_text(pilot).splitlines() if words in one and "│" in one]
    return " ".join(found.split("│")[1].split())


def test_each_query_is_offered_once() -> None:
    named = {"wet": "weir OR reeds"}
    offers = Offers("heron", ["jetty", "heron", "weir OR reeds", "boat"], named, ["boat", "weir OR reeds", "oar"])
    assert [(one.key, one.query, one.name) for one in offers.lines()] == [
        ("0", "heron", ""),
        ("1", "jetty", ""),
        ("a", "weir OR reeds", "wet"),
        ("b", "boat", ""),
        ("c", "oar", ""),
    ]
    assert [one.key for one in Offers("oar", [], {}, ["oar"]).lines()] == ["a"]
    many = list(Offers("", [], {}, [str(number) for number in range(30)]).lines())
    assert many[-1].query == "29" and many[-1].key == "" and len({one.key for one in many}) == 26


async def test_what_is_typed_and_what_is_recent_is_saved_and_removed(
    program: Program, claude_home: ClaudeHome
) -> None:
    Recent().add("jetty")
    async with program(claude_home.home, searches={"wet feet": "weir OR reeds"}) as pilot:
        main = main_of(pilot)
        await pilot.press("slash", *"heron")
        await opened(pilot)
        assert "/ typed  ★ saved  esc leaves" in screen_text(pilot)
        assert "ctrl+s save  del remove" in screen_text(pilot)
        assert line(pilot, "heron") == "0 / heron"
        assert line(pilot, "jetty") == "1 jetty"
        assert line(pilot, "wet feet") == "a ★ wet feet settings: weir OR reeds"
        await pilot.press("ctrl+s", "down", "ctrl+s")
        await until(pilot, lambda: line(pilot, "jetty") == "1 ★ jetty")
        assert line(pilot, "heron") == "0 ★ heron"
        assert Saved().path.read_text() == "heron\njetty\n"
        await pilot.press("delete")
        await until(pilot, lambda: line(pilot, "jetty") == "1 jetty")
        assert Saved().path.read_text() == "heron\n"
        await left(pilot)
        assert main.box.value == "heron" and toasts(pilot) == []

        await opened(pilot)
        assert line(pilot, "heron") == "b ★ heron"
        await pilot.press("ctrl+x")  # the cursor is on what is typed
        await until(pilot, lambda: line(pilot, "heron") == "b / heron")
        assert Saved().path.read_text() == ""
        await pilot.press("ctrl+s")
        await until(pilot, lambda: line(pilot, "heron") == "b ★ heron")
        assert Saved().path.read_text() == "heron\n"


async def test_a_saved_search_is_chosen_by_its_key_and_in_the_palette(
    program: Program, claude_home: ClaudeHome
) -> None:
    Saved().add("boat OR oar")
    async with program(claude_home.home) as pilot:
        main = main_of(pilot)
        offered = {one.title: one.run for one in cast(HermesApp, pilot.app).commands()}
        await pilot.press("slash")
        await opened(pilot)
        await pilot.press("a")
        await until(pilot, lambda: main.box.value == "boat OR oar")
        main.box.value = ""
        offered["Search: boat OR oar"]()
        assert main.box.value == "boat OR oar"


async def test_those_of_the_settings_are_not_changed(program: Program, claude_home: ClaudeHome) -> None:
    async with program(claude_home.home, size=(120, 30), searches={"wet feet": "weir OR reeds"}) as pilot:
        await pilot.press("slash")
        await opened(pilot)
        await pilot.press("delete", "ctrl+s")
        await until(pilot, lambda: len(toasts(pilot)) == 2)
        removed, saved = toasts(pilot)
        assert removed == "“wet feet” stands in [searches] of your settings file: remove it there."
        assert saved == "“wet feet” is saved already, in [searches] of your settings file."
        assert line(pilot, "wet feet") == "a ★ wet feet settings: weir OR reeds"
        assert not Saved().path.exists()


async def test_what_cannot_be_written_is_said(
    program: Program, claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hermes_tui.tui.state.saved_searches.PATIENCE", 0.0)
    async with program(claude_home.home, size=(120, 30)) as pilot:
        await pilot.press("slash", *"heron")
        await opened(pilot)
        assert take(Saved().path.with_name("saved-searches.lock")) is not None
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(toasts(pilot)) == 1)
        assert toasts(pilot)[0].startswith("Nothing was changed: ") and "another program" in toasts(pilot)[0]
        assert line(pilot, "heron") == "0 / heron"
        await pilot.press("delete")
        await until(pilot, lambda: len(toasts(pilot)) == 2)
        assert "nothing to remove" in toasts(pilot)[1]


async def test_more_than_fit_are_scrolled_through(program: Program, claude_home: ClaudeHome) -> None:
    for number in range(40):
        Saved().add(f"query {number:02} " + "long " * 40)
    async with program(claude_home.home) as pilot:
        await pilot.press("slash")
        await opened(pilot)
        assert "query 00" in screen_text(pilot) and "query 39" not in screen_text(pilot)
        assert "ctrl+s save" in screen_text(pilot)
        await pilot.press("up")
        await until(pilot, lambda: "query 39" in screen_text(pilot))
        await pilot.press("delete")
        await until(pilot, lambda: len(Saved().queries) == 39)
        await pilot.resize_terminal(60, 12)
        await until(pilot, lambda: "query 39" in screen_text(pilot) and "query 30" not in screen_text(pilot))
        assert "ctrl+s save" in screen_text(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).box.value.startswith("query 39"))


async def test_a_letter_that_the_user_gave_to_saving_saves(program: Program, claude_home: ClaudeHome) -> None:
    async with program(
        claude_home.home, keymap={"searches.save": "a"}, searches={"wet feet": "weir OR reeds"}
    ) as pilot:
        await pilot.press("slash", *"heron")
        await opened(pilot)
        assert " a save" in screen_text(pilot)
        await pilot.press("a")
        await until(pilot, lambda: Saved().queries == ["heron"])
        await left(pilot)
