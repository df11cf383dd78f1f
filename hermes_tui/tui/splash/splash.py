"""Shows the splash, and holds the terminal until the program takes over."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import termios
from types import FrameType
from typing import TYPE_CHECKING, Any

from hermes_tui.tui.terminal_output import patient

if TYPE_CHECKING:
    from hermes_tui.config import Config
    from hermes_tui.sessions.manager import SessionManager

__all__ = ["ALTERNATE_SCREEN", "Splash", "show_splash"]

ALTERNATE_SCREEN = "\x1b[?1049h"
_HIDE = ALTERNATE_SCREEN + "\x1b[?25l\x1b[?7l"
_SHOW = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
_SIGNALS = (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)


class Splash:
    """A picture on the terminal's other screen, where what is typed is kept and not shown.

    Whoever takes over calls `give_back_signals` and `give_back_mode` first; `drop` puts everything back as it was, if
    that never happened.
    """

    def __init__(self, key: str = "", size: tuple[int, int] = (0, 0), fd: int = 0) -> None:
        self.key = key
        """Of the splash image for this terminal, whether or not there is one."""
        self.size = size
        """Columns and rows that it is for."""
        self._fd = fd
        self.mode: list[Any] | None = None
        """The terminal's mode as it was found."""
        self.is_kept = False
        """The next start has a splash image from this one."""
        self._before: dict[signal.Signals, Any] = {}
        self.is_up = False
        """The picture is there, and nobody has taken over."""

    def show(self, picture: str) -> None:
        """Put it up; from the main thread only. Raises nothing but `KeyboardInterrupt`: without it the program starts
        as well."""
        try:
            self._show(picture)
        except KeyboardInterrupt:  # on a slow line, say; whoever called has no picture yet that could be dropped
            self.drop()
            raise

    def _show(self, picture: str) -> None:
        if sys.__stderr__ is None:
            return
        try:
            # Asked for twice: lists lie in it, and what is changed in one must not change what is put back.
            self.mode = termios.tcgetattr(self._fd)
            mode = termios.tcgetattr(self._fd)
            mode[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
            mode[3] &= ~(termios.ECHO | termios.ICANON)
            mode[6][termios.VSUSP] = b"\x00"  # not now: the shell would have this screen
            self.is_up = True  # before it is: it may be interrupted at any moment
            termios.tcsetattr(self._fd, termios.TCSANOW, mode)
        except (termios.error, OSError):
            self.mode, self.is_up = None, False
            return
        for number in _SIGNALS:
            self._before[number] = signal.signal(number, self._end)
        self._write(_HIDE + picture)

    def give_back_signals(self) -> None:
        """They are somebody else's now."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def give_back_mode(self) -> None:
        """The terminal's mode is as it was; the picture stays, for whoever takes over."""
        if self.is_up and self.mode is not None:
            self.is_up = False
            termios.tcsetattr(self._fd, termios.TCSANOW, self.mode)

    def drop(self) -> None:
        """Nobody took over: everything as it was."""
        self.give_back_signals()
        if self.is_up:
            self._write(_SHOW)
            self.give_back_mode()

    def _end(self, number: int, frame: FrameType | None) -> None:
        try:
            self.drop()
        except (termios.error, OSError):
            pass  # a terminal that is gone has no mode, and nobody to be told
        finally:
            os._exit(128 + number)

    def _write(self, text: str) -> None:
        """Where Textual writes, too."""
        if sys.__stderr__ is not None:
            with patient(sys.__stderr__) as terminal:
                terminal.write(text)


def show_splash(manager: SessionManager, config: Config) -> Splash:
    """Show the sessions of the last run, where it left a splash image for this terminal. Raises nothing."""
    from hermes_tui.tui.splash.splash_image import key_of, load
    from hermes_tui.tui.state.view_state import ViewFile

    columns, rows = shutil.get_terminal_size()  # as Textual measures it
    view = ViewFile().read()
    splash = Splash(key_of(config, view, columns, rows), (columns, rows))
    splash_image = load(splash.key)
    if splash_image is None:
        return splash
    sessions = manager.catalogue.saved().sessions
    if sessions:
        from hermes_tui.clock import Clock
        from hermes_tui.tui.splash.frame import picture
        from hermes_tui.tui.widgets.session_list.rows import Forest

        clock = Clock()
        badges = {name: label.badge for name, label in manager.saved_labels.items()}
        chosen = view.columns_of(config)
        splash.show(
            picture(splash_image, Forest(sessions).rows(clock, order=view.order), badges, clock, view.order, chosen)
        )
    return splash
