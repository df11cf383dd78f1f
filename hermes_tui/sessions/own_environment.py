"""The default machine: this process's environment and what the settings add."""

from __future__ import annotations

import os
from functools import lru_cache

from msgspec.structs import replace

from hermes_tui.config import load
from hermes_tui.errors import ValidationError
from session_adapters.base import Environment

__all__ = ["own_environment", "this_machine"]

_HECTOR = "HERMES_TUI_HECTOR_DSN"
_DECIDE = ("HERMES_TUI_CONFIG", "XDG_CONFIG_HOME", "HOME")
"""Variables that say where the settings are."""


def own_environment() -> Environment:
    """This process's environment, as it is now. Raises `errors.ValidationError` where there is no home."""
    try:
        return Environment.current()
    except ValueError as error:
        raise ValidationError(f"{error}, or name one with --home") from error


def this_machine() -> Environment:
    """This process's environment, as it is now, with the addresses of Hector's servers that the settings name. They
    are in no variable of the process itself, which every program that it starts would inherit. Raises
    `errors.ValidationError` for settings with a mistake, and where there is no home."""
    current = own_environment()
    if current.variables.get(_HECTOR, "").strip():
        return current
    addresses = _addresses(tuple(map(os.environ.get, _DECIDE)))
    return replace(current, variables={**current.variables, _HECTOR: addresses}) if addresses else current


@lru_cache(maxsize=1)
def _addresses(decide: tuple[str | None, ...]) -> str:
    """Read once for each place of the settings, which is what `decide` tells: they count from the start of the
    program."""
    return " ".join(load().hector.dsn)
