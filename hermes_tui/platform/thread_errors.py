"""Logs and reports crashes of background threads.

What a thread kept up to date is not from then on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hermes_tui.platform.log import write_failure

__all__ = ["crashes_reported"]


@contextmanager
def crashes_reported(tell: Callable[[str], None]) -> Iterator[None]:
    """Meanwhile, have `tell` called with a sentence for every thread that an error of ours ends, from it."""

    def hook(ended: threading.ExceptHookArgs) -> None:
        if ended.exc_value is None or isinstance(ended.exc_value, SystemExit):
            return
        path = write_failure(ended.exc_value)
        where = f"details are in {path}" if path else "the log cannot be written"
        name = ended.thread.name if ended.thread else "a thread"
        kind = type(ended.exc_value).__name__
        tell(f"Unexpected error ({kind}) in «{name}», which has stopped until the program is started again; {where}")

    before, threading.excepthook = threading.excepthook, hook
    try:
        yield
    finally:
        threading.excepthook = before
