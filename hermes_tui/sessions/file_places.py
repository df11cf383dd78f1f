"""Finds the files that a text or a call names, with the lines in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hermes_tui.sessions.calls.edits import PATHS, edits
from session_adapters.model import ToolCall

__all__ = ["FilePlace", "named_by", "named_in", "there"]

_AT = re.compile(r"""(?P<path>[^\s:'"`()<>\[\]{}|│,;]+):(?P<line>\d{1,7})\b""")
"""As compilers, linters and grep write it."""
_TRACEBACK = re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d{1,7})')
_STARTS = ("offset", "start_line", "line")


class FilePlace(NamedTuple):
    """A file, and a line of it."""

    path: str
    """As it was written; may be relative."""
    line: int = 0
    """0 where none is named."""


def named_in(text: str) -> Iterator[FilePlace]:
    """The places that a text names: `cart.py:88`, `File "cart.py", line 88`."""
    for form in (_TRACEBACK, _AT):
        for found in form.finditer(text):
            yield FilePlace(found["path"], int(found["line"]))


def named_by(call: ToolCall) -> Iterator[FilePlace]:
    """The files that a call reads or changes."""
    given = call.input if isinstance(call.input, dict) else {}
    # The type itself: True is an int, too.
    line = next((given[key] for key in _STARTS if type(given.get(key)) is int and given[key] > 0), 0)
    for key in PATHS:
        if isinstance(given.get(key), str) and given[key]:
            yield FilePlace(given[key], line)
    change = edits(call)
    if change is not None:
        yield from (FilePlace(file.path) for file in change.files if file.path)


def there(place: FilePlace, directory: str | None) -> Path | None:
    """The file itself, relative to the session's `directory`; None where there is no such plain file."""
    try:
        path = Path(place.path).expanduser()
        if not path.is_absolute():
            if not directory:
                return None
            path = Path(directory) / path
        return path if path.is_absolute() and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # nothing that a file can be called
        return None
