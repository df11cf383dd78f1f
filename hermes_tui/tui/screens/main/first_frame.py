"""The first frame, painted once.

Left alone, Textual (8.2) paints a screen five times while it starts: when it is resumed, each time it is told its
size, and again because its widgets were mounted and because it was resumed. Over a slow line all but the last are in
the way of the last. This is the one place that uses names of Textual that are private; should they go, the same frame
is painted as often as before, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual import events
from textual._compositor import LayoutUpdate
from textual.screen import Screen
from textual.strip import Strip

__all__ = ["FirstFrame", "frame_of"]

_ROUNDS = 3
"""Turns of the message queue in which the mounted widgets say that they want to be painted."""
_PATIENCE = 0.5
"""Seconds after which painting begins in any case."""


def frame_of(screen: Screen[Any]) -> Sequence[Sequence[Strip]]:
    """What a screen, and those that are seen behind it, show now, line by line."""
    update = screen._compositor.render_update(full=True, screen_stack=screen.app._background_screens)
    return [list(line) for line in update.strips] if isinstance(update, LayoutUpdate) else ()


class FirstFrame(Screen[None]):
    """A screen that is painted only once its parts have their sizes and contents."""

    _held = False

    def on_mount(self) -> None:
        """Paint nothing yet."""
        self._held = True
        self.set_timer(_PATIENCE, self._release)

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """All parts got their styles when they were mounted, a moment ago."""
        if self._held:
            event.refresh_styles = False

    def on_resize(self, event: events.Resize) -> None:
        """The size is known: it will not be long."""
        if self._held:
            self._after(_ROUNDS)

    def _after(self, rounds: int) -> None:
        if rounds:
            self.call_later(self._after, rounds - 1)
        else:
            self._release()

    def _release(self) -> None:
        if not self._held:
            return
        self._held = False
        self._repaint_required = False
        self._dirty_widgets.clear()
        app = self.app
        if self is not app.screen:
            self._compositor_refresh()
            self.painted(())
            return
        update = self._compositor.render_update(full=True, screen_stack=app._background_screens)
        app._display(self, update)
        app._update_mouse_over(self)
        self.painted([list(line) for line in update.strips] if isinstance(update, LayoutUpdate) else ())

    def frame(self) -> Sequence[Sequence[Strip]]:
        """What the whole screen shows now, line by line."""
        return frame_of(self)

    def painted(self, frame: Sequence[Sequence[Strip]]) -> None:
        """Called once, when the first frame is on its way to the terminal; `frame` has its lines, or none where
        another screen lies over this one."""

    def _compositor_refresh(self) -> None:
        # What is to be painted stays marked in the compositor until it is.
        if not self._held:
            super()._compositor_refresh()
