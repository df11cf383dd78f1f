"""What an agent keeps in mind, found on the main screen and opened like any result."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

import pytest
from textual.pilot import Pilot

from hermes_store import Store
from hermes_tui.tui.app import HermesApp
from pilots import screen_text, until


@pytest.mark.parametrize("size", [(80, 24), (160, 40)])
async def test_a_memory_is_found_opened_and_left(
    program: Callable[..., AbstractAsyncContextManager[Pilot[None]]], tmp_path: Path, size: tuple[int, int]
) -> None:
    store = Store(tmp_path / "home")
    store.session("s1", title="Birds")
    store.say("s1", "user", "a heron at the weir")
    folder = tmp_path / "home" / ".hermes" / "memories"
    folder.mkdir()
    (folder / "USER.md").write_text("Lives near the weir\n§\nLoves the kingfisher")
    async with program(tmp_path / "home", size=size) as pilot:
        main = cast(HermesApp, pilot.app).main
        await until(pilot, lambda: "1 session" in screen_text(pilot))
        assert "what the agent knows" not in screen_text(pilot)
        main.search_for("kingfisher")
        await until(pilot, lambda: "what the agent knows" in screen_text(pilot))
        await pilot.press("enter")
        for key in ("space", "r", "d", "L", "escape", "C", "escape"):  # nothing of it breaks
            await pilot.press(key)
        await pilot.press("escape") if main.focused is None else None
        await pilot.press("enter")
        await until(
            pilot, lambda: main.pane.message is not None and main.pane.message.content == "Loves the kingfisher"
        )
        await pilot.press("n")
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not main.sessions.is_filtered and "Birds" in screen_text(pilot))
