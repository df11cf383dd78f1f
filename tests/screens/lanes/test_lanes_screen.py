"""The lanes on the screen: what it says, and what a key must not do."""

from __future__ import annotations

import gc
import json
import weakref
from pathlib import Path

import pytest
from textual import events
from textual.widget import Widget

from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.cost import CostScreen
from hermes_tui.tui.screens.dialogs.confirm import ConfirmScreen
from hermes_tui.tui.screens.help import HelpScreen
from hermes_tui.tui.screens.lanes.plan import PlanScreen
from hermes_tui.tui.screens.lanes.screen import LanesScreen
from hermes_tui.tui.screens.lanes.transcript import LaneTranscript
from hermes_tui.tui.widgets.lanes.table import LaneTable
from hermes_tui.tui.widgets.page import Page
from hermes_tui.tui.widgets.transcript.pane import TranscriptPane
from lane_homes import BO, DISCORD, NOW, HermesDemo, app_of, go, lanes_of, planned, state, toasts
from pilots import drawn, screen_text, until

# What it says ----------------------------------------------------------------------------------------------------


async def test_every_state_is_there_with_glyph_and_word(demo: HermesDemo) -> None:
    async with demo.program((160, 40)) as pilot:
        text = screen_text(pilot)
        for words in (
            "↻ resume pending",
            "■ suspended",
            "○ live",
            "◌ expired",
            "✗ session ended",
            "○ auto-reset: daily",
            "⋯ compressed",
            "· no session yet",
            "! unreadable",
            "shared",
            "idle, in 23 h 19 min",
            "never",
            "daily at 04:00, at the next message",
        ):
            assert words in text, words
        title = text.splitlines()[0]
        assert "profile default" in title and "⚕ gateway 0.19 (pid 4100) up 3d 4h, no turns running" in title
        assert "1 problem" in title and title.endswith("read-write")
        await go(pilot, "agent:main:telegram:group:-1001234567:700001")
        text = screen_text(pilot)
        assert "platform telegram, chat type group, chat -1001234567, participant 700001" in text
        assert "(compression) ← " in text and "resume mark: restart_timeout" in text
        matrix = next(row.key for row in lanes_of(pilot).table.rows if row.cells[0] == "matrix")
        await go(pilot, matrix)
        text = screen_text(pilot)
        assert "2 in a row while it was busy" in text and "20261101_090000_0ddba11e" in text
        await pilot.press("tab")
        await until(pilot, lambda: "profile coder · ⚕ no gateway runs" in screen_text(pilot))
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: "created_at is missing" in " ".join(screen_text(pilot).split()))
        await pilot.press("q", "q")
        await until(pilot, lambda: pilot.app.screen is app_of(pilot).main)


async def test_the_header_and_the_list_know_of_lanes(demo: HermesDemo) -> None:
    async with demo.program((140, 40), lanes=False) as pilot:
        main = app_of(pilot).main
        assert "⚕ gateway up 3d 4h · 12 lanes" in screen_text(pilot).splitlines()[0]
        states = {
            conversation.title: found.word
            for conversation in main.sessions.forest.roots
            if (found := main.sessions.states.of(conversation)) is not None and found.glyph in "↻■"
        }
        assert states == {
            "Disk alert on db-2": "resume pending",
            "Was steht auf dem Schild? 📷": "suspended",
            "Review of the parser": "resume pending",
        }
        rows = [row.conversation.title if row.conversation else "" for row in main.sessions.rows]
        main.sessions.go(rows.index("Was steht auf dem Schild? 📷"))
        await until(pilot, lambda: "■ suspended" in screen_text(pilot).splitlines()[-2])
        demo.end_gateway()
        app_of(pilot).action_refresh()
        await until(pilot, lambda: "⚕ no gateway · 12 lanes" in screen_text(pilot).splitlines()[0])


async def test_a_machine_without_hermes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_tui.clock import Clock
    from hermes_tui.sessions.manager import SessionManager
    from session_adapters.base import Environment

    manager = SessionManager(Environment(home=tmp_path), cache_dir=tmp_path / "cache", indexed=False)
    app = HermesApp(manager, clock=Clock(NOW))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: app.main.snapshot.places and app.main.parts.lanes is not None)
        assert "⚕" not in screen_text(pilot)
        await pilot.press("L", *"RSEmcup", "enter", "tab", "down")
        await until(pilot, lambda: "There is no Hermes here." in screen_text(pilot))
        assert "is not there; set HERMES_HOME" in " ".join(screen_text(pilot).split())
        await pilot.press("escape", "escape")
        assert not isinstance(app.screen, PlanScreen)


@pytest.mark.parametrize("size", [(80, 24), (40, 15), (20, 6), (200, 60)])
async def test_every_lane_can_be_reached_at_every_size(demo: HermesDemo, size: tuple[int, int]) -> None:
    async with demo.program(size) as pilot:
        table = lanes_of(pilot).table
        await pilot.press("home")
        seen = []
        for _ in range(len(table.rows)):
            lines = screen_text(pilot).splitlines()
            assert all(len(line) <= size[0] for line in lines)
            assert any(line.startswith(" ▸ ") for line in lines), "the cursor is to be seen"
            assert table.highlighted is not None
            seen.append(table.highlighted.key)
            await pilot.press("down")
        assert seen == [row.key for row in table.rows]
        await pilot.press("home")
        assert table.cursor == 0
        # The plan of a change can be read and left there, too.
        await go(pilot, DISCORD)
        await pilot.press("R")
        await planned(pilot)
        if size[0] >= 40:
            assert "Cancel" in screen_text(pilot) and "Reset (y)" in screen_text(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))


async def test_no_colour_is_no_colour(demo: HermesDemo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with demo.program((80, 24)) as pilot:
        for key in ("", "R"):
            if key:
                await pilot.press(key)
                await planned(pilot)
            strips = drawn(pilot.app)
            styles = [segment.style for strip in strips for segment in strip if segment.style is not None]
            assert styles
            for style in styles:
                for colour in (style.color, style.bgcolor):
                    assert colour is None or colour.is_default, style


async def test_nothing_is_drawn_when_nothing_is_new(demo: HermesDemo, monkeypatch: pytest.MonkeyPatch) -> None:
    async with demo.program() as pilot:
        app, screen = app_of(pilot), lanes_of(pilot)
        await pilot.pause()
        drawn: list[object] = []
        monkeypatch.setattr(LaneTable, "refresh", lambda *_, **__: drawn.append("table"))
        monkeypatch.setattr(Page, "refresh", lambda *_, **__: drawn.append("page"))
        before = screen.news
        assert before is not None
        screen.apply(before)
        app.main.show_lanes(before)
        # A file was touched, and what is in it is the same.
        demo.sql("UPDATE gateway_routing SET updated_at = updated_at + 1 WHERE session_key = ?", DISCORD)
        app.lane_watch.look()
        await pilot.pause()
        assert drawn == []
        demo.sql("UPDATE sessions SET end_reason = 'idle', ended_at = 1 WHERE session_key = ?", DISCORD)
        app.lane_watch.look()
        await until(pilot, lambda: drawn)
        assert state(pilot, DISCORD) == "✗ session ended"


async def test_a_database_that_cannot_be_read(demo: HermesDemo) -> None:
    """The lanes of the mirror, without a word on sessions that nobody can know of."""
    (demo.root / "state.db").write_bytes(b"no database at all\n" * 500)
    async with demo.program() as pilot:
        words = {row.state.word.removesuffix(" !") for row in lanes_of(pilot).table.rows}
        assert "unknown" in words
        assert words.isdisjoint({"live", "session ended", "no session yet"})
        assert "! 2 problems" in screen_text(pilot).splitlines()[0]
        await go(pilot, DISCORD)
        await pilot.press("enter")
        await until(pilot, lambda: any("database cannot be read" in said for said in toasts(pilot)))
        await pilot.press("exclamation_mark")
        await until(pilot, lambda: "as sessions.json has them" in " ".join(screen_text(pilot).split()))


# What a key must not do ------------------------------------------------------------------------------------------


async def test_read_only_keys_change_nothing_and_say_so(demo: HermesDemo, at_once: None) -> None:
    before = demo.whole()
    async with demo.program((160, 40), read_only=True) as pilot:
        text = screen_text(pilot)
        assert "read-only" in text.splitlines()[0]
        for word in ("reset…", "suspend…", "resume into…", "mark…", "clear…", "undo…", "prune…"):
            assert word not in text
        await go(pilot, BO, "coder")
        await pilot.press(*"RySyEymycyuypy")
        await pilot.pause()
        assert isinstance(pilot.app.screen, LanesScreen)
        assert [said.partition(":")[0] for said in toasts(pilot)] == ["Read-only"]
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
        assert "Next profile" in pilot.app.screen.query_one(Page).text
        assert "Give it a new, empty session" not in pilot.app.screen.query_one(Page).text
    assert demo.whole() == before
    assert not (Path.home() / ".local" / "state" / "hermes-tui" / "lanes.jsonl").exists()


@pytest.mark.parametrize("keys", ["Ry", "R\ry", "Sy\r", "my", "cy", "uy", "p1y", "R\t\ry"])
async def test_what_is_typed_ahead_changes_nothing(demo: HermesDemo, keys: str) -> None:
    """Law 9: all of it arrives in one read."""
    names = {"\r": "enter", "\t": "tab"}
    before = demo.whole()
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        for char in keys:
            pilot.app.post_message(events.Key(names.get(char, char), char))
        await pilot.pause()
        for char in keys:
            pilot.app.post_message(events.Key(names.get(char, char), char))
        for _ in range(20):
            await pilot.pause(0.01)
        while not isinstance(pilot.app.screen, LanesScreen):
            await pilot.press("escape")
            await pilot.pause()
        assert not lanes_of(pilot).operations.is_busy
    assert demo.whole() == before
    assert not (Path.home() / ".local" / "state" / "hermes-tui" / "lanes.jsonl").exists()


async def test_from_the_list_to_a_reset_in_one_read_changes_nothing(demo: HermesDemo) -> None:
    before = demo.whole()
    async with demo.program(lanes=False) as pilot:
        for char in "LRyRy":
            pilot.app.post_message(events.Key(char, char))
        for _ in range(20):
            await pilot.pause(0.01)
    assert demo.whole() == before


async def test_yes_that_comes_too_soon_says_so(demo: HermesDemo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConfirmScreen, "QUIET", 3600.0)
    before = demo.whole()
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("R")
        await planned(pilot)
        await pilot.press("y", "tab", "enter")
        assert "too soon; once more" in screen_text(pilot)
        assert isinstance(pilot.app.screen, PlanScreen)
    assert demo.whole() == before


# Its conversations -----------------------------------------------------------------------------------------------


async def test_the_conversation_and_the_ones_before(demo: HermesDemo) -> None:
    async with demo.program((100, 40)) as pilot:
        await go(pilot, "agent:main:telegram:group:-1001234567:700001")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, LaneTranscript))
        await until(pilot, lambda: "Freed 77.4 GB" in screen_text(pilot))
        assert "resume pending · session 3 of 3" in screen_text(pilot).splitlines()[0]
        await pilot.press("less_than_sign")
        await until(pilot, lambda: "Up since 13:00:04" in screen_text(pilot))
        assert "compression · session 2 of 3" in screen_text(pilot).splitlines()[0]
        await pilot.press("comma", "comma", "comma")
        await until(pilot, lambda: "Shall I?" in screen_text(pilot))
        assert any("no earlier session" in said for said in toasts(pilot))
        await pilot.press("full_stop", "greater_than_sign")
        await until(pilot, lambda: "Freed 77.4 GB" in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))


async def test_of_a_conversation_that_was_left_nothing_is_kept(demo: HermesDemo) -> None:
    """The program kept each with all that had been read of it, for as long as the terminal did not lose the focus:
    it told who watches that, and Textual forgets nobody before there is something to tell."""
    left: list[weakref.ref[Widget]] = []
    async with demo.program((100, 40)) as pilot:
        await go(pilot, "agent:main:telegram:group:-1001234567:700001")
        for _ in range(3):
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, LaneTranscript))
            await until(pilot, lambda: "Freed 77.4 GB" in screen_text(pilot))
            left.append(weakref.ref(pilot.app.screen.query_one(TranscriptPane)))
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))

        def kept() -> int:
            gc.collect()
            return sum(one() is not None for one in left)

        await until(pilot, lambda: not kept())


async def test_going_to_and_fro_between_costs_and_lanes_piles_up_nothing(demo: HermesDemo) -> None:
    async with demo.program((100, 40)) as pilot:
        app = pilot.app
        await go(pilot, "agent:main:telegram:group:-1001234567:700001")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, LaneTranscript))
        await pilot.press("L")
        await until(pilot, lambda: isinstance(app.screen, LanesScreen))
        for _ in range(3):
            await pilot.press("C")
            await until(pilot, lambda: isinstance(app.screen, CostScreen))
            assert "L lanes" in screen_text(pilot).splitlines()[-1]
            await pilot.press("L")
            await until(pilot, lambda: isinstance(app.screen, LanesScreen))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app_of(pilot).main)
        await pilot.press("C", "L", "C")
        await until(pilot, lambda: isinstance(app.screen, CostScreen) and len(app.screen_stack) == 2)


async def test_hostile_names_reach_nothing(demo: HermesDemo) -> None:
    entry = demo.entry(DISCORD)
    entry["display_name"] = "evil\x1b[2J\u202e[bold]x"
    entry["origin"]["chat_name"] = "evil\x1b[2J\u202e[bold]x"
    key = "agent:main:discord:thread:\x1b]0;x\x07\u202e"
    demo.sql("UPDATE gateway_routing SET entry_json = ? WHERE session_key = ?", json.dumps(entry), DISCORD)
    demo.sql("INSERT INTO gateway_routing SELECT scope, ?, entry_json, updated_at FROM gateway_routing LIMIT 1", key)
    async with demo.program((160, 40)) as pilot:
        for row in lanes_of(pilot).table.rows:
            await go(pilot, row.key)
            await pilot.press("R")
            await planned(pilot)
            text = screen_text(pilot)
            assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))
            text = screen_text(pilot)
            assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text
