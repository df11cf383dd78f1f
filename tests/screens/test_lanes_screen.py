"""The lanes on the screen: what it says, what each key does to the store, and what a key must not do."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from textual import events
from textual.pilot import Pilot

from hermes_tui.app import HermesApp
from hermes_tui.demo.gateway import DemoGateway
from hermes_tui.screens.agreement import AgreementScreen
from hermes_tui.screens.help import HelpScreen
from hermes_tui.screens.lane_plan import PlanScreen
from hermes_tui.screens.lane_transcript import LaneTranscript
from hermes_tui.screens.lanes import LanesScreen
from hermes_tui.screens.session_picker import SessionPicker
from hermes_tui.widgets.buttons import Buttons
from hermes_tui.widgets.lanes.table import LaneTable
from hermes_tui.widgets.page import Page
from lane_homes import NOW, HermesDemo, lanes_of
from pilots import screen_text, until
from tiny_home import tree_hash

DISCORD = "agent:main:discord:thread:880012:880012"
BO = "agent:main:telegram:dm:700002"
FAYE = "agent:main:slack:channel:C0700009:U7"
DANA = "agent:main:email:dm:dana@example.org"


@pytest.fixture
def demo(tmp_path: Path) -> HermesDemo:
    return HermesDemo(tmp_path / "home")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Yes counts as soon as the plan is on the screen."""
    monkeypatch.setattr(AgreementScreen, "QUIET", 0.0)


def app_of(pilot: Pilot[None]) -> HermesApp:
    return cast(HermesApp, pilot.app)


def toasts(pilot: Pilot[None]) -> list[str]:
    return [notification.message for notification in pilot.app._notifications]


async def go(pilot: Pilot[None], key: str, profile: str = "default") -> None:
    """The cursor to that lane."""
    screen = lanes_of(pilot)
    while (shown := screen.profile) is None or shown.name != profile:
        await pilot.press("tab")
    at = next(at for at, row in enumerate(screen.table.rows) if row.key == key)
    screen.table.go(at)
    await pilot.pause()


async def planned(pilot: Pilot[None]) -> PlanScreen:
    """The plan, once it is on the screen."""
    await until(pilot, lambda: isinstance(pilot.app.screen, PlanScreen))
    screen = cast(PlanScreen, pilot.app.screen)
    await until(pilot, lambda: screen.plan is not None and screen._shown < float("inf"))
    return screen


async def agree(pilot: Pilot[None]) -> None:
    """Wait for the plan, and say yes."""
    await planned(pilot)
    await pilot.press("y")
    await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))
    await until(pilot, lambda: not lanes_of(pilot)._doing)


def state(pilot: Pilot[None], key: str) -> str:
    """What the row says of the lane's state."""
    row = next(row for row in lanes_of(pilot).table.rows if row.key == key)
    return f"{row.state.glyph} {row.state.word}"


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
        assert "profile default" in title and "⚕ gateway (pid 4100) up 3d 4h, no turns running" in title
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
        await until(pilot, lambda: "created_at is missing" in screen_text(pilot))
        await pilot.press("q", "q")
        await until(pilot, lambda: pilot.app.screen is app_of(pilot).main)


async def test_the_header_and_the_list_know_of_lanes(demo: HermesDemo) -> None:
    async with demo.program((140, 40), lanes=False) as pilot:
        main = app_of(pilot).main
        assert "⚕ gateway up 3d 4h · 12 lanes" in screen_text(pilot).splitlines()[0]
        states = {
            conversation.title: found.word
            for conversation in main.sessions.forest.roots
            if (found := main.sessions.lane_state(conversation)) is not None
        }
        assert states == {
            "Disk alert on db-2": "resume pending",
            "Was steht auf dem Schild? 📷": "suspended",
            "Review of the parser": "resume pending",
        }
        rows = [row.conversation.title if row.conversation else "" for row in main.sessions.rows]
        main.sessions.move_to(rows.index("Was steht auf dem Schild? 📷"))
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
        await until(pilot, lambda: app.main.snapshot.places and app.main.lanes is not None)
        assert "⚕" not in screen_text(pilot)
        await pilot.press("L", *"RSEmcup", "enter", "tab", "down")
        await until(pilot, lambda: "There is no Hermes here." in screen_text(pilot))
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
            strips = pilot.app.screen._compositor.render_strips()
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


# Changing lanes --------------------------------------------------------------------------------------------------


async def test_a_reset_without_a_gateway_and_its_undo(demo: HermesDemo, at_once: None) -> None:
    before = demo.whole()
    old = demo.entry(BO, "coder")["session_id"]
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("R")
        screen = await planned(pilot)
        text = screen_text(pilot)
        assert "no gateway is running" in text and f"ends {old} with reason session_reset" in text
        assert f"hermes-tui lanes reset {BO} --profile coder" in text
        assert screen.query_one(Buttons).words[screen.query_one(Buttons).chosen] == "Cancel"
        assert demo.whole() == before
        await agree(pilot)
        await until(pilot, lambda: state(pilot, BO) == "✓ reset done 10:34")
        new = demo.entry(BO, "coder")["session_id"]
        assert new != old
        assert demo.sql("SELECT end_reason FROM sessions WHERE id = ?", old, profile="coder") == [("session_reset",)]
        assert any(f"reset: done, the lane is in the new session {new}" in said for said in toasts(pilot))
        assert f"done, the lane is in the new session {new}" in screen_text(pilot)
        await pilot.press("u")
        await agree(pilot)
        await until(pilot, lambda: state(pilot, BO) == "✓ undone 10:34")
        await pilot.press("u")
        await until(pilot, lambda: any("could be taken back" in said for said in toasts(pilot)))
    assert demo.whole() == before


@pytest.mark.parametrize("way", ["escape", "enter", "n", "q", "tab-tab-enter"])
async def test_no_is_no(demo: HermesDemo, at_once: None, way: str) -> None:
    before = demo.whole()
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("S")
        await planned(pilot)
        await pilot.press(*way.split("-"))
        await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))
    assert demo.whole() == before


async def test_the_button_does_what_its_key_does(demo: HermesDemo, at_once: None) -> None:
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("S")
        await planned(pilot)
        await pilot.press("tab", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))
        await until(pilot, lambda: state(pilot, BO) == "✓ suspended 10:34")
        assert demo.entry(BO, "coder")["suspended"] is True


async def test_mark_and_clear_without_a_gateway(demo: HermesDemo, at_once: None) -> None:
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("m")
        await agree(pilot)
        await until(pilot, lambda: state(pilot, BO) == "✓ marked 10:34")
        marked = demo.entry(BO, "coder")
        assert (marked["resume_pending"], marked["resume_reason"]) == (True, "restart_timeout")
        await go(pilot, FAYE, "coder")
        await pilot.press("c")
        await agree(pilot)
        await until(pilot, lambda: state(pilot, FAYE) == "✓ cleared 10:34")
        assert demo.entry(FAYE, "coder")["resume_pending"] is False


async def test_a_session_to_resume_into_is_found_by_words(demo: HermesDemo, at_once: None) -> None:
    query = "SELECT id FROM sessions WHERE session_key = ? AND title = ?"
    [(wanted,)] = demo.sql(query, BO, "Rename the billing module", profile="coder")
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("E")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionPicker))
        assert "Rename the billing module" in screen_text(pilot).splitlines()[8], "the lane's own come first"
        await pilot.press(*"nothing has this")
        await until(pilot, lambda: "No session has all these words." in screen_text(pilot))
        await pilot.press("enter")
        assert isinstance(pilot.app.screen, SessionPicker)
        await pilot.press("ctrl+u", *"billing rename", "enter")
        await agree(pilot)
        await until(pilot, lambda: state(pilot, BO) == "✓ resumed 10:34")
        assert demo.entry(BO, "coder")["session_id"] == wanted
        assert demo.sql("SELECT end_reason FROM sessions WHERE id = ?", wanted, profile="coder") == [(None,)]


async def test_what_cannot_be_gone_on_in_comes_last(demo: HermesDemo) -> None:
    """Compressed sessions go on in another one, and other lanes are in theirs."""
    ops = "agent:main:telegram:group:-1001234567:700001"
    compressed = {id_ for (id_,) in demo.sql("SELECT id FROM sessions WHERE end_reason = 'compression'")}
    taken = {demo.entry(key)["session_id"] for key in (DISCORD, DANA)}
    async with demo.program() as pilot:
        await go(pilot, ops)
        await pilot.press("E")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionPicker))
        offered = cast(SessionPicker, pilot.app.screen)._candidates
        ids, notes = [one.session.session_id for one in offered], [one.note for one in offered]
        assert notes == sorted(notes, key=lambda note: {"in another lane": 1, "compressed, goes on": 2}.get(note, 0))
        assert taken <= {id_ for id_, note in zip(ids, notes, strict=True) if note == "in another lane"}
        assert compressed & set(ids) == {
            id_ for id_, note in zip(ids, notes, strict=True) if note == "compressed, goes on"
        }


async def test_no_notice_lies_over_the_buttons_of_the_next_plan(demo: HermesDemo, at_once: None) -> None:
    demo.end_gateway()
    async with demo.program((80, 24)) as pilot:
        await go(pilot, DISCORD)
        await pilot.press("R")
        await agree(pilot)
        await until(pilot, lambda: any(text.startswith("reset: done") for text in toasts(pilot)))
        await pilot.press("u")
        await planned(pilot)
        assert toasts(pilot) == []
        assert "[ Cancel ]    Undo (y)" in screen_text(pilot)


async def test_at_80_columns_the_way_to_all_keys_and_the_time_of_a_reset_are_there(demo: HermesDemo) -> None:
    async with demo.program((80, 24)) as pilot:
        await until(pilot, lambda: "? keys" in screen_text(pilot).splitlines()[-1])
        text = screen_text(pilot)
        assert "daily 04:00, in 17 h 26 min" in text and "mark expires, in 51 min" in text
        await go(pilot, "agent:main:telegram:group:-1001234567:700001")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, LaneTranscript))
        await until(pilot, lambda: "< earlier" in screen_text(pilot).splitlines()[-1])
        assert screen_text(pilot).splitlines()[-1].startswith(" esc back")
        assert "? keys" in screen_text(pilot).splitlines()[-1]


async def test_a_profile_that_is_deleted_while_its_plan_is_on_the_screen(demo: HermesDemo, at_once: None) -> None:
    demo.end_gateway()
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("R")
        await planned(pilot)
        (demo.root / "profiles" / "coder").rename(demo.home / "elsewhere")
        before = tree_hash(demo.home / "elsewhere")
        await pilot.press("y")
        await until(pilot, lambda: any("there is no Hermes profile 'coder'" in text for text in toasts(pilot)))
        await until(pilot, lambda: (shown := lanes_of(pilot).profile) is not None and shown.name == "default")
        assert tree_hash(demo.home / "elsewhere") == before
        assert not (demo.root / "profiles" / "coder").exists()


async def test_a_session_of_another_person_only_by_force(demo: HermesDemo, at_once: None) -> None:
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("E")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionPicker))
        cli = demo.sql("SELECT id FROM sessions WHERE source = 'cli' AND message_count > 0", profile="coder")[0][0]
        await pilot.press(*cli.lower(), "enter")
        screen = await planned(pilot)
        assert screen.plan is not None and "belongs to another chat" in screen.plan.refusal
        assert screen.query_one(Buttons).words == ("Cancel",)
        await pilot.press("y")
        assert pilot.app.screen is screen
        await pilot.press("f")
        await until(pilot, lambda: screen.query_one(Buttons).words == ("Cancel", "Resume (y)"))
        assert "--force" in screen_text(pilot)
        await agree(pilot)
        await until(pilot, lambda: state(pilot, BO) == "✓ resumed 10:34")
        assert demo.entry(BO, "coder")["session_id"] == cli


async def test_prune_and_its_undo(demo: HermesDemo, at_once: None) -> None:
    demo.end_gateway()
    entry = demo.entry(DANA)
    entry["updated_at"] = (NOW - timedelta(days=50)).replace(tzinfo=None).isoformat()
    demo.sql("UPDATE gateway_routing SET entry_json = ? WHERE session_key = ?", json.dumps(entry), DANA)
    mirror = demo.root / "sessions" / "sessions.json"
    mirror.write_text(json.dumps(json.loads(mirror.read_text()) | {DANA: entry}, indent=2))
    before = demo.whole()
    async with demo.program() as pilot:
        await pilot.press("p", "2")
        screen = await planned(pilot)
        assert screen.plan is not None and screen.plan.keys == (DANA,)
        assert "lanes prune --days 30" in screen_text(pilot)
        await agree(pilot)
        await until(pilot, lambda: DANA not in [row.key for row in lanes_of(pilot).table.rows])
        assert demo.sql("SELECT count(*) FROM gateway_routing WHERE session_key = ?", DANA) == [(0,)]
        await pilot.press("u")
        await agree(pilot)
        await until(pilot, lambda: DANA in [row.key for row in lanes_of(pilot).table.rows])
    assert demo.whole() == before


async def test_beside_a_gateway_a_reset_waits_and_then_comes_true(demo: HermesDemo, at_once: None) -> None:
    old = demo.entry(DISCORD)
    async with demo.program() as pilot:
        await go(pilot, DISCORD)
        await pilot.press("R")
        await planned(pilot)
        assert "at the lane's next message; until then it is pending" in " ".join(screen_text(pilot).split())
        await agree(pilot)
        await until(pilot, lambda: state(pilot, DISCORD) == "◷ reset pending")
        assert demo.entry(DISCORD) == old, "the index is the gateway's"
        DemoGateway(demo.home).serve(NOW + timedelta(minutes=1))
        await until(pilot, lambda: state(pilot, DISCORD) == "✓ reset taken 10:34")
        new = demo.entry(DISCORD)["session_id"]
        assert new != old["session_id"] and f"the lane is in the new session {new}" in screen_text(pilot)
        # Whoever comes back later is told, too.
        await pilot.press("escape", "L")
        await until(pilot, lambda: state(pilot, DISCORD) == "✓ reset taken 10:34")


async def test_a_change_that_was_lost_says_so(demo: HermesDemo, at_once: None) -> None:
    old = demo.entry(DISCORD)["session_id"]
    async with demo.program() as pilot:
        await go(pilot, DISCORD)
        await pilot.press("S")
        await agree(pilot)
        await until(pilot, lambda: state(pilot, DISCORD) == "◷ suspend pending")
        # A running turn compresses: the gateway moves the lane to a child of the session that was ended.
        demo.sql(
            "INSERT INTO sessions (id, source, started_at, parent_session_id) VALUES ('child', 'discord', ?, ?)",
            NOW.timestamp(),
            old,
        )
        entry = json.dumps(demo.entry(DISCORD) | {"session_id": "child"})
        demo.sql("UPDATE gateway_routing SET entry_json = ? WHERE session_key = ?", entry, DISCORD)
        await until(pilot, lambda: state(pilot, DISCORD) == "✗ suspend lost 10:34")
        said = "the gateway moved the lane to child, which goes on from the old session (compression)"
        await until(pilot, lambda: said in " ".join(screen_text(pilot).split()))


@pytest.mark.parametrize("keys", ["m", "c", "p1"])
async def test_what_is_in_a_gateways_memory_is_refused(demo: HermesDemo, at_once: None, keys: str) -> None:
    before = demo.whole()
    async with demo.program() as pilot:
        await go(pilot, DISCORD)
        await pilot.press(*keys)
        screen = await planned(pilot)
        assert screen.query_one(Buttons).words == ("Cancel",)
        assert "Refused" in screen_text(pilot) and "It cannot be done now:" in screen_text(pilot)
        await pilot.press("y", "tab", "y", "f")
        assert pilot.app.screen is screen
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))
    assert demo.whole() == before


async def test_a_lane_that_changed_meanwhile_is_left_alone(demo: HermesDemo, at_once: None) -> None:
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("R")
        await planned(pilot)
        entry = json.dumps(demo.entry(BO, "coder") | {"updated_at": "2026-11-21T10:33:00"})
        demo.sql("UPDATE gateway_routing SET entry_json = ? WHERE session_key = ?", entry, BO, profile="coder")
        before = demo.whole()
        await agree(pilot)
        await until(pilot, lambda: any("changed since the plan was made" in said for said in toasts(pilot)))
        assert demo.whole() == before
        assert state(pilot, BO) == "○ live !" or state(pilot, BO) == "○ live"


async def test_an_unreadable_lane_is_refused(demo: HermesDemo, at_once: None) -> None:
    async with demo.program() as pilot:
        await go(pilot, "agent:main:webhook:dm:deploy")
        await pilot.press("R")
        screen = await planned(pilot)
        assert screen.plan is not None and "created_at is missing" in screen.plan.refusal
        await pilot.press("escape", "enter")
        await until(pilot, lambda: any("no session to read" in said for said in toasts(pilot)))


# What a key must not do ------------------------------------------------------------------------------------------


async def test_read_only_has_no_keys_that_change_anything(demo: HermesDemo, at_once: None) -> None:
    before = demo.whole()
    async with demo.program((160, 40), read_only=True) as pilot:
        text = screen_text(pilot)
        assert "read-only" in text.splitlines()[0]
        for word in ("reset…", "suspend…", "resume into…", "mark…", "clear…", "undo…", "prune…"):
            assert word not in text
        await go(pilot, BO, "coder")
        await pilot.press(*"RySyEymycyuypy")
        await pilot.pause()
        assert isinstance(pilot.app.screen, LanesScreen) and not toasts(pilot)
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
        assert not lanes_of(pilot)._doing
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
    monkeypatch.setattr(AgreementScreen, "QUIET", 3600.0)
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
        assert "resume pending · 1 of 3" in screen_text(pilot).splitlines()[0]
        await pilot.press("less_than_sign")
        await until(pilot, lambda: "Up since 13:00:04" in screen_text(pilot))
        assert "compression · 2 of 3" in screen_text(pilot).splitlines()[0]
        await pilot.press("comma", "comma", "comma")
        await until(pilot, lambda: "Shall I?" in screen_text(pilot))
        assert any("no earlier session" in said for said in toasts(pilot))
        await pilot.press("full_stop", "greater_than_sign")
        await until(pilot, lambda: "Freed 77.4 GB" in screen_text(pilot))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, LanesScreen))


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
