"""Opening the terminal program, where there is a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from hermes_tui.errors import ValidationError
from hermes_tui.platform.memory_tuning import import_without, restart_without_thread_caches
from hermes_tui.tui.splash.splash import show_splash

if TYPE_CHECKING:
    from hermes_tui.cli.settings import Settings

__all__ = ["open_tui", "require_terminal"]

_FRAMES = "500"
"""A second, at most. Textual reads this when it is imported, and waits so long for more changes before it paints: at
its own 60, most of what a key takes."""


def open_tui(settings: Settings) -> int:
    """Run the terminal program until the user leaves it; its exit code. Raises `ValidationError` without a
    terminal."""
    require_terminal()
    restart_without_thread_caches()
    import_without("hashlib", "_hashlib", "_md5")  # before anything that needs it
    from hermes_tui.cli.home_option import manager_of

    config = settings.config()
    manager = manager_of(settings.home, indexed=config.index)
    splash = show_splash(manager, config)
    try:
        import_without("asyncio", "ssl")
        os.environ.setdefault("TEXTUAL_FPS", _FRAMES)
        from hermes_tui.tui.run import run_app

        named_home = manager.environment.home if settings.home is not None else None
        return run_app(config, manager=manager, splash=splash, named_home=named_home)
    finally:
        splash.drop()


def require_terminal() -> None:
    """Raise `ValidationError` unless a person sits at a terminal that can show a screen."""
    hint = "for lists and text use `hermes-tui sessions list` and `hermes-tui sessions show`"
    streams = (("input", sys.stdin), ("output", sys.stdout), ("error", sys.stderr))
    for name, stream in streams:
        if stream is None or not stream.isatty():
            raise ValidationError(f"standard {name} is not a terminal, so there is no screen to draw on; {hint}")
    if os.environ.get("TERM", "") in ("", "dumb", "unknown"):
        term = os.environ.get("TERM", "")
        raise ValidationError(f"this terminal (TERM={term!r}) cannot show a full-screen program; {hint}")
