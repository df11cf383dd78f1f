"""The default machine, with what the settings add, and names of our files for it."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache

from msgspec.structs import replace

from hermes_tui.config import load
from hermes_tui.errors import ValidationError
from session_adapters.base import Environment
from session_adapters.registry import BUILT_IN

__all__ = ["file_name", "own_environment", "this_machine"]

_HECTOR = "HERMES_TUI_HECTOR_DSN"
_DECIDE = ("HERMES_TUI_CONFIG", "XDG_CONFIG_HOME", "HOME")
"""Variables that say where the settings are."""
_SUFFIXES = ("_HOME", "_DIR")
"""How variables that move stores usually end."""
_OWN_SUFFIXES = ("_PATH", "_DSN", "_DB", "_PROFILE")
"""And those of the agents we know; other programs' names end so, too, and change from shell to shell."""
_OWN = tuple(f"{name.upper()}_" for name in BUILT_IN)
_NOT_STORES = frozenset({"JAVA_HOME", "PYENV_DIR", "SSL_CERT_DIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"})
"""Variables that are named like places of stores and are none. Some change with the working directory."""


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


def file_name(environment: Environment, kind: str, suffix: str) -> str:
    """The name of a file of ours for one home and one set of variables that move stores: two homes never share one.
    It begins with `kind`."""
    moved = sorted(
        (name, value)
        for name, value in environment.variables.items()
        if name not in _NOT_STORES
        and (
            name.endswith(_SUFFIXES) or name == "APPDATA" or (name.startswith(_OWN) and name.endswith(_OWN_SUFFIXES))
        )
    )
    text = repr((str(environment.home), moved)).encode("utf-8", "surrogateescape")
    return f"{kind}-{hashlib.blake2b(text, digest_size=6).hexdigest()}{suffix}"
