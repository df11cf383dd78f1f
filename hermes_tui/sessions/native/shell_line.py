"""Quotes a command as a line for a shell, whatever a store put into it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

__all__ = ["command_line", "names_nothing", "quote"]


def quote(word: str) -> str:
    """One word for a shell. With characters that a terminal might act on, or that cannot be seen, in the `$'…'` form
    of bash, zsh, ksh and POSIX 2024, byte by byte: the line can be shown as it stands."""
    if word.isprintable():
        return shlex.quote(word)
    written: list[str] = []
    for character in word:
        if character in "\\'":
            written.append(f"\\{character}")
        elif character.isprintable():
            written.append(character)
        else:
            # Three octal digits end by themselves; a hexadecimal escape would swallow a digit that follows.
            written += (f"\\{byte:03o}" for byte in os.fsencode(character))
    return "$'" + "".join(written) + "'"


def command_line(
    argv: Sequence[str],
    *,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    unset: Sequence[str] = (),
) -> str:
    """`cd DIR && env -u GONE NAME=value program argument …`, each word quoted."""
    words = [quote(word) for word in argv]
    settings = [f"{name}={quote(value)}" for name, value in (env or {}).items()]
    if unset:
        removed = [word for name in unset for word in ("-u", quote(name))]
        words = ["env", *removed, *settings, *words]
    else:
        words = [*settings, *words]
    line = " ".join(words)
    return f"cd -- {quote(cwd)} && {line}" if cwd is not None else line


def names_nothing(path: str) -> bool:
    """Whether a path was made text on the way, and is the name of nothing any more."""
    return "\ufffd" in path and not os.path.lexists(path)
