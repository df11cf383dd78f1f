"""Tells whether an agent may have sessions here, without importing its adapter.

Nearly no machine has all agents, and an adapter takes longer to import than it takes to see that its places are not
there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from session_adapters.base import Environment
from session_adapters.reading.folders import is_reachable

__all__ = ["PLACES", "Places", "may_have_sessions", "names_at_home"]


class Places(NamedTuple):
    """Where an agent's sessions may be. There may be more than there are, never fewer."""

    variables: tuple[str, ...] = ()
    """Those that move them: nothing is known where one is set."""
    home: tuple[str, ...] = ()
    """Beginnings of names in the home directory."""
    config: tuple[str, ...] = ()
    """Names in `$XDG_CONFIG_HOME`."""
    data: tuple[str, ...] = ()
    """Names in `$XDG_DATA_HOME`."""
    state: tuple[str, ...] = ()
    """Names in `$XDG_STATE_HOME`."""
    library: tuple[str, ...] = ()
    """Names in macOS' `Library/Application Support`."""
    working: tuple[str, ...] = ()
    """Names in the working directory."""


_HECTORS = (".hector", "data", "config.yaml", "hector.yaml")
"""What its databases and configurations lie in, or are, below a directory that it runs in."""

PLACES: Mapping[str, Places] = {
    "codex": Places(("CODEX_HOME", "CODEX_SQLITE_HOME"), (".codex",)),
    "copilot": Places(("COPILOT_HOME",), (".copilot",), config=("github-copilot",), state=(".copilot",)),
    "cursor": Places(
        ("CURSOR_DATA_DIR", "CURSOR_CONFIG_DIR", "APPDATA"),
        (".cursor",),
        config=("cursor", "Cursor"),
        library=("Cursor",),
    ),
    "gemini": Places(("GEMINI_CLI_HOME",), (".gemini",)),
    "hector": Places(
        ("HERMES_TUI_HECTOR_PATH", "HERMES_TUI_HECTOR_DSN"),
        _HECTORS,
        working=_HECTORS,
    ),
    "hermes": Places(("HERMES_HOME",), (".hermes",)),
    "omp": Places(("PI_CONFIG_DIR", "PI_CODING_AGENT_DIR"), (".omp",), data=("omp",)),
    "openclaw": Places(
        ("OPENCLAW_HOME", "OPENCLAW_STATE_DIR", "OPENCLAW_PROFILE", "OPENCLAW_CONFIG_PATH"),
        (".openclaw", ".clawdbot", ".moldbot", ".moltbot"),
    ),
    "opencode": Places(("OPENCODE_DB",), data=("opencode",)),
    "pi": Places(("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"), (".pi",)),
}
"""Of those agents of which it can be told in a few looks."""


def names_at_home(environment: Environment) -> list[str] | None:
    """What lies in the home directory; None where that cannot be told."""
    try:
        return os.listdir(environment.home)  # noqa: PTH208 - names alone
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError:
        return None


def may_have_sessions(
    agent: str, environment: Environment, at_home: Callable[[Environment], list[str] | None] = names_at_home
) -> bool:
    """False where it is certain that `agent` has none. Also true where nobody can tell: its adapter says why. Whoever
    asks for several may know what lies `at_home`."""
    places = PLACES.get(agent)
    if places is None or any(environment.variables.get(name, "").strip() for name in places.variables):
        return True
    names = at_home(environment)
    if names is None or any(name.startswith(places.home) for name in names):
        return True
    folders = [
        (environment.path("XDG_CONFIG_HOME", ".config"), places.config),
        (environment.path("XDG_DATA_HOME", ".local", "share"), places.data),
        (environment.path("XDG_STATE_HOME", ".local", "state"), places.state),
        (environment.home / "Library" / "Application Support", places.library),
    ]
    working = environment.variables.get("PWD", "")
    if working.startswith("/"):
        folders.append((Path(working), places.working))
    unknown: list[OSError] = []
    found = [
        is_reachable(folder / name, lambda _, error: unknown.append(error)) for folder, of in folders for name in of
    ]
    return any(found) or bool(unknown)
