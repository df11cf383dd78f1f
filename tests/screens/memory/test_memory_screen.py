"""`H`: what an agent of Hector's has of a session, and what it would recall."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from databases import tree
from hermes_tui.memory import components as components_module
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.screens.memory import MemoryScreen
from hermes_tui.tui.widgets.page import Page
from memory_home import KEPT, with_long_term_memory
from pilots import screen_text, toasts, until

Program = Callable[..., object]
Stored = Callable[..., Path]


async def go_to(pilot: Pilot[None], session_id: str) -> None:
    """Put the cursor on a session of the list."""
    assert isinstance(pilot.app, HermesApp)
    sessions = pilot.app.main.sessions
    await until(pilot, lambda: f"hector:{session_id}" in sessions.forest.by_session)
    rows = [row.conversation.tip.session_id if row.conversation else "" for row in sessions.rows]
    sessions.go(rows.index(session_id))


def said(pilot: Pilot[None]) -> str:
    """All of the page, also what is below the edge."""
    screen = pilot.app.screen
    if not isinstance(screen, MemoryScreen) or not screen.is_mounted:
        return ""
    return "\n".join(f"{one.label}|{one.text}" for one in screen.query_one(Page).blocks)


@pytest.mark.parametrize("size", [(80, 24), (160, 48), (40, 15)])
async def test_the_three_layers_and_a_question(program: Program, store: Stored, size: tuple[int, int]) -> None:
    home = with_long_term_memory(store("hector", "home"))
    before = tree(home)
    async with program(home, size=size) as pilot:  # type: ignore[attr-defined]
        await go_to(pilot, "assistant/s1")
        await pilot.press("H")
        await until(pilot, lambda: "Lisbon" in said(pilot) and "keeps|" in said(pilot))
        lines = said(pilot).splitlines()
        assert "stored|6 messages in ~/data/sessions.db, tables of Hector 1" in lines
        assert "note|shared with math_bot" in lines
        assert "strategy|summary_buffer 2,000 (~/config.yaml)" in lines
        assert "keeps|sees all 6 messages, ≈ 46 tokens" in lines
        assert "assistant|Your name is Alice." in lines
        assert "stored|3 points in ~/data/vectors/hector_session_memory, by wordllama l2_supercat 256" in lines
        assert lines.index("user|2026-03-01 09:02 · Thanks very much.") < lines.index(
            "user|2026-03-01 09:00 · My name is Alice and I live in Lisbon."
        )
        assert (
            "left out|1 of assistant/deploy-review, 2 of math_bot/s1: another agent's, or another session's" in lines
        )
        assert "\x1b" not in said(pilot) + screen_text(pilot)
        await pilot.press("slash", *"staging database", "enter")
        await until(pilot, lambda: "asked|staging database" in said(pilot))
        page = pilot.app.screen.query_one(Page)
        assert pilot.app.focused is page
        answer = said(pilot).splitlines()
        asked = answer.index("asked|staging database")
        assert answer[asked + 1].endswith("2026-03-01 09:01 · The staging database runs PostgreSQL 15.")
        assert 0 < float(answer[asked + 1].split("|")[0]) <= 1
        assert any("math_bot/s1 · " in line for line in answer[asked:]), "what the isolation leaves out"
        await until(pilot, lambda: "PostgreSQL 15." in screen_text(pilot))
        await pilot.press("slash", "x", "escape")
        assert pilot.app.focused is page and isinstance(pilot.app.screen, MemoryScreen)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, MemoryScreen))
    assert tree(home) == before


async def test_what_is_typed_ahead_is_not_taken_for_keys(program: Program, store: Stored) -> None:
    home = with_long_term_memory(store("hector", "home"))
    async with program(home) as pilot:  # type: ignore[attr-defined]
        await go_to(pilot, "assistant/s1")
        await pilot.press("H", "slash", *"q?", "enter")
        await until(pilot, lambda: "asked|q?" in said(pilot))
        assert pilot.app.screen.query_one(Input).value == "q?"


async def test_metadata_and_states_stand_there(program: Program, store: Stored) -> None:
    home = with_long_term_memory(store("hector", "home"))
    async with program(home) as pilot:  # type: ignore[attr-defined]
        await go_to(pilot, "assistant/hitl")
        await pilot.press("H")
        await until(pilot, lambda: "metadata|" in said(pilot) and "0 points" in said(pilot))
        assert '"pending_executions": {"task-42"' in said(pilot)
        await pilot.press("escape")
        await go_to(pilot, "Zero%20Config%20Mode/alice/multi")
        await pilot.press("H")
        await until(pilot, lambda: "app state|" in said(pilot) and "No long-term memory is known" in said(pilot))
        assert 'user state|{"preferences": {"theme": "dark"}}' in said(pilot)
        assert "strategy|the whole conversation" in said(pilot)


async def test_a_window_says_how_much_of_a_long_session_it_keeps(program: Program, store: Stored) -> None:
    home = with_long_term_memory(store("hector", "home"))
    async with program(home) as pilot:  # type: ignore[attr-defined]
        await go_to(pilot, "researcher/long-haul")
        await pilot.press("H")
        await until(pilot, lambda: "earlier messages" in said(pilot) and "has none" in said(pilot))
        assert "strategy|summary_buffer 3,000 (~/config.yaml)" in said(pilot)
        assert "keeps|sees 25 of 206 messages" in said(pilot)
        assert "|… 15 earlier messages" in said(pilot)


async def test_a_text_that_is_cut_says_so(program: Program, store: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last word would be another one: 471 for 4711."""
    long, whole = "invoice 4711 " * 30, "x" * 240
    monkeypatch.setitem(KEPT, ("assistant", "s1"), (long, whole))
    home = with_long_term_memory(store("hector", "home"))
    async with program(home) as pilot:  # type: ignore[attr-defined]
        await go_to(pilot, "assistant/s1")
        await pilot.press("H")
        await until(pilot, lambda: "2 points in" in said(pilot))
        assert f"user|2026-03-01 09:00 · {long[:240]}…" in said(pilot).splitlines()
        assert f"user|2026-03-01 09:01 · {whole}" in said(pilot).splitlines()


async def test_a_store_that_does_not_answer_hides_no_other_layer(
    program: Program, store: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(components_module, "READING_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        home = with_long_term_memory(store("hector", "home"), f"{{qdrant: {{url: '{url}', api_key: s3cret-key}}}}")
        async with program(home) as pilot:  # type: ignore[attr-defined]
            await go_to(pilot, "assistant/s1")
            await pilot.press("H")
            await until(pilot, lambda: "it does not answer within 0.5 s" in said(pilot) and "keeps|" in said(pilot))
            assert url in said(pilot) and "s3cret" not in said(pilot)


async def test_other_agents_have_no_such_memory(program: Program, store: Stored) -> None:
    async with program(store("claude", "home")) as pilot:  # type: ignore[attr-defined]
        await pilot.press("H")
        await until(pilot, lambda: any("Only Hector's agents" in one for one in toasts(pilot)))
        assert not isinstance(pilot.app.screen, MemoryScreen)
