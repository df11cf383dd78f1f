"""Remembers how the user left the screen: theme, order of the list, panes.

One small JSON file. It says nothing of sessions; one that cannot be read counts as absent.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from msgspec import MsgspecError, Struct, json, structs

from hermes_tui.config import Column, Config
from hermes_tui.platform import paths
from hermes_tui.platform.atomic_write import replacing
from hermes_tui.platform.background import in_background
from hermes_tui.platform.own_files import read_own
from hermes_tui.tui.widgets.session_list.order import Order

__all__ = ["ViewFile", "ViewState"]

_LIMIT = 64 << 10
"""Bytes; a longer file is none of ours."""


class ViewState(Struct, frozen=True, kw_only=True):
    """How the screen was left; at first as it is without a file."""

    theme: str | None = None
    """The theme that was chosen by key; the settings' goes before it."""
    order: Order = Order()
    columns: tuple[Column, ...] | None = None
    """Those of the session list that were chosen by key; None: those of the settings."""
    span: str = "30 days"
    """The days that the costs are about."""
    split: int = 0
    """Percent of the screen that the list takes beside the transcript; 0: as it is at first."""

    def columns_of(self, config: Config) -> tuple[Column, ...]:
        """The columns of the session list."""
        return config.columns if self.columns is None else self.columns


class ViewFile:
    """Reads and changes the file. Several programs may have it open: each writes only the fields that it changes."""

    def __init__(self, path: Path | None = None) -> None:
        """`path` None: `view.json` in the user's state directory."""
        self._path = path
        self._lock = threading.Lock()

    @property
    def path(self) -> Path:
        """Where it is."""
        return self._path or paths.state_dir() / "view.json"

    def read(self) -> ViewState:
        """As it was left; the usual state without a file, or with one that is damaged."""
        try:
            return json.decode(read_own(self.path, _LIMIT), type=ViewState)
        except (OSError, MsgspecError, ValueError):
            return ViewState()

    def change(self, **fields: object) -> None:
        """Remember these fields of `ViewState`; in a thread, for the disk may be slow. Where nothing can be written
        the next start does without."""
        in_background("view state", lambda: self._write(fields))

    def _write(self, fields: dict[str, object]) -> None:
        with self._lock, suppress(OSError):
            before = self.read()  # as it is by now: another program may have changed other fields
            after = structs.replace(before, **fields)
            if after != before:
                paths.private_dir(self.path.parent)
                with replacing(self.path) as file:
                    file.write(json.encode(after))
