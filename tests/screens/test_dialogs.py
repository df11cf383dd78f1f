"""Dialogs lie on what one came from, which stays to be seen around them in every kind of colour."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from textual.pilot import Pilot

from claude_lines import ClaudeHome
from pilots import drawn, until


def _rows(pilot: Pilot[Any]) -> list[str]:
    """What the terminal shows: the screen, and those that can be seen behind it."""
    return [strip.text for strip in drawn(pilot.app)]


@pytest.mark.parametrize("size", [(80, 24), (160, 48)], ids=["80x24", "160x48"])
@pytest.mark.parametrize("colours", ["hermes-dark", "ansi", "none"])
async def test_what_one_came_from_is_seen_around_it(
    claude_home: ClaudeHome, program: Any, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], colours: str
) -> None:
    for number in range(30):
        claude_home.session(f"Session number {number} of a long list")
    if colours == "none":
        monkeypatch.setenv("NO_COLOR", "1")
    theme = None if colours == "none" else colours
    async with program(claude_home.home, size=size, now=datetime(2026, 3, 1, tzinfo=UTC), theme=theme) as pilot:
        app = pilot.app
        await until(pilot, lambda: "? keys" in _rows(pilot)[-1] and not app.main.snapshot.partial)
        if app.main.parts.is_wide:
            await until(pilot, lambda: "100 %" in "\n".join(_rows(pilot)))
        before = _rows(pilot)
        for key, says in (("y", " Copy "), ("e", " Export: "), ("r", "claude --resume")):
            await pilot.press(key)
            await until(pilot, lambda says=says: says in "\n".join(_rows(pilot)))  # type: ignore[misc]
            rows = _rows(pilot)
            top = next(y for y, row in enumerate(rows) if "╭" in row)
            bottom = next(y for y, row in enumerate(rows) if "╰" in row)
            left, right = rows[top].index("╭"), rows[top].index("╮")
            assert 0 < top < bottom < size[1] - 1
            around = [y for y in range(size[1]) if not top <= y <= bottom]
            assert [rows[y] for y in around] == [before[y] for y in around]
            assert all(rows[y][:left] == before[y][:left] for y in range(top, bottom + 1))
            # Nothing shines through.
            assert not any(" shop  " in rows[y][left:right] for y in range(top, bottom + 1))
            await pilot.press("escape")
            await until(pilot, lambda: _rows(pilot) == before)
