"""From the option `--home` to a manager."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hermes_tui.errors import ValidationError
from session_adapters.base import Environment

if TYPE_CHECKING:
    from hermes_tui.sessions.manager import SessionManager

__all__ = ["environment_of", "manager_of"]


def environment_of(home: Path | None) -> Environment | None:
    """The machine with another home, where no variable points back to the real stores; None for this one.
    Raises `ValidationError` when there is no such directory."""
    if home is None:
        return None
    if not home.is_dir():
        raise ValidationError(f"--home: there is no directory {str(home)!r}")
    return Environment(home=home.resolve())


def manager_of(home: Path | None, *, indexed: bool = True) -> SessionManager:
    """The manager for `--home`; `indexed` as there."""
    from hermes_tui.sessions.manager import SessionManager

    return SessionManager(environment_of(home), indexed=indexed)
