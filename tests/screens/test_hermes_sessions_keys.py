"""`M`: sessions of Hermes are renamed, ended, opened, cleared, deleted and pruned by key, each after its plan."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from hermes_tui.tui.screens.dialogs.export import ExportScreen
from hermes_tui.tui.screens.dialogs.menu import MenuScreen
from hermes_tui.tui.screens.dialogs.rename import RenameScreen
from hermes_tui.tui.widgets.buttons import Buttons
from lane_homes import HermesDemo, app_of, planned, toasts
from pilots import screen_text, until
from tiny_home import tree_hash

FREE = (
    "SELECT s.id, s.title, s.message_count FROM sessions s WHERE s.session_key IS NULL AND s.title IS NOT NULL"
    " AND s.message_count > 1 AND s.parent_session_id IS NULL AND s.source = 'cli' AND {}"
    " AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_session_id = s.id) ORDER BY s.id LIMIT 1"
)
ENDED, OPEN = FREE.format("s.ended_at IS NOT NULL"), FREE.format("s.ended_at IS NULL")


@pytest.fixture
def free(demo: HermesDemo) -> HermesDemo:
    """No gateway runs, and no chat in a terminal holds a session."""
    demo.end_gateway()
    return demo


async def _menu(pilot: Pilot[None], session_id: str, *keys: str) -> None:
    """Put the cursor on a session, press `M` and what comes after it."""
    app = app_of(pilot)
    await until(pilot, lambda: f"hermes:{session_id}" in app.main.sessions.forest.by_session)
    app.main.sessions.reveal(f"hermes:{session_id}")
    await pilot.pause()
    await pilot.press("M")
    await until(pilot, lambda: isinstance(app.screen, MenuScreen))
    await pilot.press(*keys)


async def _agree(pilot: Pilot[None], said: str) -> None:
    app = app_of(pilot)
    screen = await planned(pilot)
    buttons = screen.query_one(Buttons)
    assert buttons.words[buttons.chosen] == "Cancel"
    await pilot.press("y")
    await until(pilot, lambda: app.screen is app.main)
    await until(pilot, lambda: any(said in one for one in toasts(pilot)))


async def test_a_title_is_typed_planned_read_back_and_taken_back(free: HermesDemo, at_once: None) -> None:
    [(session, title, _)] = free.sql(ENDED)
    named: Callable[[], str] = lambda: str(free.sql("SELECT title FROM sessions WHERE id = ?", session)[0][0])  # noqa: E731
    async with free.program((80, 24), lanes=False) as pilot:
        app = app_of(pilot)
        await _menu(pilot, session, "r")
        await until(pilot, lambda: isinstance(app.screen, RenameScreen))
        field = app.screen.query_one(Input)
        assert field.value == title
        box = app.screen.query_one(".dialog").region
        middle = abs(box.y + box.bottom - app.screen.size.height)
        assert box.width == 80 and middle <= 1, "in the middle, like the others"
        assert "Rename the session" in screen_text(pilot)
        await pilot.pause(0.4)  # a key typed ahead writes nothing
        field.value = "x" * 101
        await pilot.press("enter")
        await until(pilot, lambda: any("at most 100 are kept" in one for one in toasts(pilot)))
        field.value = "  Another\tname "
        await pilot.press("enter")
        await planned(pilot)
        text = screen_text(pilot)
        assert "Rename this session?" in text and f"calls {session} 'Another name'" in text
        assert f"hermes-tui hermes sessions rename {session} 'Another name'" in _plain(pilot)
        assert named() == title, "nothing is written before yes"
        await _agree(pilot, "rename: done")
        assert named() == "Another name"
        assert any("M u takes it back" in one for one in toasts(pilot))
        await until(pilot, lambda: app.main.sessions.forest.by_session[f"hermes:{session}"].title == "Another name")
        await _menu(pilot, session, "u")
        await _agree(pilot, "undo: done")
        assert named() == title
        await _menu(pilot, session, "u")
        await until(pilot, lambda: "It cannot be planned" in screen_text(pilot))
        assert "could be taken back" in _plain(pilot)


async def test_ending_and_opening_again(free: HermesDemo, at_once: None) -> None:
    [(session, _, _)] = free.sql(ENDED)
    state = "SELECT ended_at IS NULL, end_reason FROM sessions WHERE id = ?"
    before = free.sql(state, session)
    async with free.program((80, 24), lanes=False) as pilot:
        await _menu(pilot, session, "e")
        await planned(pilot)
        assert "it has ended already" in _plain(pilot)
        await pilot.press("y", "escape")
        assert free.sql(state, session) == before
        await _menu(pilot, session, "o")
        await _agree(pilot, "reopen: done")
        assert free.sql(state, session) == [(1, None)]
        await _menu(pilot, session, "e")
        await _agree(pilot, "end: done")
        assert free.sql(state, session) == [(0, "user_exit")]


async def test_cleared_deleted_and_put_back(free: HermesDemo, at_once: None) -> None:
    [(session, _, messages)] = free.sql(ENDED)
    count = "SELECT count(*) FROM messages WHERE session_id = ?"
    rows = free.sql("SELECT * FROM messages WHERE session_id = ? ORDER BY id", session)
    assert rows
    async with free.program((80, 24), lanes=False) as pilot:
        app = app_of(pilot)
        await _menu(pilot, session, "c")
        await _agree(pilot, "clear-messages: done")
        assert free.sql(count, session) == [(0,)]
        await _menu(pilot, session, "u")
        await _agree(pilot, "undo: done")
        await _menu(pilot, session, "d")
        await planned(pilot)
        assert f"with {messages} messages" in _plain(pilot)
        await _agree(pilot, "delete: done")
        assert free.sql("SELECT * FROM sessions WHERE id = ?", session) == free.sql(count, session)[1:] == []
        await until(pilot, lambda: app.main.sessions.forest.by_session[f"hermes:{session}"].tip.gone)
        await pilot.press("M", "u")
        await _agree(pilot, "undo: done")
        assert free.sql("SELECT * FROM messages WHERE session_id = ? ORDER BY id", session) == rows
        await until(pilot, lambda: f"hermes:{session}" in app.main.sessions.forest.by_session)


def _plain(pilot: Pilot[None]) -> str:
    """The dialog's words, without its frame and line ends."""
    return " ".join(screen_text(pilot).replace("│", " ").split())


async def test_what_becomes_of_descendants_is_said(free: HermesDemo, at_once: None) -> None:
    [(parent, child), *_] = free.sql(
        "SELECT p.id, c.id FROM sessions p JOIN sessions c ON c.parent_session_id = p.id"
        " WHERE c.source <> 'subagent' AND p.end_reason IS NOT 'compression' ORDER BY p.id"
    )
    async with free.program((80, 24), lanes=False) as pilot:
        await _menu(pilot, parent, "d")
        await planned(pilot)
        await pilot.press("end")
        await until(pilot, lambda: f"no parent any more: {child}" in _plain(pilot))


def _exported(home: Path) -> list[Path]:
    return list(home.glob("*.jsonl"))


async def test_exported_and_then_asked_about(
    free: HermesDemo, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(free.home))
    [(session, _, _)] = free.sql(ENDED)
    async with free.program(lanes=False) as pilot:
        app = app_of(pilot)
        await _menu(pilot, session, "x")
        await until(pilot, lambda: isinstance(app.screen, ExportScreen))
        await pilot.pause(0.4)
        await pilot.press("enter")
        await planned(pilot)
        assert "Wrote ~/" in screen_text(pilot)
        [file] = _exported(free.home)
        assert session in file.read_text()
        assert free.sql("SELECT count(*) FROM sessions WHERE id = ?", session) == [(1,)]
        await _agree(pilot, "delete: done")
        assert free.sql("SELECT count(*) FROM sessions WHERE id = ?", session) == [(0,)]


async def test_pruned_by_age(free: HermesDemo, at_once: None) -> None:
    [(session, _, _)] = free.sql(ENDED)
    free.sql("UPDATE sessions SET started_at = 1600000000 WHERE id = ?", session)
    old = "SELECT id FROM sessions WHERE ended_at IS NOT NULL AND started_at < 1700000000"
    assert free.sql(old) == [(session,)]
    async with free.program(lanes=False) as pilot:
        await _menu(pilot, session, "p")
        await until(pilot, lambda: "that have ended" in screen_text(pilot))
        await pilot.press("6")
        await _agree(pilot, "prune-sessions: done")
        assert free.sql(old) == []


async def test_what_a_running_gateway_holds_is_refused_in_a_sentence(demo: HermesDemo, at_once: None) -> None:
    [(session, key)] = demo.sql(
        "SELECT s.id, s.session_key FROM sessions s JOIN gateway_routing r ON r.session_key = s.session_key"
        " WHERE json_extract(r.entry_json, '$.session_id') = s.id AND s.ended_at IS NULL ORDER BY 1 LIMIT 1"
    )
    before = tree_hash(demo.root)
    async with demo.program((80, 24), lanes=False) as pilot:
        for letter in "edc":
            await _menu(pilot, session, letter)
            await planned(pilot)
            assert f"a gateway is running and lane {key} is in it; reset the lane" in _plain(pilot)
            await pilot.press("y", "enter", "escape")
            await until(pilot, lambda: app_of(pilot).screen is app_of(pilot).main)
    assert tree_hash(demo.root) == before


async def test_read_only_and_no_hermes_are_said(demo: HermesDemo, tmp_path: Path) -> None:
    async with demo.program(lanes=False, read_only=True) as pilot:
        await pilot.press("M")
        await until(pilot, lambda: any("sessions are shown, not changed" in one for one in toasts(pilot)))
        assert app_of(pilot).screen is app_of(pilot).main


@pytest.mark.parametrize("size", [(80, 24), (160, 48)])
async def test_the_system_prompt_is_a_key_away(demo: HermesDemo, size: tuple[int, int]) -> None:
    [(session, _, _)] = demo.sql(ENDED)
    async with demo.program(size, lanes=False) as pilot:
        app = app_of(pilot)
        await until(pilot, lambda: f"hermes:{session}" in app.main.sessions.forest.by_session)
        app.main.sessions.reveal(f"hermes:{session}")
        await pilot.press("I")
        await until(pilot, lambda: any("No system prompt is kept" in one for one in toasts(pilot)))
        demo.sql("UPDATE sessions SET system_prompt = ? WHERE id = ?", "You are Hermes.\x1b[31m\nBe brief.", session)
        await pilot.press("I")
        await until(pilot, lambda: "Be brief." in screen_text(pilot))
        text = screen_text(pilot)
        assert "System prompt, 30 characters" in text and "You are Hermes." in text
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.main)
