"""Makes `screenshots/*.svg` from the static demo: `python tests/screen_pictures.py DIRECTORY` (`make screenshots`).

The same bytes each time: data, clock, zone and terminal are fixed, and what Textual's SVG has of its own (links to
fonts on a server, ids made from a checksum) is taken out.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hermes_tui.tui.screens.main.next_splash import frame_of

if TYPE_CHECKING:
    from textual.app import App
    from textual.pilot import Pilot

    from hermes_tui.tui.screens.main.screen import MainScreen

__all__ = ["SCENES", "Pasted", "Scene", "make"]

_PATIENCE = 180.0
"""Seconds after which a scene that does not come up is an error."""


class Pasted(str):
    """Text that is pasted, in place of a key: each of its keys would begin a search."""

    __slots__ = ()


class Scene(NamedTuple):
    """One picture."""

    name: str
    size: tuple[int, int]
    expects: str
    """Text that must be on the screen before it is taken."""
    keys: tuple[str, ...] = ()
    """Pressed one after the other once the sessions are there, each when the screen has come to rest."""
    theme: str | None = None
    empty: bool = False
    """On a machine without any session."""
    attention: bool = False
    """It is known which sessions need a person."""


SCENES = (
    Scene("main-wide", (160, 48), "Fix it with a fake clock", keys=("z",)),
    Scene("main-narrow", (80, 24), "Fix the flaky login test"),
    Scene("transcript", (110, 40), "--count 40", keys=("enter", "g", "z")),
    Scene(
        "diff",
        (130, 34),
        "change 1 of",
        keys=("slash", Pasted("title:fake"), "enter", "d"),
    ),
    Scene("search", (150, 40), "Resolution", keys=("slash", Pasted("clock agent:claude"))),
    Scene("help", (120, 52), "Open the session", keys=("question_mark",)),
    Scene("attention", (118, 34), "⚑ approval", keys=("A",), attention=True),
    Scene("lanes", (150, 40), "↻ resume pending", keys=("L", "j")),
    Scene("lane-plan", (110, 34), "Same as:", keys=("L", "j", "j", "j", "j", "R")),
    Scene("light", (160, 48), "All 412 pass", theme="hermes-light"),
    Scene("empty", (100, 30), "No sessions here yet", empty=True),
)


def make(folder: Path, scenes: Sequence[Scene] = SCENES) -> list[Path]:
    """Write these scenes to `folder`; the files."""
    from hermes_tui.demo import STATIC_NOW, only_home
    from hermes_tui.demo.home import prepare, write_home

    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with tempfile.TemporaryDirectory(prefix="hermes-tui-screenshots-") as temporary:
        full, empty = Path(temporary) / "full", Path(temporary) / "empty"
        for home in (full, empty):
            prepare(home)
        write_home(full, STATIC_NOW)
        for scene in scenes:
            home = empty if scene.empty else full
            with _fixed_terminal(), only_home(home):
                picture = asyncio.run(_taken(scene, home))
            path = folder / f"{scene.name}.svg"
            path.write_text(normalised(picture), encoding="utf-8", newline="\n")
            made.append(path)
    return made


def normalised(picture: str) -> str:
    """The picture without links to fonts and without ids of its own; a newline at its end."""
    picture = re.sub(r"\s*@font-face\s*\{[^}]*\}", "", picture)
    picture = re.sub(r"\s*<!--.*?-->", "", picture, flags=re.DOTALL)
    picture = re.sub(r"\bterminal-\d+-", "terminal-", picture)
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"


async def _taken(scene: Scene, home: Path) -> str:
    from textual import events

    from hermes_tui.clock import Clock
    from hermes_tui.config import Config
    from hermes_tui.demo import STATIC_NOW, begin_marks
    from hermes_tui.demo.home import environment_of
    from hermes_tui.sessions.manager import SessionManager
    from hermes_tui.tui.app import HermesApp

    manager = SessionManager(environment_of(home))
    if scene.attention:
        begin_marks(STATIC_NOW)
    app = HermesApp(manager, Config(theme=scene.theme), clock=Clock(STATIC_NOW), attention=scene.attention)
    try:
        async with app.run_test(size=scene.size) as pilot:
            main = app.main
            await _until(pilot, lambda: bool(main.snapshot.places and main.parts.lanes) and not main.snapshot.partial)
            await _still(app, pilot)
            for key in scene.keys:
                if isinstance(key, Pasted):
                    app.post_message(events.Paste(key))
                else:
                    await pilot.press(key)
                await _still(app, pilot)
            await _until(pilot, lambda: not main.box.value or _is_answered(main))
            await _until(pilot, lambda: scene.expects in _text(app))
            await _still(app, pilot)
            return app.export_screenshot(title="hermes-tui", simplify=True)
    finally:
        manager.catalogue.close()


def _is_answered(main: MainScreen) -> bool:
    """What is shown is the answer to all that was typed, not to the beginning of it."""
    shown = main.search.results.query
    return shown is not None and shown.text == main.box.value


async def _until(pilot: Pilot[None], there: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not there():
        if time.monotonic() > end:
            raise TimeoutError(f"not on the screen after {_PATIENCE:g} s:\n{_text(pilot.app)}")
        await pilot.pause(0.02)


async def _still(app: App[None], pilot: Pilot[None]) -> None:
    """Wait until nothing has changed for 0.4 seconds."""
    before, since = _text(app), time.monotonic()
    end = since + _PATIENCE
    while time.monotonic() < end:
        await pilot.pause(0.15)
        now = _text(app)
        if now != before:
            before, since = now, time.monotonic()
        elif time.monotonic() - since > 0.4:
            return
    raise TimeoutError("the screen does not come to rest")


def _text(app: App[None]) -> str:
    """What stands on the terminal."""
    return "\n".join(strip.text for strip in frame_of(app.screen))


@contextmanager
def _fixed_terminal() -> Iterator[None]:
    """A true-colour terminal in UTC, whatever this one is."""
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("TEXTUAL") or name in ("NO_COLOR", "LC_ALL")]:
        del os.environ[name]
    os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", TZ="UTC", LANG="C.UTF-8")
    time.tzset()
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        time.tzset()


if __name__ == "__main__":
    for picture_file in make(Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")):
        print(picture_file)
