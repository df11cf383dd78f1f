"""Which adapters exist, and how an extra of ours is installed.

Third-party adapters register in the entry point group `hermes_tui.adapters`.

Names are known without importing anything; a module is imported when its agent is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from session_adapters.base import Adapter

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["BUILT_IN", "GROUP", "LABELS", "adapter_class", "agent_names", "install_command"]

GROUP = "hermes_tui.adapters"

BUILT_IN: Mapping[str, str] = {
    "claude": "session_adapters.claude.adapter:ClaudeAdapter",
    "codex": "session_adapters.codex.adapter:CodexAdapter",
    "copilot": "session_adapters.copilot.adapter:CopilotAdapter",
    "cursor": "session_adapters.cursor.adapter:CursorAdapter",
    "gemini": "session_adapters.gemini.adapter:GeminiAdapter",
    "hector": "session_adapters.hector.adapter:HectorAdapter",
    "hermes": "session_adapters.hermes.adapter:HermesAdapter",
    "omp": "session_adapters.omp:OmpAdapter",
    "openclaw": "session_adapters.openclaw.adapter:OpenClawAdapter",
    "opencode": "session_adapters.opencode.adapter:OpenCodeAdapter",
    "pi": "session_adapters.pi:PiAdapter",
}
"""Agent name → where its class is. A third-party adapter cannot take a built-in name."""

LABELS: Mapping[str, tuple[str, str]] = {
    "claude": ("Claude Code", "cc"),
    "codex": ("Codex CLI", "cx"),
    "copilot": ("Copilot CLI", "cp"),
    "cursor": ("Cursor", "cu"),
    "gemini": ("Gemini CLI", "gm"),
    "hector": ("Hector", "hx"),
    "hermes": ("Hermes", "hm"),
    "omp": ("omp", "om"),
    "openclaw": ("OpenClaw", "ow"),
    "opencode": ("OpenCode", "oc"),
    "pi": ("Pi", "pi"),
}
"""Label and badge of the built-in ones, as their classes have them: a first picture needs these and no adapter."""


def agent_names() -> tuple[str, ...]:
    """All agents that could be read, sorted. Imports no adapter."""
    return tuple(sorted({*BUILT_IN, *_third_party()}))


def adapter_class(name: str) -> type[Adapter]:
    """The class for agent `name`.

    Raises `KeyError` for an unknown name, `TypeError` when a third-party entry point is not an adapter, and
    whatever importing a third-party module raises.
    """
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        loaded = getattr(import_module(module), attribute)
    else:
        loaded = _third_party()[name].load()
    if not (isinstance(loaded, type) and issubclass(loaded, Adapter)):
        raise TypeError(f"entry point {name!r} of {GROUP} is not a session_adapters.base.Adapter")
    return loaded


def _third_party() -> dict[str, EntryPoint]:
    if not any(map(_may_announce, map(Path, dict.fromkeys(sys.path)))):
        return {}
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in BUILT_IN}


@cache
def _may_announce(folder: Path) -> bool:
    """Whether a distribution installed in `folder` may have adapters, as it was when first asked. Most machines have
    no such one, and to be told so by `importlib.metadata`, which brings a mail parser along, takes 30 ms and 2 MB."""
    if folder.suffix == ".egg" or folder.is_file():
        return True  # an archive: let it be looked into
    return any(map(_names_group, folder.glob("*.*-info/entry_points.txt")))


def _names_group(path: Path) -> bool:
    try:
        return GROUP.encode() in path.read_bytes()
    except OSError:
        return True  # whoever reads it properly says so


def install_command(extra: str) -> str:
    """What a user runs to have an extra of ours (`project.optional-dependencies`) beside this very program. It names
    the packages themselves: this program is installed from a checkout, and whoever has its name on an index of
    packages would be given the user's machine."""
    import re
    import shlex
    from importlib.metadata import requires
    from importlib.util import find_spec

    marker = re.compile(rf"""(?:\s+and)?\s*extra\s*==\s*["']{re.escape(extra)}["']""")
    needed = [
        marker.sub("", one).rstrip("; ").replace("'", '"')
        for one in requires("hermes-tui") or ()
        if marker.search(one)
    ]
    if find_spec("pip"):
        return shlex.join((sys.executable, "-m", "pip", "install", *needed))
    return shlex.join(("uv", "pip", "install", "--python", sys.executable, *needed))  # uv's environments have no pip
