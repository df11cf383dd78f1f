"""The options before the command, and how they are parsed.

Opening the program needs only these.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hermes_tui.config import Config

__all__ = ["HOME_VARIABLE", "Settings"]

HOME_VARIABLE = "HERMES_TUI_HOME"
"""Names a home directory, as `--home` does."""


class Settings(NamedTuple):
    """The options before the command; every command finds them in `context.find_root().obj`."""

    home: Path | None
    mouse: bool
    theme: str | None
    read_only: bool = False
    indexed: bool = True

    def config(self) -> Config:
        """The user's settings with these options on top. Raises `ValidationError` for a settings file that is
        wrong; a command that needs none of them works all the same."""
        from msgspec.structs import replace

        from hermes_tui.config import load

        kept = load()
        return replace(
            kept,
            mouse=self.mouse and kept.mouse,
            theme=self.theme or kept.theme,
            read_only=self.read_only or kept.read_only,
            index=self.indexed and kept.index,
        )

    @classmethod
    def plain(cls) -> Settings:
        """Those of a command line without any option."""
        home = os.environ.get(HOME_VARIABLE)
        return cls(Path(home) if home else None, mouse=True, theme=None)
