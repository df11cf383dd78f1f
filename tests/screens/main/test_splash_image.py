"""What is written before the program is there, beside what the program itself paints then."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyte
import pytest

from claude_lines import ClaudeHome
from hermes_tui.config import USUAL_COLUMNS, Config
from hermes_tui.platform import paths
from hermes_tui.tui.screens.main.next_splash import splash_image_of
from hermes_tui.tui.splash import splash_image
from hermes_tui.tui.splash.frame import picture
from hermes_tui.tui.splash.splash_image import key_of, load, save
from hermes_tui.tui.state.view_state import ViewState
from hermes_tui.tui.widgets.session_list.order import Order
from pilots import drawn

SIZES = [(160, 48), (80, 24), (40, 15)]


def _screen(text: str, size: tuple[int, int]) -> pyte.Screen:
    screen = pyte.Screen(*size)
    pyte.Stream(screen).feed(text)
    return screen


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", ["hermes-dark", "hermes-light", "ansi"])
async def test_it_is_the_first_frame_but_for_what_is_counted(
    claude_home: ClaudeHome, program: Any, size: tuple[int, int], theme: str
) -> None:
    for number in range(60):
        claude_home.session(
            f"Sitzung 会話 {number}" if number % 7 == 0 else f"Session number {number} of a long list"
        )
    async with program(claude_home.home, size=size, now=datetime(2026, 3, 1, tzinfo=UTC), theme=theme) as pilot:
        app = pilot.app
        frame = drawn(app)
        made = splash_image_of(app.main, frame, "key")()
        badges = {name: label.badge for name, label in app.manager.labels.items()}
        written = _screen(picture(made, app.main.sessions.rows, badges, app.clock, Order(), USUAL_COLUMNS), size)
        lines = "\r\n".join(line.render(app.console) for line in frame)
        painted = _screen(lines, size)
        counted = [app.main.query_one(name).content_region for name in ("#counts", "#detail")]
        compared = 0
        for y in range(size[1]):
            for x in range(size[0]):
                if not any(region.contains(x, y) for region in counted):
                    assert written.buffer[y][x] == painted.buffer[y][x], (
                        x,
                        y,
                        written.display[y],
                        painted.display[y],
                    )
                    compared += 1
        assert compared > size[0] * (size[1] - 3)
        assert "Session number 59" in "\n".join(written.display)
        assert not any("60" in line for line in made.lines), "it must not tell of sessions that may be gone by then"


def test_it_is_for_one_kind_of_terminal_only(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "cache_dir", lambda: tmp_path / "cache")
    ink = splash_image.Ink("\x1b[1m", "\x1b[0m")
    key = key_of(Config(), ViewState(), 80, 24)
    one = splash_image.SplashImage(
        key=key,
        lines=("a", "b"),
        left=0,
        top=1,
        width=80,
        height=1,
        shown=80,
        state_words=True,
        inks={"": ink},
        cursor_inks={"": ink},
    )
    assert load(key) is None
    save(one)
    assert load(key) == one
    assert load(key_of(Config(), ViewState(), 81, 24)) is None
    assert load(key_of(Config(), ViewState(theme="ansi"), 80, 24)) is None
    assert load(key_of(Config(), ViewState(split=60), 80, 24)) is None
    assert load(key_of(Config(theme="ansi"), ViewState(), 80, 24)) is None
    assert load(key_of(Config(keymap={"list.open": "o"}), ViewState(), 80, 24)) is None
    monkeypatch.setenv("NO_COLOR", "1")
    assert load(key_of(Config(), ViewState(), 80, 24)) is None
    file = splash_image.file_of(key)
    damaged = bytearray(file.read_bytes())
    damaged[-3] ^= 1
    file.write_bytes(damaged)
    assert load(key) is None
