"""See, read, search and steer every session of every AI agent on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["SessionManager", "__version__"]

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager


def __getattr__(name: str) -> object:
    # Lazily, so that `--help` and `--version` read no adapter.
    if name == "SessionManager":
        from hermes_tui.sessions.manager import SessionManager

        return SessionManager
    raise AttributeError(name)
