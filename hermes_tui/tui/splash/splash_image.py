"""The first frame without its sessions, kept for the next start.

One for each kind of terminal.

A cache, never a truth: a file that is damaged, or for another terminal, theme or version, counts as absent.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from hermes_tui.config import Config
from hermes_tui.platform import paths
from hermes_tui.sessions.checksummed_file import forget_others, read_part, write_parts
from hermes_tui.tui.state.view_state import ViewState

__all__ = ["Ink", "SplashImage", "file_of", "key_of", "load", "save"]

_MAGIC = b"hermes-tui first frame 1\n"
_SIGNS = ("TERM", "COLORTERM", "NO_COLOR", "TEXTUAL_COLOR_SYSTEM", "TEXTUAL_THEME", "TMUX", "TERM_PROGRAM")
"""Variables by which it is decided how many colours a terminal has."""


class Ink(msgspec.Struct, frozen=True):
    """How text of one purpose is written: the control sequences before and behind it."""

    before: str
    behind: str


class SplashImage(msgspec.Struct, frozen=True, kw_only=True):
    """For one size of one kind of terminal."""

    key: str
    """Of the terminal and settings it is for; see `key_of`."""
    lines: tuple[str, ...]
    """Each line of the screen with its control sequences, blank where it tells of sessions."""
    left: int
    """Column of the first character of a row of the list, from 0; likewise `top`, `width` and `height`."""
    top: int
    width: int
    height: int
    shown: int
    """How many of the columns are to be seen; on the others lies the scrollbar."""
    state_words: bool
    """States are written out."""
    inks: Mapping[str, Ink]
    """By purpose; `""` is for what is behind a row and for text without a purpose."""
    cursor_inks: Mapping[str, Ink]
    """The same on the row under the cursor."""


_DECODER = msgspec.msgpack.Decoder(SplashImage)


def key_of(config: Config, view: ViewState, columns: int, rows: int) -> str:
    """Differs where first frames look different."""
    settings = (config.theme or view.theme, view.split, config.read_only, sorted(config.keymap.items()))
    return repr((columns, rows, settings, [(name, os.environ.get(name)) for name in _SIGNS]))


def file_of(key: str) -> Path:
    """Where the splash image for `key` is kept."""
    return paths.cache_dir() / f"first-frame-{hashlib.blake2b(key.encode(), digest_size=6).hexdigest()}.msgpack"


def load(key: str) -> SplashImage | None:
    """The one for `key`, if there is one."""
    part = read_part(file_of(key), _MAGIC, 0)
    if part is None:
        return None
    try:
        found = _DECODER.decode(part)
    except (msgspec.MsgspecError, ValueError):
        return None
    return found if found.key == key else None


def save(splash_image: SplashImage) -> None:
    """Keep it for the next start, unless it is there already. Where nothing can be written the next start does
    without; `Catalogue` says what is wrong with the place."""
    if load(splash_image.key) == splash_image:
        return
    path = file_of(splash_image.key)
    with suppress(OSError):
        write_parts(path, _MAGIC, [msgspec.msgpack.encode(splash_image)])
        forget_others(path, "first-frame-*.msgpack")
