"""No sequence of keys ends the program, several in one read among them.

`make test-long EXAMPLES=60` presses 18,000, in runs of 2,000.
"""

from __future__ import annotations

import asyncio
import gc
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from weakref import WeakSet

import pytest
from textual import events
from textual.keys import KEY_NAME_REPLACEMENTS
from textual.pilot import Pilot
from textual.screen import Screen

from chances import TIMES, chance
from hermes_tui.clock import Clock
from hermes_tui.config import Config
from hermes_tui.demo import STATIC_NOW
from hermes_tui.demo.home import environment_of, prepare, write_home
from hermes_tui.demo.live import LiveWriter
from hermes_tui.platform.paths import log_file
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from pilots import rest, screen_text, toasts, until

KEYS = 300 * TIMES
RUN = 2000
LEFT_OUT = "pqv"
"""Quit, and what hands the terminal to another program."""
CHARACTERS = [chr(code) for code in range(33, 127) if chr(code) not in LEFT_OUT]
NAMED = (
    *["enter"] * 12, *["escape"] * 8, "up", "down", "left", "right", "pageup", "pagedown", "home", "end", "tab",
    "shift+tab", "backspace", "delete", "ctrl+r", "ctrl+s", "ctrl+u", "ctrl+p", "ctrl+n", "ctrl+d",
    "ctrl+w", "f1", "f5", "space",
)  # fmt: skip
TYPED = {"enter": "\r", "tab": "\t", "space": " ", "escape": "\x1b", "backspace": "\x7f"}
SIZES = ((80, 24), (40, 15), (120, 40), (160, 48), (200, 60), (20, 5))


@pytest.fixture
def demo_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HermesApp]:
    """The program on the demo home, with nothing on the path that it could start."""
    home = tmp_path / "demo"
    prepare(home)
    write_home(home, STATIC_NOW)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    app = HermesApp(
        SessionManager(environment_of(home), cache_dir=tmp_path / "cache"), Config(), clock=Clock(STATIC_NOW)
    )
    # Chosen by name in the palette, it would end the program as it should.
    monkeypatch.setattr(app, "exit", lambda *_: None)
    yield app


def _name_of(sign: str) -> str:
    """What Textual calls the key of a sign."""
    name = unicodedata.name(sign).lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name, name)


def press_at_once(app: HermesApp, keys: Sequence[str]) -> None:
    """As one read of the terminal gives them: all are on their way before the first is obeyed."""
    for key in keys:
        name = key if len(key) > 1 or key.isalnum() else _name_of(key)
        app.post_message(events.Key(name, TYPED.get(key, key if len(key) == 1 else None)))


async def looked(pilot: Pilot[None], app: HermesApp) -> None:
    await until(pilot, lambda: app.main.snapshot.places)


@pytest.mark.parametrize(
    "bursts",
    [
        [["S"], ["1", "1"]],
        [["enter"], ["y"], ["m", "m"]],
        [["y"], ["escape", "escape", "q"]],
        [["L"], ["E"], ["enter", "enter"]],
        [["L"], ["E", "enter", "enter"]],
        [["L", "E", "enter", "enter"]],
        [["colon"], ["c", "o", "s", "t", "enter", "enter", "escape"]],
        [["e", "enter", "enter"], ["escape", "escape"]],
        [["r", "r", "y", "y"], ["escape", "escape"]],
        [["d"], ["escape", "escape", "escape"]],
    ],
    ids=lambda bursts: " ".join("".join(burst) for burst in bursts),
)
async def test_keys_that_choose_twice_choose_once(demo_app: HermesApp, bursts: list[list[str]]) -> None:
    async with demo_app.run_test(size=(120, 40), notifications=True) as pilot:
        await looked(pilot, demo_app)
        for burst in bursts:
            press_at_once(demo_app, burst)
            await rest(pilot)
        await until(pilot, lambda: screen_text(pilot).strip())
        assert demo_app.is_running


OPENING = {
    "costs": lambda app: app.action_cost(),
    "help": lambda app: app.action_help(),
    "lanes": lambda app: app.action_lanes(),
    "export": lambda app: app.main.action_session("export"),
    "copy": lambda app: app.main.action_session("copy"),
    "fork": lambda app: app.main.action_session("fork"),
}


@pytest.mark.parametrize("opening", OPENING)
async def test_a_screen_may_be_left_at_any_moment(demo_app: HermesApp, opening: str) -> None:
    """Also before its widgets are there, and when something is still to be done behind its first picture."""
    opened = 0
    async with demo_app.run_test(size=(120, 40), notifications=True) as pilot:
        await looked(pilot, demo_app)
        for turns in (*range(16), *range(16, 64, 4)):
            OPENING[opening](demo_app)
            for _ in range(turns):
                await asyncio.sleep(0)
            if demo_app.screen is not demo_app.main:
                opened += 1
                demo_app.screen.dismiss(None)
            await rest(pilot)
            assert demo_app.return_code is None, turns
    assert opened > 20


async def test_screens_that_were_left_are_let_go(demo_app: HermesApp) -> None:
    """Before Python looks for cycles by itself, which it does the more seldom the more there is."""
    left: WeakSet[Screen[object]] = WeakSet()
    most = 0
    async with demo_app.run_test(size=(120, 40), notifications=True) as pilot:
        await looked(pilot, demo_app)
        gc.disable()
        try:
            for _ in range(40):
                demo_app.action_help()
                await until(pilot, lambda: demo_app.screen is not demo_app.main)
                left.add(demo_app.screen)
                most = max(most, len(left))
                demo_app.screen.dismiss(None)
                await until(pilot, lambda: demo_app.screen is demo_app.main)
        finally:
            gc.enable()
        assert most < 20


@pytest.mark.timeout(60 + min(KEYS, RUN))
@pytest.mark.parametrize("run", range(-(-KEYS // RUN)))
async def test_no_keys_end_the_program(demo_app: HermesApp, tmp_path: Path, run: int) -> None:
    keys = min(KEYS - run * RUN, RUN)
    dice = chance(5 + run)
    pressed: list[list[str]] = []
    writer = LiveWriter(demo_app.manager.environment.home, pace=0.12)
    async with demo_app.run_test(size=(120, 40), notifications=True) as pilot:
        await looked(pilot, demo_app)
        writer.start()
        count = 0
        while count < keys:
            burst = [
                dice.choice(CHARACTERS) if dice.random() < 0.7 else dice.choice(NAMED)
                for _ in range(dice.randint(1, 5))
            ]
            pressed = [*pressed[-20:], burst]
            press_at_once(demo_app, burst)
            count += len(burst)
            if dice.random() < 0.03:
                await pilot.resize_terminal(*dice.choice(SIZES))
            await rest(pilot)
            assert demo_app.return_code is None, pressed
        writer.stop()
        assert writer.failure is None
        assert demo_app.is_running
        assert not [text for text in toasts(pilot) if "nexpected" in text]
    assert not log_file().exists()
