"""A signal that comes while a screen is put up."""

from __future__ import annotations

import asyncio
from typing import Any

from textual.css.query import NoMatches

from claude_lines import ClaudeHome


async def test_what_fails_while_the_screen_is_taken_down_is_no_error(claude_home: ClaudeHome, program: Any) -> None:
    def broken() -> None:
        raise NoMatches("its parts are gone already")

    async with program(claude_home.home) as pilot:
        pilot.app.leave_soon(143)
        pilot.app.main.call_later(broken)
        await asyncio.sleep(0)
    assert pilot.app.return_code == 143
