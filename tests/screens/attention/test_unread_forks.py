"""What is new in a fork that is folded away is gone to as well."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

from textual.pilot import Pilot

from hermes_tui.sessions.mark_store import MarkStore
from pilots import main_of, until

Program = Callable[..., AbstractAsyncContextManager[Pilot[None]]]


async def test_u_comes_to_all_that_is_new(program: Program, store: Callable[[str, str], Path]) -> None:
    """It went round and round among the rows that were shown, forks below them left out."""
    marks = Path(os.environ["HOME"]) / ".local" / "state" / "hermes-tui" / "marks.db"
    began = datetime(2026, 11, 1, tzinfo=UTC).timestamp
    kept = MarkStore(marks, now=began)
    assert kept.began == began()
    kept.close()
    async with program(store("codex", "home"), size=(80, 24), attention=True) as pilot:
        sessions = main_of(pilot).sessions
        await until(pilot, lambda: sessions.states.unread)
        new = {sessions.forest.by_session[one].key for one in sessions.states.unread}
        assert new - {row.key for row in sessions.rows}, "some are folded away"
        visited = set()
        for _ in range(2 * len(new)):
            await pilot.press("u")
            visited.add(sessions.rows[sessions.cursor].key)
        assert visited == new
