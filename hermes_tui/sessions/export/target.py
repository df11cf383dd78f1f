"""Writes an export atomically into a file, or into a pipe.

The file is readable by its owner alone, whatever the umask: a transcript holds whatever the agent was shown, and the
stores themselves are private. Whoever wants to share it says so with `chmod`. A file that is replaced keeps its mode,
and for root its owner.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hermes_tui.errors import ValidationError
from hermes_tui.platform.atomic_write import owner_kept, replacing
from hermes_tui.sessions.export import SUFFIXES
from session_adapters.model import SessionSummary

__all__ = ["expanded", "name_stem", "pour", "suggested_name", "write_file"]

_UNFIT = re.compile(r"[^\w.-]+")


def suggested_name(session: SessionSummary, form: str) -> str:
    """A file name made of agent, title and the beginning of the id, of ids that are names the end:
    `claude-fix-the-flaky-login-test-7227.md`."""
    return name_stem(session) + SUFFIXES[form]


def name_stem(session: SessionSummary) -> str:
    """The same without its ending."""
    title = _UNFIT.sub("-", session.title.lower()).strip("-._")[:48].rstrip("-._")
    names = _UNFIT.sub("-", session.known_as or session.session_id).strip("-._")
    short = names[-40:].lstrip("-._") if session.known_as else names[:8]
    agent = _UNFIT.sub("-", session.agent)
    return "-".join(part for part in (agent, title, short) if part)


def expanded(path: Path) -> Path:
    """`path` with a leading `~` replaced, which stays where it is nobody's: no such directory is found then."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - pathlib raises a `RuntimeError`


def write_file(path: Path, parts: Iterable[bytes], *, replace: bool = False) -> int:
    """Write `parts` to `path`; how many bytes. Until everything is written, and after any error, what was there
    stays. Raises `ValidationError` where the file cannot be written, or is there and `replace` is not set."""
    path = expanded(path)
    written = 0
    try:
        there: os.stat_result | None = None
        with suppress(FileNotFoundError):
            there = path.stat()
        if there is not None:
            if stat.S_ISDIR(there.st_mode):
                raise ValidationError(f"{str(path)!r} is a directory; give the name of a file in it")
            if not stat.S_ISREG(there.st_mode):
                raise ValidationError(f"cannot write {str(path)!r}: it is there and is no file")
            if not replace:
                raise _there_already(path)
        mode, owner = (stat.S_IMODE(there.st_mode), owner_kept(there)) if there else (0o600, None)
        with replacing(path.resolve(), mode=mode, owner=owner, lasting=True, over=replace) as file:
            for part in parts:
                file.write(part)
                written += len(part)
    except FileExistsError as error:
        raise _there_already(path) from error
    except OSError as error:
        raise ValidationError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
    return written


def pour(path: Path, parts: Iterable[bytes]) -> int:
    """Write `parts` into a pipe or a device, as they come; how many bytes. Raises `ValidationError`."""
    written = 0
    try:
        with expanded(path).open("wb") as file:
            for part in parts:
                file.write(part)
                written += len(part)
    except OSError as error:
        raise ValidationError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
    return written


def _there_already(path: Path) -> ValidationError:
    return ValidationError(f"{str(path)!r} is there already; --force replaces it")
