"""The line about the session under the cursor."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hermes_tui.clock import Clock
from hermes_tui.tui.widgets.detail import detail_parts
from hermes_tui.tui.widgets.session_list.conversation import Conversation
from hermes_tui.tui.widgets.session_list.shown_states import ShownStates
from session_adapters.model import SessionSummary

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def said(width: int, *notes: str) -> str:
    session = SessionSummary(
        agent="hector",
        session_id="math_bot/s1",
        notes=notes,
        turn_count=3,
        created_at=NOW - timedelta(hours=2),
        updated_at=NOW - timedelta(hours=1),
    )
    left, _ = detail_parts(Conversation([session]), Clock(NOW), width, ShownStates())
    return "".join(text for text, _ in left)


def test_what_an_agent_says_of_a_session_is_there() -> None:
    assert "3 turns · shared with assistant, found there · started 10:00" in said(
        90, "shared with assistant, found there"
    )
    assert "waits for input" in said(50, "waits for input"), "however narrow: turns go first"
    assert "3 turns · started" in said(90)


def test_own_marks_are_told_and_times_give_way() -> None:
    session = SessionSummary(
        agent="a",
        session_id="one",
        title="Mine",
        agent_title="Theirs",
        tags=("red", "x\x1b[31m"),
        own_note="first\nsecond",
        model="m-1",
        created_at=NOW,
        updated_at=NOW,
    )
    wide, narrow = (
        "".join(text for text, _ in detail_parts(Conversation([session]), Clock(NOW), width, ShownStates())[0])
        for width in (160, 40)
    )
    for text in ("#red", "“first second”", "Theirs", "m-1", "last just now"):
        assert text in wide
    assert "\x1b" not in wide
    assert "#red" in narrow and "“first second”" in narrow and "just now" not in narrow


def test_notes_are_shown_as_text_alone() -> None:
    assert "\x1b" not in said(90, "shared with \x1b[31mred")


def test_where_it_was_held_and_why_it_ended_go_before_what_is_in_the_list() -> None:
    session = SessionSummary(
        agent="hermes",
        session_id="child",
        source="telegram",
        end_reason="compression",
        parent_id="20261101_before",
        turn_count=3,
        raw={
            "user_id": "700001",
            "chat_type": "group",
            "display_name": "Ops\x1b",
            "chat_id": "-100",
            "thread_id": "7",
        },
        created_at=NOW,
        updated_at=NOW,
    )
    wide, narrow = (
        "".join(text for text, _ in detail_parts(Conversation([session]), Clock(NOW), width, ShownStates())[0])
        for width in (200, 64)
    )
    assert (
        " telegram · user 700001 · group Ops (-100, thread 7) · from 20261101_before · ended: compression · 3 turns"
        in wide.replace("\u241b", "")
    )
    assert "telegram · ended: compression" in narrow and "700001" not in narrow
    plain = SessionSummary(agent="hermes", session_id="s", source="cli", created_at=NOW, updated_at=NOW)
    assert "cli" not in "".join(
        text for text, _ in detail_parts(Conversation([plain]), Clock(NOW), 160, ShownStates())[0]
    )
