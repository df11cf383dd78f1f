"""Standard error: what went wrong, in one sentence. Nothing else writes there."""

from __future__ import annotations

import sys
import time
from contextlib import suppress

from hermes_tui.cli.stdout import abandon

__all__ = ["Waiting", "say"]

_PATIENCE = 1.0
"""Seconds after which somebody wonders whether anything happens."""
_OFTEN = 0.2


def say(text: str) -> None:
    """Write one line for people; text of a store in it can do no harm."""
    if sys.stderr is None:
        return
    from hermes_tui.display import safe  # `--help` has nothing to narrate

    _write(safe(text, keep_newlines=True) + "\n")


class Waiting:
    """Tells somebody at a terminal how far a long command has come, on one line that is gone at its end."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PATIENCE
        self._shown = False
        self._on = sys.stderr is not None and sys.stderr.isatty()

    def tell(self, text: str) -> None:
        """Show that, unless something was shown just now. No text of a store."""
        if self._on and (now := time.monotonic()) >= self._next:
            self._next, self._shown = now + _OFTEN, True
            _write(f"\r{text}\x1b[K")

    def end(self) -> None:
        """Take the line away."""
        if self._shown:
            _write("\r\x1b[K")
            self._shown = False


def _write(text: str) -> None:
    with suppress(ValueError):  # closed: nobody is left to tell
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            abandon(sys.stderr)  # nor is there room; the exit code stays that of the command
