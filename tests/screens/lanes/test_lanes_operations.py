"""The lanes on the screen: what each key does to the store, and what is then said of it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import cast

import pytest

from databases import locked
from hermes_tui.demo.gateway import serving
from hermes_tui.lifecycle.state_db.connection import store
from hermes_tui.tui.screens.dialogs.session_picker import SessionPicker
from hermes_tui.tui.screens.lanes.screen import LanesScreen
from hermes_tui.tui.screens.lanes.transcript import LaneTranscript
from hermes_tui.tui.widgets.buttons import Buttons
from lane_homes import BO, DANA, DISCORD, FAYE, NOW, HermesDemo, agree, go, lanes_of, planned, state, toasts
from pilots import screen_text, until
from tiny_home import tree_hash


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


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_who_is_waited_for_is_said(
    demo: HermesDemo, at_once: None, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    """Until then the row says that it waits, and the text below it for whom."""
    monkeypatch.setattr(store, "BUSY_TIMEOUT", 1)
    monkeypatch.setattr(store, "MAX_TRIES", 10_000)
    async with demo.program(size) as pilot:
        await go(pilot, BO, "coder")
        with locked(demo.root / "profiles" / "coder" / "state.db") as release:
            await pilot.press("S")
            await planned(pilot)
            await pilot.press("y")
            await until(pilot, lambda: state(pilot, BO) == "… suspend waits")
            await until(pilot, lambda: "locked; trying on, for 16 s at most" in " ".join(screen_text(pilot).split()))
            said = " ".join(screen_text(pilot).split())
            assert f"waits process {release()} (python" in said
        await until(pilot, lambda: state(pilot, BO) == "✓ suspended 10:34")
        assert "locked" not in screen_text(pilot)
        assert demo.entry(BO, "coder")["suspended"] is True


async def test_mark_and_clear_without_a_gateway(demo: HermesDemo, at_once: None) -> None:
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("m")
        await planned(pilot)
        assert "Mark this lane as interrupted?" in screen_text(pilot)
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
        offered = cast(SessionPicker, pilot.app.screen).candidates
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


async def test_sessions_of_one_title_are_told_apart_at_80_columns(demo: HermesDemo) -> None:
    ids = [id_ for (id_,) in demo.sql("SELECT id FROM sessions WHERE title IS NULL OR title != 'Twice' LIMIT 2")]
    demo.sql("DROP INDEX IF EXISTS idx_sessions_title_unique")
    demo.sql("UPDATE sessions SET title = 'Twice' WHERE id IN (?, ?)", *ids)
    async with demo.program((80, 24)) as pilot:
        await go(pilot, DISCORD)
        await pilot.press("E")
        await until(pilot, lambda: isinstance(pilot.app.screen, SessionPicker))
        await pilot.press(*"twice")
        await until(pilot, lambda: all(f"…{id_[-8:]}" in screen_text(pilot) for id_ in ids))


async def test_the_question_of_how_old_is_there_in_full(demo: HermesDemo) -> None:
    async with demo.program((80, 24)) as pilot:
        await go(pilot, DISCORD)
        await pilot.press("p")
        await until(pilot, lambda: "Drop lanes without activity for more than" in screen_text(pilot))


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
    local = [NOW.astimezone().replace(tzinfo=None)]
    async with serving(demo.home, clock=lambda: local[0], pace=0) as people, demo.program() as pilot:
        await go(pilot, DISCORD)
        await pilot.press("R")
        await planned(pilot)
        assert "at the lane's next message; until then it is pending" in " ".join(screen_text(pilot).split())
        await agree(pilot)
        await until(pilot, lambda: state(pilot, DISCORD) == "◷ reset pending")
        assert demo.entry(DISCORD) == old, "the index is the gateway's"
        local[0] += timedelta(minutes=1)
        assert await people.write_where_it_is_due() == [DISCORD]
        await people.runner.idle()
        await until(pilot, lambda: state(pilot, DISCORD) == "✓ reset taken 10:34")
        new = demo.entry(DISCORD)["session_id"]
        assert new != old["session_id"] and f"went into {new}" in " ".join(screen_text(pilot).split())
        # Whoever comes back later is told, too.
        await pilot.press("escape", "L")
        await until(pilot, lambda: state(pilot, DISCORD) == "✓ reset taken 10:34")


async def test_a_change_that_waits_does_not_hide_the_state(demo: HermesDemo, at_once: None) -> None:
    async with demo.program((80, 24)) as pilot:
        await go(pilot, DISCORD)
        await pilot.press("R")
        await agree(pilot)
        await until(pilot, lambda: state(pilot, DISCORD) == "◷ reset pending")
        changed = json.dumps(demo.entry(DISCORD) | {"suspended": True})
        demo.sql("UPDATE gateway_routing SET entry_json = ? WHERE session_key = ?", changed, DISCORD)
        await until(pilot, lambda: state(pilot, DISCORD) == "■ suspended ◷ reset")


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
        said = "the gateway has moved the lane to child: the old session was compressed meanwhile, and goes on there"
        await until(pilot, lambda: said in " ".join(screen_text(pilot).split()))


@pytest.mark.parametrize(("flag", "says"), [("suspended", "■ suspended"), ("resume_pending", "↻ resume pending")])
async def test_an_outcome_does_not_hide_what_became_of_the_lane(
    demo: HermesDemo, at_once: None, flag: str, says: str
) -> None:
    """For an hour the row tells of the operation: that the lane is suspended meanwhile matters more."""
    async with demo.program((80, 24)) as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("R")
        await agree(pilot)
        await until(pilot, lambda: state(pilot, BO) == "✓ reset done 10:34")
        changed = json.dumps(demo.entry(BO, "coder") | {flag: True})
        demo.sql("UPDATE gateway_routing SET entry_json = ? WHERE session_key = ?", changed, BO, profile="coder")
        await until(pilot, lambda: state(pilot, BO) == f"{says} ✓ 10:34")
        assert says in screen_text(pilot)
        assert "done, the lane is in the new session" in " ".join(screen_text(pilot).split())


async def test_a_lane_that_lives_again_after_it_was_suspended(demo: HermesDemo, at_once: None) -> None:
    async with demo.program() as pilot:
        await go(pilot, BO, "coder")
        await pilot.press("S")
        await agree(pilot)
        await until(pilot, lambda: state(pilot, BO) == "✓ suspended 10:34")
        changed = json.dumps(demo.entry(BO, "coder") | {"suspended": False})
        demo.sql("UPDATE gateway_routing SET entry_json = ? WHERE session_key = ?", changed, BO, profile="coder")
        await until(pilot, lambda: state(pilot, BO) == "○ live ✓ 10:34")


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
