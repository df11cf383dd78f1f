"""This program's own command that does the same as a key, as a line to be copied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hermes_tui.sessions.native.shell_line import command_line

__all__ = ["own_command"]


def own_command(words: Sequence[str], home: Path | None = None) -> str:
    """`hermes-tui WORD …` for a shell, safe to show; `home`: the directory that the program was started on in place
    of the user's own, which the command then has to name as well."""
    where = ("--home", str(home)) if home is not None else ()
    return command_line(("hermes-tui", *where, *words))
