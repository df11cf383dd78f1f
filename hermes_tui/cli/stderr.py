"""Standard error: what went wrong, in one sentence. Nothing else writes there."""

from __future__ import annotations

import sys
from contextlib import suppress

__all__ = ["say"]


def say(text: str) -> None:
    """Write one line for people; text of a store in it can do no harm."""
    if sys.stderr is None:
        return
    from hermes_tui.display import safe  # `--help` has nothing to narrate

    with suppress(OSError, ValueError):  # nobody is left to tell
        sys.stderr.write(safe(text, keep_newlines=True) + "\n")
        sys.stderr.flush()
