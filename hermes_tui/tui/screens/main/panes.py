"""Which of the main screen's panes are to be seen, and how wide."""

from __future__ import annotations

from collections.abc import Callable

from hermes_tui.tui.screens.main.parts import MainParts

__all__ = ["TALL", "WIDE", "Panes"]

WIDE = 120
"""Columns from which both panes stand side by side."""
TALL = 10
"""Lines from which there is room for the line of details."""
_STEP = 4
"""Percent of the screen by which a key moves the split."""
_LEAST, _MOST = 20, 80
"""Percent that the list takes."""


class Panes:
    """Shows list, transcript and preview side by side, or one of them: where there is room for one only, and where
    the user zoomed into one."""

    def __init__(self, parts: MainParts, is_searching: Callable[[], bool], settled: Callable[[], None]) -> None:
        """`settled` is called once the panes have other sizes."""
        self._parts = parts
        self._is_searching = is_searching
        self._settled = settled
        self.is_zoomed = False
        """One pane has the screen though there is room for two."""
        self.is_reading = False
        """Where one pane is shown: it is the transcript."""
        self._split = 0

    def turn_to(self, *, reading: bool) -> None:
        """Show the transcript, or the list, where one of them is shown."""
        self.is_reading = reading
        self.arrange()

    def fit(self, width: int, height: int) -> None:
        """Side by side or one at a time, on a screen of that size."""
        wide, tall = width >= WIDE and not self.is_zoomed, height >= TALL
        classes = {"-wide": wide, "-narrow": not wide, "-tall": tall, "-short": not tall}
        self._parts.screen.update_classes(classes, animate=False)
        self._parts.sessions.state_words = not wide
        self.arrange()

    def arrange(self) -> None:
        """Show the right ones. Not by a class of the screen, which would give everything on it new styles: that takes
        longer than to read a session."""
        parts, wide, searching = self._parts, self._parts.is_wide, self._is_searching()
        alone = "none" if self.is_reading and not wide else None
        parts.sessions.styles.display = parts.detail.styles.display = alone
        # Also where it would be shown anyway: between two sizes it must not lose the keys.
        parts.pane.styles.display = "block" if self.is_reading else "none" if wide and searching else None
        parts.preview.styles.display = "block" if wide and searching and not self.is_reading else "none"
        # Percent of the screen for the list; 0: as the style sheet says. Only where that is different: Textual lays
        # the screen out again for every width that is set.
        split = parts.program.view.split if wide else 0
        if split != self._split:
            self._split, styles = split, parts.sessions.styles
            styles.width = f"{split}%" if split else None
            styles.min_width, styles.max_width = (1, "100%") if split else (None, None)

    # Keys --------------------------------------------------------------------------------------------------

    def zoom(self) -> None:
        """Give the whole screen to the pane that has the keys."""
        if self._parts.is_wide:
            self._zoom(True)
        else:
            self._parts.screen.notify("This pane has the whole screen.")

    def unzoom(self) -> None:
        """Show both panes again."""
        if self.is_zoomed:
            self._zoom(False)
        else:
            room = self._parts.screen.app.size.width >= WIDE
            self._parts.screen.notify("Both panes are shown." if room else f"Two panes need {WIDE} columns.")

    def _zoom(self, zoomed: bool) -> None:
        self.is_zoomed = zoomed
        self.is_reading = self._parts.is_reading
        self.fit(*self._parts.screen.app.size)
        self._parts.screen.call_after_refresh(self._settled)

    def narrower(self) -> None:
        """Give the list less room beside the transcript."""
        self._move(-_STEP)

    def wider(self) -> None:
        """Give the list more room beside the transcript."""
        self._move(_STEP)

    def _move(self, step: int) -> None:
        parts, program = self._parts, self._parts.program
        if not parts.is_wide:
            parts.screen.notify("There is one pane only, so there is nothing to move.")
            return
        now = program.view.split or round(100 * parts.sessions.outer_size.width / parts.screen.app.size.width)
        split = max(_LEAST, min(now + step, _MOST))
        if split == now:
            parts.screen.notify("The panes are as far apart as they can be.")
            return
        program.remember(split=split)
        self.arrange()
        parts.screen.call_after_refresh(self._settled)
