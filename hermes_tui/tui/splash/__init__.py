"""Paints the session list before the TUI library is imported.

That import alone takes longer than to read the list of the last run and to write it out. What does not change between
two starts on the same terminal (frames, hints, colours) is kept from the first frame of the run before, as a
`SplashImage`; the rows are written anew each time, from the sessions as they were last known, with their ages of now.
A moment later the program paints its own first frame over it.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from hermes_tui.tui.splash.splash import Splash

if TYPE_CHECKING:
    from hermes_tui.config import Config
    from hermes_tui.sessions.manager import SessionManager

__all__ = ["Splash", "show_splash"]


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
