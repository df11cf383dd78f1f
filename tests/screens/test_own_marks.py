"""Pins, tags, notes and names of one's own, by keys, in list and transcript."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from claude_lines import ClaudeHome
from hermes_tui.platform import paths
from hermes_tui.sessions.mark_store import MarkStore
from hermes_tui.sessions.marks import MarkChange, OwnMarks
from hermes_tui.tui.screens.dialogs import marks as dialog
from pilots import main_of, screen_text, until
from session_adapters.model import SessionSummary
from tiny_home import tree_hash

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def kept() -> dict[str, OwnMarks]:
    """As another program reads them."""
    store = MarkStore(paths.state_dir() / "marks.db")
    try:
        return dict(store.all())
    finally:
        store.close()


@pytest.fixture
def three(claude_home: ClaudeHome, monkeypatch: pytest.MonkeyPatch) -> ClaudeHome:
    monkeypatch.setattr(dialog, "ARMED_AFTER", 0.0)
    for number in range(3):
        claude_home.session(f"Session number {number}")
    return claude_home


def highlighted(pilot: Pilot[Any]) -> SessionSummary:
    """The session under the cursor."""
    found = main_of(pilot).sessions.highlighted
    assert found is not None
    return found.tip


def titles(pilot: Pilot[Any]) -> list[str]:
    """Headings in brackets, and what stands in the rows."""
    rows = main_of(pilot).sessions.rows
    return [f"[{row.heading}]" if row.conversation is None else row.conversation.title for row in rows]


async def test_a_key_pins_and_unpins(three: ClaudeHome, program: Any) -> None:
    before = tree_hash(three.home)
    async with program(three.home, size=(160, 40), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        start = titles(pilot)
        await pilot.press("j", "j", "P")
        await until(pilot, lambda: titles(pilot)[0] == "[pinned]")
        assert titles(pilot) == ["[pinned]", start[3], *start[:3]]
        assert f"★ {start[3]}" in screen_text(pilot)
        # The cursor stays on the session that was pinned.
        assert highlighted(pilot).title == start[3]
        await pilot.press("enter")
        await until(pilot, lambda: main_of(pilot).parts.is_reading)
        await until(pilot, lambda: f"★ {start[3]}" in str(main_of(pilot).pane.border_title))
        await pilot.press("P")
        await until(pilot, lambda: titles(pilot) == start)
        assert "★" not in screen_text(pilot)
    assert kept() == {}
    assert tree_hash(three.home) == before


async def test_what_is_typed_ahead_goes_where_it_was_meant_for(three: ClaudeHome, program: Any) -> None:
    """`Tab` and what follows in one read of the terminal, as over a slow line."""
    async with program(three.home, size=(160, 40), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, dialog.MarksScreen) and pilot.app.screen.focused)
        for key in (*"Mine", "tab", *"old", "tab", *"ask", "shift+tab", *",new"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: list(kept().values()) == [OwnMarks(name="Mine", tags=("new", "old"), note="ask")])


async def test_what_is_typed_behind_enter_is_no_part_of_the_name(three: ClaudeHome, program: Any) -> None:
    async with program(three.home, size=(160, 40), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, dialog.MarksScreen) and pilot.app.screen.focused)
        for key in (*"Mine", "enter", *"jj"):
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: list(kept().values()) == [OwnMarks(name="Mine")])


async def test_name_tags_and_note_are_typed_into_a_dialog(three: ClaudeHome, program: Any) -> None:
    async with program(three.home, size=(160, 40), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        agents_title = titles(pilot)[1]
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, dialog.MarksScreen) and pilot.app.screen.focused)
        await pilot.press(*"Mine", "tab", *"Review,old", "tab", *"ask", "enter", *"Ada")
        await until(pilot, lambda: "sessions mark claude:" in screen_text(pilot))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: titles(pilot)[1] == "Mine")
        assert list(kept().values()) == [OwnMarks(name="Mine", tags=("old", "review"), note="ask\nAda")]
        text = screen_text(pilot)
        for shown in ("#old #review", "“ask Ada”", agents_title):
            assert shown in text.splitlines()[-2]
        await until(pilot, lambda: "Mine" in str(main_of(pilot).pane.border_title))
        # Once more: what there is stands in the fields, and only what is changed is changed.
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, dialog.MarksScreen) and pilot.app.screen.focused)
        assert pilot.app.screen.query_one("#name", Input).value == "Mine"
        await pilot.press("tab", "end", *" fresh", "enter")
        await until(pilot, lambda: [one.tags for one in kept().values()] == [("fresh", "old", "review")])
        await pilot.press("slash", *"tag:fr")
        await until(pilot, lambda: titles(pilot).count("Mine") == 1 and len(titles(pilot)) <= 3)


async def test_a_search_for_pinned_sessions_follows_the_pins(three: ClaudeHome, program: Any) -> None:
    async with program(three.home, size=(80, 24), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        start = titles(pilot)
        await pilot.press("P", "down", "P")
        await until(pilot, lambda: len(kept()) == 2)
        await pilot.press("slash", *"is:pinned", "enter")

        def found() -> list[str]:
            return [title for title in titles(pilot) if title in start and title[0] != "["]

        await until(pilot, lambda: sorted(found()) == sorted(start[1:3]))
        gone = highlighted(pilot).title
        await pilot.press("P")
        await until(pilot, lambda: found() == [one for one in start[1:3] if one != gone])


async def test_leaving_the_dialog_changes_nothing(three: ClaudeHome, program: Any) -> None:
    async with program(three.home, size=(80, 24), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, dialog.MarksScreen) and pilot.app.screen.focused)
        await pilot.press(*"Mine", "escape")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
    assert kept() == {}


async def test_what_makes_no_sense_is_said_and_nothing_is_lost(three: ClaudeHome, program: Any) -> None:
    async with program(three.home, size=(80, 24), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, dialog.MarksScreen) and pilot.app.screen.focused)
        pilot.app.screen.query_one("#tags", Input).value = "x" * 41
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "at most 40 characters" in screen_text(pilot))
        assert isinstance(pilot.app.screen, dialog.MarksScreen)


async def test_what_the_command_line_marks_is_shown(three: ClaudeHome, program: Any) -> None:
    async with program(three.home, size=(80, 24), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        one = highlighted(pilot)
        MarkStore(paths.state_dir() / "marks.db").change(
            [one.unified_id], MarkChange(name="From outside", pinned=True)
        )
        await until(pilot, lambda: titles(pilot)[:2] == ["[pinned]", "From outside"])


async def test_marks_that_cannot_be_kept_are_said(three: ClaudeHome, program: Any) -> None:
    async with program(three.home, size=(160, 40), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        (paths.state_dir() / "marks.db").mkdir(parents=True)
        await pilot.press("P")
        await until(pilot, lambda: "marks of sessions cannot be kept" in screen_text(pilot))
        assert len(titles(pilot)) == 4


async def test_a_note_that_cannot_be_kept_is_not_lost(three: ClaudeHome, program: Any) -> None:
    async with program(three.home, size=(160, 40), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, dialog.MarksScreen) and pilot.app.screen.focused)
        await pilot.press(*"Mine")
        (paths.state_dir() / "marks.db").mkdir(parents=True)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "marks of sessions cannot be kept" in screen_text(pilot))
        assert isinstance(pilot.app.screen, dialog.MarksScreen)
        (paths.state_dir() / "marks.db").rmdir()
        await pilot.press("ctrl+s")
        await until(pilot, lambda: pilot.app.screen is main_of(pilot))
        assert [one.name for one in kept().values()] == ["Mine"]


async def test_what_is_pasted_into_the_note_is_text(three: ClaudeHome, program: Any) -> None:
    async with program(three.home, size=(80, 24), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, dialog.MarksScreen) and pilot.app.screen.focused)
        note = pilot.app.screen.query_one(TextArea)
        pilot.app.screen.set_focus(note)
        pilot.app.post_message(events.Paste("one\ntwo \x9b31m\u202e" + "z" * 20_000))
        await until(pilot, lambda: note.text.startswith("one\ntwo "))
        assert not {"\x9b", "\u202e"} & set(note.text)
        assert len(note.text) <= 10_000


async def test_hostile_marks_of_another_program_are_text(three: ClaudeHome, program: Any) -> None:
    import apsw

    async with program(three.home, size=(160, 40), now=NOW) as pilot:
        await until(pilot, lambda: len(titles(pilot)) == 4)
        one = highlighted(pilot).unified_id
        MarkStore(paths.state_dir() / "marks.db").change([one], MarkChange(pinned=True, tag=("a",)))
        connection = apsw.Connection(str(paths.state_dir() / "marks.db"))
        bad = "x\x1b]0;boo\x07\u202e[red]" * 1000
        connection.execute("UPDATE session_mark SET name = ?, note = ?", (bad, bad.encode() + b"\xff\xfe"))
        connection.execute("UPDATE session_tag SET tag = ?", (bad,))
        connection.close()
        await until(pilot, lambda: "boo" in titles(pilot)[1])
        await pilot.press("t")
        await until(pilot, lambda: isinstance(pilot.app.screen, dialog.MarksScreen) and pilot.app.screen.focused)
        assert not {"\x1b", "\x07", "\u202e"} & set(screen_text(pilot))
