"""The lanes filtered, sorted, and with what their turns are at: what is known, and what is said not to be."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from hermes_tui.sessions.mark_store import MarkStore
from hermes_tui.tui.screens.dialogs.menu import MenuScreen
from hermes_tui.tui.screens.lanes.screen import LanesScreen
from hermes_tui.tui.widgets.lanes.filter import LaneFilter
from lane_homes import BO, DISCORD, NOW, HermesDemo, agree, app_of, go, lanes_of, planned, state
from pilots import screen_text, until


def keys(pilot: Pilot[None]) -> list[str]:
    return [row.key for row in lanes_of(pilot).table.rows]


async def test_words_leave_the_lanes_that_have_them(demo: HermesDemo) -> None:
    async with demo.program((160, 40)) as pilot:
        whole = keys(pilot)
        expected = [key for key in whole if "telegram" in key]
        await pilot.press("slash", *"telegram")
        await until(pilot, lambda: keys(pilot) == expected)
        assert 0 < len(expected) < len(whole)
        assert f"{len(expected)} of {len(whole)}" in screen_text(pilot).splitlines()[0]
        await pilot.press("down", *" q")  # a letter is a character here, and no command
        await until(pilot, lambda: "No lane has all these words" in screen_text(pilot))
        await pilot.press("backspace", "backspace", "enter")
        await until(pilot, lambda: keys(pilot) == expected and lanes_of(pilot).focused is lanes_of(pilot).table)
        await pilot.press("escape")
        await until(pilot, lambda: keys(pilot) == whole)
        assert isinstance(pilot.app.screen, LanesScreen), "the first escape shows all lanes, the second one leaves"
        assert not lanes_of(pilot).query_one(LaneFilter).display
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is app_of(pilot).main)


async def test_leaving_the_box_shows_all(demo: HermesDemo) -> None:
    async with demo.program((80, 24)) as pilot:
        whole = keys(pilot)
        await pilot.press("slash", *"discord")
        await until(pilot, lambda: DISCORD in keys(pilot) and len(keys(pilot)) < len(whole))
        await pilot.press("escape")
        await until(pilot, lambda: keys(pilot) == whole)


@pytest.mark.parametrize("turned", [False, True])
async def test_orders(demo: HermesDemo, turned: bool) -> None:
    entries = {
        key: json.loads(entry) for key, entry in demo.sql("SELECT session_key, entry_json FROM gateway_routing")
    }
    async with demo.program((160, 40)) as pilot:
        usual = keys(pilot)
        await pilot.press("o")
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuScreen))
        assert "now latest active first" in screen_text(pilot)
        await pilot.press("2", *("O" if turned else ""))
        await until(pilot, lambda: keys(pilot) != usual)
        words = "fewest tokens first" if turned else "most tokens first"
        await until(pilot, lambda: words in screen_text(pilot).splitlines()[0])
        tokens = [entries[key].get("last_prompt_tokens", 0) for key in keys(pilot) if key in entries]
        prompts = [number for number in tokens if number]
        assert len(prompts) > 2 and prompts == sorted(prompts, reverse=not turned)
        await pilot.press("o", "1", *("O" if turned else ""))
        await until(pilot, lambda: keys(pilot) == (usual[::-1] if turned else usual) or turned)


async def test_busy_with_what_and_what_waits_where_nobody_says(demo: HermesDemo) -> None:
    marks = Path(os.environ["HOME"]) / ".local" / "state" / "hermes-tui" / "marks.db"
    for left in marks.parent.glob("marks.db*"):  # another test's, which may have begun later
        left.unlink()
    store = MarkStore(marks, now=(NOW - timedelta(days=1)).timestamp)
    assert store.began, "what is newer than that counts as unread"
    store.close()
    demo.begin_turn(DISCORD)
    async with demo.program((80, 48), attention=True) as pilot:  # beside the list a session would be seen
        await pilot.resize_terminal(160, 48)
        await until(pilot, lambda: state(pilot, DISCORD) == "● working now")
        await go(pilot, DISCORD)
        await until(pilot, lambda: "not known: the gateway keeps it in its memory" in screen_text(pilot))
        text = screen_text(pilot)
        assert "1 turn running" in text and "web_search docker" in " ".join(text.split())
        await pilot.press("o", "4")
        await until(pilot, lambda: keys(pilot)[0] == DISCORD)
        demo.end_gateway()
        app_of(pilot).action_refresh()
        await until(pilot, lambda: state(pilot, DISCORD) == "† gone now")
        await until(pilot, lambda: "gone since" in screen_text(pilot))  # the row is known before anything is drawn
        assert "behind the turn" not in screen_text(pilot)


async def test_a_turn_that_dies_is_told_of_a_session_that_was_looked_at(demo: HermesDemo) -> None:
    """As one is that stands beside the list for a moment; nothing was said when its gateway died."""
    demo.begin_turn(DISCORD)
    session = f"hermes:{demo.entry(DISCORD)['session_id']}"
    store = MarkStore(Path(os.environ["HOME"]) / ".local" / "state" / "hermes-tui" / "marks.db")
    store.see(session, NOW + timedelta(days=1))
    async with demo.program((160, 48), attention=True) as pilot:
        await until(pilot, lambda: state(pilot, DISCORD) == "● working now")
        await go(pilot, DISCORD)
        demo.end_gateway()
        app_of(pilot).action_refresh()
        await until(pilot, lambda: state(pilot, DISCORD) == "† gone now")
        assert store.seen()[session] < NOW.timestamp()
    store.close()


async def test_the_queue_of_a_gateway_that_writes_it_down(demo: HermesDemo, at_once: None) -> None:
    demo.begin_turn(DISCORD, queued={DISCORD: 3, BO: "many"})
    async with demo.program((160, 48), attention=True) as pilot:
        await until(pilot, lambda: "◷ 3 messages wait" in screen_text(pilot).splitlines()[0])
        await go(pilot, DISCORD)
        await until(pilot, lambda: "3 messages behind the turn" in screen_text(pilot))
        await pilot.press("S")
        await planned(pilot)
        await agree(pilot)
        await until(pilot, lambda: "◷ 1 change waits" in screen_text(pilot).splitlines()[0])
        assert state(pilot, DISCORD) == "◷ suspend pending", "what waits is worth more than that it is busy"
