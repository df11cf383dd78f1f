"""Saves what the next start's first frame needs.

`hermes_tui.tui.splash` begins with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from rich.style import Style
from textual._compositor import LayoutUpdate
from textual.screen import Screen
from textual.strip import Strip

from hermes_tui.platform.background import in_background
from hermes_tui.tui.splash.splash_image import Ink, SplashImage, save

if TYPE_CHECKING:
    from rich.console import Console
    from textual.geometry import Region
    from textual.widget import Widget

    from hermes_tui.tui.screens.main.screen import MainScreen
    from hermes_tui.tui.splash.splash import Splash

__all__ = ["frame_of", "keep_splash", "splash_image_of"]


def frame_of(screen: Screen[Any]) -> Sequence[Strip]:
    """What a screen, and those that are seen behind it, show now, line by line. Textual (8.2) tells it to nobody."""
    update = screen._compositor.render_update(full=True, screen_stack=screen.app._background_screens)
    return [Strip.join(line) for line in update.strips] if isinstance(update, LayoutUpdate) else ()


def keep_splash(screen: MainScreen, splash: Splash) -> None:
    """Save what the screen shows besides sessions, if it shows the beginning of the whole list, with the keys there.
    Written in a thread, for the disk may be slow."""
    sessions = screen.sessions
    as_at_first = screen.focused is sessions and not sessions.scroll_y and not screen.search.is_searching
    if as_at_first and screen.is_active and screen.snapshot.sessions and splash.size == tuple(screen.app.size):
        splash.is_kept = True
        made = splash_image_of(screen, frame_of(screen), splash.key)
        in_background("first frame", lambda: save(made()))


def splash_image_of(screen: MainScreen, frame: Sequence[Strip], key: str) -> Callable[[], SplashImage]:
    """What is to be looked up on the screen is; the rest may be worked out in any thread."""
    sessions = screen.sessions
    console = screen.app.console
    rows = sessions.scrollable_content_region
    width, height = sessions.size
    moving = [rows, *(screen.query_one(name).content_region for name in ("#counts", "#detail"))]
    words = sessions.state_words
    inks = [_inks(sessions, sessions.looks(on_cursor=on_cursor), console) for on_cursor in (False, True)]

    def make() -> SplashImage:
        return SplashImage(
            key=key,
            lines=tuple(_line(y, line, moving).render(console) for y, line in enumerate(frame)),
            left=rows.x,
            top=rows.y,
            width=width,
            height=height,
            shown=rows.width,
            state_words=words,
            inks=inks[0],
            cursor_inks=inks[1],
        )

    return make


def _inks(widget: Widget, looks: Mapping[str, Style], console: Console) -> dict[str, Ink]:
    """Styles as the terminal gets them, filters of the theme included."""
    _, background = widget.background_colors
    found: dict[str, Ink] = {}
    for purpose, style in looks.items():
        strip = Strip([Segment("X", style)])
        for line_filter in widget.get_line_filters():
            strip = strip.apply_filter(line_filter, background)
        before, _, behind = strip.render(console).partition("X")
        found[purpose] = Ink(before, behind)
    return found


def _line(y: int, line: Strip, moving: Sequence[Region]) -> Strip:
    """The line with blanks where it says something about sessions."""
    for region in moving:
        if region.y <= y < region.bottom:
            inside = line.crop(region.x, region.right)
            blank = Strip([Segment(" " * one.cell_length, one.style) for one in inside])
            line = Strip.join([line.crop(0, region.x), blank, line.crop(region.right, line.cell_length)])
    return line
