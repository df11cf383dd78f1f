"""Every agent's plain reader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from plain_branches import plain_omp, plain_pi
from plain_chats import plain_cursor
from plain_claude import plain_claude
from plain_events import plain_copilot
from plain_gemini import plain_gemini
from plain_hector import plain_hector
from plain_hermes import plain_hermes
from plain_keys import plain_openclaw
from plain_rollouts import plain_codex
from plain_rows import plain_opencode
from plain_session import Plain

__all__ = ["READERS"]

READERS: dict[str, Callable[[Path], list[Plain]]] = {
    "claude": plain_claude,
    "codex": plain_codex,
    "copilot": plain_copilot,
    "cursor": plain_cursor,
    "gemini": plain_gemini,
    "hector": plain_hector,
    "hermes": plain_hermes,
    "omp": plain_omp,
    "openclaw": plain_openclaw,
    "opencode": plain_opencode,
    "pi": plain_pi,
}
