"""Standard output: data, and nothing but data. The only module that writes there."""

from __future__ import annotations

import os
import select
import shutil
import sys
import time
from collections.abc import Iterable
from typing import Any, TextIO

__all__ = [
    "OutputFailed",
    "PipeClosed",
    "abandon",
    "begin",
    "finish",
    "has_begun",
    "json_error",
    "terminal_width",
    "trouble",
    "wait",
    "write",
    "write_json",
    "write_json_array",
]

WIDE = 10_000
"""Columns when the output is no terminal: nothing is cut."""


class PipeClosed(Exception):
    """The reader of our output closed it."""


class OutputFailed(Exception):
    """The output cannot be written: a full disk, say. The text is one sentence."""


_begun = False


def begin() -> None:
    """A command begins: nothing of its output is written yet."""
    global _begun
    _begun = False


def has_begun() -> bool:
    """Whether something of the command's output is written, so that nothing else may follow it."""
    return _begun


def write(text: str | bytes) -> None:
    """Write as UTF-8, whatever the locale. Raises `PipeClosed`, `OutputFailed`."""
    data = text.encode("utf-8", "replace") if isinstance(text, str) else text
    try:
        if sys.stdout is None:  # started with standard output closed
            raise PipeClosed
        sys.stdout.flush()
        global _begun
        _begun = _begun or bool(data)
        sys.stdout.buffer.write(data)
    except OSError as error:
        raise trouble(error) from error


def write_json(value: Any) -> None:
    """Write a value as JSON with an indent of two, and a newline."""
    from hermes_tui.sessions.jsontext import pretty

    if isinstance(value, list | tuple):
        write_json_array(value)
    else:
        write(pretty(value) + b"\n")


def write_json_array(values: Iterable[Any]) -> None:
    """Write a JSON array, one element at a time, so that a long list needs no second copy in memory."""
    from hermes_tui.sessions.jsontext import pretty

    lead = b"[\n  "
    for value in values:
        write(lead + pretty(value).replace(b"\n", b"\n  "))
        lead = b",\n  "
    write(b"[]\n" if lead.startswith(b"[") else b"\n]\n")


def json_error(code: str, message: str) -> None:
    """Write an error for a program that asked for JSON (checklist R-5)."""
    write_json({"error": {"code": code, "message": message}})


def finish() -> None:
    """Write what is still in the buffer. Raises `PipeClosed`, `OutputFailed`."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise trouble(error) from error


def wait(seconds: float) -> None:
    """Write what is still in the buffer, so that whoever reads a pipe is told now, and rest.

    Raises `PipeClosed` as soon as nobody reads it any more, which a write would notice much later; `OutputFailed`.
    """
    finish()
    if sys.stdout is None:
        raise PipeClosed
    until = time.monotonic() + seconds
    reader = select.poll()
    reader.register(sys.stdout, 0)
    if any(told & (select.POLLERR | select.POLLHUP) for _, told in reader.poll(seconds * 1000)):
        raise PipeClosed
    time.sleep(max(until - time.monotonic(), 0))  # where such an output cannot be asked


def abandon(stream: TextIO | None) -> None:
    """Let the interpreter's own last flush of it go nowhere, so that it has nothing to complain about."""
    if stream is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def terminal_width() -> int:
    """Columns of the terminal that reads us; `WIDE` when it is a file or a pipe, unless `COLUMNS` is set."""
    fallback = 80 if sys.stdout is not None and sys.stdout.isatty() else WIDE
    if fallback == WIDE and not os.environ.get("COLUMNS", "").isdigit():
        return WIDE
    return max(20, shutil.get_terminal_size((fallback, 24)).columns)


def trouble(error: OSError) -> Exception:
    """What to raise for an output that could not be written."""
    if isinstance(error, BrokenPipeError):
        return PipeClosed()
    return OutputFailed(f"cannot write the output: {error.strerror or error}")
