"""One run of the terminal program, from its colours to its exit code."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace
from textual import constants

from hermes_tui.clock import Clock
from hermes_tui.config import Config
from hermes_tui.errors import ValidationError
from hermes_tui.platform import memory_tuning
from hermes_tui.platform.memory_tuning import stay_small
from hermes_tui.platform.terminal_guard import Guard
from hermes_tui.platform.thread_errors import crashes_reported
from hermes_tui.sessions.manager import SessionManager
from hermes_tui.tui.app import HermesApp
from hermes_tui.tui.themes import NO_COLOUR_THEME, PLAIN_THEME, THEMES, has_few_colours

if TYPE_CHECKING:
    from hermes_tui.tui.splash.splash import Splash
    from session_adapters.base import Environment

__all__ = ["run_app"]

_TURN = 0.0005
"""Seconds for which one thread computes before another that can go on gets its turn. With Python's own 5 ms a search
waits for the screen, and the screen for a search, each time for as long as both would take."""
_COLOUR_SYSTEMS = ("auto", "standard", "256", "truecolor")


def run_app(
    config: Config,
    *,
    environment: Environment | None = None,
    static_now: datetime | None = None,
    manager: SessionManager | None = None,
    splash: Splash | None = None,
    named_home: Path | None = None,
    patience: float = 0.0,
) -> int:
    """Run the program as `config` says until it is left; its exit code.

    `environment` None: this process's own. `static_now` (aware) makes time stand still there. `manager` None: one for
    that environment. `splash`: what stands on the terminal meanwhile. `named_home`: the directory that
    was named as the home, if one was. `patience`: seconds at most to wait at the end for what is still being written
    beside the stores. Without a wish of the user's, a terminal of few colours shows its own. Raises `ValidationError`
    for colours that there are not.
    """
    _check_colours(config.theme)
    if config.theme is None and has_few_colours():
        config = replace(config, theme=PLAIN_THEME)
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    manager = manager or SessionManager(environment, indexed=config.index)
    app = HermesApp(
        manager,
        config,
        clock=Clock(static_now),
        painted=memory_tuning.settle,
        settle=memory_tuning.settle_anew,
        indexing=config.index and static_now is None,
        attention=True,
        splash=splash,
        named_home=named_home,
    )
    stay_small()
    guard = Guard(app.leave_soon, mode=splash.mode if splash else None)
    # Before the guard takes the signals: it gives back what it finds.
    if splash is not None:
        splash.give_back_signals()
    guard.install()
    turn = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        with crashes_reported(app.say_crash):
            app.run(mouse=config.mouse)
    finally:
        sys.setswitchinterval(turn)
        # Guarded still: a signal ends the process if this takes too long. And the watch reads the catalogue.
        app.watch_thread.join()
        app.cost_refresh.join(patience)
        guard.release()
        app.manager.catalogue.close()
    return app.return_code or 0


def _check_colours(theme: str | None) -> None:
    names = [one.name for one in THEMES]
    if theme is not None and theme not in names:
        known = ", ".join(name for name in names if name != NO_COLOUR_THEME)
        raise ValidationError(f"unknown theme {theme!r}; known are {known}")
    system = constants.COLOR_SYSTEM or "auto"
    if system not in _COLOUR_SYSTEMS:
        known = ", ".join(_COLOUR_SYSTEMS)
        raise ValidationError(f"TEXTUAL_COLOR_SYSTEM: unknown value {system!r}; known are {known}, or unset it")
